"""What cannot be read is refused in one sentence that names file, line or row, and the way out."""

import bz2
import gzip
import io
import json
import lzma
import zipfile

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp

from naively.read import bytes as stored
from naively.read.columns import Wanted
from naively.read.errors import InputError
from naively.read.formats import FORMATS
from naively.read.layout import Layout, check_effects
from naively.read.parts import collected, find_files, parts_of

TEXT = Layout(text=("text",))
X = np.array([[0, 3, 0, 1], [2, 0, 0, 0], [0, 0, 5, 0]])
Y = ["a", "b", "a"]


def saved(save, *args, **kwargs):
    out = io.BytesIO()
    save(out, *args, **kwargs)
    return out.getvalue()


def refused(tmp_path, name, content, match, layout=TEXT):
    (tmp_path / name).write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(InputError, match=match) as caught:
        collected(parts_of(tmp_path / name, layout), layout)
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith((str(tmp_path), "`--", "--"))
    return message


@pytest.fixture(params=["large", "small"])
def pieces(request, monkeypatch):
    if request.param == "small":
        monkeypatch.setattr(stored, "BLOCK_BYTES", 40)
    return request.param


# Delimited text --------------------------------------------------------------------------------


@pytest.mark.parametrize("literal", ["", 'a "b",x\n'])  # at once, or by Python's reader
@pytest.mark.parametrize(
    ("content", "match"),
    [
        ("text,label\n", "no rows"),
        ("text,label\n%sc\n", "line {} has 1 fields, the header has 2; mend the line"),
        ("text,label\n%sa,b,c\n", "line {} has 3 fields"),
        ('text,label\n%s"open,y\nz,w\n', r"line {}: .*--read quotes=false"),
        ('text,label\n%s"a"b,x\n', r"line {}: .*--read quotes=false"),
        ("text,label\n%sa\rb,x\n", "line {}: a carriage return stands alone"),
        ("text,label\n%sab,x\0\n", "line {}: .* NUL character"),
        (f"text,label\n%sab,{'x' * 5000}\n", "line {}: .* has 5,000 characters; name a column"),
        (
            b"text,label\n%scaf\x81,x\n",
            r"line {}: byte 0x81 is not utf-8; .*--read encoding=latin-1",
        ),
    ],
)
def test_bad_rows_of_csv(tmp_path, pieces, content, match, literal):
    line = 3 if literal else 2
    match = match.replace("{}", str(line)).replace("{+}", str(line + 1))
    content = content if isinstance(content, bytes) else content.encode()
    if content == b"text,label\n" and literal:
        return
    refused(tmp_path, "a.csv", content.replace(b"%s", literal.encode()), match)


@pytest.mark.parametrize(
    ("content", "match"),
    [
        ("", "the file is empty"),
        ("text,lable\na,b\n", "no column `label`; did you mean `lable`"),
        ("text,label,text\na,b,c\n", "2 columns are called `text`; rename all but one"),
        (
            "id,p,q,label\nr1,1,-2.5e3,a\n",
            "it has `id`.* holds numbers: `naively select --read numb",
        ),
        ("p,q,r\n1,2,3\n", "holds numbers: `naively select --read numbers`"),
        ("site,device,hour,label\na,b,3,1\n", "with --text and --label.$"),
        ("id,words,label\n1,spam,a\n", "`id`, `words`, `label`. Name .* --text and --label.$"),
        ("p,q,label\n", "`p`, `q`, `label`. Name .* with --text and --label.$"),
        ('"text,label\na,b\n', "line 1: .*--read quotes=false"),
    ],
)
def test_bad_headers_of_csv(tmp_path, content, match):
    refused(tmp_path, "a.csv", content, match)


def test_delimiter_must_be_one_character(tmp_path):
    for bad in ("ab", ""):
        layout = Layout(text=("text",), delimiter=bad)
        refused(
            tmp_path, "a.csv", "text,label\n", "`--read delimiter` must be one character", layout
        )


@pytest.mark.parametrize("literal", ["", 'a "b",neg\n'])
@pytest.mark.parametrize("order", ["text,label", "label,text", "id,text,label"])
@pytest.mark.parametrize("block", [1 << 23, 200])
def test_a_quotation_mark_closed_too_late_is_named(tmp_path, monkeypatch, order, literal, block):
    """It would swallow rows without a word: the one that closes it stands in a later row."""
    monkeypatch.setattr(stored, "BLOCK_BYTES", block)
    fields = [{"id": "1", "text": f"number {i}", "label": ("pos", "neg")[i % 2]} for i in range(60)]
    fields[10]["text"] = '"not closed'
    fields[40]["text"] = '5"' if order != "label,text" else 'five"'
    lines = [",".join(row[name] for name in order.split(",")) for row in fields]
    content = "\n".join([order, *lines, ""])
    if literal:
        content = content.replace("number 0", 'say "0"')
    refused(
        tmp_path, "a.csv", content, "line 12: .* closed only at line 42, and .*--read quotes=false"
    )
    unlabelled = Layout(text=("text",), needs_label=False)
    if order == "id,text,label":
        refused(tmp_path, "a.csv", content, "line 12: .* closed only at line 42", unlabelled)


# JSON Lines ------------------------------------------------------------------------------------


@pytest.mark.parametrize("before", [0, 30])
@pytest.mark.parametrize(
    ("line", "match"),
    [
        ('{"text": "a", ', "line {} is not JSON"),
        ('\n{"text": "a"}', "line {+}: there is no field `label`; it has `text`"),
        ('{"txt": "a", "label": "b"}', "line {}: there is no field `text`; did you mean `txt`"),
        ("[1, 2]", "line {} holds (an array|a bare value), not an object; write one object a line"),
        ("3", "line {} holds a bare value"),
        ("[" * 100_000, "line {} is not JSON"),
        ('{"text": "a", "label": [1]}', "line {}: column `label` holds a list, not a single"),
        ('{"text": ["a"], "label": "x"}', "line {}: column `text` holds a list, not text; name"),
        ('{"text": {}, "label": "x"}', "line {}: column `text` holds a dict, not text"),
        (b'{"text": "caf\x81", "label": "x"}', "line {}: byte 0x81 is not utf-8"),
    ],
)
def test_bad_json_lines(tmp_path, monkeypatch, line, match, before):
    # Behind thirty good lines it stands in another part and block.
    monkeypatch.setattr("naively.read.jsonl.PART_BYTES", 200)
    monkeypatch.setattr(stored, "BLOCK_BYTES", 70)
    good = b'{"text": "a", "label": "b"}\n' * before
    line = line if isinstance(line, bytes) else line.encode()
    match = match.replace("{}", str(before + 1)).replace("{+}", str(before + 2))
    refused(tmp_path, "a.jsonl", good + line + b"\n", match)


def test_json_lines_without_rows(tmp_path):
    refused(tmp_path, "a.jsonl", "", "holds no rows")
    refused(tmp_path, "a.jsonl", "\n \n", "holds no rows")


def test_tokens_that_are_none(tmp_path):
    layout = Layout(text=("text",), tokens=True)
    odd = (('"a b"', "a str"), ('["a", 1]', "a list with a int in it"), ("7", "a int"))
    for text, held in odd:
        line = f'{{"text": ["x"], "label": "y"}}\n{{"text": {text}, "label": "y"}}\n'
        match = f"line 2: column `text` holds {held}, and the analyzer tokens"
        refused(tmp_path, "a.jsonl", line, match, layout)


# Parquet ---------------------------------------------------------------------------------------


def parquet(**columns):
    out = io.BytesIO()
    pq.write_table(pa.table(columns), out, row_group_size=1)
    return out.getvalue()


@pytest.mark.parametrize(
    ("columns", "match"),
    [
        ({"text": ["a"], "lable": ["b"]}, "no column `label`; did you mean `lable`"),
        ({"p": [1], "q": [0.5], "label": ["a"]}, "no column `text`.* numbers: `naively select"),
        ({"txt": ["a"], "label": ["a"]}, "no column `text`; did you mean `txt`"),
        ({"text": ["a"], "label": [["a"]]}, "row 1: column `label` holds a list, not a single"),
        (
            {"text": pa.array([0], pa.timestamp("us")), "label": ["a"]},
            r"row 1: column `text` holds a datetime, not text",
        ),
    ],
)
def test_bad_parquet(tmp_path, columns, match):
    refused(tmp_path, "a.parquet", parquet(**columns), match)


def test_damaged_parquet(tmp_path):
    content = parquet(text=["a"], label=["b"])
    for bad in (b"", b"PAR1 nonsense", content[:-50]):
        refused(tmp_path, "a.parquet", bad, r"a\.parquet: this is not a Parquet file, or it is dam")


@pytest.mark.parametrize(("module", "name"), [("pyarrow", "a.parquet"), ("h5py", "a.h5ad")])
def test_without_the_extra(tmp_path, monkeypatch, module, name):
    monkeypatch.setitem(__import__("sys").modules, module, None)
    monkeypatch.setitem(__import__("sys").modules, f"{module}.parquet", None)
    extra = {"pyarrow": "arrow", "h5py": "anndata"}[module]
    layout = TEXT if module == "pyarrow" else Layout()
    refused(tmp_path, name, b"PAR1", rf"pip install 'naively\[{extra}\]'", layout)


def test_json_lines_without_arrow(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    (tmp_path / "a.jsonl").write_text('{"text": "a", "label": 1}\n')
    assert collected(parts_of(tmp_path / "a.jsonl", TEXT), TEXT).labels.tolist() == ["1"]


# Tables of numbers -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "layout", "match"),
    [
        ("g,h,type\n1,2,x\n", {"label": "kind"}, "there is no column `kind`.*--read transpose"),
        ("g,g,type\n1,2,x\n", {"label": "g"}, "2 columns are called `g`"),
        ("g,g,label\n1,2,x\n", {}, "2 columns are called `g`"),
        ("g,h,label\n1,2,x\n3,y,z\n", {}, "line 3: the value of `h` is 'y', not a number"),
        ("g,h,label\n1,2,x\n3,,z\n", {}, "line 3: the value of `h` is missing.*--read ignore='h'"),
        ("g,h,label\n1,2,x\n3,4\n", {}, "line 3 has 2 fields, the header has 3"),
        ("g,h,label\n1,nan,x\n", {}, "line 2: the value of `h` is not a finite number"),
        ("g,label\n", {}, "holds no rows"),
        ("", {}, "the file is empty"),
        ("g,label\n1,x\n", {"wanted": Wanted(1, ["i"])}, "the model needs the column `i`"),
        ("x,c1\ng,1\n", {"transpose": True}, "there is no row `label`.*--read labels=FILE"),
        ("x,c1\ng,1\nlabel,a\n", {"transpose": True, "wanted": Wanted(1, ["h"])}, "row `h`"),
        (
            "x,c1\ng,\nlabel,a\n",
            {"transpose": True},
            "line 2: .* of `c1` is miss.*--read ignore='g'",
        ),
        ("x,c1\ng,inf\nlabel,a\n", {"transpose": True}, "line 2: .*`c1` is not a finite number"),
        ("x,c1\ng,1\nlabel,a\n", {"transpose": True, "ignore": ("z",)}, "there is no row `z`"),
        ("g,h,label\n1,2,x\n", {"ignore": ("i",)}, "there is no column `i`"),
        ("words,label\nab cd,x\n", {}, "no column holds numbers; .*--text 'words'"),
    ],
)
def test_bad_tables_of_numbers(tmp_path, content, layout, match):
    refused(tmp_path, "a.csv", content, match, Layout(**layout))


def test_bad_numbers_of_parquet(tmp_path):
    content = parquet(cell=["r"] * 3, g=[1, None, 3], h=["x"] * 3, label=Y)
    layout = Layout(ignore=("h",))
    refused(tmp_path, "a.parquet", content, "row 2: the value of `g` is missing", layout)
    layout = Layout(ignore=("g",))
    refused(tmp_path, "a.parquet", content, "row 1: the value of `h` is 'x', not a numb", layout)
    content = parquet(g=[1.0, 2.0, np.inf], label=Y)
    refused(tmp_path, "a.parquet", content, "row 3: the value of `g` is not a finite", Layout())


# Matrices --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "match"),
    [
        (b"", "holds no rows"),
        (b"1 1:1\nham 2:1\n", "line 2 is not svmlight"),
        (b"1 1:1\n1 2\n", "line 2 is not svmlight"),
        (b"1 1:1\n1 2:x\n", "line 2 is not svmlight"),
        (b"1 1:1\n1 1:1:3 2\n", "line 2 is not svmlight"),
        (b"1 1:1\n\n1 5:1 4:1\n", "line 3 is not svmlight"),
        (b"1 -1:1\n", "line 1 is not svmlight"),
        (b"1 99999999999:1\n", "line 1 is not svmlight"),
        (b"1 1:nan\n", "line 1: the value of `1` is not a finite number"),
    ],
)
def test_bad_svmlight(tmp_path, monkeypatch, content, match):
    refused(tmp_path, "a.svm", content, match, Layout())
    monkeypatch.setattr("naively.read.jsonl.PART_BYTES", 5)
    refused(tmp_path, "a.svm", content, match, Layout())


@pytest.mark.parametrize(
    ("arrays", "match"),
    [
        ({"x": X, "y": Y}, "no array `X`; did you mean `x`"),
        ({"X": X}, "holds no labels; give them, one a line, with --read labels"),
        ({"X": X, "y": Y[:2]}, "2 cells of `y` for 3 rows"),
        ({"X": X, "y": [Y]}, "array `y` must have one dimension; it has 2"),
        ({"X": X[0], "y": Y}, "must have rows and columns"),
        ({"X": X[:, :0], "y": Y}, "must have rows and columns"),
        ({"X": X.astype(str), "y": Y}, "must hold numbers"),
        ({"X": X * 1j, "y": Y}, "must hold numbers"),
        ({"X": X, "y": Y, "feature_names": ["a"]}, "has 1 names.* has 4 columns"),
        ({"X": X, "y": Y, "feature_names": list("abca")}, "2 columns are called `a`"),
        ({"X": np.where(X > 2, np.nan, X), "y": Y}, "row 1: the value of `1` is not a finite"),
        ({"X": X, "y": np.ones(3) * 1j}, "array `y` holds complex128, not labels"),
        ({"X": X, "y": np.zeros(3, dtype=[("a", "i4")])}, "array `y` holds"),
    ],
)
def test_bad_npz(tmp_path, arrays, match):
    refused(tmp_path, "a.npz", saved(np.savez, **arrays), match, Layout())


def csr(**changes):
    S = sp.csr_array(X)
    parts = {"data": S.data, "indices": S.indices, "indptr": S.indptr, "shape": S.shape}
    return saved(np.savez, **{**parts, "format": "csr", "y": Y, **changes})


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"indices": [99, 0, 0, 0]}, "not consistent.*scipy.sparse.save_npz"),
        ({"shape": [3, 4, 5]}, "not consistent"),
        ({"shape": 7}, "not consistent"),
        ({"shape": ["3", "4"]}, "not consistent"),
        ({"format": "bsr"}, "sparse format 'bsr' is not read"),
        ({"data": [1.0, np.inf, 1, 1]}, "row 1: the value of `3` is not a finite number"),
        ({"shape": [2**45, 2]}, "its rows need .* GiB, this machine has"),
    ],
)
def test_bad_sparse_npz(tmp_path, changes, match):
    refused(tmp_path, "a.npz", csr(**changes), match, Layout())


@pytest.mark.parametrize("cut", [0, 10, 300])
def test_damaged_npz(tmp_path, cut):
    content = saved(np.savez, X=X, y=Y)[:cut]
    refused(tmp_path, "a.npz", content, r"a\.npz: this is not an \.npz file", Layout())


def test_one_array_instead_of_an_archive(tmp_path):
    refused(tmp_path, "a.npz", saved(np.save, X), r"one array; save X and y with", Layout())


HEAD = b"%%MatrixMarket matrix coordinate real general\n"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"no header\n",
        HEAD + b"3 x 1\n",
        HEAD,
        HEAD + b"3 4 1\n1 1 1\0\n",  # was a segmentation fault
        HEAD + b"3 4 1\n1 1 \xff\n",
        HEAD + b"3 4 1\n1 1 1rket",  # another: SciPy reads on behind the last line
        b"%%MatrixMarket matrix array integer general\n2 2\n0\n1\n2\n0d",
        b"%%MatrixMarket matrix array integer general\n2 2\n0\n1\n2d\n0\n",
        HEAD + b"3 4 999999999999\n1 1 1\n",
        HEAD + b"3 4 2\n1 1 1\n",
        HEAD + b"3 4 1\n9 9 1\n",
        b"%%MatrixMarket matrix array real general\n100000 100000\n1\n",
    ],
)
def test_bad_matrix_market(tmp_path, content):
    (tmp_path / "y.txt").write_text("a\nb\na")
    layout = Layout(labels_file=str(tmp_path / "y.txt"))
    refused(tmp_path, "a.mtx", content, "not a Matrix Market file, or it is damaged", layout)


def test_matrix_market_beyond_memory(tmp_path):
    (tmp_path / "y.txt").write_text("a")
    layout = Layout(labels_file=str(tmp_path / "y.txt"))
    content = HEAD + b"99999999999999 4 1\n1 1 1\n"
    refused(tmp_path, "a.mtx", content, "its rows need .* GiB, this machine has", layout)


def claims(format, rows, columns):
    """One entry in a sparse matrix of a shape that a few bytes claim."""
    arrays = {"data": np.ones(1), "shape": np.array([rows, columns])}
    csc = {"indices": np.zeros(1, int), "indptr": np.array([0, *[1] * min(columns, 10)])}
    if format == "mtx":
        return "a.mtx", HEAD + b"%d %d 1\n1 1 1\n" % (rows, columns)
    if format == "csc":
        return "a.npz", saved(np.savez, format=np.array("csc"), **arrays, **csc)
    if format == "coo":
        place = {"row": np.zeros(1, int), "col": np.zeros(1, int)}
        return "a.npz", saved(np.savez, format=np.array("coo"), **arrays, **place)
    out = io.BytesIO()
    with h5py.File(out, "w") as file:
        group = file.create_group("X")
        group.attrs["encoding-type"] = "csc_matrix"
        group.attrs["shape"] = [rows, columns]
        for name, values in {"data": arrays["data"], **csc}.items():
            group[name] = values
        for frame in ("obs", "var"):
            index = ["a", "b", "c"][: columns if frame == "var" else 3]
            file.create_group(frame).attrs["_index"] = "_index"
            file[frame].create_dataset("_index", data=index, dtype=h5py.string_dtype())
    return "a.h5ad", out.getvalue()


@pytest.mark.parametrize("format", ["mtx", "csc", "coo", "h5ad"])
def test_rows_that_a_few_bytes_claim_are_refused_before_they_cost_memory(tmp_path, format):
    import tracemalloc

    (tmp_path / "y.txt").write_text("a")
    layout = Layout(labels_file=str(tmp_path / "y.txt"))
    name, content = claims(format, 300_000_000, 3)
    tracemalloc.start()
    words = "300,000,000 rows are said to have 1 entries; check its number of rows"
    refused(tmp_path, name, content, words, layout)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1e8  # of 8 bytes a row, 2.4e9 would be taken
    if format in ("mtx", "coo"):  # the other way round they are columns, which may be very many
        name, content = claims(format, 3, 300_000_000)
        turned = Layout(labels_file=str(tmp_path / "y.txt"), transpose=True)
        refused(tmp_path, name, content, words, turned)


def test_sparse_rows_are_read_though_most_are_empty(tmp_path):
    rows = 200_000
    (tmp_path / "y.txt").write_text("a\n" * rows)
    (tmp_path / "a.mtx").write_bytes(HEAD + b"%d 3 1\n7 1 1\n" % rows)
    layout = Layout(labels_file=str(tmp_path / "y.txt"))
    found = collected(parts_of(tmp_path / "a.mtx", layout), layout)
    assert found.rows.shape == (rows, 3)


def test_labels_beside(tmp_path):
    (tmp_path / "y.txt").write_text("a\nb\n")
    layout = Layout(labels_file=str(tmp_path / "y.txt"))
    content = saved(np.savez, X=X)
    refused(tmp_path, "a.npz", content, r"holds 2 labels, .*a\.npz has 3 rows", layout)
    (tmp_path / "b.npz").write_bytes(content)
    with pytest.raises(InputError, match="--read labels belongs to one file; got 2 files"):
        parts_of([tmp_path / "a.npz", tmp_path / "b.npz"], layout)


# AnnData ---------------------------------------------------------------------------------------


def anndata(change=None):
    out = io.BytesIO()
    with h5py.File(out, "w") as file:
        file["X"] = X
        for frame, n in (("obs", 3), ("var", 4)):
            file.create_group(frame).attrs["_index"] = "_index"
            file[frame]["_index"] = [f"{frame}{i}".encode() for i in range(n)]
        file["obs/type"] = [b"a", b"b", b"a"]
        if change:
            change(file)
    return out.getvalue()


def dropped(name):
    return lambda file: file.__delitem__(name)


def claimed(name, shape, **options):
    def change(file):
        del file[name]
        file.create_dataset(name, shape=shape, dtype="f8", chunks=True, **options)

    return change


@pytest.mark.parametrize(
    ("change", "label", "match"),
    [
        (None, "typ", "obs: there is no column `typ`; did you mean `type`"),
        (None, None, "obs: there is no column `label`"),
        (dropped("X"), "type", "there is no `X`; this is not an AnnData file"),
        (lambda file: file["obs"].attrs.clear(), "type", "an old version of anndata"),
        (dropped("var/_index"), "type", "not an AnnData file, or it is damaged"),
        (claimed("X", (2**40, 4)), "type", "its rows need .* GiB, this machine has"),
        (claimed("X", (3, 2**40)), "type", "its columns need .* GiB, this machine has"),
        (claimed("obs/type", (2**40,)), "type", "/obs/type need .* GiB, this machine has"),
        (claimed("obs/type", (5,)), "type", "5 cells of `type` for 3 rows"),
        (claimed("X", (4,)), "type", "must have rows and columns"),
    ],
)
def test_bad_anndata(tmp_path, change, label, match):
    refused(tmp_path, "a.h5ad", anndata(change), match, Layout(label=label))


def test_damaged_anndata(tmp_path):
    for content in (b"", b"nothing of the kind", anndata()[:800]):
        refused(tmp_path, "a.h5ad", content, "not an AnnData file, or it is damaged", Layout())


# Packed files ----------------------------------------------------------------------------------

PACKERS = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}


def test_a_name_that_promises_compression_over_other_content(tmp_path):
    refused(tmp_path, "a.csv.gz", "text,label\n", r"not gz data.*take `\.gz` off")


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.svm", "a.parquet", "a.npz", "a.mtx"])
@pytest.mark.parametrize("suffix", PACKERS)
def test_packed_data_cut_off(tmp_path, name, suffix):
    RNG = np.random.default_rng(0)
    rows = [f"{i} {RNG.bytes(12).hex()}" for i in range(20_000)]
    content = {
        ".csv": "text,label\n" + "".join(f"{row},x\n" for row in rows),
        ".jsonl": "".join(f'{{"text": "{row}", "label": "x"}}\n' for row in rows),
        ".svm": "".join(f"1 {1 + int(row[-3:], 16)}:{i}\n" for i, row in enumerate(rows)),
    }.get(name[1:], "".join(rows))
    packed = PACKERS[suffix](content.encode())
    layout = TEXT if name in ("a.csv", "a.jsonl", "a.parquet") else Layout()
    match = r"broken or cut off.*get the file again"
    message = refused(tmp_path, name + suffix, packed[: len(packed) // 2], match, layout)
    assert name + suffix in message


def test_bombs_are_refused_before_memory_is_taken(tmp_path, monkeypatch):
    monkeypatch.setattr(stored, "_memory", lambda: 1 << 20)
    monkeypatch.setattr(stored, "LARGEST_LINE", 1 << 20)
    zeros = b"0" * (1 << 24)
    refused(tmp_path, "a.csv.gz", gzip.compress(b"text,label\n" + zeros), "longer than|field larg")
    refused(tmp_path, "a.jsonl.gz", gzip.compress(zeros), "longer than 1 MiB")
    refused(tmp_path, "a.parquet.gz", gzip.compress(zeros), "packed in it needs more than")
    content = saved(np.savez_compressed, X=np.zeros((1 << 12, 1 << 10)))
    refused(tmp_path, "a.npz", content, "its arrays need .* GiB, this machine has", Layout())


def test_an_archive_that_claims_more_than_it_has(tmp_path):
    out = io.BytesIO()
    header = np.lib.format.header_data_from_array_1_0(np.zeros(1))
    with zipfile.ZipFile(out, "w") as archive, archive.open("X.npy", "w") as file:
        np.lib.format.write_array_header_1_0(file, {**header, "shape": (1 << 40, 4)})
    refused(
        tmp_path, "a.npz", out.getvalue(), "`X` claims to need more memory than there is", Layout()
    )


# Files and encodings ---------------------------------------------------------------------------


@pytest.mark.parametrize("encoding", ["utf-16", "punycode", "undefined", "a\0b", "utf-99", "ascii"])
def test_encodings_that_fail_in_their_own_way(tmp_path, encoding):
    layout = Layout(text=("text",), encoding=encoding)
    refused(tmp_path, "a.csv", b"text\xff,label\n", "encoding", layout)


def test_utf_16_that_is_said_to_be_utf_8(tmp_path):
    content = "text,label\na,b\n".encode("utf-16")
    layout = Layout(text=("text",), encoding="utf-8")
    refused(tmp_path, "a.csv", content, r"UTF-16; read it with --read encoding=utf-16", layout)


def test_missing_files_and_folders(tmp_path):
    (tmp_path / "reviews.tsv").touch()
    with pytest.raises(InputError, match=r"no such file; did you mean `reviews\.tsv`\?"):
        parts_of(tmp_path / "review.tsv", TEXT)
    with pytest.raises(InputError, match=r"it is a folder; name a file, or many by .*\*\.csv"):
        find_files(tmp_path)
    with pytest.raises(InputError, match=r"a\*\.csv: no such file; check the name"):
        parts_of(str(tmp_path / "a*.csv"), TEXT)
    with pytest.raises(InputError, match="no file is called so"):
        parts_of("a\0.csv", TEXT)


def test_formats_that_the_name_does_not_tell(tmp_path):
    refused(tmp_path, "data.xyz", "", r"data\.xyz: .*--read format=csv\|tsv")
    refused(tmp_path, "data.ods", "", "spreadsheet is not read; save it as .xlsx or CSV")


# Options without effect ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("layout", "format", "match"),
    [
        (Layout(text=("a",)), "npz", "--text has no effect on texts in npz, only on texts in csv"),
        (Layout(delimiter=";"), "npz", "--read delimiter has no effect on numbers in npz"),
        (Layout(transpose=True), "h5ad", "--read transpose has no effect on numbers in h5ad"),
        (
            Layout(transpose=True, text=("a",)),
            "csv",
            "--read transpose has no effect on texts in csv",
        ),
        (Layout(ignore=("a",), text=("a",)), "csv", "--read ignore has no effect on texts in csv"),
        (Layout(layer="raw"), "csv", "--read layer has no effect .*, only on numbers in h5ad"),
        (Layout(key="id"), "svmlight", "--id has no effect"),
        (Layout(split="part"), "mtx", "--read split has no effect"),
        (Layout(label="x"), "mtx", "--label has no effect"),
        (Layout(labels_file="y", text=("a",)), "csv", "--read labels has no effect on texts"),
        (Layout(names_file="y"), "csv", "--read names has no effect on numbers in csv"),
        (Layout(encoding="latin-1"), "parquet", "--read encoding has no effect"),
        (Layout(header=False), "jsonl", "--read header has no effect"),
        (Layout(quotes=False), "jsonl", "--read quotes has no effect"),
        (Layout(tokens=True, text=("a",)), "csv", "--words analyzer=tokens has no effect"),
    ],
)
def test_options_without_effect_are_refused(layout, format, match):
    with pytest.raises(InputError, match=match) as caught:
        check_effects(layout, format)
    assert str(caught.value).endswith("; leave it out.")


def test_the_usual_layout_fits_every_format():
    for name, format in FORMATS.items():
        check_effects(Layout(), name)
        if format.holds == "table":
            check_effects(TEXT, name)
    assert json.dumps(sorted(FORMATS))
