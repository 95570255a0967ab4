"""Files cut into parts, and their rows: in batches, in memory, as one."""

from __future__ import annotations

import glob
import os
import stat
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from naively._types import Array
from naively.read import svmlight
from naively.read.batch import Batch, Part, joined
from naively.read.bytes import (
    identity,
    opened,
    packing,
    spooled,
)
from naively.read.columns import Columns
from naively.read.errors import InputError, explained
from naively.read.formats import format_of, reader_of
from naively.read.layout import Layout, check_effects
from naively.read.matrix import names_in

__all__ = ["aligned", "batches_of", "collected", "columns_of", "find_files", "held", "parts_of"]

Patterns = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


def find_files(patterns: Patterns) -> list[str]:
    """List the files that paths and patterns name, each pattern's in ascending order.

    Raises
    ------
    InputError
        If a pattern matches nothing, or a folder.
    """
    if isinstance(patterns, str | os.PathLike):
        patterns = [patterns]
    files: list[str] = []
    for pattern in [os.fspath(each) for each in patterns]:
        found = [pattern]
        if pattern != "-" and not os.path.lexists(pattern):
            found = sorted(glob.glob(pattern, recursive=True))
        files += found or [pattern]
    for path in files:
        if os.path.isdir(path):
            raise InputError(
                f"{path}: it is a folder; name a file, or many by a quoted pattern such as "
                f"'{os.path.join(path, '*.csv')}'."
            )
    return list(dict.fromkeys(files))


def parts_of(patterns: Patterns, layout: Layout) -> list[Part]:
    """Cut files into parts, in the order of the files.

    Parts are cut by the file alone, never by the number of workers, and have a name by which a
    repetition is known: that of the file, its size, a digest of its head and tail, and the number
    of the part.

    Parameters
    ----------
    patterns
        Paths, patterns of paths, or "-" for what is piped in.
    layout
        Where things stand.

    Raises
    ------
    InputError
        If a file is not there, its format is unknown, or an option has no effect on it.
    """
    files = find_files(patterns)
    if len(files) > 1 and (layout.labels_file or layout.names_file):
        option = "--read labels" if layout.labels_file else "--read names"
        raise InputError(f"{option} belongs to one file; got {len(files):,} files.")
    parts = [part for path in files for part in _parts(path, layout)]
    lines = [part for part in parts if part.format == "svmlight"]
    columns = svmlight.columns_of(lines, layout) if lines else None
    return [replace(part, columns=columns) if part in lines else part for part in parts]


def _parts(name: str, layout: Layout) -> list[Part]:
    source = "standard input" if name in ("-", "/dev/stdin") else name
    format = format_of(source, layout.format)
    check_effects(layout, format, source)
    path = _regular(name, source)
    with explained(source):
        packed = packing(path, source)
        digest = identity(path, source)
        ranges = reader_of(format).cut(path, layout)
    if (packed or layout.labels_file or layout.transpose) and ranges:
        ranges = [(ranges[0][0], ranges[-1][1])]
    return [
        Part(path, number, format, f"{digest}#{number}", begin, end, source)
        for number, (begin, end) in enumerate(ranges)
    ]


def _regular(name: str, source: str) -> str:
    """Path of a file that can be read more than once: a copy of what is piped in."""
    if name in ("-", "/dev/stdin"):
        return spooled(sys.stdin.buffer)
    with opened(name, source) as file:
        if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            return name
        return spooled(file)


def batches_of(part: Part, layout: Layout) -> Iterator[Batch]:
    """Read a part in batches of bounded size.

    Raises
    ------
    InputError
        Naming the file and the line or row, if it cannot be read.
    """
    if part.held is not None:
        yield from part.held
        return
    with explained(part.source):
        batches = reader_of(part.format).batches(part, layout)
        if layout.labels_file:
            batches = _labelled(batches, part, layout.labels_file)
        for batch in batches:
            if layout.needs_label and batch.labels is None:
                raise InputError(
                    f"{part.source}: holds no labels; give them, one a line, with --read "
                    "labels=FILE (an .npz file may hold them as an array, an .h5ad file as a "
                    "column of obs: name it with --label)."
                )
            yield batch


def _labelled(batches: Iterator[Batch], part: Part, path: str) -> Iterator[Batch]:
    """Give rows the labels that lie beside them, one a line."""
    labels = _read_labels(path)
    done = 0
    for batch in batches:
        own = labels[done : done + len(batch)]
        done += len(batch)
        if len(own) == len(batch):
            yield replace(batch, labels=own)
    if part.begin == 0 and done != len(labels):
        raise InputError(
            f"{path}: holds {len(labels):,} labels, {part.source} has {done:,} rows; "
            "write one label a line."
        )


def _read_labels(path: str) -> Array:
    labels = names_in(path)
    if "" in labels:
        raise InputError(
            f"{path}: line {labels.index('') + 1:,}: the label is missing; fill it in."
        )
    return np.array(labels, dtype=np.str_)


def columns_of(parts: Sequence[Part], layout: Layout) -> Columns:
    """Columns of numbers that the batches have: those of the first file, with rows if one has.

    Raises
    ------
    InputError
        If there is no file, or it cannot be read.
    """
    if not parts:
        raise InputError("There are no rows; give a file with data in it.")
    first = _columns(parts[0], layout)
    if first.sure:
        return first
    others = (part for part in parts if part.path != parts[0].path)
    return next((found for part in others if (found := _columns(part, layout)).sure), first)


def _columns(part: Part, layout: Layout) -> Columns:
    with explained(part.source):
        return reader_of(part.format).columns(part, layout)


def aligned(parts: Sequence[Part], layout: Layout) -> Layout:
    """Ask for the same columns of numbers in all files: those wanted, or those of the first."""
    if layout.text or layout.wanted is not None or len({part.path for part in parts}) < 2:
        return layout
    wanted = columns_of(parts, layout).wanted("the first file")
    return replace(layout, wanted=wanted)


def held(parts: Sequence[Part], layout: Layout) -> list[Part]:
    """Return the same parts, carrying their rows: what is read again and again is read once."""
    layout = aligned(parts, layout)
    return [replace(part, held=tuple(batches_of(part, layout))) for part in parts]


def collected(parts: Sequence[Part], layout: Layout) -> Batch:
    """Return all rows of some parts.

    Raises
    ------
    InputError
        If there are none, or they cannot be read.
    """
    layout = aligned(parts, layout)
    batches = [batch for part in parts for batch in batches_of(part, layout)]
    if not batches:
        source = parts[0].source if parts else "The input"
        raise InputError(f"{source}: the file holds no rows; give one with data in it.")
    return joined(batches)
