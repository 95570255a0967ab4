"""Which features moved a decision, and by how much.

Every rule of this package adds up: the score of a class is a start, which no feature has a part
in, plus one term for each feature of the row. The answer and its strongest rival differ by the sum
of the differences of their terms, in nats; that is all there is to explain.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from naively._types import FloatArray
from naively.io.errors import InputError
from naively.io.models import Model, load_model, posterior, scores
from naively.io.progress import Progress, silent
from naively.io.samples import Layout, read_unlabelled
from naively.io.text import TextRule, by_region, count_known, side_by_side
from naively.jobs.predict import model_file, selected_columns
from naively.models.rules import HybridRule, LinearRule, winners
from naively.models.value_rules import AbsoluteRule


@dataclass(frozen=True, slots=True)
class Contribution:
    """What a feature of the row says."""

    feature: str
    value: float  # count, or value, in the row
    nats: float  # by which it raises the answer above its rival; negative: it speaks against
    region: str = ""  # column of text in which it stands, if the model keeps them apart


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


def explain_text(model_path: str, texts: Sequence[str]) -> Explanation:
    """Explain what a model of texts makes of one.

    Parameters
    ----------
    model_path
        A model file, or the result folder with one.
    texts
        One for each column of text of the training; a single one will do for a model that reads
        them together.

    Raises
    ------
    InputError
        If the model cannot be read, or takes something else.
    """
    model = load_model(model_file(model_path))
    if model.text is None:
        raise InputError(
            f"{model_path}: was trained on a table of numbers, not on text; give the row to "
            "explain with --file FILE --row N."
        )
    wanted = model.text.columns
    if len(texts) != len(wanted) and (len(texts) != 1 or model.n_regions > 1):
        each = "one TEXT" if len(wanted) == 1 else "one TEXT for each, in this order"
        raise InputError(
            f"{model_path}: takes {len(wanted)} text{'s' * (len(wanted) > 1)} "
            f"({', '.join(wanted)}), {len(texts)} given; give {each}."
        )
    return explain_row(model, _counted(model, tuple(texts)))


def _counted(model: Model, texts: tuple[str, ...]) -> FloatArray:
    rule = model.text or TextRule()
    if rule.analyzer == "tokens":  # a text on the command line is a list of what blanks separate
        listed: Any = tuple(text.split() for text in texts)
        return _dense(count_known([listed], model.names, rule))
    if model.n_regions > 1:
        counts = count_known(by_region([texts]), model.names, rule)
        return _dense(side_by_side(counts, model.n_regions))
    return _dense(count_known([texts], model.names, rule))


def _dense(X: Any) -> FloatArray:
    row = X.toarray() if hasattr(X, "toarray") else np.asarray(X)
    return np.asarray(row[0], dtype=np.float64)


def explain_file(
    model_path: str, source: str, row: int, layout: Layout, progress: Progress = silent
) -> Explanation:
    """Explain what a model makes of one row of a file, 1 is the first.

    Raises
    ------
    InputError
        If the model or the file cannot be read, or there is no such row.
    """
    model = load_model(model_file(model_path))
    if model.text is not None and not layout.text:
        layout = replace(layout, text=model.text.columns)
    samples = read_unlabelled(source, layout, model, progress)
    if not 1 <= row <= len(samples):
        raise InputError(
            f"{samples.file.name}: `--row` must be in 1 to {len(samples):,}, the number of its "
            f"rows; got {row:,}."
        )
    X = selected_columns(model, samples, progress)
    return explain_row(model, _dense(X[row - 1 : row]))


def explain_row(model: Model, x: FloatArray) -> Explanation:
    """Explain the decision on the selected columns x (q,) of a row."""
    found = scores(model, x[None, :])
    best = int(winners(found)[0])
    others = np.where(np.arange(len(found[0])) == best, -np.inf, found[0])
    second = int(np.argmax(others)) if others.max() > -np.inf else int(best == 0)
    start, terms = score_terms(model, x)
    with np.errstate(invalid="ignore"):
        nats = np.nan_to_num(terms[best] - terms[second], nan=0.0, posinf=np.inf, neginf=-np.inf)
    probability = posterior(found)[0]
    contributions = [
        Contribution(
            model.names[j % len(model.names)], float(x[j]), float(nats[j]), _region(model, j)
        )
        for j in np.argsort(-np.abs(nats), kind="stable").tolist()
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
    )


def _region(model: Model, j: int) -> str:
    if model.n_regions == 1 or model.text is None:
        return ""
    return model.text.columns[j // len(model.names)]


def score_terms(model: Model, x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Start (C,) and terms (C, q) whose sum is the score of each class, from a row x (q,).

    A class that an entry rules out (smoothing 0) has a term of -inf.
    """
    rule = model.rule
    if model.threshold is not None:
        x = (x > model.threshold).astype(np.float64)
    if isinstance(rule, LinearRule):
        terms = rule.weights * x
        if rule.veto is not None:  # present where that is impossible, or absent
            impossible = ((rule.veto > 0) & (x != 0)) | ((rule.veto < 0) & (x == 0))
            terms = np.where(impossible, -np.inf, terms)
        return rule.intercept, terms
    if isinstance(rule, HybridRule):
        return rule.intercept, _hybrid_terms(rule, x)
    if isinstance(rule, AbsoluteRule):
        return rule.intercept, -np.abs(x - rule.centers)
    return rule.intercept, -0.5 * (x - rule.mean) ** 2 * rule.precision


def _hybrid_terms(rule: HybridRule, x: FloatArray) -> FloatArray:
    parts = []
    for r, offset in enumerate(rule.offsets):
        begin, end = rule.starts[r], rule.starts[r + 1]
        block = x[begin:end]
        size = block.sum() if rule.normalize and block.sum() > 0 else 1.0
        parts.append(rule.theta[r] * rule.weights[:, begin - offset : end - offset] * block / size)
    return np.concatenate(parts, axis=1)


def text_of(argument: str, stdin: Any) -> str:
    """Return the text of an argument: itself, or all of the input for `-`."""
    return str(stdin.read()) if argument == "-" and not os.path.exists("-") else argument
