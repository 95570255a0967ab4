"""Compiled code that cannot be kept: everything works, and says once what would help."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import naively

SENTENCE = "set NUMBA_CACHE_DIR to a folder that can be written"

# A small job of two kernels of our own, with the cache's files as they are on such a machine.
JOB = """
import errno, sys
from numba.core import caching

def full(*args, **kwargs):
    raise OSError(errno.ENOSPC, "No space left on device")

{broken}
import numpy as np
from naively._kernels.compiled import kernel
from naively._kernels.logarithms import *  # one of ours

def twice(x):
    return 2 * x

def thrice(x):
    return 3 * x

assert [kernel(each)(2.0) for each in (twice, thrice)] == [4.0, 6.0]
assert [kernel(each)(2) for each in (twice, thrice)] == [4, 6]
"""
FULL = "caching.IndexDataCacheFile._save_data = caching.IndexDataCacheFile._save_index = full"
UNREADABLE = "caching.IndexDataCacheFile._load_index = full"
NOWHERE = "caching._CacheLocator.ensure_cache_path = full"


def run(folder, code, **environment):
    """Run a copy of the package, as somebody without a home."""
    env = {name: value for name, value in os.environ.items() if name.startswith(("PATH", "LANG"))}
    env |= {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1", **environment}
    script = folder / "job.py"
    script.write_text(code)
    return subprocess.run(
        [sys.executable, "-W", "error", script], env=env, cwd=folder, capture_output=True, text=True
    )


@pytest.fixture
def installed(tmp_path):
    folder = tmp_path / "site"
    shutil.copytree(
        Path(naively.__file__).parent,
        folder / "naively",
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    return folder


@pytest.mark.parametrize("broken", [FULL, UNREADABLE, NOWHERE])
def test_without_a_cache_it_works_and_says_so_once(installed, broken):
    result = run(installed, JOB.format(broken=broken))
    assert result.returncode == 0, result.stderr
    assert result.stderr.count(SENTENCE) == 1
    assert len(result.stderr.splitlines()) == 1


def test_with_a_cache_nothing_is_said(installed, tmp_path):
    for _ in range(2):
        result = run(installed, JOB.format(broken=""), NUMBA_CACHE_DIR=str(tmp_path / "cache"))
        assert (result.returncode, result.stderr) == (0, "")
    assert list((tmp_path / "cache").rglob("*.nbc"))


def test_neither_the_package_nor_a_home_can_be_written(installed):
    """As in a container with a random user; files where folders would be stop even root."""
    for folder in (installed, installed / "naively" / "_kernels"):
        (folder / "__pycache__").touch()
    nowhere = {"HOME": os.devnull, "XDG_CACHE_HOME": os.devnull, "LOCALAPPDATA": os.devnull}
    result = run(installed, JOB.format(broken=""), **nowhere)
    assert result.returncode == 0, result.stderr
    assert result.stderr.count(SENTENCE) == 1
    assert len(result.stderr.splitlines()) == 1
