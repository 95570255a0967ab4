"""The public data sets by name, from a folder that the reader supplies, or look-alikes of them.

Text: NAME/*.jsonl.gz, one JSON object a line. Expression: NAME/NAME.npz with X and y. `Data(None)`
makes small sets of the same form: words by Zipf's law that come in bursts, some of which one class
prefers; genes of log-normal values, some shifted between classes.
"""

import gzip
import json
import zlib
from functools import lru_cache
from pathlib import Path

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import train_test_split

FILES = {
    "sst2": "sst2/sst2_phrases.jsonl.gz",
    "sst2_sentences": "sst2/sst2_phrases.jsonl.gz",
    "sst_fine": "sst2/sst_fine_sentences.jsonl.gz",
}
TEXTS = ["mpqa", "sst2", "imdb", "twitter", "rt_polarity", "subj", "sms_spam", "newsgroups20"]
GENES = ["alon", "chowdary", "golub", "khan", "sc_celseq2", "shipp", "singh", "su"]
NEGATIVE = ["golub", "khan", "shipp", "singh", "su"]  # sets with values below zero
KINDS = {
    "genes, two classes": ("golub", "singh", "chowdary"),
    "genes, more classes": ("khan", "su"),
    "cells": ("sc_celseq2",),
    "short texts": ("subj", "mpqa", "sst2"),
    "topics": ("newsgroups20",),
    "long texts": ("imdb",),
}


class Data:
    """The sets in a folder; without one, generated look-alikes (`generated` is true)."""

    def __init__(self, folder: Path | None):
        self.folder = folder
        self.generated = folder is None

    @lru_cache(maxsize=4)  # noqa: B019  one for each run
    def records(self, name):
        """Records of a text set: text, label, and split, subject, body where it has them."""
        if self.folder is None:
            return alike_texts(name)
        found = rows(self.folder, FILES.get(name, f"{name}/{name}.jsonl.gz"))
        if name == "newsgroups20":
            for record in found:
                record["text"] = record["subject"] + "\n" + record["body"]
        return found

    def texts(self, name, seed=0):
        """text, text_test, y, y_test: of the official split, or a stratified 80/20 one."""
        records = self.records(name)
        if "split" not in records[0]:
            labels = [record["label"] for record in records]
            parts = train_test_split(records, test_size=0.2, stratify=labels, random_state=seed)
        else:
            parts = [[r for r in records if r["split"] == split] for split in ("train", "test")]
        return tuple(
            np.array([record[field] for record in part], dtype=object if field == "text" else None)
            for field in ("text", "label")
            for part in parts
        )

    def counts(self, name, seed=0, **options):
        """Counts of the words of the training rows: X, X_test, y, y_test, names."""
        text, text_test, y, y_test = self.texts(name, seed)
        vectorizer = CountVectorizer(**options)
        X, X_test = vectorizer.fit_transform(text), vectorizer.transform(text_test)
        return X, X_test, y, y_test, vectorizer.get_feature_names_out()

    def split(self, name):
        """Split (n,) of the rows of an expression set, None where it has none."""
        if self.folder is None:
            return None
        with np.load(self.folder / name / f"{name}.npz") as arrays:
            return arrays["split"].astype(str) if "split" in arrays else None

    def genes(self, name):
        """X, y and the names of the columns of an expression set."""
        if self.folder is None:
            return alike_genes(name)
        with np.load(self.folder / name / f"{name}.npz") as arrays:
            X, y = np.asarray(arrays["X"], float), arrays["y"]
            names = arrays["feature_names"] if "feature_names" in arrays else np.arange(X.shape[1])
        return X, y, names.astype(str)


def rows(folder, name):
    with gzip.open(folder / name, "rt", encoding="utf8") as lines:
        return [json.loads(line) for line in lines]


def alike_texts(name, n_rows=600, n_words=1500):
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    classes = [f"group {c}" for c in range(4)] if name == "newsgroups20" else ["neg", "pos"]
    length = {"imdb": 60, "newsgroups20": 60}.get(name, 15)
    base = 1 / np.arange(2, n_words + 2)
    slant = np.exp(rng.normal(size=(len(classes), n_words)) * (rng.random(n_words) < 0.1))
    records = []
    for row in range(n_rows):
        c = row % len(classes)
        p = base * slant[c]
        words = rng.choice(n_words, rng.poisson(length) + 1, p=p / p.sum())
        words = np.repeat(words, 1 + rng.geometric(0.8, len(words)) // 2)  # bursts
        text = " ".join(f"w{word}" for word in words)
        records.append({"text": text, "label": classes[c]})
        if name in ("imdb", "newsgroups20", "sst2"):
            records[-1]["split"] = "test" if row // len(classes) % 3 == 0 else "train"
        if name == "newsgroups20":
            head, _, body = text.partition(" ")
            records[-1] |= {"subject": head, "body": body}
    return records


def alike_genes(name, n_rows=80, n_genes=500):
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    n_classes = {"khan": 4, "su": 4, "sc_celseq2": 3}.get(name, 2)
    y = np.arange(n_rows) % n_classes
    shift = rng.normal(size=(n_classes, n_genes)) * (rng.random(n_genes) < 0.1)
    X = np.exp(rng.normal(size=(n_rows, n_genes)) + 1.5 * shift[y] + 2)
    if name == "sc_celseq2":
        X = rng.poisson(X * rng.lognormal(size=(n_rows, 1)) / 4).astype(float)
    elif name in NEGATIVE:
        X = X - 20
    return X, np.array([f"type {c}" for c in y]), np.array([f"g{j}" for j in range(n_genes)])
