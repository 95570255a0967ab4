"""Any statistic that adds up is saved, merged, resumed and trained from, as if from all rows."""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import naively
from agreement import agree as agree_exactly
from naively import ClassCategories, ClassCounts, ClassMoments
from naively.read.layout import Layout
from naively.text.features import ColumnFeatures
from naively.text.vocabulary import Vocabulary
from naively.work.counters import new_counter, record_of
from naively.work.records import Record, load_record, merge, merge_stream, save_record
from naively.work.stream import count_files

agree = partial(agree_exactly, rounded=("total", "scatter"))  # the moments here are of real numbers
M, N = 6, 240
rng = np.random.default_rng(0)
CLASSES = np.array(["a", "b", "c"])[np.arange(N) % 3]
WHOLE = rng.poisson(rng.gamma(0.5, 2.0, (3, M))[np.arange(N) % 3])


@dataclass(frozen=True)
class Kind:
    """A statistic as features name it, how all rows give it, and a model that trains from it."""

    features: dict[str, Any]
    X: Any
    of_all: Any
    model: Any


KINDS = {
    "counts": Kind({}, WHOLE, ClassCounts.from_matrix, naively.SparseMultinomialNB(k=2)),
    "rates": Kind({}, WHOLE, ClassCounts.from_matrix, naively.SparsePoissonNB(k=2)),
    "presence": Kind(
        {"statistic": "presence", "threshold": 1.0},
        WHOLE,
        partial(ClassCounts.from_matrix, presence=True, threshold=1.0),
        naively.SparseBernoulliNB(k=2, binarize=1.0),
    ),
    "moments": Kind(
        {"statistic": "moments"},
        rng.normal(WHOLE, 2.0),
        ClassMoments.from_matrix,
        naively.SparseGaussianNB(k=2),
    ),
    "spread counts": Kind(
        {"statistic": "moments"},
        WHOLE,
        ClassMoments.from_matrix,
        naively.SparseNegativeBinomialNB(k=2),
    ),
    "means": Kind(
        {"statistic": "moments"},
        rng.normal(WHOLE, 2.0) + 1e6,
        ClassMoments.from_matrix,
        naively.SparseL2Centers(k=2, scale="std"),
    ),
    "categories": Kind(
        {"statistic": "categories"},
        WHOLE,
        ClassCategories.from_matrix,
        naively.SparseCategoricalNB(k=2),
    ),
}
every_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)


def record(kind, start, stop, *, batch=17, sparse=False):
    features = ColumnFeatures(M, **kind.features)
    counter = new_counter(features)
    for i in range(start, stop, batch):
        X = kind.X[i : min(i + batch, stop)]
        counter.update(sp.csr_array(X) if sparse else X, CLASSES[i : min(i + batch, stop)])
    return record_of(counter, {f"{start}": stop - start})


def shards(kind, folder):
    for i, rows in enumerate(np.array_split(np.arange(N), 5)):
        np.savez(folder / f"{i}.npz", X=kind.X[rows], label=CLASSES[rows])
    return f"{folder}/*.npz"


@every_kind
@pytest.mark.parametrize("sparse", [False, True])
def test_batches_are_gathered_as_all_rows_at_once(kind, sparse):
    agree(record(kind, 0, N, sparse=sparse).statistics, kind.of_all(kind.X, CLASSES))


@every_kind
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_model_of_shards_is_the_model_of_all_rows(tmp_path, kind, n_jobs):
    found = count_files(
        shards(kind, tmp_path),
        ColumnFeatures(M, **kind.features),
        Layout(),
        n_jobs=n_jobs,
    )
    agree(found.statistics, kind.of_all(kind.X, CLASSES))
    assert found.n_rows == N
    model = type(kind.model).from_statistics(found.in_units(), **kind.model.get_params())
    expected = kind.model.fit(kind.X, CLASSES)
    np.testing.assert_array_equal(model.support_, expected.support_)
    np.testing.assert_allclose(
        model.predict_proba(kind.X), expected.predict_proba(kind.X), rtol=1e-7, atol=1e-9
    )


@every_kind
def test_a_record_survives_its_file(tmp_path, kind):
    whole, path = record(kind, 0, N), tmp_path / "a.npz"
    save_record(whole, path)
    loaded = load_record(path)
    assert loaded.equals(whole)
    content = path.read_bytes()
    save_record(loaded, path)
    assert path.read_bytes() == content


@every_kind
def test_merging_is_gathering_everything(kind):
    parts = [record(kind, start, start + 40) for start in range(0, N, 40)]
    merged = merge(parts)
    agree(merged.statistics, kind.of_all(kind.X, CLASSES))
    agree(merge(parts[::-1]).statistics, merged.statistics)
    assert merge_stream(iter(parts)).equals(merge_stream(parts))  # bit for bit, in one order
    agree(merge_stream(parts).statistics, merged.statistics)
    assert merged.shards == dict.fromkeys(map(str, range(0, N, 40)), 40)
    with pytest.raises(ValueError, match="counted once"):
        merge([parts[0], parts[0]])


@every_kind
def test_a_run_is_resumed_from_its_records(tmp_path, kind):
    files, features = shards(kind, tmp_path), ColumnFeatures(M, **kind.features)
    layout, folder = Layout(), tmp_path / "records"
    first = count_files(files, features, layout, checkpoint=folder)
    kept = sorted(folder.iterdir())
    assert kept
    times = [path.stat().st_mtime_ns for path in kept]
    assert count_files(files, features, layout, checkpoint=folder).equals(first)
    assert [path.stat().st_mtime_ns for path in kept] == times  # read, not gathered again
    kept[0].write_bytes(b"damaged")
    assert count_files(files, features, layout, checkpoint=folder).equals(first)


def test_categories_grow_by_union():
    first, second = (
        record_of(counter, {name: 1})
        for name, counter in (("a", gathered([[0, 3]])), ("b", gathered([[5, 1]])))
    )
    merged = merge([first, second]).statistics
    assert merged.n_categories.tolist() == [6, 4]
    agree(merged, ClassCategories.from_matrix([[0, 3], [5, 1]], ["x", "x"]))


def gathered(X):
    counter = new_counter(ColumnFeatures(2, statistic="categories"))
    counter.update(np.array(X), np.array(["x"]))
    return counter


@pytest.mark.parametrize("other", ["presence", "moments", "categories"])
def test_other_statistics_of_the_same_columns_do_not_merge(other):
    records = [
        Record(statistics, ColumnFeatures(2, statistic=name), None, {name: 1})
        for name, statistics in (
            ("counts", ClassCounts.from_matrix([[1, 2]], [0])),
            (
                other,
                {"moments": ClassMoments, "categories": ClassCategories}.get(
                    other, ClassCounts
                ).from_matrix([[1, 2]], [0]),
            ),
        )
    ]
    with pytest.raises(ValueError, match=f"statistic='counts' and statistic='{other}'"):
        merge(records)


@pytest.mark.parametrize("statistic", ["moments", "categories"])
def test_what_a_counter_cannot_use_is_refused(statistic):
    counter = new_counter(ColumnFeatures(2, statistic=statistic))
    with pytest.raises(ValueError, match="X must have 2 columns"):
        counter.update(np.ones((1, 3)), [0])
    with pytest.raises(ValueError, match="NaN.* at row 0, column 1"):
        counter.update(np.array([[1, np.nan]]), [0])
    with pytest.raises(ValueError, match="`resolution` is of sums of values"):
        ColumnFeatures(2, statistic=statistic, resolution=0.5)
    assert counter.result()[1].class_rows.size == 0


def test_the_statistic_is_one_that_there_is():
    with pytest.raises(ValueError, match="must be 'counts', 'presence', .* got 'medians'"):
        ColumnFeatures(2, statistic="medians")


def archive(path, change):
    """Write a sound record with other members: name and content to name, content, compression."""
    import zipfile

    counts = ClassCounts.from_matrix([[1, 2], [3, 4]], ["a", "b"])
    save_record(Record(counts, ColumnFeatures(2), None, {"s": 2}), path)
    with zipfile.ZipFile(path) as file:
        parts = [(name, file.read(name)) for name in file.namelist()]
    with zipfile.ZipFile(path, "w") as file:
        for name, content in parts:
            file.writestr(*change(name, content))
    return path


def test_packed_records_are_refused_before_they_are_unpacked(tmp_path):
    import tracemalloc
    import zipfile

    def bomb(name, content):
        return f"{name}", content + b"\0" * (1 << 28) * (name == "table.npy"), zipfile.ZIP_DEFLATED

    path = archive(tmp_path / "a.npz", bomb)
    assert path.stat().st_size < 1 << 20
    tracemalloc.start()
    with pytest.raises(ValueError, match="compressed, which files of naively never are"):
        load_record(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1 << 22
    with pytest.raises(ValueError, match="compressed"):
        load_record(archive(path, lambda n, c: (n, c, 8 * (n == "manifest.json"))))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda table: table + b"12345678", "is not as long as it says"),
        (lambda table: table.replace(b"'<i8'", b"'|O8'"), "a.npz: this is no statistics file"),
    ],
)
def test_arrays_of_records_are_what_their_headers_say(tmp_path, change, words):
    def changed(name, content):
        return name, change(content) if name == "table.npy" else content

    with pytest.raises(ValueError, match=words):
        load_record(archive(tmp_path / "a.npz", changed))


def near_the_limit(cells, number):
    counts = ClassCounts.from_matrix([[1, 1], [1, 1]], [0, 1])
    table = np.array(cells, dtype=np.int64)
    return Record(replace(counts, table=table), ColumnFeatures(2), None, {f"shard {number}": 2})


@pytest.mark.parametrize(
    "join", [merge, merge_stream, partial(merge, dense_cells=0)], ids=["all", "stream", "sparse"]
)
def test_counts_beyond_64_bits_are_refused_and_never_wrapped(join):
    """Sums of 2**63 are negative in 64 bits, and two of them are 0 again."""
    for n in (2, 4, 8):
        cells = [[2**63 // (2 * n) - 1, 0], [0, 2**63 // (2 * n)]]
        total = join([near_the_limit(cells, i) for i in range(n)]).statistics.table
        assert np.asarray(total[:]).tolist() == [[n * each for each in row] for row in cells]
        for size in (2**63 // n, 2**62, 2**63 - 1):
            records = [near_the_limit([[size, 0], [0, 0]], i) for i in range(n)]
            with pytest.raises(ValueError, match="more than a 64-bit integer holds"):
                join(records)


def test_a_record_says_how_large_it_is():
    found = near_the_limit([[1, 2], [3, 4]], 0)
    assert found.__sizeof__() >= found.statistics.table.nbytes + found.statistics.class_rows.nbytes
    names = replace(found, names=Vocabulary.of(["a", "b" * 1000]))
    assert names.__sizeof__() - found.__sizeof__() > 1000
