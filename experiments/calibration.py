"""Probabilities before and after `calibration="cross-fitted"`, and those of a refit.

    python experiments/calibration.py DATA [--only SET ...] [--parts folds test]
    python experiments/calibration.py --tables     into README.md, and the figure, from the results

Log loss in nats a row; share of the rows with an answer of probability above 0.99, and how many of
these are right. "folds": three folds of the training rows, each fitted and calibrated as a whole;
"test": the test rows, after all training rows. Results: results/calibration.csv, the curves of
`SparseMultinomialNB` with 1,000 words in results/calibration_curves.json (of each of 15 equal bins
of the largest probability its mean, the share that is right and the number of rows).
"""

import argparse
import json
import sys
import warnings
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from competitors import line, records, store
from datasets import counts_split, into_readme
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold

from naively import SparseBernoulliNB, SparseMultinomialNB

RESULTS = Path(__file__).parent / "results" / "calibration.csv"
CURVES = RESULTS.with_name("calibration_curves.json")
FIGURE = RESULTS.with_name("calibration.svg")
FIELDS = ["part", "set", "model", "k", "how", "accuracy", "log loss", "p > 0.99", "of them right",
          "ECE", "T"]  # fmt: skip
SETS = ["imdb", "mpqa", "newsgroups20", "sst2", "subj"]
WAYS = {
    "as it is": {},
    "cross-fitted": {"calibration": "cross-fitted"},
    "logistic": {"refit": "logistic"},
}
K = [100, 1000]
SURE = 0.99


def judged(model, X, y):
    proba = model.predict_proba(X)
    sure = proba.max(axis=1) > SURE
    right = model.classes_[proba.argmax(axis=1)] == y
    among = right[sure].mean() if sure.any() else np.nan
    # A probability that rounds to 0 costs 36 nats, not infinitely many.
    loss = log_loss(y, np.clip(proba, 2.0**-52, 1), labels=model.classes_)
    return np.array([right.mean(), loss, sure.mean(), among])


def curve(proba, right):
    """Mean confidence, share right and rows of the bins that have any, of 15 equal ones: (3, b)."""
    confidence = proba.max(axis=1)
    bins = np.minimum((confidence * 15).astype(int), 14)
    size = np.bincount(bins, minlength=15)
    some = size > 0
    means = [
        np.bincount(bins, each, minlength=15)[some] / size[some] for each in (confidence, right)
    ]
    return np.array([*means, size[some]])


def calibration_error(proba, right):
    """Mean distance of confidence and accuracy, over the bins of the curve."""
    confidence, share, size = curve(proba, right)
    return size @ np.abs(confidence - share) / size.sum()


def fitted(model, X, y, X_test, y_test):
    """Figures of a model on rows that it has not seen, and its curve."""
    found = judged(model.fit(X, y), X_test, y_test)
    proba, right = model.predict_proba(X_test), model.predict(X_test) == y_test
    return [*found, calibration_error(proba, right), model.temperature_], curve(proba, right)


def run(folder, names, parts):
    known = {tuple(row[field] for field in FIELDS[:5]) for row in records(RESULTS)}
    curves = json.loads(CURVES.read_text()) if CURVES.exists() else {}
    for name in names:
        X, X_test, y, y_test, _ = counts_split(folder, name)
        X, X_test = ((each > 0).astype(np.int64) for each in (X, X_test))
        splits = {"test": [(X, y, X_test, y_test)], "folds": [
            (X[fit], y[fit], X[check], y[check])
            for fit, check in StratifiedKFold(3, shuffle=True, random_state=0).split(X, y)
        ]}  # fmt: skip
        for how, asked in WAYS.items():
            for estimator in (SparseMultinomialNB, SparseBernoulliNB):
                for k in K:
                    for part in parts:
                        key = (part, name, estimator.__name__, str(k), how)
                        drawn = part == "test" and k == 1000 and estimator is SparseMultinomialNB
                        lacks = drawn and how not in curves.get(name, {})
                        if key in known and not lacks:
                            continue
                        model = estimator(k=k, **asked)
                        each = [fitted(model, *rows) for rows in splits[part]]
                        figures = np.mean([found for found, _ in each], axis=0)
                        if key not in known:
                            store(RESULTS, FIELDS, [*key, *(f"{value:.4f}" for value in figures)])
                        if drawn:
                            curves.setdefault(name, {})[how] = each[0][1].round(4).tolist()
                            CURVES.write_text(json.dumps(curves) + "\n")
                        print(*key, file=sys.stderr)


def drawn():
    curves = json.loads(CURVES.read_text())
    names = [name for name in SETS if name in curves]
    mpl.rcParams["svg.hashsalt"] = "naively"
    figure, axes = plt.subplots(1, len(names), figsize=(2.4 * len(names), 2.8), sharey=True,
                                sharex=True, layout="constrained")  # fmt: skip
    for name, place in zip(names, axes, strict=True):
        place.plot([0, 1], [0, 1], color="0.7", linewidth=0.8)
        for how in WAYS:
            if how in curves[name]:
                confidence, share, _ = curves[name][how]
                place.plot(confidence, share, marker="o", markersize=3, linewidth=1, label=how)
        place.set(title=name, xlabel="largest probability")
        place.spines[["top", "right"]].set_visible(False)
    axes[0].set(ylabel="share that is right")
    axes[0].legend(frameon=False, fontsize="small")
    figure.savefig(FIGURE, metadata={"Date": None})


def tables():
    heads = FIELDS[5:]
    yield line(*FIELDS[1:5], *heads[:-1], "T", *(f"folds: {head}" for head in heads[:4]))
    yield "| --- | --- | ---: | --- |" + " ---: |" * (len(heads) + 4)
    known = {tuple(row[field] for field in FIELDS[:5]): row for row in records(RESULTS)}
    order = {how: place for place, how in enumerate(WAYS)}
    tested = [key[1:] for key in known if key[0] == "test"]
    for key in sorted(tested, key=lambda key: (*key[:2], int(key[2]), order[key[3]])):
        row, folds = known["test", *key], known.get(("folds", *key), {})
        cells = [rounded(row[head]) for head in heads]
        yield line(*key, *cells, *(rounded(folds.get(head, "")) for head in heads[:4]))


def rounded(text):
    return f"{float(text):.3f}" if text not in ("", "nan") else ""


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, nargs="?", help="folder of the data sets")
    parser.add_argument("--only", nargs="*", default=SETS, help="names of sets")
    parser.add_argument("--parts", nargs="*", default=["test", "folds"], help="test, folds")
    parser.add_argument("--tables", action="store_true", help="write README.md and the figure")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.tables:
        drawn()
        into_readme("calibration", tables())
    else:
        run(options.data, options.only, options.parts)


if __name__ == "__main__":
    main()
