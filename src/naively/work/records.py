"""Statistics with what their columns mean and which shards are in them, in files without pickles.

Merging is what makes gathering distributed: records of different shards add up, whoever gathered
them, for every statistic that adds up: counts, presence, moments, categories. Two checks keep the
sum honest: the definitions of the features must agree, and no shard may be in it twice.
"""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO, Generic, TypeVar, final

import numpy as np
from numpy.lib import format as npy

from naively._types import Array
from naively._versions import RECORD, VersionError
from naively.statistics.base import AbstractStatistics, keyed_rows, parts_of
from naively.statistics.categories import ClassCategories
from naively.statistics.column_kinds import KINDS
from naively.statistics.counts import ClassCounts
from naively.statistics.mixed import ClassMixed
from naively.statistics.mixed_columns import MixedColumns
from naively.statistics.moments import SIGNED, ClassMoments
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
from naively.work.archive import MANIFEST, stored_arrays, stored_manifest
from naively.work.writing import atomic_file

T = TypeVar("T")
STATISTICS: Mapping[str, type[AbstractStatistics] | type[ClassMixed]] = {
    "counts": ClassCounts,
    "presence": ClassCounts,
    "moments": ClassMoments,
    "categories": ClassCategories,
    "mixed": ClassMixed,
}
_OF_KIND: Mapping[str, type[AbstractStatistics]] = {  # what a mixed statistic is made of
    **dict(zip(KINDS, (ClassMoments, ClassCategories, ClassCounts, ClassCounts), strict=True)),
    "rows": ClassCounts,
}
_DATE = (1980, 1, 1, 0, 0, 0)  # a fixed time: equal statistics are equal files
_TYPES = tuple(f"{'<|'[size == 1]}{kind}{size}" for kind in "iuf" for size in (1, 2, 4, 8))


@final
@dataclass(frozen=True, slots=True, eq=False)
class Record:
    """Statistics of some shards."""

    statistics: Any  # of the kind that `features.statistic` names; of multiples of a resolution
    features: FeatureDefinition
    names: Vocabulary | None = None  # (m,) terms, ascending, or column names, in their order
    shards: Mapping[str, int] = field(default_factory=dict)  # rows of each shard, by its name

    @property
    def n_rows(self) -> int:
        """Number of rows in them."""
        return int(self.statistics.class_rows.sum())

    @property
    def unlabelled(self) -> int:
        """Rows of the shards that have no label, and are not counted."""
        return max(sum(self.shards.values()) - self.n_rows, 0)

    def __sizeof__(self) -> int:
        """Bytes of its arrays: by these Dask says where records are merged, and when to spill."""
        return object.__sizeof__(self) + sum(array.nbytes for array in _arrays(self).values())

    def in_units(self) -> Any:
        """Return the statistics as models take them.

        Multiples of a resolution become numbers; counts get the exposures whose sums they hold.
        """
        found, resolution = self.statistics, getattr(self.features, "resolution", None)
        if resolution is not None and found.table.dtype.kind != "f":
            found = replace(found, table=_times(found.table, resolution))
        if isinstance(found, ClassCounts):
            found = found.with_exposure(self.features.exposure)
        return found

    def equals(self, other: Record) -> bool:
        """Whether everything agrees exactly, the shards included."""
        return (
            self.statistics.equals(other.statistics)
            and self.features == other.features
            and (self.names.equals(other.names) if self.names else other.names is None)
            and dict(self.shards) == dict(other.shards)
        )


def _times(table: Any, unit: float) -> Any:
    if isinstance(table, SparseTable):
        return replace(table, values=table.values * unit)
    return table * unit


@final
class Tree(Generic[T]):
    """Joins values as they come; of n of them, about log2(n) sums are in memory at a time.

    As in a binary counter, two sums of equally many values become one: the tree, and with it the
    rounding of real numbers, depends on the order of the values alone.
    """

    def __init__(self, join: Callable[[Sequence[T]], T]) -> None:
        self._join = join
        self._sums: list[tuple[int, T]] = []

    def add(self, value: T) -> None:
        """Take in one more value."""
        size = 1
        while self._sums and self._sums[-1][0] == size:
            value = self._join([self._sums.pop()[1], value])
            size *= 2
        self._sums.append((size, value))

    def total(self) -> T:
        """Return the sum of all values so far, at least one."""
        return self._join([value for _, value in self._sums])


def merge(records: Sequence[Record], *, dense_cells: int = DENSE_CELLS) -> Record:
    """Add the statistics of different shards.

    Parameters
    ----------
    records : sequence of Record
        At least one. Real numbers are added in the order given, whole numbers exactly.
    dense_cells : int, default=2**27
        A table of counts of more cells stays sparse while that is smaller; 0 keeps every such table
        sparse.

    Returns
    -------
    record : Record
        Of all shards together; terms, labels and categories are united.

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
    names, parts = first.names, [record.statistics for record in records]
    if not isinstance(first.features, ColumnFeatures) and first.names is not None:
        names, positions = Vocabulary.union([_names(record) for record in records])
        parts = [
            _at(counts, where, len(names)) for counts, where in zip(parts, positions, strict=True)
        ]
    total = _total(parts)
    if isinstance(total, ClassCounts):
        proper = {name: _proper(each, dense_cells) for name, each in _tables(total).items()}
        total = replace(total, **proper)
    return Record(total, first.features, names, dict(sorted(shards.items())))


def merge_stream(records: Iterable[Record]) -> Record:
    """Merge records as they come, in a `Tree`."""
    tree = Tree(merge)
    for record in records:
        tree.add(record)
    return tree.total()


def _names(record: Record) -> Vocabulary:
    return record.names if record.names is not None else Vocabulary.of([])


def _check_definitions(first: FeatureDefinition, other: FeatureDefinition) -> None:
    if fingerprint(first) != fingerprint(other):
        raise ValueError(
            "Statistics must define their features alike to be merged; got "
            f"{difference(first, other)}. Count the shards again with the same settings, and in "
            "one command where their columns have numbers instead of names."
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
    placed: dict[str, Any] = {
        name: _placed(each, columns, n_columns) for name, each in _tables(counts).items()
    }
    return replace(counts, **placed)


def _placed(table: Any, columns: Array, n_columns: int) -> SparseTable:
    if not isinstance(table, SparseTable):
        return SparseTable.from_dense(table, columns, n_columns)
    shape = (n_columns, table.shape[1])
    cells = columns[table.cells // shape[1]] * shape[1] + table.codes
    return SparseTable(shape, cells.astype(index_type(shape)), table.values)


def _tables(counts: ClassCounts) -> dict[str, Any]:
    """Tables of features and classes that there are."""
    names = ("table", "documents", "squares")
    tables = {name: getattr(counts, name) for name in names}
    return {name: table for name, table in tables.items() if table is not None}


def _total(parts: Sequence[Any]) -> Any:
    while len(parts) > 1:  # in pairs, so that n parts cost log n passes; the tree is fixed
        pairs = [parts[i] + parts[i + 1] for i in range(0, len(parts) - 1, 2)]
        parts = [*pairs, *parts[2 * len(pairs) :]]
    return parts[0]


def _proper(table: Any, dense_cells: int) -> Any:
    """Return a table of counts in the form that is asked for."""
    if dense_cells == 0:
        return table if isinstance(table, SparseTable) else SparseTable.from_dense(table)
    if isinstance(table, SparseTable) and table.shape[0] * table.shape[1] <= dense_cells:
        table = table.toarray()
    values = table.values if isinstance(table, SparseTable) else table
    if values.dtype.kind == "i" and values.size and values.min() < 0:
        raise ValueError("Counts exceed 64-bit integers; with a resolution, choose a coarser one.")
    return settled(table)


# Files -----------------------------------------------------------------------------------------


def save_record(record: Record, path: str | os.PathLike[str]) -> None:
    """Write a record, completely or not at all; equal records give equal bytes.

    Parameters
    ----------
    record : Record
        What to write.
    path : path
        A file of that name is replaced at the end, in one step.
    """
    with atomic_file(path, folders=True) as file:
        _write(record, file)


def _write(record: Record, file: BinaryIO) -> None:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        manifest = json.dumps(_manifest(record), sort_keys=True, indent=1)
        archive.writestr(zipfile.ZipInfo(MANIFEST, _DATE), manifest)
        for name, array in _arrays(record).items():
            with archive.open(zipfile.ZipInfo(f"{name}.npy", _DATE), "w", force_zip64=True) as part:
                npy.write_array(part, array, (1, 0), allow_pickle=False)


def _manifest(record: Record) -> dict[str, Any]:
    statistics = record.statistics
    kind = statistics.classes.dtype.kind
    return {
        **RECORD.marks(),
        "features": to_json(record.features),
        "fingerprint": fingerprint(record.features),
        "classes": statistics.classes.tolist(),
        "class_type": "str" if kind in "OUT" else statistics.classes.dtype.str,
        "settings": _settings_of(statistics),
        "shape": [statistics.n_features, len(statistics.classes)],
        "names": record.names is not None,
        "shards": dict(record.shards),
    }


def _settings_of(statistics: Any) -> dict[str, Any]:
    if isinstance(statistics, ClassMixed):
        return {kind: dict(part._settings) for kind, part in _kinds_of(statistics).items()}
    return dict(statistics._settings)


def _kinds_of(statistics: ClassMixed) -> dict[str, AbstractStatistics]:
    """Return what a mixed statistic is made of: columns of each kind, and rows."""
    return {**statistics.parts, "rows": statistics.rows}


def _arrays(record: Record) -> dict[str, Array]:
    if isinstance(record.statistics, ClassMixed):
        parts = _kinds_of(record.statistics).items()
        arrays = {
            f"{kind}.{name}": array
            for kind, part in parts
            for name, array in _arrays_of(part).items()
        }
    else:
        arrays = _arrays_of(record.statistics)
    if record.names is not None:
        arrays |= {"name_bytes": record.names.bytes, "name_starts": record.names.starts}
    return arrays


def _arrays_of(statistics: AbstractStatistics) -> dict[str, Array]:
    arrays: dict[str, Array] = {}
    for name in _fields_of(type(statistics)):
        array = getattr(statistics, name)
        if isinstance(array, SparseTable):
            arrays |= {f"{name}_cells": array.cells, f"{name}_values": array.values}
        elif array is not None:
            arrays[name] = array
    return arrays


def _fields_of(kind: type[AbstractStatistics]) -> list[str]:
    """Names of the arrays of a statistic, and of the keys of their rows."""
    return [*parts_of(kind), *(rows.key for rows in keyed_rows(kind))]


def is_record(path: str | os.PathLike[str]) -> bool:
    """Whether a file begins as records do; it may be damaged."""
    if not os.path.isfile(path):
        return False
    with open(path, "rb") as file:
        head = file.read(1 << 16)
    return MANIFEST.encode() in head[:64] and f'"{RECORD.format}"'.encode() in head


def load_record(path: str | os.PathLike[str]) -> Record:
    """Read a record; nothing in the file is ever run.

    Raises
    ------
    ValueError
        Naming the file, if it is damaged, is something else, or of another version.
    """
    path = Path(path)
    try:
        with zipfile.ZipFile(path) as archive:
            return _restored(stored_manifest(archive, RECORD), stored_arrays(archive, _TYPES))
    except (FileNotFoundError, PermissionError, IsADirectoryError) as error:
        raise ValueError(f"{path}: {error.strerror}; check name and permissions.") from error
    except VersionError as error:
        raise VersionError(f"{path}: {error}") from error
    except MemoryError:
        raise
    except Exception as error:  # a damaged archive can make its readers raise anything
        raise ValueError(
            f"{path}: this is no statistics file of naively, or it is damaged ({error}); "
            "count its shards again."
        ) from error


def _restored(manifest: dict[str, Any], arrays: dict[str, Array]) -> Record:
    features = from_json(manifest["features"])
    if fingerprint(features) != manifest["fingerprint"]:
        raise ValueError("the definition of its features does not have the fingerprint it says")
    names = None
    if manifest["names"]:
        names = Vocabulary(arrays["name_bytes"], arrays["name_starts"])
    shards = {str(name): int(rows) for name, rows in dict(manifest["shards"]).items()}
    columns = getattr(features, "variables", None)
    if columns is None:
        kind = STATISTICS[features.statistic]
        assert kind is not ClassMixed
        found: Any = _statistics(kind, manifest, arrays)
    else:
        found = _mixed(columns, manifest, arrays)
    record = Record(found, features, names, shards)
    if not all(_soundness(record, int(manifest["shape"][0]))):
        raise ValueError("its arrays do not fit together")
    return record


def _mixed(columns: MixedColumns, manifest: dict[str, Any], arrays: dict[str, Array]) -> ClassMixed:
    parts = {}
    for kind in (kind for kind in _OF_KIND if kind in manifest["settings"]):
        n = 0 if kind == "rows" else len(columns.of_kind(kind))
        n_classes = int(manifest["shape"][1])
        own = {**manifest, "settings": manifest["settings"][kind], "shape": [n, n_classes]}
        mark = f"{kind}."
        some = {
            name.removeprefix(mark): array
            for name, array in arrays.items()
            if name.startswith(mark)
        }
        parts[kind] = _statistics(_OF_KIND[kind], own, some)
    rows = parts.pop("rows")
    assert isinstance(rows, ClassCounts)
    return ClassMixed(columns, parts, rows)


def _statistics(
    kind: type[AbstractStatistics], manifest: dict[str, Any], arrays: dict[str, Array]
) -> AbstractStatistics:
    text = manifest["class_type"] == "str"
    classes = np.array(manifest["classes"], dtype=str if text else manifest["class_type"])
    empty = kind.zero(0, classes, **manifest["settings"])
    shape = (int(manifest["shape"][0]), len(classes))
    found: dict[str, Any] = {}
    for name in _fields_of(kind):
        if f"{name}_cells" in arrays:
            found[name] = SparseTable(shape, arrays[f"{name}_cells"], arrays[f"{name}_values"])
        elif getattr(empty, name) is not None:
            found[name] = arrays[name]
    return replace(empty, classes=classes, **found)


def _soundness(record: Record, n_features: int) -> Iterator[bool]:
    """Tell of arrays what holds of all that a run has written: what reads them looks no more."""
    statistics, features, names = record.statistics, record.features, record.names
    classes = statistics.classes.tolist()
    yield all(first < second for first, second in pairwise(classes))
    yield statistics.n_features == n_features
    yield names is None or _sound_names(names, n_features)
    if isinstance(statistics, ClassCounts):
        yield statistics.presence is features.presence
        wanted = features.documents
        yield (statistics.documents is not None, statistics.squares is not None) == (wanted, wanted)
    if not isinstance(statistics, ClassMixed):
        yield from _sound_arrays(statistics, n_features, len(classes))
        return
    columns = statistics.columns
    yield set(statistics.parts) == set(columns.kinds)
    for kind, part in _kinds_of(statistics).items():
        n = 0 if kind == "rows" else len(columns.of_kind(kind))
        yield part.n_features == n
        yield from _sound_arrays(part, n, len(classes))


def _sound_arrays(
    statistics: AbstractStatistics, n_features: int, n_classes: int
) -> Iterator[bool]:
    heights: dict[str | None, int] = {None: n_features}
    for rows in keyed_rows(type(statistics)):
        keys = getattr(statistics, rows.key)
        heights[rows.key] = rows.size(keys)
        yield keys.dtype.kind == "i" and _least(keys) >= 0
    of_classes = {*parts_of(AbstractStatistics), "exposure", "exposed"} - {"observed"}
    for name, part in parts_of(type(statistics)).items():
        array = getattr(statistics, name)
        if array is not None:
            shape = (heights[part.rows.key if part.rows else None], n_classes)
            yield array.shape == (shape[1:] if name in of_classes else shape)
            yield array.dtype.kind in "if"
            yield not isinstance(array, SparseTable) or _sound_cells(array)
            yield part.way is SIGNED or _least(array) >= 0


def _sound_cells(table: SparseTable) -> bool:
    cells, n_cells = table.cells, table.shape[0] * table.shape[1]
    return (
        bool((cells[1:] > cells[:-1]).all())
        and cells.dtype == index_type(table.shape)
        and (not len(cells) or int(cells[-1]) < n_cells)
        and cells.shape == table.values.shape == (len(cells),)
    )


def _sound_names(names: Vocabulary, n_names: int) -> bool:
    content, starts = names.bytes, names.starts
    return (
        content.dtype == np.uint8
        and starts.dtype == np.int64
        and starts.shape == (n_names + 1,)
        and starts[0] == 0
        and starts[-1] == len(content)
        and bool((starts[1:] >= starts[:-1]).all())
    )


def _least(array: Any) -> Any:
    values = array.values if isinstance(array, SparseTable) else array
    return values.min() if values.size else 0
