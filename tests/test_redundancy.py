"""Features that do not say the same: the order by definition, and what users see of it."""

import csv
import json
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from click.testing import CliRunner
from hypothesis import given as drawn, settings, strategies as st

from naively import (
    SparseBernoulliNB,
    SparseCategoricalNB,
    SparseGaussianNB,
    SparseL1Centers,
    SparseL2Centers,
    SparseMultinomialNB,
    SparseNegativeBinomialNB,
    SparsePoissonNB,
    SparsityCV,
    error_path,
    sparsity_path,
)
from naively.cli.commands import naively
from naively.jobs.model_file import load_model
from naively.judging.folds import fold_errors
from naively.judging.rows import checked_rows
from naively.models import MODELS
from naively.selection.constrained import speaks_for
from naively.selection.redundancy import of_rows
from reference_redundancy import correlation_within, given, greedy, information

RELATED = [
    SparseMultinomialNB,
    SparseBernoulliNB,
    SparsePoissonNB,
    SparseNegativeBinomialNB,
    SparseCategoricalNB,
    SparseGaussianNB,
    SparseL2Centers,
    SparseL1Centers,
]


def presence(n=90, m=10, classes=3, seed=0):
    """Rows of presence with copies, near copies, a constant column and an empty one."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % classes
    X = (rng.random((n, m)) < 0.2 + 0.5 * (np.arange(m) % classes == y[:, None])).astype(int)
    X[:, 4] = X[:, 1]
    X[:, 5] = np.where(rng.random(n) < 0.9, X[:, 2], 1 - X[:, 2])
    X[:, 6], X[:, 7] = 1, 0
    return X, y


def selected(fitted):
    """Columns in the order in which they were chosen, and what each adds."""
    support, gain = fitted.selection_.support, fitted.selection_.gain
    order = np.argsort(-gain, kind="stable")
    return support[order], gain[order]


def displaced_by(fitted):
    support = fitted.selection_.support.tolist()
    return {j: each.tolist() for j, each in zip(support, fitted.displaced_, strict=True)}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("seed", range(4))
def test_presence_is_chosen_as_in_plain_loops(seed, classes, weighted):
    X, y = presence(70, 11, classes, seed)
    rng = np.random.default_rng(seed)
    weight = rng.uniform(0, 2, len(y)) if weighted else np.ones(len(y))
    given_weight = weight if weighted else None
    gain = [information(X[:, i], y, weight) for i in range(11)]
    for k in (1, 3, 7, 11):
        fitted = SparseBernoulliNB(k=k, redundancy="conditional").fit(X, y, given_weight)
        order, added, displaced = greedy(gain, lambda i, j: given(X[:, i], y, X[:, j], weight), k)
        np.testing.assert_array_equal(fitted.get_support(indices=True), sorted(order))
        np.testing.assert_allclose(selected(fitted)[1], added, atol=1e-8)
        assert displaced_by(fitted) == displaced
        assert fitted.certificate_ is None


@pytest.mark.parametrize("seed", range(3))
def test_categories_are_chosen_as_in_plain_loops(seed):
    rng = np.random.default_rng(seed)
    y = np.arange(80) % 3
    X = (rng.integers(0, 4, (80, 9)) + y[:, None] * (np.arange(9) % 3 == 0)) % 5
    X[:, 3] = X[:, 0]
    weight = rng.uniform(0.5, 2, 80)
    gain = [information(X[:, i], y, weight) for i in range(9)]
    order, added, displaced = greedy(gain, lambda i, j: given(X[:, i], y, X[:, j], weight), 5)
    for rows in (X, sp.csr_array(X)):
        fitted = SparseCategoricalNB(k=5, redundancy="conditional").fit(rows, y, weight)
        np.testing.assert_array_equal(fitted.get_support(indices=True), sorted(order))
        np.testing.assert_allclose(selected(fitted)[1], added, atol=1e-8)
        assert displaced_by(fitted) == displaced


@pytest.mark.parametrize("estimator", [SparseGaussianNB(), SparseL2Centers(scale="std")])
@pytest.mark.parametrize("seed", range(3))
def test_real_values_lose_what_a_correlation_explains(estimator, seed):
    rng = np.random.default_rng(seed)
    y = np.arange(60) % 3
    X = rng.normal(size=(60, 8)) + 0.8 * (np.arange(8) % 3 == y[:, None])
    X[:, 4] = 2 * X[:, 1] + 1
    X[:, 5] = X[:, 2] + 0.3 * rng.normal(size=60)
    weight = rng.uniform(0.5, 2, 60)
    estimator.set_params(k=4, redundancy="conditional").fit(X, y, weight)
    gain = estimator.scores_

    def pair(i, j):
        return gain[i] * (1 - correlation_within(X[:, i], X[:, j], y, weight) ** 2)

    order, added, displaced = greedy(gain, pair, 4)
    sparse = type(estimator)(**estimator.get_params()).fit(sp.csr_array(X), y, weight)
    for fitted in (estimator, sparse):
        np.testing.assert_array_equal(fitted.get_support(indices=True), sorted(order))
        np.testing.assert_allclose(selected(fitted)[1], added, rtol=1e-6)
        assert displaced_by(fitted) == displaced


def test_counts_keep_the_gain_of_their_model():
    """What is left of it is the share of what their presence says."""
    rng = np.random.default_rng(1)
    X, y = presence(seed=5)
    X = X * rng.integers(1, 4, X.shape)
    fitted = SparsePoissonNB(k=4, redundancy="conditional").fit(X, y)
    weight, gain, Z = np.ones(len(y)), fitted.scores_, (X > 0).astype(int)
    alone = [information(Z[:, i], y, weight) for i in range(X.shape[1])]

    def pair(i, j):
        share = given(Z[:, i], y, Z[:, j], weight) / alone[i] if alone[i] > 1e-9 else 1.0
        return gain[i] * share

    order, added, displaced = greedy(gain, pair, 4)
    np.testing.assert_array_equal(fitted.get_support(indices=True), sorted(order))
    np.testing.assert_allclose(selected(fitted)[1], added, rtol=1e-8)
    assert displaced_by(fitted) == displaced


@pytest.mark.parametrize("estimator", RELATED)
def test_a_copy_comes_last(estimator):
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    X = rng.poisson(1.0 + 1.5 * (np.arange(6) % 2 == y[:, None])).astype(float)
    X[:, 5] = X[:, 0]
    plain, fitted = estimator(k=5), estimator(k=5, redundancy="conditional")
    assert fitted.fit(X, y).certificate_ is None
    assert {0, 5} - set(fitted.get_support(indices=True))
    assert plain.fit(X, y).certificate_ is not None
    assert plain.displaced_ == []
    np.testing.assert_array_equal(fitted.set_params(k=6).fit(X, y)._scores(X),
                                  plain.set_params(k=6).fit(X, y)._scores(X))  # fmt: skip


@settings(max_examples=40, deadline=None)
@drawn(st.integers(0, 10**6), st.integers(2, 4), st.integers(1, 12))
def test_laws(seed, classes, k):
    """The first k are those of every larger k; order of rows, and rows repeated, do not matter."""
    X, y = presence(66, 12, classes, seed)
    rng = np.random.default_rng(seed)
    model = SparseBernoulliNB(k=k, redundancy="conditional")
    support = model.fit(X, y).get_support(indices=True)
    track = sparsity_path(model, X, y, ks=[k, 12])
    np.testing.assert_array_equal(track.support(k), support)
    shuffled, weight = rng.permutation(len(y)), rng.integers(1, 4, len(y))
    np.testing.assert_array_equal(
        model.fit(sp.csr_array(X[shuffled]), y[shuffled]).get_support(indices=True), support
    )
    repeated = model.fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    weighted = SparseBernoulliNB(k=k, redundancy="conditional").fit(X, y, weight)
    np.testing.assert_array_equal(repeated.support_, weighted.support_)
    assert (np.diff(selected(weighted)[1]) <= 1e-9).all()


SETTLED = [
    {"required": [5], "excluded": [0, 1]},
    {"required": [4, 7, 2]},
    {"excluded": [1, 2, 6]},
    {"quota": 1},
    {"quota": 1, "required": [4, 7], "excluded": [0]},
    {"quota": "even"},
    {"quota": "even", "required": [4, 7, 2]},
]


@pytest.mark.parametrize("asked", SETTLED)
@pytest.mark.parametrize("kind", RELATED)
@pytest.mark.parametrize("classes", [2, 3, 4])
def test_the_order_starts_from_what_is_required(kind, classes, asked):
    """Fleuret's loop with some columns forced in and some out, for every model."""
    takes = MODELS[kind().fit(*presence())._model().name].takes
    rng = np.random.default_rng(classes)
    X, y = presence(80, 10, classes, 3)
    X = {
        "presence": X,
        "counts": X * rng.integers(1, 4, X.shape),
        "categories": X + rng.integers(0, 2, X.shape),
        "values": X + rng.normal(size=X.shape),
    }[takes]
    weight, Z = np.ones(len(y)), (X > 0).astype(int) if takes == "counts" else X
    gain = kind().fit(X, y).scores_
    alone = [information(Z[:, i], y, weight) for i in range(10)] if takes != "values" else gain

    def pair(i, j):
        if takes == "values":
            return gain[i] * (1 - correlation_within(X[:, i], X[:, j], y, weight) ** 2)
        share = given(Z[:, i], y, Z[:, j], weight) / alone[i] if alone[i] > 1e-9 else 1.0
        return gain[i] * share

    if takes in ("presence", "categories"):
        gain = alone

        def pair(i, j):
            return given(Z[:, i], y, Z[:, j], weight)

    r, quota = len(asked.get("required", [])), asked.get("quota", 0)
    if quota:
        model = kind()._model()
        asked = {**asked, "speaks": speaks_for(model, model.gather(X, y)).tolist()}
        may = [c for i, c in enumerate(asked["speaks"]) if i not in asked.get("excluded", [])]
        has = [may.count(c) for c in range(classes)]
        asked["quota"] = quota = quota if min(has) or quota == "even" else 0
        spoken = {asked["speaks"][i] for i in asked.get("required", [])}
        r += classes - len(spoken) if quota == 1 else 0
        r = max(r, classes) if quota == "even" else r
    told = {name: value for name, value in asked.items() if name != "speaks" and value != 0}
    track = sparsity_path(kind(redundancy="conditional", **told), X, y)
    assert track.k.min() == max(r, 1)
    assert track.k.max() == 10 - len(asked.get("excluded", []))
    for k in range(max(r, 1), 7):
        fitted = kind(k=k, redundancy="conditional", **told).fit(X, y)
        order, added, displaced = greedy(gain, pair, k, **asked)
        assert fitted.get_support(indices=True).tolist() == sorted(order)
        of_column = dict(zip(sorted(order), fitted.selection_.gain, strict=True))
        np.testing.assert_allclose([of_column[i] for i in order], added, rtol=1e-6, atol=1e-8)
        if not quota:  # to which some give way as well
            assert displaced_by(fitted) == displaced
        assert track.support(k).tolist() == sorted(order)
    if r > 1:
        why = "" if quota else f"{r} are required"
        with pytest.raises(ValueError, match=f"`k` must be at least {r}: {why}"):
            kind(k=r - 1, redundancy="conditional", **told).fit(X, y)


def test_few_candidates_beside_what_is_required():
    X, y = presence()
    asked = {"required": [7], "excluded": [0, 3]}
    gain = SparseBernoulliNB(k=3).fit(X, y).scores_
    free = [i for i in np.argsort(-gain, kind="stable").tolist() if i not in (0, 3, 7)]
    track = sparsity_path(SparseBernoulliNB(redundancy="conditional", candidates=2, **asked), X, y)
    assert track.support(3).tolist() == sorted([7, *free[:2]])
    assert track.support(6).tolist() == sorted([7, *free[:5]])  # the others by their gains
    free_path = sparsity_path(SparseBernoulliNB(**asked), X, y)
    np.testing.assert_allclose(track.bound, free_path.bound)
    assert (track.objective <= track.bound + 1e-9).all()
    np.testing.assert_allclose(track.objective[-1], free_path.objective[-1])


def test_few_candidates_within_a_quota():
    """Candidates meet the quota, and so do the others, that follow by their gains."""
    X, y = presence(200, 30, 3)
    for quota in (4, "even"):
        asked = {"redundancy": "conditional", "candidates": 6, "quota": quota}
        track = sparsity_path(SparseBernoulliNB(**asked), X, y, ks=range(13, 31))
        model = SparseBernoulliNB()._model()
        speaks = speaks_for(model, model.gather(X, y))
        there_are = np.bincount(speaks, minlength=3)
        for k in track.k.tolist():
            has = np.bincount(speaks[track.support(k)], minlength=3)
            level = k // 3 if quota == "even" else 4
            assert (has >= np.minimum(level, there_are)).all()
            fitted = SparseBernoulliNB(k=k, **asked).fit(X, y)
            assert fitted.get_support(indices=True).tolist() == track.support(k).tolist()


@pytest.mark.parametrize("kind", [SparseBernoulliNB, SparseMultinomialNB, SparseGaussianNB])
def test_folds_and_searches_keep_to_what_is_settled(kind):
    from sklearn.model_selection import GridSearchCV
    from sklearn.utils.class_weight import compute_sample_weight

    X, y = presence(120, 12, 2)
    asked = {"required": [7], "excluded": [0, 1], "redundancy": "conditional"}
    auto = kind(k="auto", **asked).fit(X, y).support_
    assert auto[7]
    assert not auto[:2].any()
    search = SparsityCV(kind(**asked), ks=[2, 5], cv=3).fit(X, y)
    loop = GridSearchCV(kind(**asked), {"k": [2, 5]}, cv=3).fit(X, y)
    np.testing.assert_allclose(
        search.cv_results_["mean_test_score"], loop.cv_results_["mean_test_score"]
    )
    curves = error_path(kind(**asked), X, y, ks=[1, 4])
    assert np.isfinite(curves.leave_one_out).all()
    if kind is not SparseGaussianNB:
        weighted = kind(k=4, class_weight="balanced", **asked).fit(X[:90], y[:90])
        plain = kind(k=4, **asked).fit(X[:90], y[:90], compute_sample_weight("balanced", y[:90]))
        np.testing.assert_array_equal(weighted.support_, plain.support_)


@pytest.mark.parametrize(
    "asked", [{"groups": np.arange(10)}, {"costs": np.ones(10), "budget": 3.0}]
)
def test_other_constraints_are_refused(asked):
    X, y = presence()
    name = next(iter(asked))
    with pytest.raises(ValueError, match=f"`redundancy`='conditional' and `{name}` cannot be"):
        SparseBernoulliNB(k=3, redundancy="conditional", **asked).fit(X, y)
    with pytest.raises(ValueError, match="`objective`='pairs' and `redundancy`='conditional'"):
        SparseBernoulliNB(k=3, redundancy="conditional", objective="pairs").fit(X, y)


def test_rows_of_many_words_of_bits():
    """Lists and bits count alike: frequent and rare columns, more rows than fit in a word."""
    rng = np.random.default_rng(2)
    y = rng.integers(0, 3, 700)
    share = np.where(np.arange(12) < 6, 0.01, 0.4) * (1 + (np.arange(12) % 3 == y[:, None]))
    X = (rng.random((700, 12)) < share).astype(int)
    weight = np.ones(700)
    gain = [information(X[:, i], y, weight) for i in range(12)]
    order, added, _ = greedy(gain, lambda i, j: given(X[:, i], y, X[:, j], weight), 12)
    fitted = SparseBernoulliNB(k=12, redundancy="conditional").fit(X, y)
    np.testing.assert_allclose(selected(fitted)[1], added, atol=1e-8)
    assert selected(fitted)[0].tolist() == order


def test_few_candidates():
    X, y = presence()
    model = SparseBernoulliNB(k=3, redundancy="conditional", candidates=3).fit(X, y)
    np.testing.assert_array_equal(
        model.get_support(), SparseBernoulliNB(k=3).fit(X, y).get_support()
    )
    track = sparsity_path(SparseBernoulliNB(redundancy="conditional", candidates=2), X, y)
    order = np.argsort(-model.scores_, kind="stable")
    np.testing.assert_array_equal(track.support(8), np.sort(order[:8]))  # the others by their gains


@pytest.mark.parametrize("estimator", [SparseMultinomialNB, SparseBernoulliNB, SparseGaussianNB])
def test_the_path_knows_what_is_possible(estimator):
    X, y = presence()
    free = sparsity_path(estimator(), X, y, ks=[2, 4, 10])
    track = sparsity_path(estimator(redundancy="conditional"), X, y, ks=[2, 4, 10])
    np.testing.assert_allclose(track.bound, free.bound)
    assert (track.objective <= track.bound + 1e-9).all()
    np.testing.assert_allclose(track.objective[-1], free.objective[-1])
    assert np.isneginf(track.a_priori).all()
    model = estimator(k=4, redundancy="conditional").fit(X, y)
    np.testing.assert_array_equal(track.support(4), model.get_support(indices=True))
    assert track.order[:4].tolist() == selected(model)[0].tolist()


@pytest.mark.parametrize(
    "model",
    [
        MODELS["bernoulli"].build(redundancy="conditional"),
        MODELS["multinomial"].build(redundancy="conditional", binary=True),
        MODELS["multinomial"].build(redundancy="conditional", alpha=0.0),
        MODELS["categorical"].build(redundancy="conditional", min_categories=2),
        MODELS["gaussian"].build(redundancy="conditional"),
        MODELS["l1-centers"].build(redundancy="conditional"),
    ],
    ids=lambda model: model.name,
)
def test_folds_choose_anew(model):
    """Errors of the folds are those of a loop of fits, of the rows of each fold alone."""
    from naively.judging.folds import divided, stratified_folds
    from naively.selection.train import train

    X, y = presence(60, 9)
    grid = [1, 3, 6]
    statistics = model.gather(X, y)
    found = fold_errors(model, checked_rows(X, y, None), statistics, grid, n_folds=3)
    splits = divided(stratified_folds(y, 3, np.random.RandomState(0)), 3)
    for t, (inside, outside) in enumerate(splits):
        part = model.gather(X[inside], y[inside])
        for g, k in enumerate(grid):
            rows = model.rows_over(part, X[inside], y[inside])
            trained = train(model, part, k, rows=rows)
            wrong = trained.scores(X[outside]).argmax(axis=1) != y[outside]
            assert found.errors[t, g] == pytest.approx(wrong.mean())


def test_searches_and_error_paths_are_loops_of_fits():
    X, y = presence(120, 12, 2)
    model = SparseBernoulliNB(redundancy="conditional")
    for scoring in (None, "neg_log_loss", lambda e, X, y: e.score(X, y)):
        search = SparsityCV(model, ks=[2, 5], scoring=scoring, cv=3).fit(X, y)
        from sklearn.model_selection import GridSearchCV

        expected = GridSearchCV(model, {"k": [2, 5]}, scoring=scoring, cv=3).fit(X, y)
        np.testing.assert_allclose(
            search.cv_results_["mean_test_score"], expected.cv_results_["mean_test_score"]
        )
        np.testing.assert_array_equal(
            search.best_estimator_.support_, expected.best_estimator_.support_
        )
    curves = error_path(model, X, y, ks=[2, 5])
    assert curves.predicted is not None
    assert curves.leave_one_out is not None
    multinomial = error_path(SparseMultinomialNB(redundancy="conditional"), X, y, ks=[2, 5])
    assert np.isfinite(multinomial.leave_one_out).all()
    auto = SparseBernoulliNB(k="auto", redundancy="conditional").fit(X, y)
    assert auto.fold_errors_.best_k() == auto.support_.sum()


def test_bad_requests_are_told():
    X, y = presence()
    for wrong, match in (
        ({"redundancy": "mrmr"}, "`redundancy` must be 'conditional' or None; got 'mrmr'"),
        ({"candidates": 9}, "`candidates` has no effect without"),
        ({"redundancy": "conditional", "candidates": 0}, "`candidates` must be an int >= 1"),
        ({"redundancy": "conditional", "candidates": True}, "`candidates` must be an int >= 1"),
    ):
        with pytest.raises(ValueError, match=match):
            SparseBernoulliNB(k=3, **wrong).fit(X, y)
    with pytest.raises(ValueError, match="`exact`=True has no effect"):
        SparseMultinomialNB(k=3, exact=True, redundancy="conditional").fit(X, y)
    model = SparseBernoulliNB(k=3, redundancy="conditional")
    with pytest.raises(ValueError, match="needs the rows themselves"):
        model.partial_fit(X, y, classes=[0, 1, 2])
    assert not hasattr(model, "statistics_")
    statistics = SparseBernoulliNB().gather(X, y)
    with pytest.raises(ValueError, match="needs the rows themselves"):
        SparseBernoulliNB.from_statistics(statistics, k=3, redundancy="conditional")
    with pytest.raises(ValueError, match="needs the rows themselves"):
        sparsity_path(model, statistics)
    plain = MODELS["bernoulli"].build(redundancy="conditional")
    bound = of_rows(plain, statistics, plain.rows_over(statistics, X, y), 2)
    assert bound.redundancy is None
    with pytest.raises(TypeError, match="does not take redundancy"):
        MODELS["hybrid"].build(redundancy="conditional")


# --- the command --------------------------------------------------------------------------------


def texts(n=300, seed=0):
    """Two classes, told by three words that come together, and by one that comes alone."""
    rng = np.random.default_rng(seed)
    rows = []
    for i in range(n):
        label = i % 2
        together = ["awful", "terrible", "horrid"] if rng.random() < 0.2 + 0.5 * label else []
        alone = ["slow"] if rng.random() < 0.25 + 0.45 * label else []
        rows.append((" ".join([*together, *alone, "film", f"w{rng.integers(9)}"]), label))
    return rows


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = texts()
    for name, part in (("all", rows), ("part-0", rows[:130]), ("part-1", rows[130:])):
        with open(f"{name}.csv", "w", newline="") as file:
            csv.writer(file).writerows([("text", "label"), *part])
    return tmp_path


def run(*arguments, status=0):
    result = CliRunner().invoke(naively, [str(each) for each in arguments])
    assert result.exit_code == status, result.output
    return result.output


@pytest.mark.parametrize("model", ["bernoulli", "poisson"])
def test_the_command_chooses_what_the_estimator_chooses(folder, model):
    shown = run(
        "select",
        "all.csv",
        "-k",
        2,
        "--model",
        model,
        "--choose",
        "redundancy=conditional",
        "--test",
        0,
        "--out",
        "r",
    )
    assert "nothing is proven" in shown
    assert "also says" in shown
    assert "%" not in shown.split("nothing is proven")[0].splitlines()[-1]
    summary = json.loads((folder / "r/summary.json").read_text())
    assert summary["certificate"] is None
    names = [row["name"] for row in summary["features"]]
    assert names == ["awful", "slow"]
    assert summary["features"][0]["also"] == ["horrid", "terrible"]
    with open("r/features.csv") as file:
        table = list(csv.DictReader(file))
    assert table[0]["also says"] == "horrid; terrible"
    page = (folder / "r/report.html").read_text()
    assert "also says: horrid, terrible" in page
    assert "not proven" in page
    again = run("explain", "r", "--report", "md")
    assert "(also says: horrid, terrible)" in again


def test_ways_to_the_rows_give_the_same(folder):
    options = (
        "-k",
        "auto",
        "--choose",
        "redundancy=conditional",
        "--model",
        "bernoulli",
        "--train",
        "refit=logistic",
    )
    run("select", "part-*.csv", *options, "--out", "files")
    run("select", "part-*.csv", *options, "--out", "threads", "--on", 2)
    run("select", "part-*.csv", *options, "--out", "dask", "--on", "dask:1")
    for name in ("features.csv", "model.npz"):
        first, *others = (
            (folder / out / name).read_bytes() for out in ("files", "threads", "dask")
        )
        assert others == [first, first]


def test_rare_words_are_left_out_of_the_rows_too(folder):
    run(
        "select",
        "part-*.csv",
        "-k",
        3,
        "--model",
        "bernoulli",
        "--words",
        "min-count=40",
        "--train",
        "refit=logistic",
        "--choose",
        "redundancy=conditional",
        "--test",
        0,
        "--out",
        "r",
    )
    texts_, y = zip(*texts(), strict=True)
    words = sorted({word for text in texts_ for word in text.split()})
    X = np.array([[word in text.split() for word in words] for text in texts_], dtype=int)
    often = X.sum(axis=0) >= 40
    assert 4 < often.sum() < len(words)
    fitted = SparseBernoulliNB(k=3, redundancy="conditional", refit="logistic")
    fitted.fit(sp.csr_array(X[:, often]), np.array(y).astype(str))
    file = load_model("r/model.npz")
    assert list(file.names) == np.array(words)[often][fitted.support_].tolist()
    np.testing.assert_allclose(file.rule.weights, fitted.rule_.weights, rtol=1e-6)


def test_tables_over_k(folder):
    shown = run("cv", "all.csv", "--ks", "1-3", "--model", "bernoulli", "--choose",
                "redundancy=conditional", "--json")  # fmt: skip
    rows = json.loads(shown)["points"]
    assert [row["entered"] for row in rows[:2]] == [["awful"], ["slow"]]
    assert rows[1]["relative_gap"] > 0
    table = json.loads(
        run(
            "cv",
            "all.csv",
            "--ks",
            "1-4",
            "--choose",
            "redundancy=conditional",
            "--json",
            "--model",
            "bernoulli",
            "--folds",
            3,
        )
    )
    plain = json.loads(run("cv", "all.csv", "--ks", "1-4", "--json", "--model", "bernoulli",
                           "--folds", 3))  # fmt: skip
    found, expected = ([p["score"] for p in each["points"]] for each in (table, plain))
    assert found[0] == expected[0]  # one feature is that of the largest gain
    assert found != expected


def test_the_command_refuses(folder):
    shown = run("select", "all.csv", "--choose", "candidates=9", status=2)
    assert "`--choose candidates` has no effect without `--choose redundancy=conditional`" in shown
    asked = ("--choose", "redundancy=conditional", "--choose", "exact")
    shown = run("select", "all.csv", *asked, status=2)
    assert "`--choose exact` has no effect with `--choose redundancy=conditional`" in shown
    shown = run(
        "select", "all.csv", "--model", "hybrid", "--choose", "redundancy=conditional", status=2
    )
    assert "`--choose redundancy` has no effect on --model hybrid" in shown


def test_ties_are_the_same_for_presence_and_categories():
    for seed in range(60):
        rng = np.random.default_rng(seed)
        X, y = rng.integers(0, 2, (8, 4)), np.arange(8) % 2
        found = [
            Model(k=2, alpha=0, redundancy="conditional").fit(X, y).get_support(indices=True)
            for Model in (SparseBernoulliNB, SparseCategoricalNB)
        ]
        np.testing.assert_array_equal(*found)


@pytest.mark.parametrize("Model", [SparseMultinomialNB, SparseBernoulliNB, SparseGaussianNB])
def test_fitted_models_can_be_saved(Model):
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 3, (60, 9)), np.arange(60) % 2
    model = Model(k=3, redundancy="conditional").fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
