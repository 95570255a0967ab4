"""SparsityCV over a pipeline is a loop of fits of the whole pipeline, its first steps too."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import check_scoring
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from naively import (
    SparseBernoulliNB,
    SparseGaussianNB,
    SparseL1Centers,
    SparseMixedNB,
    SparseMultinomialNB,
    SparsityCV,
    WordCounts,
)

RNG = np.random.default_rng(0)
WORDS = np.array(
    ["sale", "offer", "cheap", "team", "notes", "agenda", "hello", "please", "today", "about"]
)
LABELS = np.array(["spam", "ham", "ham"] * 20)
SHARES = {"spam": [4, 3, 2, 1, 1, 1, 3, 2, 2, 2], "ham": [1, 1, 1, 3, 3, 2, 3, 2, 2, 2]}
TEXTS = [
    " ".join(RNG.choice(WORDS, size=5, p=np.array(SHARES[label]) / sum(SHARES[label])))
    for label in LABELS
]
# Words of one row: in the vocabulary of some folds and not of others.
TEXTS = [f"{text} rare{i}" if i % 7 == 0 else text for i, text in enumerate(TEXTS)]
NUMBERS = RNG.normal(size=(60, 5)) + 2 * (LABELS == "ham")[:, None] * [1, 0.5, 0, 0, 0]
CV = StratifiedKFold(3)


def loop(pipeline, X, ks, scoring=None, weight=None):
    rows = np.asarray(X, dtype=object) if isinstance(X, list) else np.asarray(X)
    last = pipeline.steps[-1][0]
    scores = []
    for train, test in CV.split(rows, LABELS):
        scores.append([])
        for k in ks:
            model = clone(pipeline).set_params(**{f"{last}__k": k})
            fit = {} if weight is None else {f"{last}__sample_weight": weight[train]}
            judge = {} if weight is None else {"sample_weight": weight[test]}
            model.fit(rows[train], LABELS[train], **fit)
            scores[-1].append(
                check_scoring(model, scoring=scoring)(model, rows[test], LABELS[test], **judge)
            )
    return np.array(scores)


def split_scores(search):
    return np.array([search.cv_results_[f"split{t}_test_score"] for t in range(3)])


PIPELINES = {
    "words": (make_pipeline(WordCounts(), SparseMultinomialNB()), TEXTS, [1, 2, 5, 10]),
    "pairs": (
        make_pipeline(WordCounts(ngram_range=(1, 2)), SparseBernoulliNB()), TEXTS, [1, 9, 30]
    ),
    "scaled": (make_pipeline(StandardScaler(), SparseGaussianNB()), NUMBERS, [1, 2, 5]),
    "supervised": (
        make_pipeline(StandardScaler(), PCA(4), SparseL1Centers()), NUMBERS, [1, 2, 4]
    ),
    "calibrated": (
        make_pipeline(WordCounts(), SparseMultinomialNB(calibration="cross-fitted")), TEXTS, [2]
    ),
    "one step": (make_pipeline(SparseGaussianNB(var_smoothing=0.1)), NUMBERS, [1, 3]),
}  # fmt: skip


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("scoring", [None, "neg_log_loss"])
@pytest.mark.parametrize("name", PIPELINES)
def test_it_is_a_loop_of_fits(name, scoring, weighted):
    pipeline, X, ks = PIPELINES[name]
    if scoring is not None and not hasattr(pipeline, "predict_proba"):
        pytest.skip("centers have no probabilities")
    weight = RNG.integers(1, 4, len(LABELS)).astype(float) if weighted else None
    search = SparsityCV(pipeline, ks, CV, scoring).fit(X, LABELS, sample_weight=weight)
    expected = loop(pipeline, X, ks, scoring, weight)
    np.testing.assert_allclose(split_scores(search), expected, rtol=1e-9)
    last = pipeline.steps[-1][0]
    best = clone(pipeline).set_params(**{f"{last}__k": search.best_k_})
    best.fit(X, LABELS, **({} if weight is None else {f"{last}__sample_weight": weight}))
    assert search.predict(X).tolist() == best.predict(X).tolist()
    assert search.best_k_ == ks[int(np.argmax(search.cv_results_["mean_test_score"]))]


def test_smoothings_are_those_of_the_last_step():
    pipeline, X, ks = PIPELINES["words"]
    search = SparsityCV(pipeline, ks, CV, alphas=[0.1, 2.0]).fit(X, LABELS)
    grid = {"sparsemultinomialnb__alpha": [0.1, 2.0], "sparsemultinomialnb__k": ks}
    expected = GridSearchCV(pipeline, grid, cv=CV).fit(np.array(X, dtype=object), LABELS)
    np.testing.assert_allclose(
        search.cv_results_["mean_test_score"], expected.cv_results_["mean_test_score"]
    )
    assert search.best_estimator_[-1].alpha == search.best_params_["alpha"]


def test_the_largest_k_is_that_of_the_fold_of_the_fewest_features():
    pipeline, X, _ = PIPELINES["words"]
    search = SparsityCV(pipeline, cv=CV).fit(X, LABELS)
    sizes = [
        len(WordCounts().fit([X[i] for i in train]).vocabulary_) for train, _ in CV.split(X, LABELS)
    ]
    assert max(search.cv_results_["param_k"]) == min(sizes) < len(WordCounts().fit(X).vocabulary_)
    with pytest.raises(ValueError, match="`ks`"):
        SparsityCV(pipeline, [max(sizes) + 1], cv=CV).fit(X, LABELS)


def test_tables_of_any_kind_and_several_contenders():
    town = np.where(LABELS == "ham", "x", "y")
    frame = pd.DataFrame(NUMBERS, columns=list("abcde")).assign(town=town)
    scaler = make_column_transformer((StandardScaler(), list("abcde")), remainder="passthrough")
    scaler.set_output(transform="pandas")
    mixed = make_pipeline(scaler, SparseMixedNB(required=["remainder__town"]))
    search = SparsityCV(mixed, [1, 3], cv=CV).fit(frame, LABELS)
    assert search.best_score_ == 1
    several = SparsityCV(
        [PIPELINES["scaled"][0], SparseGaussianNB()], [1, 2], cv=CV
    ).fit(NUMBERS, LABELS)  # fmt: skip
    # A scale changes no Gaussian likelihood, but for the smoothing.
    first, second = np.split(several.cv_results_["mean_test_score"], 2)
    np.testing.assert_allclose(first, second)


@pytest.mark.parametrize(
    ("pipeline", "X", "error", "message"),
    [
        (make_pipeline(StandardScaler(), LogisticRegression()), NUMBERS, TypeError, "last step"),
        (PIPELINES["words"][0], TEXTS[:5], ValueError, "inconsistent numbers"),
    ],
)
def test_what_cannot_be(pipeline, X, error, message):
    with pytest.raises(error, match=message):
        SparsityCV(pipeline, [1], cv=CV).fit(X, LABELS)
