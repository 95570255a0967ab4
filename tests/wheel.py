"""What is packed, installed without extras and used without these sources in reach.

`make test-wheel` runs it, with the Python of an environment that holds the wheel alone:
`python -I tests/wheel.py DIST`, and `python -I tests/wheel.py --command` with the extra `cli`.
"""

import csv
import importlib
import importlib.metadata
import os
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path


def check_contents(dist):
    """The wheel holds the package and nothing else; the source distribution can be built."""
    (wheel,), (source,) = dist.glob("*.whl"), dist.glob("*.tar.gz")
    with zipfile.ZipFile(wheel) as file:
        names = file.namelist()
    folders = {name.partition("/")[0] for name in names}
    assert "naively" in folders, folders
    assert len(folders) == 2, folders  # and its metadata
    assert all(folder == "naively" or folder.endswith(".dist-info") for folder in folders), folders
    for name in ("py.typed", "__init__.pyi", "report/templates/page.html"):
        assert f"naively/{name}" in names, name
    strange = [
        name
        for name in names
        if not name.endswith((".py", ".pyi", ".html", ".css", ".js", "py.typed"))
        and ".dist-info/" not in name
    ]
    assert not strange, strange
    assert any(name.endswith("licenses/LICENSE") for name in names)
    with tarfile.open(source) as file:
        packed = {name.partition("/")[2] for name in file.getnames()}
    for name in ("pyproject.toml", "README.md", "LICENSE", "src/naively/py.typed"):
        assert name in packed, name


def check_import():
    """Every public name is there; what needs an extra says which."""
    import naively

    home = Path(naively.__file__)
    assert home.is_relative_to(sys.prefix), home
    assert importlib.metadata.version("naively") == naively.__version__
    for name in naively.__all__:
        getattr(naively, name)
    importlib.import_module("naively.scanpy")
    X, y = [[3, 0, 1], [2, 0, 1], [0, 3, 1], [0, 2, 1]], ["a", "a", "b", "b"]
    model = naively.SparsePoissonNB(k=1).fit(X, y)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.npz")
        naively.save(model, path)
        assert naively.load(path).predict(X).tolist() == y
        for format in ("sql", "python", "json"):
            assert naively.export(path, format)
    texts = naively.WordCounts().fit_transform(["a text", "a word"])
    assert texts.shape == (2, 2)
    _refused("onnx", lambda: naively.export(model, "onnx"))
    _refused("cli", lambda: naively.select([["text"]], label=["a"]))
    result = _command("--version")
    assert result.returncode == 2, result
    assert "pip install 'naively[cli]'" in result.stderr, result.stderr


def _refused(extra, use):
    said = "nothing"
    try:
        use()
    except ImportError as error:
        said = str(error)
    assert f"pip install 'naively[{extra}]'" in said, (extra, said)


def check_command():
    """The command on a small file, and what it says of a format whose reader is missing."""
    with tempfile.TemporaryDirectory() as folder:
        path, out = Path(folder, "reviews.csv"), Path(folder, "out")
        with path.open("w", newline="") as file:
            rows = [("a lovely film", "pos"), ("a dull film", "neg")] * 10
            csv.writer(file).writerows([("text", "label"), *rows])
        result = _command("select", path, "-k", "2", "--quick", "--out", out)
        assert result.returncode == 0, result.stderr
        table = (out / "features.csv").read_text()
        assert {row["feature"] for row in csv.DictReader(table.splitlines())} == {"lovely", "dull"}
        result = _command("predict", out, path, "--out", Path(folder, "labels.csv"))
        assert result.returncode == 0, result.stderr
        Path(folder, "reviews.parquet").write_bytes(b"PAR1")
        result = _command("select", Path(folder, "reviews.parquet"))
        assert result.returncode == 2, result
        assert "pip install 'naively[arrow]'" in " ".join(result.stderr.split()), result.stderr


def _command(*arguments):
    command = [Path(sys.executable).parent / "naively", *map(str, arguments)]
    with tempfile.TemporaryDirectory() as folder:
        return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


if __name__ == "__main__":
    if sys.argv[1:] == ["--command"]:
        check_command()
    else:
        check_contents(Path(sys.argv[1]))
        check_import()
