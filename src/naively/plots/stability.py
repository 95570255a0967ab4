"""How often each feature is selected on halves of the rows, as a plot."""

from __future__ import annotations

from typing import Any, Self, final

import numpy as np

from naively.estimators.stability import selection_stability
from naively.judging.stability import SelectionStability
from naively.plots.figure import axes, names_of, plain

_DRAWN = 1000  # features that are not stable and still drawn, those most often selected
_NAMED = 20
# Of lines beyond the ten colours.
_DASHES, _MARKS = ("-", "--", "-.", ":"), "os^D"


@final
class StabilityDisplay:
    """Share of the halves on which each feature is selected, over the number of features.

    Make it with :meth:`from_estimator`, or from the result of :func:`naively.selection_stability`.

    Parameters
    ----------
    stability : SelectionStability
        What to draw.
    feature_names : array-like of str of shape (n_features,), default=None
        Names of the features; by default x0, x1, ...
    threshold : float, default=0.9
        Share from which on a feature is called stable.

    Attributes
    ----------
    stable_lines_ : list of matplotlib Line2D
        One for each feature that is stable at the largest k, most frequent first.
    other_lines_ : matplotlib LineCollection
        The other features.
    threshold_line_ : matplotlib Line2D
        The threshold.
    ax_ : matplotlib Axes
        Axes with the lines.
    figure_ : matplotlib Figure
        Figure with the lines.

    Examples
    --------
    >>> import numpy as np
    >>> from naively import SparseBernoulliNB, StabilityDisplay
    >>> X, y = np.random.default_rng(0).integers(0, 2, (40, 9)), np.repeat([0, 1], 20)
    >>> X[:, 4] = y
    >>> display = StabilityDisplay.from_estimator(SparseBernoulliNB(), X, y, ks=[1, 2, 4])
    >>> [line.get_label() for line in display.stable_lines_]
    ['x4']
    """

    def __init__(
        self, stability: SelectionStability, *, feature_names: Any = None, threshold: float = 0.9
    ) -> None:
        self.stability = stability
        self.feature_names = feature_names
        self.threshold = threshold

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        feature_names: Any = None,
        threshold: float = 0.9,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Select on halves of the rows, and draw how often each feature is selected.

        Parameters
        ----------
        estimator : sparse classifier
            The model; it is not changed.
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Class labels.
        feature_names : array-like of str of shape (n_features,), default=None
            Names of the features; by default those of the columns of `X`, or x0, x1, ...
        threshold : float, default=0.9
            Share from which on a feature is called stable.
        ax : matplotlib Axes, default=None
            Where to draw; by default a new figure.
        **kwargs
            Passed on to :func:`naively.selection_stability`.

        Returns
        -------
        display : StabilityDisplay
        """
        if feature_names is None:
            feature_names = getattr(X, "columns", None)
        found = selection_stability(estimator, X, y, **kwargs)
        return cls(found, feature_names=feature_names, threshold=threshold).plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the lines.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; by default a new figure.

        Returns
        -------
        display : StabilityDisplay
            This object.

        Raises
        ------
        ValueError
            If `feature_names` are not as many as features.
        """
        from matplotlib.collections import LineCollection

        found, k = self.stability, self.stability.k
        names = names_of(self.feature_names, found.times.shape[1])
        self.ax_ = axes(ax)
        self.figure_ = self.ax_.figure
        shares: Any = found.times.tocsc() / found.n_subsamples  # (K, m)
        last = shares[[-1]].toarray().ravel()
        firm = found.stable(int(k[-1]), self.threshold)
        firm = firm[np.argsort(-last[firm], kind="stable")]
        others = np.setdiff1d(np.flatnonzero(np.diff(shares.indptr)), firm)
        others = others[np.argsort(-last[others], kind="stable")][:_DRAWN]
        lines = shares[:, others].toarray().T
        self.other_lines_ = LineCollection(
            [np.column_stack([k, line]) for line in lines], colors="0.75", linewidths=0.7
        )
        self.ax_.add_collection(self.other_lines_)
        single = len(k) == 1  # of a single k a line would show nothing
        self.stable_lines_ = []
        for rank, i in enumerate(firm.tolist()):
            ten = rank // 10 % len(_DASHES)
            (drawn,) = self.ax_.plot(
                k,
                shares[:, [i]].toarray().ravel(),
                color=f"C{rank % 10}",
                linestyle=_DASHES[ten],
                marker=_MARKS[ten] if single else None,
                label=plain(names[i]),
            )
            self.stable_lines_.append(drawn)
        if single:
            self.ax_.plot(np.repeat(k, len(lines)), lines.ravel(), "o", color="0.75", zorder=0)
        self.threshold_line_ = self.ax_.axhline(self.threshold, color="0.4", linestyle="--")
        if single:
            self.ax_.set_xticks(k)
        else:
            self.ax_.set_xscale("symlog", linthresh=1)
            self.ax_.set_xlim(k[0], k[-1])
        self.ax_.set(
            xlabel="Number of features",
            ylabel=f"Share of {found.n_subsamples} halves that select it",
            ylim=(0, 1.02),
        )
        if 0 < len(firm) <= _NAMED:
            self.ax_.legend(
                title=f"Stable at k = {k[-1]:,}", loc="upper left", bbox_to_anchor=(1, 1)
            )
        else:
            self.ax_.set_title(f"{len(firm):,} features are stable at k = {k[-1]:,}")
        return self
