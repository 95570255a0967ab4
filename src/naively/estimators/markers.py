"""What tells each class from all others, of a fitted estimator."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from naively._types import Array
from naively.estimators.base import AbstractSparseClassifier, check_sparse_classifier
from naively.selection.markers import Markers, markers_of
from naively.statistics.counts import ClassCounts


def markers(
    estimator: AbstractSparseClassifier[Any],
    k: int | None = 10,
    *,
    prior: float | None = None,
    presence: ClassCounts | None = None,
) -> Markers:
    """Tell which of the selected features set each class apart from all others.

    Everything is computed from the class statistics of the estimator, so it works after
    `partial_fit` and `from_statistics` as well. Class weights have no part in it.

    Parameters
    ----------
    estimator : fitted sparse classifier
        Of a model whose statistics add up: not `SparseL1Centers`. With `k="all"` it has all
        features to show.
    k : int or None, default=10
        Most features of each class; None: all that the class has more of than the others.
    prior : float, default=None
        Strength of the prior of the z-scores, in rows like the average of all rows; by default as
        many as there are, so that what is expected a priori is the counts of all classes together.
        For multinomial models it is Monroe's alpha_0, in units of the mean number of occurrences
        in a row. Not for models of real numbers.
    presence : ClassCounts, default=None
        Rows of each class that hold each feature (``ClassCounts.from_matrix(X, y,
        presence=True)``), for the shares of models that do not count them: multinomial, Poisson,
        negative binomial, Gaussian and centers.

    Returns
    -------
    markers : Markers
        Arrays by column, and `to_frame()`.

    Raises
    ------
    TypeError
        If `estimator` is no sparse classifier.
    ValueError
        If a parameter is out of range or has no effect, or the model has no such comparison.
    NotFittedError
        If the estimator is not fitted.

    Examples
    --------
    >>> from naively import SparseMultinomialNB, markers
    >>> X = [[9, 1, 0, 3], [8, 0, 1, 3], [1, 9, 0, 4], [0, 8, 1, 3], [0, 1, 1, 9], [1, 0, 0, 8]]
    >>> model = SparseMultinomialNB(k=2).fit(X, ["a", "a", "b", "b", "c", "c"])
    >>> found = markers(model)
    >>> found.label.tolist(), found.feature.tolist(), found.z.round(1).tolist()
    (['a', 'b'], [0, 1], [3.2, 3.1])
    >>> print(found.coverage)
    1 of 3 classes has no feature of its own: c.
    """
    check_sparse_classifier(estimator)
    check_is_fitted(estimator)
    statistics, support = estimator._counted, estimator.selection_.support
    names = estimator._names
    return markers_of(
        estimator.model_,
        statistics,
        support,
        k,
        prior=prior,
        presence=_held(statistics, presence, support),
        names=None if names is None else np.asarray(names)[support],
    )


def _held(statistics: Any, presence: ClassCounts | None, support: Array) -> Array | None:
    """Rows of each class with each feature, where the statistics or the user know them."""
    own = getattr(statistics, "documents", None)
    if getattr(statistics, "presence", False):
        own = statistics.table
    if presence is None:
        return None if own is None else np.asarray(own[support])
    if own is not None or hasattr(statistics, "n_categories"):
        raise ValueError("`presence` has no effect: the statistics of the model know it; leave it.")
    alike = presence.presence and presence.n_features == statistics.n_features
    if not alike or not np.array_equal(presence.classes, statistics.classes):
        raise ValueError(
            "`presence` must count the presence (presence=True) of the same features in the same "
            f"classes; got presence={presence.presence}, n_features={presence.n_features} and "
            f"classes {presence.classes.tolist()}."
        )
    return np.asarray(presence.table[support])
