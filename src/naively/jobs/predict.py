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

from naively._nearest import short
from naively._types import Array, FloatArray, IntArray
from naively.jobs.model_file import ModelFile, load_model, posterior
from naively.jobs.reasons import dense_row, explain_row
from naively.jobs.strangers import strangers_note
from naively.jobs.study import confusion_of, coverage_points
from naively.judging.agreement import Agreement, agreement
from naively.judging.coverage import margins
from naively.judging.thresholds import Reached, answers_at, log_odds, reached_by
from naively.judging.verdicts import Verdicts
from naively.models import MODELS
from naively.models.rules import winners
from naively.read.batch import Batch
from naively.read.columns import Wanted
from naively.read.errors import InputError, OutputError
from naively.read.formats import FORMATS, format_of
from naively.read.layout import LISTS, Layout
from naively.read.parts import batches_of, find_files, parts_of
from naively.read.progress import Progress, silent
from naively.report.summary import Confusion, CoveragePoint
from naively.statistics.exposure import exposed_columns
from naively.statistics.matrix import Matrix
from naively.text.vocabulary import Vocabulary
from naively.work.eye import Eye, check_counts, check_exposure, eye_for_terms
from naively.work.judged import weighted
from naively.work.stream import told_at
from naively.work.writing import atomic_file

_MISLED = 5  # rows that are shown
_WORDS = 4  # features of each


@dataclass(frozen=True, slots=True)
class PredictJob:
    """All that `naively predict` is asked."""

    model: str
    input: str
    layout: Layout  # text columns, if others than those of training; label, to compare with
    out: str | None = None  # None: give the table to `stdout`
    probabilities: bool = False
    margin: bool = False  # add the log-odds of the answer
    threshold: tuple[str, float] | None = None  # class, and least log-odds to answer it


@dataclass(frozen=True, slots=True)
class Misled:
    """A row that is surely, and wrongly, answered."""

    key: str  # name or number of the row
    truth: str
    answer: str
    margin: float  # log-odds of the answer, nats
    words: tuple[tuple[str, float], ...]  # features that spoke most against the truth, in nats


@dataclass(frozen=True, slots=True)
class Compared:
    """Answers held against the truth."""

    agreement: Agreement
    confusion: Confusion | None  # None for very many classes
    coverage: tuple[CoveragePoint, ...]  # how good the surest rows are
    misled: tuple[Misled, ...]  # the surest first
    threshold: tuple[str, Reached] | None = None  # class that has one, and what it does


@dataclass(frozen=True, slots=True)
class Predicted:
    """Answers for the rows of a file."""

    rows: int
    compared: Compared | None  # where the file has labels and they were asked for
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
    rows, comparison = 0, Comparison(model, job.threshold)
    compares = job.layout.label or job.layout.labels_file
    code = None if job.threshold is None else _code_of(model, job.threshold[0])
    table = io.TextIOWrapper(file, "utf-8", newline="", write_through=True)
    writer = csv.writer(table, lineterminator="\n")
    heads = ["margin"] * job.margin
    heads += [f"p:{name}" for name in model.classes] if job.probabilities else []
    writer.writerow([job.layout.key or "row", "label", *heads])
    for batch, X in rows_of(model, job.input, job.layout):
        progress("predicting", rows, 0)
        scores = model.scores(X)
        codes, margin = winners(scores), margins(scores)
        if code is not None and job.threshold is not None:
            codes = answers_at(scores, code, job.threshold[1])
            margin = _margins_of(scores, codes)
        answers = np.array(model.classes)[codes]
        keys = batch.keys if batch.keys is not None else np.arange(rows + 1, rows + len(batch) + 1)
        figures = posterior(scores).tolist() if job.probabilities else [[]] * len(batch)
        if job.margin:
            figures = [[m, *each] for m, each in zip(margin.tolist(), figures, strict=True)]
        writer.writerows(
            [key, answer, *map(repr, p)]
            for key, answer, p in zip(keys.tolist(), answers.tolist(), figures, strict=True)
        )
        rows += len(batch)
        if compares and batch.labels is not None:
            comparison.look(batch, X, scores, answers, margin, keys)
    table.detach()
    if not comparison.verdicts.pairs:
        return Predicted(rows, None)
    return Predicted(rows, comparison.result(), tuple(comparison.notes()))


def _margins_of(scores: FloatArray, codes: IntArray) -> FloatArray:
    """Log-odds (n,) of some answers, which need not be the likeliest."""
    found = np.empty(len(codes))
    for code in np.unique(codes).tolist():
        rows = codes == code
        found[rows] = log_odds(scores[rows], code)
    return found


def _code_of(model: ModelFile, name: str) -> int:
    if name not in model.classes:
        raise InputError(
            f"`--threshold` must be of a class of the model ({', '.join(model.classes[:5])}); got "
            f"{short(name)}."
        )
    return model.classes.index(name)


class Comparison:
    """Holds answers against the truth, batch by batch."""

    def __init__(self, model: ModelFile, threshold: tuple[str, float] | None) -> None:
        self._model, self._threshold = model, threshold
        self.verdicts, self._reached = Verdicts(), Reached(0, 0, 0)
        self._surest: list[tuple[float, str, str, str, FloatArray]] = []

    def look(
        self, batch: Batch, X: Matrix, scores: FloatArray, answers: Array, margin: FloatArray,
        keys: Array,
    ) -> None:  # fmt: skip
        """Take some more rows, with the selected columns X of them, and what was answered."""
        truths = np.asarray(batch.labels)
        pairs = Counter(zip(truths.tolist(), answers.tolist(), strict=True))
        right = answers == truths
        self.verdicts += Verdicts(pairs, None, 0, margin, right)
        if self._threshold is not None:
            name, least = self._threshold
            odds = log_odds(scores, self._model.classes.index(name))
            members = (truths == name).astype(np.int64)
            self._reached += reached_by(odds, np.ones_like(members), members, least)
        wrong = np.flatnonzero(~right & np.isin(truths, self._model.classes))
        for i in wrong[np.argsort(-margin[wrong], kind="stable")[:_MISLED]].tolist():
            row = (float(margin[i]), str(keys[i]), str(truths[i]), str(answers[i]), dense_row(X, i))
            self._surest.append(row)
        self._surest = sorted(self._surest, key=lambda row: -row[0])[:_MISLED]

    def result(self) -> Compared:
        """Return what came of all rows."""
        pairs, name = self.verdicts.pairs, self._threshold and self._threshold[0]
        return Compared(
            agreement(pairs),
            confusion_of(pairs, self._model.classes),
            coverage_points(*self.verdicts.by_margin()),
            tuple(self._misled(*row) for row in self._surest),
            None if name is None else (name, self._reached),
        )

    def notes(self) -> Iterator[str]:
        """Say what the reader should know of the labels."""
        truths, pairs = Counter[str](), self.verdicts.pairs
        for (truth, _), n in pairs.items():
            truths[truth] += n
        right = sum(n for (truth, answer), n in pairs.items() if truth == answer)
        yield from strangers_note(truths, right, self._model.classes)

    def _misled(self, margin: float, key: str, truth: str, answer: str, x: FloatArray) -> Misled:
        found = explain_row(self._model, x, truth)
        against = sorted(found.contributions, key=lambda each: -each.nats)
        words = tuple((each.feature, each.nats) for each in against[:_WORDS] if each.nats > 0)
        return Misled(key, truth, answer, margin, words)


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
    if model.table is not None:
        raise InputError(
            f"{source}: the model is one of a table of columns of several kinds, which files are "
            "not read as; apply it in Python, to a data frame, with naively.load."
        )
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
        way = "train with `naively select --missing ignore`"
        knows = "missing" in MODELS[model.kind].parameters
        return replace(
            layout, text=(), wanted=columns, missing=model.missing, missing_way=way * knows
        )
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
