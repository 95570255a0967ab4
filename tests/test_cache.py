"""Compiled code that cannot be kept: everything works, and says once what would help."""

import io
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import naively
from naively._kernels.first_use import COMPILING
from naively.cli import screen

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
    (folder / "job.py").write_text(code)
    return run_again(folder, **environment)


def run_again(folder, **environment):
    env = {name: value for name, value in os.environ.items() if name.startswith(("PATH", "LANG"))}
    env |= {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1", **environment}
    command = [sys.executable, "-W", "error", folder / "job.py"]
    return subprocess.run(
        command, env=env, cwd=folder, capture_output=True, text=True, check=False, timeout=100
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


FIRST = """
import logging, sys
logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stdout)
"""


def test_a_logger_tells_what_is_compiled_once_for_a_cache(installed, tmp_path):
    found = [
        run(installed, FIRST + JOB.format(broken=""), NUMBA_CACHE_DIR=str(tmp_path / "cache"))
        for _ in range(2)
    ]
    assert [each.returncode for each in found] == [0, 0]
    assert found[0].stdout.count("compiled twice in ") == 2  # for whole and for real numbers
    assert found[0].stdout.count("compiled thrice in ") == 2
    assert "compiled" not in found[1].stdout


def test_two_first_uses_at_once(installed, tmp_path):
    """Each compiles, and neither reads what the other has half written."""
    (installed / "job.py").write_text(JOB.format(broken=""))
    cache = str(tmp_path / "cache")
    with ThreadPoolExecutor(2) as pool:
        started = [pool.submit(run_again, installed, NUMBA_CACHE_DIR=cache) for _ in range(2)]
    assert [(each.result().returncode, each.result().stderr) for each in started] == [(0, "")] * 2


def test_a_shared_cache_that_cannot_be_written_is_read(installed, tmp_path):
    """As one that was filled when a container was built."""
    cache = tmp_path / "cache"
    code = JOB.format(broken=f"if 'READ_ONLY' in __import__('os').environ: {FULL}")
    assert run(installed, code, NUMBA_CACHE_DIR=str(cache)).returncode == 0
    known = {each: each.stat().st_mtime_ns for each in cache.rglob("*.nb?")}
    result = run_again(installed, NUMBA_CACHE_DIR=str(cache), READ_ONLY="1")
    assert (result.returncode, result.stderr) == (0, "")
    assert {each: each.stat().st_mtime_ns for each in cache.rglob("*.nb?")} == known


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("terminal", [True, False])
@pytest.mark.parametrize("quiet", [True, False])
@pytest.mark.parametrize("seconds", [0.0, 14.2])
def test_a_run_at_a_terminal_says_how_long_it_compiled(terminal, quiet, seconds, monkeypatch):
    """Nowhere else, and not in a run that found everything in the cache."""
    monkeypatch.setattr(COMPILING, "seconds", seconds)
    monkeypatch.setattr(sys, "stderr", Terminal() if terminal else io.StringIO())
    with screen.progress(quiet=quiet) as progress:
        progress("counting", 1, 2)
    said = "naively: 14 s of it were compiling for this machine, once" in sys.stderr.getvalue()
    assert said == (terminal and not quiet and seconds > 0)
