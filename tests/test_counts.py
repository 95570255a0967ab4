"""Class statistics: right values from any container, errors that explain, laws of addition."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

import reference
from naively import ClassCounts

rng = np.random.default_rng(0)
COUNTS = rng.poisson(0.5, (40, 7))
LABELS = rng.integers(0, 3, 40)

CONTAINERS = {
    "dense": lambda X: X,
    "fortran": np.asfortranarray,
    "strided": lambda X: np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3],
    "list": lambda X: X.tolist(),
    "csr": sp.csr_matrix,
    "csc": sp.csc_array,
    "coo": sp.coo_array,
    "lil": sp.lil_matrix,
    "pandas": pd.DataFrame,
    "sparse pandas": lambda X: pd.DataFrame.sparse.from_spmatrix(sp.csr_matrix(X)),
    "polars": lambda X: pl.DataFrame(X, schema=[str(j) for j in range(X.shape[1])]),
}


@pytest.mark.parametrize("container", CONTAINERS.values(), ids=CONTAINERS)
def test_every_container_gives_the_same_statistics(container):
    table, totals = reference.class_sums(COUNTS, LABELS, 3)
    counts = ClassCounts.from_matrix(container(COUNTS), LABELS)
    assert counts.table.dtype == np.int64
    np.testing.assert_array_equal(counts.table, table)
    histogram = reference.length_histogram(totals, LABELS, 3)
    assert dict(zip(counts.length_values.tolist(), counts.length_weight.tolist())) == histogram
    assert counts.equals(ClassCounts.from_matrix(COUNTS, LABELS))
