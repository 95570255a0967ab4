"""Every estimator takes numbers in every container: as the dense float64 answer, or one message."""

from __future__ import annotations

from functools import cache, partial

import array_api_strict
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import naively

pytestmark = pytest.mark.filterwarnings(
    "ignore::naively.SeparationWarning",
    "ignore:`SparsityCV` refit:UserWarning",
)

Y = np.arange(24) % 3
WHOLE = np.random.default_rng(0).poisson(
    [[3, 1, 1, 1, 2], [1, 3, 1, 1, 2], [1, 1, 3, 1, 2]], (8, 3, 5)
)
WHOLE = WHOLE.reshape(24, 5) % 4  # whole numbers that every type holds
NAMES = [f"gene {j}" for j in range(5)]

ESTIMATORS = {
    "multinomial": naively.SparseMultinomialNB(2),
    "multinomial exactly": naively.SparseMultinomialNB(2, exact=True),
    "bernoulli": naively.SparseBernoulliNB(2, binarize=0.5),
    "poisson": naively.SparsePoissonNB(2),
    "poisson of exposure": naively.SparsePoissonNB(2, exposure="total"),
    "negative binomial": naively.SparseNegativeBinomialNB(2),
    "categorical": naively.SparseCategoricalNB(2),
    "gaussian": naively.SparseGaussianNB(2),
    "gaussian, missing": naively.SparseGaussianNB(2, missing="ignore"),
    "mixed": naively.SparseMixedNB(2, columns=dict.fromkeys(range(5), "gaussian")),
    "l2 centers": naively.SparseL2Centers(2),
    "l1 centers": naively.SparseL1Centers(2),
    "hybrid": naively.HybridNB(penalty=1.0),
    "calibrated": naively.SparseBernoulliNB(2, calibration="cross-fitted"),
    "search": naively.SparsityCV(naively.SparseGaussianNB(), [1, 2], cv=2),
    "search of errors": naively.ErrorSearchSelector(2, length=5.0),
}
every_estimator = pytest.mark.parametrize("name", ESTIMATORS)
PICKS = ("SparseMixedNB",)  # whose `transform` takes columns of any kind
METHODS = (
    "predict", "predict_proba", "predict_log_proba", "decision_function", "transform", "score"
)  # fmt: skip


def _strided(X):
    return np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3]


def _read_only(X):
    X = X.copy()
    X.setflags(write=False)
    return X


def _mapped(X, folder):
    np.save(folder / "X.npy", X)
    return np.load(folder / "X.npy", mmap_mode="r")


def _wide(X):
    found = sp.csr_array(X)
    found.indices, found.indptr = found.indices.astype(np.int64), found.indptr.astype(np.int64)
    return found


def _unsorted(X):
    found = sp.csr_matrix(X)
    for begin, end in zip(found.indptr[:-1], found.indptr[1:], strict=True):
        found.indices[begin:end] = found.indices[begin:end][::-1].copy()
        found.data[begin:end] = found.data[begin:end][::-1].copy()
    found.has_sorted_indices = False
    return found


def _halves(X):
    """Every entry as two that add up, and a stored zero at the end."""
    X = np.asarray(X, dtype=float)
    rows, columns = np.nonzero(X)
    half = X[rows, columns] / 2
    data, rows, columns = (
        np.append([half, half], 0),
        np.append([rows] * 2, 0),
        np.append([columns] * 2, 4),
    )
    return sp.coo_array((data, (rows, columns)), shape=X.shape)


def _frame(X, **kinds):
    return pd.DataFrame(X, columns=NAMES, **kinds)


DTYPES = (
    "?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "g",
    ">i2", ">i4", ">i8", ">f4", ">f8", "O",
)  # fmt: skip
FORMATS = ("csr", "csc", "coo", "lil", "dok", "dia", "bsr")
CONTAINERS = {
    **{f"array of {each}": lambda X, each=each: X.astype(each) for each in DTYPES},
    **{
        f"{each} {kind}": lambda X, each=each, kind=kind: getattr(sp, f"{each}_{kind}")(X)
        for each in FORMATS
        for kind in ("matrix", "array")
    },
    **{
        f"csr of {each}": lambda X, each=each: sp.csr_array(X).astype(each)
        for each in ("?", "i1", "u2", "i8", "u8", "f4")
    },
    "csc of i2": lambda X: sp.csc_array(X.astype("i2")),
    "64-bit indices": _wide,
    "unsorted indices": _unsorted,
    "duplicates and stored zeros": _halves,
    "by columns": np.asfortranarray,
    "strided": _strided,
    "reversed": lambda X: X[::-1, ::-1].copy()[::-1, ::-1],
    "read-only": _read_only,
    "masked": lambda X: np.ma.masked_array(X, mask=False),
    "lists": lambda X: X.tolist(),
    "tuples": lambda X: tuple(map(tuple, X.tolist())),
    "lists of floats": lambda X: X.astype(float).tolist(),
    "arrays in a list": list,
    "frame": _frame,
    "frame of floats": lambda X: _frame(X.astype("f4")),
    "frame of many types": lambda X: _frame(X).astype(
        {NAMES[0]: "f4", NAMES[1]: "u1", NAMES[2]: "f8"}
    ),
    "nullable frame": lambda X: _frame(X).astype("Int64"),
    "nullable floats": lambda X: _frame(X).astype("Float32"),
    "Arrow-backed frame": lambda X: _frame(X).astype("int64[pyarrow]"),
    "Arrow-backed floats": lambda X: _frame(X).astype("double[pyarrow]"),
    "sparse frame": lambda X: _frame(X).astype(pd.SparseDtype(np.int64, 0)),
    "partly sparse frame": lambda X: _frame(X).astype({NAMES[1]: pd.SparseDtype(float, 0.0)}),
    "frame of objects": lambda X: _frame(X).astype(object),
    "polars": lambda X: pl.DataFrame(X, schema=NAMES),
    "polars of many types": lambda X: pl.DataFrame(X, schema=NAMES).cast(
        {NAMES[0]: pl.Float32, NAMES[1]: pl.UInt8}
    ),
    "polars of decimals": lambda X: pl.DataFrame(X, schema=NAMES).cast(pl.Decimal(10, 2)),
    "Arrow table": lambda X: pa.table(dict(zip(NAMES, X.T, strict=True))),
    "Arrow batch": lambda X: pa.record_batch(dict(zip(NAMES, X.T, strict=True))),
}
REFUSED = {  # container: what is said, by a ValueError or a TypeError
    "complex": (lambda X: X + 0j, r"[Cc]omplex|no number"),
    "sparse complex": (lambda X: sp.csr_array(X + 0j), r"[Cc]omplex|no number"),
    "text": (lambda X: X.astype(str), r"text|real numbers|no number|strings"),
    "objects of text": (
        lambda X: X.astype(str).astype(object),
        r"text|real numbers|no number|strings",
    ),
    "dates": (lambda X: X.astype("M8[D]"), r"dates|no number"),
    "one row": (lambda X: X[0], r"dimension|2D|1D"),
    "three dimensions": (lambda X: X[None], r"dimension|dim 3"),
    "a number": (lambda X: 3, r"dimension|scalar"),
    "nothing": (lambda X: None, r"None|dimension"),
    "lazy polars": (lambda X: pl.DataFrame(X).lazy(), r"collect"),
    "array API": (lambda X: array_api_strict.asarray(X), r"array_api_strict"),
    "series": (lambda X: pd.Series(X[:, 0]), r"dimension|2D|1D"),
    "ragged lists": (lambda X: [[1, 2, 3, 4, 5], [1]] * 12, r"inhomogeneous|as many values"),
    "frame of text": (lambda X: _frame(X).astype(str), r"text|real numbers|no number|strings"),
    "frame of categories": (
        lambda X: _frame(X.astype(str)).astype("category"),
        r"text|real numbers|no number|strings",
    ),
    "frame of dates": (lambda X: _frame(X.astype("M8[ns]")), r"dates|no number"),
    "holes": (lambda X: np.where(X == 3, np.nan, X), r"NaN"),
    "infinity": (lambda X: np.where(X == 3, np.inf, X), r"infinity"),
    "masked entries": (lambda X: np.ma.masked_array(X, mask=X == 3), r"NaN"),
    "nullable holes": (lambda X: _frame(X).astype("Int64").mask(X == 3), r"NaN"),
}


def entries(container):
    """Whole numbers, of truth values where the container has only those."""
    return np.minimum(WHOLE, 1) if container in ("array of ?", "csr of ?") else WHOLE


def plain(X):
    """Entries of what `transform` gives."""
    return np.asarray(X.toarray() if sp.issparse(X) else X, dtype=float)


def answers(model, X):
    """What all methods say of rows."""
    found = {}
    for method in METHODS:
        if hasattr(model, method):
            found[method] = getattr(model, method)(*((X, Y) if method == "score" else (X,)))
    return found


def same(found, expected):
    assert found.keys() == expected.keys()
    for method, each in found.items():
        if method == "predict":
            np.testing.assert_array_equal(each, expected[method])
        else:
            np.testing.assert_allclose(
                plain(each), plain(expected[method]), rtol=1e-9, atol=1e-12, err_msg=method
            )


@cache
def known(name, *, binary):
    """A model of dense float64, what it says, and one of two batches."""
    X = (np.minimum(WHOLE, 1) if binary else WHOLE).astype(float)
    model = clone(ESTIMATORS[name]).fit(X, Y)
    parts = batches(name, X)
    return model, answers(model, X), parts and answers(parts, X)


def batches(name, X):
    """Return the model of two halves, if it has batches."""
    model = clone(ESTIMATORS[name])
    if not hasattr(model, "partial_fit") or name == "calibrated":  # they need all rows
        return None
    half = [X[:12], X[12:]] if not hasattr(X, "tocsr") else [X.tocsr()[:12], X.tocsr()[12:]]
    if hasattr(X, "iloc"):
        half = [X.iloc[:12], X.iloc[12:]]
    return model.partial_fit(half[0], Y[:12], classes=[0, 1, 2]).partial_fit(half[1], Y[12:])


TELLING = ("array of f4", "array of >f8", "csr array", "csc matrix", "coo array", "lists", "frame",
           "sparse frame", "polars of decimals", "Arrow table")  # fmt: skip
DISTINCT = ("multinomial", "bernoulli", "poisson", "categorical", "gaussian", "mixed", "l2 centers",
            "l1 centers", "hybrid", "search", "search of errors")  # fmt: skip
CELLS = [
    (name, container)
    for name in ESTIMATORS
    for container in CONTAINERS
    if name in DISTINCT or container in TELLING
]


@pytest.mark.parametrize(("name", "container"), CELLS)
def test_a_container_of_whole_numbers_is_the_dense_float64_array(name, container):
    dense = entries(container)
    X = CONTAINERS[container](dense)
    model, expected, of_batches = known(name, binary=dense.max() == 1)
    found = clone(ESTIMATORS[name]).fit(X, Y)
    np.testing.assert_array_equal(found.get_support(), model.get_support())
    same(answers(found, X), expected)
    if not hasattr(found, "feature_names_in_"):
        same(answers(found, dense.astype(float)), expected)
        same(answers(model, X), expected)
    if of_batches is not None:
        same(answers(batches(name, X), X), of_batches)


@every_estimator
def test_a_file_mapped_into_memory_is_its_rows(name, tmp_path):
    X = _mapped(WHOLE, tmp_path)
    same(answers(clone(ESTIMATORS[name]).fit(X, Y), X), known(name, binary=False)[1])


@every_estimator
@pytest.mark.parametrize("container", REFUSED)
def test_what_holds_no_finite_numbers_is_refused_in_one_message(name, container):
    make, message = REFUSED[container]
    if message == "NaN" and ("missing" in name or name == "mixed"):
        return  # what is missing is left out
    X, estimator = make(WHOLE), ESTIMATORS[name]
    fitted = clone(estimator).fit(_frame(WHOLE) if hasattr(X, "iloc") and X.ndim == 2 else WHOLE, Y)
    asked = [lambda: clone(estimator).fit(X, Y)]
    if batches(name, WHOLE) is not None:
        asked.append(lambda: clone(estimator).partial_fit(X, Y, classes=[0, 1, 2]))
    # Columns are picked of arrays of anything, and of a table that may have holes.
    picks = (
        ("text" in container or "categories" in container)
        or (message != "NaN" and fitted.__class__.__name__ in PICKS)
        or (message == "infinity" and "missing" in name)
    )
    methods = METHODS[: 4 if picks else 5]
    asked += [partial(getattr(fitted, each), X) for each in methods if hasattr(fitted, each)]
    for ask in asked:
        with pytest.raises((ValueError, TypeError), match=message) as caught:
            ask()
        assert len(str(caught.value)) < 1000
