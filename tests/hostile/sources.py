"""Valid files, small but with all that a format has, and what reads them."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import json
import lzma
import os
import shutil
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import h5py
import numpy as np
import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import scipy.io
import scipy.sparse as sp
from click.testing import CliRunner

from naively.cli.commands import naively
from naively.jobs.learn import learn
from naively.jobs.model_file import load_model, save_model
from naively.jobs.settings import ModelSettings, Recipe, TestSettings
from naively.read.errors import InputError
from naively.read.layout import Layout
from naively.read.parts import batches_of, collected, parts_of
from naively.text.features import TextFeatures
from naively.work.records import load_record, save_record
from naively.work.stream import count_files

ROWS = [
    {"text": t, "label": y, "u": i, "v": i / 4}
    for i, (t, y) in enumerate([("good, fun", "a"), ('bad "film"\nü', "b"), ("", "a")] * 3)
]
TEXT, NUMBERS = Layout(text=("text",)), Layout(ignore=("text",))
SETTINGS = b"""k = 2
out = "out"
test = 0.3
[words]
min-count = 1
[train]
alpha = 0.5
[read]
encoding = "utf-8"
"""
X = np.array([[0, 3, 0, 1], [2, 0, 0, 0], [0, 0, 5, 0]] * 3)
Y = np.array(["a", "b", "a"] * 3)


@dataclass(frozen=True)
class Source:
    """A valid file, and what reads it."""

    name: str  # of the file, after what it is read as and a blank
    content: bytes
    read: Callable[[Path], object]

    @property
    def file(self) -> str:
        """Name of the file."""
        return self.name.rpartition(" ")[2]


def read(layout: Layout) -> Callable[[Path], object]:
    """Return what reads all rows of a file, batch by batch and at once."""

    def run(path: Path) -> object:
        parts = parts_of(path, layout)
        for part in parts:
            for batch in batches_of(part, layout):
                batch.place(len(batch) - 1)
        return collected(parts, layout)

    return run


def delimited(delimiter: str) -> bytes:
    quoted = ['"' + row["text"].replace('"', '""') + '"' for row in ROWS]
    lines = [[t, row["label"], str(row["u"])] for t, row in zip(quoted, ROWS, strict=True)]
    return "\n".join(map(delimiter.join, [["text", "label", "u"], *lines])).encode() + b"\n"


def book() -> bytes:
    made, out = openpyxl.Workbook(), io.BytesIO()
    made.active.append(list(ROWS[0]))
    for row in ROWS:
        made.active.append(list(row.values()))
    made.save(out)
    return out.getvalue()


def saved(save: Callable[..., object], *args: object, **kwargs: object) -> bytes:
    out = io.BytesIO()
    save(out, *args, **kwargs)
    return out.getvalue()


def parquet(**style: object) -> bytes:
    out = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(ROWS), out, row_group_size=4, **style)
    return out.getvalue()


def anndata(form: str, **style: object) -> bytes:
    out = io.BytesIO()
    with h5py.File(out, "w") as file:
        if form == "dense":
            file.create_dataset("X", data=X.astype(np.float32), **style)
        else:
            matrix = sp.csr_array(X) if form == "csr" else sp.csc_array(X)
            group = file.create_group("X")
            group.attrs["encoding-type"] = f"{form}_matrix"
            group.attrs["shape"] = X.shape
            for part in ("data", "indices", "indptr"):
                group.create_dataset(part, data=getattr(matrix, part), **style)
        for frame, n in (("obs", len(X)), ("var", X.shape[1])):
            file.create_group(frame).attrs["_index"] = "_index"
            file[frame]["_index"] = [f"{frame}{i}".encode() for i in range(n)]
        group = file["obs"].create_group("label")
        group["categories"], group["codes"] = [b"a", b"b"], np.array([0, 1, 0] * 3, np.int8)
    return out.getvalue()


def zipped(name: str, content: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, content)
    return out.getvalue()


def model(folder: Path, layout: Layout, kind: str) -> bytes:
    path = folder / ("train.csv" if layout.text else "train.npz")
    rows = delimited(",") if layout.text else saved(np.savez, X=X, y=Y)
    path.write_bytes(rows)
    features = TextFeatures() if layout.text else None
    recipe = Recipe(
        (str(path),), layout, features, ModelSettings(kind, k=2), TestSettings(holdout=0.0),
        quick=True,
    )  # fmt: skip
    return saved(lambda out: save_model(learn(recipe)[1], out))


def record(folder: Path) -> bytes:
    path = folder / "train.csv"
    path.write_bytes(delimited(","))
    save_record(count_files(path, TextFeatures(), TEXT), folder / "record.npz")
    return (folder / "record.npz").read_bytes()


def predicted(path: Path) -> object:
    """Load a model, and use it."""
    found = load_model(path)
    return found.scores(np.ones((2, found.rule.arrays()["weights"].shape[1])))


def ended_well(*arguments: object, out: str = "out") -> None:
    """Run the command: all is done, or one sentence said and nothing written; never else.

    Raises
    ------
    InputError
        If it refused.
    AssertionError
        If it ended in any other way.
    """
    before = sorted(os.listdir("."))
    ended = CliRunner().invoke(naively, [str(each) for each in arguments])
    if ended.exception is not None and not isinstance(ended.exception, SystemExit):
        raise ended.exception
    created = sorted(set(os.listdir(".")) - set(before))
    for each in created:
        (shutil.rmtree if os.path.isdir(each) else os.remove)(each)
    said = ended.stdout + ended.stderr
    assert all(c.isprintable() or c in "\n\u200c\u200d" for c in said), repr(said)
    if ended.exit_code == 0:
        assert created == [out] * (out != "") or out == "any" and len(created) == 1, created
        return
    assert ended.exit_code == 2, ended.output
    assert (ended.stdout, created) == ("", [])
    assert ended.stderr.startswith("naively: ")
    assert ended.stderr.count("\n") == 1, ended.stderr
    raise InputError(ended.stderr.removesuffix("\n"))


def commands(files: dict[str, bytes]) -> list[Source]:
    """Return what the commands do with a file, in the folder that the file is in."""
    select = ("-k", 2, "--quick", "--out", "out")

    def run(name: str, *arguments: object, file: str | None = None, out: str = "out") -> Source:
        own = file or name.partition(" ")[2]

        def read(path: Path) -> bool:
            with contextlib.chdir(path.parent):
                for other in ("comma.csv", "model.npz", "text-model.npz", "dense.npz"):
                    if not os.path.exists(other):
                        Path(other).write_bytes(files[other])
                ended_well(*(path.name if each == "FILE" else each for each in arguments), out=out)
            return True

        return Source(name, files[own], read)

    texts = ("comma.csv", "a.tsv", "lines.jsonl", "array.json", "a.parquet", "a.xlsx", "a.csv.gz",
             "a.csv.zst", "a.csv.zip", "wide.csv")  # fmt: skip
    numbers = ("comma.csv", "lines.jsonl", "a.parquet", "a.xlsx")
    matrices = ("a.svmlight", "dense.npz", "csr.npz", "dense.h5ad")
    return [
        *(run(f"select {n}", "select", "FILE", *select) for n in texts),
        *(run(f"mixed {n}", "select", "FILE", "--model", "mixed", *select) for n in numbers),
        *(run(f"matrix {n}", "select", "FILE", "--model", "gaussian", *select) for n in matrices),
        run("cv comma.csv", "cv", "FILE", "--ks", "1,3", "--folds", 2, out=""),
        run("count lines.jsonl", "count", "FILE", "--out", "out"),
        run("counted record.npz", "select", "FILE", "-k", 2, "--out", "out"),
        run("predict comma.csv", "predict", "text-model.npz", "FILE", "--out", "out.csv",
            out="out.csv"),
        run("predict text-model.npz", "predict", "FILE", "comma.csv", "--out", "out.csv",
            out="out.csv"),
        run("predict model.npz", "predict", "FILE", "dense.npz", "--out", "out.csv", out="out.csv"),
        run("explain text-model.npz", "explain", "FILE", "--file", "comma.csv", "--row", 1, out=""),
        run("config run.toml", "select", "comma.csv", "--config", "FILE", "--quick", out="any"),
    ]  # fmt: skip


def sources(folder: Path) -> dict[str, Source]:
    """Return valid files by name; `folder` is for what is made on the way."""
    sparse = sp.csr_array(X)
    csr = {"data": sparse.data, "indices": sparse.indices, "indptr": sparse.indptr}
    lines = "".join(json.dumps(row) + "\n" for row in ROWS).encode()
    tables = {
        "comma.csv": delimited(","),
        "semicolon.csv": b"sep=;\n" + delimited(";"),
        "western.csv": delimited(",").decode().encode("cp1252"),
        "wide.csv": delimited(";").decode().encode("utf-16"),
        "a.tsv": delimited("\t"),
        "lines.jsonl": lines,
        "array.json": json.dumps(ROWS, indent=1).encode(),
        "a.parquet": parquet(),
        "zstd.parquet": parquet(compression="zstd", data_page_version="2.0"),
        "a.xlsx": book(),
        "a.csv.gz": gzip.compress(delimited(",")),
        "a.csv.bz2": bz2.compress(delimited(",")),
        "a.csv.xz": lzma.compress(delimited(",")),
        "a.csv.zst": pa.compress(delimited(","), "zstd", asbytes=True),
        "a.csv.zip": zipped("b.csv", delimited(",")),
        "a.parquet.gz": gzip.compress(parquet()),
    }
    matrices = {
        "a.svmlight": b"".join(
            b"%d %s # note\n" % (i % 2, b" ".join(b"%d:%d" % (j + 1, row[j]) for j in range(4)))
            for i, row in enumerate(X.tolist())
        ),
        "dense.npz": saved(np.savez, X=X, y=Y, feature_names=list("stuv")),
        "packed.npz": saved(np.savez_compressed, X=X / 2, y=Y),
        "csr.npz": saved(np.savez, format="csr", shape=X.shape, y=Y, **csr),
        "sparse.mtx": saved(scipy.io.mmwrite, sparse, comment="a note"),
        "dense.mtx": saved(scipy.io.mmwrite, X),
        "dense.h5ad": anndata("dense"),
        "chunks.h5ad": anndata("dense", chunks=(2, 4), compression="gzip", shuffle=True),
        "csr.h5ad": anndata("csr", chunks=(4,), compression="gzip"),
        "csc.h5ad": anndata("csc"),
    }
    plain = Layout()
    unlabelled = Layout(needs_label=False)
    found = [Source(name, content, read(TEXT)) for name, content in tables.items()]
    numbers = ("comma.csv", "lines.jsonl", "array.json", "a.parquet", "a.xlsx")
    found += [Source(f"numbers {n}", tables[n], read(NUMBERS)) for n in numbers]
    found += [
        Source(n, content, read(unlabelled if n.endswith(".mtx") else plain))
        for n, content in matrices.items()
    ]
    texts = model(folder, TEXT, "multinomial")
    values = model(folder, plain, "gaussian")
    found += [Source("text-model.npz", texts, load_model), Source("model.npz", values, load_model)]
    found += [Source("record.npz", record(folder), load_record)]
    found += commands({each.name: each.content for each in found} | {"run.toml": SETTINGS})
    return {each.name: each for each in found}
