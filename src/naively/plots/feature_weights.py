"""Which features speak for which class, as bars or as images."""

from __future__ import annotations

from typing import Any, Self, final

import numpy as np

from naively._types import Array, FloatArray, IntArray
from naively.plots.figure import axes, fitted_model, names_of, plain
from naively.selection.train import Trained

_COLUMNS = 5  # most panels side by side


@final
class FeatureWeightsDisplay:
    """Weights of the features of a model: the largest of each class, or all as images.

    Make it with :meth:`from_estimator` or :meth:`from_weights`.

    Parameters
    ----------
    weights : ndarray of shape (n_classes, n_features)
        How much a unit of the feature speaks for the class, against the other of two, or the mean
        of more; zero for features that are not used.
    names : ndarray of shape (n_features,)
        Names of the features.
    classes : ndarray of shape (n_classes,)
        Names of the classes.
    n_top : int, default=10
        How many features to show for each class.
    image_shape : (int, int), default=None
        Rows and columns of the image whose pixels are the features; draws images instead of bars.
    quantity : str, default="Weight"
        What is drawn, for the axes.
    errors : ndarray of shape (n_classes, n_features), default=None
        Standard errors of the weights, drawn as lines over the bars.

    Attributes
    ----------
    bars_ : list of matplotlib BarContainer
        Bars of each class; empty for images.
    images_ : list of matplotlib AxesImage
        Image of each class; empty for bars.
    axes_ : ndarray of matplotlib Axes
        One for each class.
    figure_ : matplotlib Figure
        Figure with all of them.

    Examples
    --------
    >>> from naively import FeatureWeightsDisplay, SparseMultinomialNB
    >>> X = [[3, 0, 1], [2, 0, 1], [0, 3, 1], [0, 2, 1]]
    >>> model = SparseMultinomialNB(k=2).fit(X, ["ham", "ham", "spam", "spam"])
    >>> display = FeatureWeightsDisplay.from_estimator(model, feature_names=["hi", "win", "the"])
    >>> [label.get_text() for label in display.axes_[1].get_yticklabels()]
    ['win', 'hi']
    """

    def __init__(
        self,
        weights: FloatArray,
        names: Array,
        classes: Array,
        *,
        n_top: int = 10,
        image_shape: tuple[int, int] | None = None,
        quantity: str = "Weight",
        errors: FloatArray | None = None,
    ) -> None:
        self.weights = weights
        self.names = names
        self.classes = classes
        self.n_top = n_top
        self.image_shape = image_shape
        self.quantity = quantity
        self.errors = errors

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        feature_names: Any = None,
        n_top: int = 10,
        image_shape: tuple[int, int] | None = None,
        ax: Any = None,
    ) -> Self:
        """Draw the weights of a fitted classifier.

        Where a model has no weights, but centers (medians of :class:`SparseL1Centers`, means of
        :class:`SparseGaussianNB`), these are drawn: against their mean over the classes, in units
        of the spread of the feature within the classes. Weights of multinomial, Bernoulli, Poisson
        and negative binomial models have standard errors: those of the model, from the information
        of its likelihood (rows that vary more than it allows make them larger).

        Parameters
        ----------
        estimator : classifier with `coef_` or centers, or SparsityCV
            Fitted; of a search, the best estimator is taken.
        feature_names : array-like of str of shape (n_features,), default=None
            Names of the features; by default those seen in `fit`, or x0, x1, ...
        n_top : int, default=10
            How many features to show for each class.
        image_shape : (int, int), default=None
            Draw images of this many rows and columns of pixels.
        ax : array of matplotlib Axes, default=None
            Where to draw, one for each class; by default a new figure.

        Returns
        -------
        display : FeatureWeightsDisplay
        """
        model = fitted_model(estimator)
        weights, quantity = weights_of(model)
        return cls.from_weights(
            weights,
            names_of(
                getattr(model, "feature_names_in_", None)
                if feature_names is None
                else feature_names,
                weights.shape[1],
            ),
            model.classes_,
            n_top=n_top,
            image_shape=image_shape,
            quantity=quantity,
            errors=errors_of(model, weights.shape[1]),
            ax=ax,
        )

    @classmethod
    def from_weights(
        cls,
        weights: Any,
        names: Any,
        classes: Any,
        *,
        n_top: int = 10,
        image_shape: tuple[int, int] | None = None,
        quantity: str = "Weight",
        errors: Any = None,
        ax: Any = None,
    ) -> Self:
        """Draw weights.

        Parameters
        ----------
        weights : array-like of shape (n_classes, n_features)
            How much each feature speaks for each class.
        names, classes : array-like of shape (n_features,) and (n_classes,)
            Names of the features and classes.
        n_top : int, default=10
            How many features to show for each class.
        image_shape : (int, int), default=None
            Draw images of this many rows and columns of pixels.
        quantity : str, default="Weight"
            What is drawn, for the axes.
        errors : array-like of shape (n_classes, n_features), default=None
            Standard errors of the weights.
        ax : array of matplotlib Axes, default=None
            Where to draw, one for each class; by default a new figure.

        Returns
        -------
        display : FeatureWeightsDisplay
        """
        weights = np.asarray(weights, dtype=np.float64)
        if image_shape is not None and np.prod(image_shape) != weights.shape[1]:
            raise ValueError(
                f"`image_shape` must have one pixel for each of the {weights.shape[1]} features; "
                f"got {tuple(image_shape)}, which has {int(np.prod(image_shape))}."
            )
        if errors is not None:
            errors = np.asarray(errors, dtype=np.float64)
            if errors.shape != weights.shape:
                raise ValueError(
                    f"`errors` must have the shape of the weights {weights.shape}; got "
                    f"{errors.shape}."
                )
        display = cls(
            weights, np.asarray(names), np.asarray(classes), n_top=n_top, image_shape=image_shape,
            quantity=quantity, errors=errors,
        )  # fmt: skip
        return display.plot(ax=ax)

    def top(self, c: int) -> IntArray:
        """Find the features with the largest weights, of either sign, for the class in position c.

        Parameters
        ----------
        c : int
            Position of the class.

        Returns
        -------
        features : ndarray of shape (at most n_top,)
            Those that speak for the class first; features of weight zero are left out.
        """
        weight = self.weights[c]
        order = np.argsort(-np.abs(weight), kind="stable")[: self.n_top]
        order = order[weight[order] != 0]
        return np.asarray(order[np.argsort(-weight[order], kind="stable")])

    def plot(self, ax: Any = None) -> Self:
        """Draw the weights.

        Parameters
        ----------
        ax : array of matplotlib Axes, default=None
            Where to draw, one for each class; by default a new figure.

        Returns
        -------
        display : FeatureWeightsDisplay
            This object.
        """
        self.axes_ = self._axes(ax)
        self.figure_ = self.axes_[0].figure
        self.bars_: list[Any] = []
        self.images_: list[Any] = []
        limit = float(np.abs(self.weights).max(initial=0.0)) or 1.0
        for c, each in enumerate(self.axes_):
            each.set_title(plain(self.classes[c]))
            if self.image_shape is None:
                self._draw_bars(c, each, limit)
            else:
                self._draw_image(c, each, limit)
        if self.images_ and ax is None:
            bar = self.figure_.colorbar(self.images_[0], ax=list(self.axes_), shrink=0.8)
            bar.set_label(self.quantity)
        return self

    def _axes(self, ax: Any) -> Array:
        n = len(self.classes)
        if ax is not None:
            if np.size(ax) != n:
                raise ValueError(f"`ax` must be {n} axes, one for each class; got {np.size(ax)}.")
            return np.ravel(ax)
        across = min(n, _COLUMNS if self.image_shape is not None else 3)
        down = -(-n // across)
        width, height = (1.7, 1.9) if self.image_shape is not None else (3.4, self._bar_height())
        figure = axes().figure
        figure.clear()
        figure.set_layout_engine("constrained")
        figure.set_size_inches(width * across + 0.8, height * down)
        grid = np.ravel(figure.subplots(down, across))
        for unused in grid[n:]:
            unused.remove()
        return grid[:n]

    def _bar_height(self) -> float:
        return 0.7 + 0.22 * self.n_top

    def _draw_bars(self, c: int, ax: Any, limit: float) -> None:
        features = self.top(c)
        weight = self.weights[c, features]
        position = np.arange(len(features))
        colors = ["C0" if each > 0 else "C3" for each in weight]
        lines = {}
        if self.errors is not None:
            error = self.errors[c, features]
            lines = {"xerr": np.where(np.isfinite(error), error, 0.0), "ecolor": "0.35"}
        self.bars_.append(ax.barh(position, weight, color=colors, **lines))
        ax.set_yticks(position, [plain(name) for name in self.names[features]])
        ax.invert_yaxis()
        ax.axvline(0, color="0.5", linewidth=0.8)
        ax.set(xlabel=self.quantity, xlim=(-1.05 * limit, 1.05 * limit))

    def _draw_image(self, c: int, ax: Any, limit: float) -> None:
        pixels = self.weights[c].reshape(self.image_shape)
        used = (self.weights != 0).any(axis=0).reshape(self.image_shape)
        ax.set_facecolor("0.85")  # pixels that are not used
        shown = np.ma.masked_array(pixels, ~used)
        self.images_.append(ax.imshow(shown, cmap="RdBu", vmin=-limit, vmax=limit))
        ax.set(xticks=[], yticks=[])


def errors_of(model: Any, n_features: int) -> FloatArray | None:
    """Return standard errors of the weights (C, m); None where they are of no closed form."""
    if not hasattr(model, "rule_") or getattr(model, "class_weight", None) is not None:
        return None
    trained = Trained(
        model.model_, model.statistics_, model.selection_, model.rule_, model.refitted_,
        model.temperature_,
    )  # fmt: skip
    found = trained.weight_errors()
    if found is None:
        return None
    errors = np.zeros((len(model.classes_), n_features))
    errors[:, trained.selection.support] = found.T
    return errors


def weights_of(model: Any) -> tuple[FloatArray, str]:
    """How much each feature speaks for each class (C, m), and what that is called."""
    if hasattr(model, "coef_"):
        coef = np.asarray(model.coef_, dtype=np.float64)
        two = len(coef) == 1
        return np.vstack([-coef, coef]) if two else coef - coef.mean(axis=0), "Weight"
    if hasattr(model, "dispersion_"):  # mean absolute deviations from the medians
        centers, spread = model.centers_, np.asarray(model.dispersion_).mean(axis=0)
    elif hasattr(model, "theta_") and hasattr(model, "var_"):
        centers, spread = model.theta_, np.sqrt(np.asarray(model.var_).mean(axis=0))
    else:
        raise TypeError(
            "`estimator` must have weights (`coef_`) or centers of its classes; "
            f"{type(model).__name__} has neither. Pass what you want to see to `from_weights`."
        )
    used = getattr(model, "support_", np.ones(len(spread), dtype=np.bool_))
    apart = np.where(used, centers - np.mean(centers, axis=0), 0.0)
    scale = np.where(spread > 0, spread, 1.0)  # of a constant within the classes: its own unit
    return apart / scale, "Center against the mean, in spreads"
