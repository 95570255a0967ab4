"""How often each feature is selected on half of the rows (Shah and Samworth 2013).

Statistics add up: rows are dealt out to buckets that are counted once, and every half is a sum of
buckets. Halves come in pairs that share no row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from numbers import Integral, Real
from operator import add
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse

from naively._nearest import short
from naively._notebook import points_shown, table_html
from naively._types import Array, BoolArray, FloatArray, IntArray
from naively.judging.folds import stratified_folds
from naively.judging.rows import Rows, gather_rows, without
from naively.models.model import Model, S
from naively.selection.redundancy import of_rows
from naively.selection.top_k import top_k
from naively.selection.train import model_path
from naively.statistics.threads import in_threads

BUCKETS = 20
HALVES = 100
FIRM = 0.9  # share of the halves from which on a feature is called firm
_ROWS = 10  # with fewer rows for each bucket, halves are drawn row by row
_CANDIDATES = 16  # times the largest k: features of largest gain that are looked at first
_FEWEST = 4096
_RARE = 0.05  # share of the halves that makes a feature not worth looking for

# The two halves of a division, with the model that chooses from each
Halves: TypeAlias = Callable[[BoolArray], Iterable[tuple[Model[Any], Any]]]


@dataclass(frozen=True, slots=True)
class SelectionStability:
    """How often each feature was selected on halves of the rows.

    Attributes
    ----------
    k : ndarray of shape (n_points,)
        Numbers of features, ascending.
    times : sparse array of int of shape (n_points, n_features)
        On how many halves each feature was selected, at each k.
    n_subsamples : int
        Number of halves, which come in pairs that share no row.
    anywhere : sparse array of int of shape (1, n_features)
        On how many halves each feature was selected at some k of the grid.

    See Also
    --------
    selection_stability : Makes one.

    References
    ----------
    R. D. Shah and R. J. Samworth, "Variable selection with error control: another look at stability
    selection", Journal of the Royal Statistical Society B 75 (2013).
    N. Meinshausen and P. Buehlmann, "Stability selection", Journal of the Royal Statistical Society
    B 72 (2010).
    """

    k: IntArray
    times: sparse.csr_array = field(repr=False)  # large
    n_subsamples: int
    anywhere: sparse.csr_array = field(repr=False)

    def frequency(self, k: int) -> FloatArray:
        """Return the share of the halves on which each feature was selected.

        Parameters
        ----------
        k : int
            Number of features, one of the grid.

        Returns
        -------
        frequency : ndarray of shape (n_features,)
            In [0, 1]; the sum is `k`.

        Raises
        ------
        ValueError
            If `k` is not on the grid.
        """
        row = self.times[[self._position(k)]].toarray().ravel()
        return np.asarray(row / self.n_subsamples)

    def stable(self, k: int | None = None, threshold: float = 0.9) -> IntArray:
        """Return the features that were selected on a large share of the halves.

        Parameters
        ----------
        k : int or None, default=None
            Number of features, one of the grid; None: those that are stable at some k of the grid
            (Meinshausen and Buehlmann 2010, definition 1).
        threshold : float, default=0.9
            The share, in (0, 1].

        Returns
        -------
        columns : ndarray of int
            Ascending; not more than k / threshold at one k.

        Raises
        ------
        ValueError
            If `k` is not on the grid, or `threshold` out of range.
        """
        _check_threshold(threshold)
        least = threshold * self.n_subsamples * (1 - 1e-12)
        at = np.arange(len(self.k)) if k is None else [self._position(k)]
        rows = self.times[at].tocoo()
        return np.unique(rows.coords[1][rows.data >= least]).astype(np.int64)

    def false_choices(
        self, k: int | None = None, threshold: float = 0.9, *, unimodal: bool = False
    ) -> float:
        """Bound on how many of the stable features are there by chance, in expectation.

        A choice is false if half of the rows select the feature no more often than a draw of `k`
        of all features would, with probability k / n_features.

        Parameters
        ----------
        k : int or None, default=None
            Number of features, one of the grid; None: of those that are stable at some k. In place
            of k stands then how many features half of the rows select at one k of the grid or
            another, on average over the halves (q in theorem 1 of Meinshausen and Buehlmann).
        threshold : float, default=0.9
            See `stable`; at 1/2 or below nothing can be said.
        unimodal : bool, default=False
            Whether to assume that the share of pairs of which both halves select a false choice has
            one mode only (section 3.2 there), which makes the bound two to three times smaller.

        Returns
        -------
        bound : float
            Number of features: at threshold t, k^2 / ((2 t - 1) n_features) without assumptions
            (Shah and Samworth 2013, theorem 1); infinite if t <= 1/2.

        Raises
        ------
        ValueError
            If `k` is not on the grid, or `threshold` out of range.
        """
        _check_threshold(threshold)
        if k is None:
            chosen = float(self.anywhere.sum()) / self.n_subsamples
        else:
            chosen = float(self.k[self._position(k)])
        share = chosen / self.times.shape[1]
        bound = tail_bound(threshold, share, self.n_subsamples // 2, unimodal=unimodal)
        return bound * share * chosen

    def _position(self, k: int) -> int:
        at = np.flatnonzero(self.k == k)
        if len(at) == 0:
            raise ValueError(f"`k` must be one of the grid {self.k.tolist()}; got {k!r}.")
        return int(at[0])

    def _repr_html_(self) -> str:
        """Show some points as a table, for notebooks."""
        shown = points_shown(len(self.k))
        rows = []
        for k in self.k[shown].tolist():
            firm, false = len(self.stable(k)), self.false_choices(k)
            rows.append((f"{k:,}", f"{firm:,}", f"{min(false, firm):.2g}"))
        title = f"Stability over {self.n_subsamples} halves of the rows"
        heads = ("k", "selected on 90 % of them", "of these by chance, at most")
        return f"<p>{title}</p>" + table_html(heads, rows)


def _check_threshold(threshold: object) -> None:
    if not isinstance(threshold, Real) or not 0 < float(threshold) <= 1:
        raise ValueError(f"`threshold` must be a share in (0, 1]; got {threshold!r}.")


def tail_bound(threshold: float, share: float, n_pairs: int, *, unimodal: bool) -> float:
    """C of P(frequency >= threshold) <= C share^2, for a feature selected with this probability.

    Shah and Samworth (2013): by Markov's inequality (theorem 1), or for a simultaneous selection
    that has one mode (theorem 2), where that says anything.
    """
    if threshold <= 0.5:
        return np.inf
    plain = 1 / (2 * threshold - 1)
    squared = share * share
    if not unimodal or squared > 1 / 3:
        return plain
    if threshold > 0.75:
        return min(4 * (1 - threshold + 0.5 / n_pairs) / (1 + 1 / n_pairs), plain)
    if threshold > min(0.5 + squared, 0.5 + 0.5 / n_pairs + 0.75 * squared):
        return min(1 / (2 * (2 * threshold - 1 - 0.5 / n_pairs)), plain)
    return plain


def _check_even(name: str, number: object) -> None:
    if not isinstance(number, Integral) or int(number) < 2 or int(number) % 2:
        raise ValueError(f"`{name}` must be an even int >= 2; got {number!r}.")


def stability(
    model: Model[S],
    rows: Rows,
    statistics: S,
    grid: IntArray,
    *,
    n_subsamples: int,
    n_buckets: int | None,
    groups: IntArray | None,
    rng: np.random.RandomState,
) -> SelectionStability:
    """Select on halves of rows; see :func:`naively.selection_stability`.

    Parameters
    ----------
    rows : Rows
        All of them, of positive weight.
    statistics
        Of all rows.
    groups : (n,) int or None
        Numbers from 0; rows of one number are never parted.
    """
    _check_even("n_subsamples", n_subsamples)
    if n_buckets is not None:
        _check_even("n_buckets", n_buckets)
    units, first = np.unique(
        np.arange(len(rows.labels)) if groups is None else groups, return_index=True
    )
    _refuse_one_class(statistics.classes, rows.labels)
    if len(units) < 2:
        raise ValueError("Halves need two rows, or two groups of rows, at least; got one.")
    part, label = np.arange(len(units)), rows.labels[first]
    adds = hasattr(statistics, "__add__")
    adds &= model.redundancy is None  # which looks at the rows
    bucketed = adds and n_buckets is not None and len(units) >= _ROWS * n_buckets
    if bucketed and n_buckets is not None:
        part, label = stratified_folds(label, n_buckets, rng), np.zeros(n_buckets, dtype=np.int64)
    if groups is not None:
        part = part[np.searchsorted(units, groups)]
    # Which parts are in the first half of each pair: half of those of each class.
    sides = [stratified_folds(label, 2, rng) == 0 for _ in range(n_subsamples // 2)]
    if not bucketed:

        def drawn(side: BoolArray) -> Iterator[tuple[Model[S], S]]:
            for each in (True, False):
                half = rows.take(np.flatnonzero(side[part] == each))
                present = _present(statistics.classes, np.bincount(half.labels))
                half = replace(half, labels=np.searchsorted(present, half.labels))
                found = gather_rows(model, half, statistics.classes[present])
                weight = half.weight if len(half.weight) else None
                labels = found.classes[half.labels]
                yield of_rows(model, found, model.rows_over(found, half.X, labels, weight)), found

        return _counted(grid, _times(drawn, sides, grid), n_subsamples)
    buckets = [np.flatnonzero(part == b) for b in range(len(label))]

    def counted(columns: IntArray | None) -> list[Any]:
        def of_bucket(bucket: IntArray) -> Any:
            found: Any = gather_rows(model, rows.take(bucket), statistics.classes)
            return found if columns is None else found.take(columns)

        return in_threads(of_bucket, buckets)

    return _counted(grid, times_selected(model, statistics, counted, sides, grid), n_subsamples)


def _counted(grid: IntArray, times: sparse.csr_array, n_subsamples: int) -> SelectionStability:
    return SelectionStability(grid, times[:-1], n_subsamples, times[-1:])


def stability_at(
    model: Model[S], rows: Rows, statistics: S, k: int, threshold: float, *, known: IntArray | None
) -> SelectionStability:
    """Stability of the k features of a model, of which those firm at a threshold are to be kept.

    Parameters
    ----------
    known : (k,) int or None
        The features, where they are not the k best of the model.

    Raises
    ------
    ValueError
        If the threshold is out of range, or the features are chosen in another way.
    """
    refuse_other_choices(model, threshold)
    if known is not None:
        raise ValueError("`stable` keeps some of the k best features, not of `k`='fdr'; leave one.")
    return stability(
        replace(model, refit=None, calibration=None),
        rows,
        statistics,
        np.array([k]),
        n_subsamples=HALVES,
        n_buckets=BUCKETS,
        groups=None,
        rng=np.random.RandomState(0),
    )


def refuse_other_choices(model: Model[S], threshold: object) -> None:
    """Raise a ValueError unless the k best features of a model can be sifted at a threshold."""
    if not isinstance(threshold, Real) or not 0.5 < float(threshold) <= 1:
        raise ValueError(
            f"`stable` must be a share of the halves in (0.5, 1]: at 0.5 or below nothing bounds "
            f"false choices. Got {threshold!r}."
        )
    ways = {
        "`objective`='pairs'": model.objective,
        "`redundancy`": model.redundancy,
        "constraints on the features": model.constraints,
    }
    for name, way in ways.items():
        if way is not None:
            raise ValueError(
                f"`stable` keeps some of the k features of the largest likelihood, not with {name};"
                " leave one of them out."
            )


def times_selected(
    model: Model[S],
    statistics: Any,
    counted: Callable[[IntArray | None], list[Any]],
    sides: Sequence[BoolArray],
    grid: IntArray,
) -> sparse.csr_array:
    """How often each feature is selected on the two halves of each division: (K + 1, m).

    At each k, and in the last row at any k.

    Parameters
    ----------
    statistics
        Of all rows.
    counted : callable
        Statistics of each bucket of rows over some columns; None: all of them. A bucket without
        rows may be None.
    sides : list of (n_buckets,) bool
        Which buckets are in the first half of each pair.
    """
    m = statistics.n_features
    n = max(_CANDIDATES * int(grid[-1]), _FEWEST)
    separate = model.constraints is None and model.objective is None
    while separate and not isinstance(model.alpha, np.ndarray) and n < m:
        # Features of large gain are looked at: enough, if half of them are hardly ever selected.
        columns = top_k(model.family.gain(statistics), n)
        some = statistics.take(columns)
        times = _times(_sums(model, counted(columns)), sides, grid)
        weaker = np.argsort(model.family.gain(some), kind="stable")[: n // 2]
        if times[:, weaker].max() <= _RARE * 2 * len(sides):
            placed = times.tocoo()
            at = (placed.coords[0], columns[placed.coords[1]])
            return sparse.csr_array((placed.data, at), shape=(len(grid) + 1, m))
        n *= _CANDIDATES
    return _times(_sums(model, counted(None)), sides, grid)


def _sums(model: Model[S], buckets: list[Any]) -> Halves:
    def total(side: BoolArray) -> Any:
        chosen = (buckets[b] for b in np.flatnonzero(side).tolist())
        return reduce(add, (each for each in chosen if each is not None))

    everything = total(np.ones(len(buckets), dtype=np.bool_))

    def summed(side: BoolArray) -> Iterator[tuple[Model[S], Any]]:
        half = total(side)
        yield model, half
        yield model, without(everything, half) if model.subtracts else total(~side)

    return summed


def _times(halves: Halves, sides: Sequence[BoolArray], grid: IntArray) -> sparse.csr_array:
    """How often each feature is selected on halves: (K + 1, m)."""

    def selected(side: BoolArray) -> sparse.csr_array:
        return reduce(add, [_selected(model, half, grid) for model, half in halves(side)])

    return reduce(add, in_threads(selected, sides))


def _refuse_one_class(classes: Array, labels: IntArray) -> None:
    occurring = np.unique(labels)
    if len(occurring) < 2:
        only = "".join(f" ({short(each)})" for each in classes[occurring].tolist())
        others = ", ".join(short(each) for each in np.delete(classes, occurring).tolist())
        none = f", and none of {others} has a weight above 0" if others else ""
        raise ValueError(
            f"Stability needs rows of two classes or more; the {len(labels):,} rows are of one "
            f"class only{only}{none}."
        )


def _present(classes: Array, n_rows: IntArray) -> IntArray:
    """Classes of which a half has rows: two, or there is nothing to select by."""
    present = np.flatnonzero(n_rows > 0)
    if len(present) < 2:
        others = ", ".join(short(each) for each in np.delete(classes, present).tolist())
        raise ValueError(
            f"A half of the rows has none of {others}, and nothing can be selected on one class "
            "alone; stability needs more rows of the others, or finer groups."
        )
    return present


def _selected(model: Model[S], statistics: Any, grid: IntArray) -> sparse.csr_array:
    """Mark the features selected at each k with 1, and in the last row those at any: (K + 1, m)."""
    present = _present(statistics.classes, statistics.class_rows)
    if len(present) < len(statistics.classes):
        statistics = statistics.of_classes(present)
    track = model_path(model, statistics, grid)
    supports = [track.support(k) for k in grid.tolist()]
    supports.append(np.unique(np.concatenate(supports)))
    starts = np.cumsum([0, *map(len, supports)])
    columns = np.concatenate(supports)
    shape = (len(supports), statistics.n_features)
    return sparse.csr_array((np.ones(len(columns), dtype=np.int32), columns, starts), shape=shape)
