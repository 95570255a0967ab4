"""Matrices of three kinds give the same rows; damaged ones are refused by their place."""

import io
import pickle
import zipfile

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file

from naively.io.errors import InputError
from naively.io.matrices import read_labels, read_matrix, read_names

X = np.array([[0, 3, 0, 1], [2, 0, 0, 0], [0, 0, 5, 0]])
Y = ["a", "b", "a"]


def saved(save, *args, **kwargs):
    out = io.BytesIO()
    save(out, *args, **kwargs)
    out.seek(0)
    return out


def svmlight(zero_based):
    return saved(lambda out: dump_svmlight_file(X, [1, -1, 1], out, zero_based=zero_based))


def matrix_market(matrix):
    return saved(scipy.io.mmwrite, matrix)


SOURCES = {
    "svmlight from 1": (lambda: svmlight(False), "svmlight"),
    "dense npz": (lambda: saved(np.savez, X=X, y=Y), "npz"),
    "compressed npz": (lambda: saved(np.savez_compressed, X=X, y=Y), "npz"),
    "csr npz": (lambda: saved(sp.save_npz, sp.csr_matrix(X)), "npz"),
    "csc npz": (lambda: saved(sp.save_npz, sp.csc_array(X)), "npz"),
    "coo npz": (lambda: saved(sp.save_npz, sp.coo_matrix(X)), "npz"),
    "sparse mtx": (lambda: matrix_market(sp.csr_matrix(X)), "mtx"),
    "dense mtx": (lambda: matrix_market(X), "mtx"),
}


@pytest.mark.parametrize("name", SOURCES)
def test_every_kind_gives_the_same_matrix_of_integers(name):
    make, format = SOURCES[name]
    matrix = read_matrix(make(), format=format)
    dense = matrix.X.toarray() if sp.issparse(matrix.X) else matrix.X
    np.testing.assert_array_equal(dense, X)
    assert dense.dtype.kind == "i"  # counts are counted exactly


def test_svmlight_numbering_is_found_and_kept():
    assert read_matrix(svmlight(False), format="svmlight").first_column == 1
    one = read_matrix(svmlight(True), format="svmlight")
    assert one.first_column == 0
    assert one.labels == ["1", "-1", "1"]
    # A file whose column 0 happens to be empty would be misread without the model's numbering.
    again = read_matrix(io.BytesIO(b"1 2:7\n"), format="svmlight", n_columns=4, first_column=0)
    assert again.X.toarray().tolist() == [[0, 0, 7, 0]]
    with pytest.raises(InputError, match="the model knows 1 to 4"):
        read_matrix(io.BytesIO(b"1 9:7\n"), format="svmlight", n_columns=4, first_column=1)


def test_svmlight_reads_real_values_comments_and_query_ids():
    content = b"# head\n1 qid:3 1:0.5 3:2 # tail\n2 2:1\n"
    matrix = read_matrix(io.BytesIO(content), format="svmlight")
    assert matrix.X.toarray().tolist() == [[0.5, 0, 2], [0, 1, 0]]


@pytest.mark.parametrize(
    ("content", "match"),
    [
        (b"", "empty"),
        (b"1 1:1\nham 2:1\n", "line 2 is not svmlight"),
        (b"1 1:1\n1 2\n", "line 2 is not svmlight"),
        (b"1 1:1\n1 2:x\n", "line 2 is not svmlight"),
        (b"1 1:1\n\n1 5:1 4:1\n", "line 3 is not svmlight"),
        (b"1 -1:1\n", "line 1 is not svmlight"),
        (b"1 1:nan\n", "row 1, column 1 is not a finite number"),
    ],
)
def test_bad_svmlight(content, match):
    with pytest.raises(InputError, match=match):
        read_matrix(io.BytesIO(content), format="svmlight")


def test_npz_with_names_split_and_chosen_label():
    source = saved(
        np.savez, X=X, y=Y, kind=[1.0, 2.0, 1.0], feature_names=list("wxyz"), split=["train"] * 3
    )
    matrix = read_matrix(source, format="npz", label="kind", split="split")
    assert matrix.labels == ["1", "2", "1"]
    assert matrix.names == ("w", "x", "y", "z")
    assert matrix.split == ["train"] * 3


class Bomb:
    def __reduce__(self):
        return (pytest.fail, ("code in the file was run",))


def test_pickles_in_npz_are_never_opened():
    source = saved(np.savez, X=np.array([Bomb()], dtype=object), y=Y)
    with pytest.raises(InputError, match="holds Python objects, which are not read"):
        read_matrix(source, format="npz")
    with pytest.raises(InputError):
        read_matrix(io.BytesIO(pickle.dumps(Bomb())), format="npz")


@pytest.mark.parametrize(
    ("arrays", "match"),
    [
        ({"x": X, "y": Y}, "no array `X`; did you mean `x`"),
        ({"X": X, "y": Y[:2]}, "2 labels for 3 rows"),
        ({"X": X, "y": ["a", "", "b"]}, "label of row 2 is missing"),
        ({"X": X, "y": [Y]}, "array `y` must have one dimension; it has 2"),
        ({"X": X[0], "y": Y}, "must have rows and columns"),
        ({"X": X.astype(str), "y": Y}, "must hold numbers"),
        ({"X": X * 1j, "y": Y}, "must hold numbers"),
        ({"X": X, "y": Y, "feature_names": ["a"]}, "1 feature names for 4 columns"),
        ({"X": np.where(X > 2, np.nan, X), "y": Y}, "row 1, column 2 is not a finite number"),
    ],
)
def test_bad_npz(arrays, match):
    with pytest.raises(InputError, match=match):
        read_matrix(saved(np.savez, **arrays), format="npz")


def test_infinite_value_in_a_sparse_matrix_names_its_place():
    S = sp.csr_matrix(np.where(X == 5, np.inf, X))
    with pytest.raises(InputError, match="row 3, column 3 is not a finite number"):
        read_matrix(saved(sp.save_npz, S), format="npz")


def test_sparse_matrix_with_wild_indices_is_refused():
    S = sp.csr_matrix(X)
    S.indices[0] = 99
    with pytest.raises(InputError, match="not consistent"):
        read_matrix(saved(sp.save_npz, S), format="npz")


@pytest.mark.parametrize("cut", [0, 10, 300])
def test_damaged_npz(cut):
    content = saved(np.savez, X=X, y=Y).getvalue()
    with pytest.raises(InputError, match=r"not an \.npz file|one array"):
        read_matrix(io.BytesIO(content[:cut]), format="npz")


def test_one_array_instead_of_an_archive():
    with pytest.raises(InputError, match=r"one array; save X and y with numpy\.savez"):
        read_matrix(saved(np.save, X), format="npz")


def test_bad_matrix_market():
    for content in (b"", b"no header\n", b"%%MatrixMarket matrix coordinate real general\n3 x 1\n"):
        with pytest.raises(InputError, match="not a Matrix Market file"):
            read_matrix(io.BytesIO(content), format="mtx")


def test_width_must_be_that_of_the_model():
    with pytest.raises(InputError, match="has 4 columns, the model was trained on 5"):
        read_matrix(saved(np.savez, X=X), format="npz", n_columns=5)


def test_labels_and_names_beside(tmp_path):
    path = tmp_path / "beside.txt"
    path.write_text("a\nb\na\n\n")
    assert read_labels(path, 3, "m.mtx") == Y
    assert read_names(path, 3, "m.mtx") == tuple(Y)
    with pytest.raises(InputError, match=r"holds 3 labels, m\.mtx has 4 rows"):
        read_labels(path, 4, "m.mtx")
    with pytest.raises(InputError, match=r"names, m\.mtx has 9 columns"):
        read_names(path, 9, "m.mtx")
    path.write_text("a\n\na\n")
    with pytest.raises(InputError, match="line 2: the label is missing"):
        read_labels(path, 3, "m.mtx")


@pytest.mark.parametrize(
    "labels",
    [np.ones(3) * 1j, np.arange(3).astype("M8[D]"), np.zeros(3, dtype=[("a", "i4"), ("b", "i4")])],
)
def test_labels_of_odd_types_are_refused(labels):
    with pytest.raises(InputError, match="array `y`"):
        read_matrix(saved(np.savez, X=X, y=labels), format="npz")


def test_member_that_is_no_array():
    source = saved(np.savez, y=Y)
    with zipfile.ZipFile(source, "a") as archive:
        archive.writestr("X", b"no array")
    source.seek(0)
    with pytest.raises(InputError, match="`X` is not an array"):
        read_matrix(source, format="npz")


@pytest.mark.parametrize("shape", [[3, 4, 5], 7, [np.nan, 4], ["3", "4"]])
def test_sparse_shapes_that_are_none(shape):
    S = sp.csr_matrix(X)
    parts = {"data": S.data, "indices": S.indices, "indptr": S.indptr, "format": "csr"}
    with pytest.raises(InputError, match="not consistent"):
        read_matrix(saved(np.savez, shape=shape, **parts), format="npz")


def test_half_precision_becomes_double():
    S = sp.csr_matrix(X)
    parts = {"indices": S.indices, "indptr": S.indptr, "format": "csr", "shape": S.shape}
    source = saved(np.savez, data=S.data.astype(np.float16), **parts)
    found = read_matrix(source, format="npz").X
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found.toarray(), X)


def test_rows_beyond_memory_are_refused_before_any_is_made():
    parts = {"data": [1.0], "row": [0], "col": [0], "format": "coo", "shape": [2**45, 2]}
    with pytest.raises(InputError, match="this machine has"):
        read_matrix(saved(np.savez, **parts), format="npz")
