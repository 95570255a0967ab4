"""Input as people have it: no row is lost, no label misread, no option dropped without a word."""

import json
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from click.testing import CliRunner
from sklearn.model_selection import GroupKFold

import naively
from naively import (
    ClassCounts,
    SparseBernoulliNB,
    SparseGaussianNB,
    SparsityCV,
    selection_stability,
)
from naively.cli.commands import naively as command
from naively.report.documents import summary_json

N = 60
RNG = np.random.default_rng(0)
Y = np.array(["p", "q", "q"] * (N // 3))
X = RNG.normal(np.where(Y[:, None] == "p", [1, 0, 2], [0, 1, 2])).round(2)


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def run(*arguments, status=0, stdin=None):
    found = CliRunner().invoke(command, [str(each) for each in arguments], input=stdin)
    if found.exception is not None and not isinstance(found.exception, SystemExit):
        raise found.exception
    assert found.exit_code == status, found.output
    return found


def refused(*arguments):
    """One sentence, which is returned."""
    found = run(*arguments, status=2)
    assert found.stdout == ""
    assert found.stderr.startswith("naively: ")
    assert found.stderr.count("\n") == 1
    return found.stderr


def summary_of(*arguments):
    run("select", *arguments, "-q")
    return json.loads(Path("result/summary.json").read_text())


def frame(labels=Y, names="abc"):
    return pd.DataFrame(X, columns=list(names)).assign(label=labels)


def counted(labels):
    return pd.DataFrame(np.abs(X), columns=list("abc")).assign(label=labels)


NUMBERS = ("--read", "numbers", "--model", "gaussian", "-k", 2)

# The first row ---------------------------------------------------------------------------------


@pytest.mark.parametrize("format", ["csv", "xlsx"])
@pytest.mark.parametrize("beside", [(), ("--read", "transpose")])
def test_a_first_row_of_numbers_is_not_taken_for_names(format, beside):
    path, table = f"t.{format}", pd.DataFrame(X).assign(label=(Y == "p") * 1)
    label = "4"
    if beside:
        table = table.T
        table.insert(0, "name", ["u", "v", "w", "label"])
        label = "label"
    {"csv": table.to_csv, "xlsx": table.to_excel}[format](path, index=False, header=False)
    asked = (path, *NUMBERS, *beside, "--label", label)
    told = refused("select", *asked)
    what = "samples" if beside else "columns"
    assert f"the first row, which names {what}, holds only numbers" in told
    assert "--read header=false" in told
    assert "--read header=true" in told
    assert f"{path}: {'line' if format == 'csv' else 'row'} 1" in told
    summary = summary_of(*asked, "--read", "header=false")
    assert sum(each["rows"] for each in summary["files"]) == N  # none became a header
    if not beside:
        own = str(table.iloc[0, 3])
        asked = (path, *NUMBERS, "--label", own, "--read", "header=true")
        assert sum(each["rows"] for each in summary_of(*asked)["files"]) == N - 1


@pytest.mark.parametrize("names", ["012", "123"])
def test_columns_may_be_called_by_their_numbers(names):
    frame(names=names).drop(columns="label").to_csv("t.csv", index=False)
    Path("y.txt").write_text("\n".join(Y))
    summary = summary_of("t.csv", *NUMBERS, "--read", "labels=y.txt")
    assert {each["name"] for each in summary["features"]} <= set(names)


def test_numbers_beside_a_name_are_names():
    table = pd.DataFrame(X, columns=["400.5", "401", "402.5"]).assign(label=Y)  # of a spectrum
    table.to_csv("t.csv", index=False)
    assert {each["name"] for each in summary_of("t.csv", *NUMBERS)["features"]} <= set(table)


def test_rows_to_be_predicted_are_not_names_either():
    np.savez("t.npz", X=X, y=Y)
    run("select", "t.npz", "--model", "gaussian", "-k", 2, "-q")
    pd.DataFrame(X).to_csv("new.csv", index=False, header=False)
    assert "--read header=false" in refused("predict", "result", "new.csv")
    shown = run("predict", "result", "new.csv", "--read", "header=false").stdout
    assert len(shown.splitlines()) == 1 + N


def test_names_that_the_model_knows_are_names():
    names = ["400.5", "401", "402.5"]
    pd.DataFrame(X, columns=names).assign(label=Y).to_csv("t.csv", index=False)
    run("select", "t.csv", *NUMBERS, "-q")
    pd.DataFrame(X, columns=names).to_csv("new.csv", index=False)  # without the label
    assert len(run("predict", "result", "new.csv").stdout.splitlines()) == 1 + N


def test_samples_without_names_are_told_by_the_row_of_labels():
    table = pd.DataFrame(X, columns=list("uvw")).T
    lines = ["label," + ",".join(Y), *table.to_csv(header=False).splitlines()]
    Path("t.csv").write_text("\n".join(lines) + "\n")
    asked = ("t.csv", *NUMBERS, "--read", "transpose")
    assert "add --read header=false if they have no names" in refused("select", *asked)
    assert sum(each["rows"] for each in summary_of(*asked, "--read", "header=false")["files"]) == N


# Numbers and labels as they are written ---------------------------------------------------------


@pytest.mark.parametrize("delimiter", [";", ",", "\t"])
@pytest.mark.parametrize("model", ["gaussian", "mixed"])
def test_decimal_commas_are_read_and_told(delimiter, model):
    asked = ("--model", model, "-k", 2) + (() if model == "mixed" else ("--read", "numbers"))
    frame().to_csv("point.csv", index=False)
    frame().to_csv("comma.csv", index=False, sep=delimiter, decimal=",")
    expected = summary_of("point.csv", *asked)
    found = summary_of("comma.csv", *asked)
    assert found["features"] == expected["features"]
    assert found["evaluation"] == expected["evaluation"]
    told = [note for note in found["notes"] if "read as" in note]
    assert len(told) == 1
    assert "numbers with decimal commas" in told[0]
    shown = run("predict", "result", "comma.csv")
    assert shown.stdout == run("predict", "result", "point.csv").stdout
    assert "decimal commas" in shown.stderr


def test_what_may_be_thousands_is_refused():
    Path("t.csv").write_text("a;label\n1,234;p\n2,345;q\n" * 1)
    told = refused("select", "t.csv", *NUMBERS)
    assert "'1,234', not a number; write its decimals behind a point" in told


@pytest.mark.parametrize("written", ["csv", "parquet", "jsonl", "npz"])
@pytest.mark.parametrize("tested", ["csv", "parquet", "jsonl", "npz"])
def test_a_whole_number_is_one_label_whatever_holds_it(written, tested):
    labels = (Y == "p").astype(float)

    def write(name, format):
        path = f"{name}.{format}"
        if format == "npz":
            np.savez(path, X=X, label=labels, feature_names=list("abc"))
        elif format == "csv":
            frame(labels).to_csv(path, index=False)
            assert ",1.0\n" in Path(path).read_text()
        elif format == "parquet":
            frame(labels).to_parquet(path)
        else:
            frame(labels).to_json(path, orient="records", lines=True)
        how = () if format == "npz" else ("--read", "numbers")
        return path, how

    path, how = write("train", written)
    run("select", path, *how, "--model", "gaussian", "-k", 2, "-q")
    other, _ = write("test", tested)
    shown = run("predict", "result", other, "--truth", "label")
    assert {line.split(",")[1] for line in shown.stdout.splitlines()[1:]} == {"0", "1"}
    assert "recogni" not in shown.stderr or "0.0000" not in shown.stderr
    accuracy = float(shown.stderr.split("ccuracy ")[1].split()[0])
    assert accuracy > 0.6


def test_real_labels_in_python_come_back_as_they_are():
    labels = (Y == "p").astype(float)
    found = naively.select(frame(labels), model="gaussian", k=2)
    answers = found.model.predict(frame()[list("abc")])
    assert answers.dtype == labels.dtype
    assert np.mean(answers == labels) > 0.6
    naively.save(naively.SparseGaussianNB(k=2).fit(frame()[list("abc")], labels), "m.npz")
    assert naively.load("m.npz").classes_.tolist() == [0.0, 1.0]
    frame(labels).to_csv("t.csv", index=False)
    shown = run("predict", "m.npz", "t.csv", "--truth", "label").stderr
    assert float(shown.split("ccuracy ")[1].split()[0]) > 0.6


@pytest.mark.parametrize("word", ["NA", "NaN", "None", "null", "N/A"])
def test_a_word_for_nothing_is_no_class_and_told(word):
    labels = Y.astype(object).copy()
    labels[:2] = word
    frame(labels).to_csv("t.csv", index=False)
    summary = summary_of("t.csv", *NUMBERS)
    assert [each["name"] for each in summary["classes"]] == ["p", "q"]
    (told,) = (note for note in summary["notes"] if "without a label" in note)
    assert told.startswith("2 rows without a label were left out (an empty cell, NA, NaN,")
    assert "if one of these is a class, write it otherwise" in told
    frame(labels).to_parquet("t.parquet")  # where a string is what it says
    summary = summary_of("t.parquet", *NUMBERS)
    assert word in [each["name"] for each in summary["classes"]]


def test_labels_beside_a_matrix_are_spelled_alike():
    np.savez("t.npz", X=X)
    Path("y.txt").write_text("\n".join(["NA", *(f"{1.0 * (each == 'p')}" for each in Y[1:])]))
    asked = ("--model", "gaussian", "-k", 2, "--read", "labels=y.txt")
    assert [each["name"] for each in summary_of("t.npz", *asked)["classes"]] == ["0", "1"]


def test_names_of_rows_stay_as_they_are_written():
    frame().assign(who=[f"{i}.0" for i in range(N)]).to_csv("t.csv", index=False)
    run("select", "t.csv", *NUMBERS, "--id", "who", "-q")
    shown = run("predict", "result", "t.csv", "--id", "who").stdout
    assert shown.splitlines()[1].startswith("0.0,")


# Options ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "named"),
    [
        (("-k", 2, "-k", 3), "-k"),
        (("--label", "a", "--label", "b"), "--label"),
        (("--train", "alpha=1", "--train", "alpha=2"), "--train alpha"),
        (("--words", "ngrams=2", "--words", "ngrams=2"), "--words ngrams"),
    ],
)
def test_what_is_said_twice_is_refused(asked, named):
    assert refused("select", "t.csv", *asked) == (
        f"naively: {named} is given more than once; once will do.\n"
    )


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (("select",), "Missing argument 'FILE'; naively select --help shows what there is."),
        (("select", "t.csv", "--nothing"), "No such option '--nothing'"),
        (("select", "t.csv", "-k", "few"), "Invalid value for '-k': 'few' is not a number"),
        (("choose",), "No such command 'choose'."),
        (("select", "t.csv", "u.csv"), "Many files are named by one pattern in quotes"),
    ],
)
def test_a_mistake_in_the_command_is_one_sentence(asked, said):
    assert said in refused(*asked)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (("count", "--read", "numbers", "--id", "label"), "--label (by default) and of --id"),
        (("select", "--text", "label"), "--label (by default) and of --text"),
        (("select", "--text", "x", "--label", "x"), "--label and of --text"),
        (("select", "--text", "x", "--id", "label"), "--label (by default) and of --id"),
        (("select", "--text", "x", "--read", "split=label"), "by default) and of --read split"),
        (("select", "--text", "x", "--read", "groups=label"), "by default) and of --read groups"),
        (("cv", "--text", "x", "--read", "weight=label"), "by default) and of --read weight"),
        (("select", "--text", "x", "--read", "weight=x"), "--read weight and of --text"),
        (("select", "--model", "mixed", "--read", "groups=label"), "and of --read groups"),
    ],
)
def test_a_column_of_labels_or_weights_is_nothing_else(asked, said):
    """`--text label` learned the label from itself."""
    frame().assign(x="some words").to_csv("t.csv", index=False)
    out = ("-o", "out.npz") if asked[0] == "count" else ()
    told = refused(asked[0], "t.csv", *asked[1:], *out)
    assert said in told
    assert "each needs one of its own" in told


def test_a_matrix_has_one_role_for_an_array_too():
    np.savez("m.npz", X=X, y=np.where(Y == "p", 1, 2), g=np.arange(N) % 9)
    told = refused("select", "m.npz", "--model", "gaussian", "-k", 2, "--read", "weight=y")
    assert "`y` is the column of --label (by default) and of --read weight" in told
    asked = ("--read", "groups=g", "--id", "g")  # names of rows may be their groups
    run("select", "m.npz", "--model", "gaussian", "-k", 2, *asked, "-q")


def test_a_class_without_rows_to_train_on_is_named():
    rows = frame().assign(w=(Y == "p") * 1, part=np.where(Y == "p", "train", "test"))
    rows.to_csv("t.csv", index=False)
    asked = ("select", "t.csv", *NUMBERS)
    told = refused(*asked, "--read", "split=part", "--read", "ignore=w")
    assert "one class only (p), none of q; " in told
    assert "(all their rows are test rows)" in told
    assert "right column" not in told
    told = refused(*asked, "--read", "weight=w", "--read", "ignore=part")
    assert "one class only (p); " in told
    assert "rows of weight 0 are left out; is --label" in told
    one = rows.assign(label=pd.Categorical(["p"] * N, ["p", "q"]))[[*"abc", "label"]]
    with pytest.raises(ValueError, match=r"one category only \(p\), and none of q; two or more"):
        naively.select(one, model="gaussian", k=2)
    two = rows.assign(label=pd.Categorical(Y, ["p", "q", "r"]))[[*"abc", "label"]]
    found = naively.select(two, model="gaussian", k=2).summary
    assert [each.name for each in found.classes] == ["p", "q"]
    with pytest.raises(ValueError, match=r"one class only \(p\), and none of q has a weight"):
        selection_stability(SparseGaussianNB(k=1), X, Y, sample_weight=(Y == "p") * 1.0)


def test_the_standard_input_is_recorded_as_it_was_asked_for():
    text = frame().to_csv(index=False)
    run("select", "-", "--read", "format=csv", *NUMBERS, "-q", stdin=text)
    assert 'file = "-"' in Path("result/run.toml").read_text()
    summary = json.loads(Path("result/summary.json").read_text())
    assert summary["settings"]["command"].startswith("naively select - ")


def test_a_record_is_not_written_into_a_folder_called_like_a_file():
    pd.DataFrame({"text": ["a b", "c d"], "label": ["p", "q"]}).to_csv("t.csv", index=False)
    told = refused("count", "t.csv", "-o", "x.txt")
    assert "`--out` must end in .npz or .stats" in told
    assert "write 'x.txt/'" in told
    assert not Path("x.txt").exists()
    run("count", "t.csv", "-o", "x.txt/", "-q")
    assert len(list(Path("x.txt").iterdir())) == 1


def test_a_result_is_not_written_into_a_folder_called_like_a_file():
    told = refused("select", "t.csv", "-o", "report.html")
    assert "`--out` must name a folder; got 'report.html'" in told
    frame().to_csv("t.csv", index=False)
    run("select", "t.csv", *NUMBERS, "-o", "report.html/", "-q")
    assert Path("report.html/model.npz").exists()


def test_a_table_of_counts_is_told_what_it_needs():
    Path("c.csv").write_text("feature,label,count\nu,p,3\nv,q,2\n")
    assert "--read class-rows=FILE" in refused("select", "c.csv", "-k", 1)


def test_the_models_that_smooth_are_all_named():
    frame().to_csv("t.csv", index=False)
    asked = ("--read", "numbers", "--model", "l2-centers", "--train", "alpha=1")
    assert "gaussian" in refused("select", "t.csv", *asked)


def test_no_feature_is_not_called_proven():
    frame().to_csv("t.csv", index=False)
    shown = run("select", "t.csv", "--read", "numbers", "--model", "gaussian", "-k", 0, "-q").stdout
    assert "roven optimal" not in shown
    assert "No feature was asked for" in " ".join(shown.split())
    assert "optimal" not in run("explain", "result", "--report", "md").stdout


@pytest.mark.parametrize("asked", [(), ("--choose", "objective=pairs")])
def test_an_even_quota_of_less_than_one_is_refused(asked):
    counted(np.array(["p", "q", "r"])[np.arange(N) % 3]).to_csv("t.csv", index=False)
    told = refused("select", "t.csv", "--read", "numbers", "-k", 2, *asked,
                   "--choose", "quota=even")  # fmt: skip
    assert "`-k` must be at least 3: `--choose quota` needs 3, one for each class; got 2" in told
    with pytest.raises(ValueError, match="`quota` needs 2, one for each class; got 1"):
        SparseBernoulliNB(k=1, quota="even").fit(X, Y)
    table = run("cv", "t.csv", "--read", "numbers", "--choose", "quota=even", "--json").stdout
    assert min(point["k"] for point in json.loads(table)["points"]) == 3


def test_workers_do_not_change_a_cross_validation():
    counted(Y).to_csv("t.csv", index=False)
    asked = ("cv", "t.csv", "--read", "numbers", "--json")
    assert run(*asked, "--on", 2).stdout == run(*asked).stdout


# Python -----------------------------------------------------------------------------------------


def test_nothing_speaks_of_files_that_python_does_not_know():
    test = frame().sample(frac=0.5, random_state=0)
    Path("f.csv").write_text(frame().to_csv(index=False))
    for table in (frame(), "f.csv"):
        numbers = {"read": {"numbers": True}} if table is not None else {}
        found = naively.select(table, model="gaussian", k=2, test=test, **numbers)
        record = summary_json(found.summary)
        for word in ("tmp", "parquet", "--test"):
            assert word not in record
        assert json.loads(record)["evaluation"]["method"] == "the rows of `test`"
        found.save("saved")
        assert not Path("saved/run.toml").exists()  # no file says what was given


@pytest.mark.parametrize(
    ("table", "options", "said"),
    [
        (frame().assign(a=np.nan), {}, "`table`: row 1: the value of `a` is missing"),
        (frame().assign(a="x"), {}, "`table`: row 1: the value of `a` is 'x', not a number"),
        (frame(), {"test": frame().drop(columns="a")}, "`test`: `table` needs the column `a`"),
        (frame(), {"label": "b c"}, "`table` has no column of labels 'b c'"),
        (frame(), {"words": {"stop_words": ["a"]}}, "`words` stop-words has no effect on numbers"),
    ],
)
def test_errors_in_python_have_its_names(table, options, said):
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        naively.select(table, model="gaussian", k=2, **options)
    assert str(caught.value).startswith(said)
    assert "--" not in str(caught.value)


def test_a_folder_in_python_is_no_option():
    Path("full").mkdir()
    Path("full/other").touch()
    with pytest.raises(OSError, match="choose another `folder`, or add `force`"):
        naively.select(frame(), model="gaussian", k=2).save("full")


@pytest.mark.parametrize("layer", [None, "counts", "raw"])
def test_anndata_is_selected_from_as_its_file(layer):
    anndata = pytest.importorskip("anndata")
    counts = RNG.poisson(np.where(Y[:, None] == "p", [1, 4, 2], [4, 1, 2])).astype(float)
    cells = anndata.AnnData(
        np.log1p(counts), obs=pd.DataFrame({"kind": Y, "who": [f"w{i % 6}" for i in range(N)]},
        index=[f"c{i}" for i in range(N)]), var=pd.DataFrame(index=list("uvw")),
        layers={"counts": counts},
    )  # fmt: skip
    cells.raw = cells.copy()
    cells.uns["odd"] = object()  # is not written
    before = cells.obs.copy()
    read = {"groups": "who"} | ({} if layer is None else {"layer": layer})
    found = naively.select(cells, label="kind", k=2, read=read)
    pd.testing.assert_frame_equal(cells.obs, before)
    del cells.uns["odd"]
    cells.write_h5ad("c.h5ad")
    keys = [each for name, value in read.items() for each in ("--read", f"{name}={value}")]
    run("select", "c.h5ad", "--label", "kind", "-k", 2, *keys, "-q")
    found.save("saved")
    for name in ("features.csv", "model.npz"):
        assert Path("saved", name).read_bytes() == Path("result", name).read_bytes()
    other = naively.select(cells, label=Y, k=2, read=read)
    assert other.features["feature"].tolist() == found.features["feature"].tolist()


# Tables of counts ---------------------------------------------------------------------------------


def test_counts_elsewhere_name_the_file_and_the_column():
    Path("c.csv").write_text("feature,label,count\nu,p,three\n")
    with pytest.raises(ValueError, match=r"c\.csv: `count` must hold a number"):
        ClassCounts.from_long("c.csv", rows={"p": 3})
    Path("c.csv").write_text("feature,label,count\nu,p,3\n")
    with pytest.raises(ValueError, match=r"c\.csv: column 'label' must have every class .* 'q'"):
        ClassCounts.from_long("c.csv", rows={"p": 3, "q": 4})
    Path("r.csv").write_text("label,rows\np,many\n")
    with pytest.raises(ValueError, match=r"r\.csv: `rows` must hold a number"):
        ClassCounts.from_long("c.csv", rows="r.csv")
    Path("r.csv").write_text("label,rows\np,3\nq,4\n")
    assert "lacks 'q'" in refused("select", "c.csv", "--read", "class-rows=r.csv", "-k", 1)


def test_a_class_whose_rows_hold_nothing_has_a_row_with_count_0():
    rows = {"p": 3, "q": 4}
    table = {"feature": ["u", "u"], "label": ["p", "q"], "count": [2, 0]}
    assert ClassCounts.from_long(table, rows=rows)[0].table.tolist() == [[2, 0]]


def test_classes_of_counts_are_spelled_as_labels_are():
    Path("c.csv").write_text("feature,label,count\nu,1.0,3\nv,0.0,2\nu,0.0,1\n")
    Path("r.csv").write_text("label,rows\n1.0,3\n0.0,4\n")
    summary = summary_of("c.csv", "--read", "class-rows=r.csv", "-k", 2)
    assert not any("copies" in each for each in summary["notes"])
    Path("c2.csv").write_bytes(Path("c.csv").read_bytes())
    twice = summary_of("c*.csv", "--read", "class-rows=r.csv", "-k", 2)
    assert any("files are copies of others" in each for each in twice["notes"])
    assert [each["name"] for each in summary["classes"]] == ["0", "1"]


# Groups --------------------------------------------------------------------------------------

NOT_ONE_FOR_EACH = [
    ("a", "b"), "plate", np.ones((12, 2)), [[1], [1, 2], *[[3]] * 10], {"a": 1}
]  # fmt: skip
MISSING = [
    [None, *"aabbccddeef"],
    [math.nan, *"aabbccddeef"],
    [1, None, *range(10)],
    np.array([math.nan, *range(11)]),
    pd.to_datetime([None, *["2020-01-01"] * 11]),
    pd.array([None, *range(11)], dtype="Int64"),
    pd.Series([None, *"aabbccddeef"], dtype="string"),
    pd.Categorical([None, *"aabbccddeef"]),
    pa.array([None, *"aabbccddeef"]),
]


def with_groups(groups):
    X, y = np.random.default_rng(0).poisson(1.0, (12, 12)), np.arange(12) % 2
    folds = GroupKFold(2)
    return {
        "row": lambda: selection_stability(SparseBernoulliNB(k=2), X, y, groups=groups),
        "rows": lambda: SparsityCV(SparseBernoulliNB(), [1, 2], folds).fit(X, y, groups=groups),
        "feature": lambda: SparseBernoulliNB(k=2, groups=groups).fit(X, y),
    }


@pytest.mark.parametrize("where", ["row", "rows", "feature"])
def test_groups_are_labels_of_one_kind_one_for_each(where):
    each = where.rstrip("s")
    for groups in NOT_ONE_FOR_EACH:
        said = f"`groups` must have one label for each of the 12 {each}s; got "
        with pytest.raises(ValueError, match=said):
            with_groups(groups)[where]()
    for groups in MISSING:
        at = "1" if groups is MISSING[2] else "0"
        said = f"`groups` must have a label for every {each}; got NaN or None at {each} {at} "
        with pytest.raises(ValueError, match=said):
            with_groups(groups)[where]()
    with pytest.raises(
        ValueError, match=r"labels of one kind; got 1 \(int\) and '1' \(str\): make"
    ):
        with_groups(["1", 1] * 6)[where]()
    with_groups(pa.array([*"aabbccddeeff"]))[where]()
    with_groups(pd.to_datetime([f"2020-01-0{1 + i // 2}" for i in range(12)]))[where]()
