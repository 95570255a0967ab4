"""The features of a model by class: a heat map of means, or a dot plot with the shares of rows."""

from __future__ import annotations

from typing import Any, Literal, Self, final, get_args

import numpy as np
from numpy.typing import ArrayLike

from naively._types import Array, FloatArray
from naively.plots.figure import axes, fitted_model, names_of, plain
from naively.statistics.matrix import is_sparse

Kind = Literal["heatmap", "dots"]
_DOT = 130.0  # area, in square points, of a dot of all rows


@final
class FeaturePanelDisplay:
    """Mean of each feature in each class, scaled to the range of the feature.

    Make it with :meth:`from_estimator`.

    Parameters
    ----------
    means : ndarray of shape (n_features, n_classes)
        Mean of the feature in the rows of the class.
    shares : ndarray of shape (n_features, n_classes)
        Share of the rows of the class in which the feature is not 0.
    names : ndarray of shape (n_features,)
        Names of the features.
    classes : ndarray of shape (n_classes,)
        Names of the classes.

    Attributes
    ----------
    image_ : matplotlib AxesImage or PathCollection
        The cells, or the dots, whose area is the share.
    ax_ : matplotlib Axes
        Axes with the panel.
    figure_ : matplotlib Figure
        Figure with the panel.

    Examples
    --------
    >>> from naively import FeaturePanelDisplay, SparseGaussianNB
    >>> X, y = [[3, 0, 1], [2, 0, 1], [0, 3, 1], [0, 2, 1]], ["a", "a", "b", "b"]
    >>> display = FeaturePanelDisplay.from_estimator(SparseGaussianNB(k=2).fit(X, y), X, y)
    >>> display.means
    array([[2.5, 0. ],
           [0. , 2.5]])
    """

    def __init__(self, means: FloatArray, shares: FloatArray, names: Array, classes: Array) -> None:
        self.means = means
        self.shares = shares
        self.names = names
        self.classes = classes

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: ArrayLike,
        y: ArrayLike,
        *,
        feature_names: Any = None,
        kind: Kind = "heatmap",
        ax: Any = None,
    ) -> Self:
        """Draw the features that a fitted classifier selected.

        Parameters
        ----------
        estimator : sparse classifier, or SparsityCV
            Fitted; of a search, the best estimator is taken.
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Rows whose means are drawn.
        y : array-like of shape (n_samples,)
            Their labels; each class of the estimator must have rows.
        feature_names : array-like of str of shape (n_features,), default=None
            Names of the features; by default those seen in `fit`, or x0, x1, ...
        kind : {"heatmap", "dots"}, default="heatmap"
            What is drawn, see :meth:`plot`.
        ax : matplotlib Axes, default=None
            Where to draw; by default a new figure.

        Returns
        -------
        display : FeaturePanelDisplay
        """
        model = fitted_model(estimator)
        rows: Any = X.tocsr() if is_sparse(X) else np.asarray(X)  # type: ignore[union-attr]
        support, labels = model.get_support(indices=True), np.asarray(y)
        names = names_of(
            getattr(model, "feature_names_in_", None) if feature_names is None else feature_names,
            rows.shape[1],
        )
        means, shares = [], []
        for name in model.classes_:
            inside = np.flatnonzero(labels == name)
            if len(inside) == 0:
                raise ValueError(f"`y` must have rows of each class; it has none of {str(name)!r}.")
            own = rows[inside][:, support]
            means.append(np.asarray(own.mean(axis=0)).ravel())
            shares.append(np.asarray((own != 0).mean(axis=0)).ravel())
        made = cls(np.transpose(means), np.transpose(shares), names[support], model.classes_)
        return made.plot(ax, kind=kind)

    def plot(self, ax: Any = None, *, kind: Kind = "heatmap") -> Self:
        """Draw the panel.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; by default a new figure.
        kind : {"heatmap", "dots"}, default="heatmap"
            Cells shaded by the mean, or dots whose area is the share of the rows.

        Returns
        -------
        display : FeaturePanelDisplay
            This object.
        """
        if kind not in get_args(Kind):
            raise ValueError(f"`kind` must be 'heatmap' or 'dots'; got {kind!r}.")
        n, m = self.means.shape
        self.ax_ = axes(ax)
        self.figure_ = self.ax_.figure
        if ax is None:
            self.figure_.set_size_inches(2.6 + 0.5 * m, max(1.3 + 0.24 * n, 2.5))
        low = self.means.min(axis=1, keepdims=True)
        span = self.means.max(axis=1, keepdims=True) - low
        scaled = (self.means - low) / np.where(span > 0, span, 1.0)
        if kind == "heatmap":
            self.image_ = self.ax_.imshow(scaled, cmap="Blues", vmin=0, vmax=1, aspect="auto")
        else:
            down, across = np.indices(scaled.shape)
            self.image_ = self.ax_.scatter(
                across.ravel(), down.ravel(), s=_DOT * self.shares.ravel(), c=scaled.ravel(),
                cmap="Blues", vmin=0, vmax=1, edgecolors="0.6", linewidths=0.5,
            )  # fmt: skip
            self.ax_.set(xlim=(-0.6, m - 0.4), ylim=(n - 0.4, -0.6))
        self.ax_.set_xticks(range(m), [plain(name) for name in self.classes], rotation=90)
        self.ax_.set_yticks(range(n), [plain(name) for name in self.names])
        bar = self.figure_.colorbar(self.image_, ax=self.ax_, shrink=0.8)
        bar.set_label("Mean, scaled")
        return self
