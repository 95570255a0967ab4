"""The same matrix through every format, packed or not, in parts, piped in; columns by name."""

import bz2
import gzip
import io
import lzma
import pickle
import zipfile
from dataclasses import replace
from types import SimpleNamespace

import h5py
import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp
from hypothesis import given, strategies as st
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from naively.read import batch as limits, bytes as stored, h5ad, jsonl
from naively.read.columns import Numbered, Wanted
from naively.read.errors import InputError
from naively.read.layout import Layout
from naively.read.parts import aligned, batches_of, collected, columns_of, held, parts_of
from naively.read.svmlight import _at_once, _by_line

RNG = np.random.default_rng(0)
X = RNG.integers(0, 3, (30, 5)) * RNG.integers(0, 2, (30, 5))
X[:, 4] += 1  # the last column says how many there are
Y = [["1", "2", "3"][i % 3] for i in range(30)]
SPLIT = ["test" if i % 5 == 0 else "train" for i in range(30)]
KEYS = [f"r{i}" for i in range(30)]
NAMES = ["u", "v", "w", "x", "y"]


def saved(save, *args, **kwargs):
    out = io.BytesIO()
    save(out, *args, **kwargs)
    return out.getvalue()


def strings(group, name, values):
    group.create_dataset(name, data=values, dtype=h5py.string_dtype())


def anndata(X, *, names=NAMES, layer=None, raw=None, **obs):
    """Lay a file down as anndata does."""
    out = io.BytesIO()
    with h5py.File(out, "w") as file:
        stored_matrix(file, "X", X)
        frames = {"obs": [f"c{i}" for i in range(X.shape[0])], "var": names}
        for frame, index in frames.items():
            file.create_group(frame).attrs["_index"] = "_index"
            strings(file[frame], "_index", list(index))
        for name, values in (obs or {"label": Y, "part": SPLIT, "id": KEYS}).items():
            column(file["obs"], name, values)
        if layer is not None:
            stored_matrix(file.create_group("layers"), "counts", layer)
        if raw is not None:
            stored_matrix(file, "raw/X", raw)
            file.create_group("raw/var").attrs["_index"] = "gene"
            strings(file["raw/var"], "gene", [f"g{j}" for j in range(raw.shape[1])])
    return out.getvalue()


def stored_matrix(file, name, X):
    if not sp.issparse(X):
        file[name] = X
        return
    group = file.create_group(name)
    group.attrs["encoding-type"] = f"{X.format}_matrix"
    group.attrs["shape"] = X.shape
    for part in ("data", "indices", "indptr"):
        group[part] = getattr(X, part)


def column(obs, name, values):
    if isinstance(values, np.ndarray):
        obs[name] = values
    elif isinstance(values, dict):
        group = obs.create_group(name)
        for part, each in values.items():
            if isinstance(each, np.ndarray):
                group[part] = each
            else:
                strings(group, part, each)
    else:
        strings(obs, name, values)


BESIDE = {"label": Y, "part": SPLIT, "id": KEYS, "feature_names": NAMES}


def sparse_npz(S):
    arrays = {"data": S.data, "shape": S.shape, "format": S.format}
    names = ("row", "col") if S.format == "coo" else ("indices", "indptr")
    return saved(np.savez, **arrays, **{name: getattr(S, name) for name in names}, **BESIDE)


SOURCES = {
    "dense.npz": lambda: saved(np.savez, X=X, **BESIDE),
    "packed.npz": lambda: saved(np.savez_compressed, X=X.astype(">f4"), **BESIDE),
    "csr.npz": lambda: sparse_npz(sp.csr_array(X)),
    "csc.npz": lambda: sparse_npz(sp.csc_array(X)),
    "coo.npz": lambda: sparse_npz(sp.coo_matrix(X)),
    "dense.h5ad": lambda: anndata(X.astype(np.float32)),
    "csr.h5ad": lambda: anndata(sp.csr_array(X)),
    "csc.h5ad": lambda: anndata(sp.csc_array(X)),
    "a.svmlight": lambda: saved(
        lambda out: dump_svmlight_file(X, list(map(int, Y)), out, zero_based=False)
    ),
    "zero.svm": lambda: saved(lambda out: dump_svmlight_file(X, list(map(int, Y)), out)),
    "sparse.mtx": lambda: saved(scipy.io.mmwrite, sp.csr_matrix(X)),
    "dense.mm": lambda: saved(scipy.io.mmwrite, X),
}
PACKERS = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}


def dense(batch):
    return batch.rows.toarray() if sp.issparse(batch.rows) else batch.rows


def layout_of(name, tmp_path):
    if name.endswith((".npz", ".h5ad")):
        return Layout(split="part", key="id")
    if name.endswith((".mtx", ".mm")):
        (tmp_path / "labels.txt").write_text("\n".join(Y))
        return Layout(labels_file=str(tmp_path / "labels.txt"))
    return Layout()


@pytest.fixture(params=["large", "small"])
def pieces(request, monkeypatch):
    """Blocks, parts and batches of the usual size, and of a few bytes."""
    if request.param == "small":
        monkeypatch.setattr(stored, "BLOCK_BYTES", 40)
        monkeypatch.setattr(jsonl, "PART_BYTES", 100)
        monkeypatch.setattr(h5ad, "PART_ENTRIES", 20)
        monkeypatch.setattr(limits, "BATCH_ROWS", 4)
    return request.param


def assert_all_rows(batch, layout):
    np.testing.assert_array_equal(dense(batch), X)
    assert batch.labels.tolist() == Y
    if layout.split:
        assert batch.split.tolist() == SPLIT
        assert batch.keys.tolist() == KEYS


@pytest.mark.parametrize("name", SOURCES)
@pytest.mark.parametrize("packed", PACKERS)
def test_every_format_gives_the_same_rows(tmp_path, name, packed, pieces):
    path = tmp_path / f"{name}{packed}"
    path.write_bytes(PACKERS[packed](SOURCES[name]()))
    layout = layout_of(name, tmp_path)
    parts = parts_of(path, layout)
    batch = collected(parts, layout)
    assert_all_rows(batch, layout)
    assert_all_rows(collected(held(parts, layout), layout), layout)
    in_parts = name in ("dense.h5ad", "csr.h5ad", "a.svmlight", "zero.svm")
    assert (len(parts) > 1) == (in_parts and not packed and pieces == "small")
    unit = "line" if "svm" in name else "row"
    assert batch.place(17) == f"{path}: {unit} 18"
    columns = columns_of(parts, layout)
    expected = NAMES if layout.split else [str(j + (name != "zero.svm")) for j in range(5)]
    assert list(columns.names) == expected
    assert columns.named == bool(layout.split)


@pytest.mark.parametrize("name", SOURCES)
def test_from_standard_input(tmp_path, monkeypatch, name):
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(SOURCES[name]())))
    format = {"svm": "svmlight", "mm": "mtx"}.get(name.split(".")[1], name.split(".")[1])
    layout = replace(layout_of(name, tmp_path), format=format)
    assert_all_rows(collected(parts_of(["-"], layout), layout), layout)


@pytest.mark.parametrize("name", SOURCES)
def test_whole_numbers_stay_whole(tmp_path, name):
    (tmp_path / name).write_bytes(SOURCES[name]())
    layout = layout_of(name, tmp_path)
    kind = collected(parts_of(tmp_path / name, layout), layout).rows.dtype.kind
    assert kind == ("f" if name in ("packed.npz", "dense.h5ad") else "i")


def read(tmp_path, name, content, layout=None):
    (tmp_path / name).write_bytes(content)
    layout = layout or Layout()
    return collected(parts_of(tmp_path / name, layout), layout)


# Columns by name -------------------------------------------------------------------------------

ORDER = [3, 0, 4, 2, 1]
NAMED = {
    "a.npz": lambda X, names: saved(np.savez, X=X, y=Y, feature_names=names),
    "a.h5ad": lambda X, names: anndata(sp.csr_array(X), names=names, label=Y),
    "b.h5ad": lambda X, names: anndata(X, names=names, label=Y),
    "c.h5ad": lambda X, names: anndata(sp.csc_array(X), names=names, label=Y),
    "a.csv": lambda X, names: "\n".join(
        ",".join(map(str, row))
        for row in [[*names, "label"], *([*r, y] for r, y in zip(X.tolist(), Y, strict=True))]
    ).encode(),
    "a.jsonl": lambda X, names: str.join(
        "\n",
        (
            str({**dict(zip(names, r, strict=True)), "label": y}).replace("'", '"')
            for r, y in zip(X.tolist(), Y, strict=True)
        ),
    ).encode(),
}


@pytest.mark.parametrize("name", NAMED)
def test_columns_in_another_order_are_matched_by_name(tmp_path, name):
    names = [NAMES[j] for j in ORDER]
    content = NAMED[name](np.column_stack([X[:, ORDER], X[:, 0]]), [*names, "more"])
    wanted = Wanted(5, NAMES)
    layout = Layout(wanted=wanted)
    np.testing.assert_array_equal(dense(read(tmp_path, name, content, layout)), X)
    assert list(columns_of(parts_of(tmp_path / name, layout), layout).names) == NAMES
    some = Layout(wanted=Wanted(5, ["w", "u"], np.array([2, 0])))
    np.testing.assert_array_equal(dense(read(tmp_path, name, content, some)), X[:, [2, 0]])
    lost = Layout(wanted=Wanted(3, ["u", "vv", "zz"]))
    with pytest.raises(InputError, match=r"the model needs the column `vv` and 1 more.*mean `v`"):
        read(tmp_path, name, content, lost)


@pytest.mark.parametrize("name", NAMED)
def test_the_second_file_follows_the_first(tmp_path, name):
    first, second = tmp_path / f"1{name}", tmp_path / f"2{name}"
    first.write_bytes(NAMED[name](X, NAMES))
    second.write_bytes(NAMED[name](X[:, ORDER], [NAMES[j] for j in ORDER]))
    parts = parts_of([first, second], Layout())
    np.testing.assert_array_equal(dense(collected(parts, Layout())), np.vstack([X, X]))
    assert aligned(parts, Layout()).wanted.names == NAMES
    second.write_bytes(NAMED[name](X, [*NAMES[:4], "other"]))
    with pytest.raises(InputError, match="2.*the first file needs the column `y`"):
        collected(parts_of([first, second], Layout()), Layout())


@pytest.mark.parametrize("name", NAMED)
def test_names_that_stand_twice_are_refused(tmp_path, name):
    if name != "a.jsonl":
        with pytest.raises(InputError, match="2 columns are called `u`; rename all but one"):
            read(tmp_path, name, NAMED[name](X, ["u", "v", "w", "u", "y"]))


def test_without_names_the_width_decides(tmp_path):
    content = saved(np.savez, X=X, y=Y)
    some = Layout(wanted=Wanted(5, None, np.array([2, 3])))
    np.testing.assert_array_equal(dense(read(tmp_path, "a.npz", content, some)), X[:, 2:4])
    with pytest.raises(InputError, match="has 5 columns, the model was trained on 6"):
        read(tmp_path, "a.npz", content, Layout(wanted=Wanted(6)))


@pytest.mark.parametrize("name", SOURCES)
def test_columns_to_ignore(tmp_path, name):
    named = name.endswith((".npz", ".h5ad"))
    first = 0 if name == "zero.svm" else 1
    layout = layout_of(name, tmp_path)
    layout = replace(layout, ignore=("v", "x") if named else (str(first + 1), str(first + 3)))
    (tmp_path / name).write_bytes(SOURCES[name]())
    parts = parts_of(tmp_path / name, layout)
    np.testing.assert_array_equal(dense(collected(parts, layout)), X[:, [0, 2, 4]])
    assert len(columns_of(parts, layout).names) == 3
    layout = replace(layout, ignore=("nosuch",))
    with pytest.raises(InputError, match="there is no column `nosuch`"):
        collected(parts, layout)


def test_names_beside(tmp_path):
    (tmp_path / "names.txt").write_text("\n".join(NAMES) + "\n")
    layout = replace(layout_of("a.mtx", tmp_path), names_file=str(tmp_path / "names.txt"))
    (tmp_path / "a.mtx").write_bytes(SOURCES["sparse.mtx"]())
    parts = parts_of(tmp_path / "a.mtx", layout)
    assert list(columns_of(parts, layout).names) == NAMES
    (tmp_path / "names.txt").write_text("\n".join(NAMES[:3]))
    with pytest.raises(InputError, match=r"names\.txt: holds 3 names, .*a\.mtx has 5 columns"):
        collected(parts, layout)


def test_rows_that_are_features(tmp_path):
    layout = replace(layout_of("a.mtx", tmp_path), transpose=True)
    content = saved(scipy.io.mmwrite, sp.csr_matrix(X.T))
    np.testing.assert_array_equal(dense(read(tmp_path, "a.mtx", content, layout)), X)
    content = saved(np.savez, X=X.T, y=Y, feature_names=NAMES)
    layout = Layout(transpose=True)
    np.testing.assert_array_equal(dense(read(tmp_path, "a.npz", content, layout)), X)


def test_numbered_names_cost_nothing():
    names = Numbered(range(1, 1 << 40))
    assert names[5:7][1] == "7"
    assert names.index("77") == 76
    for bad in ("0", "x", "007"):
        with pytest.raises(ValueError, match=r"."):
            names.index(bad)


# svmlight --------------------------------------------------------------------------------------


def test_svmlight_numbering_is_found_and_kept(tmp_path):
    (tmp_path / "a.svm").write_text("1 1:7\n")
    (tmp_path / "b.svm").write_text("2 0:3 4:1\n")
    assert columns_of(parts_of(tmp_path / "a.svm", Layout()), Layout()).first_column == 1
    parts = parts_of(f"{tmp_path}/*.svm", Layout())
    assert collected(parts, Layout()).rows.toarray().tolist() == [[0, 7, 0, 0, 0], [3, 0, 0, 0, 1]]
    # A file whose column 0 happens to be empty would be misread without the model's numbering.
    layout = Layout(wanted=Wanted(4, first_column=0))
    assert read(tmp_path, "c.svm", b"1 2:7\n", layout).rows.toarray().tolist() == [[0, 0, 7, 0]]
    with pytest.raises(InputError, match="line 2 has a column 9, known are 1 to 4"):
        read(tmp_path, "c.svm", b"1 2:7\n1 9:7\n", Layout(wanted=Wanted(4)))
    with pytest.raises(InputError, match="line 1 has a column 0, known are 1 to 4"):
        read(tmp_path, "c.svm", b"1 0:7\n", Layout(wanted=Wanted(4)))


def test_svmlight_reads_real_values_comments_and_query_ids(tmp_path):
    content = b"# head 1:2\n1 qid:3 1:0.5 3:2 # tail\n\n-2\t2:1e1\r\n+3 \n0.5 3:-1"
    batch = read(tmp_path, "a.svm", content)
    assert batch.rows.toarray().tolist() == [[0.5, 0, 2], [0, 10, 0], [0, 0, 0], [0, 0, -1]]
    assert batch.labels.tolist() == ["1", "-2", "3", "0.5"]
    assert [batch.place(i)[-1] for i in range(4)] == ["2", "4", "5", "6"]


words = st.one_of(
    st.tuples(st.integers(0, 20), st.sampled_from(["1", "0.5", "-2e3", "nan", "x", "", "1:2"])).map(
        lambda pair: f"{pair[0]}:{pair[1]}"
    ),
    st.sampled_from(["1", "1.5", "a", ":", "3:", ":4", "1_0:2", "1.0:2", "0x1:1"]),
)


@given(st.lists(st.lists(words, max_size=4), max_size=5))
def test_svmlight_at_once_is_svmlight_by_line(rows):
    content = "\n".join(" ".join(row) for row in rows).encode()
    found = _at_once(content)
    if found is not None:
        for fast, slow in zip(found, _by_line(content, 1, None), strict=True):
            np.testing.assert_array_equal(fast, slow)


def test_regular_svmlight_is_read_at_once_as_scikit_learn_reads_it():
    content = SOURCES["a.svmlight"]()
    y, indptr, columns, values, _ = _at_once(content)
    expected, labels = load_svmlight_file(io.BytesIO(content), zero_based=True)
    np.testing.assert_array_equal(y, labels)
    np.testing.assert_array_equal(indptr, expected.indptr)
    np.testing.assert_array_equal(columns, expected.indices)
    np.testing.assert_array_equal(values, expected.data)


def test_svmlight_columns_may_be_many(tmp_path):
    layout = Layout(wanted=None)
    batch = read(tmp_path, "a.svm", b"1 2000000000:1\n", layout)
    assert batch.rows.shape == (1, 2_000_000_000)


# .npz ------------------------------------------------------------------------------------------


def test_labels_of_npz_by_their_name(tmp_path):
    content = saved(np.savez, X=X, y=Y, kind=[1.0, 2.0, 1.0] * 10)
    assert read(tmp_path, "a.npz", content).labels.tolist() == Y
    layout = Layout(label="kind")
    assert read(tmp_path, "a.npz", content, layout).labels.tolist() == ["1", "2", "1"] * 10
    assert read(tmp_path, "a.npz", content, Layout(needs_label=False)).labels is None
    both = saved(np.savez, X=X, y=[0] * 30, label=np.array(Y, dtype="S"))
    assert read(tmp_path, "a.npz", both).labels.tolist() == Y


def test_half_and_extended_precision_become_double(tmp_path):
    for dtype in (np.float16, np.longdouble, ">f8", ">i4"):
        batch = read(tmp_path, "a.npz", saved(np.savez, X=X.astype(dtype), y=Y))
        assert batch.rows.dtype == (np.int32 if dtype == ">i4" else np.float64)
        np.testing.assert_array_equal(batch.rows, X)


class Bomb:
    def __reduce__(self):
        return (pytest.fail, ("code in the file was run",))


def test_pickles_are_never_opened(tmp_path):
    with pytest.raises(InputError, match="holds Python objects, which are not read"):
        read(tmp_path, "a.npz", saved(np.savez, X=np.array([Bomb()], dtype=object), y=Y))
    with pytest.raises(InputError, match=r"not an \.npz file"):
        read(tmp_path, "a.npz", pickle.dumps(Bomb()))


def test_a_member_that_is_no_array(tmp_path):
    out = io.BytesIO(saved(np.savez, y=Y))
    with zipfile.ZipFile(out, "a") as archive:
        archive.writestr("X", b"no array")
    with pytest.raises(InputError, match="`X` is not an array"):
        read(tmp_path, "a.npz", out.getvalue())


# AnnData ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array, sp.csc_array])
def test_layers_and_raw(tmp_path, make, pieces):
    content = anndata(make(X), layer=make(2 * X), raw=make(np.hstack([X, X])))
    for layer, expected in ((None, X), ("counts", 2 * X), ("raw", np.hstack([X, X]))):
        batch = read(tmp_path, "a.h5ad", content, Layout(layer=layer))
        np.testing.assert_array_equal(dense(batch), expected)
    columns = columns_of(parts_of(tmp_path / "a.h5ad", Layout(layer="raw")), Layout(layer="raw"))
    assert columns.names[9] == "g9"
    with pytest.raises(InputError, match=r"no layer `count`; did you mean `counts`"):
        read(tmp_path, "a.h5ad", content, Layout(layer="count"))


KINDS = {
    "categories": {"categories": ["beta", "alpha"], "codes": np.array([1, 0, 1], np.int8)},
    "numbers": np.array([1, 2, 1]),
    "truth": np.array([True, False, True]),
    "nullable": {"values": np.array([1, 2, 3]), "mask": np.zeros(3, bool)},
    "gap": {"values": np.array([1, 2, 3]), "mask": np.array([False, True, False])},
    "unknown": {"categories": ["a"], "codes": np.array([0, 0, -1], np.int8)},
    "floats": np.array([1.0, np.nan, 2.0]),
}


def test_columns_of_obs_of_any_kind(tmp_path):
    content = anndata(X[:3], **KINDS)
    for label, expected in {
        "categories": ["alpha", "beta", "alpha"],
        "numbers": ["1", "2", "1"],
        "truth": ["True", "False", "True"],
        "nullable": ["1", "2", "3"],
    }.items():
        assert read(tmp_path, "a.h5ad", content, Layout(label=label)).labels.tolist() == expected
    for label, row in {"gap": 2, "unknown": 3, "floats": 2}.items():
        labels = read(tmp_path, "a.h5ad", content, Layout(label=label)).labels.tolist()
        assert labels.index("") == row - 1
    batch = read(tmp_path, "a.h5ad", content, Layout(label="numbers", key="_index"))
    assert batch.keys.tolist() == ["c0", "c1", "c2"]


def test_categories_of_old_files_are_no_codes(tmp_path):
    out = io.BytesIO(anndata(X[:3], kind=np.array([1, 0, 1], np.int8)))
    with h5py.File(out, "a") as file:  # as anndata 0.7 wrote it
        strings(file["obs"].create_group("__categories"), "kind", ["T cell", "B cell"])
        kind, categories = file["obs/kind"], file["obs/__categories/kind"]
        kind.attrs["categories"] = categories.ref
    batch = read(tmp_path, "a.h5ad", out.getvalue(), Layout(label="kind"))
    assert batch.labels.tolist() == ["B cell", "T cell", "B cell"]


def test_very_old_files_are_refused(tmp_path):
    out = io.BytesIO(anndata(X[:3], label=Y[:3]))
    with h5py.File(out, "a") as file:  # frames as arrays of records
        del file["obs"]
        file["obs"] = np.zeros(3, dtype=[("index", "S2"), ("label", "i1")])
    with pytest.raises(InputError, match="old version of anndata"):
        read(tmp_path, "a.h5ad", out.getvalue())


def test_rows_of_a_range_are_read_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(h5ad, "PART_ENTRIES", 20)
    (tmp_path / "a.h5ad").write_bytes(anndata(sp.csr_array(X)))
    parts = parts_of(tmp_path / "a.h5ad", Layout())
    part = parts[2]
    rows = [dense(batch) for batch in batches_of(part, Layout())]
    np.testing.assert_array_equal(np.vstack(rows), X[part.begin : part.end])
    assert {each.name.rpartition("#")[0] for each in parts} == {part.name.rpartition("#")[0]}
