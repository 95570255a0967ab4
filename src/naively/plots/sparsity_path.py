"""What k features reach, and what no k features can exceed, as a plot."""

from __future__ import annotations

from typing import Any, Self, final

import numpy as np

from naively._types import FloatArray, IntArray
from naively.estimators.path import sparsity_path
from naively.plots.figure import axes
from naively.selection.path import SparsityPath

_ROUNDING = 1e-9  # of the gain: a gap of that size is none


@final
class SparsityPathDisplay:
    """Objective and bound over the number of features, the gap, and the cross-validated accuracy.

    Make it with :meth:`from_estimator` or :meth:`from_path`.

    Parameters
    ----------
    path : SparsityPath
        Objectives and bounds.
    search : SparsityCV, default=None
        A fitted cross-validation; its mean score is drawn with one standard error on each side.
    n_classes : int, default=None
        Number of classes C, which gives the a-priori curve its name: the bound for k - C - 2
        features.

    Attributes
    ----------
    objective_line_, bound_line_ : matplotlib Line2D
        What the selections reach, and what none can exceed, above the objective of no feature.
    a_priori_line_ : matplotlib Line2D
        What theory alone promises: the bound for C + 2 features fewer.
    gap_line_ : matplotlib Line2D
        Bound minus objective, on its own axis; hidden if it is nothing at every k.
    score_line_, band_, chosen_line_ : matplotlib artists or None
        Mean score, its standard error, and the number of features chosen; with `search` only.
    axes_ : ndarray of matplotlib Axes
        One panel for the objective, one for the score if there is a `search`.
    ax_, gap_ax_, score_ax_ : matplotlib Axes
        Axes of the objective, of the gap, and of the score (None without `search`).
    figure_ : matplotlib Figure
        Figure with all of them.

    Examples
    --------
    >>> from naively import SparseBernoulliNB, SparsityPathDisplay
    >>> X = [[1, 1, 0], [1, 0, 0], [1, 1, 1], [0, 1, 1], [0, 0, 1], [0, 1, 1]]
    >>> display = SparsityPathDisplay.from_estimator(SparseBernoulliNB(), X, [0, 0, 0, 1, 1, 1])
    >>> display.ax_.get_xlabel()
    'Number of features'
    """

    def __init__(
        self, path: SparsityPath, *, search: Any = None, n_classes: int | None = None
    ) -> None:
        self.path = path
        self.search = search
        self.n_classes = n_classes

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        ks: Any = None,
        sample_weight: Any = None,
        ax: Any = None,
    ) -> Self:
        """Solve for every k and draw.

        Parameters
        ----------
        estimator : sparse classifier or SparsityCV
            The model; its `k` does not matter. Of a fitted :class:`naively.SparsityCV` the best
            estimator is taken, and the scores are drawn too.
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,)
            Class labels.
        ks : array-like of int, default=None
            The grid; by default that of the search, or about 100 values.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row.
        ax : matplotlib Axes or array of two of them, default=None
            Where to draw; by default a new figure.

        Returns
        -------
        display : SparsityPathDisplay
        """
        search = estimator if hasattr(estimator, "cv_results_") else None
        if search is not None:
            estimator = search.best_estimator_
            ks = np.unique(search.cv_results_["param_k"]) if ks is None else ks
        path = sparsity_path(estimator, X, y, ks, sample_weight=sample_weight)
        return cls.from_path(path, search=search, n_classes=len(np.unique(y)), ax=ax)

    @classmethod
    def from_path(
        cls,
        path: SparsityPath,
        *,
        search: Any = None,
        n_classes: int | None = None,
        ax: Any = None,
    ) -> Self:
        """Draw a path that has been solved.

        Parameters
        ----------
        path : SparsityPath
            From :func:`naively.sparsity_path`.
        search : SparsityCV, default=None
            A fitted cross-validation of the same model.
        n_classes : int, default=None
            Number of classes.
        ax : matplotlib Axes or array of two of them, default=None
            Where to draw; by default a new figure.

        Returns
        -------
        display : SparsityPathDisplay
        """
        return cls(path, search=search, n_classes=n_classes).plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib Axes or array of two of them, default=None
            Where to draw; by default a new figure. Two are needed with a `search`.

        Returns
        -------
        display : SparsityPathDisplay
            This object.
        """
        self.axes_ = np.atleast_1d(self._axes(ax))
        self.ax_ = self.axes_[0]
        self.figure_ = self.ax_.figure
        self._draw_objective()
        self._draw_gap()
        self.score_ax_ = self.score_line_ = self.band_ = self.chosen_line_ = None
        if self.search is not None:
            self._draw_scores(self.axes_[1])
        for each in self.axes_:
            each.set_xscale("symlog", linthresh=1)
            each.set_xlim(self.path.k[0], max(self.path.k[-1], self.path.k[0] + 1))
        self.axes_[-1].set_xlabel("Number of features")
        return self

    def _axes(self, ax: Any) -> Any:
        if self.search is None:
            return axes(ax)
        if ax is None:
            figure = axes().figure
            figure.clear()
            figure.set_size_inches(6.4, 7.2)
            return figure.subplots(2, 1, sharex=True)
        if np.size(ax) != 2:
            raise ValueError(f"`ax` must be two axes, to draw the scores too; got {np.size(ax)}.")
        return np.ravel(ax)

    def _draw_objective(self) -> None:
        path, start = self.path, self.path.baseline
        below = "k - C - 2" if self.n_classes is None else f"k - {self.n_classes + 2}"
        a_priori = f"a priori: bound for {below} features"
        draw = self.ax_.plot
        (self.bound_line_,) = draw(path.k, path.bound - start, label="bound", color="C1")
        found = path.a_priori - start
        if not np.any(np.isfinite(found) & (found >= 0)):  # nothing of it is to be seen
            a_priori = "_" + a_priori
        (self.a_priori_line_,) = draw(path.k, found, label=a_priori, color="0.6", linestyle=":")
        (self.objective_line_,) = draw(
            path.k, path.objective - start, label="objective", color="C0", linestyle="--"
        )
        self.ax_.set(ylabel="Gain over no feature", ylim=(0, None))

    def _draw_gap(self) -> None:
        self.gap_ax_ = self.ax_.twinx()
        (self.gap_line_,) = self.gap_ax_.plot(
            self.path.k, self.path.gap, color="C3", linewidth=1, label="gap (right axis)"
        )
        largest = float(np.max(self.path.gap))
        if largest > _ROUNDING * float(np.max(np.abs(self.path.objective - self.path.baseline))):
            self.gap_ax_.set_ylabel("Gap: bound minus objective", color="C3")
            self.gap_ax_.tick_params(axis="y", colors="C3")
            self.gap_ax_.set_ylim(0, 3 * largest)
        else:  # an axis of nothing would show rounding, or stay empty
            self.gap_line_.set_label("gap: none, proven optimal at every k")
            self.gap_line_.set_visible(False)
            self.gap_ax_.set_axis_off()
        lines = [self.objective_line_, self.bound_line_, self.a_priori_line_, self.gap_line_]
        self.ax_.legend(lines, [line.get_label() for line in lines], loc="upper left")

    def _draw_scores(self, ax: Any) -> None:
        k, mean, error = scores_of(self.search)
        self.score_ax_ = ax
        (self.score_line_,) = ax.plot(k, mean, color="C2", label="mean over the folds")
        self.band_ = ax.fill_between(
            k, mean - error, mean + error, color="C2", alpha=0.2, linewidth=0
        )
        best = self.search.best_k_
        self.chosen_line_ = ax.axvline(best, color="0.4", linewidth=1, label=f"chosen: {best}")
        few = self.search.simplest_k_
        ax.axvline(few, color="0.4", linewidth=1, linestyle=":", label=f"one standard error: {few}")
        scoring = self.search.scoring
        ax.set_ylabel("Accuracy" if scoring is None else str(scoring))
        ax.legend(loc="lower right")


def scores_of(search: Any) -> tuple[IntArray, FloatArray, FloatArray]:
    """Grid, mean score and its standard error, for the estimator and smoothing that were chosen.

    Parameters
    ----------
    search : SparsityCV
        Fitted.
    """
    table = search.cv_results_
    fixed = {name: value for name, value in search.best_params_.items() if name != "k"}
    rows = [
        i
        for i, params in enumerate(table["params"])
        if all(np.array_equal(params.get(name), value) for name, value in fixed.items())
    ]
    error = table["std_test_score"][rows] / np.sqrt(max(search.n_splits_ - 1, 1))
    k = np.asarray(table["param_k"][rows], dtype=np.int64)
    return k, table["mean_test_score"][rows], error
