"""Apply a model to the rows of files, batch by batch."""

from __future__ import annotations

import csv
import io
import os
import signal
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from itertools import islice
from typing import BinaryIO, Literal

import numpy as np

from naively._nearest import short
from naively._types import Array, FloatArray, IntArray
from naively.jobs.first_rows import letters_note
from naively.jobs.model_file import ModelFile, load_model, posterior
from naively.jobs.reasons import misled_by
from naively.jobs.strangers import bare_note, strangers_note, unlabelled_note, wordless_note
from naively.jobs.study import confusion_of, coverage_points
from naively.judging.agreement import Agreement, agreement
from naively.judging.coverage import margins
from naively.judging.parting import TEST, TRAIN
from naively.judging.thresholds import Reached, answers_at, log_odds, reached_by
from naively.judging.verdicts import Verdicts, surest_mistakes
from naively.models import MODELS
from naively.models.counting import bare_rows, unlike_training
from naively.models.rules import winners
from naively.read.batch import Batch, Part
from naively.read.columns import Wanted
from naively.read.errors import InputError, OutputError, told_of
from naively.read.formats import FORMATS, format_of
from naively.read.layout import LISTS, Layout, check_effects
from naively.read.parts import batches_of, find_files, parts_of, told
from naively.read.progress import Progress, silent
from naively.read.variables import Variables
from naively.report.names import formula, formula_note
from naively.report.summary import Confusion, CoveragePoint, Misled
from naively.statistics.exposure import exposed_columns
from naively.statistics.matrix import Matrix
from naively.text.labels import label_text
from naively.text.vocabulary import Vocabulary
from naively.work.eye import Eye, check_counts, check_exposure, eye_for_terms
from naively.work.judged import weighted
from naively.work.stream import split_of, told_at
from naively.work.writing import atomic_file, check_csv_name, is_same_file

_PATIENCE = 10.0  # seconds for a megabyte of text, and as many more
_MEGABYTE = 1 << 20
_OF_ALL = (
    "; rows have the total of all columns for exposure, so that all are needed: give them, or "
    "train with `naively select --read exposure=COLUMN`"
)


@dataclass(frozen=True, slots=True)
class PredictJob:
    """All that `naively predict` is asked."""

    model: str
    input: str
    layout: Layout  # text columns, if others than those of training; label, to compare with
    out: str | None = None  # None: give the table to `stdout`
    probabilities: bool = False
    margin: bool = False  # add the log-odds of the answer
    # Class, and least log-odds to answer it: "own" is that of the model, if it has one
    threshold: tuple[str, float] | Literal["own"] | None = "own"


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
    own_threshold: tuple[str, float] | None = None  # of the model, where its answers follow it


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
    check_csv_name(job.out)
    model = load_model(path)
    with atomic_file(job.out) as file:
        return _answer(job, model, file, progress)


def _answer(job: PredictJob, model: ModelFile, file: BinaryIO, progress: Progress) -> Predicted:
    threshold = model.answer_from if job.threshold == "own" else job.threshold
    own = threshold if job.threshold == "own" else None
    rows, unlabelled, comparison = 0, 0, Comparison(model, threshold)
    bare = np.zeros(2, dtype=np.int64)
    computed = formula(model.classes)
    compares = job.layout.label or job.layout.labels_file
    code = None if threshold is None else _code_of(model, threshold[0])
    table = io.TextIOWrapper(file, "utf-8", newline="", write_through=True)
    writer = csv.writer(table, lineterminator="\n")
    heads = ["margin"] * job.margin
    heads += [f"p:{name}" for name in model.classes] if job.probabilities else []
    writer.writerow([job.layout.key or "row", "label", *heads])
    layout = layout_for(model, job.input, job.layout)
    parts, first = parts_of([job.input], layout), tuple[str, ...]()
    layout, read, trained_on = _with_split(model, parts, layout, bool(compares)), 0, 0
    for batch, X in rows_in(model, parts, layout):
        if not read:
            first = (*_first_notes(model, batch, X), *_scaled_note(model, parts, layout))
        keys = batch.keys if batch.keys is not None else np.arange(read + 1, read + len(batch) + 1)
        read += len(batch)
        kinds = split_of(batch, parts[0], layout)
        if job.layout.split and kinds is not None:
            tested = np.flatnonzero(kinds == TEST)
            batch, X, keys = batch.take(tested), X[tested], keys[tested]
        elif kinds is not None:
            trained_on += int((kinds == TRAIN).sum())
        progress("predicting", rows, 0)
        with told_of(job.input):
            scores = model.scores(X)
        bare += _bare_rows(model, X)
        codes, margin = winners(scores), margins(scores)
        if code is not None and threshold is not None:
            codes = answers_at(scores, code, threshold[1])
            margin = _margins_of(scores, codes)
        answers = np.array(model.classes)[codes]
        computed = computed or (None if batch.keys is None else formula(keys.tolist()))
        figures = posterior(scores).tolist() if job.probabilities else [[]] * len(batch)
        if job.margin:
            figures = [[m, *each] for m, each in zip(margin.tolist(), figures, strict=True)]
        writer.writerows(
            [key, answer, *map(repr, p)]
            for key, answer, p in zip(keys.tolist(), answers.tolist(), figures, strict=True)
        )
        rows += len(batch)
        if compares and batch.labels is not None:
            known = np.flatnonzero(batch.labels != "")
            unlabelled += len(batch) - len(known)
            comparison.look(
                batch.take(known), X[known], scores[known], answers[known], margin[known],
                keys[known],
            )  # fmt: skip
    table.detach()
    if read and not rows:
        raise InputError(
            f"{job.input}: no row has test in column `{short(job.layout.split)}`; leave out --read "
            "split to answer all rows."
        )
    notes = (
        *told(parts, job.layout),
        *first,
        *bare_note(int(bare[0]), rows, model.kind, len(model.names)),
        *wordless_note(int(bare[1]), rows, _words_from(model), len(model.names)),
        *_trained_note(trained_on, rows, model.split),
        *unlabelled_note(unlabelled, what="not compared", formats={p.format for p in parts}),
        *formula_note(computed),
    )
    if not comparison.verdicts.pairs:
        return Predicted(rows, None, notes, own)
    return Predicted(rows, comparison.result(), (*notes, *comparison.notes()), own)


def _bare_rows(model: ModelFile, X: Matrix) -> tuple[int, int]:
    """Count the rows that say nothing, and those without words beside other columns."""
    k, others = len(model.names), _words_from(model)
    wordless = bare_rows("presence", X[:, others:]) if others < k else 0
    return bare_rows(MODELS[model.kind].takes, X[:, : k * model.n_regions]), wordless


def _words_from(model: ModelFile) -> int:
    """Return where the words of a table are among the features, after the other columns."""
    return len(model.names) if model.variables is None else len(model.variables.names)


def _with_split(model: ModelFile, parts: Sequence[Part], layout: Layout, compares: bool) -> Layout:
    """Have the column read that parted the rows of training, where it is there and is of use."""
    if layout.split or not (model.split and compares and parts):
        return layout
    own = replace(layout, split=model.split)
    with suppress(InputError):
        check_effects(own, parts[0].format)
        for batch in islice(batches_of(parts[0], own), 1):
            split_of(batch, parts[0], own)
        return own
    return layout


def _trained_note(trained_on: int, rows: int, column: str) -> Iterator[str]:
    """Say that rows are judged by a model that was trained on them."""
    if trained_on:
        yield (
            f"{trained_on:,} of the {rows:,} rows are those of training, by the column "
            f"`{short(column)}`, and flatter the model; --read split={short(column)} judges the "
            "rows of the test alone."
        )


def _first_notes(model: ModelFile, batch: Batch, X: Matrix) -> Iterator[str]:
    """Say what the first rows hold that the model does not take as it is meant."""
    if model.features is not None:
        yield from letters_note(batch, model.features)
    elif not model.scales:
        given = X[:, : len(model.names) * model.n_regions]
        said = unlike_training(model.whole, given, model.rule, model.size)
        yield from filter(None, [said])


def _scaled_note(model: ModelFile, parts: Sequence[Part], layout: Layout) -> Iterator[str]:
    """Say that rows which the model scales seem to be scaled already."""
    plain = replace(layout, normalize=None, log1p=False)
    for batch in islice(batches_of(replace(parts[0], held=None), plain), model.scales):
        if said := unlike_training(True, batch.rows):
            yield f"{said} It scales them itself."


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

    def look(
        self, batch: Batch, X: Matrix, scores: FloatArray, answers: Array, margin: FloatArray,
        keys: Array,
    ) -> None:  # fmt: skip
        """Take some more rows, with the selected columns X of them, and what was answered."""
        truths = np.asarray(batch.labels)
        pairs = Counter(zip(truths.tolist(), answers.tolist(), strict=True))
        mistakes = surest_mistakes(
            X, truths, answers, margin, self._model.classes, lambda i: str(keys[i]),
            batch.beginning,
        )  # fmt: skip
        self.verdicts += Verdicts(pairs, None, 0, margin, answers == truths, mistakes=mistakes)
        if self._threshold is not None:
            name, least = self._threshold
            odds = log_odds(scores, self._model.classes.index(name))
            members = (truths == name).astype(np.int64)
            self._reached += reached_by(odds, np.ones_like(members), members, least)

    def result(self) -> Compared:
        """Return what came of all rows."""
        pairs, name = self.verdicts.pairs, self._threshold and self._threshold[0]
        return Compared(
            agreement(pairs),
            confusion_of(pairs, self._model.classes),
            coverage_points(*self.verdicts.by_margin()),
            tuple(misled_by(self._model, each) for each in self.verdicts.mistakes),
            None if name is None else (name, self._reached),
        )

    def notes(self) -> Iterator[str]:
        """Say what the reader should know of the labels."""
        truths, pairs = Counter[str](), self.verdicts.pairs
        for (truth, _), n in pairs.items():
            truths[truth] += n
        right = sum(n for (truth, answer), n in pairs.items() if truth == answer)
        yield from strangers_note(truths, right, self._model.classes)


def rows_of(model: ModelFile, source: str, layout: Layout) -> Iterator[tuple[Batch, Matrix]]:
    """Read the rows of a file as a model needs them: batches, and their selected columns (n, k).

    Raises
    ------
    InputError
        If the file cannot be read, or is not of the kind the model was trained on.
    """
    layout = layout_for(model, source, layout)
    return rows_in(model, parts_of([source], layout), layout)


def rows_in(
    model: ModelFile, parts: Sequence[Part], layout: Layout
) -> Iterator[tuple[Batch, Matrix]]:
    """Rows of parts of a file, as `rows_of` gives them."""
    see = eye_of(model)
    for part in parts:
        for batch in batches_of(part, layout):
            with told_at(part), in_time(_patience(model, batch)):
                X = see(batch)
            yield batch, X


def _patience(model: ModelFile, batch: Batch) -> float | None:
    """Seconds that the words of some texts may take to be found; None where no pattern does it.

    A pattern of a stranger may go through a text in exponentially many ways.
    """
    rule = model.features
    if rule is None or rule.analyzer != "word" or rule.min_characters is not None:
        return None
    offsets = batch.rows.offsets
    return _PATIENCE * (1 + (int(offsets[-1]) - int(offsets[0])) / _MEGABYTE)


@contextmanager
def in_time(seconds: float | None) -> Iterator[None]:
    """Give up what takes longer; only the main thread can be told so, and not on every system.

    Raises
    ------
    InputError
        If it does.
    """
    main = threading.current_thread() is threading.main_thread()
    if seconds is None or not main or not hasattr(signal, "setitimer"):
        yield
        return

    def stop(*_: object) -> None:
        raise InputError(
            f"the `token_pattern` of the model takes over {seconds:,.0f} s for some texts; get "
            "another model, or train one whose words are simpler to find."
        )

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


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
                f"{'numbers' if model.variables is None else 'a table'}; leave it out."
            )
        for option, idle in (
            ("transpose", layout.transpose and model.variables is not None),
            ("names", layout.names_file is not None and not model.named),
        ):
            if idle:
                raise InputError(
                    f"{source}: --read {option} has no effect on a model of "
                    f"{'a table' if option == 'transpose' else 'columns without names'}; leave it "
                    "out."
                )
        if model.variables is not None:
            _check_variables(model, model.variables, source)
            return replace(layout, variables=model.variables)
        names, places = model.wanted
        columns = Wanted(
            model.n_features, names if model.named else None, places, model.first_column,
            layer=model.layer, chosen=model.names,
            why=_OF_ALL if model.exposure == "total" else "",
            whole=model.normalize is not None,
        )  # fmt: skip
        way = "train with `naively select --read missing=ignore`"
        knows = "missing" in MODELS[model.kind].parameters
        return replace(
            layout, text=(), wanted=columns, missing=model.missing, missing_way=way * knows,
            beside=model.exposure_name if isinstance(model.exposure, int) else None,
            normalize=model.normalize, log1p=model.log1p,
        )  # fmt: skip
    tokens = model.features.analyzer == "tokens"
    if tokens and format not in LISTS:
        raise InputError(
            f"{source}: the model counts lists of strings, which {format} does not hold; give "
            f"{' or '.join(LISTS)}."
        )
    text = layout.text or model.text_columns
    if 1 < len(model.text_columns) != len(text):
        how = "weighs" if model.n_regions > 1 else "was trained on"
        raise InputError(
            f"{source}: the model {how} {len(model.text_columns)} columns of text "
            f"({', '.join(model.text_columns)}); give --text as often, in that order, or not at "
            f"all; got {len(text)}."
        )
    return replace(layout, text=text, tokens=tokens)


def _check_variables(model: ModelFile, variables: Variables, source: str) -> None:
    """Check that a file can say what a model from Python was trained on: names and spellings."""
    in_python = "apply it in Python, with naively.load"
    if not model.named:
        raise InputError(
            f"{source}: the model was trained on columns without names, and those of a file are "
            f"known by name; {in_python}, or train it on a data frame."
        )
    for name, labels in zip(variables.names, variables.all.labels, strict=False):
        spelled = [label_text(label) for label in labels]
        if None in spelled or len(set(spelled)) < len(spelled):
            raise InputError(
                f"{source}: the categories of `{short(name)}` are not told apart by their "
                f"spelling, or one is empty, and a file spells them; {in_python}, or train it on "
                "categories that are."
            )


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
        if is_same_file(out, each):
            raise OutputError(f"{out}: it is also read; choose another --out.")
