"""Texts to a matrix of counts, against scikit-learn's CountVectorizer on the same reviews.

    python benchmarks/words.py DATA --rounds 3

DATA holds `imdb/imdb.jsonl.gz`: one review a line with `split` and `text`; the 25,000 of training
are counted. Ratios of medians of rounds in one process, the contestants taking turns; the matrices
and vocabularies are the same, which is checked.
"""

import argparse
import gzip
import json
import time
from pathlib import Path
from statistics import median

from sklearn.feature_extraction.text import CountVectorizer

from naively import WordCounts

SETTINGS = {
    "words": {},
    "words and pairs": {"ngram_range": (1, 2)},
    "3 characters within words": {"analyzer": "char_wb", "ngram_range": (3, 3)},
}


def reviews(folder):
    with gzip.open(Path(folder) / "imdb" / "imdb.jsonl.gz", "rt", encoding="utf8") as file:
        rows = map(json.loads, file)
        return [row["text"] for row in rows if row["split"] == "train"]


def seconds(act, *arguments):
    start = time.perf_counter()
    found = act(*arguments)
    return time.perf_counter() - start, found


def measured(texts, options, rounds):
    """Seconds of fit_transform and of transform, ours and theirs, of each round."""
    times = []
    for _ in range(rounds):
        ours, theirs = WordCounts(**options), CountVectorizer(**options)
        found = [seconds(each.fit_transform, texts) for each in (ours, theirs)]
        again = [seconds(each.transform, texts) for each in (ours, theirs)]
        assert (found[0][1] != found[1][1]).nnz == 0
        assert list(ours.get_feature_names_out()) == list(theirs.get_feature_names_out())
        times.append([each[0] for each in (*found, *again)])
    return [median(each) for each in zip(*times, strict=True)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    texts = reviews(options.data)
    print("| what | fit_transform | transform |\n| --- | ---: | ---: |")
    for name, settings in SETTINGS.items():
        measured(texts[:100], settings, 1)  # compiles
        fit, their_fit, transform, their_transform = measured(texts, settings, options.rounds)
        print(f"| {name} | {their_fit / fit:.1f} | {their_transform / transform:.1f} |", flush=True)


if __name__ == "__main__":
    main()
