"""What is measured of a model beyond its accuracy: every k, and how well it knows itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from naively._types import FloatArray, IntArray
from naively.jobs.settings import ModelSettings
from naively.judging.error_path import FoldErrors
from naively.report.summary import Confusion, CoveragePoint, PathCurve, PathPoint
from naively.selection.path import log_grid
from naively.selection.train import Trained, choices, model_path

GRID_POINTS = 40
_SEARCHED_POINTS = 8  # where each is a search of its own
_COVERAGE_POINTS = 50
_ROUNDING = 1e-9  # of margins, which rows of the same values have in other batches
_CONFUSED_CLASSES = 100  # more are too many to keep every cell of the matrix
_PREDICTED_CLASSES = 20  # the prediction compares all pairs in all classes
_PREDICTED_ROWS = 5000  # drawn of each of more than two classes
_PREDICTED_TAILS = 1000  # of sums by the saddlepoint method, half a millisecond each
_TESTED_COLUMNS = 1 << 16  # up to so many features, accuracy is measured up to all of them
_TESTED_TIMES, _TESTED_LEAST = 16, 1000  # with more: up to so many times k, or so many
_TESTED_CELLS = 1 << 23  # weights of the features tested, which every worker holds
_STABLE_TIMES = 3  # up to so many times k, stability is told
_FARTHER = 1.2  # by which the path goes beyond what was tested, at least


@dataclass(frozen=True, slots=True)
class Accuracies:
    """Accuracy at each k of a grid."""

    k: IntArray  # (G,)
    mean: FloatArray  # (G,)
    spread: FloatArray | None  # (G,) standard error, if it was cross-validated
    of: str  # in words: whose accuracy it is

    @classmethod
    def of_folds(
        cls, folds: FoldErrors, judged: str, settings: ModelSettings, scoring: str, *, timed: bool
    ) -> Accuracies:
        """Return the accuracies of the model that was judged, from which k was chosen."""
        balanced = "mean over the classes, " * (scoring == "balanced_accuracy")
        whose = f"{balanced}{folds.n_folds}-fold cross-validation of the training rows, with"
        if timed:
            whose = f"{balanced}{folds.n_folds} folds of rows later than those trained on, with"
        other = (
            f", of the {judged} model, which selects the words" if judged != settings.kind else ""
        )
        other += own_rule(settings)
        return cls(
            folds.k, 1 - folds.mean, folds.standard_error, f"{whose} its standard error{other}"
        )


def own_rule(settings: ModelSettings) -> str:
    """Say whose accuracies those of every k are, where another rule decides in the end."""
    return "" if settings.refit is None else f", of the {settings.kind} model's own rule"


def grid_of(
    n_features: int, chosen: int, least: int = 0, settings: ModelSettings | None = None
) -> IntArray:
    """Values of k, evenly spaced on a log scale from 1 to all, with the chosen one: (G,).

    They are `least` at least, where so many have to be chosen, and end at twice the chosen k where
    every k is a search of its own.
    """
    most, points = max(n_features, 1), GRID_POINTS
    if settings is not None and settings.objective == "pairs" and settings.is_shaped:
        most, points = min(most, 2 * max(chosen, 1)), _SEARCHED_POINTS
    spaced = log_grid(most, points)
    return np.unique(np.append(spaced, max(chosen, 1)).clip(min(least, chosen), n_features))


def measured_grid(grid: IntArray, n_features: int, chosen: int, n_classes: int) -> IntArray:
    """Values of k of a grid at which accuracy is measured: (G,).

    Rows are read over the features of the largest of them only. With more than 65,536 features
    that is max(16 k, 1,000), less where there are very many classes, but the chosen k at least.
    """
    if n_features <= _TESTED_COLUMNS:
        return grid
    most = max(_TESTED_TIMES * chosen, _TESTED_LEAST)
    most = max(min(most, _TESTED_CELLS // max(n_classes, 1)), chosen)
    return grid[grid <= most]


def predicted_error(trained: Trained[Any]) -> float | None:
    """Error that a model expects of itself; None where no law of it is known.

    With many classes or lengths of rows, sums of log-odds are taken as normal.
    """
    from naively.expected.decision_models import from_fitted
    from naively.expected.estimates import Method, Rivals, estimate, lengths_of

    if trained.refitted is not None:
        return None  # of the rule that decides, which is not that of the probabilities
    if trained.temperature != 1:  # what it would say of itself
        trained = trained.at(1.0 / trained.temperature)
    statistics = trained.statistics
    n_classes = len(statistics.classes)
    if n_classes > _PREDICTED_CLASSES:
        return None
    try:
        decision = from_fitted(
            trained.model.family, statistics, trained.selection.support, trained.rule, "classes"
        )
        own = np.exp(decision.log_prior)
        lengths = lengths_of(statistics)
        n_lengths = len(lengths.values) if decision.repeats else 1
        n_tails = n_classes**2 * (n_classes - 1) // 2 * n_lengths
        method: Method = "saddlepoint" if n_tails <= _PREDICTED_TAILS else "normal"
        # Comparisons with many rivals are far from independent, which the product would have them.
        rivals: Rivals = "product" if n_classes == 2 else "normal"
        prior = own / own.sum()
        found = estimate(
            decision, lengths, prior, method=method, rivals=rivals, n_rows=_PREDICTED_ROWS
        )
        return float(found.error)
    except (ValueError, AttributeError):  # only count and presence models have such a law
        return None


def path_curve(
    trained: Trained[Any], settings: ModelSettings, accuracies: Accuracies | None
) -> PathCurve | None:
    """Objective and bound over the number of features, from the statistics alone.

    Where accuracies are measured, the path takes those k that it can reach.
    """
    statistics, chosen = trained.statistics, trained.selection.k
    n_features, least = choices(trained.model, statistics.n_features, len(statistics.classes))
    if n_features == 0 or chosen == 0:
        return None
    grid = grid_of(n_features, chosen, least, settings)
    if accuracies is not None:
        tested = accuracies.k
        # Where the test stops early, the path goes on to all features without accuracies.
        rest = grid[grid > _FARTHER * tested.max(initial=0)]
        grid = np.union1d(tested[(tested > 0) & (tested <= n_features)], np.append(rest, chosen))
    track = model_path(trained.model, statistics, grid)
    points = zip(track.k.tolist(), track.objective.tolist(), track.bound.tolist(), strict=True)
    curve = PathCurve(
        chosen, float(track.baseline), "", tuple(PathPoint(*values) for values in points)
    )
    return with_accuracies(curve, accuracies)


def with_accuracies(curve: PathCurve, accuracies: Accuracies | None) -> PathCurve:
    """Add to the points of a path what was measured at their k."""
    if accuracies is None:
        return curve
    of_k = _by_k(accuracies)
    points = tuple(
        PathPoint(point.k, point.objective, point.bound, *of_k.get(point.k, (None, None)))
        for point in curve.points
    )
    return PathCurve(curve.chosen, curve.baseline, accuracies.of, points)


def stability_grid(curve: PathCurve | None, chosen: int) -> IntArray:
    """Values of k of a path at which stability is told: up to a few times the chosen one."""
    points = () if curve is None else curve.points
    return np.array([p.k for p in points if 0 < p.k <= _STABLE_TIMES * chosen], dtype=np.int64)


def with_stability(curve: PathCurve, ks: IntArray, shares: FloatArray) -> PathCurve:
    """Add to the points of a path how stable the features are at their k."""
    of_k = dict(zip(ks.tolist(), shares.tolist(), strict=True))
    points = tuple(replace(point, stability=of_k.get(point.k)) for point in curve.points)
    return replace(curve, points=points)


def _by_k(accuracies: Accuracies) -> dict[int, tuple[float, float | None]]:
    spread = [None] * len(accuracies.k) if accuracies.spread is None else accuracies.spread.tolist()
    rows = zip(accuracies.k.tolist(), accuracies.mean.tolist(), spread, strict=True)
    return {k: (mean, error) for k, mean, error in rows}


def confusion_of(
    pairs: Mapping[tuple[str, str], int], classes: tuple[str, ...]
) -> Confusion | None:
    """Turn counts of (class, answer) into a matrix; None for very many classes.

    Every class that can be answered has a row, in the order of the columns, whether it was tested
    or not; labels that training does not have come after them.
    """
    unseen = sorted({truth for truth, _ in pairs} - set(classes))
    truths = (*classes, *unseen)
    if len(truths) > _CONFUSED_CLASSES:
        return None
    rows = tuple(tuple(pairs.get((truth, each), 0) for each in classes) for truth in truths)
    return Confusion(truths, classes, rows)


def coverage_points(
    margin: FloatArray, rows: IntArray, right: IntArray
) -> tuple[CoveragePoint, ...]:
    """Accuracy on the surest part of the test rows, for some fifty shares of them.

    Rows whose margin is equal but for rounding enter together: which of them come first would say
    nothing.

    Parameters
    ----------
    margin
        Log-odds of the answer, of single rows or of rows taken together, (B,).
    rows, right
        How many rows have each, and how many of them are right, (B,).
    """
    order = np.argsort(-margin, kind="stable")
    ranked = -margin[order]
    with np.errstate(invalid="ignore"):  # infinite ones are equal
        apart = np.diff(ranked) > _ROUNDING * np.maximum(1.0, np.abs(ranked[1:]))
    last = np.flatnonzero(np.append(apart, np.ones(min(len(ranked), 1), dtype=bool)))
    descending = ranked[last]
    rows, right = (
        np.diff(np.cumsum(each[order])[last], prepend=0).astype(np.int64) for each in (rows, right)
    )
    reached = np.cumsum(rows)
    n = int(reached[-1]) if len(reached) else 0
    ends = np.unique(np.rint(np.linspace(0, n, _COVERAGE_POINTS + 1)[1:]).astype(np.int64))
    places = np.unique(np.searchsorted(reached, ends[ends > 0]))
    hits = np.cumsum(right)
    sure = 1 / (1 + np.exp(descending.clip(-700, 700)))
    return tuple(
        CoveragePoint(
            int(reached[at]) / n, float(int(hits[at]) / int(reached[at])), float(sure[at])
        )
        for at in places.tolist()
    )
