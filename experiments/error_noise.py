"""Three errors on pure noise (beyond ERR): labels independent of 5,000 columns, 60 rows.

Every classifier errs on half of all new rows. Means over ten draws (five for `k="auto"`). What a
model predicts of itself, and leave-one-out with the features held fixed, look excellent; the error
of folds that choose their own features stays at one half. With all columns nothing is selected,
and leave-one-out is honest too. The multinomial model has no rule with one feature: leaving a row
out then turns the majority against its class. The curve of `k="auto"` at the k that it chose is a
minimum over many points, and no estimate of its error.
"""

import warnings

import numpy as np
from sklearn.model_selection import StratifiedKFold, cross_val_score

from experiments.frame import Result, Table
from naively import SparseBernoulliNB, SparseMultinomialNB, error_path

GRID = [1, 5, 20, 100, 500, 2000, 5000]
CURVES = ("predicted", "leave_one_out", "cross_validated")


def noise(seed, n_columns):
    rng = np.random.default_rng(seed)
    return rng.integers(0, 2, (60, n_columns)), rng.permutation(np.repeat([0, 1], 30))


def curves(estimator, repeats, ks, table):
    paths = [error_path(estimator, *noise(seed, ks[-1]), ks) for seed in range(repeats)]
    found = {curve: np.mean([getattr(path, curve) for path in paths], axis=0) for curve in CURVES}
    for curve, values in found.items():
        table.rows.append([type(estimator).__name__, curve, *values.tolist()])
    return found


def automatic(estimator, repeats, n_columns):
    """Share of no feature, median k, its own cross-validated error, that of the whole procedure."""
    chosen, believed, honest = [], [], []
    for seed in range(repeats):
        X, y = noise(seed, n_columns)
        folds = estimator.fit(X, y).fold_errors_
        chosen.append(folds.best_k())
        believed.append(folds.mean[list(folds.k).index(chosen[-1])])
        cv = StratifiedKFold(5, shuffle=True, random_state=seed)
        honest.append(1 - cross_val_score(estimator, X, y, cv=cv).mean())
    none = np.mean(np.array(chosen) == 0)
    return [none, float(np.median(chosen)), np.mean(believed), np.mean(honest)]


def run(data, quick):
    result, repeats, ks = Result(), 2 if quick else 10, GRID[:5] if quick else GRID
    table = Table(["model", "curve", *(f"k = {k:,}" for k in ks)])
    chosen = Table(["model", "no feature", "median k", "its own curve there", "cross-validated"])
    for model in (SparseBernoulliNB, SparseMultinomialNB):
        found = curves(model(), repeats, ks, table)
        at = slice(2, 4)  # 20 and 100 features
        for curve in CURVES[:2]:
            result.expect(f"{curve} looks excellent on noise", found[curve][at].max() < 0.2)
        result.expect("folds stay at chance", np.abs(found["cross_validated"] - 0.5).max() < 0.25)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="`k`='auto' selects no feature")
            automatics = automatic(model(k="auto"), 1 if quick else 5, ks[-1])
        chosen.rows.append([model.__name__, *automatics])
    result.tables["Mean error by the number of features"] = table
    result.tables['k="auto"'] = chosen
    return result
