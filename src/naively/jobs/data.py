"""What the files of a job hold, for a model: the statistics of each kind of rows.

Statistics that add up are counted where the rows are, in one pass that keeps none. A model that
needs the rows themselves (medians, regions of a document) gets them collected. Whoever trains,
judges or reports cannot tell the two apart.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from itertools import chain, islice
from operator import add
from typing import Any, Literal, TypeAlias, final

import numpy as np
import scipy.sparse as sp

from naively._nearest import short
from naively._types import Array, FloatArray, IntArray
from naively.jobs.engines import Workers
from naively.jobs.first_rows import (
    categories_note,
    cut_note,
    fractions_note,
    letters_note,
    names_note,
    repeated_note,
    scaled_note,
    zeros_note,
)
from naively.jobs.settings import ModelSettings, Recipe, in_options
from naively.jobs.strangers import copies_note, unlabelled_note
from naively.judging.parting import TRAIN, UNLABELLED, Parting
from naively.models import MODELS
from naively.models.counting import FIRST_ROWS
from naively.models.exposure import checked_exposure
from naively.models.model import Model
from naively.read.batch import Batch, Part, joined
from naively.read.bytes import check_memory
from naively.read.columns import Columns, numbered
from naively.read.errors import InputError, told_of
from naively.read.formats import FORMATS
from naively.read.layout import Layout
from naively.read.matrix import row_sums
from naively.read.mixed import Found, named, with_kinds, with_values
from naively.read.parts import batches_of, columns_of, held, parts_of, targeted, told
from naively.read.progress import Progress, silent
from naively.read.variables import Variables
from naively.statistics.counts import ClassCounts, squared
from naively.statistics.exposure import Exposure, place_of
from naively.statistics.matrix import Matrix, is_sparse
from naively.statistics.missing import filled, missing_mask
from naively.statistics.moments import ClassMoments
from naively.text.counter import count_rows
from naively.text.features import ColumnFeatures, FeatureDefinition, TextFeatures
from naively.text.utf8 import are_blank, as_texts
from naively.text.vocabulary import Vocabulary
from naively.text.weighting import rows_times, scaled, smooth_idf, unit_rows
from naively.work.eye import seen_columns
from naively.work.looking import kinds_of, values_of
from naively.work.records import Record
from naively.work.stream import Kept, Seen, Task, of_kinds, rows_by_kind, tasks_of, whole

Kinds: TypeAlias = tuple[int, ...]

BLANK_BYTES = 200  # longer texts are not looked at for being blank
_COUNTED = 20  # above it whole numbers are hardly categories or ratings
_TABLES = 4  # columns x classes, or more, that training holds at once: counts, logarithms, ...
HELD_BYTES = 1 << 25  # of files that are read once and kept, instead of read once for every pass
_KEPT_BYTES = 1 << 27  # of rows that are tested on, kept from the pass that counts


@dataclass(frozen=True, slots=True)
class Occurrences:
    """How often each of m features stands in some rows."""

    totals: Array  # (m,) sum of what rows weigh, without idf
    documents: Any = None  # (m, C) rows of each class that hold it; None: they were not counted
    squares: Array | None = None  # (m,) sum of the squares of its counts

    @property
    def document_totals(self) -> Array | None:
        """Rows that hold each feature (m,)."""
        return None if self.documents is None else np.asarray(self.documents.sum(axis=1))

    def idf(self, n_rows: int, features: FeatureDefinition) -> FloatArray:
        """Smooth inverse document frequency (m,) among so many rows."""
        documents = self.document_totals
        assert documents is not None  # weights "tfidf" have them counted
        idf = smooth_idf(documents, n_rows)
        # A term that no row holds is unknown, and has no part in the length of another row.
        return np.where(documents > 0, idf, 0.0) if features.two_passes else idf


@dataclass(frozen=True, slots=True)
class Data:
    """Rows of several kinds, as far as a model needs them."""

    name: str  # of the files, for messages
    features: FeatureDefinition
    names: Vocabulary | Sequence[str]  # (m,) of the columns
    statistics: Callable[[Kinds, IntArray | None], Any]  # of rows of some kinds, over some columns
    occurrences: Callable[[Kinds], Occurrences]  # of each feature in the rows of some kinds
    class_rows: Mapping[int, Mapping[str, int]]  # rows of each class, by kind
    shards: Mapping[str, int]  # rows of each part
    tasks: Sequence[Task] = ()  # to go through the rows once more; none for statistics alone
    text_columns: tuple[str, ...] = ()  # in which the features were found; empty for numbers
    n_regions: int = 1  # columns of text that the model keeps apart
    words_from: int | None = None  # of a table: its variables from there on are words of texts
    notes: tuple[str, ...] = ()  # what the reader should know of it, see `notes_on`

    @property
    def parts(self) -> list[Part]:
        """The parts of the files, which a pipe gives only once."""
        return [part for task in self.tasks for part in task.parts]

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return len(self.names)

    def n_rows(self, *kinds: int) -> int:
        """Rows of some kinds."""
        return self.rows_of_classes(*kinds).total()

    def rows_of_classes(self, *kinds: int) -> Counter[str]:
        """Rows of each class, of some kinds."""
        return sum((Counter(self.class_rows.get(kind, {})) for kind in kinds), Counter())

    @property
    def labelled_rows(self) -> Counter[str]:
        """Rows of each class, of all kinds."""
        return self.rows_of_classes(*(kind for kind in self.class_rows if kind != UNLABELLED))

    def named(self, columns: IntArray) -> tuple[str, ...]:
        """Names of some columns."""
        if isinstance(self.names, Vocabulary):
            return tuple(self.names.names(columns).tolist())
        return tuple(self.names[i] for i in columns.tolist())

    def terms(self, columns: IntArray) -> Vocabulary | None:
        """Terms in some columns of texts; None for numbers. The total of a row is none."""
        if not isinstance(self.names, Vocabulary):
            return None
        return self.names.take(columns[columns < self.n_features])

    @property
    def also(self) -> IntArray:
        """Place of the exposure of the rows among the columns, (1,); (0,) if they have none."""
        return place_of(self.features.exposure, self.n_features)

    def placed(self, columns: IntArray, kept: IntArray | None) -> IntArray:
        """Places of some of the columns that are kept, the total of a row after all of them."""
        return columns if kept is None else np.append(kept, self.n_features)[columns]

    def idf(self, kinds: Kinds) -> FloatArray | None:
        """Inverse document frequency (m,) in the rows of some kinds; None if nothing asks for it.

        Rows of other kinds have no part in it.
        """
        if self.features.weights != "tfidf":
            return None
        return self.occurrences(kinds).idf(self.n_rows(*kinds), self.features)

    def kept(self, kinds: Kinds, settings: ModelSettings) -> IntArray | None:
        """Columns that are counted often enough in the rows of some kinds; None for all.

        Words that occur in other rows only are no features; columns of a matrix always are.

        Raises
        ------
        InputError
            If there are none.
        """
        if self.words_from is not None:
            return self._kept_of_table(kinds, settings)
        of_text = isinstance(self.features, TextFeatures)
        if not of_text and settings.min_count <= 1 and settings.min_documents <= 1:
            return None
        found = self.occurrences(kinds)
        often = found.totals > 0 if of_text else np.ones(len(found.totals), dtype=np.bool_)
        exposure = self.features.exposure
        if settings.min_count > 1:
            if self.features.weights == "log" or getattr(self.features, "norm", None) is not None:
                raise InputError(
                    f"{self.name}: `--words min-count` is of occurrences, and the weights of the "
                    "rows are others; use --words min-documents."
                )
            often &= found.totals >= settings.min_count
        if settings.min_documents > 1:
            documents = found.document_totals
            if documents is None:
                raise InputError(
                    f"{self.name}: `--words min-documents` is of rows that hold a feature, which "
                    f"{settings.kind} does not count; leave it out."
                )
            often &= documents >= settings.min_documents
        if isinstance(exposure, int):
            often[exposure] = True
        kept = np.flatnonzero(often)
        if len(kept) == 0:
            least, some = max(settings.min_count, 1), ""
            way = "lower --words min-count" if settings.min_count > 1 else "are the texts empty?"
            if settings.min_documents > 1:
                some = f", in {settings.min_documents:,} rows"
                way = "lower --words min-count or --words min-documents"
            raise InputError(
                f"{self.name}: no feature is counted {least:,} times or more in training{some}; "
                f"{way}{'.' * (way[-1] != '?')}"
            )
        return None if len(kept) == self.n_features else kept

    def _kept_of_table(self, kinds: Kinds, settings: ModelSettings) -> IntArray | None:
        """Columns of a table, and the words that enough of its rows hold."""
        found = self.occurrences(kinds).totals  # sums of weights, if rows have some
        least = settings.min_documents
        often = found >= least if least > 1 else found > 0
        often[: self.words_from] = True
        return None if often.all() else np.flatnonzero(often)


def data_of(
    recipe: Recipe, model: Model[Any], parting: Parting, workers: Workers,
    progress: Progress = silent, parts: Sequence[Part] | None = None,
) -> Data:  # fmt: skip
    """Read the files of a recipe as far as a model needs them, or parts of them that are known.

    Raises
    ------
    InputError
        Naming the file and the place in it, if it cannot be read.
    """
    if parts:
        layout = _settled(recipe, parts, workers, progress)
    else:
        parts, layout = parts_to_read(recipe, workers, progress)
    kind = MODELS[recipe.model.kind]
    features, layout, columns = definition(recipe.features, parts, layout, recipe.model)
    tasks = tasks_of(
        parts, features, layout, names=names_of(columns), parting=parting,
        n_jobs=workers.jobs,
        resumable=recipe.engine.checkpoint is not None,
        of_counts=columns is not None and kind.takes == "counts",
    )  # fmt: skip
    if workers.are_here and parting.asks_content:
        room = _KEPT_BYTES // len(tasks)
        tasks = [
            replace(task, kept=Kept(room)) if task.parting and task.parting.few is None else task
            for task in tasks
        ]
    of_text = columns is None
    if columns is not None:
        check_memory(
            recipe.name, 8 * _TABLES * columns.n * 2, f"{columns.n:,} columns in 2 classes"
        )
    if (
        features.two_passes
        or kind.statistic is None
        or (of_text and kind.statistic not in ("counts", "presence"))
    ):
        data = _collected(recipe, model, tasks)
    else:
        data = _added(workers.count(tasks, progress), tasks)
    left_out = unlabelled_note(data.n_rows(UNLABELLED), formats={each.format for each in parts})
    notes = (*told(parts, recipe.layout), *left_out, *copies_note(data.shards))
    notes += tuple(_weight_note(features))
    words_from = None if layout.variables is None else len(layout.variables.names)
    data = replace(
        data,
        name=recipe.name,
        tasks=tasks,
        text_columns=layout.text,
        notes=notes,
        words_from=words_from,
    )
    if columns is None:
        return data
    return replace(data, names=columns.names)


def looked(
    recipe: Recipe, parts: Sequence[Part], workers: Workers, progress: Progress = silent
) -> Layout:
    """Find the kinds, categories and words of a table: two looks at its rows, where they are.

    Raises
    ------
    InputError
        If there is no row, or an option has no effect on the table.
    """
    layout, settings = recipe.layout, recipe.model
    variables = layout.variables
    assert variables is not None
    if settings.min_count > 1:
        raise InputError(
            "`--words min-count` is of occurrences, and a word of a table is there or not; use "
            "--words min-documents."
        )
    if settings.min_documents > 1 and not variables.words.columns:
        raise InputError(
            "`--words min-documents` is of words, and has no effect without --text; add it."
        )
    if variables.columns is not None:
        return layout
    if not parts:
        raise InputError("There are no rows; give a file with data in it.")
    progress("looking at the columns", 0, 0)
    layout = named(parts[0], layout)

    def all_of(function: Callable[[Task], Found]) -> Found:
        tasks = tasks_of(parts, ColumnFeatures(0), layout, n_jobs=workers.jobs)
        found: list[Found] = workers.map(function, tasks)
        return reduce(add, found)

    layout = with_kinds(layout, all_of(kinds_of))
    with told_of(recipe.name):
        return with_values(layout, all_of(values_of))


def parts_to_read(
    recipe: Recipe, workers: Workers, progress: Progress = silent
) -> tuple[Sequence[Part], Layout]:
    """Return the parts of the files of a recipe, in memory where they are small and read here.

    Rows become numbers only once the layout is settled: the columns of a table, a median.
    """
    parts = parts_of(recipe.files, recipe.layout)
    layout = _settled(recipe, parts, workers, progress)
    return held(parts, layout) if workers.are_here and _is_small(parts) else parts, layout


def _settled(recipe: Recipe, parts: Sequence[Part], workers: Workers, progress: Progress) -> Layout:
    """Return the layout with what a look at the rows finds."""
    if recipe.layout.normalize == "median" and not workers.are_here:
        raise InputError(
            "`--read normalize=median` reads all rows once more, which an engine does not; give a "
            "number, such as 1e4."
        )
    if recipe.layout.variables is not None:
        return looked(recipe, parts, workers, progress)
    return targeted(parts, recipe.layout)


def _weight_note(features: FeatureDefinition) -> Iterator[str]:
    """Say where rows weigh differently, and where they do not."""
    if (column := features.row_weight) is not None:
        yield (
            f"Rows of training weigh what column `{short(column)}` says, and counts are sums of "
            "these weights; where a model is judged, each row counts once."
        )


def notes_on(recipe: Recipe, data: Data) -> Iterator[str]:
    """Say what the reader should know of the rows, wherever they are counted."""
    layout = data.tasks[0].layout
    names: Sequence[str] = ()
    if layout.variables is not None:
        names = layout.variables.names
    elif not layout.text:
        names = data.named(np.arange(data.n_features))
    yield from notes_on_rows(data.parts, layout, recipe.model.kind, data.features, names)


def notes_on_rows(
    parts: Sequence[Part], layout: Layout, kind: str, features: FeatureDefinition,
    names: Sequence[str],
) -> Iterator[str]:  # fmt: skip
    """Say what the reader should know of rows, whose columns of numbers have these names."""
    batches = _batches(parts, layout)
    if (first := next(batches, None)) is None:
        return
    batches = chain([first], batches)
    if layout.text:
        yield from _notes_on_texts(first, layout, features)
        yield from _note_of_empty(batches, whole=_is_small(parts))
        return
    yield from _notes_on_numbers(parts, layout, kind, names, first)
    if kind == "bernoulli":
        yield from _note_of_presence(batches)
    elif MODELS[kind].takes == "values" and all(_is_matrix(each) for each in parts):
        yield from _note_of_raw_counts(batches, kind)


def _notes_on_numbers(
    parts: Sequence[Part], layout: Layout, kind: str, names: Sequence[str], first: Batch
) -> Iterator[str]:
    yield from fractions_note(kind, first.rows)
    if not layout.transpose and not any(_is_matrix(each) for each in parts):
        if layout.key is None and layout.variables is None:
            yield from repeated_note(first)
        yield from names_note(first.rows, names)
    stored = [replace(parts[0], held=None)]  # not as numbers of a table, and not scaled
    if layout.variables is not None and (words := layout.variables.words).columns:
        tokens = words.features.analyzer == "tokens"
        texts = replace(layout, variables=None, text=words.columns, tokens=tokens, ignore=())
        for batch in islice(_batches(stored, texts), 1):
            yield from _notes_on_texts(batch, texts, words.features)
    if kind == "gaussian":
        yield from zeros_note(first.rows)
    if layout.log1p or layout.normalize is not None:
        plain = replace(layout, normalize=None, log1p=False)
        option = "--read log1p" if layout.log1p else "--read normalize"
        for batch in islice(_batches(stored, plain), 1):
            yield from scaled_note(option, batch.rows)


def _is_matrix(part: Part) -> bool:
    return FORMATS[part.format].holds == "matrix"


def _notes_on_texts(batch: Batch, layout: Layout, features: FeatureDefinition) -> Iterator[str]:
    yield from letters_note(batch, features)
    yield from cut_note(batch, features)
    yield from categories_note(batch, layout.text)


def _batches(parts: Sequence[Part], layout: Layout) -> Iterator[Batch]:
    return chain.from_iterable(batches_of(each, layout) for each in parts)


def _is_small(parts: Sequence[Part]) -> bool:
    """Whether files are small enough to be gone through once more without a thought."""
    return sum(map(os.path.getsize, {part.path for part in parts})) <= HELD_BYTES


def _note_of_empty(batches: Iterator[Batch], *, whole: bool) -> Iterator[str]:
    """Say how many rows hold no text: of all rows of small files, of the first ones of large ones.

    What is said does not depend on where the rows are counted.
    """
    read = empty = 0
    for batch in batches:
        rows = len(batch) if whole else min(len(batch), FIRST_ROWS - read)
        blank = are_blank(batch.rows.rows(0, rows * batch.width), BLANK_BYTES)
        read, empty = read + rows, empty + int(blank.reshape(rows, batch.width).all(axis=1).sum())
        if not whole and read >= FIRST_ROWS:
            break
    if empty:
        among = f"{read:,}" if whole else f"the first {read:,}"
        hold = "holds" if empty == 1 else "hold"
        yield f"{empty:,} of {among} rows {hold} no text; of these only the number is counted."


def _note_of_raw_counts(batches: Iterator[Batch], kind: str) -> Iterator[str]:
    """Say that values look like raw counts, if those of the first rows do."""
    batch = next(batches, None)
    if batch is None:
        return
    X = batch.rows[:FIRST_ROWS]
    values, sums = X.data if is_sparse(X) else X, row_sums(X)
    whole = bool(values.size) and not (values < 0).any() and (values == np.floor(values)).all()
    if whole and values.max() > _COUNTED and len(np.unique(sums)) > len(sums) / 2:
        yield (
            f"The values of the first {X.shape[0]:,} rows are whole numbers up to "
            f"{values.max():,.0f}, as raw counts are, and the {kind} model compares values; "
            "--read normalize=median --read log1p makes those of deep and shallow rows alike."
        )


def _note_of_presence(batches: Iterator[Batch]) -> Iterator[str]:
    """Say that a model of presence leaves counts unread, if the first rows hold any."""
    read = positive = above = 0
    for batch in batches:
        X = batch.rows[: FIRST_ROWS - read]
        values = X.data if is_sparse(X) else X
        read, positive = read + X.shape[0], positive + int((values > 0).sum())
        above += int((values > 1).sum())
        if read == FIRST_ROWS:
            break
    if above:
        yield (
            "The bernoulli model asks only whether a value is above 0; in the first "
            f"{read:,} rows {above:,} of the {positive:,} values that are, are above 1. "
            "--model multinomial counts them."
        )


def definition(
    features: TextFeatures | None,
    parts: Sequence[Part],
    layout: Layout,
    settings: ModelSettings,
    resolution: float | None = None,
) -> tuple[FeatureDefinition, Layout, Columns | None]:
    """Define what a model counts: in texts, or in the columns of numbers of the first file.

    Other files are read for the same columns, by their names where they have any.

    Raises
    ------
    InputError
        If rows cannot be weighted as the settings say.
    """
    kind = MODELS[settings.kind]
    weights, norm = settings.weighting(of_text=features is not None)
    if features is not None:
        weights = "presence" if kind.statistic == "presence" else weights
        documents = kind.statistic == "counts"
        weighted = replace(
            features, weights=weights, norm=norm, documents=documents,
            exposure=_exposure_of_text(settings.exposure), row_weight=layout.weight,
        )  # fmt: skip
        return weighted, layout, None
    if layout.variables is not None:
        of_table = replace(_of_table(layout.variables), row_weight=layout.weight)
        return of_table, layout, Columns(layout.variables.all.names or ())
    columns = columns_of(parts, layout)
    names = names_of(columns)
    digest = None if names is None else names.digest()
    wanted = columns.wanted(parts[0].source)
    statistic = kind.statistic or "counts"
    if resolution is not None and layout.weight is not None:
        raise InputError(
            "`--read resolution` makes sums whole, which those of weighted rows are not; leave out "
            "it or --read weight."
        )
    of_columns = ColumnFeatures(
        columns.n, digest, statistic, resolution=resolution, weights=weights,
        documents=statistic == "counts" and kind.takes == "counts",
        first_column=columns.first_column, layer=None if layout.layer == "X" else layout.layer,
        exposure=_exposure_of_columns(settings.exposure, columns, parts[0].source),
        missing=settings.missing is not None,
        normalize=_number(layout.normalize), log1p=layout.log1p, row_weight=layout.weight,
    )  # fmt: skip
    return of_columns, replace(layout, wanted=wanted), columns


def _number(normalize: float | str | None) -> float | None:
    assert not isinstance(normalize, str)  # the median is known by then
    return normalize


def _of_table(variables: Variables) -> ColumnFeatures:
    found = variables.all
    names = names_of(Columns(found.names or ()))
    assert names is not None
    how = repr(variables.words.features) if variables.words.columns else ""
    return ColumnFeatures(
        len(found.kinds), names.digest() + how, statistic="mixed", variables=found
    )


def _exposure_of_text(exposure: str | None) -> Literal["total"] | None:
    if exposure not in (None, "total"):
        raise InputError(
            "`--read exposure` must be total for texts, the number of terms of a row; got "
            f"{exposure!r}."
        )
    return None if exposure is None else "total"


def _exposure_of_columns(exposure: str | None, columns: Columns, source: str) -> Exposure:
    if exposure is None:
        return None
    names = columns.names
    with told_of(source), in_options():
        if not columns.named and exposure != "total":
            try:
                return int(names.index(exposure))
            except ValueError:
                raise InputError(
                    f"{source}: `--read exposure` must be total or a column, {names[0]} to "
                    f"{names[-1]}; got {exposure!r}."
                ) from None
        return checked_exposure(exposure, names=names if columns.named else None)


def placed_exposure(exposure: Exposure, kept: IntArray | None) -> Exposure:
    """Exposure of rows of which some columns are kept, that of the exposure among them."""
    if kept is None or not isinstance(exposure, int):
        return exposure
    return int(np.searchsorted(kept, exposure))


def names_of(columns: Columns | None) -> Vocabulary | None:
    """Names of columns of numbers, in their order; None if they have none."""
    if columns is None or not columns.named:
        return None
    texts = as_texts(list(columns.names))
    return Vocabulary(texts.bytes, texts.offsets)


# Statistics that add up --------------------------------------------------------------------------


def of_record(record: Record, name: str, text_columns: tuple[str, ...]) -> Data:
    """Say what a record of statistics holds: rows for training, and no way back to them."""
    found, of_text = record.in_units(), isinstance(record.features, TextFeatures)
    classes = zip(found.classes.astype(str).tolist(), found.class_rows.tolist(), strict=True)
    return Data(
        name=name,
        features=record.features,
        names=_names(record),
        statistics=lambda kinds, columns: _trained_on(found, record.features, columns),
        occurrences=lambda kinds: _occurrences(found),
        class_rows={TRAIN: dict(classes)},
        shards=record.shards,
        notes=(
            *unlabelled_note(record.unlabelled),
            *copies_note(record.shards),
            *_weight_note(record.features),
        ),
        text_columns=text_columns if of_text else (),
    )


def _names(record: Record) -> Vocabulary | Sequence[str]:
    if record.names is not None:
        return record.names
    first = getattr(record.features, "first_column", 0)
    return numbered(record.statistics.n_features, first).names


def _added(record: Record, tasks: Sequence[Task]) -> Data:
    """Statistics whose labels tell the kinds of rows."""
    marked = record.in_units()
    class_rows: dict[int, dict[str, int]] = {}
    for mark, n in zip(marked.classes.tolist(), marked.class_rows.tolist(), strict=True):
        kind, _, label = mark.partition(":")
        class_rows.setdefault(int(kind), {})[label] = n
    found = _OfKinds(marked)
    return Data(
        "",
        record.features,
        _names(record),
        lambda kinds, columns: _trained_on(
            found.of(kinds, copy=columns is None or record.features.documents),
            record.features,
            columns,
        ),
        lambda kinds: _occurrences(found.of(kinds)),
        class_rows,
        record.shards,
    )


@final
class _OfKinds:
    """Statistics of the rows of some kinds: the last sum is at hand; one kind is a view."""

    def __init__(self, marked: Any) -> None:
        self._marked, self._last = marked, None
        self._kinds: Kinds | None = None

    def of(self, kinds: Kinds, *, copy: bool = False) -> Any:
        if len(kinds) == 1:
            return of_kinds(self._marked, kinds, copy=copy)
        if kinds != self._kinds:
            self._kinds, self._last = None, None  # most of the memory
            self._last = of_kinds(self._marked, kinds)
            self._kinds = kinds
        return self._last


def _trained_on(found: Any, features: FeatureDefinition, columns: IntArray | None) -> Any:
    """Statistics as models take them: weighted by idf where that is asked for, of some columns."""
    if isinstance(found, ClassCounts) and found.documents is not None:
        table = found.table
        if features.weights == "tfidf":
            table = rows_times(
                table, _occurrences(found).idf(int(found.class_rows.sum()), features)
            )
        found = replace(found, table=table, documents=None, squares=None)
    return _taken(found, features, columns)


def _taken(found: Any, features: FeatureDefinition, columns: IntArray | None) -> Any:
    if columns is None:
        return found
    found, exposure = found.take(columns), features.exposure
    if exposure is None:
        return found
    return replace(found, exposed_by=placed_exposure(exposure, columns))


def _occurrences(found: Any) -> Occurrences:
    totals = np.asarray(found.feature_totals())
    if not isinstance(found, ClassCounts):
        return Occurrences(totals)
    if found.squares is None:
        return Occurrences(totals, found.table if found.presence else None)
    return Occurrences(totals, found.documents, np.asarray(found.squares.sum(axis=1)))


# Rows that are held ------------------------------------------------------------------------------


def _collected(recipe: Recipe, model: Model[Any], tasks: Sequence[Task]) -> Data:
    """Rows of a model that needs them."""
    task = whole(tasks)
    seen, shards = list[Seen](), dict[str, int]()
    for part in task.parts:
        own = list(rows_by_kind(task, part))
        seen += own
        shards[part.name] = sum(len(each.batch) for each in own)
    if not seen:
        raise InputError(f"{recipe.name}: there are no rows; give files with data in them.")
    labels = np.concatenate([each.names[each.codes] for each in seen])
    kinds = np.concatenate([each.kinds for each in seen])
    rows_read = joined([each.batch for each in seen])
    n_regions = max(len(recipe.layout.text), 1) if MODELS[recipe.model.kind].regions else 1
    with told_of(recipe.name):
        X, names = _matrix(task.features, rows_read, n_regions)
    weight = rows_read.weight
    del rows_read

    features = task.features
    counted = isinstance(features, TextFeatures) or MODELS[recipe.model.kind].takes == "counts"
    moments = MODELS[recipe.model.kind].statistic == "moments"  # with deviations, to be told
    exposure = task.features.exposure
    gather = model.gather
    if moments:
        gather = partial(ClassMoments.from_matrix, deviations=True, exposure=exposure)

    def rows(chosen: Kinds, columns: IntArray | None) -> tuple[Matrix, Array, FloatArray | None]:
        at = np.flatnonzero(np.isin(kinds, chosen))
        wanted = None if columns is None else in_regions(columns, len(names), n_regions)
        own = None if weight is None else weight[at]
        return X[at] if wanted is None else X[at][:, wanted], labels[at], own

    def statistics(chosen: Kinds, columns: IntArray | None) -> Any:
        if exposure is not None:  # of all columns
            return _taken(gather(*rows(chosen, None)), features, columns)
        if features.weights != "tfidf":
            return gather(*rows(chosen, columns))
        some, of_some, own = rows(chosen, None)
        some = scaled(some, occurrences(chosen).idf(len(of_some), features))
        some = unit_rows(some) if features.two_passes else some
        some = some if columns is None else some[:, columns]
        return gather(some, of_some, own)

    def occurrences(chosen: Kinds) -> Occurrences:
        some, of_some, _ = rows(chosen, None)
        m = len(names)
        some = sum((some[:, r * m : (r + 1) * m] for r in range(1, n_regions)), some[:, :m])
        totals = np.asarray(filled(some, missing_mask(some)).sum(axis=0)).ravel()
        if not counted:
            return Occurrences(totals)
        held = ClassCounts.from_matrix(some, of_some, presence=True).table
        squares = np.asarray(squared(some).sum(axis=0)).ravel()
        return Occurrences(totals, held, squares)

    return Data(
        name="",
        features=features,
        names=names,
        statistics=statistics,
        occurrences=occurrences,
        class_rows={kind: Counter(labels[kinds == kind].tolist()) for kind in set(kinds.tolist())},
        shards=shards,
        n_regions=n_regions,
    )


def _matrix(
    features: FeatureDefinition, rows: Batch, n_regions: int
) -> tuple[Matrix, Vocabulary | Sequence[str]]:
    """All rows (n, m), or regions side by side (n, R * m), and the names of the m columns."""
    if isinstance(features, ColumnFeatures):
        return seen_columns(rows.rows, slice(None), features), numbered(features.n_columns).names
    if n_regions == 1:
        names, X = count_rows(rows.rows, features, parts=rows.width)
        return X, names
    names, texts = count_rows(rows.rows, features)
    blocks = [texts[r::n_regions] for r in range(n_regions)]
    return sp.hstack(blocks, format="csr"), names


def in_regions(columns: IntArray, width: int, n_regions: int) -> IntArray:
    """Give the places of some columns in every region; regions stand side by side."""
    return np.concatenate([columns + r * width for r in range(n_regions)])
