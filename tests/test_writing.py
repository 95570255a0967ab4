"""Results that replace others: whose they are, what a killed run leaves, and two runs at once."""

import json
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from naively.cli.commands import echo_json, naively
from naively.read.errors import OutputError
from naively.work.writing import atomic_directory, atomic_file, reserved_directory

NAMES = ("a.txt", "b.txt")
POSIX = pytest.mark.skipif(os.name != "posix", reason="modes and owners of POSIX")
ROOT = pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="root alone gives away")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(text, out="result", force=False):
    with (
        reserved_directory(out, NAMES, force=force),
        atomic_directory(out, NAMES, force=force) as to,
    ):
        for name in NAMES:
            (to / name).write_text(text)


def content(out="result"):
    return {each.name: each.read_text() for each in Path(out).iterdir()}


def result(text):
    return dict.fromkeys(NAMES, text)


def mode(path):
    return stat.S_IMODE(os.stat(path).st_mode)


@POSIX
@pytest.mark.parametrize("others", [False, True])
def test_modes_are_kept(others):
    write("old")
    if others:
        Path("result/mine.txt").write_text("mine")
    os.chmod("result", 0o2700)
    os.chmod("result/a.txt", 0o600)
    write("new", force=True)
    assert content() == result("new") | ({"mine.txt": "mine"} if others else {})
    assert (mode("result"), mode("result/a.txt"), mode("result/b.txt")) == (0o2700, 0o600, 0o644)


@ROOT
def test_owners_are_kept():
    write("old")
    Path("one.txt").write_text("old")
    for path in ("result", "result/a.txt", "one.txt"):
        os.chown(path, 1234, 2345)
    write("new")
    with atomic_file("one.txt") as file:
        file.write(b"new")
    for path in ("result", "result/a.txt", "one.txt"):
        assert (os.stat(path).st_uid, os.stat(path).st_gid) == (1234, 2345)
    assert (os.stat("result/b.txt").st_uid, content()) == (0, result("new"))


@POSIX
def test_modes_of_single_files_are_kept():
    Path("one.txt").write_text("old")
    os.chmod("one.txt", 0o600)
    for name in ("one.txt", "new.txt"):
        with atomic_file(name) as file:
            file.write(b"new")
    assert (mode("one.txt"), mode("new.txt")) == (0o600, 0o644)


@POSIX
def test_new_folders_inherit_the_group():
    os.mkdir("shared")
    os.chmod("shared", 0o2775)
    write("new", "shared/result")
    assert mode("shared/result") == 0o2755


KILLED = """
import os, signal
from pathlib import Path
from naively.work import writing

def killing(owner, name, at):
    then, calls = getattr(owner, name), []
    def call(*args, **kwargs):
        calls.append(1)
        if len(calls) == at:
            os.kill(os.getpid(), signal.SIGKILL)
        return then(*args, **kwargs)
    setattr(owner, name, call)

killing({owner}, {name!r}, {at})
with writing.reserved_directory("result", {names}), \\
        writing.atomic_directory("result", {names}) as to:
    for name in {names}:
        (to / name).write_text("half")
"""


@POSIX
@pytest.mark.parametrize("before", [False, True])
@pytest.mark.parametrize(
    ("owner", "name", "at"),
    [("Path", "write_text", 1), ("Path", "write_text", 2), ("writing", "_to_disk", 2),
     ("Path", "rename", 1), ("Path", "rename", 2), ("writing.shutil", "rmtree", 1)],
)  # fmt: skip
def test_a_killed_run_does_not_refuse_the_next(before, owner, name, at):
    if before:
        write("old")
    code = KILLED.format(owner=owner, name=name, at=at, names=NAMES)
    run = subprocess.run([sys.executable, "-c", code], check=False)
    assert run.returncode in (-signal.SIGKILL, 0)  # some moments come only where a result was
    with reserved_directory("result", NAMES):
        if before and Path("result").exists():
            kept = {name: text for name, text in content().items() if not name.startswith(".")}
            assert kept in (result("old"), result("half"))
        assert Path("result").exists() >= before
    write("new")
    assert content() == result("new")
    assert os.listdir(".") == ["result"]


@POSIX
@pytest.mark.parametrize("there", [False, True])
@pytest.mark.parametrize("out", ["result", "new/er/result"])
def test_two_runs_into_one_folder(there, out):
    if there:
        write("old", out)
    with reserved_directory(out, NAMES):
        with pytest.raises(OutputError, match="another run is writing its result there; wait"):
            write("second", out)
        with atomic_directory(out, NAMES) as to:
            for name in NAMES:
                (to / name).write_text("first")
    assert content(out) == result("first")
    write("second", out)
    assert content(out) == result("second")


def test_what_comes_meanwhile_is_told():
    filling = atomic_directory("result", NAMES)
    (filling.__enter__() / "a.txt").write_text("new")
    os.mkdir("result")
    Path("result/other.txt").write_text("other")
    with pytest.raises(OutputError, match="something was put there while this run was at work"):
        filling.__exit__(None, None, None)
    assert content() == {"other.txt": "other"}
    assert os.listdir(".") == ["result"]


def test_the_folder_one_stands_in_stays(monkeypatch):
    write("old")
    monkeypatch.chdir("result")
    inode = os.stat(".").st_ino
    write("new", ".")
    assert os.stat(".").st_ino == inode
    assert content(".") == result("new")
    assert os.listdir("..") == ["result"]


REVIEWS = "text,label\n" + "good film,pös\nbad 電影 \U0001f600,neg\n" * 10


@pytest.mark.parametrize("encoding", ["utf-8", "cp1252", "cp437", "ascii"])
def test_json_is_json_on_every_code_page(encoding):
    Path("a.csv").write_text(REVIEWS, "utf-8")
    environment = os.environ | {"PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"}
    command = [sys.executable, "-m", "naively", "select", "a.csv", "-k", "3", "--json"]
    run = subprocess.run(command, env=environment, capture_output=True, check=True)
    found = json.loads(run.stdout.decode("utf-8"))
    assert found == json.loads(Path("result/summary.json").read_text("utf-8"))
    assert "pös" in {each["name"] for each in found["classes"]}


def test_json_keeps_its_characters_in_utf_8(capsys):
    echo_json('{"é": "電\U0001f600"}')
    assert capsys.readouterr().out == '{"é": "電\U0001f600"}'


@pytest.mark.parametrize("columns", ["0", "80"])
def test_a_terminal_of_no_width(monkeypatch, columns):
    Path("a.csv").write_text(REVIEWS, "utf-8")
    monkeypatch.setenv("COLUMNS", columns)
    output = CliRunner().invoke(naively, ["select", "a.csv", "-k", "2"]).stdout
    assert "speaks for" in output
    assert "Accuracy 1.0000" in output


def test_a_file_that_some_results_have(tmp_path):
    """It is part of an earlier result, and goes with it, also beside what is foreign."""
    out = tmp_path / "result"

    def fill(*names, force=False):
        with atomic_directory(out, NAMES, sometimes=("more",), force=force) as to:
            for name in names:
                (to / name).write_text("new")

    for names in (NAMES, (*NAMES, "more"), NAMES):
        fill(*names)
        assert {each.name for each in out.iterdir()} == set(names)
    (out / "foreign").write_text("mine")
    fill(*NAMES, "more", force=True)
    assert (out / "more").exists()
    fill(*NAMES, force=True)
    assert {each.name for each in out.iterdir()} == {*NAMES, "foreign"}
