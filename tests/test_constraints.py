"""Constraints on the features that are chosen: against all choices that meet them."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain, combinations, product
from math import log
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, strategies as st
from scipy.optimize import linprog
from sklearn.model_selection import GridSearchCV
from sklearn.utils.class_weight import compute_sample_weight

from naively import (
    ClassCounts,
    HybridNB,
    SparseBernoulliNB,
    SparseCategoricalNB,
    SparseGaussianNB,
    SparseL1Centers,
    SparseL2Centers,
    SparseMultinomialNB,
    SparseNegativeBinomialNB,
    SparsePoissonNB,
    SparsityCV,
    sparsity_path,
)
from naively.models import MODELS
from naively.models.constraints import Constraints
from naively.models.model import Limits, Model
from naively.selection.constrained import interchangeable, speaks_for
from naively.selection.dual import coupled_problem
from naively.selection.polytope import Allowed
from naively.selection.train import model_path, train
from naively.selection.within import best_within, exchanged, problem_of_gains
from reference_constraints import choices_of

EXACT = Limits(exact=True)
M = 9
# Columns of several kinds, of which no quota is asked, are in test_mixed.py.
ADDING = [name for name in MODELS if name not in ("multinomial", "hybrid", "mixed")]


def _rows(seed: int, n_classes: int, n: int = 30) -> tuple[Any, Any]:
    rng, m = np.random.default_rng(seed), M
    y = np.arange(n) % n_classes
    X = rng.poisson(rng.gamma(1.0, 1.0, (n_classes, m))[y])
    X[:, 3] = X[:, 5]  # copies tie
    X[:, 7] = 0
    return X, y


def _kinds_of_constraints(m: int, seed: int) -> dict[str, Constraints | None]:
    costs = np.random.default_rng(seed).integers(1, 6, m).astype(float)
    groups = [0, 1, 1, 2, 3, 4, 4, 4, *range(5, m - 3)]
    asked: dict[str, dict[str, Any]] = {
        "required": {"required": [2, 6]},
        "one required": {"required": [1]},
        "excluded": {"excluded": [0, 4]},
        "both": {"required": [5], "excluded": [0, 3]},
        "groups": {"groups": groups},
        "groups, some settled": {"groups": groups, "required": [5], "excluded": [2]},
        "quota": {"quota": 1},
        "quota and required": {"quota": 1, "required": [0, 3]},
        "even": {"quota": "even"},
        "even, some settled": {"quota": "even", "required": [0, 3, 6], "excluded": [2]},
        "budget": {"costs": costs, "budget": 9.0},
        "budget and required": {"costs": costs, "budget": 11.0, "required": [1]},
        "budget and groups": {"costs": costs, "budget": 12.0, "groups": groups},
        "budget and quota": {"costs": costs, "budget": 14.0, "quota": 1, "excluded": [8]},
        "budget of tenths": {"costs": costs / 10, "budget": 0.9},
        "unseen required": {"required": [7]},
    }
    return {name: Constraints.checked(m, **each) for name, each in asked.items()}


NAMES = list(_kinds_of_constraints(M, 0))


def _coupled_gain(table: Any, alpha: float, columns: list[int]) -> float:
    """Gain of freeing some columns: the objective of `models.multinomial`, in plain loops."""
    seen = [[float(f) + alpha for f in table[i]] for i in columns if sum(table[i]) > 0]

    def part(f: float) -> float:
        return f * log(f) if f > 0 else 0.0

    totals = [sum(row[c] for row in seen) for c in range(len(table[0]))]
    gain = sum(sum(part(f) for f in row) - part(sum(row)) for row in seen)
    return gain - sum(part(f) for f in totals) + part(sum(totals))


def _gain(model: Model[Any], statistics: Any, columns: list[int], alpha: float) -> float:
    if model.name in ("multinomial", "hybrid"):
        table = getattr(statistics, "words", statistics).table
        return _coupled_gain(table.tolist(), alpha, columns)
    return float(model.family.gain(statistics)[columns].sum())


def _made(name: str, constraints: Constraints | None, **parameters: Any) -> Model[Any]:
    return replace(MODELS[name].build(**parameters), constraints=constraints)


CASES = [(name, {}) for name in ADDING]
CASES += [
    ("multinomial", {"alpha": 1.0}),
    ("multinomial", {"alpha": 0.0}),
    ("hybrid", {"penalty": 0.1}),
]


@pytest.mark.parametrize("asked", NAMES)
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(("name", "parameters"), CASES)
def test_best_of_all_choices(
    name: str, parameters: dict[str, Any], n_classes: int, asked: str
) -> None:
    alpha = parameters.get("alpha", 1.0)
    for seed in range(3):
        constraints = _kinds_of_constraints(M, seed)[asked]
        assert constraints is not None
        model = _made(name, constraints, **parameters)
        statistics = model.gather(*_rows(seed, n_classes))
        speaks = speaks_for(model, statistics)
        for k in range(1, min(7, constraints.n_choices + 1)):
            allowed = choices_of(constraints, k, speaks, n_classes)
            if not allowed:
                with pytest.raises(ValueError, match="must be"):
                    train(model, statistics, k)
                continue
            best = max(_gain(model, statistics, each, alpha) for each in allowed)
            for limits in (EXACT, Limits()):
                selection = train(model, statistics, k, limits).selection
                support, certificate = selection.support.tolist(), selection.certificate
                assert support in allowed
                own = _gain(model, statistics, support, alpha)
                assert certificate.gain == pytest.approx(own, rel=1e-9, abs=1e-9)
                assert selection.gain.sum() == pytest.approx(own, rel=1e-9, abs=1e-9)
                reach = certificate.bound - certificate.baseline
                assert reach >= best - 1e-9 * (1 + abs(best))
                if limits is EXACT or name in ADDING:
                    assert certificate.proven_optimal
                    assert own == pytest.approx(best, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("asked", NAMES)
@pytest.mark.parametrize("name", [*ADDING, "multinomial", "hybrid"])
def test_path_is_fits(name: str, asked: str) -> None:
    constraints = _kinds_of_constraints(M, 1)[asked]
    model = _made(name, constraints, **({"penalty": 0.1} if name == "hybrid" else {}))
    statistics = model.gather(*_rows(1, 3))
    track = model_path(model, statistics)
    for g, k in enumerate(track.k.tolist()):
        selection = train(model, statistics, k).selection
        if name in ADDING:
            assert track.support(k).tolist() == selection.support.tolist()
        reached = selection.certificate
        assert track.objective[g] == pytest.approx(reached.objective, rel=1e-9)
        assert track.bound[g] == pytest.approx(reached.bound, rel=1e-9)
    first = {i: k for k in reversed(track.k.tolist()) for i in track.support(k).tolist()}
    assert {i: k for i, k in enumerate(track.entry.tolist()) if k} == first
    assert sorted(track.order.tolist()) == sorted(first)


# What they are asked by -------------------------------------------------------------------------


def test_what_no_choice_can_meet_is_refused() -> None:
    costs = [3.0] * M
    for asked, message in (
        (
            {"required": [3], "excluded": [3]},
            "`required` and `excluded` must not overlap.*column 3",
        ),
        (
            {"required": [0], "excluded": [1], "groups": [0, 0, *range(1, M - 1)]},
            "group of column 0",
        ),
        ({"required": [M]}, r"`required` must hold column indices in \[0, 9\)"),
        ({"excluded": [-1]}, "got -1"),
        ({"excluded": [True]}, "`excluded`, as a mask, must have one bool for each of the 9"),
        ({"excluded": range(M)}, "`excluded` must leave a feature"),
        ({"required": "w3"}, "`required` must be a list"),
        ({"required": [0.5]}, "`required` must be a list"),
        ({"required": ["w3"]}, "the columns have none"),
        ({"groups": [0]}, "`groups` must have one label for each of the 9"),
        ({"costs": costs}, "`costs` has no effect without `budget`"),
        ({"budget": 1.0}, "`budget` has no effect without `costs`"),
        ({"costs": costs, "budget": -1.0}, "`budget` must be a finite number >= 0"),
        ({"costs": costs, "budget": 2.0, "required": [0]}, "`required` features, 3; got 2"),
        ({"costs": [-1.0] * M, "budget": 2.0}, "`costs` must be finite and >= 0"),
        ({"costs": ["dear"] * M, "budget": 2.0}, "`costs` must be numbers"),
        ({"costs": [1.0], "budget": 2.0}, "`costs` must have one number for each of the 9"),
        ({"quota": -1}, "`quota` must be an int >= 0"),
        ({"quota": "all"}, "or 'even'; got 'all'"),
        ({"quota": "even", "costs": costs, "budget": 9.0}, "`quota`='even' shares k"),
        ({"quota": "even", "groups": [0] * M}, "leave out `quota` or `groups`"),
        ({"quota": 1, "groups": [0] * M}, "leave out `quota` or `groups`"),
    ):
        with pytest.raises(ValueError, match=message):
            Constraints.checked(M, **asked)
    with pytest.raises(ValueError, match="no `colour`: did you mean `color`"):
        Constraints.checked(2, ["color", "size"], required=["colour"])
    assert Constraints.checked(M, required=[], quota=0) is None


@given(st.lists(st.sampled_from("ABC"), min_size=4, max_size=7), st.data())
def test_what_could_stand_in_for_a_choice_is_counted(kinds: Any, data: Any) -> None:
    """Columns of equal gain and equal cost: some taken, and some not."""
    counts = {"A": [3, 0], "B": [0, 3], "C": [2, 1]}
    table = np.array([counts[each] for each in kinds])
    costs = np.array(
        data.draw(st.lists(st.integers(1, 2), min_size=len(table), max_size=len(table)))
    )
    asked = {"costs": costs, "budget": 99.0} if data.draw(st.booleans()) else {"excluded": [0]}
    model = _made("bernoulli", Constraints.checked(len(table), **asked))
    statistics = model.gather(table.T > 0, [0, 1])
    support = data.draw(st.sets(st.integers(1, len(table) - 1), min_size=1))
    inside, outside = set(), set()
    for i, j in product(support, set(range(len(table))) - support - {*asked.get("excluded", [])}):
        alike = (kinds[i] == "C") == (kinds[j] == "C")  # A and B say as much, C nothing
        if alike and ("costs" not in asked or costs[i] == costs[j]):
            inside.add(i)
            outside.add(j)
    found = interchangeable(model, statistics, np.array(sorted(support)))
    assert found == (len(inside), len(outside))


def test_constraints_of_some_columns() -> None:
    constraints = Constraints.checked(
        6, required=[4], excluded=[1, 2], groups=list("aabbcc"), costs=range(6), budget=9.0
    )
    assert constraints is not None
    some = constraints.take(np.array([2, 3, 4]))
    assert some.required.tolist() == [2]
    assert some.excluded.tolist() == [0]
    assert some.units.tolist() == [0, 0, 1]
    assert some.unit_costs.tolist() == [5.0, 4.0]
    with pytest.raises(ValueError, match="column 4"):
        constraints.take(np.array([0, 1]))


def _frame() -> tuple[pd.DataFrame, Any]:
    X, y = _rows(2, 3)
    return pd.DataFrame(X, columns=[f"w{i}" for i in range(M)]), y


ESTIMATORS = [
    SparseMultinomialNB, SparseBernoulliNB, SparsePoissonNB, SparseNegativeBinomialNB,
    SparseCategoricalNB, SparseGaussianNB, SparseL2Centers, SparseL1Centers,
]  # fmt: skip


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_names_indices_and_masks_mean_the_same(kind: Any) -> None:
    X, y = _frame()
    mask = np.arange(M) == 6
    for required, excluded in ((["w6"], ["w1", "w2"]), ([6], [2, 1]), (mask, [1, 2])):
        fitted = kind(k=3, required=required, excluded=excluded).fit(X, y)
        support = fitted.support_
        assert support.sum() == 3
        assert support[6]
        assert not support[[1, 2]].any()
        again = kind(k=3, required=[6], excluded=[1, 2]).fit(X.to_numpy(), y)
        assert (again.support_ == support).all()
        assert fitted.certificate_ == again.certificate_
    assert "with the required ones" in str(fitted.certificate_)


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_search_and_auto_keep_to_the_constraints(kind: Any) -> None:
    X, y = _frame()
    asked = {"required": ["w6"], "excluded": ["w1"]}
    chosen = kind(k="auto", **asked).fit(X, y).support_
    search = SparsityCV(kind(**asked), ks=[1, 2, 4, 6]).fit(X, y)
    for support in (chosen, search.best_estimator_.support_):
        assert support[6]
        assert not support[1]
    loop = GridSearchCV(kind(**asked), {"k": [1, 2, 4, 6]}, cv=5).fit(X, y)
    np.testing.assert_allclose(
        search.cv_results_["mean_test_score"], loop.cv_results_["mean_test_score"]
    )
    with pytest.raises(ValueError, match=r"`ks` must lie in \[1, 8\]"):
        SparsityCV(kind(**asked), ks=[0, 9]).fit(X, y)


@pytest.mark.parametrize(
    "asked", [{"quota": 1}, {"quota": "even"}, {"costs": np.arange(M) + 1.0, "budget": 15.0}]
)
@pytest.mark.parametrize("kind", [SparseMultinomialNB, SparseBernoulliNB])
def test_search_is_a_loop_of_fits_where_supports_are_not_nested(kind: Any, asked: Any) -> None:
    X, y = _rows(4, 3)
    y = np.where(np.random.default_rng(0).random(len(y)) < 0.3, 0, y)
    ks = [3, 4, 6, 7] if "quota" in asked else [1, 2, 4, 6]
    search = SparsityCV(kind(**asked), ks=ks).fit(X, y)
    loop = GridSearchCV(kind(**asked), {"k": ks}, cv=5).fit(X, y)
    np.testing.assert_allclose(
        search.cv_results_["mean_test_score"], loop.cv_results_["mean_test_score"]
    )


def test_an_even_quota_shares_every_k_between_the_classes() -> None:
    """Genes high in one class gain most; one gene alone speaks for the second class of three."""
    rng, n, m = np.random.default_rng(0), 60, 40
    y = np.arange(n) % 3
    high = np.array([2.0, 1.0, 1.0])[:, None] * (np.arange(m) % 3 == np.arange(3)[:, None])
    high[1, 4:] = 0.0
    X = rng.normal(size=(n, m)) + high[y]
    X[:, (np.arange(m) % 3 == 1) & (np.arange(m) > 1)] -= 9.0 * (y == 1)[:, None]
    speaks = np.array([np.argmax([X[y == c, i].mean() for c in range(3)]) for i in range(m)])
    there_are = np.bincount(speaks, minlength=3)
    track = sparsity_path(SparseGaussianNB(quota="even"), X, y)
    for k in track.k.tolist():
        spoken = np.bincount(speaks[track.support(k)], minlength=3)
        assert len(track.support(k)) == k
        assert (spoken >= np.minimum(k // 3, there_are)).all()
    fitted = SparseGaussianNB(k=9, quota="even").fit(X, y)
    few = " that has so many" * bool((there_are < 3).any())
    assert f"no other 9 features with 3 or more for each class{few} reach" in str(
        fitted.certificate_
    )
    for k in ("auto", "best"):
        support = SparseGaussianNB(k=k, quota="even").fit(X, y).get_support(indices=True)
        spoken = np.bincount(speaks[support], minlength=3)
        assert (spoken >= np.minimum(len(support) // 3, there_are)).all()


def test_a_budget_needs_no_k() -> None:
    X, y = _rows(0, 2)
    costs = np.arange(M) + 1.0
    fitted = SparsePoissonNB(k=None, costs=costs, budget=12.0).fit(X, y)
    assert costs[fitted.support_].sum() <= 12.0
    assert fitted.certificate_.proven_optimal
    assert "features of a cost of 12 at most" in str(fitted.certificate_)
    with pytest.raises(ValueError, match="`k` must be"):
        SparsePoissonNB(k=None).fit(X, y)
    with pytest.warns(UserWarning, match=r"may be chosen: `budget` alone limits them\."):
        more = SparsePoissonNB(k=M + 1, costs=costs, budget=12.0).fit(X, y)
    assert (more.support_ == fitted.support_).all()


@pytest.mark.parametrize("kind", ESTIMATORS[:6])
@pytest.mark.parametrize("weights", ["balanced", {0: 0.5}])
def test_weights_of_classes_are_weights_of_rows(kind: Any, weights: Any) -> None:
    X, y = _rows(3, 3, 90)
    X, y = X[(y == 0) | (np.arange(90) < 45)], y[(y == 0) | (np.arange(90) < 45)]
    of_rows = compute_sample_weight(weights, y) if weights == "balanced" else np.where(y, 1.0, 0.5)
    for k in (4, "auto"):
        fitted = kind(k=k, class_weight=weights).fit(X, y)
        plain = kind(k=k).fit(X, y, of_rows)
        assert (fitted.support_ == plain.support_).all()
        np.testing.assert_allclose(fitted.predict_log_proba(X), plain.predict_log_proba(X))
    batches = kind(k=4, class_weight=weights)
    batches.partial_fit(X[:20], y[:20], classes=[0, 1, 2]).partial_fit(X[20:], y[20:])
    once = kind(k=4, class_weight=weights).fit(X, y)
    np.testing.assert_allclose(batches.predict_log_proba(X), once.predict_log_proba(X), atol=1e-9)
    counted = kind().gather(X, y)
    stored = kind.from_statistics(counted, k=4, class_weight=weights)
    np.testing.assert_allclose(stored.predict_log_proba(X), once.predict_log_proba(X), atol=1e-9)
    search = SparsityCV(kind(class_weight=weights), ks=[1, 4]).fit(X, y)
    loop = GridSearchCV(kind(class_weight=weights), {"k": [1, 4]}, cv=5).fit(X, y)
    np.testing.assert_allclose(
        search.cv_results_["mean_test_score"], loop.cv_results_["mean_test_score"]
    )


def test_weights_of_classes_in_the_hybrid() -> None:
    X, y = _rows(3, 3, 90)
    X, y = X[(y == 0) | (np.arange(90) < 45)], y[(y == 0) | (np.arange(90) < 45)]
    selector, weight = SparseMultinomialNB(k=4), compute_sample_weight("balanced", y)
    fitted = HybridNB(penalty=0.1, estimator=selector, class_weight="balanced").fit(X, y)
    plain = HybridNB(penalty=0.1, estimator=selector).fit(X, y, weight)
    assert (fitted.support_ == plain.support_).all()
    np.testing.assert_allclose(fitted.predict_log_proba(X), plain.predict_log_proba(X))


def test_weights_of_unknown_classes_are_refused() -> None:
    X, y = _rows(0, 2)
    for weights, message in (
        ({7: 1.0}, "label 7"), ({0: 0.0}, "weights > 0"), ("even", "'balanced' or a dict")
    ):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            SparseBernoulliNB(class_weight=weights).fit(X, y)


@pytest.mark.parametrize("asked", NAMES)
@pytest.mark.parametrize("n_classes", [2, 4])
def test_many_columns(n_classes: int, asked: str) -> None:
    """Grouped, screened and sparse columns under constraints: bounds hold, sets are allowed."""
    m, rng = 40_000, np.random.default_rng(0)
    whole = rng.poisson(rng.gamma(0.4, 5.0, (m, 1)) * rng.gamma(5.0, 0.2, (m, n_classes)))
    constraints = _kinds_of_constraints(m, 0)[asked]
    assert constraints is not None
    for table in (whole, whole * rng.uniform(0.5, 1.5, (m, 1))):
        model = _made("multinomial", constraints)
        counts = ClassCounts.zero(m, list(range(n_classes)))
        statistics = replace(counts, table=table, class_weight=counts.class_weight + 9.0)
        k = 60 if constraints.costs is None else 5
        selection = train(model, statistics, k).selection
        certificate = selection.certificate
        own = _coupled_gain(
            table[selection.support].tolist(), 1.0, list(range(len(selection.support)))
        )
        assert certificate.gain == pytest.approx(own, rel=1e-7)
        assert 0 <= certificate.relative_gap < 0.1
        assert set(constraints.required.tolist()) <= set(selection.support.tolist())
        assert not set(constraints.excluded.tolist()) & set(selection.support.tolist())
        some = np.random.default_rng(1).choice(constraints.free, k - constraints.least)
        if constraints.costs is None and not constraints.quota:
            others = constraints.columns_of(
                np.union1d(np.unique(some), constraints.units_of(constraints.required))
            )
            reached = _coupled_gain(table[others].tolist(), 1.0, list(range(len(others))))
            assert reached <= certificate.bound - certificate.baseline


@st.composite
def _allowed(draw: Any) -> tuple[Allowed, Any]:
    """Few columns, some of which stand for two: what may be chosen of them, and their gains."""
    n = draw(st.integers(1, 4))

    def numbers(least: int, most: int, count: int = n) -> Any:
        return np.array(draw(st.lists(st.integers(least, most), min_size=count, max_size=count)))

    asked: dict[str, Any] = {"k": draw(st.integers(0, 6)), "size": numbers(1, 2)}
    if draw(st.booleans()):
        asked |= {"cost": numbers(0, 4).astype(float), "budget": float(draw(st.integers(0, 12)))}
    if draw(st.booleans()):
        asked |= {"speaks": numbers(0, 1), "quota": numbers(0, 2, 2)}
    return Allowed(**asked), numbers(-2, 12) / 4


def _every_set(allowed: Allowed) -> Any:
    """All that may be chosen, by trying: (number of sets, n)."""
    tried = np.array(list(product(*(range(size + 1) for size in allowed.size))))
    many, fine = tried.sum(axis=1), np.ones(len(tried), dtype=bool)
    fine &= many == allowed.k if allowed.cost is None else many <= allowed.k
    if allowed.cost is not None:
        fine &= tried @ allowed.cost <= allowed.budget
    for c, quota in enumerate([] if allowed.quota is None else allowed.quota):
        fine &= tried[:, allowed.speaks == c].sum(axis=1) >= quota
    return tried[fine]


@given(_allowed())
def test_the_relaxation_is_the_linear_program_and_settles_what_all_good_sets_share(case) -> None:
    allowed, gains = case
    every = _every_set(allowed)
    assert allowed.is_possible() == (len(every) > 0)
    assume(len(every))
    found = allowed.optimum(gains)
    ones, above, most = np.ones((1, len(gains))), [], []
    if allowed.cost is not None:
        above, most = [*ones, allowed.cost], [allowed.k, allowed.budget]
    for c, quota in enumerate([] if allowed.quota is None else allowed.quota):
        above, most = [*above, -1.0 * (allowed.speaks == c)], [*most, -quota]
    exactly = {"A_eq": ones, "b_eq": [allowed.k]} if allowed.cost is None else {}
    within = {"A_ub": above, "b_ub": most} if above else {}
    bounds = [(0, size) for size in allowed.size]
    bound = -linprog(-gains, bounds=bounds, **within, **exactly).fun
    assert gains @ found.x == pytest.approx(bound, abs=1e-9)
    sets = {tuple(each) for each in every.tolist()}
    assert tuple(found.whole) in sets
    filled = allowed.filled(gains, found)
    assert tuple(filled) in sets
    assert (filled >= found.whole).all()
    for more in filled + np.eye(len(gains), dtype=int)[gains > 0]:
        assert tuple(more) not in sets
    for slack in (0.0, 0.3, 1.0):
        good = every[every @ gains > bound - slack + 1e-9]
        takes, leaves = allowed.settled(gains, found, slack)
        assert (good[:, takes] == allowed.size[takes]).all()
        assert (good[:, leaves] == 0).all()


@given(_allowed(), st.data())
def test_columns_enter_and_are_exchanged_where_an_allowed_set_remains(case, data) -> None:
    allowed, _ = case
    every, n = _every_set(allowed), len(allowed.size)
    assume(len(every))
    whole = data.draw(st.sampled_from(every.tolist()))
    some = np.array([data.draw(st.integers(0, each)) for each in whole])
    may = allowed.may_enter(some)
    for i in range(n):
        assert may[i] == (every >= some + (np.arange(n) == i)).all(axis=1).any()
    take, columns = np.array(whole), np.arange(-1, n)
    out, into = columns[[True, *(take > 0)]], columns[[True, *(take < allowed.size)]]
    fine = allowed.may_exchange(take, out, into)
    for (a, i), (b, j) in product(enumerate(out), enumerate(into)):
        after = take - (np.arange(n) == i) + (np.arange(n) == j)
        assert i == j or fine[a, b] == (every == after).all(axis=1).any()


@given(_allowed(), st.data())
def test_exchanges_stay_allowed_and_end_where_none_gains(case, data) -> None:
    allowed, n = case[0], len(case[0].size)
    counts = data.draw(st.lists(st.integers(0, 9), min_size=2 * n, max_size=2 * n))
    problem = coupled_problem(np.reshape(counts, (n, 2)).astype(float), 1.0, allowed.size)
    every = _every_set(allowed)
    assume(len(every))
    start = np.array(data.draw(st.sampled_from(every.tolist())))
    end = exchanged(problem, allowed, start)
    assert tuple(end) in {tuple(each) for each in every.tolist()}
    value = problem.value(end)
    assert value >= problem.value(start) - 1e-9
    near = every[(np.abs(every - end).sum(axis=1) <= 2) & (np.abs((every - end).sum(axis=1)) <= 1)]
    assert max(problem.value(each) for each in near) <= value + 1e-9


def test_knapsacks_are_solved() -> None:
    """Branch and bound against all sets, with costs whose sums are not exact."""
    rng = np.random.default_rng(0)
    for case in range(200):
        n, n_classes = int(rng.integers(1, 10)), int(rng.integers(1, 4))
        gain, cost = (
            rng.exponential(1.0, n).round(2),
            rng.integers(0, 6, n) / rng.choice([1, 3, 10]),
        )
        budget, k = float(rng.choice(cost.cumsum())), int(rng.integers(0, n + 1))
        speaks = rng.integers(0, n_classes, n)
        quota = rng.integers(0, 2, n_classes) * (case % 2)
        size = np.ones(n, dtype=np.int64)
        allowed = Allowed(k, size, cost, budget, 1e-12 * budget, speaks, quota)
        best = -1.0
        for chosen in chain(*(combinations(range(n), size) for size in range(k + 1))):
            S = list(chosen)
            spoken = np.bincount(speaks[S], minlength=n_classes)
            if cost[S].sum() <= budget + 1e-12 * budget and (spoken >= quota).all():
                best = max(best, float(gain[S].sum()))
        assert allowed.is_possible() == (best >= 0)
        if best >= 0:
            found = best_within(problem_of_gains(gain, size), allowed, EXACT)
            assert found.value == pytest.approx(best, abs=1e-9)
            assert found.bound == pytest.approx(best, abs=1e-9)
            assert found.take @ gain == pytest.approx(best, abs=1e-9)


def test_a_hard_knapsack_says_what_is_left_open() -> None:
    rng = np.random.default_rng(2)
    cost = rng.integers(100, 1000, 400).astype(float)
    gain = cost + rng.integers(0, 100, 400)  # all are worth about what they cost
    size = np.ones(400, dtype=np.int64)
    allowed = Allowed(400, size, cost, float(cost.sum() // 3))
    found = best_within(problem_of_gains(gain, size), allowed, Limits(exact=True, max_nodes=5))
    assert found.take @ cost <= allowed.budget
    assert found.take @ gain == pytest.approx(found.value)
    assert found.value <= found.bound <= allowed.relaxed(gain) @ gain + 1e-9


def test_a_feature_of_equal_weights_but_for_rounding_speaks_for_the_first_class():
    """Column 0 has 3 + 1 of 4 + 2 rows in class 0 and 1 + 1 of 1 + 2 in class 1: 2/3 in both."""
    X, y = [[1, 0], [1, 1], [1, 0], [1, 1], [0, 1]], [0, 1, 0, 0, 0]
    assert SparseBernoulliNB(k=2, quota=1).fit(X, y).support_.all()


@pytest.mark.parametrize("Model", [SparseMultinomialNB, SparseBernoulliNB])
def test_balanced_classes_weigh_the_same_whatever_their_rows_weigh(Model):
    rng = np.random.default_rng(0)
    X, y = rng.poisson(1.0, (40, 8)), np.repeat([0, 1], [15, 25])
    weight = rng.integers(0, 4, 40)
    fitted = Model(k=4, class_weight="balanced").fit(X, y, sample_weight=weight)
    assert fitted.statistics_.class_weight[0] == pytest.approx(fitted.statistics_.class_weight[1])
    repeated = np.repeat(np.arange(40), weight)
    again = Model(k=4, class_weight="balanced").fit(X[repeated], y[repeated])
    np.testing.assert_array_equal(again.support_, fitted.support_)
    np.testing.assert_allclose(again.predict_proba(X), fitted.predict_proba(X), rtol=1e-9)


def test_a_path_within_a_budget_is_its_fits():
    for seed in [2628, *range(60)]:  # where another start ended elsewhere
        rng = np.random.default_rng(seed)
        X, y = rng.poisson(1.0, (41, 5)), rng.integers(0, 2, 41)
        weight, costs = rng.integers(0, 4, 41), np.round(rng.uniform(0.1, 1.1, 5), 2)
        asked = {"costs": costs, "budget": round(float(rng.uniform(0.5, 2.5)), 2), "alpha": 1.0}
        path = sparsity_path(SparseMultinomialNB(**asked), X, y, ks=[1, 2, 4], sample_weight=weight)
        for k in (1, 2, 4):
            fitted = SparseMultinomialNB(k=k, **asked).fit(X, y, sample_weight=weight)
            np.testing.assert_array_equal(path.support(k), fitted.get_support(indices=True))


@pytest.mark.parametrize("asked", [name for name in NAMES if name.startswith(("quota", "even"))])
@pytest.mark.parametrize("name", ["bernoulli", "poisson"])
def test_quotas_by_groups_are_those_by_columns(name: str, asked: str, monkeypatch: Any) -> None:
    for seed in range(4):
        model = _made(name, _kinds_of_constraints(M, seed)[asked])
        X, y = _rows(seed, 3)
        statistics = model.gather(np.hstack([np.minimum(X, 1)[:, :6], X[:, 6:]]), y)
        spoken = np.bincount(speaks_for(model, statistics)[[1, 3, 4, 5, 6, 7]], minlength=3)
        if "quota" in asked and not spoken.all():
            continue  # no choice can meet it
        for k in range(6, 9 - len(model.constraints.excluded) + 1):  # type: ignore[union-attr]
            found = []
            for repeated in (0, 100):  # columns to a group, from which groups are taken
                monkeypatch.setattr("naively.selection.groups._REPEATED", repeated)
                found.append(train(model, statistics, k).selection)
            assert found[0].support.tolist() == found[1].support.tolist()
            assert found[0].proof.objective == pytest.approx(found[1].proof.objective)
