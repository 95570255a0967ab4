r"""The coupled dual for many columns that cannot be grouped: real counts, or smoothing by feature.

Twelve million columns are too many to evaluate ten times over. So

1. a sample (every S-th column, S times; columns of large total once) gives the shares a and the
   threshold approximately;
2. one pass at a lists the columns whose gain is clearly above the threshold, and those around it;
   all others are clearly below. It gives the bound at a, exactly, for all columns;
3. the dual is solved with the first taken and the second to choose from. Its value is reached by
   a fractional support, so once the bound at its shares meets it, it is the solution for all
   columns. Two passes mostly do;
4. if columns move past the threshold from outside of what was to choose from, the shares were too
   far off. The sample is corrected by its error at the shares just looked at, which is known by
   now, and gives better ones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from naively._kernels.compiled import read_only
from naively._kernels.logarithms import x_log_x
from naively._kernels.screen import column_totals, split_columns
from naively._types import Array, BoolArray, FloatArray, IntArray
from naively.selection.certificate import finite_baseline
from naively.selection.dual import DualSolution, Problem, Vertex, coupled_problem, solve_dual
from naively.selection.groups import in_threads

R = TypeVar("R")

CHUNK = (
    1 << 18
)  # columns per unit of parallel work: fixed, so that results do not depend on threads
SAMPLE = 1 << 15  # columns of the sample
HEAVY = 1 << 13  # about as many columns of large total are all in the sample
ROUNDS = 12
ACCURACY = 1e-13  # relative


@dataclass(frozen=True, slots=True)
class ColumnTable:
    """Columns of a table too long to be evaluated as a whole."""

    table: Array  # (m, C)
    alphas: FloatArray  # (1,) or (m,)
    n_seen: int  # columns with any count
    baseline: float  # nats, all columns pooled
    sample: Problem  # some of the columns, each standing for several
    base_value: float = 0.0  # entropy and class totals of columns that are in whatever is chosen
    base_totals: FloatArray | float = 0.0  # (C,)

    def above(self, value: float, totals: FloatArray) -> ColumnTable:
        """Return the same columns with others that are in whatever is chosen."""
        sample = replace(self.sample, base_value=value, base_totals=totals)
        return replace(self, sample=sample, base_value=value, base_totals=totals)

    def counts(self, columns: IntArray, size: IntArray) -> Problem:
        """Problem of choosing among some of the columns."""
        alphas = self.alphas if len(self.alphas) == 1 else self.alphas[columns]
        alpha = float(alphas[0]) if len(alphas) == 1 else alphas
        problem = coupled_problem(self.table[columns].astype(np.float64, copy=False), alpha, size)
        return replace(problem, base_value=self.base_value, base_totals=self.base_totals)

    def seen(self, columns: IntArray | None = None) -> BoolArray:
        """Whether columns, or all of them, have any count."""
        table = self.table if columns is None else self.table[columns]
        return np.asarray(np.any(table > 0, axis=1))


@dataclass(frozen=True, slots=True)
class Window:
    """Columns that are in for certain, and columns to choose from."""

    above: IntArray  # (n,) columns that are in, ascending
    between: IntArray  # (d,) columns to choose from, ascending
    problem: Problem  # of choosing among the latter
    dual: DualSolution


def column_table(
    table: Array, alpha: float | FloatArray, others: tuple[float, float] = (0.0, 0.0)
) -> ColumnTable:
    """Survey the columns of a table, in one pass.

    `others` are columns that are pooled beside them: the sums of their g_i log g_i and of g_i.
    """
    table = read_only(np.ascontiguousarray(table))
    alphas = np.atleast_1d(np.asarray(alpha, dtype=np.float64))
    stride = max(1, len(table) // SAMPLE)
    typical = np.sort(table[::stride].sum(axis=1))
    heavy_from = typical[max(0, len(typical) - 1 - HEAVY // stride)]

    def run(begin: int, end: int) -> tuple[IntArray, int, float, float]:
        raw = np.empty(end - begin)
        column_totals(table, begin, end, raw)
        smooth = table.shape[1] * (alphas if len(alphas) == 1 else alphas[begin:end])
        g = raw + smooth
        with np.errstate(over="ignore", invalid="ignore"):  # what comes of it is refused
            pooled = float(np.sum(g * np.log(g, out=np.zeros_like(g), where=g > 0)))
        heavy = begin + np.flatnonzero(raw >= heavy_from)
        return heavy, int(np.count_nonzero(raw > 0)), pooled, float(np.sum(g))

    heavy, seen, pooled, totals = zip(*_chunks(run, len(table)), strict=True)
    total = float(np.sum(totals)) + others[1]
    baseline = finite_baseline(float(np.sum(pooled) + others[0] - x_log_x(total)))
    columns = ColumnTable(table, alphas, int(np.sum(seen)), baseline, _NO_COLUMNS)
    return replace(columns, sample=_sample(columns, np.concatenate(heavy), stride))


_NO_COLUMNS = coupled_problem(np.empty((0, 1)), 0.0, np.empty(0, dtype=np.int64))


def _sample(columns: ColumnTable, heavy: IntArray, stride: int) -> Problem:
    """Take every `stride`-th column, standing for as many, and all heavy ones once."""
    light = np.setdiff1d(np.arange(0, len(columns.table), stride), heavy, assume_unique=True)
    picked = np.concatenate([heavy, light])
    size = np.ones(len(picked), dtype=np.int64)
    size[len(heavy) :] = stride
    seen = columns.seen(picked)
    return columns.counts(picked[seen], size[seen])


def solve_screened(columns: ColumnTable, k: int, start: FloatArray | None = None) -> Window:
    """Solve the dual for supports of k columns; the bound holds for all columns.

    Parameters
    ----------
    columns : ColumnTable
    k : int
        At least 1, at most the number of columns with any count.
    start : (C,), optional
        Shares to start from.
    """
    guess = _guess_from_sample(columns, k, start)
    bound = np.inf
    for _ in range(ROUNDS):
        window = _split(columns, k, guess)
        if window is None:
            guess = replace(guess, reach=4.0 * guess.reach)
            continue
        point, _ = window.problem.best(guess.log_a, k - len(window.above))
        bound = min(bound, point.bound(guess.log_a))
        dual = window.dual
        if bound - dual.value <= ACCURACY * abs(bound):
            return replace(window, dual=replace(dual, bound=max(bound, dual.value)))
        guess = _next_guess(columns.sample, guess, window, k, point)
    return _everything(columns, k, guess.log_a)


def _next_guess(sample: Problem, guess: _Guess, window: Window, k: int, point: Vertex) -> _Guess:
    """Shares to look at next.

    Those of the restricted solution, if none of the sample moves past the threshold from outside
    of the window. Otherwise those of the sample, corrected by what it gets wrong at the present
    shares.
    """
    low, high = guess.interval()
    before, after = sample.gains(guess.log_a), sample.gains(window.dual.log_a)
    threshold = window.dual.threshold
    missing = k - len(window.above)
    if not np.any(((before < low) & (after > threshold)) | ((before > high) & (after < threshold))):
        reach = min(guess.reach / 4.0, 0.8 * missing, 0.8 * (len(window.between) - missing))
        dual = window.dual
        return _Guess(dual.log_a, dual.gains, window.problem.size, missing, max(reach, 16.0))
    inner = int(np.sum(sample.size[before >= point.threshold]))
    here, _ = sample.best(guess.log_a, inner)
    corrected = replace(
        sample,
        base_value=sample.base_value + point.value - here.value,
        base_totals=sample.base_totals + point.totals - here.totals,
    )
    dual = solve_dual(corrected, inner, start=np.exp(guess.log_a))
    return _Guess(dual.log_a, dual.gains, sample.size, inner, guess.reach)


def _everything(columns: ColumnTable, k: int, log_a: FloatArray) -> Window:
    """Window of all columns with any count: the last resort."""
    seen = np.flatnonzero(columns.seen())
    problem = columns.counts(seen, np.ones(len(seen), dtype=np.int64))
    return Window(seen[:0], seen, problem, solve_dual(problem, k, start=np.exp(log_a)))


@dataclass(frozen=True, slots=True)
class _Guess:
    """Where the threshold should be: near the gain of rank k among these."""

    log_a: FloatArray  # (C,) log shares of the gains
    gains: FloatArray  # (d,)
    size: IntArray  # (d,) number of columns that each stands for
    k: int
    reach: float  # ranks to either side

    def interval(self) -> tuple[float, float]:
        """Gains of the ranks k + reach and k - reach; infinite beyond the ends."""
        order = np.argsort(-self.gains, kind="stable")
        rank = np.cumsum(self.size[order])
        first = int(np.searchsorted(rank, self.k - self.reach))
        last = int(np.searchsorted(rank, self.k + self.reach))
        high = self.gains[order[first]] if self.k - self.reach > 1 else np.inf
        low = self.gains[order[last]] if last < len(order) else -np.inf
        return float(low), float(high)


def _guess_from_sample(columns: ColumnTable, k: int, start: FloatArray | None) -> _Guess:
    """Shares and threshold of the sample."""
    sample = columns.sample
    inner = min(k, int(sample.size.sum()))
    stride = max(1, len(columns.table) // SAMPLE)
    reach = 0.02 * k + 4.0 * np.sqrt(k * stride) + 64.0
    if start is not None:
        log_a = np.log(start)
        return _Guess(log_a, sample.gains(log_a), sample.size, inner, reach)
    dual = solve_dual(sample, inner)
    return _Guess(dual.log_a, dual.gains, sample.size, inner, reach)


def _split(columns: ColumnTable, k: int, guess: _Guess) -> Window | None:
    """Columns above and around the threshold, and the dual on them; None if k is not around."""
    n_classes = len(guess.log_a)
    low, high = guess.interval()

    def run(begin: int, end: int) -> tuple[IntArray, IntArray, float, FloatArray]:
        above, between = np.empty((2, end - begin), dtype=np.int32)
        totals = np.zeros(n_classes)
        n_above, n_between, entropy = split_columns(
            columns.table,
            columns.alphas,
            begin,
            end,
            guess.log_a,
            low,
            high,
            above,
            between,
            totals,
        )
        return (
            above[:n_above].astype(np.int64),
            between[:n_between].astype(np.int64),
            entropy,
            totals,
        )

    parts = _chunks(run, len(columns.table))
    above = np.concatenate([part[0] for part in parts])
    between = np.concatenate([part[1] for part in parts])
    if not len(above) <= k <= len(above) + len(between):
        return None
    problem = replace(
        columns.counts(between, np.ones(len(between), dtype=np.int64)),
        base_value=columns.base_value + float(np.sum([part[2] for part in parts])),
        base_totals=columns.base_totals + np.sum([part[3] for part in parts], axis=0),
    )
    dual = solve_dual(problem, k - len(above), start=np.exp(guess.log_a))
    return Window(above, between, problem, dual)


def _chunks(run: Callable[[int, int], R], m: int) -> list[R]:
    return in_threads(lambda t: run(t * CHUNK, min((t + 1) * CHUNK, m)), -(-m // CHUNK))
