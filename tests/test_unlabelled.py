"""Rows without a label are left out and told, in every format and every way of counting."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from naively.jobs.learn import learn
from naively.jobs.model_file import load_model
from naively.jobs.predict import PredictJob, predict
from naively.jobs.records import Counting, count
from naively.jobs.settings import Engine, ModelSettings, Recipe, TestSettings as OfTest
from naively.jobs.tables import cross_validate
from naively.read.errors import InputError
from naively.read.layout import Layout
from naively.text.features import TextFeatures

WORDS = " (an empty cell, NA, NaN, N/A, None, null; if one of these is a class, write it otherwise)"
SPARE = [2, 5, 11, 23]  # rows without a label
N = 40


def texts(n=N):
    rng = np.random.default_rng(3)
    words = np.array(["sun", "rain", "wind", "snow", "fog", "heat", "ice", "storm"])
    rows = [" ".join(rng.choice(words[i % 2 * 3 :][:5], 6)) for i in range(n)]
    return pd.DataFrame({"text": rows, "label": ["warm" if i % 2 else "cold" for i in range(n)]})


def written(folder, name, frame, format, absent):
    path = folder / f"{name}.{format}"
    if format == "csv":
        frame.to_csv(path, index=False)
    elif format == "jsonl":
        rows = frame.astype(object).where(frame.notna(), absent).to_dict("records")
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        frame.to_parquet(path)
    return str(path)


def with_gaps(frame):
    gaps = frame.copy()
    gaps.loc[SPARE, "label"] = None
    gaps.loc[SPARE, "text"] = "word that stands nowhere else"
    return gaps, gaps.drop(index=SPARE)


def recipe(path, **settings):
    settings = {"model": ModelSettings(k=3), "layout": Layout(text=("text",)), **settings}
    return Recipe((path,), features=TextFeatures(), **settings)


WAYS = [
    ("csv", None, {}),
    ("csv", None, {"model": ModelSettings("negative-binomial", k=3)}),
    ("jsonl", None, {"engine": Engine(jobs=2)}),
    ("jsonl", " ", {"model": ModelSettings("hybrid", k=3)}),
    ("parquet", None, {"model": ModelSettings(k="auto")}),
]


@pytest.mark.parametrize(("format", "absent", "way"), WAYS)
def test_the_result_is_that_of_the_rows_with_labels(tmp_path, format, absent, way):
    gaps, rest = with_gaps(texts())
    found = learn(recipe(written(tmp_path, "gaps", gaps, format, absent), **way))
    expected = learn(recipe(written(tmp_path, "rest", rest, format, absent), **way))
    own, other = ([replace(row, column=0, example=None, contrast=None) for row in each.features]
                  for each in (found[0], expected[0]))  # fmt: skip
    assert own == other
    assert found[1].classes == expected[1].classes == ("cold", "warm")
    for name, array in expected[1].rule.arrays().items():
        np.testing.assert_array_equal(found[1].rule.arrays()[name], array)
    judged = [
        replace(each, misled=tuple(replace(row, key="") for row in each.misled))
        for each in (found[0].evaluation, expected[0].evaluation)
    ]  # but for their place in the file
    assert judged[0] == judged[1]
    (note,) = (each for each in found[0].notes if "label" in each)
    assert note == f"4 rows without a label were left out{WORDS * (format == 'csv')}."
    assert found[0].n_rows == N - 4
    assert not [each for each in expected[0].notes if "label" in each]


def test_of_a_test_file_of_records_and_of_a_comparison(tmp_path, capsysbinary):
    gaps, rest = with_gaps(texts())
    train = written(tmp_path, "rest", rest, "csv", None)
    other = written(tmp_path, "gaps", gaps, "csv", None)
    summary, model = learn(recipe(train, test=OfTest(file=other)))
    assert f"4 rows of {other} without a label were left out{WORDS}." in summary.notes
    assert summary.evaluation.test_rows == N - 4
    counted = count(Counting((other,), Layout(text=("text",)), TextFeatures()), str(tmp_path / "r"))
    assert counted.notes == (f"4 rows without a label were left out{WORDS}.",)

    from naively.jobs.results import save_model

    with (tmp_path / "m.npz").open("wb") as file:
        save_model(model, file)
    assert load_model(tmp_path / "m.npz") is not None
    with (tmp_path / "out").open("wb") as out:
        layout = Layout(text=("text",), label="label")
        predicted = predict(PredictJob(str(tmp_path / "m.npz"), other, layout), out)
    assert predicted.rows == N
    assert predicted.compared.agreement.rows == N - 4
    assert predicted.notes[-1] == f"4 rows without a label were not compared{WORDS}."


def test_matrices_and_labels_beside(tmp_path):
    rng = np.random.default_rng(0)
    y = np.array(["a", "b"] * 20, dtype="U9")
    X = rng.poisson(np.where(y == "a", 1, 4)[:, None] * np.ones(5))
    gaps = y.copy()
    gaps[SPARE] = ""
    gaps[-1] = ""
    np.savez(tmp_path / "a.npz", X=X, y=gaps)
    np.savez(tmp_path / "b.npz", X=X)
    np.savez(tmp_path / "c.npz", X=X[gaps != ""], y=gaps[gaps != ""])
    Path(tmp_path / "y.txt").write_text("\n".join(gaps) + "\n")
    lines = [f"{'nan' if not label else 1 + (label == 'a')} 1:{row[0]} 2:{row[1] + 1}\n"
             for label, row in zip(gaps, X, strict=True)]  # fmt: skip
    (tmp_path / "d.svmlight").write_text("".join(lines))
    for name, labels in (("a.npz", None), ("b.npz", str(tmp_path / "y.txt")), ("d.svmlight", None)):
        found, model = learn(
            Recipe((str(tmp_path / name),), Layout(labels_file=labels), model=ModelSettings(k=2))
        )
        assert found.n_rows == N - 5
        assert "5 rows without a label were left out." in found.notes
        if name != "d.svmlight":
            _, expected = learn(
                Recipe((str(tmp_path / "c.npz"),), Layout(), model=ModelSettings(k=2))
            )
            np.testing.assert_array_equal(
                model.rule.scores(X[:, :2]), expected.rule.scores(X[:, :2])
            )


def test_rows_of_which_none_has_a_label(tmp_path):
    (tmp_path / "a.csv").write_text("text,label\nx,\ny,\n")
    with pytest.raises(InputError, match="no row has a label"):
        learn(recipe(str(tmp_path / "a.csv")))


def test_folds_tell_the_same(tmp_path):
    frame = texts()
    frame.loc[SPARE, "label"] = None
    frame.loc[3, "text"] = " "
    frame.loc[[0, 4, 6], "label"] = ["COLD"] * 3
    path = written(tmp_path, "a", frame, "csv", None)
    found = cross_validate(recipe(path), ["multinomial"], [1], 2, None)
    said = " ".join(found.notes)
    assert f"4 rows without a label were left out{WORDS}." in said
    assert "differ by case or spelling only are kept apart: COLD and cold" in said
    assert "1 of 40 rows holds no text" in said
