"""Frequencies of selection against plain loops of fits, and their bound against linear programs."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from scipy import sparse
from scipy.optimize import linprog
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.feature_extraction.text import CountVectorizer

from naively import (
    HybridNB,
    SelectionStability,
    SparseBernoulliNB,
    SparseCategoricalNB,
    SparseGaussianNB,
    SparseL1Centers,
    SparseL2Centers,
    SparseMixedNB,
    SparseMultinomialNB,
    SparseNegativeBinomialNB,
    SparsePoissonNB,
    SparsityCV,
    error_path,
    selection_stability,
    sparsity_path,
)
from naively.cli.commands import naively
from naively.judging.folds import stratified_folds
from naively.judging.parting import Repeats, random_numbers
from naively.judging.stability import tail_bound
from naively.read.layout import Layout
from naively.read.parts import collected, parts_of
from naively.work.row_keys import row_keys

MODELS = [
    SparseMultinomialNB(),
    SparseMultinomialNB(alpha=np.repeat([0.5, 1.5], 15)),
    SparseBernoulliNB(),
    SparsePoissonNB(),
    SparseNegativeBinomialNB(),
    SparseCategoricalNB(),
    SparseGaussianNB(),
    SparseGaussianNB(variance="class"),
    SparseL2Centers(scale="std"),
    SparseL1Centers(),
]


def counts(n=240, m=30, n_classes=3, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n)
    rate = 0.5 + 0.4 * rng.random((n_classes, m))
    return rng.poisson(rate[y]), y


def loops(estimator, X, y, ks, n_subsamples, deal, label, rng, weight=None):
    """Fit on every half; `deal` is the part of each row, `label` the class of each part."""
    times = np.zeros((len(ks), X.shape[1]), dtype=int)
    for _ in range(n_subsamples // 2):
        side = stratified_folds(label, 2, rng)[deal] == 0
        for half in (side, ~side):
            for row, k in zip(times, ks, strict=True):
                model = clone(estimator).set_params(k=k)
                row += model.fit(
                    X[half], y[half], None if weight is None else weight[half]
                ).support_
    return times


OTHER_CHOICES = [
    SparseBernoulliNB(redundancy="conditional", candidates=20),
    SparseGaussianNB(redundancy="conditional"),
    SparsePoissonNB(objective="pairs"),
    SparseMultinomialNB(required=[1], excluded=[2, 3]),
]


@pytest.mark.parametrize("estimator", [*MODELS, *OTHER_CHOICES], ids=str)
def test_rows_drawn_one_by_one(estimator):
    X, y = counts()
    ks = [3, 11]
    found = selection_stability(estimator, X, y, ks, n_subsamples=10, n_buckets=None)
    expected = loops(estimator, X, y, ks, 10, np.arange(240), y, np.random.RandomState(0))
    np.testing.assert_array_equal(found.times.toarray(), expected)
    assert found.k.tolist() == ks
    np.testing.assert_allclose(found.frequency(11), expected[1] / 10)
    assert found.stable(11, 0.7).tolist() == np.flatnonzero(expected[1] >= 7).tolist()


@pytest.mark.parametrize("estimator", MODELS[:-1], ids=str)
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_sums_of_buckets(estimator, container):
    X, y = counts()
    found = selection_stability(estimator, container(X), y, [5], n_subsamples=12, n_buckets=6)
    rng = np.random.RandomState(0)
    deal = stratified_folds(y, 6, rng)
    expected = loops(estimator, X, y, [5], 12, deal, np.zeros(6, dtype=int), rng)
    np.testing.assert_array_equal(found.times.toarray(), expected)


def test_groups_are_not_parted_and_weights_count():
    X, y = counts()
    group, weight = np.arange(240) // 4, np.random.default_rng(1).integers(0, 3, 240)
    names = np.array([f"author {g:02}" for g in group])
    found = selection_stability(
        SparseMultinomialNB(k=4), X, y, groups=names, sample_weight=weight, n_subsamples=8
    )
    kept = weight > 0
    _, first, deal = np.unique(group[kept], return_index=True, return_inverse=True)
    expected = loops(
        SparseMultinomialNB(), X[kept], y[kept], [4], 8, deal, y[kept][first],
        np.random.RandomState(0), weight[kept],
    )  # fmt: skip
    np.testing.assert_array_equal(found.times.toarray(), expected)


@pytest.mark.parametrize("estimator", [SparseMultinomialNB(), SparseBernoulliNB()])
def test_candidates_of_many_features(estimator):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 400)
    X = sparse.random_array((400, 20_000), density=0.01, rng=rng, format="csr")
    X.data[:] = 1.0
    X = sparse.csr_array(
        sparse.hstack([X, sparse.csr_array(rng.random((400, 40)) < 0.3 + 0.2 * y[:, None])])
    )
    found = selection_stability(estimator, X, y, [20], n_subsamples=10)
    rng = np.random.RandomState(0)
    deal = stratified_folds(y, 20, rng)
    expected = loops(estimator, X, y, [20], 10, deal, np.zeros(20, dtype=int), rng)
    frequent = expected[0] > 1  # rarer ones may have been left out
    np.testing.assert_allclose(found.times.toarray()[0][frequent], expected[0][frequent], atol=1)
    assert found.times.sum() == 200


def test_classes_that_a_half_lacks():
    X, y = counts(n_classes=2)
    y[:3] = 2  # three rows, in fewer buckets than there are
    found = selection_stability(SparseMultinomialNB(k=4), X, y, n_subsamples=20)
    assert found.times.sum() == 80
    with pytest.raises(ValueError, match=r"half of the rows has none of 1, and nothing can be"):
        selection_stability(SparseMultinomialNB(k=4), X[:100], np.repeat([0, 1], [99, 1]))


@pytest.mark.parametrize(
    "estimator",
    [
        *MODELS,
        SparseL1Centers(missing="ignore"),
        SparseL1Centers(redundancy="conditional"),
        SparseL2Centers(redundancy="conditional"),
        SparseGaussianNB(missing="ignore"),
        SparseCategoricalNB(redundancy="conditional"),
        SparseMixedNB(columns=["gaussian"] * 10 + ["poisson"] * 10 + ["categorical"] * 10),
        SparseBernoulliNB(quota="even"),
    ],
    ids=str,
)
def test_a_half_without_a_class_is_fitted_on_the_others(estimator):
    """Two groups are two halves; each chooses what a fit on its rows does."""
    X, y = counts()
    groups = np.arange(len(y)) % 2
    y[groups == 0] %= 2
    assert len(set(y)) == 3
    found = selection_stability(estimator, X, y, [6], n_subsamples=2, groups=groups)
    expected = np.zeros(X.shape[1], dtype=int)
    for group in (0, 1):
        fitted = clone(estimator).set_params(k=6).fit(X[groups == group], y[groups == group])
        expected += fitted.get_support()
    assert found.times.toarray()[0].tolist() == expected.tolist()


def test_features_of_noise_keep_the_bound():
    """Of 190 columns of noise fewer are stable, on average, than theorem 1 allows."""
    false, true, bounds = [], [], []
    for seed in range(20):
        X, y = make_classification(
            200, 200, n_informative=10, n_redundant=0, n_clusters_per_class=1, class_sep=0.7,
            shuffle=False, random_state=seed,
        )  # fmt: skip
        found = selection_stability(
            SparseGaussianNB(), X, y, [20], n_subsamples=50, random_state=seed
        )
        stable = found.stable(20, 0.8)
        false.append((stable >= 10).sum())
        true.append((stable < 10).sum())
        bounds.append([found.false_choices(20, 0.8, unimodal=each) for each in (False, True)])
    assert bounds[0][0] == pytest.approx(20**2 / (0.6 * 200))
    assert np.mean(false) <= bounds[0][1] < bounds[0][0]
    assert np.mean(true) > 2


@pytest.mark.parametrize("n_pairs", [10, 50])
@pytest.mark.parametrize("share", [0.05, 0.2, 0.5])
@pytest.mark.parametrize("threshold", [0.6, 0.74, 0.8, 0.9, 1.0])
def test_tail_bound_is_above_every_distribution(n_pairs, share, threshold):
    """How often both halves of 2 t - 1 of the pairs select a feature, if they do with share^2."""
    values = np.arange(n_pairs + 1) / n_pairs
    beyond = -(values >= 2 * threshold - 1 - 1e-12).astype(float)
    mean = {"A_ub": [values], "b_ub": [share**2], "A_eq": [np.ones(n_pairs + 1)], "b_eq": [1.0]}
    worst = -linprog(beyond, **mean).fun
    assert worst <= tail_bound(threshold, share, n_pairs, unimodal=False) * share**2 + 1e-9
    worst = 0.0
    for mode in range(n_pairs + 1):
        rise = np.diff(np.eye(n_pairs + 1), axis=0)  # p_(i + 1) - p_i
        rise[:mode] *= -1
        some = dict(
            mean, A_ub=np.vstack([values, rise]), b_ub=np.append(share**2, np.zeros(n_pairs))
        )
        found = linprog(beyond, **some)
        worst = max(worst, -found.fun if found.success else 0.0)
    assert worst <= tail_bound(threshold, share, n_pairs, unimodal=True) * share**2 + 1e-9


def test_no_bound_where_nothing_can_be_said():
    X, y = counts()
    found = selection_stability(SparseBernoulliNB(k=3), X, y, n_subsamples=4)
    assert np.isinf(found.false_choices(3, 0.5))
    assert "<table" in found._repr_html_()
    assert isinstance(found, SelectionStability)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_subsamples": 5}, "`n_subsamples` must be an even int >= 2; got 5"),
        ({"n_subsamples": None}, "`n_subsamples` must be an even int >= 2; got None"),
        ({"n_buckets": 7}, "`n_buckets` must be an even int >= 2; got 7"),
        ({"groups": np.zeros(240)}, "two groups of rows, at least; got one"),
        ({"groups": np.zeros(3)}, "one label for each of the 240 rows"),
        ({"ks": [31]}, r"`ks` must lie in \[0, 30\]"),
    ],
)
def test_bad_input(arguments, message):
    X, y = counts()
    with pytest.raises(ValueError, match=message):
        selection_stability(SparseBernoulliNB(k=3), X, y, **arguments)


def test_bad_questions():
    X, y = counts()
    found = selection_stability(SparseBernoulliNB(k=3), X, y, n_subsamples=2)
    with pytest.raises(ValueError, match=r"`k` must be one of the grid \[3\]; got 4"):
        found.frequency(4)
    with pytest.raises(ValueError, match=r"`threshold` must be a share in \(0, 1\]; got 90"):
        found.stable(3, 90)
    with pytest.raises(TypeError):
        selection_stability(HybridNB(), X, y)


# -- at the command ------------------------------------------------------------------------------


def texts(n=600, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    words = [f"word{i:02}" for i in range(40)]
    likely = 0.05 + 0.3 * rng.random(40)
    up = np.where(np.arange(40) < 8, 0.12, 0.0)
    held = rng.random((n, 40)) < likely + up * (2 * y[:, None] - 1)
    return [" ".join(np.array(words)[row]) + " end" for row in held], np.array(["neg", "pos"])[y]


def write(path, rows, labels):
    table = pa.table({"text": rows, "label": labels.tolist()})
    if path.suffix == ".parquet":
        pq.write_table(table, path, row_group_size=170)
    else:
        lines = [json.dumps(each) for each in table.to_pylist()]
        path.write_text("\n".join(lines) + "\n")


def run(*arguments):
    result = CliRunner().invoke(naively, [str(each) for each in arguments])
    return result.exit_code, result.output


def stability_of(folder):
    features = json.loads((folder / "summary.json").read_text())["features"]
    return {row["name"]: row["stability"] for row in features}


@pytest.mark.parametrize(
    ("model", "estimator"),
    [("multinomial", SparseMultinomialNB(k=9)), ("bernoulli", SparseBernoulliNB(k=9))],
)
def test_the_command_selects_on_halves_of_the_rows(tmp_path, model, estimator):
    rows, labels = texts()
    file = tmp_path / "a.jsonl"
    write(file, rows, labels)
    status, said = run(
        "select",
        file,
        "-k",
        9,
        "--model",
        model,
        "--judge",
        "stability",
        "--quick",
        "-q",
        "--out",
        tmp_path / "r",
    )
    assert status == 0
    vectorizer = CountVectorizer(binary=True)
    X = vectorizer.fit_transform(rows)
    parts = parts_of([str(file)], Layout(text=("text",)))
    keys = row_keys(collected(parts, Layout(text=("text",))))
    of_label = {name: random_numbers(f"bucket:{name}", np.zeros(1))[0] for name in set(labels)}
    with np.errstate(over="ignore"):
        keys = keys + np.array([of_label[each] for each in labels], dtype=np.uint64)
    keys = Repeats().told_apart(keys)
    bucket = random_numbers("bucket", keys) % 20
    times = loops(
        estimator, X, labels, [9], 100, bucket, np.zeros(20, dtype=int), np.random.RandomState(0)
    )[0]
    found = stability_of(tmp_path / "r")
    names = vectorizer.get_feature_names_out()
    assert found == {
        names[i]: times[i] / 100 for i in np.flatnonzero(estimator.fit(X, labels).support_)
    }
    firm = sum(each >= 0.9 for each in found.values())
    assert 0 < firm < 9
    assert f"{firm} of the 9 features are firm" in said
    lines = (tmp_path / "r" / "features.csv").read_text().splitlines()
    assert lines[0].split(",")[4] == "stability"
    assert [float(line.split(",")[4]) for line in lines[1:]] == list(found.values())
    page = (tmp_path / "r" / "report.html").read_text()
    assert ">halves" in page
    assert run("explain", tmp_path / "r", "--report", "md")[0] == 0  # read back


def test_the_path_of_a_report_tells_the_stability_of_every_k(tmp_path):
    """At the chosen k it is the mean of what the features have; elsewhere that of a run with k."""
    write(tmp_path / "a.jsonl", *texts())
    path = {}
    for k in (9, 4):
        asked = ("-k", k, "--judge", "stability", "-q", "--force")
        run("select", tmp_path / "a.jsonl", *asked, "--out", tmp_path / "r")
        points = json.loads((tmp_path / "r" / "summary.json").read_text())["path"]["points"]
        path[k] = {p["k"]: p["stability"] for p in points if "stability" in p}
        assert path[k][k] == pytest.approx(np.mean(list(stability_of(tmp_path / "r").values())))
        assert max(path[k]) <= 3 * k
    assert path[9][4] == pytest.approx(path[4][4])
    page = (tmp_path / "r" / "report.html").read_text()
    assert "stability (dotted)" in page


def test_halves_do_not_depend_on_the_order_of_the_rows(tmp_path):
    """Not even where rows are equal but for their labels."""
    rows, labels = texts()
    rows, labels = [*rows, *rows[:150]], [*labels, *labels[150:300]]
    order = np.random.default_rng(0).permutation(len(rows))
    found = []
    for name, which in (("a", np.arange(len(rows))), ("b", order)):
        write(tmp_path / f"{name}.jsonl", [rows[i] for i in which], np.array(labels)[which])
        run("select", tmp_path / f"{name}.jsonl", "-k", 9, "--judge", "stability", "--quick", "-q",
            "--test", 0, "--out", tmp_path / name)  # fmt: skip
        found.append(stability_of(tmp_path / name))
    assert found[0] == found[1]


def test_a_bucket_may_be_without_rows(tmp_path, monkeypatch):
    # One in 1,400 files of 200 rows has such a bucket.
    def never_the_first(key, numbers):
        found = random_numbers(key, numbers)
        return np.where(found % 20 == 0, found + 1, found)

    monkeypatch.setattr("naively.work.bucketed.random_numbers", never_the_first)
    write(tmp_path / "a.jsonl", *texts())
    run("select", tmp_path / "a.jsonl", "-k", 9, "--judge", "stability", "--quick", "-q",
        "--test", 0, "--out", tmp_path / "r")  # fmt: skip
    assert len(stability_of(tmp_path / "r")) == 9


def test_halves_do_not_depend_on_the_division_of_the_work(tmp_path):
    write(tmp_path / "a.parquet", *texts())
    found = []
    for name, how in {
        "one": (),
        "two": ("--on", 2),
        "dask": ("--on", "dask:2"),
    }.items():
        out = tmp_path / name
        asked = ("-k", 9, "--judge", "stability", "--quick", "-q", "--out", out, *how)
        status, said = run("select", tmp_path / "a.parquet", *asked)
        assert status == 0, said
        found.append((out / "features.csv").read_bytes())
    assert found[0] == found[1] == found[2]


def test_the_stable_ones_are_kept(tmp_path):
    """The model is that of the features on 70 % of the halves, where tested and where written."""
    rows, labels = texts()
    data, kept, answers = tmp_path / "a.jsonl", tmp_path / "kept", tmp_path / "p.csv"
    write(data, rows, labels)
    asked = ("select", data, "-k", 9, "--model", "bernoulli", "--quick", "-q")
    told = ("--test", 0, "--judge", "stability", "--out", tmp_path / "all")
    assert run(*asked, *told)[0] == 0
    status, said = run(*asked, "--test", 0, "--choose", "stable=0.7", "--out", kept)
    assert status == 0, said
    expected = {name: f for name, f in stability_of(tmp_path / "all").items() if f >= 0.7}
    assert stability_of(kept) == expected
    assert 0 < len(expected) < 9
    assert f"{len(expected)} of the 9 best features were kept" in said
    vectorizer = CountVectorizer(binary=True, vocabulary=sorted(expected))
    alone = SparseBernoulliNB(k="all").fit(vectorizer.transform(rows), labels)
    assert run("predict", kept / "model.npz", data, "-q", "--out", answers)[0] == 0
    found = [line.split(",")[1] for line in answers.read_text().splitlines()[1:]]
    assert found == alone.predict(vectorizer.transform(rows)).tolist()
    for how in (("--on", 2, "--test", 0), ("--test", 0.3)):
        status, said = run(*asked, *how, "--choose", "stable=0.7", "--out", tmp_path / "again")
        assert status == 0, said
        assert stability_of(tmp_path / "again") == expected


@pytest.mark.parametrize("estimator", MODELS, ids=str)
def test_fitted_on_the_stable_ones(estimator):
    X, y = counts()
    found = selection_stability(estimator, X, y, [8]).stable(8, 0.7)
    model = clone(estimator).set_params(k=8, stable=0.7).fit(X, y)
    assert model.get_support(indices=True).tolist() == found.tolist()
    assert 0 < len(found) < 8
    np.testing.assert_array_equal(
        model.stability_.times.toarray(),
        selection_stability(estimator, X, y, [8]).times.toarray(),
    )
    held = clone(estimator).set_params(k=len(found), required=found).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), held.predict(X))
    best = clone(estimator).set_params(k=len(found)).fit(X, y).certificate_
    assert model.certificate_.bound == best.bound
    assert model.certificate_.objective == pytest.approx(held.certificate_.objective)


def test_stable_at_some_k():
    """The union over the grid (Meinshausen, Buehlmann), bounded by what is selected anywhere."""
    X, y = counts()
    for estimator in (SparseBernoulliNB(), SparseMultinomialNB()):
        found = selection_stability(estimator, X, y, [2, 5, 9], n_subsamples=20)
        share = found.times.toarray() / 20
        assert found.stable(None, 0.8).tolist() == np.flatnonzero(share.max(axis=0) >= 0.8).tolist()
        q = found.anywhere.toarray().sum() / 20
        assert 9 <= q <= 16
        assert found.false_choices(None, 0.8) == pytest.approx(q * q / 0.6 / 30)
    nested = selection_stability(SparseBernoulliNB(), X, y, [2, 5, 9], n_subsamples=20)
    np.testing.assert_array_equal(nested.anywhere.toarray()[0], nested.times.toarray()[-1])


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"stable": 0.5}, r"`stable` must be a share of the halves in \(0.5, 1\]"),
        ({"stable": "yes"}, "`stable` must be a share"),
        ({"stable": 0.9, "quota": 1}, "not with constraints on the features"),
        ({"stable": 0.9, "objective": "pairs"}, "not with `objective`='pairs'"),
        ({"stable": 0.9, "redundancy": "conditional"}, "not with `redundancy`"),
        ({"stable": 0.9, "calibration": "cross-fitted"}, "`calibration` is fitted on folds"),
    ],
)
def test_where_stable_has_no_sense(asked, message):
    X, y = counts()
    with pytest.raises(ValueError, match=message):
        SparseBernoulliNB(k=5, **asked).fit(X, y)


def test_stable_needs_the_rows_and_one_k():
    X, y = counts()
    model = SparseBernoulliNB(k=5, stable=0.9)
    with pytest.raises(ValueError, match="`stable`=0.9 needs the rows themselves"):
        model.partial_fit(X, y, classes=[0, 1, 2])
    for job in (sparsity_path, error_path, selection_stability):
        with pytest.raises(ValueError, match="has no part where every k is tried"):
            job(model, X, y)
    with pytest.raises(ValueError, match="has no part where every k is tried"):
        SparsityCV(model, ks=[1, 2]).fit(X, y)
    automatic = SparseBernoulliNB(k="auto", stable=0.9).fit(X, y)
    plain = SparseBernoulliNB(k="auto").fit(X, y)
    assert automatic.stability_.k.tolist() == [plain.fold_errors_.best_k()]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--model", "hybrid"), "not with --model hybrid"),
        (("--choose", "objective=pairs", "--choose", "stable=0.9"), "objective=pairs"),
        (("--choose", "redundancy=conditional"), "not with --choose redundancy"),
        (("--choose", "class-weight=balanced"), "not with --choose class-weight"),
        (("--words", "weights=tfidf"), "not with --words weights=tfidf"),
        (
            ("--choose", "stable=0.9", "--choose", "exclude=end"),
            "not with constraints on the features",
        ),
    ],
)
def test_where_halves_cannot_be_summed_the_command_says_so(tmp_path, options, message):
    write(tmp_path / "a.jsonl", *texts())
    status, said = run(
        "select", tmp_path / "a.jsonl", "--judge", "stability", "--out", tmp_path / "r", *options
    )
    assert status == 2
    assert message in said
    assert not (tmp_path / "r").exists()
