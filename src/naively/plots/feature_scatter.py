"""How often each feature occurs against what it weighs, as a plot."""

from __future__ import annotations

from typing import Any, Self, final

import numpy as np
from numpy.typing import ArrayLike

from naively._types import Array, FloatArray
from naively.plots.feature_weights import weights_of
from naively.plots.figure import axes, fitted_model, names_of, plain
from naively.statistics.matrix import is_sparse


@final
class FeatureScatterDisplay:
    """Rows that hold each feature, against the weight of the class that it speaks for.

    Make it with :meth:`from_estimator`.

    Parameters
    ----------
    rows : ndarray of shape (n_features,)
        How many rows hold each feature; those of 0 are not drawn.
    weight : ndarray of shape (n_features,)
        Of two classes the second against the first, else that of the class it speaks for.
    names : ndarray of shape (n_features,)
        Names of the features.
    n_named : int, default=10
        How many features to name: those whose weights are the largest, of either sign.
    quantity : str, default="Weight"
        What is drawn upwards.

    Attributes
    ----------
    points_ : matplotlib PathCollection
        A point for each feature.
    texts_ : list of matplotlib Annotation
        Names of features.
    ax_ : matplotlib Axes
        Axes with the points.
    figure_ : matplotlib Figure
        Figure with the points.

    Examples
    --------
    >>> from naively import FeatureScatterDisplay, SparseMultinomialNB
    >>> X = [[3, 0, 1], [2, 0, 1], [0, 3, 1], [0, 2, 1]]
    >>> model = SparseMultinomialNB(k=2).fit(X, ["ham", "ham", "spam", "spam"])
    >>> display = FeatureScatterDisplay.from_estimator(model, X, feature_names=["hi", "win", "the"])
    >>> sorted(text.get_text() for text in display.texts_)
    ['hi', 'win']
    """

    def __init__(
        self,
        rows: Array,
        weight: FloatArray,
        names: Array,
        *,
        n_named: int = 10,
        quantity: str = "Weight",
    ) -> None:
        self.rows = rows
        self.weight = weight
        self.names = names
        self.n_named = n_named
        self.quantity = quantity

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: ArrayLike,
        *,
        feature_names: Any = None,
        n_named: int = 10,
        ax: Any = None,
    ) -> Self:
        """Draw the features that a fitted classifier uses.

        Parameters
        ----------
        estimator : classifier with `coef_` or centers, or SparsityCV
            Fitted; of a search, the best estimator is taken.
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Rows in which the features are counted, where they are not 0.
        feature_names : array-like of str of shape (n_features,), default=None
            Names of the features; by default those seen in `fit`, or x0, x1, ...
        n_named : int, default=10
            How many features to name.
        ax : matplotlib Axes, default=None
            Where to draw; by default a new figure.

        Returns
        -------
        display : FeatureScatterDisplay
        """
        model = fitted_model(estimator)
        weights, quantity = weights_of(model)
        names = names_of(
            getattr(model, "feature_names_in_", None) if feature_names is None else feature_names,
            weights.shape[1],
        )
        held: Any = X if is_sparse(X) else np.asarray(X)
        rows = np.asarray((held != 0).sum(axis=0)).ravel()
        if rows.shape != names.shape:
            raise ValueError(
                f"`X` must have the {len(names)} features of the model; it has {len(rows)}."
            )
        used = np.flatnonzero((weights != 0).any(axis=0))
        weight = weights[1] if len(weights) == 2 else weights.max(axis=0)
        return cls(rows[used], weight[used], names[used], n_named=n_named, quantity=quantity).plot(
            ax
        )

    def plot(self, ax: Any = None) -> Self:
        """Draw the points.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; by default a new figure.

        Returns
        -------
        display : FeatureScatterDisplay
            This object.
        """
        self.ax_ = axes(ax)
        self.figure_ = self.ax_.figure
        there = np.flatnonzero(self.rows > 0)
        rows, weight = self.rows[there], self.weight[there]
        self.points_ = self.ax_.scatter(rows, weight, s=14, alpha=0.7)
        self.ax_.set_xscale("log")
        self.ax_.axhline(0, color="0.5", linewidth=0.8)
        largest = np.argsort(-np.abs(weight), kind="stable")[: self.n_named]
        self.texts_ = [
            self.ax_.annotate(
                plain(self.names[there[i]]), (rows[i], weight[i]), (4, 0),
                textcoords="offset points", va="center", fontsize="small",
            )
            for i in largest.tolist()
        ]  # fmt: skip
        self.ax_.margins(x=0.12)  # for the names
        self.ax_.set(xlabel="Rows that hold the feature", ylabel=self.quantity)
        return self
