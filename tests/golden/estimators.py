"""The grid of settings of the estimators, and of the functions beside them.

Of each setting: what was selected and how good it is, the gains, the rule, the answers for a few
rows. Groups are files of `stored/`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from itertools import product
from typing import Any

import numpy as np
import scipy.sparse as sp

from naively import (
    ErrorSearchSelector,
    HybridNB,
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
    accuracy_coverage_curve,
    error_path,
    expected_error,
    markers,
    sparsity_path,
)

Sections = dict[str, str]
GROUPS: dict[str, dict[str, Callable[[], Sections]]] = {}

# Data --------------------------------------------------------------------------------------------


def counts(n_classes: int = 2, n: int = 60, m: int = 12) -> tuple[Any, Any]:
    """Counts whose rates differ between the classes; the last column is empty."""
    rng = np.random.default_rng(10 + n_classes)
    y = rng.integers(0, n_classes, n)
    X = rng.poisson(rng.gamma(0.7, 1.5, (n_classes, m))[y])
    X[:, -1] = 0
    return X, np.array(["ant", "bee", "cat", "dog"])[y]


def numbers(n_classes: int = 3, n: int = 60, m: int = 9) -> tuple[Any, Any]:
    """Real numbers of several scales."""
    rng = np.random.default_rng(20 + n_classes)
    y = rng.integers(0, n_classes, n)
    X = rng.normal(size=(n, m)) * rng.gamma(2.0, 1.0, m)
    X[:, 2] += 1.5 * y
    X[:, 5] -= 2.0 * (y == 1)
    X[:, 6] *= 1 + y
    return X, np.array(["ant", "bee", "cat", "dog"])[y]


def regions(n_classes: int = 2, n: int = 90, n_words: int = 8) -> tuple[Any, Any]:
    """Counts of short telling and of long vague texts, side by side."""
    rng = np.random.default_rng(30 + n_classes)
    y = rng.integers(0, n_classes, n)
    telling = rng.gamma(0.5, size=(n_classes, n_words))
    subject = rng.poisson(telling[y] * 0.4 + 0.05)
    body = rng.poisson((telling[y] * 0.3 + 1.0) * rng.gamma(0.5, size=(n, n_words)))
    return np.hstack([subject, body]), y


def weights_of(X: Any) -> Any:
    return np.random.default_rng(5).uniform(0.2, 2.0, len(X)).round(3)


# Text --------------------------------------------------------------------------------------------


def text(value: Any) -> str:
    """Numbers with all their digits; a line for each row of a matrix."""
    if value is None or isinstance(value, (bool, np.bool_, str, int, np.integer)):
        return str(value)
    if isinstance(value, (float, np.floating)):
        return repr(float(value))
    array = np.asarray(value)
    if array.ndim == 2:
        return "\n".join(text(row) for row in array)
    return " ".join(text(each) for each in array.tolist())


def texts(**values: Any) -> Sections:
    return {name: text(value) for name, value in values.items()}


_FITTED = (
    "scores_",
    "coef_",
    "intercept_",
    "class_log_prior_",
    "class_prior_",
    "theta_",
    "var_",
    "epsilon_",
    "centers_",
    "dispersion_",
    "component_scores_",
    "components_",
    "rate_",
    "penalty_",
    "separable_",
    "word_log_prob_",
)
_PROOF = ("k", "objective", "bound", "baseline", "a_priori", "proven_optimal", "nodes")


def attribute(fitted: Any, name: str) -> Any:
    """What a fitted estimator has under a name, or None."""
    try:
        return getattr(fitted, name, None)
    except (AttributeError, NotImplementedError):
        return None


def described(fitted: Any, rows: Any) -> Sections:
    """What a fitted estimator selected, learned and answers."""
    found = {}
    support = attribute(fitted, "support_")
    if support is None:
        support = attribute(fitted, "component_support_")
    found["support"] = text(np.flatnonzero(support))
    certificate = attribute(fitted, "certificate_")
    if certificate is not None:
        found["certificate"] = "\n".join(
            f"{name} {text(getattr(certificate, name))}" for name in _PROOF
        )
    for name in _FITTED:
        value = attribute(fitted, name)
        if value is not None:
            found[name] = text(value)
    answers = [each for each in ("predict_proba", "decision_function") if hasattr(fitted, each)]
    if answers:
        found[answers[0]] = text(getattr(fitted, answers[0])(rows))
    if hasattr(fitted, "predict"):
        found["predict"] = text(fitted.predict(rows))
    return found


def fit(estimator: Any, X: Any, y: Any, **more: Any) -> Sections:
    """Fit, and describe; warnings are part of the answer."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fitted = estimator.fit(X, y, **more)
        found = described(fitted, X[:5])
    said = dict.fromkeys(f"{each.category.__name__}: {each.message}" for each in caught)
    return found | ({"warnings": "\n".join(said)} if said else {})


def refused(estimator: Any, X: Any, y: Any) -> Sections:
    """Fit what is likely refused; the sentence, or what came of it."""
    try:
        return fit(estimator, X, y)
    except (ValueError, TypeError) as error:
        return {"error": f"{type(error).__name__}: {error}"}


def name_of(estimator: Any) -> str:
    return " ".join(str(estimator).split())


def add(group: str, name: str, run: Callable[[], Sections]) -> None:
    found = GROUPS.setdefault(group, {})
    full = f"{group}: {name}"
    assert full not in found, full
    found[full] = run


def add_fit(group: str, estimator: Any, data: Callable[..., Any], n_classes: int) -> None:
    """Add a setting with dense rows; it is the same with sparse ones, where they are read."""
    X, y = data(n_classes)
    name = f"{name_of(estimator)}, {n_classes} classes"
    add(group, name, lambda: fit(estimator, X, y))


# Naive Bayes of counts ---------------------------------------------------------------------------

X2, Y2 = counts(2)
X3, Y3 = counts(3)
SLOPE = np.linspace(0.5, 2.0, X2.shape[1])


def _grid(group: str, model: Any, data: Callable[..., Any], settings: Iterable[Any]) -> None:
    for setting, n_classes in product(settings, (2, 3)):
        add_fit(group, model(**setting), data, n_classes)


_COMMON = [
    {"k": 3},
    {"k": 0.5},
    {"k": "all"},
    {"k": "auto"},
    {"k": 4, "alpha": 0.0},
    {"k": 4, "alpha": 0.1},
    {"k": 4, "fit_prior": False},
]


_EXPOSED = [{"k": 4, "exposure": "total"}, {"k": "auto", "exposure": "total"}]


def _priors(group: str, model: Any) -> None:
    X, y = (X3, Y3) if model is not SparseCategoricalNB else (X3.clip(max=3), Y3)
    prior = [0.2, 0.3, 0.5]
    add(group, "class_prior", lambda: fit(model(k=4, class_prior=prior), X, y))
    add(group, "weights", lambda: fit(model(k=4), X, y, sample_weight=weights_of(X)))
    add(group, "sparse", lambda: fit(model(k=4), sp.csr_matrix(X), y))
    add(group, "sparse columns", lambda: fit(model(k=4), sp.csc_array(X), y))
    add(group, "batches", lambda: described(_in_batches(model(k=4), X, y), X[:5]))
    add(group, "k too large", lambda: refused(model(k=99), X, y))
    add(group, "k 0", lambda: refused(model(k=0), X, y))
    add(group, "alpha negative", lambda: refused(model(k=2, alpha=-1.0), X, y))
    add(group, "negative", lambda: refused(model(k=2), X - 9, y))
    add(group, "nan", lambda: refused(model(k=2), np.where(X == 1, np.nan, X), y))
    add(group, "one class", lambda: refused(model(k=2), X, ["a"] * len(X)))


def _in_batches(model: Any, X: Any, y: Any) -> Any:
    for part in np.array_split(np.arange(len(X)), 3):
        model.partial_fit(X[part], y[part], classes=np.unique(y))
    return model


def categories(n_classes: int) -> tuple[Any, Any]:
    X, y = counts(n_classes)
    return X.clip(max=3), y


_grid("multinomial", SparseMultinomialNB, counts, _COMMON)
_grid(
    "multinomial",
    SparseMultinomialNB,
    counts,
    [{"k": 5, "exact": True}, {"k": 2, "exact": True, "alpha": 0.0}, {"k": 4, "alpha": 2.5}],
)
_priors("multinomial", SparseMultinomialNB)
add("multinomial", "alpha by column", lambda: fit(SparseMultinomialNB(k=4, alpha=SLOPE), X2, Y2))
add(
    "multinomial",
    "one node",
    lambda: fit(SparseMultinomialNB(k=5, exact=True, max_nodes=1), X3, Y3),
)

_grid("bernoulli", SparseBernoulliNB, counts, _COMMON)
_grid("bernoulli", SparseBernoulliNB, counts, [{"k": 4, "binarize": 1.5}])
_priors("bernoulli", SparseBernoulliNB)
add("bernoulli", "alpha by column", lambda: fit(SparseBernoulliNB(k=4, alpha=SLOPE), X2, Y2))
add(
    "bernoulli",
    "zeros and ones",
    lambda: fit(SparseBernoulliNB(k=4, binarize=None), X2.clip(max=1), Y2),
)
add(
    "bernoulli",
    "not zeros and ones",
    lambda: refused(SparseBernoulliNB(k=4, binarize=None), X2, Y2),
)

_grid("poisson", SparsePoissonNB, counts, _COMMON)
_grid("poisson", SparsePoissonNB, counts, _EXPOSED)
_priors("poisson", SparsePoissonNB)

_grid("negative_binomial", SparseNegativeBinomialNB, counts, _COMMON)
_grid("negative_binomial", SparseNegativeBinomialNB, counts, [{"k": 4, "dispersion": 0.5}])
_grid("negative_binomial", SparseNegativeBinomialNB, counts, _EXPOSED)
_priors("negative_binomial", SparseNegativeBinomialNB)

_grid("categorical", SparseCategoricalNB, categories, _COMMON)
_priors("categorical", SparseCategoricalNB)
add(
    "categorical",
    "min_categories",
    lambda: fit(SparseCategoricalNB(k=4, min_categories=6), *categories(2)),
)

# Models of numbers -------------------------------------------------------------------------------

N2, M2 = numbers(2)
N3, M3 = numbers(3)

_AMOUNTS = [{"k": 3}, {"k": 0.5}, {"k": "all"}, {"k": "auto"}]

_grid(
    "gaussian",
    SparseGaussianNB,
    numbers,
    [
        *_AMOUNTS,
        {"k": 3, "variance": "shared"},
        {"k": 3, "var_smoothing": 0.1},
        {"k": 3, "variance": "shared", "var_smoothing": 0.0},
        {"k": "auto", "variance": "shared"},
    ],
)
_grid("l1_centers", SparseL1Centers, numbers, [*_AMOUNTS, {"k": 3, "priors": "empirical"}])
_grid(
    "l2_centers",
    SparseL2Centers,
    numbers,
    [
        *_AMOUNTS,
        {"k": 3, "priors": "uniform"},
        {"k": 3, "priors": "empirical"},
        {"k": 3, "scale": "std"},
        {"k": 3, "scale": "variance"},
        {"k": "auto", "scale": "std"},
    ],
)
for _group, _model in (
    ("gaussian", SparseGaussianNB),
    ("l1_centers", SparseL1Centers),
    ("l2_centers", SparseL2Centers),
):
    add(_group, "priors", lambda m=_model: fit(m(k=3, priors=[0.2, 0.3, 0.5]), N3, M3))
    add(_group, "weights", lambda m=_model: fit(m(k=3), N3, M3, sample_weight=weights_of(N3)))
    add(_group, "sparse", lambda m=_model: fit(m(k=3), sp.csr_matrix(X3 - 0.0), Y3))
    add(_group, "k too large", lambda m=_model: refused(m(k=99), N3, M3))
    add(_group, "nan", lambda m=_model: refused(m(k=2), np.where(N3 > 3, np.nan, N3), M3))
    add(_group, "one class", lambda m=_model: refused(m(k=2), N3, ["a"] * len(N3)))
for _group, _model in (("gaussian", SparseGaussianNB), ("l2_centers", SparseL2Centers)):
    add(_group, "batches", lambda m=_model: described(_in_batches(m(k=3), N3, M3), N3[:5]))

# Columns of several kinds, and missing values ----------------------------------------------------


def holes(X: Any) -> Any:
    """Numbers of which every seventh is missing."""
    X = np.array(X, dtype=np.float64)
    X.flat[::7] = np.nan
    return X


def table(n_classes: int) -> tuple[Any, Any]:
    """Numbers, counts, strings and booleans, of which some are missing."""
    (X, y), (Z, _) = numbers(n_classes), counts(n_classes)
    columns = [X[:, 2], Z[:, 1], np.array(["p", "q", "r"])[Z[:, 0] % 3], Z[:, 2] > 0, X[:, 0]]
    rows = np.empty((len(y), len(columns)), dtype=object)
    for i, column in enumerate(columns):
        rows[:, i] = column.tolist()
    rows[::4, 0] = rows[1::5, 2] = rows[2::6, 3] = None
    return rows, y


for _setting, _n in product(
    [
        {"k": 2},
        {"k": "all"},
        {"k": "auto"},
        {"k": 2, "variance": "shared"},
        {"k": 3, "alpha": 0.1, "correction": "bic"},
        {"k": 3, "objective": "pairs"},
        {"k": 3, "calibration": "cross-fitted"},
    ],
    (2, 3),
):
    _model, (_X, _y) = SparseMixedNB(columns={1: "poisson"}, **_setting), table(_n)
    add("mixed", f"{name_of(_model)}, {_n} classes", lambda m=_model, X=_X, y=_y: fit(m, X, y))
add("mixed", "text", lambda: refused(SparseMixedNB(k=2, columns={2: "text"}), *table(2)))
add("mixed", "a string", lambda: refused(SparseMixedNB(k=2, columns={2: "poisson"}), *table(2)))
for _model, (_X, _y) in (
    (SparseGaussianNB(k=3, missing="ignore"), (N3, M3)),
    (SparseBernoulliNB(k=3, missing="ignore"), (X3, Y3)),
    (SparsePoissonNB(k=3, missing="ignore"), (X3, Y3)),
    (SparseCategoricalNB(k=3, missing="ignore", correction="bic"), categories(3)),
):
    add("mixed", name_of(_model), lambda m=_model, X=_X, y=_y: fit(m, holes(X), y))
add(
    "mixed",
    "refit",
    lambda: refused(SparseBernoulliNB(k=2, missing="ignore", refit="logistic"), holes(X3), Y3),
)

# Regions -----------------------------------------------------------------------------------------

_HYBRID = [
    {},
    {"normalize": False},
    {"shared_vocabulary": False},
    {"shared_vocabulary": False, "normalize": False, "alpha": 0.1},
    {"penalty": 1.0},
    {"alpha": 0.3},
    {"estimator": SparseMultinomialNB(k=4)},
    {"estimator": SparseBernoulliNB(k=5), "shared_vocabulary": False},
]
for _setting, _n in product(_HYBRID, (2, 3)):
    add_fit("hybrid", HybridNB(2, **_setting), regions, _n)
R2, Z2 = regions(2)
add("hybrid", "one region", lambda: fit(HybridNB(), R2, Z2))
add("hybrid", "weights", lambda: fit(HybridNB(2), R2, Z2, sample_weight=weights_of(R2)))
add("hybrid", "sparse", lambda: fit(HybridNB(2), sp.csr_matrix(R2), Z2))
add("hybrid", "few rows", lambda: fit(HybridNB(2), R2[:8], Z2[:8]))
add("hybrid", "no smoothing", lambda: refused(HybridNB(2, alpha=0.0), R2, Z2))

# Every k -----------------------------------------------------------------------------------------

_MODELS = [
    (SparseMultinomialNB(), counts),
    (SparseMultinomialNB(alpha=0.0), counts),
    (SparseMultinomialNB(exact=True), counts),
    (SparseBernoulliNB(), counts),
    (SparsePoissonNB(), counts),
    (SparseCategoricalNB(), categories),
    (SparseGaussianNB(), numbers),
    (SparseGaussianNB(variance="shared"), numbers),
    (SparseL2Centers(), numbers),
    (SparseL2Centers(scale="std"), numbers),
    (SparseL1Centers(), numbers),
]


def described_path(estimator: Any, X: Any, y: Any, **more: Any) -> Sections:
    path = sparsity_path(estimator, X, y, **more)
    return texts(
        k=path.k,
        objective=path.objective,
        bound=path.bound,
        gap=path.gap,
        baseline=path.baseline,
        a_priori=path.a_priori,
        order=path.order,
        entry=path.entry,
        supports=[],
    ) | {"supports": "\n".join(text(path.support(int(k))) for k in path.k)}


def described_search(search: Any, X: Any, y: Any, **more: Any) -> Sections:
    found = search.fit(X, y, **more)
    results = found.cv_results_
    shown = {
        name: results[name]
        for name in ("param_k", "param_alpha", "mean_test_score", "std_test_score")
        if name in results
    }
    return texts(
        best_k=found.best_k_,
        best_score=found.best_score_,
        best_index=found.best_index_,
        simplest_k=found.simplest_k_,
        n_splits=found.n_splits_,
        **shown,
    ) | {"ranking": str(found.ranking_), "predict": text(found.predict(X[:5]))}


def described_errors(estimator: Any, X: Any, y: Any, **more: Any) -> Sections:
    path = error_path(estimator, X, y, **more)
    return texts(
        k=path.k,
        predicted=path.predicted,
        leave_one_out=path.leave_one_out,
        cross_validated=path.cross_validated,
        standard_error=path.folds.standard_error,
        best_k=path.best_k(),
    )


for (_estimator, _data), _n in product(_MODELS, (2, 3)):
    _X, _y = _data(_n)
    _name = f"{name_of(_estimator)}, {_n} classes"
    add("paths", _name, lambda e=_estimator, X=_X, y=_y: described_path(e, X, y))
    add(
        "searches",
        _name,
        lambda e=_estimator, X=_X, y=_y: described_search(SparsityCV(e, ks=[1, 2, 4, 7]), X, y),
    )
    add(
        "errors",
        f"error_path {_name}",
        lambda e=_estimator, X=_X, y=_y: described_errors(e, X, y, ks=[1, 2, 4, 7]),
    )
add("paths", "weights", lambda: described_path(
    SparseMultinomialNB(), X3, Y3, ks=[1, 3, 9], sample_weight=weights_of(X3)
))  # fmt: skip
add("paths", "sparse", lambda: described_path(SparseMultinomialNB(), sp.csr_matrix(X3), Y3))
for _name, _search in {
    "alphas": SparsityCV(SparseMultinomialNB(), ks=[2, 4, 8], alphas=[0.1, 1.0, 10.0]),
    "two models": SparsityCV([SparseMultinomialNB(), SparseBernoulliNB()], ks=[2, 4, 8], cv=3),
    "simplest": SparsityCV(SparseMultinomialNB(), ks=range(1, 12), refit="simplest"),
    "scoring": SparsityCV(SparseBernoulliNB(), ks=[2, 4, 8], scoring="neg_log_loss"),
    "default ks": SparsityCV(SparsePoissonNB()),
}.items():
    add("searches", _name, lambda s=_search: described_search(s, X3, Y3))
add("searches", "weights", lambda: described_search(
    SparsityCV(SparseMultinomialNB(), ks=[2, 4, 8]), X3, Y3, sample_weight=weights_of(X3)
))  # fmt: skip

# Errors without data -----------------------------------------------------------------------------


def described_estimate(*arguments: Any, **more: Any) -> Sections:
    found = expected_error(*arguments, **more)
    return texts(
        error=found.error,
        normalized_error=found.normalized_error,
        confusion=found.confusion,
        priors=found.priors,
        mean=found.mean,
        variance=found.variance,
    )


_METHODS = ("exact", "saddlepoint", "normal", "compensated", "uncorrelated")
for _method, _ties in product(_METHODS, ("lowest", "split")):
    add("errors", f"two classes, {_method}, {_ties}", lambda m=_method, t=_ties: described_estimate(
        [[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]], length=6, priors=[0.4, 0.6], method=m, ties=t
    ))  # fmt: skip
for _rivals, _drawn in (("product", None), ("normal", 2000), ("simulated", 2000)):
    add("errors", f"three classes, {_rivals}", lambda r=_rivals, n=_drawn: described_estimate(
        [[0.5, 0.3, 0.2], [0.2, 0.3, 0.5], [0.1, 0.8, 0.1]], length=5, rivals=r, n_rows=n
    ))  # fmt: skip
for _law in ("classes", "model"):
    add("errors", f"fitted multinomial, law {_law}", lambda law=_law: described_estimate(
        SparseMultinomialNB(k=4).fit(X2, Y2), law=law
    ))  # fmt: skip
add("errors", "fitted bernoulli", lambda: described_estimate(SparseBernoulliNB(k=4).fit(X2, Y2)))
for _pooled in (False, True):
    add("errors", f"some features, pooled {_pooled}", lambda p=_pooled: described_estimate(
        [[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]], length=([2, 5], [1.0, 3.0]), support=[0, 1], pooled=p
    ))  # fmt: skip
for _method in _METHODS:
    add("errors", f"error_path by {_method}", lambda m=_method: described_errors(
        SparseMultinomialNB(), X2, Y2, ks=[1, 3, 6], method=m, n_folds=3
    ))  # fmt: skip


def described_selector(selector: Any, X: Any, y: Any) -> Sections:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = selector.fit(X, y)
    result = found.result_
    said = "\n".join(f"{each.category.__name__}: {each.message}" for each in caught)
    return texts(
        support=np.flatnonzero(found.support_),
        error=found.error_,
        sizes=result.sizes,
        errors=result.errors,
        order=result.order,
        evaluations=result.evaluations,
        complete=result.complete,
    ) | ({"warnings": said} if said else {})


_STRATEGIES = ("forward", "best_individual", "plus_l_minus_r", "branch_and_bound")
for _strategy, _pooled, _n in product(_STRATEGIES, (True, False), (2, 3)):
    _X, _y = counts(_n, m=8)
    add(
        "error_search",
        f"{_strategy}, pooled {_pooled}, {_n} classes",
        lambda s=_strategy, p=_pooled, X=_X, y=_y: described_selector(
            ErrorSearchSelector(k=3, strategy=s, pooled=p), X, y
        ),
    )
add("error_search", "length", lambda: described_selector(
    ErrorSearchSelector(k=0.4, length=5, alpha=0.5, priors=[0.3, 0.7]), X2, Y2
))  # fmt: skip
add("error_search", "backward", lambda: described_selector(
    ErrorSearchSelector(k=3, strategy="plus_l_minus_r", plus=1, minus=2), X2, Y2
))  # fmt: skip


def _coverage() -> Sections:
    fitted = SparseMultinomialNB(k=4).fit(X3, Y3)
    curve = accuracy_coverage_curve(Y3, fitted.predict_proba(X3), labels=fitted.classes_)
    return texts(coverage=curve.coverage, accuracy=curve.accuracy, confidence=curve.confidence)


add("errors", "coverage", _coverage)


def described_markers(estimator: Any, X: Any, y: Any) -> Sections:
    found = markers(estimator.fit(X, y), 3)
    rest = {name: values.tolist() for name, values in found.columns().items()}
    return texts(uncovered=found.uncovered.tolist(), **rest)


_V, _L = numbers()
for _model, _X, _y in (
    (SparseMultinomialNB(k=4), X3, Y3),
    (SparseBernoulliNB(k="fdr", q=0.3), X3, Y3),
    (SparsePoissonNB(k="fdr", q=0.01), X3, Y3),
    (SparseNegativeBinomialNB(k=4), X3, Y3),
    (SparseCategoricalNB(k=4), np.minimum(X3, 3), Y3),
    (SparseGaussianNB(k=4, variance="shared"), _V, _L),
    (SparseL2Centers(k=4, scale="std"), _V, _L),
):
    add("markers", str(_model), lambda m=_model, X=_X, y=_y: described_markers(m, X, y))
