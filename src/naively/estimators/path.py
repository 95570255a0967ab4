"""The sparsity path of an estimator: every k from one count of the data."""

from __future__ import annotations

from typing import cast

from numpy.typing import ArrayLike
from sklearn.base import clone

from naively._types import MatrixLike
from naively.estimators.base import AbstractSparseClassifier, check_sparse_classifier
from naively.models.model import S
from naively.selection.path import SparsityPath
from naively.selection.redundancy import of_rows
from naively.selection.train import model_path


def sparsity_path(
    estimator: AbstractSparseClassifier[S],
    X: MatrixLike | S,
    y: ArrayLike | None = None,
    ks: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
) -> SparsityPath:
    """Solve for a whole grid of k at once.

    Parameters
    ----------
    estimator : sparse classifier
        Gives the model and its parameters; its `k` does not matter. It is not changed.
    X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features) or statistics
        Training rows, or the class statistics of the model alone (then without `y`).
    y : array-like of shape (n_samples,), default=None
        Class labels.
    ks : array-like of int, default=None
        The grid; by default about 100 values from 1 to n_features, evenly spaced on a log scale.
    sample_weight : array-like of shape (n_samples,), default=None
        Weight of each row.

    Returns
    -------
    path : SparsityPath
        Objective and bound in nats, the support at any k, and the order in which features enter.

    Raises
    ------
    ValueError
        If the data, a parameter or the grid cannot be used.

    Notes
    -----
    The supports are those of the dual (of pairs: of the cover), with their bound: `exact=True`
    closes the gap of a fit, and has no part in a path.

    Examples
    --------
    >>> import numpy as np
    >>> from naively import SparseBernoulliNB, sparsity_path
    >>> X = np.array([[1, 1, 0], [1, 0, 0], [0, 1, 1], [0, 1, 1]])
    >>> path = sparsity_path(SparseBernoulliNB(), X, [0, 0, 1, 1], ks=[1, 2])
    >>> path.support(2)
    array([0, 2])
    """
    check_sparse_classifier(estimator)
    if y is None and not hasattr(X, "classes"):
        raise ValueError(
            "`y` may only be left out if `X` are class statistics; got "
            f"{type(X).__name__}. Pass the labels of the rows."
        )
    estimator = clone(estimator)
    if y is None:
        statistics, rows = cast("S", X), None
        estimator.n_features_in_ = statistics.n_features
        model = estimator._of_path()
        statistics = estimator._weighed(statistics)
    else:
        X, y = estimator._check_batch(cast("MatrixLike", X), y, reset=True)
        model, weight = estimator._of_path(), estimator._weighted_rows(y, sample_weight)
        statistics = model.gather(X, y, weight)
        rows = model.rows_over(statistics, X, y, weight)
    return model_path(of_rows(model, statistics, rows), statistics, ks)
