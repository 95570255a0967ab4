r"""Hybrid of a generative and a discriminative model (Raina, Shen, Ng, McCallum 2003).

The words of a document with R regions are generated as in multinomial naive Bayes, with counts
f_cw (weighted, summed over the regions that share a vocabulary of V words) and smoothing alpha_w:

    P(w | c) = (f_cw + alpha_w) / (F_c + A),        F_c = sum_w f_cw,  A = sum_w alpha_w.

How much each region counts is learned discriminatively. Row i has, in region r, x_irw words w and
n_ir = sum_w x_irw words in all. Its features are

    b_irc = (1 / n_ir) sum_w x_irw log P(w | c)          (0 for an empty region; eq. 8)

or the same without 1 / n_ir, and P(c | row i) is proportional to exp(t_c + sum_r theta_r b_irc)
(eq. 9; two classes have b_i1r - b_i0r and t_1 - t_0 there). theta and t maximise the conditional
likelihood (:mod:`naively.models.conditional`) of features that the row itself had no part in
(eq. 11): with s_i the weight of row i and y its class, row i is judged by

    log P_{-i}(w | y) = log(f_yw - s_i x_iw + alpha_w) - log(F_y - s_i n_i + A),

where x_iw and n_i sum over the regions that share the counts, and by the unchanged P(w | c) for
the other classes. One sweep over the entries of the matrix does this for all rows. Two variants of
the paper can be had: features with the row itself (eq. 10, biased), and t held at log P(c) (eq. 8).

With k words selected, everything above holds for the matrix of these words: words outside the
support have the same probability in every class and cancel. Leaving a row out does not revise
the selection; the selection has seen it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Self, final

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from naively._kernels.compiled import read_only
from naively._kernels.leave_one_out import leave_one_out_paired_csr, leave_one_out_whole_csr
from naively._types import Array, BoolArray, FloatArray, IntArray
from naively._warn import warn
from naively.models.conditional import ConditionalFit, fit_conditional
from naively.models.family import CountTable, Family, Problem, checked_alpha, smoothing
from naively.models.kinds import COUNTS
from naively.models.model import Limits, Model
from naively.models.multinomial import multinomial
from naively.models.priors import fitted_prior
from naively.models.region_columns import RegionsLike, resolve_regions
from naively.models.rules import HybridRule
from naively.statistics.counts import ClassCounts
from naively.statistics.labels import encode_labels
from naively.statistics.matrix import Matrix
from naively.statistics.regions import Regions, WordCounts, is_whole, plain_values, sorted_rows
from naively.statistics.source import distinct
from naively.statistics.threads import in_threads, n_threads

Penalty = float | ArrayLike | str  # "auto", or of each region

_LOGS = 1 << 20  # logarithms of counts up to this are looked up; larger ones are few
_ENTRIES_PER_THREAD = 1 << 17  # fewer entries do not repay a second thread


def model(
    *,
    regions: RegionsLike = None,
    shared_vocabulary: bool = True,
    normalize: bool = True,
    alpha: ArrayLike = 1.0,
    penalty: Penalty = "auto",
    fit_intercept: bool = True,
    leave_one_out: bool = True,
    exact: bool = False,
    max_nodes: int = 1000,
    time_limit: float | None = None,
) -> Model[RegionRows]:
    """Hybrid model over the k words that the multinomial model selects.

    Its features are words: `Selection.support` numbers those of one region if the regions share
    them. It is trained from rows, so its statistics are the rows, with their counts.
    """
    shared = bool(shared_vocabulary)
    learning = Learning.checked(normalize, penalty, fit_intercept, leave_one_out)
    rule = partial(_rule, alpha, learning)
    return Model(
        name="hybrid",
        family=Family("hybrid", partial(_gain, alpha), partial(_problem, alpha), rule),
        gather=partial(RegionRows.from_matrix, regions=regions, shared=shared),
        log_prior=fitted_prior,  # the rule has learned intercepts instead
        words=COUNTS,
        subtracts=False,
        limits=Limits.checked(exact=exact, max_nodes=max_nodes, time_limit=time_limit),
        alpha=checked_alpha(alpha),
        project=_columns_of_words,
    )


@final
@dataclass(frozen=True, slots=True)
class RegionRows:
    """Rows, and what is counted of them: the weights of the regions are learned from both."""

    X: Matrix  # CSR (n, m), without duplicates
    codes: Array  # (n,)
    weights: FloatArray  # (n,)
    counts: ClassCounts  # of the columns
    regions: Regions

    @classmethod
    def from_matrix(
        cls,
        X: Matrix,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        classes: ArrayLike | None = None,
        regions: RegionsLike = None,
        shared: bool = True,
    ) -> Self:
        """Count checked rows (n, m), and keep them."""
        counts = ClassCounts.from_matrix(X, y, sample_weight, classes=classes)
        codes = encode_labels(y, counts.classes)[1]
        given = np.ones(1) if sample_weight is None else np.asarray(sample_weight, np.float64)
        # SciPy has no sparse half floats. Sums over regions must not wrap around in small integers.
        rows = sparse.csr_matrix(X.astype(np.float32) if X.dtype == np.float16 else X)
        rows.data = plain_values(rows.data)
        return cls(
            X=distinct(rows),
            codes=codes,
            weights=np.array(np.broadcast_to(given, len(codes))),
            counts=counts,
            regions=resolve_regions(regions, X.shape[1], shared=shared),
        )

    @property
    def classes(self) -> Array:
        """(C,) labels, ascending."""
        return self.counts.classes

    @property
    def class_weight(self) -> FloatArray:
        """(C,) weight of the rows of each class."""
        return self.counts.class_weight

    @property
    def n_features(self) -> int:
        """Number of words V, from which features are selected."""
        return self.regions.n_words

    @property
    def words(self) -> ClassCounts:
        """Counts of the words, summed over the regions that share them."""
        return replace(self.counts, table=self.regions.fold(self.counts.table))

    def weighted(self, weights: FloatArray) -> Self:
        """Return the rows with those of each class weighing more, by (C,) > 0."""
        more = self.weights * weights[self.codes]
        return replace(self, weights=more, counts=self.counts.weighted(weights))

    def counted(self, rows: Matrix, words: BoolArray | None) -> WordCounts:
        """Return the counts of some words, from the rows of their columns alone."""
        table = self.regions.fold(self.counts.table)
        table = table if words is None else table[words]
        used = self.regions.keep(words)
        if is_whole(table) and is_whole(rows.data) and is_whole(self.weights):
            return WordCounts.whole(np.ascontiguousarray(table, dtype=np.int64), used)
        return WordCounts.paired(rows, self.codes, self.weights, used, table.shape[1])


@final
@dataclass(frozen=True, slots=True)
class Learning:
    """How the weights of the regions are learned."""

    normalize: bool  # whether evidence is a mean over words
    penalty: float | FloatArray | None  # of the weights; None: chosen by leave-one-out
    fit_intercept: bool
    leave_one_out: bool

    @classmethod
    def checked(
        cls, normalize: object, penalty: Penalty, fit_intercept: object, leave_one_out: object
    ) -> Self:
        """From what a user says."""
        kept = checked_penalty(penalty)
        return cls(bool(normalize), kept, bool(fit_intercept), bool(leave_one_out))


@final
@dataclass(frozen=True, slots=True)
class Learned:
    """The rule over some words, and how its weights were found."""

    rule: HybridRule  # sees `selected_columns(X, rows.regions.columns(words))`
    fit: ConditionalFit


def learn(
    rows: RegionRows,
    words: BoolArray | None,
    alpha: FloatArray,
    learning: Learning,
) -> Learned:
    """Take counts to word probabilities, features without the row itself, and weights.

    Parameters
    ----------
    rows : RegionRows
    words : (V,) or None
        Mask of the words used; None: all.
    alpha : (V,) or (1,)
        Smoothing by word, see `word_alpha`.
    learning : Learning

    Raises
    ------
    ValueError
        If sums overflow, or there is not a penalty for each region.
    """
    penalty = learning.penalty
    if isinstance(penalty, np.ndarray) and len(penalty) != rows.regions.n_regions:
        raise ValueError(
            f"`penalty` must be one number, or one for each of the {rows.regions.n_regions} "
            f"regions; got {len(penalty)}."
        )
    X = selected_columns(rows.X, rows.regions.columns(words))
    counts = rows.counted(X, words)
    alpha = alpha if words is None or len(alpha) == 1 else alpha[words]
    of_words = WordModel(rows.regions.keep(words), counts, alpha, learning.normalize)
    taken_out = rows.weights if learning.leave_one_out else np.zeros(len(rows.codes))
    features = of_words.leave_one_out(X, rows.codes, taken_out)
    if not np.isfinite(features).all():
        raise ValueError(
            "The values of X are too large for sums in double precision; divide X by a constant."
        )
    fit = fit_conditional(
        features,
        rows.codes,
        rows.weights,
        penalty=learning.penalty,
        fit_intercept=learning.fit_intercept,
    )
    return Learned(of_words.rule(fit.theta, fit.intercept), fit)


def word_alpha(alpha: ArrayLike, regions: Regions) -> FloatArray:
    """Return the smoothing by word, (V,) or (1,), in the order of the regions.

    Raises
    ------
    ValueError
        If it is not positive.
    """
    smooth = np.ravel(smoothing(checked_alpha(alpha), regions.n_words))
    if not (smooth > 0).all():
        raise ValueError(
            "`alpha` must be > 0: without the row itself, a word that no other row has would "
            f"have probability 0; got {alpha!r}. A tiny value, such as 1e-10, is fine."
        )
    return smooth if regions.shared or len(smooth) == 1 else regions.bring_together(smooth)


def checked_penalty(penalty: Penalty) -> float | FloatArray | None:
    """Return the penalty, one or one for each region; None: "auto".

    Raises
    ------
    ValueError
        If it is neither "auto" nor numbers >= 0.
    """
    if isinstance(penalty, str) and penalty == "auto":
        return None
    try:
        given = np.asarray(penalty, dtype=np.float64)
    except (TypeError, ValueError):
        given = np.array(np.nan)
    if given.ndim > 1 or not (given >= 0).all():
        raise ValueError(
            f"`penalty` must be 'auto', a number >= 0, or one for each region; got {penalty!r}."
        )
    return given if given.ndim else float(given)


def separation(fit: ConditionalFit, n_rows: int) -> str:
    """Say that rows separate the classes, and what was done about it."""
    return (
        f"The {n_rows} training rows separate the classes: without a penalty the weights of the "
        "regions have no finite optimum. `theta_` is the optimum with "
        f"`penalty`={fit.penalty.max(initial=0.0):.6g}, the information of one average row. Let "
        "`penalty`='auto' choose one, or give another."
    )


def selected_columns(X: Matrix, columns: IntArray | None) -> Matrix:
    """Return some columns of rows; None: all, as they are."""
    return X if columns is None else X[:, columns]


def _of_words(alpha: ArrayLike, rows: RegionRows) -> tuple[Family[CountTable], ClassCounts]:
    """Multinomial family that selects the words, and its statistics."""
    smooth = word_alpha(alpha, rows.regions)
    return multinomial(smooth if len(smooth) > 1 else float(smooth[0])), rows.words


def _gain(alpha: ArrayLike, rows: RegionRows) -> FloatArray:
    family, words = _of_words(alpha, rows)
    return family.gain(words)


def _problem(alpha: ArrayLike, rows: RegionRows) -> Problem:
    family, words = _of_words(alpha, rows)
    return family.problem(words)


def _rule(
    alpha: ArrayLike,
    learning: Learning,
    rows: RegionRows,
    support: IntArray,
    log_prior: FloatArray,
) -> HybridRule:
    words = _mask(rows, support)
    smooth = word_alpha(alpha, rows.regions)
    learned = learn(rows, words, smooth, learning)
    if not learned.fit.finite:
        text = separation(learned.fit, len(rows.codes))
        warn(text)
    return learned.rule


def _mask(rows: RegionRows, support: IntArray) -> BoolArray | None:
    """Mask of the selected words, (V,); None: all."""
    if len(support) == rows.n_features:
        return None
    words = np.zeros(rows.n_features, dtype=np.bool_)
    words[support] = True
    return words


def _columns_of_words(rows: RegionRows, X: Matrix, support: IntArray) -> Matrix:
    return selected_columns(X, rows.regions.columns(_mask(rows, support)))


@final
@dataclass(frozen=True)
class WordModel:
    """Word probabilities of each class, with all that features of rows need of them."""

    regions: Regions
    counts: WordCounts
    alpha: FloatArray  # (V,) or (1,), positive
    normalize: bool  # whether features are means over the words of a region, or sums

    @property
    def alpha_total(self) -> FloatArray:
        """Sum of the smoothing over the words of each normaliser, (T,)."""
        n_words = len(self.counts.high)
        return self.regions.sums(np.broadcast_to(self.alpha, n_words))

    @cached_property
    def log_counts(self) -> FloatArray:
        """Logarithms of the smoothed counts, (V, C)."""
        return np.asarray(np.log(self.counts.high + self.alpha[:, None]))

    @property
    def log_probability(self) -> FloatArray:
        """Log P(w | c), (V, C)."""
        totals = self.alpha_total[:, None] + self.counts.total
        totals = np.log(totals, out=np.zeros(totals.shape), where=totals > 0)  # 0: no words
        if not self.regions.shared:
            totals = np.repeat(totals, np.diff(self.regions.starts), axis=0)
        return np.asarray(self.log_counts - totals)

    def rule(self, theta: FloatArray, intercept: FloatArray) -> HybridRule:
        """Return the rule with these weights of the regions, (R,), and intercepts, (C,)."""
        regions = self.regions
        return HybridRule(
            intercept=intercept,
            theta=theta,
            weights=self.log_probability.T,
            starts=regions.starts,
            offsets=regions.offsets,
            normalize=self.normalize,
        )

    def leave_one_out(self, X: Any, codes: Array, weights: FloatArray) -> FloatArray:
        """Features b of rows that are among the counts, each row taken out for its own.

        Parameters
        ----------
        X : CSR matrix of shape (n, m)
            Columns in the order of `regions`, without duplicate entries.
        codes, weights : ndarrays of shape (n,)
            Class of each row, and the weight with which it was counted.

        Returns
        -------
        features : ndarray of shape (n, R, C)
        """
        whole = self.counts.is_whole
        weights = weights.astype(np.int64 if whole else np.float64)
        features = np.empty((X.shape[0], self.regions.n_regions, self.counts.high.shape[1]))
        if self.regions.n_regions > 1 or not whole:
            X = sorted_rows(X)
        inputs: list[Any] = self._kernel_inputs(X, codes, weights)
        sweep = leave_one_out_whole_csr if whole else leave_one_out_paired_csr

        def run(rows: tuple[int, int]) -> None:
            sweep(*[*inputs, self.normalize, *rows, features])

        in_threads(run, _shares(X.indptr))
        return features

    def _kernel_inputs(self, X: Any, codes: Array, weights: Array) -> list[Array]:
        regions, counts = self.regions, self.counts
        rows = (plain_values(X.data), X.indices, X.indptr, codes, weights)
        layout = (regions.starts, regions.offsets, regions.tables)
        smoothing = (self.alpha, self.alpha_total)
        table: tuple[Array, ...]
        if counts.is_whole:
            table = (counts.high, counts.total, *smoothing, *self._logs())
        else:
            table = (counts.high, counts.low, counts.total, counts.total_low, *smoothing)
        return [read_only(array) for array in (*rows, *layout, *table)]

    def _logs(self) -> tuple[FloatArray, FloatArray]:
        """Return log(alpha + t) for small whole t, if one alpha serves all words; `log_counts`.

        Of these there are none where there are two classes, and all counts are small.
        """
        high = self.counts.high
        largest = int(high.max(initial=0))
        size = min(_LOGS, largest + 1) if len(self.alpha) == 1 else 0
        enough = size > largest and high.shape[1] == 2
        logs = np.log(self.alpha[0] + np.arange(size))
        return logs, np.empty((0, 2)) if enough else self.log_counts


def _shares(indptr: IntArray) -> list[tuple[int, int]]:
    """First and last row for each thread, so that all have about as many entries to do."""
    entries = int(indptr[-1]) - int(indptr[0])
    shares = max(min(n_threads(), entries // _ENTRIES_PER_THREAD), 1)
    inner = np.searchsorted(indptr, indptr[0] + np.arange(1, shares) * entries // shares)
    bounds = [0, *inner.tolist(), len(indptr) - 1]
    return list(zip(bounds[:-1], bounds[1:], strict=True))
