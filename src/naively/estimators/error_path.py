"""Errors over the number of features, for any sparse classifier."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils import check_random_state

from naively._types import MatrixLike
from naively.estimators.base import AbstractSparseClassifier, check_sparse_classifier
from naively.expected.estimates import Method, Rivals
from naively.expected.path import predicted_errors
from naively.judging.error_path import ErrorPath
from naively.judging.folds import fold_errors
from naively.judging.leave_one_out import left_out_errors
from naively.judging.rows import checked_rows
from naively.models.model import S
from naively.selection.redundancy import of_rows
from naively.selection.train import model_path


def error_path(
    estimator: AbstractSparseClassifier[S],
    X: MatrixLike,
    y: ArrayLike,
    ks: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    n_folds: int = 5,
    method: Method = "exact",
    rivals: Rivals | None = None,
    random_state: int | np.random.RandomState | None = 0,
) -> ErrorPath:
    """Estimate the error at every number of features in three ways.

    Parameters
    ----------
    estimator : sparse classifier
        The model and its parameters; its `k` does not matter. It is not changed.
    X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
        Rows.
    y : array-like of shape (n_samples,)
        Class labels.
    ks : array-like of int, default=None
        The grid; by default about 100 values from 1 to n_features, evenly spaced on a log scale.
    sample_weight : array-like of shape (n_samples,), default=None
        Weight of each row.
    n_folds : int, default=5
        Number of folds, with equal shares of the classes.
    method : {"exact", "saddlepoint", "normal", "compensated", "uncorrelated"}
        How the error is predicted; see :func:`expected_error`.
    rivals : {"product", "normal", "simulated"}, default=None
        How the predictions for more than two classes are put together, see
        :func:`expected_error`; by default they are simulated, with 20,000 rows in all.
    random_state : int or RandomState, default=0
        Seed of the folds.

    Returns
    -------
    ErrorPath
        The predicted error from the statistics alone (multinomial and Bernoulli models), the
        leave-one-out error with the features held fixed, and the cross-validated error with the
        features selected anew in each fold. Only the last one is honest about the selection.

    Raises
    ------
    TypeError
        If the estimator is no sparse classifier.
    ValueError
        If the data, a parameter or the grid cannot be used.

    Examples
    --------
    >>> import numpy as np
    >>> from naively import SparseBernoulliNB, error_path
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.integers(0, 2, (60, 5000)), np.repeat([0, 1], 30)  # nothing to be learned
    >>> curves = error_path(SparseBernoulliNB(), X, y, ks=[0, 20])
    >>> bool(curves.leave_one_out[1] < 0.1), bool(curves.cross_validated[1] > 0.35)
    (True, True)
    """
    check_sparse_classifier(estimator)
    estimator = clone(estimator)
    X, y = estimator._check_batch(X, y, reset=True)
    model = estimator._of_path()
    for name in ("refit", "calibration"):
        if getattr(model, name) is not None:
            raise ValueError(
                f"`{name}`={getattr(model, name)!r} has no part in the errors of a path, which are "
                "those of the model's own rule; leave it out."
            )
    sample_weight = estimator._weighted_rows(y, sample_weight)
    statistics = model.gather(X, y, sample_weight)
    rows, seed = checked_rows(X, y, sample_weight), check_random_state(random_state)
    folds = fold_errors(model, rows, statistics, ks, n_folds=n_folds, random_state=seed)
    model = of_rows(model, statistics, model.rows_over(statistics, X, y, sample_weight))
    track = model_path(model, statistics, folds.k)
    return ErrorPath(
        k=folds.k,
        predicted=predicted_errors(model, statistics, track, method, rivals),
        leave_one_out=left_out_errors(model, statistics, track, rows),
        folds=folds,
    )
