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
the other classes. One sweep over the entries of the matrix does this for all rows.

With k words selected, everything above holds for the matrix of these words: words outside the
support have the same probability in every class and cancel. Leaving a row out does not revise
the selection; the selection has seen it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from naively._kernels.compiled import read_only
from naively._kernels.leave_one_out import leave_one_out_paired_csr, leave_one_out_whole_csr
from naively._types import Array, FloatArray, IntArray
from naively.models.rules import HybridRule
from naively.statistics.regions import Regions, WordCounts, plain_values, sorted_rows
from naively.statistics.threads import in_threads, n_threads

_LOGS = 1 << 18  # logarithms of counts up to this are looked up; larger ones are few
_ENTRIES_PER_THREAD = 1 << 17  # fewer entries do not repay a second thread


@final
@dataclass(frozen=True, slots=True)
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

    @property
    def log_probability(self) -> FloatArray:
        """Log P(w | c), (V, C)."""
        totals = self.alpha_total[:, None] + self.counts.total
        totals = np.log(totals, out=np.zeros(totals.shape), where=totals > 0)  # 0: no words
        if not self.regions.shared:
            totals = np.repeat(totals, np.diff(self.regions.starts), axis=0)
        return np.asarray(np.log(self.counts.high + self.alpha[:, None]) - totals)

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
        weights = weights.astype(np.int64 if self.counts.is_whole else np.float64)
        features = np.empty((X.shape[0], self.regions.n_regions, self.counts.high.shape[1]))
        if self.regions.n_regions > 1 or not self.counts.is_whole:
            X = sorted_rows(X)
        inputs: list[Any] = self._kernel_inputs(X, codes, weights)
        sweep = leave_one_out_whole_csr if self.counts.is_whole else leave_one_out_paired_csr

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
            logs = (self._small_logs(), self._log_table())
            table = (counts.high, counts.total, *smoothing, *logs)
        else:
            table = (counts.high, counts.low, counts.total, counts.total_low, *smoothing)
        return [read_only(array) for array in (*rows, *layout, *table)]

    def _log_table(self) -> FloatArray:
        """Return the logarithms of the smoothed counts, (V, C); empty for two classes."""
        if self.counts.high.shape[1] == 2:
            return np.empty((0, 2))
        return np.asarray(np.log(self.counts.high + self.alpha[:, None]))

    def _small_logs(self) -> FloatArray:
        """Return log(alpha + t) for small whole t, if one alpha serves all words."""
        largest = int(self.counts.high.max(initial=0))
        size = min(_LOGS, largest + 1) if len(self.alpha) == 1 else 0
        return np.asarray(np.log(self.alpha[0] + np.arange(size)))


def _shares(indptr: IntArray) -> list[tuple[int, int]]:
    """First and last row for each thread, so that all have about as many entries to do."""
    entries = int(indptr[-1]) - int(indptr[0])
    shares = max(min(n_threads(), entries // _ENTRIES_PER_THREAD), 1)
    inner = np.searchsorted(indptr, indptr[0] + np.arange(1, shares) * entries // shares)
    bounds = [0, *inner.tolist(), len(indptr) - 1]
    return list(zip(bounds[:-1], bounds[1:], strict=True))
