"""One rule for the k of `auto`, at every door, and none that takes few rows for certainty."""

import csv
import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from naively import SparseMultinomialNB, SparsityCV, error_path
from naively.cli.commands import naively
from naively.judging.curves import Curve, ranking
from naively.judging.error_path import FoldErrors, counting_error


def errors_of(wrong, n=27, n_folds=5):
    """Errors (T, G) of folds, all errors of a k in the first."""
    size = np.full(n_folds, n // n_folds) + (np.arange(n_folds) < n % n_folds)
    errors = np.zeros((n_folds, len(wrong)))
    errors[0] = np.array(wrong) / size[0]
    return errors, size.astype(float)


@pytest.mark.parametrize("last", [0, 1])
def test_one_error_in_27_rows_is_no_worse_than_none(last):
    grid = np.array([0, 1, 2, 50, 229, 869, 3300])
    errors, size = errors_of([14, 6, 1, 1, last, 1, 3])
    folds = FoldErrors(grid, np.minimum(errors, 1), size, 5, 27)
    assert folds.best_k() == 2
    assert folds.best_k("best") == (2 if last else 229)
    curve = Curve("", {}, grid, 1 - np.minimum(errors, 1), n_rows=27)
    assert grid[curve.position("simplest")] == 2


def test_the_standard_error_of_counting():
    assert counting_error(0.0, 27) == 1 / 27
    assert counting_error(0.25, 1e6) == pytest.approx(np.sqrt(0.25 * 0.75 / 1e6), rel=1e-5)
    assert counting_error(0.3, None) == 0
    assert counting_error(-3.0, 10) == 0  # no share of rows


def test_a_difference_of_one_row_is_too_close_to_call():
    grid, ones = np.array([1]), np.ones((5, 1))
    missed = ones - np.array([[0.2], [0], [0], [0], [0]])
    even = ones - 0.04  # spread evenly: folds that show no spread at all
    for scores in (missed, even):
        groups = [
            [Curve("a", {}, grid, ones, n_rows=25)],
            [Curve("b", {}, grid, scores, n_rows=25)],
        ]
        assert "too close to call" in str(ranking(groups))


def markers():
    """27 rows of three kinds that two of 400 columns tell apart, but for one row."""
    rng = np.random.default_rng(3)
    y = np.repeat(["x", "y", "z"], 9)
    X = rng.poisson(0.5, (27, 400))
    X[:, 7] = np.where(y == "x", 60, 0) + rng.poisson(3, 27)
    X[:, 301] = np.where(y == "y", 60, 0) + rng.poisson(3, 27)
    X[26, 7] += 40
    return X, y


@cache
def path_of_markers():
    return error_path(SparseMultinomialNB(), *markers())


@pytest.mark.parametrize("k", ["auto", "simplest", "best"])
def test_every_door_gives_the_same_k(k, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y = markers()
    path = path_of_markers()
    model = SparseMultinomialNB(k=k).fit(X, y)
    with open("a.csv", "w", newline="") as file:
        rows = [[*row, label] for row, label in zip(X.tolist(), y, strict=True)]
        csv.writer(file).writerows([[*range(400), "label"], *rows])
    assert model.support_.sum() == path.best_k(k)
    if k != "simplest":  # near the best the curve is flat: k is of the rows that a fold has
        return
    arguments = ["select", "a.csv", "--read", "numbers", "-k", k, "--test", "0"]
    assert CliRunner().invoke(naively, arguments).exit_code == 0
    found = json.loads(Path("result/summary.json").read_text("utf-8"))["features"]
    simplest = SparsityCV(SparseMultinomialNB()).fit(X, y).simplest_k_
    assert len(found) == path.best_k(k) == simplest == 2
    assert sorted(each["column"] for each in found) == [7, 301]


def test_weights_say_how_many_rows_there_are():
    X, y = markers()
    plain = path_of_markers().folds
    scaled = error_path(SparseMultinomialNB(), X, y, sample_weight=np.full(27, 1e6)).folds
    assert plain.n_rows == 27
    assert scaled.n_rows == pytest.approx(27)
    assert scaled.best_k() == plain.best_k() == 2
