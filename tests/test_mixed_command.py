"""`--model mixed`: a table as it is, at the command; the same as in Python, whatever holds it."""

import csv
import json
import re
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from naively import SparseMixedNB, error_path, sparsity_path
from naively.cli.commands import naively
from naively.jobs.model_file import load_model, save_model
from naively.read.errors import InputError
from naively.work.records import load_record, merge, save_record

COLUMNS = {"visits": "poisson"}
SELECT = ("select", "--model", "mixed", "--read", "kind=visits=poisson", "-q", "--force")
FORMATS = ["csv", "tsv", "parquet", "jsonl", "xlsx"]


def run(*arguments, status=0):
    result = CliRunner().invoke(naively, [str(each) for each in arguments])
    assert result.exit_code == status, (result.output, result.exception)
    return result.output if status == 0 else " ".join(result.output.split())


def table(n=150, seed=0):
    """A frame as pandas has it, and labels; every tenth value is missing, but for texts."""
    rng = np.random.default_rng(seed)
    ill = rng.random(n) < 0.4
    words = np.array(["ache", "cough", "fine", "rest", "well"])
    frame = pd.DataFrame(
        {
            "age": rng.normal(50 + 15 * ill, 12).round(1),
            "smokes": rng.random(n) < 0.3 + 0.2 * ill,
            "visits": rng.poisson(1 + 2 * ill).astype(float),
            "note": [" ".join(rng.choice(words[:-1] if sick else words[1:], 3)) for sick in ill],
            "blood": rng.choice(["0", "A", "B", "AB"], n),
            "size": rng.normal(170, 10, n).round(),
        }
    ).astype({"smokes": object})
    for name in frame.columns.drop("note"):
        frame[name] = frame[name].mask(rng.random(n) < 0.1)
    return frame, np.where(ill, "ill", "well")


def write(frame, y, name):
    """One of four formats, each with the types that it has."""
    whole = frame.assign(label=y).astype({"smokes": "boolean"})
    if name.endswith(".csv"):
        whole.to_csv(name, index=False)
    elif name.endswith(".tsv"):
        whole.to_csv(name, index=False, sep="\t")
    elif name.endswith(".xlsx"):
        whole.to_excel(name, index=False)
    elif name.endswith(".parquet"):
        whole.astype({"visits": "Int64", "blood": "category"}).to_parquet(name, index=False)
    else:
        whole.to_json(name, orient="records", lines=True)


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame, y = table()
    for format in FORMATS:
        write(frame, y, f"t.{format}")
    return frame, y


def rows(path):
    return list(csv.DictReader(Path(path).read_text().splitlines()))


def answers(folder, source):
    run("predict", folder, source, "--probabilities", "--out", "p.csv", "-q")
    found = rows("p.csv")
    names = [name for name in found[0] if name.startswith("p:")]
    return np.array([[float(row[name]) for name in names] for row in found])


# -- the estimator ---------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [0, 2, 5])
@pytest.mark.parametrize("text", [False, True])
@pytest.mark.parametrize("format", FORMATS)
def test_it_is_the_estimator(format, text, k, here):
    frame, y = here
    words = ("--text", "note", "--words", "min-documents=5") if text else ("--read", "ignore=note")
    run(*SELECT, f"t.{format}", "-k", k, "--test", 0, *words)
    X = frame if text else frame.drop(columns="note")
    more = {"text": ["note"], "min_documents": 5} if text else {}
    model = SparseMixedNB(k=k, columns=COLUMNS, **more).fit(X, y)
    file = load_model("result/model.npz")
    assert list(file.names) == model.get_feature_names_out().tolist()
    assert file.n_features == len(model.variable_names_)
    certificate = json.loads(Path("result/summary.json").read_text())["certificate"]
    assert certificate["objective"] == pytest.approx(model.certificate_.objective, rel=1e-12)
    for other in FORMATS:
        np.testing.assert_allclose(
            answers("result", f"t.{other}"), model.predict_proba(X), rtol=1e-9, atol=1e-12
        )


def test_the_format_does_not_matter():
    models = set()
    for format in FORMATS:
        run(*SELECT, f"t.{format}", "-k", 4, "--text", "note", "--out", format)
        models.add(Path(format, "model.npz").read_bytes())
    assert len(models) == 1


@pytest.mark.parametrize(
    ("options", "more"),
    [
        (("--train", "correction=bic"), {"correction": "bic"}),
        (("--train", "alpha=0.2"), {"alpha": 0.2}),
        (("--choose", "class-weight=balanced"), {"class_weight": "balanced"}),
        (
            ("--choose", "require=size", "--choose", "exclude=note__*"),
            {"required": ["size"], "excluded": "*"},
        ),
        (("--choose", "objective=pairs"), {"objective": "pairs"}),
    ],
)
def test_what_is_asked_of_it(options, more, here):
    frame, y = here
    run(*SELECT, "t.csv", "-k", 3, "--test", 0, "--text", "note", *options)
    if "excluded" in more:
        more["excluded"] = [f"note__{word}" for word in ("ache", "cough", "fine", "rest", "well")]
    model = SparseMixedNB(k=3, columns=COLUMNS, text=["note"], **more).fit(frame, y)
    assert list(load_model("result/model.npz").names) == model.get_feature_names_out().tolist()
    np.testing.assert_allclose(answers("result", "t.csv"), model.predict_proba(frame), rtol=1e-9)


def test_paths_and_folds(here):
    frame, y = here
    run("cv", "t.csv", "--model", "mixed", "--read", "kind=visits=poisson", "--text", "note",
        "--out", "path.csv", "-q")  # fmt: skip
    estimator = SparseMixedNB(columns=COLUMNS, text=["note"])
    track = sparsity_path(estimator, frame, y)
    gains = [float(row["gain"]) for row in rows("path.csv")]
    np.testing.assert_allclose(gains[-10:], (track.objective - track.baseline)[-10:], rtol=1e-9)
    run("cv", "t.csv", "--model", "mixed", "--read", "kind=visits=poisson", "--text", "note",
        "--ks", "0,2,4", "--out", "cv.csv", "-q")  # fmt: skip
    found = [float(row["accuracy"]) for row in rows("cv.csv")]
    errors = error_path(estimator, frame, y, [0, 2, 4]).cross_validated
    np.testing.assert_allclose(found, 1 - errors, atol=0.05)  # of other folds
    run(*SELECT, "t.csv", "--text", "note", "-k", "auto",
        "--train", "calibration=cross-fitted", "--judge", "precision=ill=0.9")  # fmt: skip
    assert 1 <= len(rows("result/features.csv")) <= track.supports.n_features


def test_each_row_is_left_out_alone(here):
    frame, y = here
    run("cv", "t.csv", "--model", "mixed", "--read", "kind=visits=poisson", "--text", "note",
        "--ks", "0,2,4", "--folds", "loo", "--out", "loo.csv", "-q")  # fmt: skip
    found = [float(row["accuracy"]) for row in rows("loo.csv")]
    for k, share in zip([0, 2, 4], found, strict=True):
        right = 0
        for row in range(len(y)):
            others = np.arange(len(y)) != row
            model = SparseMixedNB(k, columns=COLUMNS, text=["note"]).fit(frame[others], y[others])
            right += model.predict(frame[~others])[0] == y[row]
        assert share == pytest.approx(right / len(y))


def test_rows_without_a_label_are_left_out(here):
    said = run("select", "t.csv", "--model", "mixed", "-k", 2, "--label", "blood")
    frame, _ = here
    assert f"{frame.blood.isna().sum()} rows without a label were left out" in said


# -- kinds -----------------------------------------------------------------------------------------


def kinds_of(source, *options):
    run("select", source, "--model", "mixed", "-k", "all", "--test", 0, "-q", "--force", *options)
    file = load_model("result/model.npz")
    return dict(zip(file.names, file.variables.columns.kinds, strict=True))


def test_kinds_are_those_of_the_file():
    usual = {"age": "gaussian", "smokes": "bernoulli", "visits": "gaussian", "note": "categorical",
             "blood": "categorical", "size": "gaussian"}  # fmt: skip
    for format in FORMATS:
        assert kinds_of(f"t.{format}") == usual
    told = kinds_of("t.csv", "--read", "kind=visits=poisson", "--read", "kind=size=categorical")
    assert told == usual | {"visits": "poisson", "size": "categorical"}


def test_a_late_text_makes_a_column_of_categories():
    """Kinds are known after all rows: what begins with numbers may end otherwise."""
    lines = [f"{i % 3},{'yes' if i % 2 else 'no'}" for i in range(40)]
    Path("late.csv").write_text("\n".join(["code,label", *lines, "x7,yes", ""]))
    assert kinds_of("late.csv") == {"code": "categorical"}
    assert load_model("result/model.npz").variables.columns.labels == (("0", "1", "2", "x7"),)


def test_a_name_of_rows_is_no_variable_and_truth_may_be_told():
    frame = pd.DataFrame({"flag": [0, 1, 2, 0] * 5, "label": ["a", "b"] * 10})
    frame.to_csv("indexed.csv")
    assert kinds_of("indexed.csv", "--read", "kind=flag=bernoulli") == {"flag": "bernoulli"}


def test_what_is_missing_is_left_out(here):
    frame, y = here
    bare = frame[["blood", "size"]]
    bare.assign(label=y).to_csv("words.csv", index=False, na_rep="NA")
    with Path("absent.jsonl").open("w") as file:
        for row, label in zip(bare.to_dict("records"), y, strict=True):
            held = {name: value for name, value in row.items() if value == value}
            first = {"blood": None, "size": None} if not file.tell() else {}
            file.write(json.dumps({**first, **held, "label": str(label)}) + "\n")
    model = SparseMixedNB(k="all").fit(bare, y)
    for source in ("words.csv", "absent.jsonl"):
        kinds_of(source)
        np.testing.assert_allclose(answers("result", source), model.predict_proba(bare), rtol=1e-9)
    assert "are missing; each is left out" in run(
        "select", "words.csv", "--model", "mixed", "--force", "-q"
    )


def test_categories_that_training_does_not_have_tell_nothing(here):
    kinds_of("t.csv", "--read", "ignore=note")
    frame, y = here
    write(frame.assign(blood="Z"), y, "strange.csv")
    write(frame.assign(blood=None), y, "empty.csv")
    np.testing.assert_array_equal(answers("result", "strange.csv"), answers("result", "empty.csv"))


# -- streams, engines, records ---------------------------------------------------------------------


@pytest.fixture
def shards(here):
    frame, y = here
    for i, rows_of in enumerate(np.array_split(np.arange(len(y)), 3)):
        write(frame.iloc[rows_of], y[rows_of], f"part-{i}.csv")
    return "part-?.csv"


@pytest.mark.filterwarnings("ignore")  # of a cluster, of processes that end while it closes
@pytest.mark.parametrize("engine", [(), ("--on", "dask:2"), ("--checkpoint", "c")])
def test_shards_are_the_whole(shards, engine, here):
    if "dask" in engine:
        pytest.importorskip("dask")
    frame, y = here
    run(*SELECT, shards, "-k", 4, "--text", "note", "--test", 0, *engine)
    model = SparseMixedNB(k=4, columns=COLUMNS, text=["note"]).fit(frame, y)
    assert list(load_model("result/model.npz").names) == model.get_feature_names_out().tolist()
    np.testing.assert_allclose(answers("result", "t.csv"), model.predict_proba(frame), rtol=1e-9)
    if engine[:1] == ("--checkpoint",):  # once more, from the record that was kept
        kept = Path("result/model.npz").read_bytes()
        run(*SELECT, shards, "-k", 4, "--text", "note", "--test", 0, *engine)
        assert Path("result/model.npz").read_bytes() == kept


def test_records_are_the_same_after_they_were_written(shards):
    run(*SELECT, shards, "--text", "note", "--test", 0, "--checkpoint", "c")
    (path,) = Path("c").glob("*.npz")
    record = load_record(path)
    save_record(record, "again.npz")
    assert Path("again.npz").read_bytes() == path.read_bytes()
    assert load_record("again.npz").equals(record)
    other = replace(record, shards={"other": record.n_rows})
    both = merge([record, other]).statistics
    for kind, part in both.parts.items():
        np.testing.assert_array_equal(part.observed, 2 * record.statistics.parts[kind].observed)


# -- what is told ----------------------------------------------------------------------------------


def test_a_category_is_told_by_its_name(here):
    frame, y = here
    run(*SELECT, "t.csv", "--read", "ignore=note", "-k", "all", "--test", 0)
    row = next(each for each in rows("result/features.csv") if each["feature"] == "blood")
    shares = {name: frame.blood[y == name].value_counts(normalize=True) for name in ("ill", "well")}
    apart = (shares["ill"] - shares["well"]).abs()
    assert apart[row["category"]] == apart.max()
    for name in ("ill", "well"):
        assert float(row[f"center:{name}"]) == pytest.approx(shares[name][row["category"]])
    called = f"blood = {row['category']}"
    assert called in run("explain", "result", "--report", "md").replace("\\", "")
    assert called in Path("result/report.html").read_text()
    age = next(each for each in rows("result/features.csv") if each["feature"] == "age")
    assert float(age["center:ill"]) == pytest.approx(frame.age[y == "ill"].mean())
    assert float(age["dispersion:ill"]) == pytest.approx(frame.age[y == "ill"].std(ddof=0))
    smokes = next(each for each in rows("result/features.csv") if each["feature"] == "smokes")
    assert float(smokes["center:well"]) == pytest.approx(frame.smokes[y == "well"].dropna().mean())


def test_explanations_add_up_and_name_categories(here):
    frame, y = here
    run(*SELECT, "t.csv", "--text", "note", "-k", "all", "--test", 0)
    model = SparseMixedNB(k="all", columns=COLUMNS, text=["note"]).fit(frame, y)
    odds = np.diff(model.predict_log_proba(frame), axis=1)[:, 0]
    for row in (1, 2, 17):
        found = json.loads(run("explain", "result", "--file", "t.parquet", "--row", row, "--json"))
        total = found["start"] + sum(each["nats"] for each in found["contributions"])
        assert found["total"] == pytest.approx(total)
        sign = 1 if found["answer"] == "well" else -1
        assert found["total"] == pytest.approx(sign * odds[row - 1])
        value = {each["feature"]: each["value"] for each in found["contributions"]}
        blood = frame.blood[row - 1]
        assert value.get("blood") == (None if pd.isna(blood) else blood)
        assert "age" not in value or value["age"] == frame.age[row - 1]


# -- model files of strangers ----------------------------------------------------------------------


def test_model_files_are_checked(here):
    run(*SELECT, "t.csv", "--text", "note", "-k", "all", "--test", 0)
    file = load_model("result/model.npz")
    with Path("copy.npz").open("wb") as out:
        save_model(file, out)
    assert Path("copy.npz").read_bytes() == Path("result/model.npz").read_bytes()
    mixed, columns = file.rule, file.variables.columns
    gaussian = mixed.rules["gaussian"]
    bad = [
        {"variables": None},
        {"names": file.names[::-1]},
        {"variables": replace(file.variables, names=("age",))},
        {"variables": replace(file.variables, columns=replace(columns, kinds=("gaussian",) * 5))},
        {"rule": replace(mixed, rules={**mixed.rules, "poisson": gaussian})},
        {"rule": replace(mixed, columns={**mixed.columns, "gaussian": np.array([0, 99])})},
        {"rule": replace(mixed, log_prior=np.array([np.nan, 0.0]))},
        {"rule": replace(
            mixed, rules={**mixed.rules, "gaussian": replace(gaussian, mean=gaussian.mean * np.inf)}
        )},
        {"rule": replace(
            mixed, rules={**mixed.rules, "gaussian": replace(gaussian, mean=gaussian.mean[:, :1])}
        )},
        {"rule": replace(mixed, rules={**mixed.rules, "gaussian": replace(gaussian, offset=None)})},
        {"kind": "gaussian"},
    ]  # fmt: skip
    for change in bad:
        with Path("bad.npz").open("wb") as out:
            save_model(replace(file, **change), out)
        with pytest.raises(InputError, match="is damaged"):
            load_model("bad.npz")


def test_a_manifest_that_was_tampered_with():
    run(*SELECT, "t.csv", "--text", "note", "-k", "all", "--test", 0)
    with zipfile.ZipFile("result/model.npz") as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    manifest = json.loads(members["manifest.json"])
    for change in (
        {"categories": [["A", "A"]] * 5},
        {"kinds": ["nothing"] * 5},
        {"words": [["b", "a"]]},
        {"words": 7},
        {"text": {}},
        {"names": ["age"]},
    ):
        told = {**manifest, "variables": {**manifest["variables"], **change}}
        with zipfile.ZipFile("bad.npz", "w") as archive:
            for name, content in {**members, "manifest.json": json.dumps(told)}.items():
                archive.writestr(name, content)
        with pytest.raises(InputError, match="is damaged"):
            load_model("bad.npz")


# -- refusals --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ("--read numbers", "--read numbers has no effect on --model mixed"),
        ("--read transpose", "--read transpose has no effect on --model mixed"),
        ("--read missing=ignore", "`--read missing` has no effect on --model mixed"),
        ("--words weights=log", "leave them out with --model mixed"),
        ("--words analyzer=char", "--words analyzer is of texts.*without --text"),
        (
            "--words min-count=2 --text note",
            "a word of a table is there or not; use --words min-documents",
        ),
        (
            "--words min-documents=2",
            "`--words min-documents` is of words, and has no effect without --text",
        ),
        ("--choose quota=1", "`--choose quota` asks which class a feature speaks for"),
        ("--choose redundancy=conditional", "`--choose redundancy` has no effect on --model mixed"),
        ("--markers 2", "`--markers` compares a class with all others by one figure"),
        ("--read kind=nowhere=poisson", "`--read kind` must name columns.*got nowhere"),
        ("--read kind=age=number", "is not a column and one of gaussian, categorical"),
        ("--read kind=age=poisson --read kind=age=gaussian", "column age is named twice"),
        ("--text nowhere", "`--text` must name columns.*got nowhere"),
        ("--text note --read kind=note=categorical", "the words of column note are variables"),
        (
            "--read kind=note=gaussian",
            "line 2: the value of `note` is .*--read kind='note=categorical'",
        ),
        ("--read kind=size=bernoulli --read kind=note=bernoulli", "line 2: the value of `note`"),
        ("--read ignore=nowhere", "there is no column `nowhere`"),
    ],
)
def test_an_option_without_effect_is_refused(options, match, here):
    said = run("select", "t.csv", "--model", "mixed", "-k", 2, *options.split(), status=2)
    assert re.search(match, said), said
    assert not Path("result").exists()


def test_more_refusals(here):
    frame, y = here
    write(frame.assign(note__ache=1), y, "twice.csv")
    said = run("select", "twice.csv", "--model", "mixed", "--text", "note", status=2)
    assert "twice.csv: Names of variables must differ, and two are called 'note__ache'" in said
    write(frame.assign(visits=-1.0), y, "negative.csv")
    said = run(*SELECT, "negative.csv", status=2)
    assert "line 2: the value of `visits` must be a count, which is never negative; got -1" in said
    Path("endless.csv").write_text("a,label\n1,x\ninf,y\n2,x\n3,y\n")
    said = run("select", "endless.csv", "--model", "mixed", status=2)
    assert "line 3: the value of `a` must be finite" in said
    Path("lists.jsonl").write_text('{"a": [1], "label": "x"}\n{"a": [2], "label": "y"}\n')
    said = run("select", "lists.jsonl", "--model", "mixed", status=2)
    assert "line 1: column `a` holds a list" in said
    Path("bare.csv").write_text("label\nx\ny\n")
    assert "no column beside the label" in run("select", "bare.csv", "--model", "mixed", status=2)
    Path("m.svmlight").write_text("1 1:2\n0 2:1\n")
    said = run("select", "m.svmlight", "--model", "mixed", status=2)
    assert "reads tables with names of columns" in said
    said = run("select", "t.csv", "--text", "note", "--read", "kind=age=poisson", status=2)
    assert "--read kind has no effect on --model multinomial" in said
    said = run("cv", "t.csv", "--model", "mixed", "--model", "gaussian", status=2)
    assert "compare it in a run of its own" in said
    said = run("cv", "t.csv", "--model", "mixed", "--against", "logistic", status=2)
    assert "not the columns of a table" in said
    run(*SELECT, "t.csv")
    said = run("predict", "result", "t.csv", "--text", "note", status=2)
    assert "--text has no effect, since the model was trained on columns of a table" in said
    assert "a table with columns of several kinds" in run("explain", "result", "ache", status=2)
    write(frame.drop(columns="age"), y, "narrow.csv")
    assert "there is no column `age`" in run("predict", "result", "narrow.csv", status=2)
    assert (
        "mixed"
        not in run("count", "t.csv", "-o", "c", "--model", "mixed", status=2).split(
            "is not one of"
        )[-1]
    )
