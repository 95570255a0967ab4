"""Language identification by character trigrams: predicted against measured error (ERR section 5).

    python experiments/error_languages.py DATA

The eleven South African languages of the paper's application, from the udhr set. Half of the
paragraphs train, the other half tests. A document of length N is a window of N consecutive trigrams
of a paragraph; "mixed": N trigrams drawn independently from all paragraphs of the language, as the
model has it. Prints Markdown.
"""

import argparse
from pathlib import Path

import numpy as np
from datasets import rows
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer

from naively import SparseMultinomialNB, expected_error

LANGUAGES = {
    "afr": "Afrikaans",
    "eng": "English",
    "nbl": "Ndebele",
    "nso": "Northern Sotho",
    "sot": "Southern Sotho",
    "ssw": "Swati",
    "tsn": "Tswana",
    "tso_ZW": "Tsonga",
    "ven": "Venda",
    "xho": "Xhosa",
    "zul": "Zulu",
}
LENGTHS = [5, 10, 20, 50, 100]


def documents(texts, labels, vocabulary, length, rng, *, mixed, most=400):
    """Documents of `length` known trigrams, at most `most` for each label.

    They are windows of consecutive trigrams of a text or, if `mixed`, as many independent draws
    from all texts of the label.
    """
    chains, y = [], []
    for label in np.unique(labels):
        coded = [codes(text, vocabulary) for text in texts[labels == label]]
        if mixed:
            found = list(rng.choice(np.concatenate(coded), (most, length)))
        else:
            found = [c[i : i + length] for c in coded for i in range(0, len(c) - length + 1, 3)]
        chosen = rng.permutation(len(found))[:most]
        chains += [found[i] for i in chosen]
        y += [label] * len(chosen)
    indptr = np.arange(len(y) + 1) * length
    X = sparse.csr_array(
        (np.ones(indptr[-1], dtype=np.int64), np.concatenate(chains), indptr),
        shape=(len(y), len(vocabulary)),
    )
    X.sum_duplicates()
    return X, np.array(y)


def codes(text, vocabulary):
    """Numbers of the known trigrams of a text, in order."""
    text = " ".join(text.lower().split())
    grams = (text[i : i + 3] for i in range(len(text) - 2))
    return np.array([vocabulary[g] for g in grams if g in vocabulary], dtype=np.int64)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    records = rows(parser.parse_args().data, "udhr/udhr.jsonl.gz")
    records = [record for record in records if record["label"] in LANGUAGES]
    texts = np.array([record["text"] for record in records])
    labels = np.array([LANGUAGES[record["label"]] for record in records])
    rng = np.random.default_rng(0)
    training = rng.random(len(texts)) < 0.5
    vectorizer = CountVectorizer(analyzer="char", ngram_range=(3, 3))
    X = vectorizer.fit_transform(texts[training])
    print(f"{training.sum()} paragraphs of 11 languages train, {(~training).sum()} test; ", end="")
    print(f"{X.shape[1]} trigrams.\n")
    print(
        "| k | length | test | test, mixed | training | training, mixed | simulated "
        "| normal scores | product exact | product saddlepoint | product normal | eq. (34) |"
    )
    print("| ---: |" + " ---: |" * 11)
    for k in (100, 1000, "all"):
        model = SparseMultinomialNB(k=k, alpha=0.1, fit_prior=False).fit(X, labels[training])
        for length in LENGTHS:
            measured = []
            for part in (~training, training):
                for mixed in (False, True):
                    chosen = texts[part], labels[part], vectorizer.vocabulary_
                    Z, y = documents(*chosen, length, rng, mixed=mixed)
                    measured.append(np.mean(model.predict(Z) != y))
            settings = [
                {"rivals": "simulated", "n_rows": 20_000},
                {"rivals": "normal"},
                {"method": "exact"},
                {"method": "saddlepoint"},
                {"method": "normal"},
            ]
            found = [expected_error(model, length=length, **setting) for setting in settings]
            errors = [estimate.error for estimate in found] + [found[2].normalized_error]
            cells = " | ".join(f"{value:.4f}" for value in [*measured, *errors])
            print(f"| {k} | {length} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
