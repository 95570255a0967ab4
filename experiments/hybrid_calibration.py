"""The hybrid as a calibrator of naive Bayes: are its posteriors right? (HYB, section 5)

One region, official splits (rt_polarity: 80/20). Log loss in nats, Brier score, calibration error
(mean distance between confidence and accuracy over 15 bins of equal size), area under the
accuracy/coverage curve, coverage at 95 % accuracy, and processor seconds of the fit.
`CalibratedClassifierCV` wraps `MultinomialNB` with five folds. With words selected by
`SparseMultinomialNB` leave-one-out is exact for these words but does not undo their selection,
which has seen all rows.

A monotone map of two posteriors that is symmetric about one half leaves the order of confidence,
and so the curve, as it is; a map with an intercept (sigmoid, isotonic) can reorder rows of the two
classes.
"""

import time
import warnings

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.metrics import log_loss
from sklearn.naive_bayes import MultinomialNB

from experiments.frame import Result, Table, report
from naively import HybridNB, SeparationWarning, SparseMultinomialNB, accuracy_coverage_curve

SETS = ("imdb", "newsgroups20", "rt_polarity")
MAPS = ("sigmoid", "isotonic", "temperature")


def models(m):
    k = round(0.02 * m)
    return {
        "MultinomialNB": MultinomialNB(),
        "HybridNB": HybridNB(),
        "HybridNB, unnormalised": HybridNB(normalize=False),
        **{each: CalibratedClassifierCV(MultinomialNB(), method=each, cv=5) for each in MAPS},
        "SparseMultinomialNB, 2 % of the words": SparseMultinomialNB(k=k),
        "HybridNB of these words": HybridNB(estimator=SparseMultinomialNB(k=k)),
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
        log_loss(y_test, np.clip(proba, 2.0**-52, 1), labels=model.classes_),
        ((proba - truth) ** 2).sum(axis=1).mean(),
        calibration_error(right, proba.max(axis=1)),
        curve.area,
        curve.coverage_at(0.95),
        took,
    ]


def run(data, quick):
    result = Result()
    table = Table(
        ["set", "model", "accuracy", "log loss", "Brier", "calibration error", "area",
         "coverage at 95 %", "fit, CPU s"],
        times=("fit, CPU s",),
    )  # fmt: skip
    HybridNB(penalty=1.0).fit(np.eye(4), [0, 0, 1, 1])  # compiles
    found = {}
    for name in SETS[::2] if quick else SETS:
        X, X_test, y, y_test, _ = data.counts(name)
        for title, model in models(X.shape[1]).items():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", SeparationWarning)
                values = figures(model, X, X_test, y, y_test)
            found[name, title] = values
            table.rows.append([name, title, *np.round(values[:-1], 4), values[-1]])
        report(f"  {name}")
    result.tables["Calibration"] = table

    def of(model, what, names):
        return np.array([found[name, model][what] for name in names])

    names = list(dict.fromkeys(name for name, _ in found))
    two = [name for name in names if name != "newsgroups20"]
    bayes, hybrid = (of(model, 4, two) for model in ("MultinomialNB", "HybridNB"))
    maps = {each: (of(each, 4, two) - bayes).max() for each in MAPS}
    most = max(maps.values())
    result.claim(
        "hyb-claim-monotone",
        "most that a map adds to the area of naive Bayes, two classes: "
        + ", ".join(f"{more:+.4f} ({each})" for each, more in maps.items())
        + f"; the hybrid {(hybrid - bayes).min():+.4f} to {(hybrid - bayes).max():+.4f}",
        "held" if most < 0.001 else "partly" if most < (hybrid - bayes).max() else "not held",
        "true of one map that is symmetric about one half; these are averages of five folds, and "
        "those with an intercept reorder rows",
    )
    surer = of("HybridNB", 1, names) < of("MultinomialNB", 1, names)
    unsure = of("MultinomialNB", 0, names) < 0.9
    result.expect("where naive Bayes errs, the hybrid has the lower log loss", surer[unsure].all())
    return result
