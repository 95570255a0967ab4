"""Files that would keep their library busy for ever, or end the program, are refused."""

import subprocess
import time

import h5py
import numpy as np
import pytest

from naively.read import fence
from naively.read.errors import InputError
from naively.read.layout import Layout
from naively.read.parts import collected, parts_of


@pytest.fixture
def path(tmp_path):
    with h5py.File(tmp_path / "a.h5ad", "w") as file:
        file["X"] = np.eye(3)
        for frame in ("obs", "var"):
            file.create_group(frame).attrs["_index"] = "_index"
            file[frame]["_index"] = [b"a", b"b", b"c"]
        file["obs/label"] = [b"x", b"y", b"x"]
    return tmp_path / "a.h5ad"


@pytest.mark.parametrize(
    ("trial", "match"),
    [
        ("while True: pass", "a.h5ad: the file is damaged .HDF5 does not come to an end"),
        ("import os; os.abort()", "a.h5ad: the file is damaged .HDF5 breaks down"),
    ],
)
def test_a_trial_that_does_not_end_well(path, monkeypatch, trial, match):
    monkeypatch.setattr(fence, "SECONDS", 0.5)
    monkeypatch.setattr(fence, "_TRIAL", trial)
    start = time.monotonic()
    with pytest.raises(InputError, match=match):
        parts_of(path, Layout())
    assert time.monotonic() - start < 10


def test_a_file_is_tried_once(path, monkeypatch):
    tried, run = [], subprocess.run
    monkeypatch.setattr(fence.subprocess, "run", lambda *a, **k: tried.append(a) or run(*a, **k))
    batch = collected(parts_of(path, Layout()), Layout())
    assert batch.labels.tolist() == ["x", "y", "x"]
    assert len(tried) == 1


def test_without_processes_it_is_read_at_once(path, monkeypatch):
    monkeypatch.setattr(fence.sys, "executable", "")
    assert len(collected(parts_of(path, Layout()), Layout())) == 3
