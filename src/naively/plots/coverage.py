"""Accuracy against coverage as a plot."""

from __future__ import annotations

from typing import Any, Self, final

from numpy.typing import ArrayLike

from naively.judging.coverage import CoverageCurve, accuracy_coverage_curve, curve_of_decisions
from naively.plots.figure import axes


@final
class CoverageDisplay:
    """Accuracy on the surest rows against the share of rows that is labelled.

    Make it with :meth:`from_estimator` or :meth:`from_predictions`.

    Parameters
    ----------
    curve : CoverageCurve
        What to draw.
    name : str, default=None
        Name in the legend.

    Attributes
    ----------
    line_ : matplotlib Line2D
        The curve.
    ax_ : matplotlib Axes
        Axes with the curve.
    figure_ : matplotlib Figure
        Figure with the curve.

    Examples
    --------
    >>> from naively import CoverageDisplay
    >>> display = CoverageDisplay.from_predictions([0, 1, 1, 0], [0.1, 0.9, 0.4, 0.3], name="NB")
    >>> display.line_.get_label()
    'NB (area 0.94)'
    """

    def __init__(self, curve: CoverageCurve, *, name: str | None = None) -> None:
        self.curve = curve
        self.name = name

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        *,
        sample_weight: ArrayLike | None = None,
        name: str | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the curve of a fitted classifier.

        Parameters
        ----------
        estimator : object
            Fitted, with `predict_proba`, or `decision_function`, and `classes_`. Without
            probabilities the surest rows are those whose best decision value is farthest above the
            next.
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Their labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row.
        name : str, default=None
            Name in the legend; by default the class of the estimator.
        ax : matplotlib Axes, default=None
            Where to draw; by default a new figure.
        **kwargs
            Passed on to matplotlib's `plot`.

        Returns
        -------
        display : CoverageDisplay
        """
        if not hasattr(estimator, "predict_proba"):
            if not hasattr(estimator, "decision_function"):
                raise TypeError(
                    "`estimator` must have `predict_proba` or `decision_function`; "
                    f"{type(estimator).__name__} has neither."
                )
            curve = curve_of_decisions(
                y, estimator.decision_function(X), estimator.classes_, sample_weight
            )
            name = type(estimator).__name__ if name is None else name
            return cls(curve, name=name).plot(ax=ax, **kwargs)
        return cls.from_predictions(
            y,
            estimator.predict_proba(X),
            labels=estimator.classes_,
            sample_weight=sample_weight,
            name=type(estimator).__name__ if name is None else name,
            ax=ax,
            **kwargs,
        )

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        proba: ArrayLike,
        *,
        labels: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        name: str | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the curve of posterior probabilities.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,)
            True labels.
        proba : array-like of shape (n_samples, n_classes) or (n_samples,)
            Posterior probabilities, as in :func:`accuracy_coverage_curve`.
        labels : array-like of shape (n_classes,), default=None
            The label of each column; by default the sorted labels in `y_true`.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row.
        name : str, default=None
            Name in the legend.
        ax : matplotlib Axes, default=None
            Where to draw; by default a new figure.
        **kwargs
            Passed on to matplotlib's `plot`.

        Returns
        -------
        display : CoverageDisplay
        """
        curve = accuracy_coverage_curve(y_true, proba, labels=labels, sample_weight=sample_weight)
        return cls(curve, name=name).plot(ax=ax, **kwargs)

    def plot(self, ax: Any = None, *, name: str | None = None, **kwargs: Any) -> Self:
        """Draw the curve.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; by default a new figure.
        name : str, default=None
            Name in the legend, instead of that of the display.
        **kwargs
            Passed on to matplotlib's `plot`.

        Returns
        -------
        display : CoverageDisplay
            This object.
        """
        name = self.name if name is None else name
        area = f"area {self.curve.area:.2f}"
        label = area if name is None else f"{name} ({area})"
        self.ax_ = axes(ax)
        self.figure_ = self.ax_.figure
        (self.line_,) = self.ax_.plot(
            self.curve.coverage, self.curve.accuracy, **{"label": label, **kwargs}
        )
        self.ax_.set(xlabel="Coverage (share of rows labelled)", ylabel="Accuracy on them")
        self.ax_.set_xlim(0, 1)
        self.ax_.legend(loc="lower left")
        return self
