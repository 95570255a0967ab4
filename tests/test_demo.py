"""The demonstration, on two small libraries made for the purpose."""

import gzip
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from naively.cli.commands import naively
from naively.jobs import demo as module
from naively.jobs.demo import DATA, DEMO_FILES, Docstring, gather
from naively.read.errors import InputError

WORDS = {"alpha": "estimator sample fit predict score", "beta": "kernel launch thread block grid"}


def write_library(root, name, n=12):
    words = WORDS[name].split()
    bodies = [
        f'''def f{i}(x):
    """Some {words[i % 5]} text about {words[(i + 1) % 5]} number{i}, of numpy and {name}.

    >>> import secret{name}
    ... secret{name}.run()
    """
    def inner():
        "{words[(i + 2) % 5]} inside of another function {i}"
    return x
'''
        for i in range(n)
    ]
    root.mkdir()
    (root / "__init__.py").write_text('"""too short"""\nraise RuntimeError("was run")\n')
    (root / "code.py").write_text("\n".join(bodies))
    (root / "broken.py").write_text("def (:\n")
    (root / "escape.py").write_text('"""Old \\d escapes are no reason to complain here"""\n')
    (root / "tests").mkdir()
    (root / "tests" / "test_x.py").write_text('"""words of a test that nobody should read"""')


@pytest.fixture
def libraries(tmp_path, monkeypatch):
    for name in WORDS:
        write_library(tmp_path / name, name)
    monkeypatch.setattr(module, "_roots", lambda: [(n, tmp_path / n) for n in WORDS])
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_docstrings_are_gathered_once_and_give_nothing_away(libraries):
    found = gather()
    # Two per function, and the escape once: it stands in both libraries.
    assert [each.library for each in found].count("beta") == 24
    assert len(found) == 49
    text = " ".join(each.text for each in found)
    assert "numpy" not in text  # names of libraries are masked
    assert "secret" not in text  # examples are left out
    assert "nobody should read" not in text
    assert "too short" not in text


def test_one_library_is_not_enough(libraries, monkeypatch):
    monkeypatch.setattr(module, "_roots", lambda: [("alpha", libraries / "alpha")])
    with pytest.raises(InputError, match="nothing to read"):
        gather()


def test_real_sources_are_found_without_importing_them():
    roots = dict(module._roots())
    assert {"numpy", "scipy", "sklearn", "numba", "python"} <= set(roots)
    assert (roots["sklearn"] / "naive_bayes.py").exists()
    assert (roots["python"] / "csv.py").exists()


def test_demo_leaves_a_result_that_its_command_repeats(libraries, monkeypatch):
    monkeypatch.setattr(module, "K", 6)
    result = CliRunner().invoke(naively, ["demo", "--out", "shown"], catch_exceptions=False)
    assert result.exit_code == 0
    assert "Report: shown/report.html" in result.stdout
    assert sorted(each.name for each in Path("shown").iterdir()) == sorted(DEMO_FILES)
    summary = json.loads(Path("shown/summary.json").read_text("utf-8"))
    assert {each["name"] for each in summary["classes"]} == set(WORDS)
    features = Path("shown/features.csv").read_bytes()
    command = summary["settings"]["command"].split()[1:]
    CliRunner().invoke(naively, command, catch_exceptions=False)
    assert Path("result/features.csv").read_bytes() == features


def test_texts_are_written_the_same_every_time(tmp_path):
    docstrings = [Docstring("alpha", "süß"), Docstring("beta", 'a "quoted"\nline')]
    for name in ("one", "two"):
        module.write(docstrings, tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    lines = gzip.decompress((tmp_path / "one").read_bytes()).decode().splitlines()
    assert [json.loads(line)["text"] for line in lines] == [each.text for each in docstrings]
    assert DATA.endswith(".jsonl.gz")
