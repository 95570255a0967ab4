"""How the command is told what to do: options, tables, files of settings; nothing is silent."""

import json
import shlex
import shutil
import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from click.testing import CliRunner
from hypothesis import given, strategies as st
from sklearn.datasets import dump_svmlight_file

from naively.cli.commands import naively
from naively.cli.keys import Keyed
from naively.cli.values import Where
from naively.jobs.repeat import command_line, toml_of

COMMANDS = ["count", "cv", "demo", "explain", "predict", "select"]


def run(*arguments, status=0):
    result = CliRunner().invoke(naively, [str(each) for each in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == status, result.output
    return result


def options_of(command):
    return [each for each in naively.commands[command].params if each.param_type_name == "option"]


def test_six_commands_with_few_options(capsys):
    slots = {name: len(options_of(name)) for name in naively.commands}
    assert sorted(slots) == COMMANDS
    assert max(slots.values()) <= 20
    assert sum(slots.values()) <= 70
    with capsys.disabled():
        print(f" {len(slots)} commands, {sum(slots.values())} options {slots} ", end="")  # noqa: T201


@pytest.mark.parametrize("command", COMMANDS)
def test_help_shows_groups_and_an_example_that_can_be_given(command):
    shown = run(command, "--help").stdout
    (example,) = (
        line.strip() for line in shown.split("Example:\n")[1].splitlines() if line.strip()
    )
    assert example.startswith(f"naively {command}")
    for heading in naively.commands[command].groups:
        assert not heading or f"\n{heading}:\n" in shown
    for option in options_of(command):
        assert option.opts[0] in shown
        if isinstance(option.type, Keyed):
            told = run(command, option.opts[0], "help").stdout
            for key in option.type.keys.values():
                assert f"  {key.form}" in told
                assert key.name in shown  # no line ends within a name
                assert key.help in " ".join(told.split())


# Nothing is silent -------------------------------------------------------------------------------

TEXTS = ["good film w", "bad film v", "good plot x", "dull plot v", "good end new", "bad end new"]
BESIDE = ("who", "fold", "day", "w")  # columns beside the features
KINDS = {  # what is read, and how
    "text": ("t.csv", ()),
    "numbers": ("n.csv", ("--read=numbers", *(f"--read=ignore={name}" for name in BESIDE))),
    "mixed": (
        "n.csv",
        (
            "--model=mixed",
            "--read=kind=e=categorical",
            *(f"--read=ignore={name}" for name in BESIDE),
        ),
    ),
    "xlsx": ("t.xlsx", ()),
    "svmlight": ("m.svmlight", ()),
    "npz": ("m.npz", ()),
    "h5ad": ("m.h5ad", ()),
    "records": ("records", ()),
    "class-rows": ("counts.csv", ("--read=class-rows=rows.csv",)),
}
VALUES = {
    "--text": "more", "--label": "who", "--id": "who", "--model": "bernoulli", "-k": 3,
    "--test": 0.5,
    "--markers": 2, "--quick": None, "--on": "tcp://127.0.0.1:1", "--checkpoint": "n.csv/x",
    "--config": "seed.toml", "--out": "other", "--json": None,
    "read": {
        "format": "mtx", "delimiter": ";", "quotes": "false", "header": "false",
        "encoding": "utf-16", "layer": "other", "names": "other.names", "labels": "other.labels",
        "numbers": "true", "transpose": "true", "ignore": "c", "missing": "ignore",
        "exposure": "a", "groups": "who", "split": "fold", "test-labels": "other.labels",
        "sheet": "other", "normalize": "median", "log1p": "true", "kind": "b=poisson",
        "time": "day", "class-rows": "more.csv", "weight": "w",
    },
    "words": {
        "text-like": "tweets", "analyzer": "char", "ngrams": "2", "stop-words": "english",
        "token-pattern": "[a-z]+", "min-count": "70", "min-documents": "40", "weights": "log",
        "norm": "l2",
    },
    "choose": {
        "objective": "pairs", "exponent": "0.5", "redundancy": "conditional", "candidates": "3",
        "require": "*e*", "exclude": "*e*", "groups": "groups.csv", "costs": "costs.csv",
        "budget": "2", "quota": "even", "class-weight": "balanced", "exact": "true",
        "time-limit": "9", "q": "0.2", "stable": "0.99",
    },
    "train": {
        "alpha": "0.3", "scale": "std", "refit": "logistic", "calibration": "cross-fitted",
        "correction": "bic", "variance": "shared", "prior": "uniform", "penalty": "2",
        "normalize": "false", "fit-intercept": "false", "leave-one-out": "false",
    },
    "judge": {
        "scoring": "f1_macro", "repeats": "3", "seed": "5", "precision": "p=0.7", "recall": "p=0.7",
        "stability": "true",
    },
}  # fmt: skip
HARMLESS = ("--force", "--quiet")
BARE = tuple(f"--read=ignore={name}" for name in BESIDE)
BESIDES = {  # what has an effect only where something else is asked, or on another file: that
    # file and what is asked of it, and the value
    "judge scoring": ("plain.csv --read numbers -k auto", "f1_macro"),
    "judge repeats": ("plain.csv --read numbers -k auto", "3"),
    "choose q": ("plain.csv --read numbers -k fdr", "0.2"),
    "choose exponent": ("t.csv -k 2 --choose objective=pairs", "0.5"),
    "choose candidates": ("t.csv -k 2 --choose redundancy=conditional", "3"),
    "read format": ("t.dat -k 2", "csv"),
    "read delimiter": ("caret.csv -k 2", "^"),
    "read quotes": ("quotes.csv -k 2", "false"),
    "read header": ("bare.csv -k 2 --text 1 --label 2", "false"),
    "read sheet": ("sheets.xlsx -k 2", "two"),
    "read encoding": ("wide.csv -k 2", "utf-16-le"),
    "read numbers": ("plain.csv -k 2", "true"),
    "read transpose": ("turned.csv -k 2 --read numbers --read labels=turned.labels", "true"),
    "read missing": ("gaps.csv -k 2 --model gaussian", "ignore"),
    "read exposure": ("weighed.csv -k 2 --model poisson --read numbers", "w"),
    "read weight": ("weighed.csv -k 2 --read numbers", "w"),
    "read test-labels": ("m.npz -k 2 --test m.npz", "other.labels"),
    "read class-rows": ("counts.csv -k 2", "more.csv"),
    "words min-documents": ("t.csv -k 2", "12"),
    "train scale": ("plain.csv -k 2 --model l2-centers", "std"),
    "train penalty": ("t.csv -k 2 --model hybrid --text text --text more", "2"),
    "train fit-intercept": ("t.csv -k 2 --model hybrid --text text --text more", "false"),
    "train leave-one-out": ("t.csv -k 2 --model hybrid --text text --text more", "false"),
    "choose costs": ("plain.csv -k 2 --read numbers --choose budget=2", "costs.csv"),
    "choose budget": ("plain.csv -k 2 --read numbers --choose costs=costs.csv", "1"),
    "train normalize": ("t.csv -k 2 --model hybrid --text text --text more", "false"),
    "choose groups": ("plain.csv -k 1 --read numbers", "pair.csv"),
}  # fmt: skip

ALONE = {  # what every kind of input refuses here, and where it is seen to have an effect
    "--on": "test_work_addresses.py", "--checkpoint": "test_faults.py",
    "choose time-limit": "test_exact.py",
}  # fmt: skip


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Every kind of input of the same few rows."""
    folder = tmp_path_factory.mktemp("files")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        rng = np.random.default_rng(0)
        n = 48
        y = np.array(["p", "q", "q"] * (n // 3))
        X = rng.poisson(np.where(y[:, None] == "p", [1, 4, 2, 3, 1], [4, 1, 2, 2, 2]))
        who, fold = [f"w{i % 8}" for i in range(n)], ["train", "train", "train", "test"] * (n // 4)
        texts = [TEXTS[(2 * rng.integers(3) + (c == "q")) % 6] for c in y]
        more = [f"{TEXTS[i % 6]} m{i % 5}" for i in range(n)]
        columns = {"who": who, "fold": fold, "day": rng.permutation(n), "w": np.arange(n) % 3}
        beside = {"label": y, **columns}
        pd.DataFrame({"text": texts, "more": more, **beside}).to_csv(
            "t.csv", index=False, quoting=2
        )
        pd.read_csv("t.csv").to_excel("t.xlsx", index=False)
        numbers = pd.DataFrame(X, columns=[*"abcd", "e"]).assign(**beside)
        numbers.to_csv("n.csv", index=False, quoting=2)
        dump_svmlight_file(sp.csr_array(X), (y == "p").astype(int), "m.svmlight")
        np.savez("m.npz", X=X, y=y, feature_names=[*"abcde"], **columns)
        _write_h5ad(X, y, columns)
        Path("other.names").write_text("v\nw\nx\ny\nz\n")
        Path("other.labels").write_text("".join(f"{'st'[i % 2]}\n" for i in range(n)))
        long = numbers.melt("label", [*"abcde"], "feature", "count")
        long.groupby(["label", "feature"], as_index=False).sum().to_csv("counts.csv", index=False)
        Path("rows.csv").write_text("label,rows\np,16\nq,32\n")
        Path("more.csv").write_text("label,rows\np,60\nq,90\n")
        Path("groups.csv").write_text("*,one\n")
        Path("costs.csv").write_text("*,1\n")
        run("count", "t.csv", "-o", "records", "-q")
        _write_others(numbers[[*"abcde", "label", "day", "w"]])
    return folder


def _write_others(numbers):
    """Files that need an option, or on which one has an effect."""
    shutil.copy("t.csv", "t.dat")
    rows = [(text, "qp"[i % 2]) for i, text in enumerate(TEXTS * 8)]
    texts = pd.DataFrame(rows, columns=["text", "label"])
    texts.to_csv("caret.csv", index=False, sep="^")
    texts.to_csv("wide.csv", index=False, encoding="utf-16-le")
    texts.to_csv("bare.csv", index=False, header=False)
    Path("quotes.csv").write_text("text,label\n" + "".join(f'"{t},{y}\n' for t, y in rows))
    with pd.ExcelWriter("sheets.xlsx") as book:
        texts.to_excel(book, sheet_name="one", index=False)
        texts[::-1].to_excel(book, sheet_name="two", index=False)
    features = numbers.drop(columns=["label", "day", "w"])
    plain = features.assign(label=numbers["label"])
    plain.to_csv("plain.csv", index=False)
    plain.mask(plain == 1).to_csv("gaps.csv", index=False)
    plain.assign(w=numbers["w"] + 1).to_csv("weighed.csv", index=False)
    plain.assign(day=numbers["day"]).to_csv("timed.csv", index=False)
    features.set_axis([f"s{i}" for i in range(len(plain))]).T.to_csv("turned.csv")
    Path("turned.labels").write_text("\n".join(numbers["label"]))
    np.savez("bare.npz", X=features.to_numpy())
    Path("own.names").write_text("\n".join("abcde"))
    spoken = pd.DataFrame({f"f{j}": 9 * (plain["label"] == "p") + j for j in range(3)})
    spoken["g"] = (plain["label"] == "q").astype(int)
    spoken.assign(label=plain["label"]).to_csv("spoken.csv", index=False)
    Path("pair.csv").write_text("a,one\nb,one\n")
    Path("seed.toml").write_text("[judge]\nseed = 5\n")
    Path("pairs.toml").write_text("[words]\nngrams = 2\n")


def _write_h5ad(X, y, columns):
    anndata = pytest.importorskip("anndata")
    obs = pd.DataFrame({"label": y, **columns})
    obs.index = [f"c{i}" for i in range(len(y))]
    found = anndata.AnnData(
        X.astype(float),
        obs=obs,
        var=pd.DataFrame(index=[*"abcde"]),
        layers={"other": X[::-1] * 2.0},
    )
    found.write_h5ad("m.h5ad")


def outcome(*arguments):
    """What a run leaves, but for how it was asked; a refusal is another outcome."""
    shutil.rmtree("result", ignore_errors=True)
    result = CliRunner().invoke(naively, ["select", *map(str, arguments), "-q"])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    if result.exit_code:
        assert result.exit_code == 2
        return "refused", result.stderr
    if not Path("result").exists():
        return "elsewhere", ""
    summary = json.loads(Path("result/summary.json").read_text())
    del summary["settings"]["command"]
    return result.stdout, json.dumps(summary), Path("result/model.npz").read_bytes()


def given_options():
    """Every option and key of `select`, with a value that is not its default."""
    for option in options_of("select"):
        name = max(option.opts, key=len)
        if isinstance(option.type, Keyed):
            yield from ((name, key) for key in option.type.keys)
        elif name not in HARMLESS:
            yield name, None


def named(option, key):
    return option if key is None else f"{option[2:]} {key}"


@pytest.fixture(scope="module")
def plain(files):
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(files)
        return {kind: outcome(file, *how, "-k", 2) for kind, (file, how) in KINDS.items()}


@pytest.mark.parametrize(("option", "key"), list(given_options()))
def test_all_has_an_effect_or_is_refused_on_every_kind_of_input(
    files, plain, monkeypatch, option, key
):
    monkeypatch.chdir(files)
    value = VALUES[option] if key is None else VALUES[option[2:]][key]
    asked = tuple(each for each in (option, key and f"{key}={value}" or value) if each is not None)
    silent, refused = [], []
    for kind, (file, how) in KINDS.items():
        assert plain[kind][0] != "refused"
        apart = f"--read=ignore={value}" if key else ""  # a column is named once
        how = [] if key == "numbers" else [one for one in how if one != apart]
        found = outcome(file, *how, *(() if option == "-k" else ("-k", 2)), *asked)
        silent += [kind] * (found == plain[kind])
        refused += [kind] * (found[0] == "refused")
    assert silent == []
    assert len(refused) < len(KINDS) or named(option, key) in (*BESIDES, *ALONE)


# The same of the other commands ------------------------------------------------------------------

NO_ROWS = ("records", "class-rows")  # of which other commands than `select` know nothing
OTHERS = {  # values of what `select` does not have, or has with another meaning
    "predict": {
        "--truth": "label", "--probabilities": None, "--margin": None, "--threshold": "p=99",
        "--out": "written.csv",
    },
    "explain": {
        "--file": "other.names", "--row": 2, "-n": 1, "--report": "md", "--out": "written.csv",
    },
    "cv": {
        "--ks": 2, "--folds": 3, "--against": "logistic", "--out": "written.csv",
        "words text-like": "cjk", "words stop-words": "stop.txt", "words min-count": "110",
        "words weights": "tfidf", "choose exclude": "*[eo]*", "choose quota": "2",
        "--config": "pairs.toml",
    },
    "count": {
        "--out": "written.stats", "read resolution": "0.3", "--model": "negative-binomial",
        "--config": "pairs.toml", "--id": "e",
    },
}  # fmt: skip


def options_given(command):
    """Every option and key of a command."""
    for option in options_of(command):
        name = max(option.opts, key=len)
        if isinstance(option.type, Keyed):
            yield from ((command, name, key) for key in option.type.keys)
        elif name not in HARMLESS:
            yield command, name, None


def bases(command):
    """How a command is run on every kind of input: by option, or option and key."""
    for kind, (file, how) in KINDS.items():
        if kind in NO_ROWS or (command == "count" and kind == "mixed"):
            continue
        if command == "predict":
            yield kind, [f"models/{kind}/model.npz", file], []
        elif command == "explain":
            yield kind, [f"models/{kind}/model.npz"], [f"--file={file}", "--row=4"]
        elif command == "cv":
            more = [
                "--ks=2,3",
                "--folds=2",
                "--judge=repeats=1",
                "--judge=scoring=neg_log_loss",
                "--json",
            ]
            yield kind, [file], [*how, *more]
        else:
            yield kind, [file], [*how, "--out=counted.npz"]
    if command == "explain":
        yield "a text", ["models/text/model.npz", "good film"], []


def what_is_left(command, *arguments):
    """What a command prints and writes; a refusal is another outcome."""
    written = [Path(each) for each in ("written.csv", "written.stats", "counted.npz")]
    for each in written:
        each.unlink(missing_ok=True)
    result = CliRunner().invoke(naively, [command, *map(str, arguments)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    if result.exit_code:
        assert result.exit_code == 2
        assert result.stderr.startswith("naively: ")
        assert result.stderr.count("\n") == 1
        return "refused", result.stderr
    files = [each.read_bytes() for each in written if each.exists()]
    return ("done", result.stdout, result.stderr, files)


@pytest.fixture(scope="module")
def models(files):
    """A model of every kind of input."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(files)
        Path("models").mkdir()
        Path("stop.txt").write_text("good\nbad\n")
        for kind, (file, how) in KINDS.items():
            if kind not in NO_ROWS:
                run("select", file, *how, "-k", "all", "--out", f"models/{kind}", "-q", "--quick")


@pytest.mark.parametrize(
    ("command", "option", "key"),
    [each for command in OTHERS for each in options_given(command)],
)
@pytest.mark.usefixtures("models")
def test_all_has_an_effect_or_is_refused_in_other_commands(
    files, monkeypatch, command, option, key
):
    monkeypatch.chdir(files)
    own, name = OTHERS[command], named(option, key)
    value = own[name] if name in own else VALUES[option] if key is None else VALUES[option[2:]][key]
    asked = option if value is None else f"{option}={f'{key}=' if key else ''}{value}"
    asked = f"-n{value}" if option == "-n" else asked
    silent, done = [], []
    for kind, sources, how in bases(command):
        how = [each for each in how if each != asked]  # a flag
        plain = what_is_left(command, *sources, *how)
        assert plain[0] == "done", kind
        apart = {f"--read=ignore={value}"} if key else set()  # a column is named once
        apart |= {each for each in how if each.startswith(f"{option}={key}=" if key else option)}
        others = [each for each in how if each not in apart or key == "ignore"]
        found = what_is_left(command, *sources, *others, asked)
        silent += [kind] * (found == plain)
        done += [kind] * (found[0] == "done")
    assert silent == []
    assert done or name in (*BESIDES, *ALONE) or (command, name) in BESIDES_OF_OTHERS


@pytest.mark.parametrize("key", BESIDES)
def test_what_needs_another_setting_or_file_has_an_effect_there(files, monkeypatch, key):
    monkeypatch.chdir(files)
    beside, value = BESIDES[key]
    table, _, name = key.partition(" ")
    found = outcome(*shlex.split(beside), f"--{table}", f"{name}={value}")
    assert found[0] != "refused", found[1]
    assert found != outcome(*shlex.split(beside))


BESIDES_OF_OTHERS = {  # the same of other commands
    ("count", "--id"): ("weighed.csv --read numbers --out=counted.npz", "--id=w"),
    ("count", "read normalize"): ("m.npz --out=counted.npz", "--read=normalize=100"),
    ("explain", "--file"): ("models/text/model.npz --row=4", "--file=t.csv"),
    ("explain", "--report"): ("models/text", "--report=md"),
    ("explain", "--out"): ("models/text --report=md", "--out=written.csv"),
    ("explain", "read names"): (
        "models/npz/model.npz --file=bare.npz --row=4", "--read=names=own.names"
    ),
    ("predict", "read names"): ("models/npz/model.npz bare.npz", "--read=names=own.names"),
    ("cv", "read time"): ("timed.csv --read numbers --ks=2,3 --folds=2", "--read=time=day"),
    ("cv", "words min-count"): (
        "plain.csv --read numbers --ks=1 --folds=2", "--words=min-count=99"
    ),
    ("cv", "choose quota"): (
        "spoken.csv --read numbers --model poisson --ks=2 --folds=2", "--choose=quota=1"
    ),
}  # fmt: skip


@pytest.mark.parametrize(("command", "name"), BESIDES_OF_OTHERS)
@pytest.mark.usefixtures("models")
def test_what_needs_another_setting_or_file_has_an_effect_in_other_commands(
    files, monkeypatch, command, name
):
    monkeypatch.chdir(files)
    beside, asked = BESIDES_OF_OTHERS[command, name]
    found = what_is_left(command, *shlex.split(beside), asked)
    assert found[0] == "done", found[1]
    assert found != what_is_left(command, *shlex.split(beside))


# Files of settings -------------------------------------------------------------------------------


def test_a_run_is_repeated_by_its_settings_and_by_its_command(files, monkeypatch, tmp_path):
    monkeypatch.chdir(files)
    asked = ("-k", 3, "--words", "ngrams=1,2", "--words", "stop-words=english", "--test", 0.25,
             "--judge", "seed=3", "--judge", "precision=p=0.7", "--choose", "exclude=pl*",
             "--choose", "exclude=ne*", "--text", "text", "--text", "more", "--on", 2)  # fmt: skip
    run("select", "t.csv", *asked, "-q")
    first = {path.name: path.read_bytes() for path in Path("result").iterdir()}
    shutil.copy("result/run.toml", tmp_path / "run.toml")
    run("select", "--config", tmp_path / "run.toml", "--force", "--json")
    assert {path.name: path.read_bytes() for path in Path("result").iterdir()} == first
    command = json.loads(first["summary.json"])["settings"]["command"]
    command = shlex.split(command)
    assert command[:3] == ["naively", "select", "t.csv"]
    run(*command[1:])
    assert {path.name: path.read_bytes() for path in Path("result").iterdir()} == first
    said = tomllib.loads(first["run.toml"].decode())
    assert said["file"] == "t.csv"
    assert said["words"] == {"ngrams": "1,2", "stop-words": "english"}
    assert said["choose"] == {"exclude": ["pl*", "ne*"]}
    assert said["on"] == 2


@pytest.mark.parametrize(
    "text", ["4", "dask", "dask:3", "spark", "spark:2", "tcp://h:1", "spark://h:7077", "sc://h"]
)
def test_where_a_run_was_is_written_as_it_is_given(text):
    (option,) = (each for each in options_of("select") if "--on" in each.opts)
    found = option.type.convert(text, None, None)
    assert str(found) == text


def test_the_command_line_goes_before_the_file(files, monkeypatch, tmp_path):
    monkeypatch.chdir(files)
    config = tmp_path / "a.toml"
    config.write_text('k = 2\ntext = ["text"]\n[words]\nngrams = [1, 2]\nmin-count = 2\n')
    run("select", "t.csv", "-k", 2, "--words", "ngrams=2", "--words", "min-count=2", "-q")
    wanted = Path("result/features.csv").read_bytes()
    run("select", "t.csv", "--config", config, "--words", "ngrams=2", "-q")
    assert Path("result/features.csv").read_bytes() == wanted
    run("select", "--words", "ngrams=2", "--config", config, "t.csv", "-k", 1, "-q")
    assert len(Path("result/features.csv").read_text().splitlines()) == 2
    config.write_text('model = ["bernoulli", "poisson"]\nks = "1-3"\n[train]\nalpha = [0.1, 1]\n')
    table = json.loads(run("cv", "t.csv", "--config", config, "--json", "-q").stdout)
    found = {(point["model"], point["alpha"]) for point in table["points"]}
    assert found == {(model, alpha) for model in ("bernoulli", "poisson") for alpha in (0.1, 1)}
    config.write_text('text = "text"\nout = "counted"\n[words]\nngrams = 2\n')
    assert "counted" in run("count", "t.csv", "--config", config).stdout


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("modle = 'poisson'\n", "select has no setting 'modle'; did you mean `model`?"),
        ("[words]\nngram = 2\n", "there is no 'ngram' here; did you mean `ngrams`?"),
        ("[words]\nngrams = 'x'\n", "'--words ngrams': 'x' is not a size"),
        ("[word]\nngrams = 2\n", "no setting 'word'; did you mean `words`?"),
        ("words = 2\n", "'words' is a table."),
        ("[k]\nk = 2\n", "'k' is no table."),
        ("k = many\n", "this is no TOML"),
        ("k = 'many'\n", "is not a number of features"),
        ("folds = 3\n", "select has no setting 'folds'"),
    ],
)
def test_a_mistake_in_a_file_of_settings_is_told(files, monkeypatch, tmp_path, text, told):
    monkeypatch.chdir(files)
    (tmp_path / "a.toml").write_text(text)
    assert told in run("select", "t.csv", "--config", tmp_path / "a.toml", status=2).stderr
    assert "no such file" in run("select", "t.csv", "--config", "no.toml", status=2).stderr


TEXT = st.text(st.characters(codec="utf-8"), max_size=8) | st.integers().map(str)
NAMES = st.sampled_from(["text", "label", "k", "out-put"])
TABLE = st.dictionaries(NAMES, TEXT | st.lists(TEXT, min_size=1), max_size=3)


@given(TABLE, TABLE)
def test_settings_are_read_as_they_are_written(top, table):
    def texts(value):
        if isinstance(value, list):
            return [texts(each) for each in value]
        return str(value).lower() if isinstance(value, bool) else str(value)

    said = tomllib.loads(toml_of({**top, "words": table}))
    found = said.pop("words")
    assert {name: texts(value) for name, value in said.items()} == top
    assert {name: texts(value) for name, value in found.items()} == table


def test_the_command_that_repeats_is_quoted():
    settings = {"file": "a b.csv", "k": 3, "quick": True, "words": {"require": ["x y", "z"]}}
    assert command_line(settings) == (
        "naively select 'a b.csv' -k 3 --quick --words 'require=x y' --words require=z"
    )


@pytest.mark.parametrize(
    ("text", "name", "address", "jobs"),
    [
        ("4", "local", None, 4),
        ("dask", "dask", None, None),
        ("dask:3", "dask", None, 3),
        ("tcp://h:1", "dask", "tcp://h:1", None),
        ("spark", "spark", None, None),
        ("spark:2", "spark", None, 2),
        ("spark://h:1", "spark", "spark://h:1", None),
        ("sc://h", "spark", "sc://h", None),
        ("yarn", "spark", "yarn", None),
        ("local[2,4]", "spark", "local[2,4]", None),
    ],
)
def test_where_it_runs(text, name, address, jobs):
    found = Where().convert(text, None, None)
    assert (found.name, found.address, found.jobs) == (name, address, jobs)


@pytest.mark.parametrize("text", ["0", "-1", "dusk", "dask:", "4x", "tcp:h", "nan"])
def test_where_nothing_runs(text):
    assert "is not a number of workers" in run("select", "a", "--on", text, status=2).stderr


def test_shells_complete_keys_and_choices():
    (words,) = (each for each in options_of("select") if each.name == "words")
    for typed, wanted in (
        ("min", ["min-count=", "min-documents="]),
        ("weights=l", ["weights=log"]),
    ):
        assert [each.value for each in words.type.shell_complete(None, words, typed)] == wanted


# Records -----------------------------------------------------------------------------------------


def test_records_and_files_are_added_and_selected_from(files, monkeypatch):
    monkeypatch.chdir(files)
    rows = pd.read_csv("t.csv")
    for i in range(3):
        rows[i::3].to_csv(f"part-{i}.csv", index=False)
    run("select", "part-?.csv", "-k", 4, "--test", 0, "-q")
    wanted = {name: Path("result", name).read_bytes() for name in ("features.csv", "model.npz")}
    run("count", "part-0.csv", "part-1.csv", "-o", "some", "-q")
    run("count", "some", "-o", "two.npz", "-q")
    run("count", "part-2.csv", "-o", "last.npz", "-q")
    run("count", "some", "part-2.csv", "-o", "all.stats", "-q")  # a folder and a file
    run("count", "two.npz", "last.npz", "-o", "both.npz", "-q")
    run("count", "some", "part-?.csv", "-o", "again.npz", "-q")  # two need not be counted again
    run("count", "part-2.csv", "-o", "some", "-q")
    for source in ("all.stats", "both.npz", "again.npz", "some"):
        run("select", source, "-k", 4, "--out", "solved", "-q")
        for name, content in wanted.items():
            assert Path("solved", name).read_bytes() == content
    assert "`--out` must end in" in run("count", "some", "-o", "folder", status=2).stderr
    told = run("count", "some", "-o", "x.npz", "--words", "ngrams=2", status=2).stderr
    assert "--words ngrams has no effect on records" in told


@pytest.mark.parametrize(
    ("option", "way"),
    [
        ("--ngrams", "--words ngrams="),
        ("--groups", "--read groups=NAME or --choose groups=FILE"),
        ("--holdout", "--test 0.2"),
        ("--transpose", "--read transpose=true"),
    ],
)
def test_a_key_given_as_an_option_is_told_where_it_stands(option, way):
    result = CliRunner().invoke(naively, ["select", "a.csv", option, "1"])
    assert result.exit_code == 2
    assert f"No such option '{option}'; write {way}" in " ".join(result.output.split())
