"""Leave-one-out features: equal to as many refits as there are rows."""

from __future__ import annotations

import numba
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings, strategies as st

import reference_hybrid as reference
from naively.models.hybrid import WordModel
from naively.statistics.regions import Regions, WordCounts, is_whole


def word_counts(X, y, weights, regions, n_classes):
    arranged = sp.csr_matrix(X if regions.columns() is None else X[:, regions.columns()])
    onehot = np.eye(n_classes)[y] * np.asarray(weights)[:, None]
    if is_whole(arranged.data) and is_whole(np.asarray(weights)):
        table = regions.fold((X.T @ onehot).astype(np.int64))
        return arranged, WordCounts.whole(table, regions)
    weights = np.asarray(weights, dtype=float)
    return arranged, WordCounts.paired(arranged, y, weights, regions, n_classes)


def both(X, y, weights, *, n_regions, shared, normalize, alpha, order=None, n_classes=3):
    """Features by the sweep, and by refits in plain loops."""
    X, y = np.asarray(X, dtype=float), np.asarray(y)
    n_words = X.shape[1] // n_regions
    regions = Regions(np.arange(n_regions + 1) * n_words, shared, order)
    rows, counts = word_counts(X, y, weights, regions, n_classes)
    alpha = np.atleast_1d(np.asarray(alpha, dtype=float))
    model = WordModel(regions, counts, alpha, normalize)
    columns = np.arange(X.shape[1]) if order is None else order
    per_column = np.empty(n_words if shared else X.shape[1])
    per_column[slice(None) if shared else columns] = alpha
    slow = reference.leave_one_out(
        X.tolist(),
        y.tolist(),
        list(weights),
        n_classes=n_classes,
        regions=columns.reshape(n_regions, n_words).tolist(),
        alpha=per_column.tolist(),
        shared=shared,
        normalize=normalize,
    )
    return model.leave_one_out(rows, y, np.asarray(weights, dtype=float)), slow


def assert_equal(fast, slow, words=1.0):
    """Agreement per word: a sum over many words of log p near 0 has lost digits in any order."""
    words = np.maximum(words, 1.0)
    np.testing.assert_allclose(fast / words, slow / words, rtol=1e-12, atol=1e-12)


# Word 3 occurs in the last row only, there in both regions; row 1 has an empty first region, row
# 3 an empty second one, row 2 nothing at all; class 2 has a single row.
COUNTS = np.array(
    [
        [1, 0, 2, 0, 3, 1, 0, 0],
        [0, 0, 0, 0, 1, 1, 4, 0],
        [0, 0, 0, 0, 0, 0, 0, 0],
        [2, 1, 0, 0, 0, 0, 0, 0],
        [0, 1, 1, 0, 2, 0, 1, 0],
        [0, 0, 1, 7, 0, 1, 0, 9],
    ]
)
LABELS = np.array([0, 0, 1, 1, 0, 2])
WEIGHTS = {
    "none": np.ones(6),
    "whole": np.array([3, 1, 2, 1, 5, 4]),
    "zero": np.array([1, 0, 1, 1, 1, 0]),
    "real": np.array([0.1, 1 / 3, 2.7, 1e-3, 0.9, 0.7]),
    "uneven": np.array([1e7, 1e-7, 1.0, 1e-5, 3e6, 1e-6]),
}


@pytest.mark.parametrize("weights", WEIGHTS.values(), ids=WEIGHTS)
@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("alpha", [1.0, 1e-14, "per word"])
@pytest.mark.parametrize("scale", [1, 0.1])
def test_equals_refits(weights, shared, normalize, alpha, scale):
    if alpha == "per word":
        alpha = np.logspace(-12, 1, 4 if shared else 8)
    fast, slow = both(
        COUNTS * scale,
        LABELS,
        weights,
        n_regions=2,
        shared=shared,
        normalize=normalize,
        alpha=alpha,
    )
    assert_equal(fast, slow)
    assert (fast[1, 0] == 0).all()
    assert (fast[3, 1] == 0).all()
    assert (fast[2] == 0).all()


def test_a_word_of_one_row_is_left_with_its_smoothing_alone():
    """By hand: without the row its class knows nothing, and each of 4 words has 1/4."""
    fast, _ = both(
        COUNTS, LABELS, np.full(6, 0.1), n_regions=2, shared=True, normalize=True, alpha=1
    )
    np.testing.assert_allclose(fast[5, :, 2], np.log([1 / 4, 1 / 4]), rtol=1e-15)


@st.composite
def corpora(draw):
    n_regions, n_words = draw(st.integers(1, 3)), draw(st.integers(1, 4))
    n = draw(st.integers(1, 6))
    m = n_regions * n_words
    whole = draw(st.booleans())
    values = st.integers(0, 3) if whole else st.sampled_from([0, 0, 0.1, 1 / 3, 1e-4, 7, 1e5])
    X = np.array(draw(st.lists(values, min_size=n * m, max_size=n * m))).reshape(n, m)
    y = np.array(draw(st.lists(st.integers(0, 2), min_size=n, max_size=n)))
    some = st.sampled_from([0, 1, 1, 2]) if whole else st.sampled_from([0, 1, 0.3, 1e-6, 1e6])
    weights = np.array(draw(st.lists(some, min_size=n, max_size=n)))
    shared, normalize = draw(st.booleans()), draw(st.booleans())
    order = np.array(draw(st.permutations(range(m)))) if draw(st.booleans()) else None
    alpha = draw(st.sampled_from([1.0, 0.5, 1e-3, 1e-10]))
    options = {"n_regions": n_regions, "shared": shared, "normalize": normalize}
    return X, y, weights, {**options, "alpha": alpha, "order": order}


@given(corpora())
@settings(max_examples=200, deadline=None, derandomize=True)
def test_equals_refits_on_anything(corpus):
    X, y, weights, options = corpus
    fast, slow = both(X, y, weights, **options)
    assert_equal(fast, slow, 1.0 if options["normalize"] else X.sum(axis=1)[:, None, None])


def test_pairs_agree_with_integers():
    """The two kernels, on the same whole counts."""
    rng = np.random.default_rng(1)
    X = sp.csr_matrix(rng.poisson(0.3, (50, 24)))
    y, weights = rng.integers(0, 3, 50), rng.integers(0, 4, 50).astype(float)
    regions = Regions(np.array([0, 8, 16, 24]), True)
    table = regions.fold(X.T @ (np.eye(3)[y] * weights[:, None])).astype(np.int64)
    whole = WordModel(regions, WordCounts.whole(table, regions), np.array([0.1]), True)
    pairs = WordCounts.paired(X, y, weights, regions, 3)
    assert (pairs.high == table).all()
    assert not pairs.low.any()
    paired = WordModel(regions, pairs, np.array([0.1]), True)
    np.testing.assert_allclose(
        whole.leave_one_out(X, y, weights), paired.leave_one_out(X, y, weights), rtol=1e-14
    )


def test_order_of_entries_does_not_matter():
    X = sp.csr_matrix(COUNTS)
    backwards = X.copy()
    for i in range(6):
        row = slice(X.indptr[i], X.indptr[i + 1])
        backwards.indices[row], backwards.data[row] = X.indices[row][::-1], X.data[row][::-1]
    regions = Regions(np.array([0, 4, 8]), True)
    counts = WordCounts.whole(regions.fold(X.T @ np.eye(3, dtype=int)[LABELS]), regions)
    model = WordModel(regions, counts, np.array([1.0]), True)
    there, back = (model.leave_one_out(A, LABELS, np.ones(6)) for A in (X, backwards))
    np.testing.assert_allclose(there, back, rtol=1e-14)


def test_features_of_new_rows_leave_nothing_out():
    """One more row, of weight zero, is a row that is not there."""
    weights = np.array([1, 1, 1, 1, 1, 0])
    fast, _ = both(COUNTS, LABELS, weights, n_regions=2, shared=True, normalize=True, alpha=1)
    regions = Regions(np.array([0, 4, 8]), True)
    rows, counts = word_counts(COUNTS, LABELS, weights, regions, 3)
    model = WordModel(regions, counts, np.array([1.0]), True)
    new = model.leave_one_out(rows[[5]], LABELS[[5]], np.zeros(1))
    np.testing.assert_allclose(new[0], fast[5], rtol=1e-15)
    for A in (rows[[5]], rows[[5]].toarray()):
        evidence = model.rule(np.ones(2), np.zeros(3)).evidence(A)
        np.testing.assert_allclose(evidence, new, rtol=1e-14)
    sums = COUNTS[:, :4] + COUNTS[:, 4:]
    log_p = np.log((np.eye(3)[LABELS] * weights[:, None]).T @ sums + 1)
    log_p -= np.log(np.exp(log_p).sum(axis=1, keepdims=True))
    np.testing.assert_allclose(model.log_probability.T, log_p, rtol=1e-14)


def test_threads_do_not_change_a_bit():
    rng = np.random.default_rng(2)
    X = sp.csr_matrix(rng.poisson(0.5, (4000, 200)))
    y = rng.integers(0, 2, 4000)
    regions = Regions(np.array([0, 100, 200]), True)
    table = regions.fold(X.T @ np.eye(2, dtype=int)[y])
    model = WordModel(regions, WordCounts.whole(table, regions), np.array([1.0]), True)
    threads = numba.get_num_threads()
    try:
        numba.set_num_threads(1)
        alone = model.leave_one_out(X, y, np.ones(4000))
    finally:
        numba.set_num_threads(threads)
    assert X.nnz > 2 * (1 << 17)
    assert (model.leave_one_out(X, y, np.ones(4000)) == alone).all()
