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
from sklearn.model_selection import TimeSeriesSplit

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
        assert tested == 20
        assert all(found[text, label, TRAIN + t] == 40 for t in range(2))


def test_a_rare_class_of_repeated_rows_is_dealt_out_exactly_over_all_shards(tmp_path, amount):
    """Where every shard has a row or two of it, they are not all of one kind."""
    for shard in range(10):
        rows = [("good film", "yes"), ("bad film", "no")] * 50 + [("odd plot", "rare")]
        (tmp_path / f"{shard}.jsonl").write_bytes(lines(rows))
    found = kinds(str(tmp_path / "*.jsonl"), TEXT, Parting(0.2, n_folds=4))
    assert [found["odd plot", "rare", kind] for kind in range(5)] == [2, 2, 2, 2, 2]


# Rows with a time, and rows left out alone -------------------------------------------------------


@given(
    n=st.integers(2, 60), n_folds=st.integers(2, 6), share=st.sampled_from([0, 0.2, 0.5]),
    seed=st.integers(0, 99),
)  # fmt: skip
@settings(max_examples=60)
def test_folds_in_time_are_those_of_scikit_learn(n, n_folds, share, seed):
    times = np.random.default_rng(seed).permutation(n) / 7.0
    n_test = max(round(n * share), 1) if share else 0
    asked = Parting(share, n_folds=n_folds, timed=True)
    codes, names = np.zeros(n, dtype=np.int64), np.array(["a"])
    if n - n_test < n_folds + 1:
        with pytest.raises(ValueError, match="cannot be cut into stretches"):
            rule.for_rows(asked, times, codes, names, None, {"a": n})
        return
    parting = rule.for_rows(asked, times, codes, names, None, {"a": n})
    found = parting.of_part("a").kinds(n, times)
    order = np.argsort(times)
    early, late = order[: n - n_test], order[n - n_test :]
    assert sorted(np.flatnonzero(found == TEST)) == sorted(late)
    assert parting.judged == tuple(range(TRAIN + 1, TRAIN + n_folds + 1))
    splits = TimeSeriesSplit(n_folds).split(early)
    for kind, (train, test) in zip(parting.judged, splits, strict=True):
        assert set(np.flatnonzero(found == kind)) == set(early[test])
        trained = np.isin(found, parting.others(kind, parting.training))
        assert set(np.flatnonzero(trained)) == set(early[train])


def test_rows_of_one_time_stay_together():
    times = np.repeat([1.0, 2.0, 3.0], 4)
    codes, names = np.zeros(12, dtype=np.int64), np.array(["a"])
    parting = rule.for_rows(Parting(0.2, timed=True), times, codes, names, None, {"a": 12})
    assert (parting.of_part("a").kinds(12, times) == np.where(times == 3, TEST, TRAIN)).all()
    for asked in (Parting(0.2, n_folds=3, timed=True), Parting(1.0 - 1e-6, timed=True)):
        with pytest.raises(ValueError, match="3 times of 12 rows cannot be cut"):
            rule.for_rows(asked, times, codes, names, None, {"a": 12})


def test_times_are_numbers_or_dates():
    numbers = rule.times_in(np.array(["3", "-1.5", "2e3"]))
    np.testing.assert_array_equal(numbers, [3, -1.5, 2000])
    dates = rule.times_in(np.array(["2024-01-31", "2024-01-31T12:00", "2023-12-31"]))
    np.testing.assert_array_equal(np.argsort(dates), [2, 0, 1])
    assert dates[1] - dates[0] == 12 * 3600 * 1e6
    for texts, said in (
        (["yesterday"], "must hold numbers, or dates"),
        (["1", "2024-01-31"], "must hold numbers, or dates"),
        (["1", "nan"], "a time in every row"),
        (["2024-01-31", ""], "a time in every row"),
        (["1", ""], "a time in every row"),
    ):
        with pytest.raises(ValueError, match=said):
            rule.times_in(np.array(texts))


def test_rows_and_groups_are_left_out_alone():
    codes, names = np.arange(6) % 2, np.array(["a", "b"])
    keys = np.array([5, 5, 5, 9, 9, 1], dtype=np.uint64)
    rows = rule.for_rows(Parting(n_folds=6, singly=True), keys, codes, names, None, {"a": 6})
    assert sorted(rows.of_part("a").kinds(6, None)) == [1, 2, 3, 4, 5, 6]
    asked = Parting(n_folds=3, singly=True, grouped=True)
    groups = rule.for_rows(asked, keys, codes, names, None, {"a": 6}).of_part("a").kinds(6, keys)
    assert len(set(groups)) == 3
    assert [len(set(groups[keys == key])) for key in (5, 9, 1)] == [1, 1, 1]


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
