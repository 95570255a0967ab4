"""Apply a model to the rows of files, batch by batch."""

from __future__ import annotations

import csv
import io
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import BinaryIO

import numpy as np

from naively._types import FloatArray
from naively.jobs.model_file import ModelFile, load_model, posterior
from naively.jobs.strangers import strangers_note
from naively.models import MODELS
from naively.models.rules import winners
from naively.read.batch import Batch
from naively.read.columns import Wanted
from naively.read.errors import InputError, OutputError
from naively.read.formats import FORMATS, format_of
from naively.read.layout import LISTS, Layout
from naively.read.parts import batches_of, find_files, parts_of
from naively.read.progress import Progress, silent
from naively.statistics.exposure import exposed_columns
from naively.statistics.matrix import Matrix
from naively.text.vocabulary import Vocabulary
from naively.work.eye import Eye, check_counts, check_exposure, eye_for_terms
from naively.work.judged import weighted
from naively.work.stream import told_at
from naively.work.writing import atomic_file


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
    notes: tuple[str, ...] = ()  # what the reader should know of the labels


def predict(job: PredictJob, stdout: BinaryIO, progress: Progress = silent) -> Predicted:
    """Apply a model to a file and write the answers as CSV.

    Raises
    ------
    InputError
        If the model or the input cannot be used.
    OutputError
        If the answers cannot be written; an older file of that name is then unchanged.
    """
    path = model_file(job.model)
    if job.out is None:
        whole = io.BytesIO()
        found = _answer(job, load_model(path), whole, progress)
        stdout.write(whole.getbuffer())
        stdout.flush()
        return found
    _check_not_input(job.out, path, job.input)
    model = load_model(path)
    with atomic_file(job.out) as file:
        return _answer(job, model, file, progress)


def _answer(job: PredictJob, model: ModelFile, file: BinaryIO, progress: Progress) -> Predicted:
    rows, right, compared = 0, 0, job.layout.label or job.layout.labels_file
    truths: Counter[str] = Counter()
    table = io.TextIOWrapper(file, "utf-8", newline="", write_through=True)
    writer = csv.writer(table, lineterminator="\n")
    heads = [f"p:{name}" for name in model.classes] if job.probabilities else []
    writer.writerow([job.layout.key or "row", "label", *heads])
    for batch, X in rows_of(model, job.input, job.layout):
        progress("predicting", rows, 0)
        scores = model.scores(X)
        answers = np.array(model.classes)[winners(scores)]
        keys = batch.keys if batch.keys is not None else np.arange(rows + 1, rows + len(batch) + 1)
        figures = posterior(scores).tolist() if job.probabilities else [[]] * len(batch)
        writer.writerows(
            [key, answer, *map(repr, p)]
            for key, answer, p in zip(keys.tolist(), answers.tolist(), figures, strict=True)
        )
        rows += len(batch)
        if compared and batch.labels is not None:
            right += int((answers == batch.labels).sum())
            truths.update(batch.labels.tolist())
    table.detach()
    accuracy = right / rows if compared and rows else None
    return Predicted(rows, accuracy, tuple(strangers_note(truths, right, model.classes)))


def rows_of(model: ModelFile, source: str, layout: Layout) -> Iterator[tuple[Batch, Matrix]]:
    """Read the rows of a file as a model needs them: batches, and their selected columns (n, k).

    Raises
    ------
    InputError
        If the file cannot be read, or is not of the kind the model was trained on.
    """
    layout = layout_for(model, source, layout)
    see = eye_of(model)
    for part in parts_of([source], layout):
        for batch in batches_of(part, layout):
            with told_at(part):
                yield batch, see(batch)


def layout_for(model: ModelFile, source: str, layout: Layout) -> Layout:
    """Say where a file has what a model needs."""
    layout = replace(layout, needs_label=False)
    (file, *_) = find_files(source)
    format = format_of(file, layout.format)
    if model.features is not None and FORMATS[format].holds == "matrix":
        raise InputError(
            f"{source}: the model was trained on text, this file holds a matrix; give a file like "
            "the one of training."
        )
    if model.features is None:
        if layout.text:
            raise InputError(
                f"{source}: --text has no effect, since the model was trained on columns of "
                "numbers; leave it out."
            )
        names, places = model.wanted
        columns = Wanted(
            model.n_features, names if model.named else None, places, model.first_column,
            layer=model.layer,
        )  # fmt: skip
        return replace(layout, text=(), wanted=columns)
    tokens = model.features.analyzer == "tokens"
    if tokens and format not in LISTS:
        raise InputError(
            f"{source}: the model counts lists of strings, which {format} does not hold; give "
            f"{' or '.join(LISTS)}."
        )
    text = layout.text or model.text_columns
    if 1 < model.n_regions != len(text):
        raise InputError(
            f"{source}: the model weighs {model.n_regions} columns of text "
            f"({', '.join(model.text_columns)}); give --text as often, in that order, or not at "
            f"all; got {len(text)}."
        )
    return replace(layout, text=text, tokens=tokens)


def eye_of(model: ModelFile) -> Eye:
    """Return what sees the selected columns of rows, in the order of the rule."""
    if model.features is not None and model.idf is not None and model.known:
        every = eye_for_terms(model.features, Vocabulary.of(model.known))
        idf, columns = model.idf, model.columns
        return lambda batch: weighted(every(batch), idf, columns)
    if model.features is not None:
        order = sorted(range(len(model.names)), key=model.names.__getitem__)
        place = np.argsort(order)
        if model.exposure is not None:
            place = np.append(place, len(place))
        see = eye_for_terms(
            model.features, Vocabulary.of(model.names), regions=model.n_regions > 1,
            exposed=model.exposure is not None,
        )  # fmt: skip
        ordered = bool((np.diff(order) > 0).all())
        return see if ordered else lambda batch: see(batch)[:, place]
    counts = MODELS[model.kind].takes == "counts"
    names, places = model.wanted
    exposure, columns = model.exposure, model.columns
    if places is not None and isinstance(exposure, int):
        exposure = int(np.searchsorted(places, exposure))
        columns = np.searchsorted(places, columns)

    def as_read(batch: Batch) -> Matrix:
        if counts:
            check_counts(batch, names, "give counts, as the model was trained on")
        check_exposure(batch, exposure)
        return batch.rows if exposure is None else exposed_columns(batch.rows, columns, exposure)

    return as_read


def model_file(path: str) -> str:
    """Path of a model file, which may be given as the result folder that holds it."""
    inside = os.path.join(path, "model.npz")
    return inside if os.path.isdir(path) and os.path.exists(inside) else path


def _check_not_input(out: str, *inputs: str) -> None:
    for each in inputs:
        if os.path.exists(out) and os.path.exists(each) and os.path.samefile(out, each):
            raise OutputError(f"{out}: it is also read; choose another --out.")


def dense_row(X: Matrix, row: int) -> FloatArray:
    """Return one row (q,)."""
    one = X[row : row + 1]
    return np.asarray((one.toarray() if hasattr(one, "toarray") else one)[0], dtype=np.float64)
