"""Damaged files end in a right answer or in one sentence: no crash, no hang, no traceback."""

import csv
import gzip
import io
import lzma
import os
import signal
import subprocess
import sys
import warnings
import zipfile
from contextlib import suppress
from pathlib import Path

import h5py
import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings, strategies as st
from tests.hostile.damage import damage
from tests.hostile.sources import delimited, ended_well, saved, sources, zipped

from naively.cli.commands import naively
from naively.read import fence
from naively.read.errors import InputError

SECONDS = 5  # of a processor, that one file may take
STEPS = st.lists(
    st.tuples(st.integers(0, 7), st.integers(0, 65535), st.integers(0, 65535)),
    min_size=1, max_size=4,
)  # fmt: skip


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return tmp_path_factory.mktemp("hostile"), sources(tmp_path_factory.mktemp("made"))


@pytest.fixture
def limit(monkeypatch):
    """Let a file that is never read to its end fail; HDF5 is tried out in tests of the fence."""
    monkeypatch.setattr(fence, "_fault", lambda *_: "")

    def stop(*_):
        raise AssertionError(f"not read in {SECONDS} s")

    before = signal.signal(signal.SIGVTALRM, stop)
    yield
    signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    signal.signal(signal.SIGVTALRM, before)


def test_undamaged_they_are_read(files):
    folder, known = files
    for source in known.values():
        path = folder / source.file
        path.write_bytes(source.content)
        assert source.read(path) is not None


@settings(
    max_examples=200, deadline=None, derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)  # fmt: skip
@given(data=st.data(), steps=STEPS)
def test_damaged_they_are_read_or_refused_in_one_sentence(files, limit, data, steps):
    folder, known = files
    # HDF5 itself may break down over a damaged file, and this process with it.
    source = known[data.draw(st.sampled_from([n for n in known if ".h5ad" not in n]))]
    path = folder / source.file
    path.write_bytes(damage(source.content, steps))
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
    refusals = ValueError if source.name == "record.npz" else InputError
    with warnings.catch_warnings(), suppress(refusals):
        warnings.simplefilter("error")
        source.read(path)
    signal.setitimer(signal.ITIMER_VIRTUAL, 0)


@settings(max_examples=10, deadline=None, derandomize=True)
@given(steps=STEPS, which=st.sampled_from(["dense", "chunks", "csr", "csc"]))
def test_damaged_hdf5_is_read_or_refused(files, steps, which):
    folder, known = files
    source = known[f"{which}.h5ad"]
    path = folder / source.name
    path.write_bytes(damage(source.content, steps))
    with suppress(InputError):
        source.read(path)


NAMES = ["\x1b[31mred\x1b[0m", "<img src=x onerror=alert(1)>", "a\u202egnp", "=1+1", "\x07 \x9b2J"]


@pytest.mark.parametrize("name", NAMES)
def test_names_drive_no_terminal_and_no_page(tmp_path, monkeypatch, name):
    """Of files, labels, columns, keys and in texts, where all goes well and where nothing does."""
    monkeypatch.chdir(tmp_path)
    file, out = f"{name}.csv", f"{name} out"
    rows = [[f'{name} good "{name}"', name, name], ["bad dull", f"other {name}", "k"]] * 8
    with open(file, "w", encoding="utf-8", newline="") as made:
        csv.writer(made).writerows([["text", "label", f"id {name}"], *rows])
    patterns = ("--words", r"token-pattern=\S+")
    ended_well("select", file, "-k", 4, *patterns, "--markers", 2, "--out", out, out=out)
    assert CliRunner().invoke(
        naively, ["select", file, "-k", "4", *patterns, "--out", "result"]
    ).exit_code == 0  # fmt: skip
    page = Path("result/report.html").read_text("utf-8")
    assert "<img src=x" not in page
    assert not any(c in page for c in "\x1b\x07\x9b\u202e")
    model = "result/model.npz"
    ended_well("predict", model, file, "--id", f"id {name}", "--out", "p.csv", out="p.csv")
    ended_well("explain", model, f"{name} good", out="")
    ended_well("explain", model, "--file", file, "--row", 1, out="")
    ended_well("cv", file, "--ks", "1-3", "--folds", 2, out="")
    for wrong in (
        ("select", file, "--label", name), ("select", file, "--text", name),
        ("predict", file, file), ("predict", model, name), ("select", f"no {name}"),
        ("select", file, "--out", file), ("count", file, "--out", "o", "--words", f"ngrams={name}"),
        ("select", file, "--model", name), (name,), ("select", file, f"--{name}"),
    ):  # fmt: skip
        with pytest.raises(InputError):
            ended_well(*wrong)


@pytest.mark.parametrize(
    "name", ["../out.csv", "/tmp/out.csv", "..\\out.csv", "C:out.csv", "a/../../b.csv"]
)
def test_what_an_archive_holds_is_read_and_put_nowhere(tmp_path, monkeypatch, name):
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    Path("a.csv.zip").write_bytes(zipped(name, delimited(",")))
    ended_well("select", "a.csv.zip", "-k", 2, "--quick", "--out", "out")
    assert os.listdir(tmp_path) == ["here"]
    assert os.listdir() == ["a.csv.zip"]


LYING = """
import resource
from pathlib import Path
import naively.jobs.learn, naively.read.h5ad, naively.read.xlsx
from naively.read.errors import InputError
from tests.hostile.sources import ended_well
resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
for path in sorted(Path().iterdir()):
    if path.name in ("a.csv", "labels.txt"):
        continue
    first = ("predict", path, "a.csv", "--out", "out") if "model" in path.name else ("select", path)
    labels = ("--read", "labels=labels.txt") if path.suffix == ".mtx" else ()
    try:
        ended_well(*first, *labels)
        print(path, "was read")
    except InputError as error:
        if "not enough memory" in str(error):
            print(error)
"""


def array_header(shape, dtype="<f8"):
    out = io.BytesIO()
    header = {"descr": dtype, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(out, header)
    return out.getvalue()


def archive(**files):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as made:
        for name, content in files.items():
            made.writestr(f"{name}.npy", content)
    return out.getvalue()


def test_headers_that_lie_and_bombs_take_no_memory(tmp_path, files):
    known = files[1]
    zeros = bytes(1 << 27)
    labels = saved(np.save, np.array(["a", "b"]))
    with h5py.File(tmp_path / "wide.h5ad", "w") as file:
        file.create_dataset("X", shape=(10**6, 10**6), chunks=(1000, 1000), dtype="f4")
        for frame, n in (("obs", 10**6), ("var", 10**6)):
            file.create_group(frame).attrs["_index"] = "_index"
            file[frame].create_dataset("_index", shape=(n,), dtype="S8", chunks=(1000,))
        file["obs"].create_dataset("label", shape=(10**6,), dtype="i8", chunks=(1000,))
    book = zipfile.ZipFile(io.BytesIO(known["a.xlsx"].content))
    sheets = {name: book.read(name) for name in book.namelist()}
    with zipfile.ZipFile(tmp_path / "wide.xlsx", "w", zipfile.ZIP_DEFLATED) as made:
        for name, content in sheets.items():
            if "sheet1" in name:
                content = content.replace(b"<sheetData>", b"<sheetData>" + zeros)
            made.writestr(name, content)
    head = b"%%MatrixMarket matrix coordinate real general\n"
    lying = {
        "many.mtx": head + b"99999999999999 99999999999 1\n1 1 1\n",
        "array.mtx": b"%%MatrixMarket matrix array real general\n9999999 9999999\n1\n",
        "rows.npz": archive(X=array_header((1 << 40, 4)), y=labels),
        "zeros.npz": archive(X=array_header((1 << 13, 1 << 11)) + zeros, y=labels),
        "text.npz": archive(X=saved(np.save, np.eye(2)), y=array_header((2,), "<U999999999")),
        "objects.npz": archive(X=array_header((1 << 30,), "|O") + zeros[: 1 << 20], y=labels),
        "a.csv.gz": gzip.compress(b"text,label\n" + zeros),
        "quoted.csv.gz": gzip.compress(b'text,label\n"' + zeros),
        "a.csv.zip": zipped("a.csv", b"text,label\n" + zeros),
        "a.csv.zst": pa.compress(b"text,label\n" + zeros, "zstd", asbytes=True),
        "a.csv.xz": lzma.compress(b"text,label\n" + zeros[: 1 << 25]),
        "a.jsonl.gz": gzip.compress(b'{"text": "' + zeros.replace(b"\0", b"a")),
        "deep.json.gz": gzip.compress(b"[" * (1 << 25)),
        "a.parquet.gz": gzip.compress(zeros),
        "model.npz": archive(model=array_header((1 << 40,), "|u1")),
        "zeros-model.npz": archive(model=array_header((1 << 27,), "|u1") + zeros),
        "bomb-model.npz.gz": gzip.compress(zeros),
        "wide.svm": b"1 999999999999999:1\n0 1:1\n",
    }
    for name, content in lying.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "labels.txt").write_text("a\nb\n")
    (tmp_path / "a.csv").write_bytes(known["comma.csv"].content)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    ended = subprocess.run(
        [sys.executable, "-c", LYING], cwd=tmp_path, env=environment,
        capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")
