"""Dask must return what one process returns, whatever the blocks, and whoever dies on the way."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import dask
import dask.array as da
import numpy as np
import pandas as pd
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
from click.testing import CliRunner
from distributed import LocalCluster

from agreement import agree
from naively import (
    ClassCategories,
    ClassCounts,
    ClassMedians,
    ClassMoments,
    SparseGaussianNB,
    SparseL1Centers,
    SparseMultinomialNB,
)
from naively.cli.commands import naively
from naively.judging.parting import Parting
from naively.judging.verdicts import Judge, total
from naively.models import MODELS
from naively.read.layout import Layout
from naively.read.parts import parts_of
from naively.selection.train import train
from naively.text.counter import count_text
from naively.text.features import ColumnFeatures, TextFeatures
from naively.work import dask as on_dask
from naively.work.judged import Answerer, Look, judged
from naively.work.records import merge
from naively.work.stream import count_files, tasks_of

WORDS = ["red", "green", "blue", "näive", "Straße", "x1", "ok", "the", "THE"]
# Skewed and empty blocks included.
BOUNDS = {1: [0, 90], 2: [0, 40, 90], 7: [0, 0, 1, 60, 61, 61, 80, 90]}


def matrix(kind="int", n=90, m=40):
    rng = np.random.default_rng(0)
    X = sp.random_array((n, m), density=0.15, rng=rng, format="csr")
    X.data = rng.integers(1, 5, X.nnz) if kind == "int" else rng.random(X.nnz)
    return (X.astype(np.int64) if kind == "int" else X), rng.integers(0, 3, n)


def blocks(values, bounds, delay=dask.delayed):
    return [delay(values[a:b]) for a, b in zip(bounds[:-1], bounds[1:], strict=True)]


def as_dask(X, y, bounds):
    def concatenated(values):
        return da.concatenate(
            [
                da.from_delayed(block, (n, *values.shape[1:]), values.dtype, meta=values[:0])
                for block, n in zip(blocks(values, bounds), np.diff(bounds).tolist(), strict=True)
            ]
        )

    return concatenated(X), concatenated(y)


@pytest.fixture(autouse=True)
def _synchronous(request):
    """Run in this thread, unless a test asks for the cluster."""
    with dask.config.set(scheduler=None if "client" in request.fixturenames else "synchronous"):
        yield


@pytest.mark.parametrize("partitions", BOUNDS)
def test_whole_numbers_are_counted_bit_for_bit(partitions):
    X, y = matrix()
    expected = ClassCounts.from_matrix(X, y)
    for container in (X, X.toarray()):
        arrays = as_dask(container, y, BOUNDS[partitions])
        record = on_dask.class_statistics(*arrays, split_every=2)
        assert record.statistics.equals(expected)
        assert record.n_rows == 90
    parts = blocks(X, BOUNDS[partitions]), blocks(y, BOUNDS[partitions])  # with the empty ones
    assert on_dask.class_statistics(*parts, ColumnFeatures(40)).statistics.equals(expected)


def test_results_of_two_collections_merge_and_one_is_counted_once():
    X, y = matrix()
    whole = da.from_array(X.toarray(), chunks=(30, 40)), da.from_array(y, chunks=30)
    above, below = (
        on_dask.class_statistics(X[a:b], y[a:b]) for X, y in [whole] for a, b in [(0, 60), (60, 90)]
    )
    assert merge([above, below]).statistics.equals(ClassCounts.from_matrix(X, y))
    delayed = [
        on_dask.class_statistics(
            [dask.delayed(X[rows])], [dask.delayed(y[rows])], ColumnFeatures(40)
        )
        for rows in (slice(0, 60), slice(60, 90))
    ]
    assert merge(delayed).statistics.equals(ClassCounts.from_matrix(X, y))
    with pytest.raises(
        ValueError, match="counted once; 3 are in two records, such as 'block 0 of array-"
    ):
        merge([on_dask.class_statistics(*whole), on_dask.class_statistics(*whole)])


@pytest.mark.parametrize("partitions", BOUNDS)
def test_real_numbers_with_a_resolution_too(partitions):
    X, y = matrix("real")
    features = ColumnFeatures(40, resolution=2.0**-30)
    expected = on_dask.class_statistics([dask.delayed(X)], [dask.delayed(y)], features)
    found = on_dask.class_statistics(*as_dask(X, y, BOUNDS[partitions]), features)
    assert found.statistics.equals(expected.statistics)
    np.testing.assert_allclose(
        found.in_units().table, ClassCounts.from_matrix(X, y).table, atol=1e-7
    )


@pytest.mark.parametrize("statistic", ["moments", "categories"])
@pytest.mark.parametrize("partitions", BOUNDS)
def test_any_statistic_that_adds_up(partitions, statistic):
    X, y = matrix("int" if statistic == "categories" else "real")
    kind = {"moments": ClassMoments, "categories": ClassCategories}[statistic]
    features = ColumnFeatures(40, statistic=statistic)
    for container in (X, X.toarray()):
        arrays = as_dask(container, y, BOUNDS[partitions])
        record = on_dask.class_statistics(*arrays, features, split_every=2)
        agree(record.statistics, kind.from_matrix(X, y), rounded=("total", "scatter"))
    again = on_dask.class_statistics(*arrays, features, split_every=2)
    assert again.equals(record)  # the tree depends on the order of the blocks alone


def text_sample(n=90):
    rng = np.random.default_rng(1)
    texts = [" ".join(rng.choice(WORDS, rng.integers(0, 8))) for _ in range(n)]
    return texts, rng.choice(["a", "b", "c"], n)


@pytest.mark.parametrize("partitions", BOUNDS)
def test_texts_of_delayed_blocks(partitions):
    texts, labels = text_sample()
    features = TextFeatures(ngram_range=(1, 2), weights="presence")
    vocabulary, expected = count_text(texts, labels, features)
    parts = (blocks(values, BOUNDS[partitions]) for values in (texts, labels))
    record = on_dask.class_statistics(*parts, features, split_every=3)
    assert record.names.equals(vocabulary)
    assert record.statistics.equals(expected)


def test_texts_of_a_data_frame():
    dd = pytest.importorskip("dask.dataframe")
    texts, labels = text_sample()
    frame = dd.from_pandas(pd.DataFrame({"text": texts, "label": labels}), npartitions=4)
    record = on_dask.class_statistics(frame["text"], frame["label"])
    vocabulary, expected = count_text(texts, labels)
    assert record.names.equals(vocabulary)
    assert record.statistics.equals(expected)


def test_tokens_of_a_data_frame():
    dd = pytest.importorskip("dask.dataframe")
    texts, labels = text_sample()
    tokens = [text.split() for text in texts]
    column = pd.Series(tokens, dtype=pd.ArrowDtype(pa.list_(pa.string())))
    frame = dd.from_pandas(pd.DataFrame({"tokens": column, "label": labels}), npartitions=4)
    features = TextFeatures(analyzer="tokens", ngram_range=(1, 2))
    record = on_dask.class_statistics(frame["tokens"], frame["label"], features)
    vocabulary, expected = count_text(tokens, labels, features)
    assert record.names.equals(vocabulary)
    assert record.statistics.equals(expected)


def test_wide_tables_are_never_dense():
    X, y = matrix()
    columns = np.sort(np.random.default_rng(0).choice(2**28, 40, replace=False))
    wide = sp.csr_array((X.data, columns[X.indices], X.indptr), shape=(90, 2**28))
    record = on_dask.class_statistics(
        blocks(wide, BOUNDS[2]), blocks(y, BOUNDS[2]), ColumnFeatures(2**28)
    )
    assert record.statistics.table.nbytes < 10_000
    np.testing.assert_array_equal(
        record.statistics.table[columns], ClassCounts.from_matrix(X, y).table
    )


@pytest.mark.parametrize("container", [lambda X: X, lambda X: X.toarray()])
def test_medians_of_column_ranges_are_exact(container):
    X, y = matrix("real")
    X = container(X)
    medians = on_dask.class_medians(*as_dask(X, y, BOUNDS[7]), n_blocks=6)
    expected = ClassMedians.from_matrix(X, y)
    for name in ("center", "dispersion", "pooled_center", "pooled_dispersion", "class_weight"):
        np.testing.assert_array_equal(getattr(medians, name), getattr(expected, name))
    model = SparseL1Centers.from_statistics(medians, k=5)
    np.testing.assert_array_equal(model.support_, SparseL1Centers(k=5).fit(X, y).support_)


def test_prediction_is_a_map():
    X, y = matrix()
    model = SparseMultinomialNB(k=10).fit(X, y)
    lazy = on_dask.predict(model, as_dask(X, y, BOUNDS[2])[0])
    np.testing.assert_array_equal(lazy.compute(), model.predict(X))


def text_answerer(texts, labels):
    vocabulary, counts = count_text(texts, labels)
    model = SparseMultinomialNB.from_statistics(counts, k=4)
    support = model.selection_.support
    classes = tuple(model.classes_.tolist())
    return Answerer(model.rule_, classes, TextFeatures(), vocabulary.take(support), support)


def test_prediction_of_texts_is_a_map():
    dd = pytest.importorskip("dask.dataframe")
    texts, labels = text_sample()
    answerer = text_answerer(texts, labels)
    series = dd.from_pandas(pd.Series(texts), npartitions=3)
    found = on_dask.predict(answerer, series).compute()
    assert found.tolist() == answerer.answers(texts_of(texts)).tolist()


def texts_of(texts):
    from naively.text.utf8 import as_texts

    return as_texts(texts)


def test_blocks_must_agree():
    X, y = matrix()
    arrays = as_dask(X.toarray(), y, BOUNDS[2])
    with pytest.raises(ValueError, match=r"2 chunks of columns\. Use X\.rechunk"):
        on_dask.class_statistics(arrays[0].rechunk((45, 20)), arrays[1])
    with pytest.raises(ValueError, match="2 blocks of X and 1 of y"):
        on_dask.class_statistics(arrays[0], arrays[1].rechunk(-1))
    with pytest.raises(ValueError, match="block 0 has 40 rows of X and 45 labels"):
        on_dask.class_statistics(arrays[0], arrays[1].rechunk(((45, 45),)))


def test_a_poisoned_block_is_named():
    X, y = matrix("real")
    X.data[-1] = np.nan
    with pytest.raises(ValueError, match="block 1: Input X contains NaN"):
        on_dask.class_statistics(*as_dask(X, y, BOUNDS[2]))


# A real cluster of processes ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def client():
    os.environ["PYTHONPATH"] = os.pathsep.join(
        [str(Path(on_dask.__file__).parents[2]), os.environ.get("PYTHONPATH", "")]
    )
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=None
        ) as cluster,
        on_dask.connected(cluster.scheduler_address) as client,
    ):
        yield client


@pytest.fixture
def files(tmp_path):
    texts, labels = text_sample(400)
    for i in range(4):
        rows = slice(100 * i, 100 * (i + 1))
        table = pa.table({"text": texts[rows], "label": labels[rows]})
        pq.write_table(table, tmp_path / f"{i}.parquet", row_group_size=30)
    return f"{tmp_path}/*.parquet"


def text_tasks(files, n_jobs, parting=None):
    layout = Layout(text=("text",))
    parts = parts_of(files, layout)
    return tasks_of(parts, TextFeatures(), layout, parting=parting, n_jobs=n_jobs)


@pytest.mark.filterwarnings("ignore")  # of processes that end while the cluster closes
def test_files_on_a_cluster(client, files):
    record = on_dask.count_tasks(text_tasks(files, 5))
    assert record.equals(count_files(files, TextFeatures()))
    model = MODELS["multinomial"].build()
    trained = train(model, record.statistics, 4)
    support = trained.selection.support
    judge = Judge.of(trained.rule, tuple(trained.classes.tolist()), model, support)
    look = Look(TextFeatures(), record.names.take(support), support)
    tasks = text_tasks(files, 5, Parting(share=1.0))  # all rows are tested on
    expected = total(judged(task, judge, look) for task in tasks).pairs
    assert expected.total() == 400
    assert total(on_dask.map_tasks(judged, tasks, judge, look)).pairs == expected
    listening = client.run(lambda dask_worker: dask_worker.address)
    assert all("127.0.0.1" in address for address in listening.values())


@pytest.mark.filterwarnings("ignore")
def test_the_command_gives_the_same_folder_on_a_cluster(client, files, tmp_path):
    def selected(name, *options):
        command = ["select", files, "-k", "3", "--quiet", "--out", str(tmp_path / name), *options]
        result = CliRunner().invoke(naively, command)
        assert result.exit_code == 0, result.output
        summary = json.loads((tmp_path / name / "summary.json").read_text())
        del summary["settings"]["command"]
        return (tmp_path / name / "features.csv").read_text(), summary

    expected = selected("local")
    address = client.scheduler.address
    assert selected("joined", "--on", address) == expected
    assert selected("own", "--on", "dask:2") == expected


def test_a_cluster_of_this_machine_listens_on_loopback_alone():
    with on_dask.local_cluster(1) as client:
        open_ports = client.run(
            lambda: [c.laddr.ip for c in psutil.Process().net_connections() if c.status == "LISTEN"]
        )
    assert {each for ips in open_ports.values() for each in ips} == {"127.0.0.1"}


@pytest.mark.parametrize("good", [True, False])
def test_the_engine_says_nothing_of_its_own(files, tmp_path, good):
    if not good:  # a line that a worker meets
        lines = [json.dumps({"text": "red", "label": "ab"[i % 2]}) for i in range(30_000)]
        files = tmp_path / "rows.jsonl"
        files.write_text("\n".join([*lines, "{", *lines]))
    path = str(Path(on_dask.__file__).parents[2])
    command = [sys.executable, "-m", "naively", "select", str(files), "-k", "3", "--on", "dask:2"]
    told = {"PYTHONPATH": path, "DASK_DISTRIBUTED__ADMIN__LARGE_GRAPH_WARNING_THRESHOLD": "1B"}
    ended = subprocess.run(
        command, cwd=tmp_path, env=os.environ | told, capture_output=True, text=True, check=False
    )
    assert ended.returncode == (0 if good else 2), ended.stderr
    assert ended.stderr.count("\n") == (0 if good else 1), ended.stderr
    assert good or ended.stderr.startswith("naively: ")


@pytest.mark.filterwarnings("ignore")
def test_workers_count_without_scikit_learn(client, files):
    def imported():
        import sys

        return "sklearn" in sys.modules

    client.restart()
    on_dask.count_tasks(text_tasks(files, 4))
    assert not any(client.run(imported).values())


@pytest.mark.filterwarnings("ignore")
def test_a_worker_killed_in_mid_job_changes_nothing(client, tmp_path):
    X, y = matrix()

    def load(number):
        marker = tmp_path / f"killed at {number}"
        if number in (3, 9) and not marker.exists():
            marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return X[number * 6 : number * 6 + 6]

    parts = [dask.delayed(load)(number) for number in range(15)]
    labels = [dask.delayed(y[i * 6 : i * 6 + 6]) for i in range(15)]
    record = on_dask.class_statistics(parts, labels, ColumnFeatures(40), split_every=3)
    assert len(list(tmp_path.iterdir())) == 2
    assert record.statistics.equals(ClassCounts.from_matrix(X, y))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("statistic", ["moments", "categories"])
def test_files_of_numbers_on_a_cluster(client, tmp_path, statistic):
    X, y = matrix("int" if statistic == "categories" else "real")
    for i, rows in enumerate(np.array_split(np.arange(90), 6)):
        np.savez(tmp_path / f"{i}.npz", X=X[rows].toarray(), label=y[rows])
    features = ColumnFeatures(40, statistic=statistic)
    parts = parts_of(f"{tmp_path}/*.npz", Layout())
    tasks = tasks_of(parts, features, Layout(), n_jobs=6)
    record = on_dask.count_tasks(tasks, split_every=2)
    kind = {"moments": ClassMoments, "categories": ClassCategories}[statistic]
    labels = y.astype(str)
    agree(record.statistics, kind.from_matrix(X, labels), rounded=("total", "scatter"))
    if statistic == "moments":
        model = SparseGaussianNB.from_statistics(record.statistics, k=3)
        expected = SparseGaussianNB(k=3).fit(X, labels)
        np.testing.assert_array_equal(model.support_, expected.support_)


@pytest.mark.filterwarnings("ignore")
def test_joblib_runs_on_the_same_cluster(client, files):
    joblib = pytest.importorskip("joblib")
    with joblib.parallel_config(backend="dask", n_jobs=2):
        assert count_files(files, TextFeatures(), n_jobs=2).equals(
            count_files(files, TextFeatures())
        )


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_joblib_backends_give_the_same(files, backend):
    joblib = pytest.importorskip("joblib")
    with joblib.parallel_config(backend=backend, n_jobs=2):
        found = count_files(files, TextFeatures(), n_jobs=7)
    assert found.equals(count_files(files, TextFeatures()))
