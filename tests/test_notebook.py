"""What notebooks show: scikit-learn's diagram with the certificate below, and paths as tables."""

import math
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler

from naively import (
    Certificate,
    SparseMultinomialNB,
    accuracy_coverage_curve,
    error_path,
    expected_error,
    sparsity_path,
)
from naively._notebook import points_shown

X = np.array([[3, 0, 1], [2, 0, 1], [0, 3, 1], [0, 2, 1]])
Y = [0, 0, 1, 1]


def test_an_estimator_shows_its_diagram_and_what_it_found():
    model = SparseMultinomialNB(k=2)
    diagram = model._repr_html_()
    assert "SparseMultinomialNB" in diagram
    assert "<details><summary>" not in diagram[diagram.rindex("</div>") :]  # nothing found yet
    model.fit(pd.DataFrame(X, columns=["<b>x</b>", "y\x1b", "z" * 100]), Y)
    shown = model._repr_html_()
    note = shown[shown.rindex("<p>") :]
    assert str(model.certificate_) in note
    assert "<summary>2 of 3 features</summary>" in note
    assert "<bdi>&lt;b&gt;x&lt;/b&gt;</bdi>, <bdi>y\N{REPLACEMENT CHARACTER}</bdi>" in note
    assert model._repr_mimebundle_()["text/html"].endswith(note)
    assert "<b>x" not in note


def test_text_is_shown_where_scikit_learn_is_told_so():
    model = SparseMultinomialNB(k=2).fit(X, Y)
    with sklearn.config_context(display="text"):
        assert not hasattr(model, "_repr_html_")
        assert list(model._repr_mimebundle_()) == ["text/plain"]


def test_diagrams_of_pipelines_are_those_of_scikit_learn():
    pipeline = make_pipeline(MaxAbsScaler(), SparseMultinomialNB(k=2)).fit(X, Y)
    assert "SparseMultinomialNB" in pipeline._repr_html_()


def test_long_lists_are_cut():
    wide = np.tile(X, (1, 30))
    shown = SparseMultinomialNB(k=80).fit(wide, Y)._repr_html_()
    assert "column 49</bdi> and 30 more" in shown


def test_a_path_is_a_table_of_its_ends_and_some_between():
    wide = np.random.default_rng(0).poisson(2, (20, 40))
    path = sparsity_path(SparseMultinomialNB(), wide, np.arange(20) % 2)
    shown = path._repr_html_()
    assert shown.count("<tr>") == 13
    for g in (0, -1):
        assert f"<td>{path.k[g]}</td><td>{path.objective[g] - path.baseline:,.6g}</td>" in shown
    short = sparsity_path(SparseMultinomialNB(), X, Y, ks=[1])
    assert short._repr_html_().count("<tr>") == 2


def test_a_path_is_shown_without_its_supports():
    assert len(repr(sparsity_path(SparseMultinomialNB(), X, Y))) < 300


# Every result record -----------------------------------------------------------------------------


def cells(shown):
    """Heads and rows of the table in some HTML."""
    lines = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", line) for line in shown.split("<tr>")[1:]]
    return lines[0], lines[1:]


def test_a_certificate_shows_its_sentence_and_figures():
    found = Certificate(2, -5.0, -4.5, -20.0, -math.inf, False)
    heads, rows = cells(found._repr_html_())
    assert f"<p>{found}</p>" in found._repr_html_()
    assert dict(zip(heads, rows[0], strict=True)) == {
        "no feature": "-20", "objective": "-5", "bound": "-4.5", "gap": "0.5",
    }  # fmt: skip


def test_a_coverage_curve_is_a_table():
    curve = accuracy_coverage_curve([0, 1, 1, 0], [0.1, 0.9, 0.4, 0.3])
    heads, rows = cells(curve._repr_html_())
    assert heads == ["rows labelled", "accuracy", "least confidence"]
    # The two rows at confidence 0.9 are right; of the next, at 0.7 and 0.6, the last is not.
    assert rows == [
        ["50.0%", "100.0%", "0.9"],
        ["75.0%", "100.0%", "0.7"],
        ["100.0%", "75.0%", "0.6"],
    ]


def test_an_error_path_is_a_table_of_the_curves_it_has():
    rng = np.random.default_rng(0)
    X, y = rng.poisson(2, (40, 30)), np.arange(40) % 2
    path = error_path(SparseMultinomialNB(), X, y, ks=range(1, 31))
    heads, rows = cells(path._repr_html_())
    assert heads == ["k", "predicted", "leave-one-out", "cross-validated", "standard error"]
    assert len(rows) == 12
    assert rows[0][0] == "1"
    assert rows[-1] == [
        "30", f"{path.predicted[-1]:.4f}", f"{path.leave_one_out[-1]:.4f}",
        f"{path.cross_validated[-1]:.4f}", f"{path.folds.standard_error[-1]:.4f}",
    ]  # fmt: skip
    short = replace(path, predicted=None, leave_one_out=None)
    assert cells(short._repr_html_())[0] == ["k", "cross-validated", "standard error"]


def test_an_error_estimate_is_a_table_of_decisions():
    estimate = expected_error([[0.7, 0.3], [0.4, 0.6]], length=5)
    heads, rows = cells(estimate._repr_html_())
    assert heads == ["decided as", "0", "1"]
    assert rows == [[f"class {j}", *(f"{p:.4f}" for p in estimate.confusion[j])] for j in (0, 1)]
    many = replace(estimate, confusion=np.eye(13))
    assert "<table" not in many._repr_html_()


@pytest.mark.parametrize("n", [0, 1, 2, 11, 12, 13, 40])
def test_points_shown_are_the_ends_and_evenly_between(n):
    points = points_shown(n)
    assert len(points) == min(n, 12)
    assert points[:1] + points[-1:] == ([0, n - 1] if n else [])
    assert set(np.diff(points)) <= {n // 12, n // 12 + 1, (n - 1) // 11, -(-(n - 1) // 11)}
