"""How sure a selection is: of each feature, how often half of the rows select it."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils import check_random_state

from naively._types import MatrixLike
from naively.estimators.base import AbstractSparseClassifier, check_sparse_classifier
from naively.judging.rows import checked_rows
from naively.judging.stability import BUCKETS, SelectionStability, stability
from naively.models.model import S
from naively.selection.train import k_of, model_grid
from naively.statistics.labels import group_codes
from naively.statistics.weights import check_weights


def selection_stability(
    estimator: AbstractSparseClassifier[S],
    X: MatrixLike,
    y: ArrayLike,
    ks: ArrayLike | None = None,
    *,
    n_subsamples: int = 100,
    n_buckets: int | None = BUCKETS,
    groups: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    random_state: int | np.random.RandomState | None = 0,
) -> SelectionStability:
    """Select on random halves of the rows, and count how often each feature is selected.

    The halves come in pairs that share no row (Shah and Samworth 2013). Rows are dealt out to
    buckets with equal shares of the classes, each bucket is counted once, and a half is a sum of
    buckets; models whose statistics do not add up (medians), and buckets of fewer than ten rows,
    have every half counted for itself. Of very many features those of largest gain over all rows
    are looked at, sixteen times as many until none of the lower half of them is selected on more
    than a twentieth of the halves; what lies below counts as never selected.

    Parameters
    ----------
    estimator : sparse classifier
        The model and its parameters. It is not changed.
    X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
        Rows.
    y : array-like of shape (n_samples,)
        Class labels.
    ks : array-like of int, default=None
        Numbers of features; by default the `k` of the estimator alone.
    n_subsamples : int, default=100
        Number of halves, even.
    n_buckets : int or None, default=20
        Number of buckets, even; None draws every half row by row, which takes longer and differs
        by 0.01 on average. So are those of few rows, and of models that look at rows (`redundancy`,
        medians).
    groups : array-like of shape (n_samples,), default=None
        Rows of one group (an author, a donor, a plate) are in the same half.
    sample_weight : array-like of shape (n_samples,), default=None
        Weight of each row; halves have half of the rows, whatever they weigh.
    random_state : int or RandomState, default=0
        Seed of the halves.

    Returns
    -------
    SelectionStability
        Frequencies, the features that are stable, and a bound on those that are so by chance.

    Raises
    ------
    TypeError
        If the estimator is no sparse classifier.
    ValueError
        If the data, a parameter or the grid cannot be used.

    Examples
    --------
    >>> import numpy as np
    >>> from naively import SparseBernoulliNB, selection_stability
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 100)
    >>> X = rng.random((200, 50)) < 0.3
    >>> X[:, 7] = rng.random(200) < 0.2 + 0.6 * y  # the only feature that tells the classes
    >>> found = selection_stability(SparseBernoulliNB(k=3), X, y)
    >>> found.stable(3)
    array([7])
    """
    check_sparse_classifier(estimator)
    estimator = clone(estimator)
    X, y = estimator._check_batch(X, y, reset=True)
    model = estimator._of_path()
    sample_weight = estimator._weighted_rows(y, sample_weight)
    statistics = model.gather(X, y, sample_weight)
    if ks is None:
        ks = [k_of(model, statistics, estimator.k)]
    codes = None
    if groups is not None:
        codes = group_codes(groups, len(y), "row")
        weight = check_weights(sample_weight, len(codes))
        codes = codes if weight is None else codes[weight > 0]
    return stability(
        model,
        checked_rows(X, y, sample_weight),
        statistics,
        model_grid(model, statistics.n_features, len(statistics.classes), ks),
        n_subsamples=n_subsamples,
        n_buckets=n_buckets,
        groups=codes,
        rng=check_random_state(random_state),
    )
