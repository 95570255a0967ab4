"""Files of earlier days say what they said, or are refused in one sentence (`kept_files.py`)."""

import json
import shutil
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner

import kept_files
from naively._versions import FEATURES, MODEL, RECORD, SUMMARY, VersionError
from naively.cli.commands import naively
from naively.text.features import ColumnFeatures, from_json, to_json
from naively.work.archive import MANIFEST

SAID = json.loads((kept_files.FOLDER / "said.json").read_text("utf-8"))
KINDS = {"model": MODEL, "record": RECORD, "checkpoint": RECORD, "summary": SUMMARY}
GONE = object()  # a field that is missing
OTHERS = {  # version: what the sentence says of it
    "newer": (lambda version: version + 1, "written by a newer naively", "pip install --upgrade"),
    "older": (lambda version: version - 1, "naively", "again"),
    "missing": (lambda _: GONE, "no naively wrote this", "again"),
    "text": (str, "no naively wrote this", "again"),
    "true": (bool, "no naively wrote this", "again"),
}


def agrees(found, expected):
    if isinstance(expected, list):
        return len(found) == len(expected) and all(map(agrees, found, expected))
    try:
        return float(found) == pytest.approx(float(expected), rel=1e-12, abs=1e-15)
    except (TypeError, ValueError):
        return found == expected


@pytest.mark.parametrize("file", SAID)
def test_a_kept_file_says_what_it_said(file):
    assert agrees(kept_files.what_it_says(file), SAID[file])


def test_there_is_one_of_each_present_version():
    kept = {tuple(file.split("-")[:2]) for file in SAID}
    assert {(name, str(kind.version)) for name, kind in KINDS.items()} <= kept
    assert {path.name for path in kept_files.FOLDER.glob("*-*")} == set(SAID)


def altered(file, change):
    """A kept file of which a field says something else, in the folder where one is."""
    source = kept_files.FOLDER / file
    if source.suffix == ".json":
        content = json.loads(source.read_text("utf-8"))
        change(content)
        Path(file).write_text(json.dumps(content), "utf-8")
        return
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(file, "w") as new:
        for info in old.infolist():
            content = old.read(info)
            if info.filename == MANIFEST:
                manifest = json.loads(content)
                change(manifest)
                content = json.dumps(manifest).encode()
            new.writestr(info.filename, content)


def put(version):
    def change(manifest):
        manifest["version"] = version
        if version is GONE:
            del manifest["version"]

    return change


def ended(file):
    """How the command ends that reads a file."""
    rows = kept_files.ROWS["text"]
    commands = {
        "model": ("predict", file, rows),
        "record": ("select", file, "-k", "2"),
        "checkpoint": ("select", rows, "-k", "3", "--checkpoint", "work", "-q"),
        "summary": ("explain", file, "--report", "json"),
    }
    kind = file.partition("-")[0]
    if kind == "checkpoint":
        shutil.move(file, next(Path("work").iterdir()))
    return CliRunner().invoke(naively, commands[kind])


@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("kind", KINDS)
def test_another_version_is_refused_in_one_sentence(kind, other, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copy(kept_files.FOLDER / kept_files.ROWS["text"], tmp_path)
    file = next(each for each in SAID if each.startswith(kind) and "-text." in each)
    if kind == "checkpoint":  # a run that was stopped, and its record
        kept_files.run("select", kept_files.ROWS["text"], "-k", 3, "--checkpoint", "work", "-q")
        shutil.rmtree("result")
    version_of, wrote, way_out = OTHERS[other]
    altered(file, put(version_of(KINDS[kind].version)))
    before = sorted(path for path in tmp_path.rglob("*") if path.name != file)
    said = ended(file)
    assert (said.exit_code, said.stdout) == (2, ""), said.output
    assert said.stderr.count("\n") == 1
    assert said.stderr.startswith("naively: ")
    assert ".npz: " in said.stderr or ".json: " in said.stderr
    assert wrote in said.stderr
    assert way_out in said.stderr
    assert sorted(path for path in tmp_path.rglob("*") if path.name != file) == before


def test_of_an_earlier_version_it_is_said_that_its_naively_reads_it():
    with pytest.raises(
        VersionError, match=r"an earlier naively \(version 1 of a statistics file; "
    ):
        RECORD.check({"format": RECORD.format, "version": 1})


@pytest.mark.parametrize("version", [FEATURES.version + 1, FEATURES.version - 1, None])
def test_a_definition_of_features_has_its_own_version(version):
    definition = json.loads(to_json(ColumnFeatures(2))) | {"format": version}
    with pytest.raises(VersionError, match="the definition of features"):
        from_json(json.dumps(definition))
