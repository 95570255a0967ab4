"""From files to rows that are counted, labelled and parted into training and test."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from naively._types import Array, IntArray
from naively.io.errors import InputError
from naively.io.formats import format_by_name, format_of
from naively.io.matrices import Matrix, check_memory, first_place, read_words
from naively.io.models import COUNTING
from naively.io.progress import Progress, silent
from naively.io.samples import Layout, Numbered, Samples, is_text, read_samples
from naively.io.text import TextRule, by_region, count, english_stop_words, side_by_side
from naively.jobs.settings import SelectJob, method_of
from naively.report.summary import FileRow
from naively.scale.holdout import LEFT_OUT, TEST, TRAIN, kinds_in, kinds_of
from naively.scale.parts import Layout as PartLayout
from naively.scale.sources import rows_in_parts

__all__ = ["LEFT_OUT", "TEST", "TRAIN", "Rows", "holdout_parts", "load"]

_TABLES = 4  # columns x classes, or more, that training holds at once: counts, logarithms, ...


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows ready for training and testing."""

    X: Any  # (n, m) CSR or dense; (n, R * m) if the columns of text are kept apart as regions
    labels: Array  # (n,) text
    names: Sequence[str]  # (m,)
    part: IntArray  # (n,) TRAIN, TEST or LEFT_OUT
    files: tuple[FileRow, ...]
    test_method: str  # in words
    text: TextRule | None
    first_column: int = 0
    n_regions: int = 1
    documents: Sequence[tuple[str, ...]] | None = None  # (n,) texts, to quote from

    def of(self, *parts: int) -> tuple[Any, Array]:
        """Rows of the parts, with their labels."""
        chosen = np.flatnonzero(np.isin(self.part, parts))
        return self.X[chosen], self.labels[chosen]


def load(job: SelectJob, progress: Progress = silent) -> Rows:
    """Read and count the rows of a job, and part them."""
    layout = _defaults(job)
    samples = [read_samples(job.input, layout, progress)]
    if job.test.file is not None:
        samples.append(read_samples(job.test.file, _test_layout(job, layout), progress))
    labels = np.array([each for part in samples for each in part.labels or ()], dtype=object)
    part = _parts(job, samples, labels)
    check_labels(job.input, Counter(labels[part == TRAIN].tolist()))
    _check_table(job.input, samples[0], labels)
    n_regions = _regions(job, samples)
    X, names, text = _counted(job, samples, progress, n_regions)
    files, first_column = _file_rows(samples), _first_column(samples)
    documents = [row for each in samples for row in each.documents or ()] or None
    method = method_of(job.test)
    return Rows(X, labels, names, part, files, method, text, first_column, n_regions, documents)


def _regions(job: SelectJob, samples: Sequence[Samples]) -> int:
    """Columns of text that the model keeps apart."""
    apart = job.model.kind == "hybrid" and samples[0].documents is not None
    return len(job.text.columns) if apart else 1


def _defaults(job: SelectJob) -> Layout:
    layout = replace(job.layout, split=job.test.split_column)
    if not is_text(job.input, layout):
        return layout
    return replace(layout, text=job.text.columns, label=layout.label or "label")


def _test_layout(job: SelectJob, layout: Layout) -> Layout:
    file = job.test.file or ""
    # A format that was given is that of the training file; another name may say otherwise.
    format = format_by_name(file) or layout.format
    if is_text(file, replace(layout, format=format)) != is_text(job.input, layout):
        raise InputError(f"{file}: must hold the same as {job.input}, text or a matrix.")
    return replace(layout, format=format, split=None, labels_file=job.test.labels_file)


def _first_column(samples: Sequence[Samples]) -> int:
    matrix = samples[0].matrix
    return 0 if matrix is None else matrix.first_column


def _file_rows(samples: Sequence[Samples]) -> tuple[FileRow, ...]:
    roles = ("training" if len(samples) > 1 else "training and test", "test")
    return tuple(
        FileRow(each.file.name, role, len(each), each.file.size, each.file.sha256)
        for each, role in zip(samples, roles, strict=False)
    )


def _counted(
    job: SelectJob, samples: Sequence[Samples], progress: Progress, n_regions: int
) -> tuple[Any, Sequence[str], TextRule | None]:
    documents = [row for each in samples for row in each.documents or ()]
    names: Sequence[str]
    if documents:
        texts = by_region(documents) if n_regions > 1 else documents
        counted = count(texts, job.text, progress, source=job.input)
        X, names, text = side_by_side(counted.X, n_regions), counted.names, job.text
    else:
        X, names, text = *_stacked(samples), None
    if job.model.kind in COUNTING:
        check_counts(samples[0].file.name, X)
    if job.model.binary:
        X = (X != 0).astype(np.int64)
    return X, names, text


def _stacked(samples: Sequence[Samples]) -> tuple[Any, Sequence[str]]:
    import scipy.sparse as sp

    matrices = [each.matrix for each in samples if each.matrix is not None]
    first = matrices[0]
    for each in matrices[1:]:
        if each.X.shape[1] != first.X.shape[1] or each.first_column != first.first_column:
            raise InputError(
                f"{each.source}: has {each.X.shape[1]:,} columns numbered from "
                f"{each.first_column}, {first.source} has {first.X.shape[1]:,} numbered from "
                f"{first.first_column}; give the same columns in both."
            )
        if _named(each) and _named(first) and each.names != first.names:
            raise InputError(
                f"{each.source}: its columns have other names, or another order, than those of "
                f"{first.source}; give the same columns in both."
            )
    names = first.names or ()
    if len(matrices) == 1:
        return first.X, names
    blocks = [each.X for each in matrices]
    if any(sp.issparse(block) for block in blocks):
        return sp.vstack(blocks, format="csr"), names
    return np.vstack(blocks), names


def _named(matrix: Matrix) -> bool:
    """Whether the columns have names of their own, not only numbers."""
    names = matrix.names or ()
    # Numbers may be too many to look at one by one.
    return not (isinstance(names, Numbered) or all(name.isdecimal() for name in names))


def check_counts(name: str, X: Any) -> None:
    """Refuse negative values, which are no counts.

    Raises
    ------
    InputError
        Naming the file and the place.
    """
    values = X if isinstance(X, np.ndarray) else X.data
    if values.dtype.kind in "if" and values.size and values.min() < 0:
        raise InputError(
            f"{name}: {first_place(X, values < 0)} is negative, and counts cannot be; "
            "real numbers are for --model l1-centers (medians) or l2-centers (means); --model "
            "bernoulli asks only whether a value is above 0."
        )


def _check_table(name: str, samples: Samples, labels: Array) -> None:
    # Training counts every column in every class, whether it occurs or not.
    if samples.matrix is not None:
        columns, classes = samples.matrix.X.shape[1], len(set(labels.tolist()))
        what = f"{columns:,} columns in {classes:,} classes"
        check_memory(name, _TABLES * columns * classes, what)


def check_labels(name: str, found: Mapping[str, int]) -> None:
    """Refuse labels of the training rows, with their numbers, that cannot be classes.

    Raises
    ------
    InputError
        If there is one label only, or nearly one for each row.
    """
    n = sum(found.values())
    if len(found) < 2:
        only = "".join(f" ({each})" for each in found)
        raise InputError(
            f"{name}: the training rows hold one class only{only}; "
            "two or more are needed to tell apart (is --label the right column?)."
        )
    if n >= 20 and 2 * len(found) > n:
        raise InputError(
            f"{name}: the labels have {len(found):,} different values in {n:,} rows, "
            "which is no class; choose another column with --label."
        )


# Training and test rows ------------------------------------------------------------------------


def _parts(job: SelectJob, samples: Sequence[Samples], labels: Array) -> IntArray:
    test = job.test
    if test.file is not None:
        return np.repeat([TRAIN, TEST], [len(each) for each in samples])
    if test.split_column is not None:
        return _column_parts(test.split_column, samples[0])
    format = format_of(job.input, job.layout.format)
    layout = PartLayout(format=format, encoding=job.layout.style.encoding)
    parts = rows_in_parts(job.input, layout, len(labels))
    return kinds_of(parts, labels, test.holdout, test.seed)


def _column_parts(column: str, samples: Samples) -> IntArray:
    name = samples.file.name
    try:
        part = kinds_in(np.array(samples.split or (), dtype=object))
    except ValueError as error:
        raise InputError(f"{name}: column `{column}` {error}") from error
    check_split(name, column, int((part == TRAIN).sum()), int((part == TEST).sum()))
    return part


def check_split(name: str, column: str, n_train: int, n_test: int) -> None:
    """Refuse a split column without training rows, or without test rows."""
    for which, n in (("train", n_train), ("test", n_test)):
        if not n:
            raise InputError(
                f"{name}: no row has {which!r} in column `{column}`; "
                "use --test or --holdout instead of --split-column."
            )


def holdout_parts(labels: Array, share: float, seed: int) -> IntArray:
    """Part rows at random, class by class; every class keeps at least one row for training.

    Parameters
    ----------
    labels
        Label of each row (n,).
    share
        Share of the rows of each class that is tested on, in (0, 1).
    seed
        Of the random numbers; the same seed gives the same parts.

    Returns
    -------
    part
        0 for training, 1 for test (n,).
    """
    return kinds_of([("", len(labels))], labels, share, seed)


def stop_words(choice: str | None) -> tuple[str, ...]:
    """Stop words by name (`english`) or from a file with one a line."""
    if choice is None:
        return ()
    if choice == "english":
        return english_stop_words()
    return tuple(sorted({word for word in read_words(choice) if word}))
