"""Do streams find the terms of real texts that scikit-learn's analyzers find, and as often?

Every text set of the folder, every analyzer: the names in their order, every count in every class,
and rows over half the names. Where they differ, the first terms that differ are printed.
"""

import json

import numpy as np
from datasets import arguments, rows
from sklearn.feature_extraction.text import CountVectorizer

from naively import ClassCounts
from naively.statistics.sparse_table import SparseTable
from naively.text.counter import count_text, text_matrix
from naively.text.features import TextFeatures

SETTINGS = {
    "words": {},
    "words of one character too": {"token_pattern": r"(?u)\b\w+\b"},
    "words, cases kept": {"lowercase": False},
    "words 1-2": {"ngram_range": (1, 2)},
    "characters 1-3": {"analyzer": "char", "ngram_range": (1, 3)},
    "characters within words 2-4": {"analyzer": "char_wb", "ngram_range": (2, 4)},
}
LARGE = ("imdb", "newsgroups20")  # n-grams of characters on a part of the rows: memory


def main():
    parser = arguments(__doc__.splitlines()[0])
    options = parser.parse_args()
    print("| set | rows | analyzer | terms | names | counts | presence | rows |")
    print("| --- | ---: | --- | ---: | --- | --- | --- | --- |")
    for path in sorted(options.data.glob("*/*.jsonl.gz")):
        name = path.name.removesuffix(".jsonl.gz")
        if options.only and name not in options.only:
            continue
        records = rows(options.data, f"{path.parent.name}/{path.name}")
        texts = [text_of(record) for record in records]
        labels = np.array([record["label"] for record in records])
        for setting, features in SETTINGS.items():
            part = slice(0, None, 5 if name in LARGE and "characters" in setting else 1)
            compare(name, setting, features, texts[part], labels[part])


def text_of(record):
    return record["text"] if "text" in record else f"{record['subject']}\n{record['body']}"


def compare(name, setting, options, texts, labels):
    options = dict(options)
    vectorizer = CountVectorizer(**options)
    X = vectorizer.fit_transform(texts)
    names = vectorizer.get_feature_names_out().tolist()
    vocabulary, counts = count_text(texts, labels, TextFeatures(**options))
    _, present = count_text(texts, labels, TextFeatures(**options, weights="presence"))
    found = list(vocabulary)
    verdicts = [found == names, False, False, False]
    if verdicts[0]:
        some = np.arange(0, len(names), 2)
        matrix = text_matrix(texts, TextFeatures(**options), vocabulary.take(some))
        verdicts[1:] = [
            same(counts, ClassCounts.from_matrix(X, labels)),
            same(present, ClassCounts.from_matrix(X, labels, presence=True)),
            (matrix != X[:, some]).nnz == 0,
        ]
    cells = " | ".join("equal" if verdict else "DIFFERENT" for verdict in verdicts)
    print(f"| {name} | {len(texts):,} | {setting} | {len(names):,} | {cells} |", flush=True)
    if not verdicts[0]:
        only = [sorted(set(a) - set(b))[:10] for a, b in ((found, names), (names, found))]
        print(json.dumps({"only ours": only[0], "only theirs": only[1]}))


def same(found, expected):
    if isinstance(found.table, SparseTable) == isinstance(expected.table, SparseTable):
        return found.equals(expected)
    tables = [found.table, expected.table]
    cells = [t if isinstance(t, SparseTable) else SparseTable.from_dense(t) for t in tables]
    return cells[0].equals(cells[1]) and np.array_equal(found.class_rows, expected.class_rows)


if __name__ == "__main__":
    main()
