"""A sparse class table must behave as the dense one it stands for, all the way to the model."""

import numpy as np
import pytest
import scipy.sparse as sp

from naively import ClassCounts, SparseBernoulliNB, SparseMultinomialNB, sparsity_path
from naively.statistics.sparse_table import SparseTable, index_type, settled

MODELS = [SparseMultinomialNB, SparseBernoulliNB]


def sample(n_classes, kind, *, n_rows=60, n_columns=400, seed=0):
    rng = np.random.default_rng(seed)
    X = sp.random_array((n_rows, n_columns), density=0.02, rng=rng, format="csr")
    X.data = rng.integers(1, 4, X.nnz) if kind == "int" else rng.random(X.nnz) * 3
    y = rng.integers(0, n_classes, n_rows)
    y[:n_classes] = np.arange(n_classes)
    return (X.astype(np.int64) if kind == "int" else X), y


def both(X, y, **options):
    dense = ClassCounts.from_matrix(X, y, **options)
    wide = ClassCounts.from_matrix(X, y, **options, dense_cells=0)
    assert isinstance(wide.table, SparseTable)
    return dense, wide


@pytest.mark.parametrize("presence", [False, True])
@pytest.mark.parametrize("kind", ["int", "real"])
@pytest.mark.parametrize("n_classes", [2, 5])
def test_counts_are_those_of_the_dense_table(n_classes, kind, presence):
    X, y = sample(n_classes, kind)
    dense, wide = both(X, y, presence=presence)
    np.testing.assert_array_equal(wide.table.toarray(), dense.table)
    assert wide.table.dtype == dense.table.dtype
    np.testing.assert_array_equal(wide.length_values, dense.length_values)
    np.testing.assert_array_equal(wide.length_weight, dense.length_weight)
    np.testing.assert_allclose(wide.table.sum(axis=1), dense.table.sum(axis=1), rtol=1e-14)
    np.testing.assert_allclose(wide.table.sum(axis=0), dense.table.sum(axis=0), rtol=1e-14)
    np.testing.assert_array_equal(wide.feature_count.toarray(), dense.feature_count)
    some = np.array([399, 0, 7, 7, -1])
    np.testing.assert_array_equal(wide.table[some], dense.table[some])
    np.testing.assert_array_equal(wide.table[10:90:3], dense.table[10:90:3])
    mask = np.arange(400) % 7 == 0
    np.testing.assert_array_equal(wide.take(mask).table, dense.take(mask).table)


@pytest.mark.parametrize("container", [sp.csc_array, sp.coo_array, lambda X: X.toarray()])
def test_counts_do_not_depend_on_the_container(container, monkeypatch):
    X, y = sample(3, "int")
    monkeypatch.setattr("naively.statistics.tally._BLOCK", 37)
    assert both(container(X), y)[1].equals(both(X, y)[1])


def test_columns_taken_from_a_wide_table_may_stay_sparse(monkeypatch):
    dense, wide = both(*sample(3, "int"))
    monkeypatch.setattr("naively.statistics.sparse_table.DENSE_CELLS", 10)
    columns = np.array([3, 4, 50, 51, 52, 399])
    taken = wide.take(columns)
    assert isinstance(taken.table, SparseTable)
    np.testing.assert_array_equal(taken.table.toarray(), dense.table[columns])


def test_weights_are_added_up():
    X, y = sample(3, "int")
    weights = np.arange(len(y)) % 4 / 2
    dense, wide = both(X, y, sample_weight=weights)
    np.testing.assert_allclose(wide.table.toarray(), dense.table, rtol=1e-14)
    assert wide.table.dtype == np.float64


@pytest.mark.parametrize("kind", ["int", "real"])
def test_sums_and_differences_in_any_mixture_of_forms(kind):
    X, y = sample(4, kind)
    first, second = slice(None, 20), slice(20, None)
    whole = both(X, y)
    parts = both(X[first], y[first]), both(X[second], y[second])
    for one in parts[0]:
        for other in parts[1]:
            table = (one + other).table
            table = table.toarray() if isinstance(table, SparseTable) else table
            np.testing.assert_allclose(table, whole[0].table, rtol=1e-14)
        for total in whole:
            table = (total - one).table
            table = table.toarray() if isinstance(table, SparseTable) else table
            np.testing.assert_allclose(table, parts[1][0].table, rtol=1e-12, atol=1e-12)


def test_whole_numbers_add_up_bit_for_bit_in_any_order():
    X, y = sample(4, "int")
    parts = [both(X[i::7], y[i::7])[1] for i in range(7)]
    forth = sum(parts[1:], start=parts[0])
    back = sum(parts[-2::-1], start=parts[-1])
    assert forth.equals(both(X, y)[1])
    assert back.equals(forth)


def test_new_classes_move_the_cells():
    X, y = sample(2, "int")
    wide = both(X, y * 2 + 1)[1] + both(X, y * 2)[1]
    dense = ClassCounts.from_matrix(sp.vstack([X, X]), np.concatenate([y * 2 + 1, y * 2]))
    np.testing.assert_array_equal(wide.table.toarray(), dense.table)


def test_only_counted_rows_can_be_subtracted():
    X, y = sample(2, "int")
    wide = both(X[:20], y[:20])[1]
    with pytest.raises(ValueError, match="Only statistics of rows that were counted"):
        wide - both(X[20:], y[20:])[1]


def test_an_error_names_the_place_in_the_whole_matrix(monkeypatch):
    monkeypatch.setattr("naively.statistics.tally._BLOCK", 37)
    X, y = sample(3, "real")
    X.data[-1] = np.nan
    column = X.indices[-1]
    with pytest.raises(ValueError, match=f"NaN at row {len(y) - 1}, column {column}"):
        ClassCounts.from_matrix(X, y, dense_cells=0)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("kind", ["int", "real"])
@pytest.mark.parametrize("n_classes", [2, 3, 6])
def test_models_are_those_of_the_dense_table(n_classes, kind, model):
    X, y = sample(n_classes, kind)
    dense, wide = both(X, y, presence=model is SparseBernoulliNB)
    for k in (2, 5, 50, 300, 390):  # 390: columns without any count come in, by index
        expected, found = model.from_statistics(dense, k=k), model.from_statistics(wide, k=k)
        np.testing.assert_array_equal(found.support_, expected.support_)
        for figure in ("objective", "bound", "baseline"):
            assert getattr(found.certificate_, figure) == pytest.approx(
                getattr(expected.certificate_, figure), rel=1e-10
            )
        np.testing.assert_allclose(found.coef_, expected.coef_)
        np.testing.assert_allclose(found.scores_, expected.scores_, atol=1e-12)
        np.testing.assert_allclose(found.predict_log_proba(X), expected.predict_log_proba(X))


@pytest.mark.parametrize("model", MODELS)
def test_the_path_is_that_of_the_dense_table(model):
    dense, wide = both(*sample(3, "int"), presence=model is SparseBernoulliNB)
    expected, found = (sparsity_path(model(), s, ks=[2, 5, 50, 380]) for s in (dense, wide))
    np.testing.assert_allclose(found.objective, expected.objective, rtol=1e-12)
    np.testing.assert_array_equal(found.entry, expected.entry)
    np.testing.assert_array_equal(found.order, expected.order)
    np.testing.assert_array_equal(found.support(380), expected.support(380))


@pytest.mark.parametrize("kind", ["int", "real"])
def test_smoothing_per_feature_keeps_columns_apart(kind):
    dense, wide = both(*sample(3, kind))
    alpha = 1 + np.arange(400) % 5 / 10
    expected, found = (
        SparseMultinomialNB.from_statistics(s, 40, alpha=alpha) for s in (dense, wide)
    )
    np.testing.assert_array_equal(found.support_, expected.support_)


def test_the_form_follows_the_share_of_cells_that_occur(monkeypatch):
    monkeypatch.setattr("naively.statistics.sparse_table.DENSE_CELLS", 100)
    table = np.zeros((100, 2), dtype=np.int64)
    table[:50] = 1
    assert isinstance(settled(table), SparseTable)
    table[:70] = 1  # 12 bytes for 140 cells are more than 8 for 200
    assert settled(table) is table
    assert isinstance(settled(SparseTable.from_dense(table)), np.ndarray)


def test_cells_are_numbered_in_the_narrowest_type():
    assert index_type((2**31, 2)) == np.uint32
    assert index_type((2**31, 3)) == np.int64


def test_two_to_the_28_columns_of_twenty_classes_take_the_memory_of_what_occurs():
    """Dense, this table would be 40 GiB; nothing but the mask of the support is as long as it."""
    rng = np.random.default_rng(0)
    columns = np.sort(rng.choice(2**28, 3000, replace=False))
    X = sp.csr_array(
        (np.ones(9000, dtype=np.int64), np.tile(columns, 3), np.arange(0, 9001, 9)), (1000, 2**28)
    )
    y = np.arange(1000) % 20
    counts = ClassCounts.from_matrix(X, y) + ClassCounts.zero(2**28) + ClassCounts.from_matrix(X, y)
    assert isinstance(counts.table, SparseTable)
    assert counts.table.nbytes < 1e6
    model = SparseMultinomialNB.from_statistics(counts, k=50)
    X_narrow = sp.csr_array((X.data, np.tile(np.arange(3000), 3), X.indptr), (1000, 3000))
    narrow = ClassCounts.from_matrix(X_narrow, y)
    expected = SparseMultinomialNB.from_statistics(narrow + narrow, k=50)
    np.testing.assert_array_equal(model.get_support(indices=True), columns[expected.support_])
