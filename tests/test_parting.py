"""Which rows are held out: decided by what they hold, whatever file or shard they are in."""

import gzip
import io
import json
from collections import Counter
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.io
import scipy.sparse as sp
from hypothesis import given, settings, strategies as st

from naively.judging import parting as rule
from naively.judging.parting import TEST, TRAIN, Parting
from naively.read.layout import Layout
from naively.read.parts import aligned, parts_of
from naively.text.features import TextFeatures
from naively.work.stream import rows_by_kind, tasks_of

RNG = np.random.default_rng(0)
WORDS = [
    "good",
    "bad",
    "film",
    "plot",
    "scene",
    "actor,",
    '"quoted"',
    "naïve",
    "ünder",
    "long",
    "dull",
]
TEXTS = [" ".join(RNG.choice(WORDS, RNG.integers(1, 9))) + f" {i}" for i in range(400)]
TEXTS[300:] = TEXTS[:100]  # copies
LABELS = RNG.choice(["no", "yes", "it"], 400, p=[0.7, 0.25, 0.05]).tolist()
LABELS[300:] = LABELS[:100]
PARTING = Parting(0.25, seed=3, n_folds=4)
TEXT = Layout(text=("text",))


@pytest.fixture(params=["few", "many"])
def amount(request, monkeypatch):
    """Rows that are dealt out exactly, and rows whose kind is drawn one by one."""
    if request.param == "many":
        monkeypatch.setattr("naively.work.stream.FEW_ROWS", 10)
    return request.param


def kinds(files, layout, parting=PARTING, key=lambda batch, i: batch.rows.decoded(i)):
    """How often each row, with its label, is of each kind."""
    parts = parts_of(files, layout)
    layout = aligned(parts, layout)
    found = Counter()
    for task in tasks_of(parts, TextFeatures(), layout, parting=parting, n_jobs=2):
        for part in task.parts:
            for seen in rows_by_kind(task, part):
                for i, label in enumerate(seen.names[seen.codes].tolist()):
                    found[key(seen.batch, i), label, int(seen.kinds[i])] += 1
    return found


def lines(rows):
    return "".join(json.dumps({"label": y, "text": t}) + "\n" for t, y in rows).encode()


def table(rows, mark):
    quoted = ['"' + t.replace('"', '""') + '"' for t, _ in rows]
    return "".join(
        f"{a}{mark}{b}\n" for a, b in [("text", "label"), *zip(quoted, LABELS, strict=False)]
    ).encode()


def test_copies_in_other_files_formats_and_shards_hold_out_the_same_texts(
    tmp_path, monkeypatch, amount
):
    rows = list(zip(TEXTS, LABELS, strict=True))
    (tmp_path / "a.jsonl").write_bytes(lines(rows))
    expected = kinds(tmp_path / "a.jsonl", TEXT)
    assert {kind for _, _, kind in expected} == {TEST, *range(TRAIN, TRAIN + 4)}
    assert expected.total() == 400

    (tmp_path / "other.jsonl").write_bytes(lines(rows))
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(lines(rows)))
    (tmp_path / "a.csv").write_bytes(table(rows, ","))
    (tmp_path / "a.tsv").write_bytes(table(rows, "\t"))
    arrow = pa.table({"text": TEXTS, "label": LABELS})
    pq.write_table(arrow, tmp_path / "a.parquet", row_group_size=37)
    for name in ("other.jsonl", "a.jsonl.gz", "a.csv", "a.tsv", "a.parquet"):
        assert kinds(tmp_path / name, TEXT) == expected, name

    for i, start in enumerate(range(0, 400, 130)):
        (tmp_path / f"shard{9 - i}.jsonl").write_bytes(lines(rows[start : start + 130]))
    assert kinds(str(tmp_path / "shard*.jsonl"), TEXT) == expected
    (tmp_path / "turned.jsonl").write_bytes(lines(rows[::-1]))
    assert kinds(tmp_path / "turned.jsonl", TEXT) == expected

    piped = SimpleNamespace(buffer=io.BytesIO(lines(rows)))
    monkeypatch.setattr("sys.stdin", piped)
    assert kinds("-", Layout(text=("text",), format="jsonl")) == expected


def test_copies_in_other_formats_hold_out_the_same_numbers(tmp_path, amount):
    X = RNG.poisson(0.4, (300, 30)) * RNG.choice([1, 0.1], (300, 30))
    X[:, -1] = 1 + np.arange(300) % 7  # the last column occurs
    y = np.unique(LABELS[:300], return_inverse=True)[1].astype(str)  # svmlight has numbers only

    def dense(batch, i):
        row = batch.rows[[i]]
        row = row.toarray() if sp.issparse(row) else row
        return tuple(row[0].astype(np.float32).tolist())

    def found(name, **layout):
        return kinds(tmp_path / name, Layout(**layout), key=dense)

    names = [f"g{j}" for j in range(30)]
    head = ",".join([*names, "label"])
    body = [",".join([*map(repr, row), label]) for row, label in zip(X.tolist(), y, strict=True)]
    (tmp_path / "a.csv").write_text("\n".join([head, *body]))
    expected = found("a.csv")
    assert {kind for _, _, kind in expected} == {TEST, *range(TRAIN, TRAIN + 4)}
    np.savez(tmp_path / "dense.npz", X=X, y=y)
    sparse = sp.csr_matrix(X)
    parts = {"data": sparse.data, "indices": sparse.indices, "indptr": sparse.indptr}
    np.savez(tmp_path / "sparse.npz", shape=X.shape, format=b"csr", y=y, **parts)
    columns = {name: X[:, j] for j, name in enumerate(names)}
    pq.write_table(pa.table({**columns, "label": y.tolist()}), tmp_path / "a.parquet", 41)
    single = {name: X[:, j].astype(np.float32) for j, name in enumerate(names)}
    pq.write_table(pa.table({**single, "label": y.tolist()}), tmp_path / "single.parquet")
    rows = [" ".join(f"{j + 1}:{v!r}" for j, v in enumerate(r) if v) for r in X.tolist()]
    coded = "\n".join(f"{label} {row}" for label, row in zip(y, rows, strict=True))
    (tmp_path / "a.svmlight").write_text(coded)
    scipy.io.mmwrite(tmp_path / "a.mtx", sp.coo_matrix(X))
    (tmp_path / "labels.txt").write_text("\n".join(y.tolist()))
    for name in ("dense.npz", "sparse.npz", "a.parquet", "single.parquet", "a.svmlight"):
        assert found(name) == expected, name
    assert found("a.mtx", labels_file=str(tmp_path / "labels.txt")) == expected


def test_equal_rows_are_never_both_trained_and_tested_on(tmp_path, amount):
    (tmp_path / "a.jsonl").write_bytes(lines(zip(TEXTS, LABELS, strict=True)))
    found = kinds(tmp_path / "a.jsonl", TEXT)
    assert len({text for text, _, _ in found}) == len(found) == 300
    assert {found[key] for key in found} == {1, 2}


def test_where_most_rows_are_repeated_they_are_dealt_out_one_by_one(tmp_path, amount):
    rows = [("good film", "yes"), ("bad film", "no")] * 100
    (tmp_path / "a.jsonl").write_bytes(lines(rows))
    found = kinds(tmp_path / "a.jsonl", TEXT, Parting(0.2, n_folds=2))
    for text, label in rows[:2]:
        tested = found[text, label, TEST]
        assert tested == 20 if amount == "few" else 8 <= tested <= 32
        assert all(found[text, label, TRAIN + t] >= 25 for t in range(2))


# Few rows --------------------------------------------------------------------------------------


def dealt(parting, labels, keys=None, split=None):
    names, codes = np.unique(labels, return_inverse=True)
    keys = np.arange(len(labels)) if keys is None else np.asarray(keys)
    return parting.dealt(keys.astype(np.uint64), codes, names, split)


@given(
    sizes=st.lists(st.integers(1, 40), min_size=1, max_size=4),
    share=st.sampled_from([0, 0.05, 0.2, 1 / 3, 0.5, 0.77]),
    n_folds=st.integers(1, 7),
    seed=st.integers(0, 9),
)
@settings(max_examples=60)
def test_few_rows_are_dealt_out_exactly_in_each_class(sizes, share, n_folds, seed):
    labels = np.repeat([f"c{i}" for i in range(len(sizes))], sizes)
    found = dealt(Parting(share, seed, n_folds), labels)
    for label, n in zip(np.unique(labels), sizes, strict=True):
        tested = (found[labels == label] == TEST).sum()
        assert abs(tested - share * n) < 1 or tested == n - 1
        assert tested < n
        trained = found[(labels == label) & (found != TEST)] - TRAIN
        fold = np.bincount(trained, minlength=n_folds)
        assert fold.max() - fold.min() <= 1


def test_shares_that_are_no_whole_rows_are_rounded_at_random():
    labels = np.repeat(np.arange(2000).astype(str), 3)
    tested = dealt(Parting(0.2), labels) == TEST
    assert tested.sum() == pytest.approx(1200, abs=4 * np.sqrt(2000 * 0.6 * 0.4))


def test_every_kind_is_as_likely_for_every_row_and_seeds_differ():
    found = np.array([dealt(Parting(0.2, seed, 4, seed), ["a"] * 100) for seed in range(400)])
    share = np.mean(found == TEST, axis=0)
    assert abs(share - 0.2).max() < 0.09  # 4.5 standard deviations of 400 draws
    for fold in range(4):
        share = np.mean(found == TRAIN + fold, axis=0)
        assert abs(share - 0.2).max() < 0.09
    assert len({row.tobytes() for row in found}) == 400


def test_folds_are_of_the_rows_that_a_split_column_trains_on():
    split = np.array([TRAIN] * 40 + [TEST] * 60)
    found = dealt(Parting(n_folds=4), ["a"] * 100, split=split)
    assert (found[40:] == TEST).all()
    assert np.bincount(found[:40] - TRAIN).tolist() == [10] * 4


# Many rows -------------------------------------------------------------------------------------


def test_many_rows_are_drawn_by_their_keys_in_the_shares_asked():
    keys = rule.random_numbers("rows", np.arange(100_000)).astype(np.uint64)
    found = Parting(0.2, n_folds=5).drawn(keys, None)
    share = np.bincount(found) / len(keys)
    assert share == pytest.approx([0.2] + [0.16] * 5, abs=0.006)
    other = Parting(0.2, seed=1, n_folds=5).drawn(keys, None)
    assert np.mean(found == TEST) == pytest.approx(0.2, abs=0.006)
    assert np.mean((found == TEST) & (other == TEST)) == pytest.approx(0.04, abs=0.004)
    both = (found != TEST) & (other != TEST)
    assert (found == other)[both].all()


# Groups ----------------------------------------------------------------------------------------


def test_rows_of_a_group_are_of_one_kind_in_every_format(tmp_path, amount):
    authors = [f"a{i}" for i in RNG.integers(0, 30, 400)]
    layout = Layout(text=("text",), group="author")
    table = {"text": TEXTS, "label": LABELS, "author": authors}
    pq.write_table(pa.table(table), tmp_path / "a.parquet", row_group_size=50)
    rows = [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows[::-1]))
    parting = Parting(0.25, seed=3, n_folds=4, grouped=True)
    found = kinds(tmp_path / "a.parquet", layout, parting, lambda batch, i: batch.group[i])
    of_group = {}
    for (author, _, kind), _ in found.items():
        assert of_group.setdefault(author, kind) == kind
    assert set(of_group.values()) == {TEST, *range(TRAIN, TRAIN + 4)}
    sizes = Counter(of_group[author] for author in authors)
    largest = max(Counter(authors).values())
    assert abs(sizes[TEST] - 100) <= largest
    assert all(abs(sizes[TRAIN + t] - 75) <= 2 * largest + 25 for t in range(4))
    again = kinds(tmp_path / "a.jsonl", layout, parting, lambda batch, i: batch.group[i])
    assert again == found


def test_one_group_is_tested_on_and_one_trained_on():
    keys = np.repeat(np.arange(2), 50)
    found = dealt(Parting(0.1, grouped=True), ["a", "b"] * 50, keys)
    assert np.bincount(found).tolist() == [50, 50]
    assert (dealt(Parting(0.1, grouped=True), ["a", "b"], [7, 7]) == TRAIN).all()


def test_groups_of_numbers_are_kept_together(tmp_path):
    X, donors = RNG.poisson(1, (60, 4)), np.repeat([f"d{i}" for i in range(6)], 10)
    np.savez(tmp_path / "a.npz", X=X, y=np.arange(60) % 2, donor=donors)
    parting = Parting(n_folds=3, grouped=True)
    found = kinds(tmp_path / "a.npz", Layout(group="donor"), parting, lambda b, i: b.group[i])
    assert len({(donor, kind) for donor, _, kind in found}) == 6
    assert sum(n for (*_, kind), n in found.items() if kind == TRAIN) == 20
