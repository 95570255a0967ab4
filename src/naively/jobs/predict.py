"""Apply a model to a file."""

from __future__ import annotations

import csv
import io
import os
from dataclasses import dataclass, replace
from typing import Any, BinaryIO

import numpy as np

from naively._types import FloatArray
from naively.io.errors import InputError, OutputError
from naively.io.files import atomic_file
from naively.io.models import COUNTING, Model, load_model, posterior, scores
from naively.io.progress import Progress, silent
from naively.io.samples import Layout, Samples, read_unlabelled
from naively.io.text import TextRule, by_region, count_known, side_by_side
from naively.jobs.rows import check_counts
from naively.models.rules import winners


@dataclass(frozen=True, slots=True)
class PredictJob:
    """All that `naively predict` is asked."""

    model: str
    input: str
    layout: Layout  # text columns, if others than those of training; label, to compare with
    out: str | None = None  # None: give the table to `stdout`
    probabilities: bool = False


@dataclass(frozen=True, slots=True)
class Predicted:
    """Answers for the rows of a file."""

    rows: int
    accuracy: float | None  # where the file has labels and they were asked for


def predict(job: PredictJob, stdout: BinaryIO, progress: Progress = silent) -> Predicted:
    """Apply a model to a file and write the answers as CSV.

    Raises
    ------
    InputError
        If the model or the input cannot be used.
    OutputError
        If the answers cannot be written; an older file of that name is then unchanged.
    """
    if job.out is not None:
        _check_not_input(job.out, job.model, job.input)
    model = load_model(model_file(job.model))
    layout = job.layout
    if model.text is not None and not layout.text:
        layout = replace(layout, text=model.text.columns)
    _check_regions(job.input, layout, model)
    samples = read_unlabelled(job.input, layout, model, progress)
    found = scores(model, selected_columns(model, samples, progress))
    progress("writing", 0, 0)
    _write(_answers_csv(model, samples, layout.key, found, job.probabilities), job.out, stdout)
    if samples.labels is None:
        return Predicted(len(samples), None)
    answers = np.array(model.classes)[winners(found)]
    return Predicted(len(samples), float((answers == np.array(samples.labels)).mean()))


def _check_regions(source: str, layout: Layout, model: Model) -> None:
    """Refuse other numbers of text columns than the regions that the model weighs."""
    if model.text is not None and 1 < model.n_regions != len(layout.text):
        raise InputError(
            f"{source}: the model weighs {model.n_regions} columns of text "
            f"({', '.join(model.text.columns)}); give --text as often, in that order, or not at "
            f"all; got {len(layout.text)}."
        )


def model_file(path: str) -> str:
    """Path of a model file, which may be given as the result folder that holds it."""
    inside = os.path.join(path, "model.npz")
    return inside if os.path.isdir(path) and os.path.exists(inside) else path


def selected_columns(model: Model, samples: Samples, progress: Progress) -> Any:
    """Give the selected columns (n, k) of the rows."""
    if samples.matrix is None:
        documents, n_regions = samples.documents or [], model.n_regions
        texts = by_region(documents) if n_regions > 1 else documents
        counts = count_known(texts, model.names, model.text or TextRule(), progress)
        return side_by_side(counts, n_regions) if n_regions > 1 else counts
    if model.kind in COUNTING:
        check_counts(samples.file.name, samples.matrix.X)
    return samples.matrix.X if samples.selected else samples.matrix.X[:, model.columns]


def _write(table: bytes, out: str | None, stdout: BinaryIO) -> None:
    if out is None:
        stdout.write(table)
        stdout.flush()
        return
    with atomic_file(out) as file:
        file.write(table)


def _check_not_input(out: str, *inputs: str) -> None:
    for each in inputs:
        if os.path.exists(out) and os.path.exists(each) and os.path.samefile(out, each):
            raise OutputError(f"{out}: it is also read; choose another --out.")


def _answers_csv(
    model: Model, samples: Samples, key: str | None, found: FloatArray, probabilities: bool
) -> bytes:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    heads = [f"p:{name}" for name in model.classes] if probabilities else []
    writer.writerow([key or "row", "label", *heads])
    first = samples.keys or [str(i + 1) for i in range(len(found))]
    answers = winners(found).tolist()
    figures = posterior(found).tolist() if probabilities else [[]] * len(found)
    writer.writerows(
        [row, model.classes[answer], *map(repr, p)]
        for row, answer, p in zip(first, answers, figures, strict=True)
    )
    return out.getvalue().encode("utf-8")
