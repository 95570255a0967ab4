"""One table, written in every format that is read."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from pathlib import Path

import h5py
import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import scipy.io
import scipy.sparse as sp

N = 48
NAMES = ("u", "v", "w", "x", "y", "z")
CLASSES = np.arange(N) % 3
_RATES = np.array([[6, 1, 1, 2, 3, 0.5], [1, 6, 1, 2, 1, 0.7], [1, 1, 6, 2, 1, 0.9]])
COUNTS = np.random.default_rng(0).poisson(_RATES[CLASSES])

LABELS: dict[str, list] = {  # a type, and the three labels in it
    "text": ["a", "b", "c"],
    "integer": [3, 10, 2],
    "boolean": [False, True, True],
    "date": [date(2024, 5, 1), date(2024, 5, 2), date(2023, 12, 31)],
    "decimal": [Decimal("1.5"), Decimal("2.25"), Decimal("0.25")],
    "category": ["a", "b", "c"],
}


@dataclass(frozen=True)
class Table:
    """Rows to write: entries (of numbers or texts), names of columns, and labels."""

    entries: np.ndarray  # (n, m), of objects; None where nothing is
    names: tuple[str, ...]
    labels: tuple  # None where nothing is
    kind: str  # of the labels

    def rows(self, which) -> Table:
        """Take some rows."""
        labels = tuple(self.labels[i] for i in np.arange(len(self.labels))[which])
        return replace(self, entries=self.entries[which], labels=labels)

    def frame(self) -> pd.DataFrame:
        """Columns of their types, the label the last."""
        whole = not any(each is None for each in self.entries.flat)
        dtype = {True: "int64", False: "Int64"}[whole] if self.of_numbers else "object"
        columns = [pd.Series(column, dtype=dtype) for column in self.entries.T]
        columns.append(
            pd.Series(self.labels, dtype="category" if self.kind == "category" else None)
        )
        return pd.concat(columns, axis=1, keys=range(len(columns))).set_axis(
            [*self.names, "label"], axis=1
        )

    @property
    def of_numbers(self) -> bool:
        """Whether the entries are numbers."""
        return not any(isinstance(each, str) for each in self.entries[:1].flat)

    def matrix(self) -> np.ndarray:
        """Entries as numbers, NaN where nothing is."""
        values = self.entries.astype(float)
        return values if np.isnan(values).any() else values.astype(np.int64)

    def spelled(self) -> list[str]:
        """Labels as text."""
        return ["" if label is None else str(label) for label in self.labels]


def numbers(kind: str = "text") -> Table:
    """Counts that tell three classes apart."""
    labels = tuple(LABELS[kind][c] for c in CLASSES)
    return Table(COUNTS.astype(object), NAMES, labels, kind)


def texts(kind: str = "text") -> Table:
    """Return the same counts as words, each name so often as it counts."""
    rows = [
        " ".join(f"word{name} " * n for name, n in zip(NAMES, row, strict=True)) for row in COUNTS
    ]
    entries = np.array([[" ".join(row.split()), i] for i, row in enumerate(rows)], dtype=object)
    return replace(numbers(kind), entries=entries, names=("text", "number"))


# Writers: of the rows to bytes, with what stands beside them -------------------------------------


def _delimited(delimiter: str) -> Callable[[Table], bytes]:
    def write(table: Table) -> bytes:
        frame = table.frame().assign(label=table.spelled())
        return frame.to_csv(index=False, sep=delimiter).encode()

    return write


def _records(*, lines: bool) -> Callable[[Table], bytes]:
    def write(table: Table) -> bytes:
        plain = str if table.kind in ("date", "decimal") else lambda label: label
        labels = [None if label is None else plain(label) for label in table.labels]
        rows = []
        for row in zip(*table.entries.T.tolist(), labels, strict=True):
            fields = zip([*table.names, "label"], row, strict=True)  # a name may stand there twice
            rows.append(", ".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in fields))
        rows = [f"{{{row}}}" for row in rows]
        return ("\n".join(rows) if lines else "[" + ",\n".join(rows) + "]").encode()

    return write


def _saved(save: Callable[[Table, io.BytesIO], object]) -> Callable[[Table], bytes]:
    def write(table: Table) -> bytes:
        out = io.BytesIO()
        save(table, out)
        return out.getvalue()

    return write


def _parquet(table: Table, out: io.BytesIO) -> None:
    pq.write_table(_arrow(table), out, row_group_size=20)


def _arrow(table: Table) -> pa.Table:
    frame = table.frame()
    columns = [pa.Array.from_pandas(frame.iloc[:, j]) for j in range(frame.shape[1])]
    return pa.Table.from_arrays(columns, names=list(frame.columns))


def _feather(table: Table, out: io.BytesIO) -> None:
    pyarrow.feather.write_feather(_arrow(table), out)


def _book(table: Table, out: io.BytesIO) -> None:
    made = openpyxl.Workbook()
    made.active.append([*table.names, "label"])
    for row, label in zip(table.entries.tolist(), table.labels, strict=True):
        made.active.append([*row, label])
    made.save(out)


def _array_of_labels(table: Table) -> np.ndarray:
    if table.kind in ("integer", "boolean", "date") and None not in table.labels:
        return np.array(table.labels, dtype={"date": "M8[D]"}.get(table.kind))
    return np.array(table.spelled())


def _dense(table: Table, out: io.BytesIO) -> None:
    np.savez(out, X=table.matrix(), y=_array_of_labels(table), feature_names=table.names)


def _sparse(table: Table, out: io.BytesIO) -> None:
    sp.save_npz(out, sp.csr_array(table.matrix()))


def _market(table: Table, out: io.BytesIO) -> None:
    scipy.io.mmwrite(out, sp.coo_array(table.matrix()))


def _svmlight(table: Table, out: io.BytesIO) -> None:
    for row in table.matrix():
        found = " ".join(f"{j + 1}:{value}" for j, value in enumerate(row) if value)
        out.write(f"0 {found}\n".encode())


def _anndata(table: Table, out: io.BytesIO) -> None:
    X, strings = table.matrix(), h5py.string_dtype()
    with h5py.File(out, "w") as file:
        file["X"] = X
        for frame, index in (("obs", [f"c{i}" for i in range(len(X))]), ("var", table.names)):
            file.create_group(frame).attrs["_index"] = "_index"
            file[frame].create_dataset("_index", data=list(index), dtype=strings)
        if table.kind in ("integer", "boolean") and None not in table.labels:
            file["obs/label"] = np.array(table.labels)
        elif table.kind == "category":
            names = sorted(set(table.spelled()) - {""})
            group = file["obs"].create_group("label")
            group.attrs["encoding-type"] = "categorical"
            group.create_dataset("categories", data=names, dtype=strings)
            codes = [names.index(label) if label else -1 for label in table.spelled()]
            group["codes"] = np.array(codes, np.int8)
        else:
            file["obs"].create_dataset("label", data=table.spelled(), dtype=strings)


FORMATS: dict[str, tuple[str, Callable[[Table], bytes]]] = {  # suffix, and writer
    "csv": (".csv", _delimited(",")),
    "tsv": (".tsv", _delimited("\t")),
    "jsonl": (".jsonl", _records(lines=True)),
    "json": (".json", _records(lines=False)),
    "parquet": (".parquet", _saved(_parquet)),
    "xlsx": (".xlsx", _saved(_book)),
    "npz": (".npz", _saved(_dense)),
    "sparse npz": (".npz", _saved(_sparse)),
    "mtx": (".mtx", _saved(_market)),
    "svmlight": (".svm", _saved(_svmlight)),
    "h5ad": (".h5ad", _saved(_anndata)),
    "feather": (".feather", _saved(_feather)),
}
TABLES = ("csv", "tsv", "jsonl", "json", "parquet", "xlsx")
SPARSE = ("sparse npz", "mtx", "svmlight")
NAMED = (*TABLES, "npz", "h5ad")  # files that hold names of columns and labels


def _zstandard(content: bytes) -> bytes:
    out = pa.BufferOutputStream()
    with pa.CompressedOutputStream(out, "zstd") as stream:
        stream.write(content)
    return out.getvalue().to_pybytes()


def _zipped(content: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("inside", content)
    return out.getvalue()


PACKINGS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": _zstandard,
    ".zip": _zipped,
}


def write(table: Table, name: str, format: str, packing: str) -> str:
    """Write a file, and return its path."""
    suffix, content = FORMATS[format]
    path = f"{name}{suffix}{packing}"
    Path(path).write_bytes(PACKINGS[packing](content(table)))
    return path
