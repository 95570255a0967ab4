"""Input files of the command lines, made from fixed seeds: a function for each set of files.

A function returns the content of each file by name. A file whose name starts with `probe` is what
models written by the command line are asked about afterwards.
"""

from __future__ import annotations

import bz2
import csv
import functools
import gzip
import io
import json
import lzma
import random
from collections.abc import Callable, Sequence
from typing import Any

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import scipy.io
import scipy.sparse as sp

Files = dict[str, bytes]
BUILDERS: dict[str, Callable[[], Files]] = {}


def files(builder: Callable[[], Files]) -> Callable[[], Files]:
    """Register a set of files under the name of its function; it is made once."""
    BUILDERS[builder.__name__] = functools.cache(builder)
    return BUILDERS[builder.__name__]


def delimited(table: Sequence[Sequence[Any]], delimiter: str = ",") -> bytes:
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter, lineterminator="\n").writerows(table)
    return out.getvalue().encode()


def json_lines(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> bytes:
    records = [dict(zip(names, row, strict=True)) for row in rows]
    return "".join(json.dumps(each, ensure_ascii=False) + "\n" for each in records).encode()


def parquet(names: Sequence[str], rows: Sequence[Sequence[Any]], row_group: int = 30) -> bytes:
    out = io.BytesIO()
    columns = dict(zip(names, zip(*rows, strict=True), strict=True))
    pq.write_table(pa.table(columns), out, row_group_size=row_group)
    return out.getvalue()


def npz(**arrays: Any) -> bytes:
    out = io.BytesIO()
    np.savez(out, **arrays)
    return out.getvalue()


def svmlight(X: Any, y: Sequence[int], first: int = 1) -> bytes:
    lines = []
    for label, row in zip(y, np.asarray(X), strict=True):
        cells = [f"{j + first}:{row[j]:g}" for j in np.flatnonzero(row)]
        lines.append(" ".join([str(label), *cells]) + "\n")
    return "".join(lines).encode()


def matrix_market(X: Any) -> bytes:
    out = io.BytesIO()
    scipy.io.mmwrite(out, sp.csr_matrix(X))
    return out.getvalue()


def lines_of(words: Sequence[Any]) -> bytes:
    return "".join(f"{word}\n" for word in words).encode()


# Texts -------------------------------------------------------------------------------------------

GOOD = "great lovely superb charming moving"
BAD = "awful boring dull wretched tired"
TALK = "film story actor scene plot the and very this was ending music camera"
NAMES = ("text", "label", "split")


def reviews(n: int = 60, seed: int = 1) -> list[tuple[str, str, str]]:
    """Texts of two kinds; a word in eight is of the other kind."""
    rng = random.Random(seed)
    rows = []
    for i in range(n):
        kind = "pos" if rng.random() < 0.55 else "neg"
        said = (GOOD if (kind == "pos") != (rng.random() < 0.125) else BAD).split()
        words = rng.choices(said, [5, 4, 3, 2, 1], k=2) + rng.choices(TALK.split(), k=5)
        rng.shuffle(words)
        rows.append((" ".join(words).capitalize() + ".", kind, "test" if i % 4 == 3 else "train"))
    return rows


PROBE = [
    ("A superb film, a lovely, lovely plot", "pos"),
    ("boring and dull and awful music", "neg"),
    ("This camera was very tired; great ending", "pos"),
    ("nothing known", "neg"),
    ("", "neg"),
]
PROBES = {"probe.csv": delimited([("text", "label"), *PROBE])}


@files
def review_tables() -> Files:
    """The same reviews in every format of tables."""
    rows = reviews()
    header = [NAMES, *rows]
    return {
        "reviews.csv": delimited(header),
        "reviews.tsv": delimited(header, "\t"),
        "reviews.tab": delimited(header, "\t"),
        "semicolons.dat": delimited(header, ";"),
        "latin.csv": delimited([NAMES, *((f"{t} café", y, s) for t, y, s in rows)])
        .decode()
        .encode("latin-1"),
        "wide.csv": delimited(header).decode().encode("utf-16"),
        "marked.csv": b"\xef\xbb\xbf" + delimited(header),
        "bare.tsv": b"".join(f'{y}\t"{t} so\n'.encode() for t, y, _ in rows),
        "reviews.jsonl": json_lines(NAMES, rows),
        "reviews.json": json_lines(NAMES, rows),
        "reviews.parquet": parquet(NAMES, rows),
        "reviews.tsv.gz": gzip.compress(delimited(header, "\t"), mtime=0),
        "reviews.csv.bz2": bz2.compress(delimited(header)),
        "reviews.jsonl.xz": lzma.compress(json_lines(NAMES, rows)),
        "packed": gzip.compress(delimited(header), mtime=0),
        "more.csv": delimited([NAMES[:2], *(row[:2] for row in reviews(24, seed=7))]),
        "more.tsv": delimited([NAMES[:2], *(row[:2] for row in reviews(24, seed=7))], "\t"),
        "stop.txt": b"film\nSuperb\n",
        **PROBES,
    }


@files
def shards() -> Files:
    """Reviews in four files of each of two formats."""
    rows = [row[:2] for row in reviews(120, seed=2)]
    found = dict(PROBES)
    for i in range(4):
        found[f"data/{i}.parquet"] = parquet(NAMES[:2], rows[30 * i : 30 * i + 30], 12)
        found[f"lines/{i}.jsonl"] = json_lines(NAMES[:2], rows[30 * i : 30 * i + 30])
    found["all.parquet"] = parquet(NAMES[:2], rows, 50)
    found["all.csv"] = delimited([NAMES[:2], *rows])
    found["other.csv"] = delimited([NAMES[:2], *(row[:2] for row in reviews(20, seed=5))])
    return found


@files
def topics() -> Files:
    """Texts of four kinds, one of them rare, with identifiers and a test of other labels."""
    rng = random.Random(3)
    kinds = {"sport": "ball goal team", "food": "bread soup salt", "law": "court judge act"}
    rows = []
    for i in range(63):
        kind = list(kinds)[i % 3]
        said = rng.choices(kinds[kind].split(), k=2) + rng.choices(TALK.split(), k=3)
        rows.append((f"n{i}", " ".join(said), kind))
    rows += [("n63", "rain wind sun", "sky"), ("n64", "rain storm", "sky")]
    header = ("id", "body", "topic")
    probe = [("x1", "a ball in court"), ("x,2", "soup and salt, rain"), ("x3", "")]
    return {
        "topics.csv": delimited([header, *rows]),
        "probe.csv": delimited([header[:2], *probe]),
        "unseen.csv": delimited([header, *rows[:9], ("u", "engine wheel", "cars")]),
    }


@files
def posts() -> Files:
    """Texts in two columns."""
    rng = random.Random(4)
    subjects = {"sale": "cheap offer discount win", "work": "meeting agenda report minutes"}
    rows = []
    for i in range(80):
        group = "sale" if i % 2 else "work"
        other = "work" if group == "sale" else "sale"
        said = [group if rng.random() < share else other for share in (0.9, 0.8)]
        body = rng.choices(TALK.split(), k=rng.randint(3, 15))
        body.append(rng.choice(subjects[said[1]].split()))
        subject = rng.choice(subjects[said[0]].split()) if rng.random() < 0.8 else ""
        rows.append((subject, " ".join(body), group, "train" if i < 60 else "test"))
    names = ("subject", "body", "group", "split")
    return {
        "posts.jsonl": json_lines(names, rows),
        "posts.parquet": parquet(names, rows),
        "few.csv": delimited([names, *((s, "a plot", g, p) for s, _, g, p in rows[:12])]),
        "probe.jsonl": json_lines(
            names[:2], [("cheap", "the plot"), ("", "agenda"), ("win report", "offer film")]
        ),
    }


@files
def tokens() -> Files:
    """Lists of strings instead of texts."""
    rows = [(text.rstrip(".").title().split(), y) for text, y, _ in reviews(60, seed=6)]
    rows[7] = ([], rows[7][1])
    probe = [(["Superb", "Film"], "pos"), (["superb"], "pos"), ([], "neg")]
    return {
        "t.jsonl": json_lines(NAMES[:2], rows),
        "t.parquet": parquet(NAMES[:2], rows),
        "stop.txt": b"Film\n",
        "probe.jsonl": json_lines(NAMES[:2], probe),
    }


@files
def votes() -> Files:
    """A word that rules a class out, and many classes."""
    rows = [(f"common {'aye' if i % 2 else 'nay'}", "yn"[i % 2 == 0]) for i in range(40)]
    many = [(f"tongue{i % 30} common", f"lang{i % 30}") for i in range(90)]
    return {
        "votes.csv": delimited([NAMES[:2], *rows]),
        "many.csv": delimited([NAMES[:2], *many]),
        "probe.csv": delimited([("text",), ("aye",), ("nay nay",), ("aye nay",), ("tongue3",)]),
    }


@files
def odd_texts() -> Files:
    """Quotes, line ends, other scripts, control characters and marks in texts and names."""
    said = [
        'so "fine",\nreally',
        "süß 日本 😀",
        "tab\tand \x1b[31mred",
        "<b>bold</b> & co",
        "e = mc²",
    ]
    rows = [
        (f"{said[i % 5]} {'yes' if i % 2 else 'nope'} x{i % 3}", "AB"[i % 2]) for i in range(40)
    ]
    return {
        "odd.csv": delimited([("text", "label"), *rows]),
        "odd.jsonl": json_lines(("text", "label"), rows),
        "odd name [1].csv": delimited([("text", "label"), *rows]),
        "probe.csv": delimited([("text",), ("süß yes",), ('"nope"',)]),
    }


# Numbers -----------------------------------------------------------------------------------------


def expression() -> tuple[Any, list[str]]:
    """Real numbers of three types; columns 3 and 7 tell them apart."""
    rng = np.random.default_rng(4)
    y = [f"type{i % 3}" for i in range(45)]
    kind = np.arange(45) % 3
    X = rng.normal(size=(45, 10))
    X[:, 3] += 3 * (kind == 1)
    X[:, 7] -= 2.5 * (kind == 2)
    X[:, 1] *= 1 + 2 * (kind == 0)
    return np.round(X, 3), y


def number_table(X: Any, y: Sequence[str], first: str = "cell") -> list[list[Any]]:
    names = [f"gene{i}" for i in range(X.shape[1])]
    rows = [
        [f"c{i}", *row, label] for i, (row, label) in enumerate(zip(X.tolist(), y, strict=True))
    ]
    return [[first, *names, "type"], *rows]


def h5ad(X: Any, y: Sequence[str], called: str = "gene") -> bytes:
    """Lay a matrix down as AnnData files do."""
    out = io.BytesIO()
    strings = h5py.string_dtype()
    with h5py.File(out, "w") as file:
        if sp.issparse(X):
            group = file.create_group("X")
            group.attrs["encoding-type"] = "csr_matrix"
            group.attrs["shape"] = X.shape
            for part in ("data", "indices", "indptr"):
                group[part] = getattr(X, part)
        else:
            file["X"] = X
        obs, var = file.create_group("obs"), file.create_group("var")
        obs.attrs["_index"] = var.attrs["_index"] = "_index"
        cells = [f"c{i}" for i in range(X.shape[0])]
        obs.create_dataset("_index", data=cells, dtype=strings)
        genes = [f"{called}{i}" for i in range(X.shape[1])]
        var.create_dataset("_index", data=genes, dtype=strings)
        obs.create_dataset("type", data=list(y), dtype=strings)
    return out.getvalue()


@files
def genes() -> Files:
    """A table of real numbers, and the same turned, packed and as matrices."""
    X, y = expression()
    table = number_table(X, y)
    turned = list(zip(*table, strict=True))
    names, *rows = table
    return {
        "genes.csv": delimited(table),
        "genes.tsv": delimited(table, "\t"),
        "genes.csv.gz": gzip.compress(delimited(table), mtime=0),
        "genes.parquet": parquet(names, rows),
        "turned.csv": delimited(turned),
        "unlabelled.csv": delimited(turned[:-1]),
        "types.txt": lines_of(y),
        "batch.csv": delimited(
            [[*row[:3], "batch" if not i else i % 4, *row[3:]] for i, row in enumerate(table)]
        ),
        "m.npz": npz(X=X, y=np.array(y)),
        "m.h5ad": h5ad(X, y),
        "sparse.h5ad": h5ad(sp.csr_matrix(np.where(np.abs(X) > 0.5, X, 0)), y),
        "probe.csv": delimited([row[:-1] for row in table[:6]]),
    }


def counted(n: int = 48, m: int = 8) -> tuple[Any, list[str]]:
    """Counts of two classes."""
    rng = np.random.default_rng(8)
    y = np.arange(n) % 2
    rates = rng.gamma(1.0, 1.5, (2, m))
    return rng.poisson(rates[y]), ["odd" if each else "even" for each in y]


@files
def matrices() -> Files:
    """Counts in every format of matrices."""
    X, y = counted()
    numeric = [int(label == "odd") for label in y]
    names = [f"w{i}" for i in range(X.shape[1])]
    sparse = io.BytesIO()
    sp.save_npz(sparse, sp.csr_matrix(X), compressed=False)
    table = [[*names, "y"], *([*row, label] for row, label in zip(X.tolist(), y, strict=True))]
    split = ["test" if i % 3 == 0 else "train" for i in range(len(y))]
    return {
        "m.svmlight": svmlight(X, numeric),
        "m.svm.gz": gzip.compress(svmlight(X, numeric), mtime=0),
        "zero.libsvm": svmlight(X, numeric, first=0),
        "m.mtx": matrix_market(X),
        "m.mtx.gz": gzip.compress(matrix_market(X), mtime=0),
        "s.npz": sparse.getvalue(),
        "m.npz": npz(X=X, y=np.array(y), feature_names=np.array(names)),
        "split.npz": npz(X=X, y=np.array(y), split=np.array(split)),
        "plain.npz": npz(X=X),
        "wide.npz": npz(X=np.ones((2, 99))),
        "negative.npz": npz(X=X - 1, y=np.array(y)),
        "missing.npz": npz(X=np.where(X == 2, np.nan, X), y=np.array(y)),
        "numbers.csv": delimited(table),
        "hours.csv": delimited(
            [["hours", *table[0]], *([1 + sum(r[:-1]) / 2, *r] for r in table[1:])]
        ),
        "holes.csv": delimited(
            [
                table[0],
                *([*("" if cell == 2 else cell for cell in r[:-1]), r[-1]] for r in table[1:]),
            ]
        ),
        "m.h5ad": h5ad(X, y, "w"),
        "names.txt": lines_of(names),
        "labels.txt": lines_of(y),
        "short.txt": lines_of(y[:5]),
        "train.mtx": matrix_market(X[:30]),
        "train.txt": lines_of(y[:30]),
        "test.mtx": matrix_market(X[30:]),
        "test.txt": lines_of(y[30:]),
        "probe.npz": npz(X=X[:5], feature_names=np.array(names)),
    }


@files
def patients() -> Files:
    """A table of numbers, truth values, counts, categories and texts, with holes."""
    draw, rows = random.Random(8), list[list[Any]]()
    for i in range(80):
        ill = i % 5 < 2
        words = ["ache", "cough", "rash"] if ill else ["fine", "rest", "rash"]
        row = [
            round(draw.gauss(62 if ill else 48, 11), 1),
            draw.random() < (0.6 if ill else 0.3),
            draw.randrange(5 if ill else 3),
            draw.choice(["Oslo", "Bergen", "Voss"]),
            " ".join(draw.sample(words, 2)),
        ]
        rows.append([None if draw.random() < 0.1 else cell for cell in row[:4]] + row[4:])
    names, label = ["age", "smokes", "visits", "town", "note"], ["ill", "well"]
    whole = [[*row, label[i % 5 >= 2]] for i, row in enumerate(rows)]
    odd = [50, True, 1, "Rome", "x"]
    halves = {
        f"half-{part}.csv": delimited([[*names, "label"], *whole[part::2]]) for part in range(2)
    }
    return {
        "patients.csv": delimited([[*names, "label"], *whole]),
        "patients.parquet": parquet([*names, "label"], whole),
        "patients.jsonl": json_lines([*names, "label"], whole),
        **halves,
        "probe.jsonl": json_lines(names, [*rows[:6], [None] * 4 + [""], odd]),
    }


@files
def pixels() -> Files:
    """Images of 3 by 4 pixels."""
    rng = np.random.default_rng(9)
    y = np.arange(40) % 2
    X = rng.poisson(2, (40, 12)) + 3 * np.outer(y, np.arange(12) % 4 == 1)
    return {"pixels.npz": npz(X=X, y=y), "probe.npz": npz(X=X[:4])}


# Mistakes ----------------------------------------------------------------------------------------


@files
def mistakes() -> Files:
    """Files that are wrong, one mistake each."""
    rows = "aa bb,x\nbb cc,y\n" * 9
    good = delimited([NAMES[:2], *(row[:2] for row in reviews(20))])
    return {
        "good.csv": good,
        "empty.csv": b"",
        "header.csv": b"text,label\n",
        "txt.csv": b"txt,label\na,b\n",
        "one.csv": b"text,label\na b,x\nc d,x\n",
        "unlabelled.csv": b"text,label\na,x\nb,\n",
        "ragged.csv": b"text,label\na,x\nb\n",
        "longer.csv": b"text,label\na,x\nb,y,z\n",
        "bytes.csv": b"text,label\na,x\n\x81,y\n",
        "quote.csv": b'text,label\n"a,x\n',
        "stray.csv": b'text,label\n"ab"c,x\nd,y\n',
        "wordless.csv": b"text,label\n?,x\n!,y\n",
        "small.csv": f"text,label\n{rows}".encode(),
        "keys.csv": ("text,id\n" + "".join(f"aa,{i}\n" for i in range(24))).encode(),
        "left.csv": b"text,label,split\na,x,left\n",
        "untested.csv": b"text,label,split\na,x,train\n",
        "twice.csv": b"text,text,label\na,b,x\n",
        "semicolon.csv": b"text;label\na;b\n",
        "numeric.csv": b"p,q,r\n1,2,3\n",
        "word.csv": b"g,h,type\n1,2,x\n3,y,z\n",
        "gap.csv": b"g,h,type\n1,2,x\n3,,z\n",
        "nan.csv": b"g,h,type\n1,nan,x\n2,1,y\n",
        "nan.jsonl": b'{"text": "a", "label": NaN}\n',
        "cut.jsonl": b'{"text": "a", "label": "x"}\n{"text": "a"\n',
        "list.jsonl": b'{"text": ["ab"], "label": "x"}\n',
        "array.jsonl": b"[1, 2]\n",
        "fieldless.jsonl": b'{"text": "a", "label": "b"}\n{"text": "a"}\n',
        "plain.tsv.gz": b"text\tlabel\n",
        "cut.csv.gz": gzip.compress(good, mtime=0)[:-40],
        "what.xyz": b"text,label\n",
        "book.ods": b"PK",
        "no.parquet": b"no",
        "no.npz": b"no",
        "no.mtx": b"no",
        "no.h5ad": b"no",
        "no.svmlight": b"1 1:x\n",
        "reals.svmlight": b"1 1:nan\n",
        "six.csv": ("text,label\n" + "good day,p\nbad day,n\n" * 3).encode(),
        "each.csv": ("text,label\n" + "".join(f"word{i} a,c{i}\n" for i in range(9))).encode(),
        "rare.csv": ("text,label\nodd film,rare\n" + "good film,p\nbad film,n\n" * 9).encode(),
        "full/diary.txt": b"mine",
        "texts/pos/1.txt": b"a superb film",
        "texts/neg/1.txt": b"a dull film",
        "note.txt": b"a superb film\na dull film\n",
    }


@files
def nothing() -> Files:
    """No file at all."""
    return {}
