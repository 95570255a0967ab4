"""Every figure of one report, found again with scikit-learn, SciPy and plain counting."""

import csv
import html
import itertools
import json
import re

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.stats import binomtest
from sklearn.dummy import DummyClassifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.metrics import (
    accuracy_score,
    balanced_accuracy_score,
    confusion_matrix,
    f1_score,
    mutual_info_score,
    precision_score,
    recall_score,
)
from sklearn.naive_bayes import BernoulliNB

from naively.cli.commands import naively

K = 6
CLASSES = ["food", "law", "sport"]
WORDS = [f"w{chr(97 + i)}{chr(97 + j)}" for i in range(5) for j in range(6)]


def texts(n, seed):
    rng = np.random.default_rng(seed)
    shares = np.random.default_rng(7).beta(1, 5, size=(3, len(WORDS)))
    labels = rng.choice(3, n, p=[0.5, 0.3, 0.2])
    held = rng.random((n, len(WORDS))) < shares[labels]
    rows = [" ".join([*itertools.compress(WORDS, row), "the"]) for row in held]
    return rows, np.array(CLASSES)[labels]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Give the summary, the page, and the same rows for scikit-learn."""
    folder = tmp_path_factory.mktemp("figures")
    sets = texts(300, 0), texts(160, 1)
    for name, (rows, labels) in zip(("train", "test"), sets, strict=True):
        with open(folder / f"{name}.csv", "w", newline="") as file:
            csv.writer(file).writerows([("text", "label"), *zip(rows, labels, strict=True)])
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        arguments = f"select train.csv --test test.csv --model bernoulli -k {K} --out result"
        result = CliRunner().invoke(naively, arguments.split())
    assert result.exit_code == 0, result.output
    summary = json.loads((folder / "result/summary.json").read_text("utf-8"))
    return summary, Tables((folder / "result/report.html").read_text("utf-8")), Sklearn(*sets)


class Sklearn:
    """What scikit-learn makes of the rows."""

    def __init__(self, train, test):
        self.texts, self.y = train
        self.y_test = test[1]
        words = CountVectorizer(binary=True)
        self.X = words.fit_transform(self.texts).toarray()
        self.X_test = words.transform(test[0]).toarray()
        self.names = words.get_feature_names_out()
        self.gains = np.array([self.gain(column) for column in self.X.T])
        self.order = np.argsort(-self.gains, kind="stable")
        self.model, self.answers = self.of(K)

    def gain(self, column):
        """Total times the mutual information of a word and the classes, with 1 added to counts."""
        if column.all():
            return 0.0  # it tells the classes apart by its smoothing alone
        with_it = np.array([column[self.y == c].sum() for c in CLASSES]) + 1
        without = np.array([(1 - column[self.y == c]).sum() for c in CLASSES]) + 1
        table = np.array([with_it, without])
        return table.sum() * mutual_info_score(None, None, contingency=table)

    def of(self, k):
        support = self.order[:k]
        model = BernoulliNB().fit(self.X[:, support], self.y)
        return model, model.predict(self.X_test[:, support])


class Tables:
    """Cells of the tables of the page."""

    def __init__(self, page):
        self.page = page
        self.text = " ".join(html.unescape(re.sub(r"<[^>]*>", " ", page)).split())

    def rows(self, name):
        table = (
            re.split(f'<table[^>]*="{name}"', self.page)[1].split("<tbody>")[1].split("</tbody>")[0]
        )
        cells = re.compile(r"<t[dh][^>]*>(.*?)</t[dh]>", re.S)
        return [
            [
                " ".join(html.unescape(re.sub(r"<small>.*?</small>|<[^>]*>", "", cell)).split())
                for cell in cells.findall(row)
            ]
            for row in table.split("</tr>")[:-1]
        ]


def percent(value):
    return f"{100 * value:.1f} %"


def test_rows_features_and_input(run):
    summary, page, sk = run
    assert summary["n_features"] == len(sk.names)
    assert f"{K} of {len(sk.names)} features tell 3 classes apart" in page.text
    sizes = [(sk.y == c).sum() for c in CLASSES]
    assert f"of {min(sizes)} to {max(sizes)} training rows" in page.text
    assert summary["profile"]["rows"] == len(sk.y)
    assert summary["profile"]["repeated"] == len(sk.y) - len(set(sk.texts))


def test_the_three_answers_and_the_accuracies(run):
    summary, page, sk = run
    accuracy = accuracy_score(sk.y_test, sk.answers)
    right = int((sk.y_test == sk.answers).sum())
    low, high = binomtest(right, len(sk.y_test)).proportion_ci(method="wilson")
    usual = DummyClassifier().fit(sk.X, sk.y).score(sk.X_test, sk.y_test)
    assert (
        f"{percent(accuracy)} of {len(sk.y_test)} test rows recognised (95 % interval "
        f"{percent(low)} to {percent(high)}); always food would reach {percent(usual)}"
    ) in page.text
    found = summary["evaluation"]
    assert found["accuracy"] == accuracy
    assert found["usual_accuracy"] == usual
    assert found["balanced_accuracy"] == pytest.approx(
        balanced_accuracy_score(sk.y_test, sk.answers)
    )
    assert found["macro_f1"] == pytest.approx(f1_score(sk.y_test, sk.answers, average="macro"))


def test_the_accuracy_that_the_model_predicts_of_itself(run):
    summary, page, sk = run
    patterns = np.array(list(itertools.product((0, 1), repeat=K)))
    scores = sk.model.predict_joint_log_proba(patterns)
    right = 0.0
    for c in range(3):
        p = np.exp(sk.model.feature_log_prob_[c])
        law = np.prod(np.where(patterns, p, 1 - p), axis=1)
        right += np.exp(sk.model.class_log_prior_[c]) * law[scores.argmax(axis=1) == c].sum()
    predicted = 1 - summary["evaluation"]["predicted_error"]
    assert predicted == pytest.approx(right, abs=0.02)
    assert page.rows("compare")[1][-1] == percent(predicted)


def test_confusion_mistakes_and_classes(run):
    summary, page, sk = run
    matrix = confusion_matrix(sk.y_test, sk.answers, labels=CLASSES)
    assert page.rows("confusion") == [
        [name, *map(str, row)] for name, row in zip(CLASSES, matrix.tolist(), strict=True)
    ]
    wrong = [(-matrix[i, j], CLASSES[i], CLASSES[j]) for i in range(3) for j in range(3) if i != j]
    expected = [
        [truth, answer, str(-n), percent(-n / (sk.y_test == truth).sum())]
        for n, truth, answer in sorted(wrong)
        if n
    ]
    assert page.rows("mistake-table") == expected
    recall = recall_score(sk.y_test, sk.answers, average=None, labels=CLASSES)
    precision = precision_score(sk.y_test, sk.answers, average=None, labels=CLASSES)
    assert page.rows("class-table") == [
        [
            name,
            str((sk.y == name).sum()),
            str((sk.y_test == name).sum()),
            percent(recall[c]),
            percent(precision[c]),
        ]
        for c, name in enumerate(CLASSES)
    ]


def test_features_their_gains_weights_and_rows(run):
    summary, page, sk = run
    log_prob = sk.model.feature_log_prob_
    weights = log_prob - np.log1p(-np.exp(log_prob))  # of presence against absence
    weights -= weights.mean(axis=0)
    rows = page.rows("feature-table")
    for place, (row, cells) in enumerate(zip(summary["features"], rows, strict=True)):
        i = sk.order[place]
        assert row["name"] == cells[1] == sk.names[i]
        assert row["gain"] == pytest.approx(sk.gains[i], rel=1e-6)
        np.testing.assert_allclose(row["weights"], weights[:, place], rtol=1e-6, atol=1e-9)
        assert row["counts"] == sk.model.feature_count_[:, place].tolist()
        assert row["speaks_for"] == cells[2] == CLASSES[weights[:, place].argmax()]
        weight, _, error = cells[4].partition("±")
        assert weight == f"{weights[:, place].max():+.2f}"
        assert float(error) == pytest.approx(row["errors"][weights[:, place].argmax()], abs=5e-3)
        assert cells[5] == f"{sk.gains[i]:.4g}"
        held = np.flatnonzero(sk.X[:, i])
        own = sk.y[held] == row["speaks_for"]
        assert row["example"]["row"] == held[own][0] + 1
        assert row["contrast"]["row"] == held[~own][0] + 1
        assert row["contrast"]["label"] == sk.y[held[~own][0]]


def test_the_certificate_and_the_path(run):
    summary, page, sk = run
    gained = np.cumsum(sk.gains[sk.order])
    certificate = summary["certificate"]
    assert certificate["proven_optimal"]
    assert certificate["objective"] - certificate["baseline"] == pytest.approx(gained[K - 1])
    assert "How near the optimum: optimal" in page.text
    rows = page.rows("path-table")
    assert [row[0] for row in rows] == [str(point["k"]) for point in summary["path"]["points"]]
    for point, cells in zip(summary["path"]["points"], rows, strict=True):
        k = point["k"]
        assert point["objective"] - summary["path"]["baseline"] == pytest.approx(gained[k - 1])
        accuracy = accuracy_score(sk.y_test, sk.of(k)[1])
        assert point["accuracy"] == pytest.approx(accuracy)
        shown = f"{gained[k - 1]:.4g}"
        assert cells == [str(k), shown, shown, percent(accuracy)]


def test_accuracy_of_the_surest_rows(run):
    summary, page, sk = run
    sure = sk.model.predict_proba(sk.X_test[:, sk.order[:K]]).max(axis=1)
    right = sk.y_test == sk.answers
    for point, cells in zip(
        summary["evaluation"]["coverage"], page.rows("coverage-table"), strict=True
    ):
        inside = sure >= point["confidence"] - 1e-9
        assert point["coverage"] == pytest.approx(inside.mean())
        assert point["accuracy"] == pytest.approx(right[inside].mean())
        assert cells == [
            percent(inside.mean()),
            percent(right[inside].mean()),
            f"{sure[inside].min():.4f}",
        ]
    assert summary["evaluation"]["coverage"][-1]["accuracy"] == pytest.approx(right.mean())
