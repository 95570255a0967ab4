"""Which features moved a decision, and by how much.

Every rule of this package adds up: the score of a class is a start, which no feature has a part
in, plus one term for each feature of the row. The answer and its strongest rival differ by the sum
of the differences of their terms, in nats; that is all there is to explain.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TextIO

import numpy as np

from naively._types import FloatArray
from naively.jobs.model_file import ModelFile, load_model, posterior
from naively.jobs.predict import dense_row, eye_of, model_file, rows_of
from naively.models.rules import winners
from naively.read.batch import batch_of_texts
from naively.read.errors import InputError
from naively.read.layout import Layout


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
    if model.features is None:
        raise InputError(
            f"{model_path}: was trained on a table of numbers, not on text; give the row to "
            "explain with --file FILE --row N."
        )
    wanted = model.text_columns
    if len(texts) != len(wanted) and (len(texts) != 1 or model.n_regions > 1):
        each = "one TEXT" if len(wanted) == 1 else "one TEXT for each, in this order"
        raise InputError(
            f"{model_path}: takes {len(wanted)} text{'s' * (len(wanted) > 1)} "
            f"({', '.join(wanted)}), {len(texts)} given; give {each}."
        )
    # A text on the command line is a list of what blanks separate, where rows are lists.
    listed = model.features.analyzer == "tokens"
    cells = [text.split() for text in texts] if listed else list(texts)
    return explain_row(model, dense_row(eye_of(model)(batch_of_texts(cells)), 0))


def explain_file(model_path: str, source: str, row: int, layout: Layout) -> Explanation:
    """Explain what a model makes of one row of a file, 1 is the first.

    Raises
    ------
    InputError
        If the model or the file cannot be read, or there is no such row.
    """
    model, before = load_model(model_file(model_path)), 0
    for batch, X in rows_of(model, source, layout):
        if row <= before + len(batch):
            return explain_row(model, dense_row(X, row - 1 - before))
        before += len(batch)
    if not before:
        raise InputError(f"{source}: there are no rows to explain; give a file with data in it.")
    raise InputError(
        f"{source}: `--row` must be in 1 to {before:,}, the number of its rows; got {row:,}."
    )


def explain_row(model: ModelFile, x: FloatArray) -> Explanation:
    """Explain the decision on the selected columns x (q,) of a row."""
    found = model.scores(x[None, :])
    best = int(winners(found)[0])
    others = np.where(np.arange(len(found[0])) == best, -np.inf, found[0])
    second = int(np.argmax(others)) if others.max() > -np.inf else int(best == 0)
    start, terms = model.rule.terms(model.seen(x))
    with np.errstate(invalid="ignore"):
        nats = np.nan_to_num(terms[best] - terms[second], nan=0.0, posinf=np.inf, neginf=-np.inf)
    probability = posterior(found)[0]
    names = model.names if model.exposure is None else (*model.names, "exposure")
    contributions = [
        Contribution(names[j % len(names)], float(x[j]), float(nats[j]), _region(model, j))
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


def _region(model: ModelFile, j: int) -> str:
    return model.text_columns[j // len(model.names)] if model.n_regions > 1 else ""


def text_of(argument: str, stdin: TextIO) -> str:
    """Return the text of an argument: itself, or all of the input for `-`."""
    return str(stdin.read()) if argument == "-" and not os.path.exists("-") else argument
