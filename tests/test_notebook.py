"""What notebooks show: scikit-learn's diagram with the certificate below, and paths as tables."""

import numpy as np
import pandas as pd
import sklearn
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler

from naively import SparseMultinomialNB, sparsity_path

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
