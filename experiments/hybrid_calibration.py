"""The hybrid with one region as a calibrator of naive Bayes: are its posteriors right?

Accuracy, log loss (nats), Brier score, calibration error (mean distance between confidence and
accuracy over 15 bins of equal size), accuracy/coverage, and time to fit in multiples of
MultinomialNB's.

    python experiments/hybrid_calibration.py DATA > table.md
"""

import time
import warnings

import numpy as np
from datasets import arguments, counts_split
from sklearn.calibration import CalibratedClassifierCV
from sklearn.metrics import log_loss
from sklearn.naive_bayes import MultinomialNB

from naively import HybridNB, SeparationWarning, SparseMultinomialNB, accuracy_coverage_curve

SETS = ["imdb", "newsgroups20", "rt_polarity"]


def models(m):
    k = round(0.02 * m)
    return {
        "MultinomialNB": MultinomialNB(),
        "HybridNB": HybridNB(),
        "HybridNB, unnormalised": HybridNB(normalize=False),
        "CalibratedClassifierCV, sigmoid": CalibratedClassifierCV(MultinomialNB(), cv=5),
        "CalibratedClassifierCV, isotonic": CalibratedClassifierCV(
            MultinomialNB(), method="isotonic", cv=5
        ),
        "CalibratedClassifierCV, temperature": CalibratedClassifierCV(
            MultinomialNB(), method="temperature", cv=5
        ),
        f"SparseMultinomialNB, k = {k}": SparseMultinomialNB(k=k),
        f"HybridNB of these {k} words": HybridNB(estimator=SparseMultinomialNB(k=k)),
    }


def calibration_error(right, confidence, bins=15):
    order = np.argsort(confidence, kind="stable")
    parts = np.array_split(order, bins)
    gaps = [abs(right[part].mean() - confidence[part].mean()) * len(part) for part in parts]
    return sum(gaps) / len(right)


def figures(model, X, X_test, y, y_test):
    start = time.process_time()
    model.fit(X, y)
    took = time.process_time() - start
    proba = model.predict_proba(X_test)
    truth = (np.asarray(y_test)[:, None] == model.classes_).astype(float)
    right = truth[np.arange(len(proba)), proba.argmax(axis=1)] > 0
    curve = accuracy_coverage_curve(y_test, proba, labels=model.classes_)
    return [
        right.mean(),
        log_loss(y_test, np.clip(proba, 1e-15, 1), labels=model.classes_),
        ((proba - truth) ** 2).sum(axis=1).mean(),
        calibration_error(right, proba.max(axis=1)),
        curve.area,
        curve.coverage_at(0.95),
        took,
    ]


def main():
    options = arguments(__doc__).parse_args()
    warnings.simplefilter("ignore", SeparationWarning)
    HybridNB().fit(np.eye(4), [0, 0, 1, 1])  # compiles
    print(
        "| set | model | accuracy | log loss | Brier | calibration error | area | coverage at "
        "95 % | fit |"
    )
    print("| --- | --- |" + " ---: |" * 7)
    for name in options.only or SETS:
        X, X_test, y, y_test, _ = counts_split(options.data, name)
        base = None
        for title, model in models(X.shape[1]).items():
            *values, took = figures(model, X, X_test, y, y_test)
            base = base or took
            shown = " | ".join(f"{value:.3f}" for value in values)
            print(f"| {name} | {title} | {shown} | {took / base:.1f} |", flush=True)


if __name__ == "__main__":
    main()
