"""Public data sets in two plain formats, read from a folder that the reader supplies.

Text: NAME/*.jsonl.gz, one JSON object a line. Expression: NAME/NAME.npz with X and y.
"""

import argparse
import gzip
import json
from pathlib import Path

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import train_test_split


def arguments(description):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("data", type=Path, help="folder of the data sets")
    parser.add_argument("--only", nargs="*", help="names of the sets to run on")
    return parser


def rows(folder, name):
    with gzip.open(folder / name, "rt", encoding="utf8") as lines:
        return [json.loads(line) for line in lines]


def text_split(folder, name, seed=0):
    """Texts and labels of the official split, or a stratified 80/20 one."""
    file = {
        "sst2": "sst2/sst2_phrases.jsonl.gz",
        "newsgroups20": "newsgroups20/newsgroups20.jsonl.gz",
    }.get(name, f"{name}/{name}.jsonl.gz")
    records = rows(folder, file)
    if name == "newsgroups20":
        for record in records:
            record["text"] = record["subject"] + "\n" + record["body"]
    if "split" not in records[0]:
        labels = [record["label"] for record in records]
        train, test = train_test_split(records, test_size=0.2, stratify=labels, random_state=seed)
    else:
        train = [record for record in records if record["split"] == "train"]
        test = [record for record in records if record["split"] == "test"]
    return tuple(
        np.array([record[field] for record in part], dtype=object if field == "text" else None)
        for field in ("text", "label")
        for part in (train, test)
    )


def counts_split(folder, name, **options):
    """Counts over the vocabulary of the training rows: X, X_test, y, y_test, names."""
    text, text_test, y, y_test = text_split(folder, name)
    vectorizer = CountVectorizer(**options)
    X, X_test = vectorizer.fit_transform(text), vectorizer.transform(text_test)
    return X, X_test, y, y_test, vectorizer.get_feature_names_out()


def into_readme(name, lines):
    """Put tables into README.md, between the marks of their name."""
    page = Path(__file__).parent / "README.md"
    head, rest = page.read_text(encoding="utf8").split(f"<!-- {name} -->\n")
    tail = rest.split(f"<!-- end of {name} -->\n")[1]
    body = "\n".join(lines)
    marked = f"<!-- {name} -->\n\n{body}\n<!-- end of {name} -->\n"
    page.write_text(head + marked + tail, encoding="utf8")
