"""What the NFS experiments share: the papers' four vectors of a text, and claims of both papers.

The vectors are counts, and tf-idf of words, of their runs, of characters. A vocabulary is that of
all rows, as the papers' sizes are; a column that no training row has can gain nothing. A "bigram"
is two or three in a row, which is what the papers' sizes say.
"""

import numpy as np
from sklearn.feature_extraction.text import TfidfTransformer

from naively import WordCounts

WORD = r"(?u)\b\w+\b"  # of one character too
VECTORS = {
    "counts": {"token_pattern": WORD},
    "tf-idf": {"token_pattern": WORD},
    "tf-idf word bigram": {"token_pattern": WORD, "ngram_range": (2, 3)},
    "tf-idf char bigram": {"analyzer": "char", "ngram_range": (2, 3)},
}


def vectors(data, name, kind, seed=0, limit=None):
    """X, X_test, y, y_test of a set; `limit`: that many columns of most occurrences.

    Test rows of a class that is not trained (twitter's neutral) are left out.
    """
    text, text_test, y, y_test = data.texts(name, seed)
    known = np.isin(y_test, y)
    counter = WordCounts(**VECTORS[kind]).fit(np.concatenate([text, text_test]))
    X, X_test = counter.transform(text), counter.transform(text_test[known])
    if limit is not None and limit < X.shape[1]:
        kept = frequent(X, limit)
        X, X_test = X[:, kept], X_test[:, kept]
    if kind != "counts":
        weights = TfidfTransformer().fit(X)
        X, X_test = weights.transform(X), weights.transform(X_test)
    return X.tocsr(), X_test.tocsr(), y, y_test[known]


def frequent(X, limit):
    """The columns of most occurrences, ascending."""
    total = np.asarray(X.sum(axis=0)).ravel()
    return np.sort(np.argsort(-total, kind="stable")[:limit])


def claim(result, item, ours, verdict, why=""):
    """Of an item that both papers have."""
    for paper in ("short", "long"):
        result.claim(f"nfs-{paper}-{item}", ours, verdict, why)
