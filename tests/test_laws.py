"""Laws of every statistic, model, path and search, on data that Hypothesis makes up."""

from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import combinations, pairwise, product

import numba
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import assume, given, settings, strategies as st
from hypothesis.extra import numpy as hnp
from scipy.spatial.distance import cdist
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import NearestCentroid
from threadpoolctl import threadpool_limits

import naively
from agreement import agree, arrays_of
from naively import ClassCategories, ClassCounts, ClassMixed
from subjects import (
    EVEN,
    HYBRIDS,
    MODELS,
    SELECTORS,
    STATISTICS,
    M,
    Model,
    batches,
    gathered,
    stacked,
    tables,
)

ALPHAS = np.ones(1)  # stands for smoothing by feature
TIE = 1e-9  # gains closer than this, relatively, may change their order with the order of a sum
every_statistic = pytest.mark.parametrize("kind", STATISTICS.values(), ids=STATISTICS)
every_model = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
every_maker = pytest.mark.parametrize(
    "make",
    [*(model.make for model in MODELS.values()), *SELECTORS.values()],
    ids=[*MODELS, *SELECTORS],
)
every_classifier = pytest.mark.parametrize(
    "make",
    [
        *(partial(model.make, k=2) for model in MODELS.values()),
        *HYBRIDS.values(),
    ],
    ids=[*MODELS, *HYBRIDS],
)
COUPLED = [*(model.make for model in MODELS.values() if model.coupled)]
pytestmark = [
    pytest.mark.filterwarnings("ignore:branch and bound:UserWarning"),
    pytest.mark.filterwarnings("ignore::naively.SeparationWarning"),
]
quickly, often = settings(max_examples=10), settings(max_examples=20)


def same_selection(after, before, order=slice(None)):
    """Whether two fits agree; where gains tie within rounding, any of the tied will do."""
    new, old = after.certificate_, before.certificate_
    assert new.bound == pytest.approx(old.bound, rel=1e-9, abs=1e-9)
    if isinstance(before, naively.SparseMultinomialNB):  # many sets may reach the same gain
        if new.proven_optimal and old.proven_optimal:
            assert new.objective == pytest.approx(old.objective, rel=1e-9, abs=1e-9)
        return
    scores = before.scores_[order]
    np.testing.assert_allclose(after.scores_, scores, rtol=1e-7, atol=1e-9)
    least = scores[before.support_[order]].min()
    assert (
        scores[after.support_] >= least - TIE * (1 + abs(least)) if least < np.inf else least
    ).all()
    if (np.abs(scores[~before.support_[order]] - least) > TIE * (1 + abs(least))).all():
        assert (after.support_ == before.support_[order]).all()


@contextmanager
def threads(count):
    before = numba.get_num_threads()
    numba.set_num_threads(min(count, numba.config.NUMBA_NUM_THREADS))
    try:
        with threadpool_limits(count):
            yield
    finally:
        numba.set_num_threads(before)


ROWS = {"class_rows"}  # a row of weight 2 is one row
LENGTHS = {"length_values", "length_weight"}  # of whole rows


# -- statistics ----------------------------------------------------------------------------------


@every_statistic
@often
@given(data=st.data())
def test_the_sum_of_batches_is_the_batch_of_all(kind, data):
    parts = data.draw(batches(kind, 3))
    together = gathered(kind, *stacked(parts))
    each = [gathered(kind, *part) for part in parts]
    agree(sum(each), together)
    agree(each[0].update(*parts[1]).update(*parts[2]), together)


@every_statistic
@often
@given(data=st.data())
def test_addition_commutes_and_associates_over_any_classes(kind, data):
    a, b, c = (gathered(kind, *part) for part in data.draw(batches(kind, 3)))
    agree(a + b, b + a)
    agree((a + b) + c, a + (b + c))
    assert (a + b).classes.tolist() == sorted({*a.classes.tolist(), *b.classes.tolist()})


@every_statistic
@often
@given(data=st.data())
def test_nothing_is_neutral(kind, data):
    (part,) = data.draw(batches(kind, 1))
    found = gathered(kind, *part)
    zero = kind.of.zero(M, **kind.settings)
    assert zero.n_features == M
    for result in (zero + found, found + zero, found - zero, found + (found - found)):
        agree(result, found)
    assert not any(np.any(array) for array in arrays_of(found - found).values())


@every_statistic
@often
@given(data=st.data())
def test_subtraction_undoes_addition(kind, data):
    a, b = (gathered(kind, *part, classes=list("abcd")) for part in data.draw(batches(kind)))
    agree(a + b - b, a + (b - b))
    if kind.of not in (ClassCategories, ClassMixed):  # categories that were seen stay
        agree(a + b - b, a)


@every_statistic
@often
@given(data=st.data(), columns=st.lists(st.integers(-M, M - 1), max_size=6))
def test_features_are_taken_before_or_after(kind, data, columns):
    parts = data.draw(batches(kind))
    a, b = (gathered(kind, *part, classes=list("abcd")) for part in parts)
    agree((a + b).take(columns), a.take(columns) + b.take(columns))
    agree((a + b - b).take(columns), (a + b).take(columns) - b.take(columns))
    X, y = parts[0]
    if "exposure" not in kind.settings:  # which is a total of all columns
        few = {name: [given[j] for j in columns] for name, given in kind.settings.items()
               if name == "kinds"}  # fmt: skip
        few = replace(kind, settings=kind.settings | few)
        narrow = gathered(few, X[:, np.array(columns, dtype=int)], y, classes=list("abcd"))
        agree(a.take(columns), narrow, but=LENGTHS)
    mask = np.isin(np.arange(M), np.mod(columns, M))
    agree(a.take(mask), a.take(np.flatnonzero(mask)))


@every_statistic
@often
@given(data=st.data())
def test_weights_are_repetition_in_statistics(kind, data):
    ((X, y),) = data.draw(batches(kind, 1))
    times = np.array(data.draw(st.lists(st.integers(1, 3), min_size=len(y), max_size=len(y))), int)
    rows = np.repeat(np.arange(len(y)), times)
    agree(gathered(kind, X, y, times), gathered(kind, X[rows], y[rows]), but=ROWS)


@every_statistic
@often
@given(data=st.data())
def test_rows_come_in_any_order(kind, data):
    ((X, y),) = data.draw(batches(kind, 1, rows=8))
    order = np.array(data.draw(st.permutations(range(len(y)))), dtype=int)
    agree(gathered(kind, X[order], y[order]), gathered(kind, X, y))


@every_statistic
@often
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


@every_statistic
@often
@given(data=st.data(), dtype=st.sampled_from(["i1", "u2", "i8", "f4", ">f8"]))
def test_types_and_widths_of_indices_are_not_counted(kind, data, dtype):
    ((X, y),) = data.draw(batches(kind, 1, rows=8))
    X = X.toarray() if sp.issparse(X) else X
    whole = dtype[-2] != "f"
    X = np.where(np.isnan(X), 0, np.trunc(np.clip(X, -2 * (dtype[0] != "u"), 5))) if whole else X
    expected = gathered(kind, X, y)
    agree(gathered(kind, X.astype(dtype), y), expected)
    for form, width in product((sp.csr_array, sp.csc_matrix), (np.int32, np.int64)):
        found = form(X.astype(dtype.lstrip(">")))
        found.indices, found.indptr = found.indices.astype(width), found.indptr.astype(width)
        agree(gathered(kind, found, y), expected)


@every_statistic
@settings(max_examples=3)
@given(seed=st.integers(0, 2**32 - 1))
def test_threads_change_no_bit_of_a_statistic(kind, seed):
    rng = np.random.default_rng(seed)
    X = rng.choice(kind.values, (3000, M)) * rng.choice([0, 1], (3000, M))
    y, weights = rng.integers(0, 5, 3000), rng.choice([0.0, 0.1, 0.7], 3000)
    for form in (np.ascontiguousarray, sp.csr_array, sp.csc_array):
        found = []
        for count in (1, 2):
            with threads(count):
                found.append(gathered(kind, form(X), y, weights))
        assert found[0].equals(found[1])


# -- supports ------------------------------------------------------------------------------------


@every_maker
@quickly
@given(data=tables(), k=st.integers(1, 2))
def test_exactly_k(make, data, k):
    model = make(k=k).fit(*data)
    assert model.support_.sum() == k
    assert model.transform(data[0]).shape == (len(data[0]), k)


@every_model
@quickly
@given(data=tables(), k=st.integers(1, 2), random=st.randoms(use_true_random=False))
def test_rows_in_any_order_and_classes_by_any_name(model, data, k, random):
    X, y = data
    before = model.make(k=k).fit(X, y)
    order = np.array(random.sample(range(len(y)), len(y)))
    after = model.make(k=k).fit(X[order], y[order])
    same_selection(after, before)
    names = np.array(["zebra", "ant", "mule"])  # their order is another one
    renamed = model.make(k=k).fit(X, names[y])
    same_selection(renamed, before)


@every_model
@quickly
@given(data=tables(), k=st.integers(1, 2), random=st.randoms(use_true_random=False))
def test_columns_in_another_order(model, data, k, random):
    X, y = data
    before = model.make(k=k).fit(X, y)
    order = np.array(random.sample(range(X.shape[1]), X.shape[1]))
    after = model.make(k=k).fit(X[:, order], y)
    same_selection(after, before, order)


@every_model
@quickly
@given(data=tables())
def test_columns_that_say_nothing_are_taken_last(model, data):
    """Constant columns have no gain in any model, and at equal gain the first column is taken."""
    X, y = data
    n, m = X.shape
    wider = np.column_stack([X, np.zeros((n, 2), dtype=np.int64)])
    assert not model.make(k=1).fit(wider, y).support_[m:].any()


@every_model
@quickly
@given(data=tables())
def test_equal_columns_have_equal_gains(model, data):
    X, y = data
    scores = model.make(k=1).fit(np.column_stack([X, X]), y).scores_
    np.testing.assert_allclose(scores[: X.shape[1]], scores[X.shape[1] :], rtol=1e-9, atol=1e-12)


# -- ties ----------------------------------------------------------------------------------------

SMOOTHED_BY_FEATURE = {
    name: partial(getattr(naively, name), alpha=ALPHAS)
    for name in ("SparseMultinomialNB", "SparseBernoulliNB", "SparsePoissonNB")
}
every_tie = pytest.mark.parametrize(
    "make",
    [
        *(model.make for model in MODELS.values()),
        *SELECTORS.values(),
        *SMOOTHED_BY_FEATURE.values(),
    ],
    ids=[*MODELS, *SELECTORS, *(f"{name}, by feature" for name in SMOOTHED_BY_FEATURE)],
)


@st.composite
def repeated_columns(draw):
    """Twelve columns, some of them equal, all with many ties: (X, y, weights of the rows)."""
    X, y = draw(tables(columns=st.just(4)))
    X = X * draw(st.sampled_from([1, 100, 1000]))
    weights = draw(st.sampled_from([1.0, 0.1, 0.7])) + 0.1 * (np.arange(len(y)) % 3)
    return X[:, draw(hnp.arrays(np.int64, 12, elements=st.integers(0, 3)))], y, weights


def made(make, k, X):
    """The model, with smoothing by feature where it has that: equal for equal columns."""
    model = make(k=k)
    if getattr(model, "alpha", None) is ALPHAS:
        model.alpha = 1.0 + 0.5 * (X.sum(axis=0) % 2)
    return model


def lowest_of_equal(X, support):
    """Whether of equal columns those taken come first."""
    return all(
        support[before] or not support[i]
        for i in range(X.shape[1])
        for before in range(i)
        if (X[:, before] == X[:, i]).all()
    )


@every_tie
@quickly
@given(data=repeated_columns(), k=st.integers(1, 8), weighted=st.booleans())
def test_of_equal_columns_the_first_are_taken(make, data, k, weighted):
    X, y, weights = data
    model = made(make, k, X).fit(X, y, **({"sample_weight": weights} if weighted else {}))
    assert model.support_.sum() == k
    assert lowest_of_equal(X, model.support_)
    if not weighted and hasattr(model, "from_statistics"):
        path = naively.sparsity_path(made(make, k, X), X, y, ks=[k])
        mask = np.isin(np.arange(X.shape[1]), path.support(k))
        assert mask.sum() == k
        assert lowest_of_equal(X, mask)


@every_tie
@quickly
@given(
    data=repeated_columns(),
    k=st.integers(1, 8),
    weighted=st.booleans(),
    random=st.randoms(use_true_random=False),
)
def test_ties_do_not_hang_on_names_or_on_the_order_of_rows(make, data, k, weighted, random):
    X, y, weights = data
    weights = weights if weighted else np.ones(len(y))
    support = made(make, k, X).fit(X, y, sample_weight=weights).support_
    names = np.array(random.sample(["zebra", "ant", "mule"], 3))
    renamed = made(make, k, X).fit(X, names[y], sample_weight=weights)
    assert (renamed.support_ == support).all()
    rows = np.array(random.sample(range(len(y)), len(y)))
    moved = made(make, k, X).fit(X[rows], y[rows], sample_weight=weights[rows])
    if not (weighted and make in COUPLED):  # sums of fractions in another order are other counts
        assert (moved.support_ == support).all()


@pytest.mark.parametrize("Model", [getattr(naively, name) for name in SMOOTHED_BY_FEATURE])
@quickly
@given(data=repeated_columns(), k=st.integers(1, 8))
def test_one_smoothing_said_for_each_feature_is_that_smoothing(Model, data, k):
    X, y, _ = data
    one, each = Model(k, alpha=0.3).fit(X, y), Model(k, alpha=np.full(12, 0.3)).fit(X, y)
    assert (one.support_ == each.support_).all()
    assert one.certificate_ == each.certificate_
    assert (one.scores_ == each.scores_).all()
    assert (one.predict_proba(X) == each.predict_proba(X)).all()


# -- objectives and certificates -----------------------------------------------------------------


@every_model
@quickly
@given(data=tables())
def test_objectives_are_bounded_and_grow_with_k(model, data):
    fits = [model.make(k=k).fit(*data) for k in range(1, data[0].shape[1] + 1)]
    values = np.array([[fit.certificate_.objective, fit.certificate_.bound] for fit in fits])
    room = 1e-9 * (1 + np.abs(np.where(np.isfinite(values), values, 0)).max())
    assert (values[:, 0] <= values[:, 1] + room).all()
    # The bound is that of the best set, and more columns can only help; so does the objective
    # where it is the best.
    assert (values[1:, 1] >= values[:-1, 1] - room).all()
    if not model.coupled or all(fit.certificate_.proven_optimal for fit in fits):
        assert (values[1:, 0] >= values[:-1, 0] - room).all()


@pytest.mark.parametrize(
    "model",
    [m for m in MODELS.values() if not m.coupled],
    ids=[n for n in MODELS if not MODELS[n].coupled],
)
@quickly
@given(data=tables())
def test_separable_supports_are_nested_and_gains_add(model, data):
    fits = [model.make(k=k).fit(*data) for k in range(1, data[0].shape[1] + 1)]
    for less, more in pairwise(fits):
        assert (more.support_ >= less.support_).all()
        gained = more.certificate_.gain - less.certificate_.gain
        added = more.scores_[more.support_ & ~less.support_].item()
        if np.isfinite(more.certificate_.gain):
            assert gained == pytest.approx(added, rel=1e-9, abs=1e-9)


@every_model
@quickly
@given(data=tables(), times=st.integers(2, 3))
def test_gains_are_in_one_unit(model, data, times):
    """Rows said twice gain twice the nats: no gain is divided by its degrees of freedom."""
    X, y = data
    smoothing = {"alpha": 0.5} if model.smoothed else {}
    repeated = {"alpha": 0.5 * times} if model.smoothed else {}
    once = model.make(k=1, **smoothing).fit(X, y)
    often = model.make(k=1, **repeated).fit(np.tile(X, (times, 1)), np.tile(y, times))
    factor = 1 if model.averaged else times
    np.testing.assert_allclose(often.scores_, factor * once.scores_, rtol=1e-7, atol=1e-9)


@quickly
@given(data=tables(), column=st.integers(0, 5))
def test_categories_are_compared_in_nats(data, column):
    """Telling fewer categories apart cannot gain more, however many there are."""
    X, y = data
    column %= X.shape[1]
    coarse = X.copy()
    coarse[:, column] //= 2
    make = partial(naively.SparseCategoricalNB, k=1, alpha=0.0)
    fine, rough = make().fit(X, y).scores_, make().fit(coarse, y).scores_
    assert rough[column] <= fine[column] + 1e-9
    others = np.arange(X.shape[1]) != column
    np.testing.assert_allclose(rough[others], fine[others], rtol=1e-12)


# -- rows ----------------------------------------------------------------------------------------


@every_model
@quickly
@given(data=tables(), weight=st.integers(1, 3))
def test_weights_are_repetition(model, data, weight):
    X, y = data
    weights = np.arange(len(y)) % (weight + 1)
    assume(len(np.unique(y[weights > 0])) == len(np.unique(y)))
    weighted = model.make(k=2).fit(X, y, sample_weight=weights)
    repeated = model.make(k=2).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    np.testing.assert_allclose(weighted.scores_, repeated.scores_, rtol=1e-7, atol=1e-9)
    assert (weighted.support_ == repeated.support_).all()
    if hasattr(weighted, "predict_proba"):
        expected = repeated.predict_proba(X)
        np.testing.assert_allclose(weighted.predict_proba(X), expected, rtol=1e-6, atol=1e-9)


@every_model
@pytest.mark.parametrize(
    "container", [sp.csr_array, sp.csc_matrix, sp.coo_array, np.asfortranarray]
)
@settings(max_examples=8)
@given(data=tables())
def test_containers_and_precision_do_not_matter(model, container, data):
    X, y = data
    before = model.make(k=2).fit(X, y)
    for other in (container(X), X.astype(np.float32), container(X.astype(np.float32))):
        after = model.make(k=2).fit(other, y)
        same_selection(after, before)
        assert after.scores_.dtype == np.float64


@pytest.fixture(scope="module")
def counts():
    rng = np.random.default_rng(0)
    y = np.arange(600) % 3
    return rng.poisson(rng.gamma(0.5, 2.0, (3, 12))[y]), y


@every_maker
def test_order_and_names_do_not_matter(make, counts):
    X, y = counts
    support = make(k=3).fit(X, y).support_
    rows, columns = (np.random.default_rng(1).permutation(n) for n in X.shape)
    assert (make(k=3).fit(X[rows], y[rows]).support_ == support).all()
    assert (make(k=3).fit(X, np.array(["z", "a", "m"])[y]).support_ == support).all()
    assert (make(k=3).fit(X[:, columns], y).support_ == support[columns]).all()


@every_maker
def test_threads_and_jobs_do_not_matter(make, counts):
    X, y = counts
    fits = []
    for count in (1, 2, 4):
        with threads(count):
            fits.append(make(k=3).fit(sp.csr_matrix(X), y))
    for fit in fits[1:]:
        assert (fit.support_ == fits[0].support_).all()
        if hasattr(fit, "scores_"):
            assert (fit.scores_ == fits[0].scores_).all()
    if hasattr(fits[0], "predict"):
        one, two = (cross_val_score(make(k=3), X, y, cv=2, n_jobs=jobs) for jobs in (1, 2))
        assert (one == two).all()


# -- batches, paths and searches ------------------------------------------------------------------

ADDING = {name: model for name, model in MODELS.items() if hasattr(model.make(), "partial_fit")}
every_adding = pytest.mark.parametrize("model", ADDING.values(), ids=ADDING)


@every_adding
@quickly
@given(data=tables(), k=st.integers(1, 2), cut=st.integers(0, 14))
def test_batches_and_sums_are_the_fit(model, data, k, cut):
    X, y = data
    whole = model.make(k=k).fit(X, y)
    parts = [rows for rows in np.split(np.arange(len(y)), [min(cut, len(y))]) if len(rows)]
    batch = model.make(k=k)
    for rows in parts:
        batch.partial_fit(X[rows], y[rows], classes=np.unique(y))
    each = [model.make().gather(X[rows], y[rows], classes=np.unique(y)) for rows in parts]
    summed = type(whole).from_statistics(sum(each), **whole.get_params(deep=False))
    for found in (batch, summed):
        same_selection(found, whole)
        if (found.support_ == whole.support_).all():
            np.testing.assert_allclose(
                found.predict_proba(X), whole.predict_proba(X), rtol=1e-6, atol=1e-9
            )


FORGETTING = {name: m for name, m in MODELS.items() if hasattr(m.make(), "forget")} | {
    "poisson, by exposure": Model(partial(naively.SparsePoissonNB, exposure="total"))
}


@pytest.mark.parametrize("model", FORGETTING.values(), ids=FORGETTING)
@quickly
@given(data=tables(), more=tables(columns=st.just(6)), k=st.integers(1, 2))
def test_what_is_forgotten_was_never_there(model, data, more, k):
    """To the bit where sums are of whole numbers."""
    X, y = data
    m = X.shape[1]
    X, gone, labels = X + 1, more[0][:, :m] + 1, more[1] % (y.max() + 1)
    found = model.make(k=k).fit(np.vstack([X, gone]), np.append(y, labels)).forget(gone, labels)
    fresh = model.make(k=k).fit(X, y)
    if isinstance(fresh.statistics_, ClassCounts):
        assert found.statistics_.equals(fresh.statistics_)
        assert (found.support_ == fresh.support_).all()
        assert (found.predict_proba(X) == fresh.predict_proba(X)).all()
    else:
        np.testing.assert_allclose(found.scores_, fresh.scores_, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    "model",
    [model for name, model in MODELS.items() if name != "multinomial, exact"],
    ids=[name for name in MODELS if name != "multinomial, exact"],
)
@quickly
@given(data=tables())
def test_a_path_at_k_is_the_fit_at_k(model, data):
    X, y = data
    path = naively.sparsity_path(model.make(), X, y, ks=np.arange(1, X.shape[1] + 1))
    if hasattr(model.make(), "gather"):
        again = naively.sparsity_path(model.make(), model.make().gather(X, y), ks=path.k)
        assert (again.objective == path.objective).all()
    for i, k in enumerate(path.k.tolist()):
        fit = model.make(k=k).fit(X, y)
        proof = fit.certificate_
        assert path.support(k).tolist() == fit.get_support(indices=True).tolist()
        assert path.objective[i] == pytest.approx(proof.objective, rel=1e-9, abs=1e-9)
        assert path.bound[i] == pytest.approx(proof.bound, rel=1e-9, abs=1e-9)
        few = naively.sparsity_path(model.make(), X, y, ks=[k])
        assert few.support(k).tolist() == path.support(k).tolist()


@every_model
@settings(max_examples=10)
@given(data=tables(columns=st.integers(2, 5)), k=st.integers(1, 3))
def test_certificates_are_true_by_trying_all_sets(model, data, k):
    """What a set gains is what all features gain where there are no others."""
    X, y = data
    m = X.shape[1]
    k, make = min(k, m), model.make
    if "var_smoothing" in make().get_params():  # a share of the largest variance of all columns
        make, X = partial(make, var_smoothing=0.0), X + np.sqrt(np.arange(X.size).reshape(X.shape))
    gains = {
        some: make(k="all").fit(X[:, some], y).certificate_.gain
        for some in combinations(range(m), k)
    }
    fit = make(k=k).fit(X, y)
    proof, best = fit.certificate_, max(gains.values())
    baseline = proof.objective - proof.gain
    room = 1e-7 * (1 + abs(baseline) + abs(best)) if np.isfinite(best) else 0.0
    reached = gains[tuple(fit.get_support(indices=True).tolist())]
    assert proof.gain == pytest.approx(reached, rel=1e-7, abs=room)
    assert proof.objective <= proof.bound + room
    assert best <= proof.bound - baseline + room or not np.isfinite(best)
    if proof.proven_optimal:
        assert proof.gain == pytest.approx(best, rel=1e-7, abs=room)


@every_model
@settings(max_examples=3)
@given(seed=st.integers(0, 2**32 - 1))
def test_what_a_search_finds_hangs_on_rows_alone(model, seed):
    """Not on their order, the order or the type of columns, names of classes, or threads."""
    rng = np.random.default_rng(seed)
    y = np.arange(60) % 3
    X = rng.poisson(rng.gamma(0.5, 4.0, (3, 8))[y])
    rows, columns = rng.permutation(60), rng.permutation(8)
    folds = [(np.flatnonzero(rows % 3 != t), np.flatnonzero(rows % 3 == t)) for t in range(3)]
    moved = [tuple(np.argsort(rows)[part] for part in fold) for fold in folds]
    search = naively.SparsityCV(model.make(), ks=[1, 3, 8], cv=folds)
    first = clone(search).fit(X, y)
    names = np.array(["ant", "mule", "zebra"])  # ties of scores go to the first class
    wide = sp.csr_array(X.astype(np.float32))
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    again = [clone(search).fit(X, names[y]), clone(search).fit(wide, y)]
    again += [clone(search).set_params(cv=moved).fit(X[rows], y[rows])]
    again += [clone(search).fit(X[:, columns], y)]
    with threads(1):
        again += [clone(search).fit(X, y)]
    for found in again:
        assert found.best_params_ == first.best_params_
        for t in range(3):
            name = f"split{t}_test_score"
            np.testing.assert_allclose(found.cv_results_[name], first.cv_results_[name], atol=1e-12)


# -- scikit-learn --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "model", [m for m in MODELS.values() if m.twin], ids=[n for n in MODELS if MODELS[n].twin]
)
@pytest.mark.filterwarnings("ignore:self.within_class_std_dev_:UserWarning")
@quickly
@given(data=tables())
def test_all_features_are_scikit_learns_model(model, data):
    X, y = data
    X = X + np.arange(len(y))[:, None]  # scikit-learn's centers want columns that vary
    ours, theirs = model.make(k="all").fit(X, y), model.twin.fit(X, y)
    if isinstance(theirs, NearestCentroid):
        np.testing.assert_allclose(ours.centroids_, theirs.centroids_, rtol=1e-10)
        distances = np.sort(
            cdist(
                X, theirs.centroids_, {"manhattan": "cityblock"}.get(theirs.metric, theirs.metric)
            )
        )
        told = np.diff(distances[:, :2]).ravel() > 1e-9  # ties of distances are broken by rounding
        assert (ours.predict(X)[told] == theirs.predict(X)[told]).all()
        return
    expected = theirs.predict_log_proba(X)
    np.testing.assert_allclose(ours.predict_log_proba(X), expected, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("scale", [None, "std"])
def test_what_scikit_learns_probabilities_of_centers_are(scale):
    """Not those here: its scores are twice the log posterior of features divided by their spread.

    Of divided features they follow from ours, but for the divisor of the variance: n, or n - C.
    """
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    X = rng.normal(size=(60, 4)) * [1, 2, 5, 0.5] + y[:, None]
    priors = np.array([0.5, 0.3, 0.2])
    theirs = NearestCentroid(priors=priors.tolist()).fit(X, y).predict_log_proba(X)
    ours = naively.SparseL2Centers(k="all", scale=scale, priors=priors).fit(X, y)
    log_likelihood = ours.predict_log_proba(X) - np.log(priors)
    scores = 2 * (np.log(priors) + log_likelihood * (57 / 60))
    follows = np.abs(scores - logsumexp(scores, axis=1, keepdims=True) - theirs).max() < 1e-9
    assert follows == (scale == "std")
    assert np.abs(ours.predict_log_proba(X) - theirs).max() > 0.1


@every_classifier
@quickly
@given(data=tables(columns=EVEN))
def test_predictions_follow_from_probabilities(make, data):
    X, y = data
    model = make().fit(X, y)
    assert set(model.predict(X)) <= set(y)
    if not hasattr(model, "predict_proba"):
        return
    proba = model.predict_proba(X)
    assert ((proba >= 0) & (proba <= 1)).all()
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    top = proba[np.arange(len(y)), np.searchsorted(model.classes_, model.predict(X))]
    np.testing.assert_allclose(top, proba.max(axis=1), rtol=1e-9)
