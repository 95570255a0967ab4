"""Three errors over the number of features, each named for what it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from naively._choices import Choice
from naively._notebook import points_shown, table_html
from naively._types import FloatArray, IntArray


def class_weights(rows: Mapping[str, int], scoring: str) -> dict[str, float] | None:
    """Return what a row of each class weighs in "accuracy" (None: one) or "balanced_accuracy"."""
    if scoring == "accuracy":
        return None
    return {name: 1 / (len(rows) * n) for name, n in rows.items() if n}


def equal_rows(rows: Mapping[str, int], scoring: str) -> float:
    """Return how many rows of equal weight vary as those of a score do."""
    weight = class_weights(rows, scoring)
    if weight is None:
        return float(sum(rows.values()))
    return 1 / sum(rows[name] * each**2 for name, each in weight.items())


_ERRORS: dict[Choice, float] = {"auto": 0.25, "simplest": 1.0, "best": 0.0}  # of the best


def chosen(
    loss: FloatArray, standard_error: FloatArray, choice: Choice, n_rows: float | None = None
) -> int:
    """Position of the number of features to choose: the rule of every `auto`, and of searches.

    It is the smallest k whose mean loss is within some standard errors of the least mean loss: a
    quarter ("auto": near the best on open sets, experiments/RESULTS.md), one ("simplest":
    Breiman et al. 1984, section 3.4.3) or none ("best"). The standard error is that of the spread
    over the folds or, where the loss is a share of rows, that of counting them if this is larger:
    where e of n rows are decided wrongly, sqrt((e + 1) (1 - e / n)) / n, which is one row if none
    is. Folds that all make no error, or as many each, have no spread, and yet are no certainty: one
    row more or less is no difference, but for "best".

    Parameters
    ----------
    loss : ndarray of shape (G,)
        Mean loss over the folds along an ascending grid; NaN is never chosen.
    standard_error : ndarray of shape (G,)
        Its standard error.
    choice : {"auto", "simplest", "best"}
        How near the best.
    n_rows : float, default=None
        Rows that were judged, each counted once; None if the loss is no share of them.
    """
    if choice not in _ERRORS:
        raise ValueError(f"`choice` must be 'auto', 'simplest' or 'best'; got {choice!r}.")
    loss = np.where(np.isnan(loss), np.inf, loss)
    best = int(np.argmin(loss))
    if np.isinf(loss[best]):  # nothing was judged
        return best
    doubt = _ERRORS[choice] * max(standard_error[best], counting_error(float(loss[best]), n_rows))
    if doubt and n_rows and 0 <= loss[best] <= 1:
        doubt = max(doubt, 1 / n_rows)
    near = loss <= loss[best] + doubt + 1e-12
    near[best] = True  # also where no loss is known, and no error of it
    return int(np.argmax(near))


def counting_error(share: float, n_rows: float | None) -> float:
    """Give the standard error of a share of n rows, never less than one row; 0 if n is unknown."""
    if not n_rows or not 0 <= share <= 1:
        return 0.0
    return float(np.sqrt((share + 1 / n_rows) * (1 - share) / n_rows))


@dataclass(frozen=True, slots=True)
class FoldErrors:
    """Cross-validated errors, the features selected anew in each fold.

    No row is ever judged by a model that has seen it, not even in the selection of the features:
    of the three errors this one alone is honest, and `k="auto"` uses no other. Its smallest value
    over many k is still a choice made on these rows: to report the error of a model with the k
    chosen, cross-validate the estimator with `k="auto"` as a whole.
    """

    k: IntArray  # (G,) ascending
    errors: FloatArray  # (R T, G) share of the weight of a fold that is decided wrongly
    weight: FloatArray  # (R T,) weight of each fold
    n_folds: int  # T folds of all rows, divided R times
    n_rows: float | None = None  # all rows; of unequal weights, as many equal ones as vary alike

    @property
    def mean(self) -> FloatArray:
        """Error over all folds, (G,)."""
        return np.asarray(self.weight @ self.errors / self.weight.sum())

    @property
    def standard_error(self) -> FloatArray:
        """Standard error of the mean from the spread over the folds, (G,)."""
        share = self.weight / self.weight.sum()
        spread = share @ np.square(self.errors - self.mean)
        return np.asarray(np.sqrt(spread / max(self.n_folds - 1, 1)))

    def best_k(self, choice: Choice = "auto") -> int:
        """Choose the number of features.

        Parameters
        ----------
        choice : {"auto", "simplest", "best"}
            The smallest k whose error is within a quarter of a standard error of the smallest
            error, or within one, and at least within one row of it; or the smallest k of the
            smallest error.

        Returns
        -------
        k : int
            A point of the grid.
        """
        return int(self.k[chosen(self.mean, self.standard_error, choice, self.n_rows)])


@dataclass(frozen=True, slots=True)
class ErrorPath:
    """Error over the number of features, estimated in three ways.

    `predicted` follows from the class statistics alone: what the model believes. Optimistic, since
    neither the probabilities nor the selection have met a new row.

    `leave_one_out` takes each row out of the counts before judging it, but keeps the features that
    were selected with it: honest about the parameters, optimistic about the selection. On pure
    noise it looks excellent.

    `folds` selects the features anew without the rows it judges: honest about both.

    Attributes
    ----------
    k : ndarray of shape (n_points,)
        Numbers of features, ascending.
    predicted : ndarray of shape (n_points,) or None
        Predicted error; None for models whose error has no known law.
    leave_one_out : ndarray of shape (n_points,) or None
        Leave-one-out error; None where only many refits could tell.
    folds : FoldErrors
        Errors of each fold, `errors` of shape (n_folds, n_points), with `mean`, `standard_error`
        and `best_k`.
    cross_validated : ndarray of shape (n_points,)
        The mean of `folds`.

    See Also
    --------
    error_path : Makes one.
    ErrorPathDisplay : Draws one.
    """

    k: IntArray
    predicted: FloatArray | None
    leave_one_out: FloatArray | None
    folds: FoldErrors

    @property
    def cross_validated(self) -> FloatArray:
        """K-fold error with the selection inside each fold, (G,)."""
        return self.folds.mean

    def _repr_html_(self) -> str:
        """Show some points as a table, for notebooks."""
        given = {"predicted": self.predicted, "leave-one-out": self.leave_one_out}
        curves = {name: error for name, error in given.items() if error is not None}
        curves["cross-validated"] = self.cross_validated
        rows = [
            (f"{self.k[g]:,}", *(f"{error[g]:.4f}" for error in curves.values()),
             f"{self.folds.standard_error[g]:.4f}")
            for g in points_shown(len(self.k))
        ]  # fmt: skip
        title = f"Error over {len(self.k):,} k; `auto` takes {self.best_k():,}"
        return f"<p>{title}</p>" + table_html(("k", *curves, "standard error"), rows)

    def best_k(self, choice: Choice = "auto") -> int:
        """Choose the number of features by the cross-validated error.

        Parameters
        ----------
        choice : {"auto", "simplest", "best"}
            The smallest k whose error is within a quarter of a standard error of the smallest
            error, or within one, and at least within one row of it; or the smallest k of the
            smallest error.

        Returns
        -------
        k : int
            A point of the grid.
        """
        return self.folds.best_k(choice)
