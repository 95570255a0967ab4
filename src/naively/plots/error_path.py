"""Three errors over the number of features as a plot."""

from __future__ import annotations

from typing import Any, Self, final

import numpy as np

from naively.estimators.error_path import error_path
from naively.judging.error_path import ErrorPath
from naively.plots.figure import axes

_PREDICTED = "predicted from the statistics (what the model believes)"
_LEAVE_ONE_OUT = "leave-one-out, features fixed (blind to the selection)"
_CROSS_VALIDATED = "{n}-fold, features selected in each fold (honest)"


@final
class ErrorPathDisplay:
    """Predicted, leave-one-out and cross-validated error over the number of features.

    Make it with :meth:`from_estimator`, or from the result of :func:`naively.error_path`.

    Parameters
    ----------
    path : ErrorPath
        What to draw.

    Attributes
    ----------
    predicted_line_, leave_one_out_line_ : matplotlib Line2D or None
        The optimistic curves, if the path has them.
    cross_validated_line_ : matplotlib Line2D
        The honest curve.
    band_ : matplotlib collection
        One standard error of the cross-validated error on each side.
    chosen_line_ : matplotlib Line2D
        Marks the number of features that `k="auto"` takes.
    ax_ : matplotlib Axes
        Axes with the curves.
    figure_ : matplotlib Figure
        Figure with the curves.

    Examples
    --------
    >>> from naively import ErrorPathDisplay, SparseBernoulliNB
    >>> X = [[1, 1, 0], [1, 0, 0], [1, 1, 1], [0, 1, 1], [0, 0, 1], [0, 1, 1]]
    >>> display = ErrorPathDisplay.from_estimator(SparseBernoulliNB(), X, [0, 0, 0, 1, 1, 1])
    >>> display.ax_.get_xlabel()
    'Number of features'
    """

    def __init__(self, path: ErrorPath) -> None:
        self.path = path

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, ax: Any = None, **kwargs: Any
    ) -> Self:
        """Estimate the errors of a sparse classifier and draw them.

        Parameters
        ----------
        estimator : sparse classifier
            The model; it is not changed, and its `k` does not matter.
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Class labels.
        ax : matplotlib Axes, default=None
            Where to draw; by default a new figure.
        **kwargs
            Passed on to :func:`naively.error_path`.

        Returns
        -------
        display : ErrorPathDisplay
        """
        return cls(error_path(estimator, X, y, **kwargs)).plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; by default a new figure.

        Returns
        -------
        display : ErrorPathDisplay
            This object.
        """
        self.ax_ = axes(ax)
        self.figure_ = self.ax_.figure
        path = self.path
        self.predicted_line_ = self._line(path.predicted, _PREDICTED, linestyle=":")
        self.leave_one_out_line_ = self._line(path.leave_one_out, _LEAVE_ONE_OUT, linestyle="--")
        honest = _CROSS_VALIDATED.format(n=path.folds.n_folds)
        self.cross_validated_line_ = self._line(path.cross_validated, honest, linewidth=2)
        spread = path.folds.standard_error
        self.band_ = self.ax_.fill_between(
            path.k,
            path.cross_validated - spread,
            path.cross_validated + spread,
            color=self.cross_validated_line_.get_color(),
            alpha=0.2,
            linewidth=0,
        )
        k = path.best_k()
        self.chosen_line_ = self.ax_.axvline(k, color="0.5", linewidth=1, label=f"k='auto': {k}")
        self.ax_.set_xscale("symlog", linthresh=1)
        self.ax_.set(xlabel="Number of features", ylabel="Error", ylim=(0, None))
        self.ax_.set_xlim(path.k[0], max(path.k[-1], path.k[0] + 1))
        self.ax_.legend()
        return self

    def _line(self, error: Any, label: str, **style: Any) -> Any:
        if error is None:
            return None
        (line,) = self.ax_.plot(self.path.k, np.asarray(error), label=label, **style)
        return line
