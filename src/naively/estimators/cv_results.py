"""What a cross-validation found: a table of scikit-learn's shape, a choice, a comparison."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import rankdata

from naively._types import Array, FloatArray, IntArray
from naively.judging.error_path import Choice, chosen


@dataclass(frozen=True, slots=True)
class Curve:
    """Scores of one estimator with one smoothing over the grid of k."""

    name: str
    settings: dict[str, Any]  # estimator and smoothing, as they appear in `params`
    k: IntArray  # (G,) ascending
    scores: FloatArray  # (T, G) of each fold
    fit_seconds: FloatArray  # (T,) of training for all k
    score_seconds: FloatArray  # (T,)

    @property
    def mean(self) -> FloatArray:
        """Mean score over the folds, (G,)."""
        return np.asarray(self.scores.mean(axis=0))

    @property
    def standard_error(self) -> FloatArray:
        """Standard error of the mean from the spread over the folds, (G,)."""
        n_folds = len(self.scores)
        return np.asarray(self.scores.std(axis=0) / np.sqrt(max(n_folds - 1, 1)))

    def position(self, choice: Choice) -> int:
        """Position in the grid of the k that is chosen."""
        return chosen(-self.mean, self.standard_error, choice)


def best_curve(curves: list[Curve]) -> Curve:
    """Return the first of the curves that reach the highest mean score."""
    tops = [_top(curve) for curve in curves]
    return curves[int(np.argmax(np.array(tops) >= max(tops) - 1e-12))]


def _top(curve: Curve) -> float:
    mean = curve.mean
    return float(np.max(np.where(np.isnan(mean), -np.inf, mean)))


def results_table(curves: list[Curve]) -> dict[str, Any]:
    """Return the curves, one after the other, as `cv_results_`; times are shares of a pass."""
    scores = np.concatenate([curve.scores for curve in curves], axis=1)
    params = [{**curve.settings, "k": int(k)} for curve in curves for k in curve.k]
    table: dict[str, Any] = {}
    for part in ("fit", "score"):
        seconds = np.concatenate([_shares(curve, f"{part}_seconds") for curve in curves], axis=1)
        table[f"mean_{part}_time"] = seconds.mean(axis=0)
        table[f"std_{part}_time"] = seconds.std(axis=0)
    for name in dict.fromkeys(name for each in params for name in each):
        table[f"param_{name}"] = _column(params, name)
    table["params"] = params
    for t, row in enumerate(scores):
        table[f"split{t}_test_score"] = row
    mean = scores.mean(axis=0)
    table["mean_test_score"] = mean
    table["std_test_score"] = scores.std(axis=0)
    last = np.nanmin(mean, initial=0.0) - 1.0  # what has no score ranks last, as in scikit-learn
    ranks = rankdata(-np.where(np.isnan(mean), last, np.round(mean, 12)), method="min")
    table["rank_test_score"] = ranks.astype(np.int32)
    return table


def _shares(curve: Curve, name: str) -> FloatArray:
    """Seconds of each fold and candidate, (T, G): all candidates share a pass equally."""
    per_candidate = getattr(curve, name) / len(curve.k)
    return np.repeat(per_candidate[:, None], len(curve.k), axis=1)


def _column(params: list[dict[str, Any]], name: str) -> Any:
    """Values of one parameter, masked where a candidate does not have it."""
    present = [name in each for each in params]
    values: Array = np.empty(len(params), dtype=np.int64 if name == "k" else object)
    for i, each in enumerate(params):
        if present[i]:
            values[i] = each[name]
    if name == "alpha" and all(present) and all(np.ndim(value) == 0 for value in values):
        values = values.astype(np.float64)
    return np.ma.MaskedArray(values, mask=~np.array(present))


@dataclass(frozen=True, slots=True)
class Contender:
    """The best that one estimator did, and how far that is from the winner."""

    name: str
    settings: dict[str, Any]  # smoothing, if it was searched
    k: int
    score: float  # mean over the folds
    standard_error: float
    behind: float  # mean over the folds of the winner's score minus this one's
    behind_standard_error: float  # of that difference, fold by fold: the folds are the same

    def __str__(self) -> str:
        settings = "".join(f", {name}={value}" for name, value in self.settings.items())
        return f"{self.name}(k={self.k}{settings}): {self.score:.4f} ± {self.standard_error:.4f}"


@dataclass(frozen=True, slots=True)
class Ranking:
    """Estimators compared on the same folds, the best first."""

    contenders: tuple[Contender, ...]

    @property
    def winner(self) -> Contender:
        """The estimator with the highest mean score."""
        return self.contenders[0]

    def __str__(self) -> str:
        first, *others = self.contenders
        lines = [f"{first}" + (" (winner)" if others else "")]
        for each in others:
            spread = f"{each.behind:.4f} ± {each.behind_standard_error:.4f}"
            clear = each.behind > 2 * each.behind_standard_error
            lines.append(f"{each}, {spread} behind" + ("" if clear else ": too close to call"))
        return "\n".join(lines)


def ranking(groups: list[list[Curve]]) -> Ranking:
    """Compare the best curve of each estimator at its best k; ± is one standard error."""
    best = [best_curve(curves) for curves in groups]
    winner = best_curve(best)
    ahead = winner.scores[:, winner.position("best")]
    others = [_contender(curve, ahead) for curve in best if curve is not winner]
    others.sort(key=lambda each: each.behind)
    return Ranking((_contender(winner, ahead), *others))


def _contender(curve: Curve, ahead: FloatArray) -> Contender:
    at = curve.position("best")
    behind = ahead - curve.scores[:, at]
    return Contender(
        name=curve.name,
        settings={name: value for name, value in curve.settings.items() if name != "estimator"},
        k=int(curve.k[at]),
        score=float(curve.mean[at]),
        standard_error=float(curve.standard_error[at]),
        behind=float(behind.mean()),
        behind_standard_error=float(behind.std() / np.sqrt(max(len(behind) - 1, 1))),
    )
