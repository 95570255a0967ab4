"""Laws of everything that adds up: counts, presence, moments and categories."""

import pickle
from dataclasses import dataclass, field
from functools import reduce
from operator import add

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays

from agreement import agree
from naively import ClassCategories, ClassCounts, ClassMoments

M = 4
WHOLE, DYADIC, SIGNED = [0, 0, 1, 2, 5], [0, 0.25, 1, 3.5], [-2.5, -1, 0, 0, 1, 3e3]


@dataclass(frozen=True)
class Kind:
    """A statistic, and values whose sums are exact in it."""

    of: type
    values: list
    settings: dict = field(default_factory=dict)


KINDS = {
    "counts": Kind(ClassCounts, WHOLE),
    "real counts": Kind(ClassCounts, DYADIC),
    "sparse counts": Kind(ClassCounts, WHOLE, {"dense_cells": 0}),
    "counts and documents": Kind(ClassCounts, WHOLE, {"documents": True}),
    "sparse counts and documents": Kind(ClassCounts, WHOLE, {"documents": True, "dense_cells": 0}),
    "presence": Kind(ClassCounts, DYADIC, {"presence": True, "threshold": 0.5}),
    "moments": Kind(ClassMoments, SIGNED),
    "sums": Kind(ClassMoments, SIGNED, {"deviations": False}),
    "categories": Kind(ClassCategories, WHOLE),
}
every_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)


@st.composite
def batches(draw, kind, count=2, rows=5):
    """Rows and labels of several batches over the same features."""
    parts = []
    for _ in range(count):
        n = draw(st.integers(0, rows))
        dtype = np.int64 if kind.values is WHOLE else np.float64
        X = draw(arrays(dtype, (n, M), elements=st.sampled_from(kind.values)))
        y = draw(st.lists(st.sampled_from("abcd"), min_size=n, max_size=n))
        X = sp.csr_array(X) if draw(st.booleans()) else X
        parts.append((X, np.array(y, dtype="U1")))
    return parts


def gathered(kind, X, y, weights=None, **options):
    return kind.of.from_matrix(X, y, weights, **kind.settings, **options)


def stacked(parts):
    X = [X.toarray() if sp.issparse(X) else X for X, _ in parts]
    return np.vstack(X), np.concatenate([y for _, y in parts])


ROWS = {"class_rows"}  # a row of weight 2 is one row
LENGTHS = {"length_values", "length_weight"}  # of whole rows


# -- laws ----------------------------------------------------------------------------------------


@every_kind
@given(data=st.data())
def test_the_sum_of_batches_is_the_batch_of_all(kind, data):
    parts = data.draw(batches(kind, 3))
    together = gathered(kind, *stacked(parts))
    each = [gathered(kind, *part) for part in parts]
    agree(sum(each), together)
    agree(each[0].update(*parts[1]).update(*parts[2]), together)


@every_kind
@given(data=st.data())
def test_addition_commutes_and_associates_over_any_classes(kind, data):
    a, b, c = (gathered(kind, *part) for part in data.draw(batches(kind, 3)))
    agree(a + b, b + a)
    agree((a + b) + c, a + (b + c))
    assert (a + b).classes.tolist() == sorted({*a.classes.tolist(), *b.classes.tolist()})


@every_kind
@given(data=st.data())
def test_nothing_is_neutral(kind, data):
    (part,) = data.draw(batches(kind, 1))
    found = gathered(kind, *part)
    zero = kind.of.zero(M, **found._settings)
    assert zero.n_features == M
    for result in (zero + found, found + zero, found - zero, found + (found - found)):
        agree(result, found)
    assert not any(np.any(array) for array in gone(found - found).values())


def gone(statistics):
    return {
        name: array.values if hasattr(array, "toarray") else array
        for name, array in statistics._arrays().items()
    }


@every_kind
@given(data=st.data())
def test_subtraction_undoes_addition(kind, data):
    a, b = (gathered(kind, *part, classes=list("abcd")) for part in data.draw(batches(kind)))
    agree(a + b - b, a + (b - b))
    if kind.of is not ClassCategories:  # categories that were seen stay, without rows
        agree(a + b - b, a)


@every_kind
@given(data=st.data(), columns=st.lists(st.integers(-M, M - 1), max_size=6))
def test_features_are_taken_before_or_after(kind, data, columns):
    parts = data.draw(batches(kind))
    a, b = (gathered(kind, *part, classes=list("abcd")) for part in parts)
    agree((a + b).take(columns), a.take(columns) + b.take(columns))
    agree((a + b - b).take(columns), (a + b).take(columns) - b.take(columns))
    X, y = parts[0]
    narrow = gathered(kind, X[:, np.array(columns, dtype=int)], y, classes=list("abcd"))
    agree(a.take(columns), narrow, but=LENGTHS)
    mask = np.isin(np.arange(M), np.mod(columns, M))
    agree(a.take(mask), a.take(np.flatnonzero(mask)))


@every_kind
@given(data=st.data())
def test_weights_are_repetition(kind, data):
    ((X, y),) = data.draw(batches(kind, 1))
    times = np.array(data.draw(st.lists(st.integers(1, 3), min_size=len(y), max_size=len(y))), int)
    rows = np.repeat(np.arange(len(y)), times)
    agree(gathered(kind, X, y, times), gathered(kind, X[rows], y[rows]), but=ROWS)


@every_kind
@given(data=st.data())
def test_rows_come_in_any_order(kind, data):
    ((X, y),) = data.draw(batches(kind, 1, rows=8))
    order = np.array(data.draw(st.permutations(range(len(y)))), dtype=int)
    agree(gathered(kind, X[order], y[order]), gathered(kind, X, y))


@every_kind
@given(data=st.data(), chosen=st.lists(st.integers(0, 3), unique=True))
def test_classes_are_those_of_their_rows(kind, data, chosen):
    """So training and held-out rows can be counted in one pass, and told apart later."""
    ((X, y),) = data.draw(batches(kind, 1, rows=8))
    found = gathered(kind, X, y, classes=list("abcd"))
    names = np.array(["zebra", "ant", "mule", "yak"])[chosen]
    rows = np.isin(y, np.array(list("abcd"))[chosen])
    name_of = dict(zip(np.array(list("abcd"))[chosen].tolist(), names.tolist(), strict=True))
    labels = np.array([name_of[label] for label in y[rows].tolist()], dtype="U5")
    agree(found.of_classes(chosen, names), gathered(kind, X[rows], labels, classes=names))
    agree(found.of_classes(range(4)), found)


@every_kind
def test_a_hundred_batches_of_a_row_in_a_tree_or_in_a_line(kind):
    rng = np.random.default_rng(0)
    X, y = rng.choice(kind.values, (100, M)), rng.integers(0, 3, 100)
    each = [gathered(kind, X[i : i + 1], y[i : i + 1]) for i in range(100)]
    agree(reduce(add, each), gathered(kind, X, y))
    while len(each) > 1:
        each = [sum(each[i : i + 2]) for i in range(0, len(each), 2)]
    agree(each[0], gathered(kind, X, y))


@every_kind
def test_values_never_change_and_travel(kind):
    X, y = np.array([[0, 1, 2, 5], [1, 0, 0, 2]]), ["a", "b"]
    a = gathered(kind, X, y)
    kept = pickle.loads(pickle.dumps(a))
    assert kept.equals(a)
    _ = a + a, a - a, a.take([0]), a.of_classes([1])
    assert kept.equals(a)
    assert not kept.equals(a + a)
    assert not a.equals(a.of_classes([0, 1], ["a", "c"]))
    with pytest.raises(AttributeError):
        a.classes = a.classes


# -- what does not belong together ---------------------------------------------------------------


@every_kind
def test_wrong_partners_are_refused(kind):
    X = np.ones((2, M), dtype=int)
    a = gathered(kind, X, ["a", "b"])
    with pytest.raises(ValueError, match="n_features=4 and n_features=3"):
        a + kind.of.zero(3, **a._settings)
    with pytest.raises(ValueError, match="n_features=4 and n_features=3"):
        a - kind.of.zero(3, **a._settings)
    for labels in (["a", "c"], ["c", "d"]):  # as many classes, but others
        with pytest.raises(ValueError, match="labels outside"):
            a - gathered(kind, X, labels)
    with pytest.raises(ValueError, match="Labels must be of one kind"):
        a + gathered(kind, X, [0, 1])
    with pytest.raises(ValueError, match="negative counts"):
        a - (a + a)
    with pytest.raises(ValueError, match="distinct labels"):
        a.of_classes([0, 1], ["x", "x"])
    with pytest.raises(IndexError):
        a.take([M])
    stranger = ClassMoments.zero(M) if kind.of is not ClassMoments else ClassCounts.zero(M)
    for operation in (add, lambda one, two: one - two):
        for other in (stranger, 1, None):
            with pytest.raises(TypeError, match="unsupported operand"):
                operation(a, other)
    assert not a.equals(stranger)


@pytest.mark.parametrize(
    ("one", "two"),
    [
        (ClassCounts.zero(2), ClassCounts.zero(2, presence=True)),
        (
            ClassCounts.zero(2, presence=True),
            ClassCounts.zero(2, presence=True, threshold=1.0),
        ),
        (ClassMoments.zero(2), ClassMoments.zero(2, deviations=False)),
    ],
)
def test_other_settings_count_something_else(one, two):
    for operation in (add, lambda a, b: a - b):
        with pytest.raises(ValueError, match="must count the same thing"):
            operation(one, two)


# -- rounding ------------------------------------------------------------------------------------


@every_kind
def test_what_counts_as_nothing(kind):
    """A share of 1e-12 of what it was taken from, from both sides."""
    X, y = np.ones((2, M), dtype=int), ["a", "a"]
    for share, stays in ((3e-12, True), (3e-13, False)):
        weights = np.array([1.0, share])
        rest = gathered(kind, X, y, weights) - gathered(kind, X[:1], y[:1], weights[:1])
        assert (rest.class_weight > 0).tolist() == [stays]
        for name, array in gone(rest).items():
            if name not in ("class_rows", "scatter"):
                assert (np.any(array) == stays) or array is None, name


def test_rounding_of_a_fold_is_no_absence():
    """Weights that were summed in another order must not lift the veto of a word in all rows."""
    from naively.models.bernoulli import bernoulli

    rng = np.random.default_rng(0)
    for _ in range(20):
        X, y, w = rng.integers(0, 2, (40, 6)), np.arange(40) % 2, rng.random(40)
        X[y == 1, :3] = 1
        settings, fold = {"presence": True}, rng.random(40) < 0.2
        whole = ClassCounts.from_matrix(X, y, w, **settings)
        part = ClassCounts.from_matrix(X[fold], y[fold], w[fold], classes=[0, 1], **settings)
        rest = ClassCounts.from_matrix(X[~fold], y[~fold], w[~fold], **settings)
        rules = [
            bernoulli(0.0).rule(each, np.arange(6), np.zeros(2)) for each in (whole - part, rest)
        ]
        one, two = (rule.scores(1 - np.eye(6, dtype=int)) for rule in rules)
        np.testing.assert_allclose(one, two, rtol=1e-9)


@pytest.mark.parametrize("kind", [ClassCounts, ClassMoments, ClassCategories])
def test_weights_of_classes_are_those_of_their_rows(kind):
    local = np.random.default_rng(0)
    X, y = local.integers(0, 4, (30, 5)), np.arange(30) % 3
    by = np.array([0.5, 1.0, 3.0])
    rows = kind.from_matrix(X, y, by[y])
    for form in (X, sp.csr_array(X)):
        agree(kind.from_matrix(form, y).weighted(by), rows, rounded=("scatter", "total", "table"))
    if kind is ClassCounts:
        wide = kind.from_matrix(sp.csr_array(X), y, dense_cells=1).weighted(by)
        agree(wide, rows, rounded=("table",))
