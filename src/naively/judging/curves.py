"""Scores of models along k on the same folds: a choice, and a comparison."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from naively._choices import Choice
from naively._types import FloatArray, IntArray
from naively.judging.error_path import FoldErrors, chosen
from naively.judging.scoring import scores_of

Settings: TypeAlias = dict[str, Any]  # values of parameters, as scikit-learn sets them


@dataclass(frozen=True, slots=True)
class Curve:
    """Scores of one estimator with one smoothing over the grid of k."""

    name: str
    settings: Settings  # estimator and smoothing, as they appear in `params`
    k: IntArray  # (G,) ascending
    scores: FloatArray  # (T, G) of each fold
    fit_seconds: FloatArray | None = None  # (T,) of training for all k, where it was timed
    score_seconds: FloatArray | None = None  # (T,)
    n_rows: float | None = None  # that were judged, if a score is the share of them that is right
    weight: FloatArray | None = None  # (T,) of each fold; None: all the same
    n_folds: int | None = None  # of all rows, where these were divided more than once; None: T

    @classmethod
    def of_errors(
        cls, name: str, settings: Settings, folds: FoldErrors, scoring: str = "accuracy"
    ) -> Curve:
        """Return the scores of a model on some folds."""
        return cls(
            name, settings, folds.k, scores_of(scoring, folds.errors), n_rows=folds.n_rows,
            weight=folds.weight, n_folds=folds.n_folds,
        )  # fmt: skip

    @property
    def mean(self) -> FloatArray:
        """Mean score over the folds, (G,)."""
        return self.average(self.scores)

    @property
    def standard_error(self) -> FloatArray:
        """Standard error of the mean from the spread over the folds, (G,)."""
        return self.spread(self.scores)

    def average(self, values: FloatArray) -> FloatArray:
        """Return the mean over the folds of values (T, ...) of each."""
        return np.asarray(np.average(values, axis=0, weights=self.weight))

    def spread(self, values: FloatArray) -> FloatArray:
        """Return the standard error of that mean."""
        n_folds = len(values) if self.n_folds is None else self.n_folds
        variance = self.average(np.square(values - self.average(values)))
        return np.asarray(np.sqrt(variance / max(n_folds - 1, 1)))

    def position(self, choice: Choice) -> int:
        """Position in the grid of the k that is chosen."""
        wrong = -self.mean if self.n_rows is None else 1 - self.mean
        return chosen(wrong, self.standard_error, choice, self.n_rows)


def best_curve(curves: list[Curve]) -> Curve:
    """Return the first of the curves that reach the highest mean score."""
    tops = [_top(curve) for curve in curves]
    return curves[int(np.argmax(np.array(tops) >= max(tops) - 1e-12))]


def _top(curve: Curve) -> float:
    mean = curve.mean
    return float(np.max(np.where(np.isnan(mean), -np.inf, mean)))


@dataclass(frozen=True, slots=True)
class Contender:
    """The best that one estimator did, and how far that is from the winner."""

    name: str
    settings: Settings  # smoothing, if it was searched
    k: int
    score: float  # mean over the folds
    standard_error: float
    behind: float  # mean over the folds of the winner's score minus this one's
    behind_standard_error: float  # of that difference, fold by fold, and at least of counting rows

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
    mean, spread = float(curve.average(behind)), float(curve.spread(behind))
    if curve.n_rows:  # so many rows, at least, are decided otherwise
        spread = max(spread, float(np.sqrt(abs(mean) / curve.n_rows)))
    return Contender(
        name=curve.name,
        settings={name: value for name, value in curve.settings.items() if name != "estimator"},
        k=int(curve.k[at]),
        score=float(curve.mean[at]),
        standard_error=float(curve.standard_error[at]),
        behind=mean,
        behind_standard_error=spread,
    )
