"""Do streams find the terms of real texts that scikit-learn's analyzers find, and as often?

Every text set, every analyzer: the names in their order, every count in every class, presence, and
rows over half the names. The cells are numbers of terms; where anything differs, what differs is
said instead. N-grams of characters of imdb and newsgroups20 are of every fifth row: memory. Kept
in results/analyzers.csv.
"""

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer

from experiments.cells import Cells
from experiments.frame import Result, Table
from naively import ClassCounts
from naively.statistics.sparse_table import SparseTable
from naively.text.counter import count_text, text_matrix
from naively.text.features import TextFeatures

SETS = ("mpqa", "sms_spam", "rt_polarity", "subj", "sst2", "twitter", "udhr", "sst_fine", "imdb",
        "newsgroups20")  # fmt: skip
SETTINGS = {
    "words": {},
    "1 character too": {"token_pattern": r"(?u)\b\w+\b"},
    "cases kept": {"lowercase": False},
    "words 1-2": {"ngram_range": (1, 2)},
    "characters 1-3": {"analyzer": "char", "ngram_range": (1, 3)},
    "within words 2-4": {"analyzer": "char_wb", "ngram_range": (2, 4)},
}
LARGE = ("imdb", "newsgroups20")


def compared(options, texts, labels):
    """Rows, terms, and what differs."""
    vectorizer = CountVectorizer(**options)
    X = vectorizer.fit_transform(texts)
    names = vectorizer.get_feature_names_out().tolist()
    vocabulary, counts = count_text(texts, labels, TextFeatures(**options))
    _, present = count_text(texts, labels, TextFeatures(**options, weights="presence"))
    if list(vocabulary) != names:
        only = sorted(set(vocabulary) ^ set(names))[:3]
        return [len(texts), len(names), f"names: {' '.join(only)}"]
    some = np.arange(0, len(names), 2)
    matrix = text_matrix(texts, TextFeatures(**options), vocabulary.take(some))
    equal = {
        "counts": same(counts, ClassCounts.from_matrix(X, labels)),
        "presence": same(present, ClassCounts.from_matrix(X, labels, presence=True)),
        "rows": (matrix != X[:, some]).nnz == 0,
    }
    return [len(texts), len(names), ", ".join(n for n in equal if not equal[n]) or "equal"]


def same(found, expected):
    if isinstance(found.table, SparseTable) == isinstance(expected.table, SparseTable):
        return found.equals(expected)
    tables = [found.table, expected.table]
    cells = [t if isinstance(t, SparseTable) else SparseTable.from_dense(t) for t in tables]
    return cells[0].equals(cells[1]) and np.array_equal(found.class_rows, expected.class_rows)


def run(data, quick):
    result = Result()
    cells = Cells("analyzers", ["set", "analyzer"], ["rows", "terms", "verdict"], quick)
    table = Table(["set", *SETTINGS])
    for name in ("subj", "newsgroups20") if quick else SETS:
        shown = []
        for setting, options in SETTINGS.items():
            if (name, setting) not in cells:
                every = 5 if name in LARGE and "character" in str(options) else 1
                records = data.records(name)[:: 1 if quick else every]
                labels = np.array([record["label"] for record in records])
                texts = [record["text"] for record in records]
                cells.add((name, setting), compared(options, texts, labels))
            found = cells[name, setting]
            equal = found["verdict"] == "equal"
            shown.append(f"{found['terms']:,}" if equal else found["verdict"])
            result.expect(f"{setting} of {name} are those of scikit-learn", equal)
        table.rows.append([name, *shown])
    cells.tell(table)
    result.tables["Numbers of terms, all equal"] = table
    return result
