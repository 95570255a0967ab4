"""Statistics with what their columns mean and which shards are in them, in files without pickles.

Merging is what makes counting distributed: records of different shards add up, whoever counted
them. Two checks keep the sum honest: the definitions of the features must agree, and no shard may
be counted twice.
"""

from __future__ import annotations

import io
import json
import os
import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO, final

import numpy as np
from numpy.lib import format as npy

from naively._types import Array
from naively.statistics.counts import ClassCounts
from naively.statistics.sparse_table import DENSE_CELLS, SparseTable, index_type, settled
from naively.text.features import (
    ColumnFeatures,
    FeatureDefinition,
    difference,
    fingerprint,
    from_json,
    to_json,
)
from naively.text.vocabulary import Vocabulary

_FORMAT = "naively statistics"
_VERSION = 1
_DATE = (1980, 1, 1, 0, 0, 0)  # a fixed time: equal statistics are equal files
_MANIFEST = "manifest.json"


@final
@dataclass(frozen=True, slots=True, eq=False)
class CountRecord:
    """Class counts of some shards."""

    counts: ClassCounts
    features: FeatureDefinition
    names: Vocabulary | None = None  # (m,) terms, ascending, or column names, in their order
    shards: Mapping[str, int] = field(default_factory=dict)  # rows of each shard, by its name

    @property
    def n_rows(self) -> int:
        """Number of rows counted."""
        return int(self.counts.class_rows.sum())

    def statistics(self) -> ClassCounts:
        """Return the counts in their own unit: multiples of a resolution become real numbers."""
        resolution = getattr(self.features, "resolution", None)
        if resolution is None or self.counts.table.dtype.kind == "f":
            return self.counts
        table = self.counts.table
        if isinstance(table, SparseTable):
            return replace(self.counts, table=replace(table, values=table.values * resolution))
        return replace(self.counts, table=table * resolution)

    def equals(self, other: CountRecord) -> bool:
        """Whether everything agrees exactly, the shards included."""
        return (
            self.counts.equals(other.counts)
            and self.features == other.features
            and (self.names.equals(other.names) if self.names else other.names is None)
            and dict(self.shards) == dict(other.shards)
        )


def merge(records: Sequence[CountRecord], *, dense_cells: int = DENSE_CELLS) -> CountRecord:
    """Add the counts of different shards.

    Parameters
    ----------
    records : sequence of CountRecord
        At least one. Real numbers are added in the order given, whole numbers exactly.
    dense_cells : int, default=2**27
        A table of more cells stays sparse while that is smaller; 0 keeps every table sparse.

    Returns
    -------
    record : CountRecord
        Of all shards together; terms and labels are united.

    Raises
    ------
    ValueError
        If features are defined differently, or a shard is in two records.
    """
    if not records:
        raise ValueError("`records` must hold at least one record; got none.")
    first = records[0]
    shards: dict[str, int] = {}
    for record in records:
        _check_definitions(first.features, record.features)
        _add_shards(shards, record.shards)
    names, tables = first.names, [record.counts for record in records]
    if not isinstance(first.features, ColumnFeatures) and first.names is not None:
        names, positions = Vocabulary.union([_names(record) for record in records])
        tables = [
            _at(counts, where, len(names)) for counts, where in zip(tables, positions, strict=True)
        ]
    return CountRecord(
        _total(tables, dense_cells), first.features, names, dict(sorted(shards.items()))
    )


def merge_stream(records: Iterable[CountRecord]) -> CountRecord:
    """Merge records as they come; of n of them, about log2(n) are in memory at a time.

    As in a binary counter, two sums of equally many records become one: the tree, and with it the
    rounding of real numbers, depends on the order of the records alone.
    """
    sums: list[tuple[int, CountRecord]] = []
    for record in records:
        size = 1
        while sums and sums[-1][0] == size:
            record = merge([sums.pop()[1], record])
            size *= 2
        sums.append((size, record))
    return merge([record for _, record in sums])


def _names(record: CountRecord) -> Vocabulary:
    return record.names if record.names is not None else Vocabulary.of([])


def _check_definitions(first: FeatureDefinition, other: FeatureDefinition) -> None:
    if fingerprint(first) != fingerprint(other):
        raise ValueError(
            "Statistics must define their features alike to be merged; got "
            f"{difference(first, other)}. Count the shards again with the same settings."
        )


def _add_shards(shards: dict[str, int], more: Mapping[str, int]) -> None:
    repeated = sorted(set(shards) & set(more))
    if repeated:
        raise ValueError(
            f"Each shard must be counted once; {len(repeated)} are in two records, such as "
            f"{repeated[0]!r}. Take one of the records away."
        )
    shards.update(more)


def _at(counts: ClassCounts, columns: Array, n_columns: int) -> ClassCounts:
    """Return the same counts with column i as columns[i] of `n_columns`, ascending."""
    if len(columns) == n_columns:
        return counts
    shape = (n_columns, len(counts.classes))
    if isinstance(counts.table, SparseTable):
        cells = columns[counts.table.cells // shape[1]] * shape[1] + counts.table.codes
        table: Any = SparseTable(shape, cells.astype(index_type(shape)), counts.table.values)
    else:
        table = SparseTable.from_dense(counts.table, columns, n_columns)
    return replace(counts, table=table)


def split(record: CountRecord, n_blocks: int) -> list[CountRecord]:
    """Divide a record by columns: column ranges, or terms by their hash, in sparse tables.

    Blocks of the same number merge; `join` puts the blocks of one record together again.
    """
    table = record.counts.table
    table = table if isinstance(table, SparseTable) else SparseTable.from_dense(table)
    if record.names is None or isinstance(record.features, ColumnFeatures):
        height = -(-table.shape[0] // n_blocks)
        bounds = np.arange(n_blocks + 1) * height * table.shape[1]
        cuts = np.searchsorted(table.cells, bounds)
        tables = [
            SparseTable(table.shape, table.cells[start:stop], table.values[start:stop])
            for start, stop in pairwise(cuts.tolist())
        ]
        return [replace(record, counts=replace(record.counts, table=part)) for part in tables]
    block = record.names.hashed(n_blocks)
    return [_terms(record, table, np.flatnonzero(block == b)) for b in range(n_blocks)]


def _terms(record: CountRecord, table: SparseTable, positions: Array) -> CountRecord:
    names = _names(record).take(positions)
    shape = (len(positions), table.shape[1])
    number = np.full(table.shape[0], -1, dtype=np.int64)
    number[positions] = np.arange(len(positions))
    rows = number[table.cells // shape[1]]
    kept = rows >= 0
    part = SparseTable.of(shape, rows[kept] * shape[1] + table.codes[kept], table.values[kept])
    return replace(record, counts=replace(record.counts, table=part), names=names)


def join(blocks: Sequence[CountRecord]) -> CountRecord:
    """Put the blocks of a split record together."""
    rows = replace(blocks[0], shards={})
    parts = [
        CountRecord(_no_rows(block.counts), block.features, block.names) for block in blocks[1:]
    ]
    return replace(merge([rows, *parts]), shards=blocks[0].shards)


def _no_rows(counts: ClassCounts) -> ClassCounts:
    nothing = ClassCounts.zero(
        0, counts.classes, presence=counts.presence, threshold=counts.threshold
    )
    return replace(nothing, table=counts.table)


def _total(parts: Sequence[ClassCounts], dense_cells: int) -> ClassCounts:
    while len(parts) > 1:  # in pairs, so that n parts cost log n passes; the tree is fixed
        pairs = [parts[i] + parts[i + 1] for i in range(0, len(parts) - 1, 2)]
        parts = [*pairs, *parts[2 * len(pairs) :]]
    total = parts[0]
    table = total.table
    if dense_cells == 0:
        sparse = table if isinstance(table, SparseTable) else SparseTable.from_dense(table)
        return replace(total, table=sparse)
    if isinstance(table, SparseTable) and table.shape[0] * table.shape[1] <= dense_cells:
        table = table.toarray()
    values = table.values if isinstance(table, SparseTable) else table
    if values.dtype.kind == "i" and values.size and values.min() < 0:
        raise ValueError("Counts exceed 64-bit integers; with a resolution, choose a coarser one.")
    return replace(total, table=settled(table))


# Files -----------------------------------------------------------------------------------------


def save_record(record: CountRecord, path: str | os.PathLike[str]) -> None:
    """Write a record, completely or not at all; equal records give equal bytes.

    Parameters
    ----------
    record : CountRecord
        What to write.
    path : path
        A file of that name is replaced at the end, in one step.
    """
    write_atomically(Path(path), lambda file: _write(record, file))


def write_atomically(path: Path, write: Callable[[BinaryIO], None]) -> None:
    """Write a file so that, whenever the machine stops, it is whole or not there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with scratch.open("wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(scratch, path)
    except OSError as error:  # a full disk does not say which file was written
        raise OSError(error.errno, error.strerror or str(error), str(path)) from error
    finally:
        with suppress(FileNotFoundError):
            scratch.unlink()


def _write(record: CountRecord, file: BinaryIO) -> None:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        manifest = json.dumps(_manifest(record), sort_keys=True, indent=1)
        archive.writestr(zipfile.ZipInfo(_MANIFEST, _DATE), manifest)
        for name, array in _arrays(record).items():
            with archive.open(zipfile.ZipInfo(f"{name}.npy", _DATE), "w", force_zip64=True) as part:
                npy.write_array(part, np.ascontiguousarray(array), (1, 0), allow_pickle=False)


def _manifest(record: CountRecord) -> dict[str, Any]:
    counts = record.counts
    kind = counts.classes.dtype.kind
    return {
        "format": _FORMAT,
        "version": _VERSION,
        "features": to_json(record.features),
        "fingerprint": fingerprint(record.features),
        "classes": counts.classes.tolist(),
        "class_type": "str" if kind in "OUT" else counts.classes.dtype.str,
        "presence": counts.presence,
        "threshold": counts.threshold,
        "shape": [counts.n_features, len(counts.classes)],
        "sparse": isinstance(counts.table, SparseTable),
        "names": record.names is not None,
        "shards": dict(record.shards),
    }


def _arrays(record: CountRecord) -> dict[str, Array]:
    counts, table = record.counts, record.counts.table
    arrays = _row_arrays(counts)
    if isinstance(table, SparseTable):
        arrays |= {"cells": table.cells, "values": table.values}
    else:
        arrays["table"] = table
    if record.names is not None:
        arrays |= {"name_bytes": record.names.bytes, "name_starts": record.names.starts}
    return arrays


def _row_arrays(counts: ClassCounts) -> dict[str, Array]:
    return {
        "class_rows": counts.class_rows,
        "class_weight": counts.class_weight,
        "length_values": counts.length_values,
        "length_weight": counts.length_weight,
    }


def load_record(path: str | os.PathLike[str]) -> CountRecord:
    """Read a record; nothing in the file is ever run.

    Raises
    ------
    ValueError
        Naming the file, if it is damaged, is something else, or comes from a newer version.
    """
    path = Path(path)
    try:
        with zipfile.ZipFile(path) as archive:
            manifest = json.loads(archive.read(_MANIFEST))
            arrays = {name: _array(archive, name) for name in archive.namelist()}
            return _restored(manifest, arrays)
    except (FileNotFoundError, PermissionError, IsADirectoryError) as error:
        raise ValueError(f"{path}: {error.strerror}; check name and permissions.") from error
    except MemoryError:
        raise
    except Exception as error:  # a damaged archive can make its readers raise anything
        raise ValueError(
            f"{path}: this is no statistics file of naively, or it is damaged ({error}); "
            "count its shards again."
        ) from error


def _array(archive: zipfile.ZipFile, name: str) -> Array:
    if name == _MANIFEST:
        return np.empty(0)
    content = io.BytesIO(archive.read(name))  # read whole, so that its checksum is compared
    array: Array = npy.read_array(content, allow_pickle=False)
    return array


def _restored(manifest: dict[str, Any], arrays: dict[str, Array]) -> CountRecord:
    if manifest["format"] != _FORMAT or manifest["version"] != _VERSION:
        raise ValueError(
            f"format {manifest['format']!r}, version {manifest['version']}; this version of "
            f"naively reads {_FORMAT!r}, version {_VERSION}"
        )
    features = from_json(manifest["features"])
    if fingerprint(features) != manifest["fingerprint"]:
        raise ValueError("the definition of its features does not have the fingerprint it says")
    shape = (int(manifest["shape"][0]), int(manifest["shape"][1]))
    if manifest["sparse"]:
        table: Any = SparseTable(shape, arrays["cells.npy"], arrays["values.npy"])
    else:
        table = arrays["table.npy"]
    names = None
    if manifest["names"]:
        names = Vocabulary(arrays["name_bytes.npy"], arrays["name_starts.npy"])
    counts = ClassCounts(
        _classes(manifest),
        table,
        arrays["class_rows.npy"],
        arrays["class_weight.npy"],
        arrays["length_values.npy"],
        arrays["length_weight.npy"],
        manifest["presence"],
        manifest["threshold"],
    )
    shards = {str(name): int(rows) for name, rows in dict(manifest["shards"]).items()}
    _check(counts, shape, names, features)
    return CountRecord(counts, features, names, shards)


def _classes(manifest: dict[str, Any]) -> Array:
    text = manifest["class_type"] == "str"
    return np.array(manifest["classes"], dtype=str if text else manifest["class_type"])


def _check(
    counts: ClassCounts,
    shape: tuple[int, int],
    names: Vocabulary | None,
    features: FeatureDefinition,
) -> None:
    """Refuse arrays that no run has written, since what reads them does not look again."""
    n_classes, classes, table = len(counts.classes), counts.classes.tolist(), counts.table
    if isinstance(table, SparseTable):
        cells, values = table.cells, table.values
        ordered = bool((cells[1:] > cells[:-1]).all()) and cells.dtype == index_type(shape)
        ordered &= not len(cells) or int(cells[-1]) < shape[0] * shape[1]
        ordered &= cells.shape == values.shape == (len(cells),)
    else:
        values, ordered = table, True
    sound = (
        ordered
        and table.shape == shape
        and shape[1] == n_classes
        and all(first < second for first, second in pairwise(classes))
        and counts.presence is features.presence
        and counts.class_rows.shape == counts.class_weight.shape == (n_classes,)
        and counts.length_weight.shape == (len(counts.length_values), n_classes)
        and (names is None or _sound(names, shape[0]))
        and all(array.dtype.kind in "if" for array in (values, *_row_arrays(counts).values()))
        and all(_least(array) >= 0 for array in (counts.class_rows, counts.class_weight))
        and (values.dtype.kind == "f" or _least(values) >= 0)
    )
    if not sound:
        raise ValueError("its arrays do not fit together")


def _sound(names: Vocabulary, n_names: int) -> bool:
    content, starts = names.bytes, names.starts
    return (
        content.dtype == np.uint8
        and starts.dtype == np.int64
        and starts.shape == (n_names + 1,)
        and starts[0] == 0
        and starts[-1] == len(content)
        and bool((starts[1:] >= starts[:-1]).all())
    )


def _least(array: Array) -> Any:
    return array.min() if array.size else 0
