"""Files cut into parts, and their rows: in batches, in memory, as one."""

from __future__ import annotations

import csv
import glob
import os
import stat
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from naively._nearest import short
from naively.read import mixed, svmlight
from naively.read.batch import Batch, Part, joined
from naively.read.bytes import (
    identity,
    opened,
    packing,
    spooled,
)
from naively.read.columns import Columns
from naively.read.errors import InputError, explained
from naively.read.formats import format_by_name, format_of, reader_of
from naively.read.layout import Layout, check_effects, check_roles, check_scaling
from naively.read.matrix import read_words, row_sums
from naively.read.sniff import Styles, style_of, told
from naively.text.labels import ABSENT, label_text

__all__ = [
    "aligned",
    "batches_of",
    "collected",
    "columns_of",
    "find_files",
    "held",
    "parts_of",
    "targeted",
    "told",
]

HELD_BYTES = 1 << 29  # of rows in memory

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
    if len(files) > 1 and layout.labels_file:
        raise InputError(f"--read labels belongs to one file; got {len(files):,} files.")
    styles: Styles = {}
    parts = [part for path in files for part in _parts(path, layout, styles)]
    lines = [part for part in parts if part.format == "svmlight"]
    columns = svmlight.columns_of(lines, layout) if lines else None
    return [replace(part, columns=columns) if part in lines else part for part in parts]


def _parts(name: str, layout: Layout, styles: Styles) -> list[Part]:
    source = "standard input" if name in ("-", "/dev/stdin") else name
    format = format_of(source, layout.format)
    check_effects(layout, format, source)
    check_roles(layout, source=source)
    check_scaling(layout)
    path = _regular(name, source)
    with explained(source):
        packed = packing(path, source)
        digest = identity(path, source)
        style = style_of(path, source, format, layout, styles)
        ranges = reader_of(format).cut(path, layout.written(style))
    if (packed or layout.labels_file or layout.transpose) and ranges:
        ranges = [(ranges[0][0], ranges[-1][1])]
    return [
        Part(path, number, format, f"{digest}#{number}", begin, end, source, style=style)
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
        read = reader_of(part.format).batches if layout.variables is None else mixed.batches
        batches = read(part, layout.written(part.style))
        if layout.labels_file:
            batches = _labelled(batches, part, layout.labels_file)
        for batch in batches:
            if layout.needs_label and batch.labels is None:
                raise InputError(
                    f"{part.source}: holds no labels; give them, one a line, with --read "
                    "labels=FILE (an .npz file may hold them as an array, an .h5ad file as a "
                    "column of obs: name it with --label)."
                )
            if batch.weight is not None:  # 0: no row
                batch = batch.take(batch.weight > 0)
            yield batch


def _labelled(batches: Iterator[Batch], part: Part, path: str) -> Iterator[Batch]:
    """Give rows the labels that lie beside them: one a line, or by the names of the rows."""
    words = read_words(path)
    if (pairs := _pairs(path, words)) is not None:
        yield from (_labelled_by_name(batch, part, path, pairs) for batch in batches)
        return
    spelled = {each: "" if each in ABSENT else label_text(each) or "" for each in set(words)}
    labels = np.array([spelled[each] for each in words], dtype=np.str_)
    done = 0
    for batch in batches:
        own = labels[done : done + len(batch)]
        done += len(batch)
        if len(own) == len(batch):
            yield replace(batch, labels=own)
    if part.begin == 0 and (done > len(labels) or (labels[done:] != "").any()):
        n = len(labels) - int((labels[::-1] == "").cumprod().sum())  # no empty lines at the end
        raise InputError(
            f"{path}: holds {n:,} labels, {part.source} has {done:,} rows; write one label a line."
        )


def _pairs(path: str, lines: Sequence[str]) -> dict[str, str] | None:
    """Labels by name of the row, of a table of two columns; None if it is none.

    A header is a name that no row has.
    """
    delimiter = {"csv": ",", "tsv": "\t"}.get(format_by_name(path) or "")
    filled = [line for line in lines if line]
    if delimiter is None or not filled or any(delimiter not in line for line in filled):
        return None
    found = dict[str, str]()
    for row in csv.reader(filled, delimiter=delimiter):
        if len(row) != 2:
            raise InputError(
                f"{path}: must hold a label a line, or a name and a label; the line "
                f"{short(delimiter.join(row))} has {len(row)} fields."
            )
        name, label = (cell.strip() for cell in row)
        if found.setdefault(name, label) != label:
            raise InputError(f"{path}: `{short(name)}` has two labels; leave one of them.")
    return found


def _labelled_by_name(batch: Batch, part: Part, path: str, pairs: Mapping[str, str]) -> Batch:
    if batch.keys is None:
        raise InputError(
            f"{path}: has labels by name, and the rows of {part.source} have no names; name their "
            "column with --id, or write one label a line, in the order of the rows."
        )
    names = batch.keys.tolist()
    lost = [name for name in names if name not in pairs]
    if lost:
        raise InputError(
            f"{path}: lacks the label of row `{short(lost[0])}` of {part.source}"
            f"{f' and of {len(lost) - 1:,} more' if len(lost) > 1 else ''}; add it, if need be "
            "empty, which leaves the row out."
        )
    return replace(batch, labels=np.array([pairs[name] for name in names], dtype=np.str_))


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
        return reader_of(part.format).columns(part, layout.written(part.style))


def aligned(parts: Sequence[Part], layout: Layout) -> Layout:
    """Ask for the same columns of numbers in all files: those wanted, or those of the first."""
    told = layout.text or layout.wanted is not None or layout.variables is not None
    if told or len({part.path for part in parts}) < 2:
        return layout
    wanted = columns_of(parts, layout).wanted("the first file")
    return replace(layout, wanted=wanted)


def held(parts: Sequence[Part], layout: Layout) -> list[Part]:
    """Return the same parts, carrying their rows: what is read again and again is read once.

    Parts stay as they are if their rows, which a few packed bytes may hold, are too many for that.
    """
    own, found, size = aligned(parts, layout), list[Part](), 0
    for part in parts:
        batches = list[Batch]()
        for batch in batches_of(part, own):
            batches.append(batch)
            size += batch.nbytes
            if size > HELD_BYTES:
                return list(parts)
        found.append(replace(part, held=tuple(batches)))
    return found


def targeted(parts: Sequence[Part], layout: Layout) -> Layout:
    """Replace the median to which rows are to be scaled by that of the sums of all rows above 0.

    Raises
    ------
    InputError
        If there is none.
    """
    if layout.normalize != "median":
        return layout
    plain = replace(layout, normalize=None, log1p=False, needs_label=False, label=None)
    own = [replace(part, held=None) for part in parts]  # rows in memory may be scaled already
    sums = [row_sums(each.rows) for part in own for each in batches_of(part, plain)]
    found = np.concatenate([np.empty(0), *sums])
    found = found[found > 0]
    if not len(found):
        source = parts[0].source if parts else "The input"
        raise InputError(f"{source}: no row has a sum above 0 for --read normalize; leave it out.")
    return replace(layout, normalize=float(np.median(found)))


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
