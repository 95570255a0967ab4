"""Texts to a matrix of counts, against scikit-learn's CountVectorizer on the same reviews.

The 25,000 training reviews of IMDB. How many times longer CountVectorizer takes: medians of ratios
by the clock; the matrices and vocabularies are the same, which is checked.
"""

import gzip
import json

from experiments.frame import Table
from sklearn.feature_extraction.text import CountVectorizer

from benchmarks.turns import medians
from naively import WordCounts

SETTINGS = {
    "words": {},
    "words and pairs": {"ngram_range": (1, 2)},
    "3 characters within words": {"analyzer": "char_wb", "ngram_range": (3, 3)},
}


def reviews(folder):
    with gzip.open(folder / "imdb" / "imdb.jsonl.gz", "rt", encoding="utf8") as file:
        rows = map(json.loads, file)
        return [row["text"] for row in rows if row["split"] == "train"]


def run(asked):
    texts = reviews(asked.data)
    table = Table(["what", "fit_transform", "transform"])
    for name, settings in SETTINGS.items():
        ours, theirs = WordCounts(**settings), CountVectorizer(**settings)
        assert (ours.fit_transform(texts) != theirs.fit_transform(texts)).nnz == 0
        assert list(ours.get_feature_names_out()) == list(theirs.get_feature_names_out())
        row = [name]
        for step in ("fit_transform", "transform"):
            jobs = {
                "ours": lambda step=step, each=ours: getattr(each, step)(texts),
                "theirs": lambda step=step, each=theirs: getattr(each, step)(texts),
            }
            row.append(float(medians(jobs, asked.rounds, "ours")["theirs"][1][0]))
        table.rows.append(row)
    return {"Texts to a matrix": table}
