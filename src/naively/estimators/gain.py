"""Gains as a score function for the selectors of scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from naively._types import FloatArray, MatrixLike
from naively.estimators.base import AbstractSparseClassifier, check_sparse_classifier
from naively.estimators.naive_bayes import SparseBernoulliNB
from naively.models.alike import p_values


def gain(
    X: MatrixLike, y: ArrayLike, *, model: AbstractSparseClassifier[Any] | None = None
) -> tuple[FloatArray, FloatArray]:
    """Gain of each feature with its p-value: a `score_func` like scikit-learn's `chi2`.

    Parameters
    ----------
    X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
        Rows.
    y : array-like of shape (n_samples,)
        Class labels.
    model : sparse classifier, default=None
        The model and its parameters; its `k` does not matter. By default
        ``SparseBernoulliNB(alpha=0)``, whose gain is n times the mutual information of presence and
        class, in nats.

    Returns
    -------
    scores : ndarray of shape (n_features,)
        Gains in nats of likelihood (units of distance for centers).
    pvalues : ndarray of shape (n_features,)
        Of the likelihood-ratio test, see `pvalues_` of the classifiers; NaN for centers, whose
        gain is no likelihood ratio.

    Raises
    ------
    TypeError
        If `model` is no sparse classifier.
    ValueError
        If the data cannot be used.

    Examples
    --------
    >>> from functools import partial
    >>> from sklearn.feature_selection import SelectFdr
    >>> from naively import SparsePoissonNB, gain
    >>> X = [[9, 1, 4], [8, 2, 5], [9, 2, 4], [2, 1, 4], [1, 2, 5], [0, 2, 5]]
    >>> selector = SelectFdr(partial(gain, model=SparsePoissonNB()), alpha=0.05)
    >>> selector.fit(X, [0, 0, 0, 1, 1, 1]).get_support()
    array([ True, False, False])
    """
    if model is None:
        model = SparseBernoulliNB(alpha=0)
    check_sparse_classifier(model)
    estimator = clone(model)
    X, y = estimator._check_batch(X, y, reset=True)
    family = estimator._model().family  # what may be chosen, and how, has no part in a gain
    statistics = estimator._weighed(estimator._model().gather(X, y))
    scores = family.gain(statistics)
    if family.freedom is None:
        return scores, np.full(len(scores), np.nan)
    return scores, p_values(family, statistics)
