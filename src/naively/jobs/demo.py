"""A demonstration on text that every installation of this package carries: documentation.

The docstrings of Python and of the libraries below this one, each labelled with its library. Which
words tell whose documentation one is reading? The sources are parsed, never run.
"""

from __future__ import annotations

import ast
import gc
import gzip
import json
import re
import sysconfig
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TypeAlias

from naively.jobs.learn import learn
from naively.jobs.results import RESULT_FILES, write_result
from naively.jobs.settings import ModelSettings, Recipe
from naively.jobs.words import text_features
from naively.read.errors import InputError
from naively.read.layout import Layout
from naively.read.progress import Progress, silent
from naively.report.summary import Summary
from naively.text.features import TOKEN_PATTERN
from naively.text.labels import clean
from naively.work.writing import atomic_directory, reserved_directory

DATA = "docstrings.jsonl.gz"
DEMO_FILES = (*RESULT_FILES, "run.toml", DATA)
LIBRARIES = ("numba", "numpy", "scipy", "sklearn")
K = 50
_SKIPPED = {"tests", "test", "testing", "site-packages", "dist-packages", "idlelib"}
_LEAST_WORDS = 5  # a shorter docstring tells nothing of whose it is
# Examples name the library in their imports, and text names it outright: neither is a riddle.
_EXAMPLE = re.compile(r"^[ \t]*(>>>|\.\.\. ).*$", re.MULTILINE)
_NAMES = re.compile(r"\b(numba|numpy|np|scipy|sklearn|scikit|python)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Docstring:
    """A piece of documentation and the library it belongs to."""

    library: str
    text: str


def demo(out: str, progress: Progress = silent, *, force: bool = False) -> Summary:
    """Select the words that tell the libraries apart, and write the result folder.

    Parameters
    ----------
    out
        The folder; it also gets the texts, so that other settings can be tried on them.
    progress
        Told how far the work has come.
    force
        Write into a folder that holds other files.

    Raises
    ------
    InputError
        If the sources of fewer than two libraries are installed.
    OutputError
        If the result cannot be written.
    """
    with reserved_directory(out, DEMO_FILES, force=force):
        docstrings = gather(progress)
        with atomic_directory(out, DEMO_FILES, force=force) as folder:
            write(docstrings, folder / DATA)
            recipe = _recipe(folder / DATA, out)
            summary, model = learn(recipe, progress)
            write_result(folder, summary, model, recipe.given)
    return summary


def _recipe(data: Path, out: str) -> Recipe:
    given = {
        "file": str(Path(out) / DATA), "label": "library", "k": K, "out": "result",
        "words": {"stop-words": "english"},
    }  # fmt: skip
    return Recipe(
        files=(str(data),),
        layout=Layout(text=("text",), label="library"),
        features=text_features(
            analyzer="word", ngram_range=(1, 1), stop_words="english", token_pattern=TOKEN_PATTERN
        ),
        model=ModelSettings(k=K),
        given=given,
    )


def gather(progress: Progress = silent) -> list[Docstring]:
    """Collect the docstrings of Python and the libraries, each text once.

    Raises
    ------
    InputError
        If the sources of fewer than two libraries are found.
    """
    files = [(name, file) for name, root in _roots() for file in _sources(root)]
    found: dict[str, Docstring] = {}
    with _parsing():
        for done, (library, file) in enumerate(files):
            progress("reading documentation", done, len(files))
            for text in _docstrings(file):
                # The same text in two libraries would belong to neither.
                found.setdefault(text, Docstring(library, text))
    if len({each.library for each in found.values()}) < 2:
        raise InputError(
            "The sources of the libraries are not installed here, so there is nothing to read; "
            "run `naively select` on a file of yours."
        )
    return list(found.values())


def _roots() -> Iterator[tuple[str, Path]]:
    for library in LIBRARIES:
        spec = find_spec(library)  # finds a package without importing it
        for place in (spec.submodule_search_locations or ())[:1] if spec else ():
            yield library, Path(place)
    yield "python", Path(sysconfig.get_paths()["stdlib"])


def _sources(root: Path) -> list[Path]:
    return [
        file
        for file in sorted(root.rglob("*.py"))
        if not _SKIPPED.intersection(file.relative_to(root).parts)
    ]


@contextmanager
def _parsing() -> Iterator[None]:
    # The parser makes millions of objects and no cycles; collecting garbage meanwhile takes
    # three quarters of the time. Old sources also warn of escapes, which are not ours to mend.
    collecting = gc.isenabled()
    gc.disable()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        if collecting:
            gc.enable()


def _docstrings(file: Path) -> Iterator[str]:
    try:
        tree = ast.parse(file.read_bytes())
    except (SyntaxError, ValueError, RecursionError, OSError):
        return  # a template, or code for another version of Python
    for node in _documented(tree):
        text = _NAMES.sub("", _EXAMPLE.sub("", ast.get_docstring(node) or ""))
        if len(text.split()) >= _LEAST_WORDS:
            yield clean(text)


_Node: TypeAlias = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def _documented(node: _Node) -> Iterator[_Node]:
    yield node
    for child in node.body:
        if isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _documented(child)


def write(docstrings: list[Docstring], path: Path) -> None:
    """Write texts as JSON Lines, compressed, the same bytes for the same texts."""
    with path.open("wb") as raw, gzip.GzipFile("", "wb", 6, raw, mtime=0) as file:
        for each in docstrings:
            record = {"library": each.library, "text": each.text}
            file.write(json.dumps(record, ensure_ascii=False).encode() + b"\n")
