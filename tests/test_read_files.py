"""Files and pipes: fingerprints, formats by name, what is loaded and how much at a time."""

import gzip
import os
import subprocess
import sys
import threading
import tracemalloc

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from naively.read import batch as limits, bytes as stored, jsonl, parts
from naively.read.bytes import fingerprint, lines_before
from naively.read.errors import OutputError, explained, reason, told_of
from naively.read.formats import format_by_name, format_of
from naively.read.layout import Layout
from naively.read.parts import batches_of, collected, find_files, parts_of

TEXT = Layout(text=("text",))


def test_fingerprint_is_that_of_the_stored_bytes(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"abc")
    known = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert fingerprint(path).sha256 == known  # FIPS 180-2, appendix B.1
    assert (fingerprint(path).name, fingerprint(path).size) == ("a.txt", 3)


@pytest.mark.parametrize(
    ("name", "format"),
    [
        ("a.TSV.gz", "tsv"),
        ("a.tab", "tsv"),
        ("a.json", "jsonl"),
        ("a.b.parquet", "parquet"),
        ("a.pq.zst", "parquet"),
        ("a.mm", "mtx"),
        ("a.npz", "npz"),
        ("a.gz", None),
    ],
)
def test_formats_by_name(name, format):
    assert format_by_name(name) == format
    if format:
        assert format_of(name) == format
    assert format_of(name, "csv") == "csv"


def test_files_by_patterns(tmp_path):
    for name in ("b.csv", "a.csv", "[x].csv"):
        (tmp_path / name).write_text("text,label\n")
    names = [os.path.basename(path) for path in find_files(f"{tmp_path}/*.csv")]
    assert names == ["[x].csv", "a.csv", "b.csv"]
    assert find_files(tmp_path / "[x].csv") == [str(tmp_path / "[x].csv")]
    twice = find_files([tmp_path / "b.csv", f"{tmp_path}/*.csv"])
    assert [os.path.basename(path) for path in twice] == ["b.csv", "[x].csv", "a.csv"]


def test_the_content_decides_on_the_packing(tmp_path):
    (tmp_path / "a.csv").write_bytes(gzip.compress(b"text,label\nab,x\n"))
    assert collected(parts_of(tmp_path / "a.csv", TEXT), TEXT).labels.tolist() == ["x"]


def test_a_pipe_is_read_once_and_then_as_often_as_one_likes(tmp_path):
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(b"text,label\nab,x\ncd,y\n",))
    writer.start()
    parts = parts_of(pipe, TEXT)
    writer.join()
    for _ in range(2):
        batch = collected(parts, TEXT)
        assert batch.labels.tolist() == ["x", "y"]
        assert batch.place(1) == f"{pipe}: line 3"


@pytest.mark.parametrize("begin", range(12))
def test_lines_before_a_byte(tmp_path, begin):
    content = b"ab\n\ncdef\ngh"
    (tmp_path / "a").write_bytes(content)
    starts = [0, 3, 4, 9]
    expected = sum(start < begin for start in starts) if begin else 0
    assert lines_before(str(tmp_path / "a"), begin) == expected


def test_reasons_are_words():
    assert "no space left" in reason(OSError(28, "x"))
    assert reason(OSError(18, "cross-device link")) == "cross-device link"
    with pytest.raises(ValueError, match=r"^a\.csv: bad"), told_of("a.csv"):
        raise ValueError("bad")


@pytest.mark.parametrize("error", [MemoryError(), OutputError("x"), NameError("x")])
def test_what_is_no_fault_of_the_file_passes(error):
    with pytest.raises(type(error)), explained("a.csv"):
        raise error


@pytest.mark.parametrize("format", ["csv", "jsonl", "parquet", "svm"])
def test_memory_is_bounded_by_a_batch(tmp_path, monkeypatch, format):
    n, path, layout = 40_000, tmp_path / f"a.{format}", TEXT
    words = "word " * 40
    if format == "csv":
        path.write_text("text,label\n" + f'"{words}, and",x\n' * n)
    elif format == "jsonl":
        path.write_text(f'{{"text": "{words}", "label": "x"}}\n' * n)
    elif format == "svm":
        layout = Layout()
        path.write_text(("1 " + " ".join(f"{j}:1" for j in range(1, 50)) + "\n") * n)
    else:
        table = pa.table({"text": [words] * n, "label": ["x"] * n})
        pq.write_table(table, path, row_group_size=1000)
    monkeypatch.setattr(stored, "BLOCK_BYTES", 1 << 16)
    monkeypatch.setattr(limits, "BATCH_ROWS", 500)
    monkeypatch.setattr(jsonl, "PART_BYTES", 1 << 20)
    parts = parts_of(path, layout)
    assert sum(len(batch) for part in parts for batch in batches_of(part, layout)) == n
    tracemalloc.start()
    for part in parts:
        for _ in batches_of(part, layout):
            pass
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4e6 < path.stat().st_size if format != "parquet" else peak < 4e6


def test_a_part_of_a_file_can_be_sent_away(tmp_path):
    import pickle

    (tmp_path / "a.csv").write_text("text,label\nab,x\n")
    part = pickle.loads(pickle.dumps(parts_of(tmp_path / "a.csv", TEXT)[0]))
    batch = pickle.loads(pickle.dumps(next(batches_of(part, TEXT))))
    assert batch.place(0).endswith("a.csv: line 2")
    assert batch.take(np.array([0])).labels.tolist() == ["x"]


def test_what_is_not_needed_is_not_loaded(tmp_path):
    (tmp_path / "a.csv").write_text("text,label\nab,x\n")
    (tmp_path / "a.svm").write_text("1 1:2\n")
    code = f"""if True:
        import sys
        from naively.read.formats import FORMATS
        assert "numpy" not in sys.modules
        from naively.read.layout import Layout
        from naively.read.parts import collected, parts_of
        text = Layout(text=("text",))
        collected(parts_of({str(tmp_path / "a.csv")!r}, text), text)
        collected(parts_of({str(tmp_path / "a.svm")!r}, Layout()), Layout())
        strange = {{"sklearn", "pyarrow", "h5py", "pandas", "anndata"}} & set(sys.modules)
        assert not strange, strange
    """
    subprocess.run([sys.executable, "-c", code], check=True, env=os.environ)


@pytest.mark.parametrize("most", [1 << 29, 1000])
def test_rows_are_held_unless_they_are_too_many(tmp_path, monkeypatch, most):
    """A few packed bytes may hold any number of rows; these are then read again and again."""
    monkeypatch.setattr(parts, "HELD_BYTES", most)
    rows = "text,label\n" + "sun and rain,a\nsnow,b\n" * 2000
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(rows.encode()))
    layout = Layout(text=("text",))
    plain = parts_of(tmp_path / "a.csv.gz", layout)
    found = parts.held(plain, layout)
    assert [part.held is not None for part in found] == [most > 1000]
    assert len(collected(found, layout)) == 4000
