"""Tables of numbers and AnnData files: what is read, and what is said where it cannot be."""

import gzip
import io

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp

from naively.io.errors import InputError
from naively.io.matrices import read_matrix
from naively.io.numbers import NumberTable, read_number_table
from naively.io.tables import TableStyle

PLAIN = "cell,gene1,gene2,type\nc1,1,-2.5,a\nc2,0,1e3,b\n"


def read(text, format="csv", style=None, **table):
    file = io.BytesIO(text if isinstance(text, bytes) else text.encode())
    file.name = "t.csv"
    return read_number_table(file, NumberTable(**table), format=format, style=style)


def test_rows_are_samples():
    matrix = read(PLAIN, label="type")
    assert matrix.X.tolist() == [[1, -2.5], [0, 1000]]
    assert matrix.names == ("gene1", "gene2")
    assert matrix.labels == ["a", "b"]
    assert matrix.split is None


def test_the_label_may_come_first_and_numbers_may_lead():
    matrix = read("type,g,h\nx,1,2\ny,3,4\n", label="type")
    assert matrix.names == ("g", "h")
    assert read("g,h,type\n1,2,x\n3,4,y\n", label="type").names == ("g", "h")


def test_r_writes_headers_one_field_short():
    matrix = read("g\th\ttype\ns1\t1\t2\tx\ns2\t3\t4\ty\n", "tsv", label="type")
    assert matrix.names == ("g", "h")
    assert matrix.X.tolist() == [[1, 2], [3, 4]]


def test_rows_are_features():
    text = "gene\tc1\tc2\tc3\nA\t1\t2\t3\ntype\tx\ty\tx\npart\ttrain\ttrain\ttest\nB\t4\t5\t6\n"
    matrix = read(text, "tsv", label="type", split="part", transpose=True)
    assert matrix.X.tolist() == [[1, 4], [2, 5], [3, 6]]
    assert matrix.names == ("A", "B")
    assert matrix.labels == ["x", "y", "x"]
    assert matrix.split == ["train", "train", "test"]
    assert matrix.X.flags.c_contiguous
    beside = read(text, "tsv", transpose=True, ignore=("type", "part"))
    assert beside.labels is None
    wanted = read(text, "tsv", transpose=True, wanted=("B", "A"))
    assert wanted.X.tolist() == [[4, 1], [5, 2], [6, 3]]


def test_only_what_is_wanted():
    matrix = read(PLAIN, wanted=("gene2",))
    assert matrix.X.tolist() == [[-2.5], [1000]]
    assert matrix.labels is None


def test_without_header():
    matrix = read("1,2,a\n3,4,b\n", style=TableStyle(header=False), label="3")
    assert matrix.X.tolist() == [[1, 2], [3, 4]]
    assert matrix.names == ("1", "2")


def test_parquet_and_compression(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(
        pa.table({"cell": ["a", "b"], "g": [1, 2], "h": [0.5, 3], "type": ["x", "y"]}), path
    )
    matrix = read_number_table(path, NumberTable(label="type"))
    assert matrix.X.tolist() == [[1, 0.5], [2, 3]]
    assert matrix.names == ("g", "h")
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(PLAIN.encode()))
    assert read_number_table(tmp_path / "t.csv.gz", NumberTable(label="type")).labels == ["a", "b"]


@pytest.mark.parametrize(
    ("text", "table", "words"),
    [
        ("g,h,type\n1,2,x\n", {"label": "kind"}, "there is no column `kind`"),
        ("g,g,type\n1,2,x\n", {"label": "g"}, "two columns are called `g`"),
        ("g,h,type\n1,2,x\n3,y,z\n", {"label": "type"}, "line 3: the value of `h` is 'y'"),
        ("g,h,type\n1,2,x\n3,,z\n", {"label": "type"}, "line 3: the value of `h` is missing"),
        ("g,h,type\n1,2,x\n3,4\n", {"label": "type"}, "line 3 has 2 fields, the header has 3"),
        ("g,h,type\n1,2,x\n3,4,\n", {"label": "type"}, "missing"),
        ("g,h,type\n1,nan,x\n", {"label": "type"}, "not a finite number"),
        ("g,h\n", {}, "holds no rows"),
        ("", {}, "holds no rows"),
        ("g,h\n1,2\n", {"wanted": ("i",)}, "trained on a matrix and needs its column `i`"),
        ("x,c1\ng,1\n", {"transpose": True, "label": "type"}, "there is no row `type`"),
        ("x,c1\ng,1\n", {"transpose": True, "wanted": ("h",)}, "needs its row `h`"),
    ],
)
def test_messages(text, table, words):
    with pytest.raises(InputError) as refused:
        read(text, **table)
    assert words in str(refused.value)


def test_lines_of_json_hold_no_table_of_numbers():
    with pytest.raises(InputError, match="CSV, TSV or Parquet"):
        read("{}", "jsonl")


# -- AnnData -------------------------------------------------------------------------------------


def h5ad(path, X, *, legacy=False):
    """Write the file as anndata lays it down."""
    strings = h5py.string_dtype()
    with h5py.File(path, "w") as file:
        if sp.issparse(X):
            group = file.create_group("X")
            group.attrs["encoding-type"] = f"{X.format}_matrix"
            group.attrs["shape"] = X.shape
            for part in ("data", "indices", "indptr"):
                group[part] = getattr(X, part)
        else:
            file["X"] = X
        obs, var = file.create_group("obs"), file.create_group("var")
        if not legacy:
            obs.attrs["_index"], var.attrs["_index"] = "cells", "_index"
        obs.create_dataset("cells", data=["c1", "c2", "c3"], dtype=strings)
        var.create_dataset("_index", data=["A", "B"], dtype=strings)
        kind = obs.create_group("type")
        kind.create_dataset("categories", data=["beta", "alpha"], dtype=strings)
        kind["codes"] = np.array([1, 0, 1], np.int8)
        obs.create_dataset("part", data=["train", "train", "test"], dtype=strings)
        obs["batch"] = np.array([1, 2, 1])
        gap = obs.create_group("gap")
        gap["values"], gap["mask"] = np.array([1, 2, 3]), np.array([False, True, False])
        whole = obs.create_group("whole")
        whole["values"], whole["mask"] = np.array([1, 2, 3]), np.zeros(3, bool)
    return path


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array, sp.csc_array])
def test_anndata(tmp_path, container):
    X = np.array([[1.0, 0], [0, 2], [3, 0]])
    path = h5ad(tmp_path / "c.h5ad", container(X))
    matrix = read_matrix(path, label="type", split="part")
    values = matrix.X.toarray() if sp.issparse(matrix.X) else matrix.X
    assert values.tolist() == X.tolist()
    assert matrix.names == ("A", "B")
    assert matrix.labels == ["alpha", "beta", "alpha"]
    assert matrix.split == ["train", "train", "test"]
    assert read_matrix(path, label="batch").labels == ["1", "2", "1"]
    assert read_matrix(path, label="whole").labels == ["1", "2", "3"]
    assert read_matrix(path).labels is None


def test_anndata_messages(tmp_path):
    path = h5ad(tmp_path / "c.h5ad", np.eye(3)[:, :2])
    with pytest.raises(InputError, match="`obs` has no column `typ`; did you mean `type`"):
        read_matrix(path, label="typ")
    with pytest.raises(InputError, match="row 2 is missing"):
        read_matrix(path, label="gap")
    old = h5ad(tmp_path / "old.h5ad", np.eye(3)[:, :2], legacy=True)
    with pytest.raises(InputError, match="old version of anndata"):
        read_matrix(old, label="type")
    (tmp_path / "no.h5ad").write_bytes(b"nothing of the kind")
    with pytest.raises(InputError, match="not an AnnData file"):
        read_matrix(tmp_path / "no.h5ad")
    with h5py.File(tmp_path / "other.h5ad", "w") as file:
        file["x"] = 1
    with pytest.raises(InputError, match="there is no `X`"):
        read_matrix(tmp_path / "other.h5ad")
