"""What a type checker and an editor know of the public names: their real types."""

import ast
import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

import naively

PROGRAM = """
import numpy as np
import naively, naively.scanpy
from naively import ClassCounts, SparseMultinomialNB, sparsity_path
model = SparseMultinomialNB(k=3, alpha=0.5).fit([[1, 0], [0, 2]], ["a", "b"])
reveal_type(model)
reveal_type(model.certificate_.gap)
reveal_type(ClassCounts.from_matrix(np.eye(2), [0, 1]))
reveal_type(sparsity_path)
SparseMultinomialNB(kk=3)
reveal_type(naively.WordCounts(ngram_range=(1, 2)).fit(["a text"]).vocabulary_)
reveal_type(naively.select("posts.csv", k=3))
reveal_type(naively.save(model, "model.npz"))
reveal_type(model.decision_function([[1, 0]]))
naively.WordCounts(analyzer="sentence")
"""
NAMES = [*naively.__all__, "scanpy.rank_genes"]
UNTYPED = {"load", "export"}  # what they return depends on a file, or on a format
CHECKERS = {
    "mypy": [sys.executable, "-m", "mypy", "--no-incremental", "--ignore-missing-imports"],
    "basedpyright": [sys.executable, "-m", "basedpyright", "--pythonpath", sys.executable],
}


@pytest.mark.parametrize("checker", CHECKERS)
def test_a_small_program_has_the_real_types(tmp_path, checker):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM + "".join(f"reveal_type(naively.{name})\n" for name in NAMES))
    source = str(Path(naively.__file__).parents[1])
    (tmp_path / "pyrightconfig.json").write_text(f'{{"extraPaths": ["{source}"]}}')
    result = subprocess.run(
        [*CHECKERS[checker], str(program)],
        cwd=tmp_path, capture_output=True, text=True, check=False,
        env={"MYPYPATH": source, "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)},
    )  # fmt: skip
    revealed = [line for line in result.stdout.splitlines() if "program.py" in line]
    for line, kind in (
        (5, "SparseMultinomialNB"), (6, "float"), (7, "ClassCounts"), (8, "SparsityPath"),
        (10, "dict[str, int]"), (11, "Selected"), (12, "None"), (13, "float64"),
    ):  # fmt: skip
        assert any(f"program.py:{line + 1}" in each and kind in each for each in revealed), (
            result.stdout + result.stderr
        )
    assert any("program.py:10" in each and "kk" in each for each in revealed), result.stdout
    assert any("program.py:15" in each and "analyzer" in each for each in revealed), result.stdout
    of_line = dict(re.findall(r"program\.py:(\d+)(.*)", result.stdout))
    for line, name in enumerate(NAMES, PROGRAM.count("\n") + 1):
        said = of_line.get(str(line), "")
        assert 'is "' in said, (name, result.stdout)
        assert not re.search(r'is "(Any|Unknown)\b', said), said
        assert name in UNTYPED or not re.search(r'-> (Any|Unknown)"', said), said


def test_the_stub_and_the_package_name_the_same():
    """Each public name is there, and is what the stub says it is."""
    stub = ast.parse(Path(naively.__file__).with_suffix(".pyi").read_text())
    imported = {
        alias.name: node.module
        for node in stub.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert set(naively.__all__) == {"__version__", *imported}
    for name, home in imported.items():
        module = importlib.import_module(home)
        assert getattr(naively, name) is getattr(module, name)
    with pytest.raises(AttributeError, match="no attribute 'SparseNB'"):
        _ = naively.SparseNB
