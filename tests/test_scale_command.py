"""count, merge, solve and select in streams: the model of select in memory, or a clear sentence."""

import gzip
import json
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import naively.jobs.paths  # noqa: F401
import naively.jobs.select  # noqa: F401 (patched by name)
from naively.cli.scale import naively
from naively.io.models import load_model
from naively.work.records import load_record

GOOD, BAD = ["great", "lovely", "film", "the"], ["awful", "boring", "film", "the"]


def rows(n=400):
    rng = random.Random(0)
    return [
        (" ".join(rng.choices(GOOD if i % 2 else BAD, k=6)), "pos" if i % 2 else "neg")
        for i in range(n)
    ]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    table = pa.table(dict(zip(("text", "label"), zip(*rows(), strict=True), strict=True)))
    pq.write_table(table, "all.parquet")
    for i in range(4):
        pq.write_table(table.slice(100 * i, 100), f"data/{i}.parquet", row_group_size=30)
    return tmp_path


def run(*arguments, status=0):
    result = CliRunner().invoke(naively, [str(each) for each in arguments])
    assert result.exit_code == status, result.output
    return result.output


@pytest.mark.parametrize("model", ["multinomial", "bernoulli"])
def test_every_way_leads_to_the_same_model(folder, model):
    options = ["-k", 3, "--model", model]
    run("select", "all.parquet", *options, "--out", "memory")
    run("select", "data/*.parquet", *options, "--out", "stream", "--jobs", 2)
    presence = ["--presence"] if model == "bernoulli" else []
    for i in range(4):
        run("count", f"data/{i}.parquet", "-o", "records", *presence)
    run("merge", "records", "-o", "stats.npz")
    run("solve", "stats.npz", *options, "-o", "solved")
    models = [load_model(f"{way}/model.npz") for way in ("memory", "stream", "solved")]
    for found in models[1:]:
        assert found.names == models[0].names
        np.testing.assert_allclose(found.rule.weights, models[0].rule.weights, rtol=1e-12)
    summary = json.loads((folder / "stream" / "summary.json").read_text())
    assert summary["evaluation"]["accuracy"] > 0.9
    assert 40 < summary["evaluation"]["test_rows"] < 120
    assert "answers" not in run("predict", "solved/model.npz", "all.parquet")


def test_held_out_rows_do_not_depend_on_the_workers(folder):
    for jobs in (1, 3):
        run("select", "data/*.parquet", "-k", 2, "--out", f"r{jobs}", "--jobs", jobs)
    summaries = [json.loads((folder / f"r{jobs}/summary.json").read_text()) for jobs in (1, 3)]
    assert summaries[0]["evaluation"] == summaries[1]["evaluation"]
    assert summaries[0]["features"] == summaries[1]["features"]


@pytest.mark.parametrize("options", [[], ["--model", "bernoulli"], ["--exact"], ["--alpha", 0]])
def test_the_summary_is_that_of_rows_in_memory(folder, monkeypatch, options):
    texts, labels = zip(*rows(), strict=True)
    split = ["train" if i % 5 else "dev" if i % 10 else "test" for i in range(400)]
    pq.write_table(pa.table({"text": texts, "label": labels, "split": split}), "split.parquet")
    options = [*options, "split.parquet", "--split-column", "split", "-k", 3]
    run("select", *options, "--out", "stream", "--engine", "local", "--jobs", 2)
    monkeypatch.setattr("naively.jobs.select.streamed_job", lambda job: None)
    run("select", *options, "--out", "memory")
    first, second = (
        json.loads((folder / way / "summary.json").read_text()) for way in ("memory", "stream")
    )
    assert len(first["path"]["points"]) == 6
    assert first["evaluation"]["coverage"]
    assert first["evaluation"]["predicted_error"] is not None
    assert first["features"][0]["example"]["hit"]
    for name in ("command", "final_rows"):
        del first["settings"][name], second["settings"][name]
    assert_alike(first, second)


WRITERS = {
    "a.parquet": lambda table: pq.write_table(table, "a.parquet", row_group_size=70),
    "a.csv": lambda table: pyarrow.csv.write_csv(table, "a.csv"),
    "A.TSV.gz": lambda table: Path("A.TSV.gz").write_bytes(
        gzip.compress("\n".join(map("\t".join, [NAMES, *spelled(table)])).encode())
    ),
    "a.json": lambda table: Path("a.json").write_text(
        "\n\n".join(json.dumps(row) for row in table.to_pylist())
    ),
}
NAMES = ("number", "words", "class")


def spelled(table):
    return [[str(row[name]).replace("\n", " ") for name in NAMES] for row in table.to_pylist()]


def odd_table():
    texts, labels = zip(*rows(300), strict=True)
    texts = [f'{t} said "so",\né ÉTÉ 2020-01-0{i % 9 + 1}' for i, t in enumerate(texts)]
    classes = [["yes ", "2020-01-01"][label == "pos"] for label in labels]
    return pa.table(dict(zip(NAMES, (list(range(300)), texts, classes), strict=True)))


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("options", [[], ["--model", "bernoulli", "--min-count", 2]])
def test_a_file_alone_is_streamed_with_the_result_of_rows_in_memory(
    folder, monkeypatch, name, options
):
    monkeypatch.setattr("naively.scale.sources._PART_BYTES", 4000)
    WRITERS[name](odd_table())
    options = [*options, "--text", "words", "--label", "class", "--ngrams", "1,2"]
    options += ["--stop-words", "english"]
    selected = ["select", name, "-k", 8, *options]
    streamed = spied(monkeypatch, "naively.jobs.select.select_streamed")
    run(*selected, "--out", "stream")
    paths = [run("path", name, *options, "--json")]
    assert streamed == [name]
    monkeypatch.setattr("naively.jobs.select.streamed_job", lambda job: None)
    monkeypatch.setattr("naively.jobs.paths.streamed_job", lambda job: None)
    run(*selected, "--out", "memory")
    paths.append(run("path", name, *options, "--json"))
    assert streamed == [name]
    first, second = (
        json.loads((folder / way / "summary.json").read_text()) for way in ("memory", "stream")
    )
    assert 50 < first["evaluation"]["test_rows"] < 70
    del first["settings"]["command"], second["settings"]["command"]
    if "--min-count" in options:  # in memory, lengths are those of the kept words
        del first["evaluation"]["predicted_error"], second["evaluation"]["predicted_error"]
    assert_alike(first, second)
    assert_alike(*map(json.loads, paths))
    answers = [
        run("predict", f"{way}/model.npz", name, "--text", "words") for way in ("memory", "stream")
    ]
    assert answers[0] == answers[1]


def spied(monkeypatch, name):
    """Note the files that a function is called on."""
    module, _, function = name.rpartition(".")
    original, called = getattr(sys.modules[module], function), []

    def noted(job, progress):
        called.append(job.counting.files[0])
        return original(job, progress)

    monkeypatch.setattr(name, noted)
    return called


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", 'text,label\n"ab"c,x\nd,y\n', "line 2: ',' expected after"),
        ("a.csv", "text,label\nab,x\nd\n", "line 3 has 1 fields"),
        ("a.csv", "text,label\nab,x\nd, \n", "line 3: the label in column `label` is missing"),
        ("a.csv", "text,text,label\na,b,x\n", "2 columns are called `text`"),
        ("a.jsonl", '{"text": "ab", "label": "x"}\n{"text": "c"\n', "line 2 is not JSON"),
        ("a.jsonl", '{"text": ["ab"], "label": "x"}\n', "holds a list, not text"),
    ],
)
def test_what_streams_cannot_read_is_told_by_line(folder, name, content, message):
    Path(name).write_text(content)
    assert message in run("select", name, status=2)


def test_without_arrow_rows_are_in_memory(folder, monkeypatch):
    pyarrow.csv.write_csv(pq.read_table("all.parquet"), "all.csv")
    streamed = spied(monkeypatch, "naively.jobs.select.select_streamed")
    monkeypatch.setattr("naively.jobs.route.find_spec", lambda name: None)
    run("select", "all.csv", "-k", 3)
    monkeypatch.undo()
    assert streamed == []


@pytest.mark.parametrize(
    "options",
    [["-k", "auto"], ["--model", "hybrid", "-k", 2]],
)
def test_what_needs_rows_has_them_in_memory(folder, monkeypatch, options):
    streamed = spied(monkeypatch, "naively.jobs.select.select_streamed")
    run("select", "all.parquet", *options)
    assert streamed == []


def assert_alike(first, second):
    """Assert that two documents are equal, numbers but for rounding."""
    if isinstance(first, dict):
        assert first.keys() == second.keys()
        first, second = list(first.values()), list(second.values())
    if isinstance(first, list):
        assert len(first) == len(second)
        for one, other in zip(first, second, strict=True):
            assert_alike(one, other)
    elif isinstance(first, float):
        assert second == pytest.approx(first, rel=1e-9)
    else:
        assert first == second


def test_solving_has_a_path(folder):
    run("count", "data/0.parquet", "-o", "records")
    run("merge", "records", "-o", "stats.npz")
    run("solve", "stats.npz", "-k", 3, "-o", "solved")
    summary = json.loads((folder / "solved" / "summary.json").read_text())
    assert [point["k"] for point in summary["path"]["points"]] == [1, 2, 3, 4, 5, 6]
    assert summary["path"]["chosen"] == 3


def test_a_split_column_and_a_test_file(folder):
    texts, labels = zip(*rows(), strict=True)
    split = ["train" if i < 200 else "test" if i < 300 else "dev" for i in range(400)]
    pq.write_table(pa.table({"text": texts, "label": labels, "split": split}), "split.parquet")
    options = ["--engine", "local", "-k", 2]
    run("select", "split.parquet", *options, "--split-column", "split", "--out", "a")
    summary = json.loads((folder / "a" / "summary.json").read_text())
    assert summary["n_rows"] == 200
    assert summary["evaluation"]["test_rows"] == 100
    run("select", "data/0.parquet", *options, "--test", "data/1.parquet", "--out", "b")
    summary = json.loads((folder / "b" / "summary.json").read_text())
    assert summary["n_rows"] == summary["evaluation"]["test_rows"] == 100


def test_statistics_of_another_kind_are_refused(folder):
    run("count", "data/0.parquet", "-o", "records")
    run("merge", "records", "-o", "stats.npz")
    message = run("solve", "stats.npz", "-k", 3, "--model", "bernoulli", "-o", "a", status=2)
    assert "needs statistics counted with --presence" in message


def test_counting_again_changes_nothing_and_repeats_are_refused(folder):
    run("count", "data/0.parquet", "-o", "records")
    first = {path: path.read_bytes() for path in (folder / "records").iterdir()}
    run("count", "data/0.parquet", "-o", "records")
    assert {path: path.read_bytes() for path in (folder / "records").iterdir()} == first
    run("merge", "records", "-o", "one.npz")
    message = run("merge", "records", "one.npz", "-o", "two.npz", status=2)
    assert "counted once" in message
    assert not (folder / "two.npz").exists()


def test_other_settings_are_not_merged(folder):
    run("count", "data/0.parquet", "-o", "records")
    run("count", "data/1.parquet", "-o", "records", "--ngrams", "1,2")
    assert "ngram_range" in run("merge", "records", "-o", "two.npz", status=2)


def test_a_run_with_checkpoints_is_resumed(folder):
    for _ in range(2):
        run("select", "data/*.parquet", "-k", 2, "--checkpoint", "done", "--out", "r")
    assert len(list((folder / "done").iterdir())) == 2


def test_hashed_columns_and_matrices_are_solved_too(folder):
    run("count", "data/0.parquet", "data/1.parquet", "-o", "hashed", "--hash", 1024)
    run("merge", "hashed", "-o", "hashed.npz")
    run("solve", "hashed.npz", "-k", 3, "-o", "a")
    assert load_model("a/model.npz").text is None
    X = np.random.default_rng(0).integers(0, 5, (50, 8))
    np.savez("m.npz", X=X, y=np.arange(50) % 2)
    run("count", "m.npz", "-o", "numbers", "--label", "y")
    run("merge", "numbers", "-o", "numbers.npz")
    run("solve", "numbers.npz", "-k", 3, "-o", "b")
    assert "fewer than 100" in run("solve", "numbers.npz", "-o", "all")
    assert len(load_model("all/model.npz").names) == 8
    assert load_record("numbers.npz").counts.table.sum() == X.sum()


def test_presence_of_words_for_a_multinomial_model(folder):
    run("select", "all.parquet", "--binary", "-k", 3, "--holdout", 0, "--out", "memory")
    run("select", "data/*.parquet", "--binary", "-k", 3, "--holdout", 0, "--out", "stream")
    first, second = (load_model(f"{way}/model.npz") for way in ("memory", "stream"))
    assert first.names == second.names
    np.testing.assert_allclose(first.rule.weights, second.rule.weights, rtol=1e-12)


def test_streams_need_no_scikit_learn(folder):
    script = (
        "import sys; from naively.cli.scale import naively;"
        "naively(['select', 'data/*.parquet', '-k', '3', '--quiet'], standalone_mode=False);"
        "sys.exit('sklearn' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["select", "no/*.parquet"], "there is no such file"),
        (["select", "data/*.parquet", "--text", "words"], "no column `words`"),
        (["select", "data/*.parquet", "-k", "999"], "at most the number of features, 6; got 999"),
        (["select", "data/*.parquet", "--token-pattern", "x"], "Streams find words by"),
        (["select", "data/*.parquet", "--text", "a", "--text", "b"], "one column of text"),
        (["select", "data/*.parquet", "--min-count", "9999"], "no feature is counted 9,999 times"),
        (
            ["select", "data/*.parquet", "-k", 3, "--model", "hybrid"],
            "train multinomial and",
        ),
        (["merge", "data", "-o", "x.npz"], "holds no statistics"),
        (["select", "data/*.parquet", "--address", "tcp://x:1"], "add --engine dask or spark"),
        (
            ["select", "data/*.parquet", "--engine", "dask", "--address", "tcp://127.0.0.1:1"],
            "no scheduler answers there",
        ),
        (
            ["select", "data/*.parquet", "--engine", "dask", "--checkpoint", "x.npz"],
            "--checkpoint is of this machine only",
        ),
        (
            ["count", "all.parquet", "-o", "x.npz", "--resolution", 0.5],
            "--resolution is of numbers (--numbers) only",
        ),
        (
            ["count", "all.parquet", "--numbers", "-o", "x.npz", "--hash", 8],
            "--hash is of text only",
        ),
        (["solve", "no.npz", "-k", 3], "no.npz: No such file or directory; check name"),
        (["solve", "data", "-k", 3], "data: is a folder; add its records with `naively merge"),
        (["merge", "all.parquet", "-o", "x.npz"], "no statistics file of naively"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_sentence(folder, arguments, message):
    assert message in run(*arguments, status=2)
    assert not (folder / "x.npz").exists()
    assert not (folder / "result").exists()


@pytest.mark.parametrize(
    ("encoding", "separator", "options"),
    [
        ("latin-1", ",", ["--encoding", "latin-1"]),
        ("utf-16", ";", ["--encoding", "utf-16", "--delimiter", ";"]),
        ("utf-8", "\t", ["--format", "tsv", "--no-quotes"]),
    ],
)
def test_a_table_of_any_style_gives_the_same_result(folder, encoding, separator, options):
    lines = [separator.join(("text", "label"))]
    lines += [separator.join((f"{text} café", label)) for text, label in rows()]
    (folder / "a.csv").write_text("\n".join(lines) + "\n", encoding)
    for out, more in (("memory", []), ("stream", ["--engine", "local"])):
        run("select", "a.csv", "-k", 3, "-q", "--holdout", 0, *options, *more, "--out", out)
    first, second = (json.loads((folder / out / "summary.json").read_text()) for out in OUTS)
    assert first["classes"] == second["classes"]
    assert first["features"] == second["features"]


OUTS = ("memory", "stream")


def test_a_table_of_numbers_gives_the_same_result(folder):
    rng = np.random.default_rng(0)
    lines = ["u,v,w,label"]
    lines += [",".join([*map(str, rng.poisson([3, 1 + i % 2, 2])), "ab"[i % 2]]) for i in range(99)]
    (folder / "a.csv").write_text("\n".join(lines))
    for out, more in (("memory", []), ("stream", ["--engine", "local"])):
        run("select", "a.csv", "--numbers", "-k", 2, "-q", "--holdout", 0, *more, "--out", out)
    first, second = (json.loads((folder / out / "summary.json").read_text()) for out in OUTS)
    assert first["features"] == second["features"]


@pytest.mark.parametrize(
    "option", [["--labels", "y"], ["--names", "n"], ["--transpose"], ["--ignore", "x"]]
)
def test_options_that_streams_do_not_know_are_refused(folder, option):
    message = run("select", "data/*.parquet", *option, status=2)
    assert f"streams do not know {option[0]}; leave out --engine" in message


def test_a_shard_changed_in_its_middle_is_counted_again(folder, monkeypatch):
    monkeypatch.setattr("naively.scale.sources._DIGEST_BYTES", 50)
    lines = [json.dumps({"text": text, "label": label}) for text, label in rows()]
    for labels in ("pos", "neg"):
        lines[200:202] = [json.dumps({"text": "film", "label": labels})] * 2
        (folder / "a.jsonl").write_text("\n".join(lines) + "\n")
        assert "1 records" in run("count", "a.jsonl", "-o", "counted", "-q")
        (record,) = (folder / "counted").iterdir()
        counts = load_record(record).counts
        assert dict(zip(counts.classes.tolist(), counts.class_rows.tolist(), strict=True)) == {
            "pos": 199 + 2 * (labels == "pos"),
            "neg": 199 + 2 * (labels == "neg"),
        }


def test_where_nothing_can_be_written_is_named(folder):
    (folder / "work").write_text("")
    message = run("select", "data/*.parquet", "-k", 3, "-q", "--checkpoint", "work", status=2)
    assert "work: cannot be written" in message
    assert not (folder / "result").exists()


@pytest.mark.parametrize("name", ["t.parquet", "t.jsonl"])
def test_lists_of_strings_are_counted_as_they_stand(folder, monkeypatch, name):
    found = [(text.title().split(), label) for text, label in rows()]
    found[7] = ([], "neg")
    table = pa.table(dict(zip(("text", "label"), zip(*found, strict=True), strict=True)))
    if name == "t.parquet":
        pq.write_table(table, name, row_group_size=90)
    else:
        Path(name).write_text("\n".join(map(json.dumps, table.to_pylist())))
    options = ["select", name, "--analyzer", "tokens", "--stop-words", "stop.txt", "-k", 3]
    Path("stop.txt").write_text("Film\n")
    streamed = spied(monkeypatch, "naively.jobs.select.select_streamed")
    run(*options, "--out", "stream")
    assert streamed == [name]
    monkeypatch.setattr("naively.jobs.select.streamed_job", lambda job: None)
    run(*options, "--out", "memory")
    first, second = (
        json.loads((folder / way / "summary.json").read_text()) for way in ("memory", "stream")
    )
    del first["settings"]["command"], second["settings"]["command"]
    assert_alike(first, second)
    assert first["settings"]["features"] == "occurrences (tokens)"
    assert {row["name"] for row in first["features"]} <= {"Great", "Lovely", "Awful", "Boring"}
    assert first["features"][0]["example"]["hit"] == first["features"][0]["name"]
    assert run("predict", "memory/model.npz", name) == run("predict", "stream/model.npz", name)
    assert "Awful" in run("explain", "stream/model.npz", "Awful Boring The")
    run("count", name, "-o", "records", "--analyzer", "tokens", "--stop-words", "stop.txt")
    assert "Film" not in list(load_record(next((folder / "records").iterdir())).names)
    assert "not a list" in run("select", "all.parquet", "--analyzer", "tokens", status=2)


def test_files_without_header_quotes_or_utf8_are_counted_too(folder):
    lines = [f'{label}|"{text} é' for text, label in rows(40)]
    Path("odd.txt").write_text("\n".join(lines), "latin-1")
    options = ["--format", "csv", "--delimiter", "|", "--no-header", "--no-quotes"]
    options += ["--encoding", "latin-1", "--text", 2, "--label", 1]
    run("count", "odd.txt", "-o", "records", *options, "--ngrams", 1)
    record = load_record(next((folder / "records").iterdir()))
    assert record.n_rows == 40
    assert "great" in list(record.names)
    run("select", "odd.txt", *options, "-k", 2)
    assert "mtx are not read in streams" in run(
        "count", "odd.txt", "-o", "r", "--format", "mtx", status=2
    )


def test_a_split_column_of_other_words_is_named_with_its_place(folder):
    lines = [
        json.dumps({"text": t, "label": y, "part": "ab"[i % 2]}) for i, (t, y) in enumerate(rows())
    ]
    (folder / "a.jsonl").write_text("\n".join(lines))
    message = run(
        "select", "a.jsonl", "--engine", "local", "--split-column", "part", "-q", status=2
    )
    assert "a.jsonl" in message
    assert "the split column must hold train and test" in message


def test_a_shard_under_two_names_is_one_record(folder):
    assert "1 records" in run("count", "data/0.parquet", "./data/0.parquet", "-o", "counted", "-q")
