"""Pairs of newsgroups as the hybrid's paper has them: regions subject and body, stemmed words."""

import re

import numpy as np
import pandas as pd
import snowballstemmer

from naively import WordCounts

PAIRS = [
    ("alt.atheism", "talk.religion.misc"),
    ("comp.sys.ibm.pc.hardware", "comp.sys.mac.hardware"),
    ("rec.sport.baseball", "rec.sport.hockey"),
    ("comp.graphics", "talk.politics.mideast"),
    ("talk.politics.guns", "talk.politics.misc"),
    ("rec.autos", "rec.motorcycles"),
    ("sci.crypt", "sci.electronics"),
    ("sci.med", "sci.space"),
    ("comp.os.ms-windows.misc", "comp.windows.x"),
    ("misc.forsale", "soc.religion.christian"),
]
GENERATED = [("group 0", "group 1"), ("group 2", "group 3")]
TOKEN = re.compile(r"[\w.+-]+@[\w.-]+\w|\d[\d.,]*|[^\W\d_]{2,}")


class Stems:
    """Text to stems, numbers and addresses as tokens; every word is stemmed once."""

    def __init__(self):
        self.stemmer = snowballstemmer.stemmer("english")
        self.known = {}

    def __call__(self, text):
        return [self.token(match.group()) for match in TOKEN.finditer(text)]

    def token(self, word):
        if "@" in word:
            return "EMAILADDR"
        if word[0].isdigit():
            return "NUMBER"
        word = word.lower()
        if word not in self.known:
            self.known[word] = self.stemmer.stemWord(word)
        return self.known[word]


def pair_counts(data):
    """Pair, counts of subject and body side by side, and 0 or 1 for the group."""
    table = pd.DataFrame(data.records("newsgroups20"))
    analyzer = str.split if data.generated else Stems()
    for pair in GENERATED if data.generated else PAIRS:
        part = table[table["label"].isin(pair)]
        tokens = part[["subject", "body"]].map(analyzer)
        X = WordCounts(regions=True, analyzer="tokens").fit_transform(tokens)
        yield pair, X, (part["label"] == pair[1]).to_numpy().astype(int)


def short(pair):
    return " / ".join(group.split(".", 1)[-1] for group in pair)


def joined(X):
    """Counts of the words of both regions."""
    return X[:, : X.shape[1] // 2] + X[:, X.shape[1] // 2 :]


def known_words(X, train):
    """Columns of the words that the training rows have in either region."""
    seen = np.asarray(X[train].sum(axis=0)).reshape(2, -1).sum(axis=0) > 0
    return X[:, np.tile(seen, 2)]


def split(y, size, seed):
    """Random rows, with both classes among the training rows."""
    rng = np.random.default_rng(seed)
    while True:
        order = rng.permutation(len(y))
        if len(set(y[order[:size]])) == 2:
            return order[:size], order[size:]
