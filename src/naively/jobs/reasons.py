"""Which features moved a decision, and by how much.

Every rule of this package adds up: the score of a class is a start, which no feature has a part
in, plus one term for each feature of the row. The answer and its strongest rival differ by the sum
of the differences of their terms, in nats; that is all there is to explain.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from naively._types import FloatArray
from naively.jobs.model_file import ModelFile, posterior
from naively.judging.thresholds import log_odds
from naively.judging.verdicts import Mistaken
from naively.models.rules import winners
from naively.report.summary import Misled, Said

_DIGITS = 12  # of nats: beyond them is rounding, by which nothing is ordered
_WORDS = 4  # features that are named of a mistake


@dataclass(frozen=True, slots=True)
class Contribution:
    """What a feature of the row says."""

    feature: str
    value: float | str  # count, or value, in the row; a category by its name
    nats: float  # by which it raises the answer above its rival; negative: it speaks against
    region: str = ""  # column of text in which it stands, if the model keeps them apart


@dataclass(frozen=True, slots=True)
class Bar:
    """A stored threshold, and a row before it."""

    name: str  # of the class
    least: float  # nats of log-odds from which it is the answer
    log_odds: float  # of the class, in this row
    likeliest: str  # what would be answered without it


@dataclass(frozen=True, slots=True)
class Explanation:
    """A decision, taken apart."""

    answer: str
    rival: str  # the class that comes second
    probability: float  # of the answer, as the model believes
    probabilities: dict[str, float]  # of each class
    start: float  # nats for the answer against its rival before any feature is looked at
    total: float  # nats in all: start plus the sum of the contributions
    contributions: tuple[Contribution, ...]  # the strongest first; those of 0 are left out
    threshold: Bar | None = None  # that of the model, if it has one


def explain_row(
    model: ModelFile, x: FloatArray, answer: str | None = None, rival: str | None = None
) -> Explanation:
    """Explain the decision on the selected columns x (q,) of a row, against its strongest rival.

    By default that of the model; or another answer, and against another class.
    """
    found = model.scores(x[None, :])
    best = int(model.answers(found)[0]) if answer is None else model.classes.index(answer)
    others = np.where(np.arange(len(found[0])) == best, -np.inf, found[0])
    second = int(np.argmax(others)) if others.max() > -np.inf else int(best == 0)
    if rival is not None:
        second = model.classes.index(rival)
    start, terms = model.rule.terms(model.seen(x))
    with np.errstate(invalid="ignore"):
        nats = np.nan_to_num(terms[best] - terms[second], nan=0.0, posinf=np.inf, neginf=-np.inf)
    probability = posterior(found)[0]
    names = model.names if model.exposure is None else (*model.names, "exposure")
    contributions = [
        Contribution(
            names[j % len(names)], _value(model, j, float(x[j])), float(nats[j]), _region(model, j)
        )
        for j in np.argsort(-np.abs(nats).round(_DIGITS), kind="stable").tolist()
        if nats[j] != 0
    ]
    return Explanation(
        answer=model.classes[best],
        rival=model.classes[second],
        probability=float(probability[best]),
        probabilities=dict(zip(model.classes, probability.tolist(), strict=True)),
        start=float(start[best] - start[second]),
        total=float(found[0, best] - found[0, second]),
        contributions=tuple(contributions),
        threshold=None if answer is not None else _bar(model, found),
    )


def _bar(model: ModelFile, scores: FloatArray) -> Bar | None:
    """Return the threshold before which a row stands, of scores (1, C)."""
    if model.answer_from is None:
        return None
    name, least = model.answer_from
    odds = float(log_odds(scores, model.classes.index(name))[0])
    return Bar(name, least, odds, model.classes[int(winners(scores)[0])])


def _region(model: ModelFile, j: int) -> str:
    return model.text_columns[j // len(model.names)] if model.n_regions > 1 else ""


def _value(model: ModelFile, j: int, value: float) -> float | str:
    """Value of a feature, or the category that it stands for."""
    labels = () if model.variables is None else model.variables.all.labels[j]
    return str(labels[int(value)]) if labels else value


def misled_by(model: ModelFile, mistake: Mistaken) -> Misled:
    """Tell which features spoke most against the true class of a row."""
    found = explain_row(model, mistake.x, mistake.answer, mistake.truth)
    against = sorted(found.contributions, key=lambda each: -round(each.nats, _DIGITS))
    words = tuple(Said(each.feature, each.nats) for each in against[:_WORDS] if each.nats > 0)
    return Misled(mistake.key, mistake.truth, mistake.answer, mistake.margin, words, mistake.text)
