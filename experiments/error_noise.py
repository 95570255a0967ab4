"""Three errors on pure noise: labels independent of 5,000 columns, 60 rows.

    python experiments/error_noise.py [--repeats 20]

Every classifier errs on half of all new rows. Prints Markdown.
"""

import argparse
import warnings

import numpy as np
from sklearn.model_selection import StratifiedKFold, cross_val_score

from naively import SparseBernoulliNB, SparseMultinomialNB, error_path

GRID = [1, 5, 20, 100, 500, 2000, 5000]


def noise(seed):
    rng = np.random.default_rng(seed)
    return rng.integers(0, 2, (60, 5000)), rng.permutation(np.repeat([0, 1], 30))


def curves(estimator, repeats):
    paths = [error_path(estimator, *noise(seed), GRID) for seed in range(repeats)]
    name = type(estimator).__name__
    names = ("predicted", "leave_one_out", "cross_validated")
    for curve in names:
        values = np.array([getattr(path, curve) for path in paths])
        cells = [f"{m:.3f} ± {s:.3f}" for m, s in zip(values.mean(0), values.std(0), strict=True)]
        print(f"| {name} | {curve} | " + " | ".join(cells) + " |", flush=True)


def automatic(estimator, repeats):
    """Chosen k, its own cross-validated error, and the error of the whole procedure."""
    chosen, believed, honest = [], [], []
    for seed in range(repeats):
        X, y = noise(seed)
        model = estimator.fit(X, y)
        folds = model.fold_errors_
        chosen.append(folds.best_k())
        believed.append(folds.mean[list(folds.k).index(chosen[-1])])
        cv = StratifiedKFold(5, shuffle=True, random_state=seed)
        honest.append(1 - cross_val_score(estimator, X, y, cv=cv).mean())
    chosen = np.array(chosen)
    print(
        f"| {type(estimator).__name__} | {np.mean(chosen == 0):.0%} | {np.median(chosen):.0f} | "
        f"{np.mean(believed):.3f} ± {np.std(believed):.3f} | "
        f"{np.mean(honest):.3f} ± {np.std(honest):.3f} |",
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=20)
    repeats = parser.parse_args().repeats
    warnings.filterwarnings("ignore", message="`k`='auto' selects no feature")
    print("| model | curve | " + " | ".join(f"k = {k}" for k in GRID) + " |")
    print("| --- | --- |" + " ---: |" * len(GRID))
    for estimator in (SparseBernoulliNB(), SparseMultinomialNB()):
        curves(estimator, repeats)
    print("\n| model, k='auto' | no feature | median k | its own curve there | cross-validated |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for estimator in (SparseBernoulliNB(k="auto"), SparseMultinomialNB(k="auto")):
        automatic(estimator, min(repeats, 10))


if __name__ == "__main__":
    main()
