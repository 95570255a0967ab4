"""Spark must return what one process returns; run by `make test-engines`, which needs Java."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("pyspark")
if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
    pytest.skip("Spark needs Java", allow_module_level=True)

from agreement import agree
from naively import ClassCategories, ClassCounts, ClassMoments
from naively.judging.parting import Parting
from naively.judging.verdicts import Judge, total
from naively.models import MODELS
from naively.read.layout import Layout
from naively.read.parts import parts_of
from naively.selection.train import train
from naively.text.counter import count_text
from naively.text.features import ColumnFeatures, TextFeatures
from naively.work import spark as on_spark
from naively.work.judged import Answerer, Look, judged
from naively.work.stream import count_files, tasks_of

pytestmark = [
    pytest.mark.engines,
    pytest.mark.filterwarnings("ignore"),  # of the virtual machine's sockets
]
WORDS = ["red", "green", "blue", "näive", "Straße", "x1", "ok", "the", "THE"]


CLUSTER = "local-cluster[2,1,1024]"  # executors of their own: one of them can be killed
CONNECT_SERVER = """
import sys
from naively.work.spark import local_session
settings = {
    "spark__plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
    "spark__connect__grpc__binding__address": "127.0.0.1",
    "spark__connect__grpc__binding__port": sys.argv[2],
}
with local_session(sys.argv[1], **settings):
    print("ready", flush=True)
    sys.stdin.read()
"""


@pytest.fixture(scope="module")
def workers_find_the_source():
    source = str(Path(on_spark.__file__).parents[2])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join([source, os.environ.get("PYTHONPATH", "")]))
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        yield


@pytest.fixture(scope="module")
def connect_address(workers_find_the_source):
    """A Spark Connect server in a process of its own."""
    pytest.importorskip("grpc")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-c", CONNECT_SERVER, CLUSTER, str(port)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, text=True, **pipes) as server:
        assert server.stdout.readline() == "ready\n"
        yield f"sc://127.0.0.1:{port}"
        server.stdin.close()


@pytest.fixture(scope="module", params=["classic", "connect"])
def session(request, workers_find_the_source):
    if request.param == "classic":
        opened = on_spark.local_session(CLUSTER)
    else:
        opened = on_spark.connected(request.getfixturevalue("connect_address"))
    with opened as session:
        assert ("connect" in type(session).__module__) == (request.param == "connect")
        yield session


def sample(n=200, n_classes=3):
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(WORDS, rng.integers(0, 8))) for _ in range(n)]
    return texts, [f"class {c}" for c in rng.integers(0, n_classes, n)]


def text_frame(session, texts, labels, partitions):
    """Partitions by row number: the first gets nearly all rows, and some get none."""
    rows = list(zip(texts, labels, strict=True))
    frame = session.createDataFrame(rows, "text string, label string")
    return frame.coalesce(1) if partitions == 1 else frame.repartition(partitions, "label")


@pytest.mark.parametrize("partitions", [1, 2, 7])
def test_texts_are_counted_bit_for_bit(session, partitions):
    texts, labels = sample()
    features = TextFeatures(ngram_range=(1, 2))
    record = on_spark.class_statistics(text_frame(session, texts, labels, partitions), features)
    vocabulary, expected = count_text(texts, np.array(labels), features)
    assert record.names.equals(vocabulary)
    assert record.statistics.equals(expected)


@pytest.mark.parametrize(
    ("weights", "norm"), [("counts", None), ("log", None), ("log", "l2"), ("tfidf", None)]
)
def test_weighted_rows_and_documents_are_counted_bit_for_bit(session, weights, norm):
    texts, labels = sample()
    features = TextFeatures(weights=weights, norm=norm, documents=True)
    record = on_spark.class_statistics(text_frame(session, texts, labels, 3), features)
    vocabulary, expected = count_text(texts, np.array(labels), features)
    assert record.names.equals(vocabulary)
    assert record.statistics.equals(expected)


def test_tokens_are_counted_bit_for_bit(session):
    texts, labels = sample()
    tokens = [text.split() for text in texts]
    schema = "text array<string>, label string"
    frame = session.createDataFrame(list(zip(tokens, labels, strict=True)), schema)
    features = TextFeatures(analyzer="tokens", ngram_range=(1, 2))
    record = on_spark.class_statistics(frame.repartition(3, "label"), features)
    vocabulary, expected = count_text(tokens, np.array(labels), features)
    assert record.names.equals(vocabulary)
    assert record.statistics.equals(expected)


def numbers(kind, n=100, m=6):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, (n, m)) if kind == "int" else rng.random((n, m))
    return X, rng.integers(0, 3, n)


def number_frame(session, X, y, partitions):
    rows = [[*row, label] for row, label in zip(X.tolist(), y.tolist(), strict=True)]
    kind = "bigint" if X.dtype.kind == "i" else "double"
    schema = ", ".join(f"c{j} {kind}" for j in range(X.shape[1])) + ", label bigint"
    return session.createDataFrame(rows, schema).repartition(partitions, "label")


@pytest.mark.parametrize("partitions", [1, 7])
def test_numbers_are_counted_bit_for_bit(session, partitions):
    X, y = numbers("int")
    record = on_spark.class_statistics(number_frame(session, X, y, partitions), text=None)
    assert record.statistics.equals(ClassCounts.from_matrix(X, y))


@pytest.mark.parametrize("statistic", ["moments", "categories"])
@pytest.mark.parametrize("partitions", [1, 7])
def test_any_statistic_that_adds_up(session, partitions, statistic):
    X, y = numbers("int" if statistic == "categories" else "real")
    kind = {"moments": ClassMoments, "categories": ClassCategories}[statistic]
    frame = number_frame(session, X, y, partitions)
    features = ColumnFeatures(6, statistic=statistic)
    record = on_spark.class_statistics(frame, features, text=None)
    agree(record.statistics, kind.from_matrix(X, y), rounded=("total", "scatter"))


@pytest.mark.parametrize("statistic", ["moments", "categories"])
def test_files_of_numbers(session, tmp_path, statistic):
    X, y = numbers("int" if statistic == "categories" else "real")
    for i, rows in enumerate(np.array_split(np.arange(100), 4)):
        np.savez(tmp_path / f"{i}.npz", X=X[rows], label=y[rows])
    features, layout = ColumnFeatures(6, statistic=statistic), Layout()
    tasks = tasks_of(parts_of(f"{tmp_path}/*.npz", layout), features, layout, n_jobs=4)
    found = on_spark.count_tasks(session, tasks)
    expected = count_files(f"{tmp_path}/*.npz", features, layout).statistics
    agree(found.statistics, expected, rounded=("total", "scatter"))


def test_real_numbers_are_whole_multiples_of_the_resolution(session):
    X, y = numbers("real")
    features = ColumnFeatures(6, resolution=2.0**-30)
    records = [
        on_spark.class_statistics(number_frame(session, X, y, partitions), features, text=None)
        for partitions in (1, 7)
    ]
    assert records[0].statistics.equals(records[1].statistics)
    expected = ClassCounts.from_matrix(X, y).table
    np.testing.assert_allclose(records[0].in_units().table, expected, atol=1e-7)


@pytest.fixture
def files(tmp_path):
    texts, labels = sample(400)
    for i in range(4):
        rows = slice(100 * i, 100 * (i + 1))
        table = pa.table({"text": texts[rows], "label": labels[rows]})
        pq.write_table(table, tmp_path / f"{i}.parquet", row_group_size=30)
    return f"{tmp_path}/*.parquet"


def text_tasks(files, n_jobs, parting=None):
    layout = Layout(text=("text",))
    parts = parts_of(files, layout)
    return tasks_of(parts, TextFeatures(), layout, parting=parting, n_jobs=n_jobs)


def test_files_and_answers(session, files):
    record = on_spark.count_tasks(session, text_tasks(files, 5))
    assert record.equals(count_files(files, TextFeatures()))
    model = MODELS["multinomial"].build()
    trained = train(model, record.statistics, 4)
    support, classes = trained.selection.support, tuple(trained.classes.tolist())
    terms = record.names.take(support)
    judge, look = (
        Judge.of(trained.rule, classes, model, support),
        Look(TextFeatures(), terms, support),
    )
    tasks = text_tasks(files, 5, Parting(share=1.0))  # all rows are tested on
    expected = total(judged(task, judge, look) for task in tasks).pairs
    assert expected.total() == 400
    assert total(on_spark.map_tasks(session, judged, tasks, judge, look)).pairs == expected
    answerer = Answerer(trained.rule, classes, TextFeatures(), terms, support)
    texts, labels = sample()
    answered = on_spark.predict(text_frame(session, texts, labels, 2), answerer).toArrow()
    from naively.text.utf8 import as_texts

    assert answered["answer"].to_pylist() == answerer.answers(as_texts(answered["text"])).tolist()


@pytest.mark.parametrize("address", [None, "local[2,4]", "connect"])
def test_the_command_gives_the_same_folder(files, tmp_path, address, request):
    if address == "connect":
        address = request.getfixturevalue("connect_address")
    where = "spark" if address is None else address
    # What a Connect session leaves behind for the processes that are started.
    clean = {
        k: v
        for k, v in os.environ.items()
        if k not in ("SPARK_REMOTE", "SPARK_CONNECT_MODE_ENABLED")
    }

    def selected(name, *options):
        command = [sys.executable, "-m", "naively", "select", files, "-k", "3", "--quiet"]
        subprocess.run([*command, "--out", name, *options], check=True, cwd=tmp_path, env=clean)
        summary = json.loads((tmp_path / name / "summary.json").read_text())
        del summary["settings"]["command"]
        return (tmp_path / name / "features.csv").read_text(), summary

    expected = selected("expected")
    assert selected("found", "--on", where) == expected


def test_an_executor_killed_in_mid_job_changes_nothing(session, files, tmp_path):
    tasks = text_tasks(files, 6)
    marker = tmp_path / "killed"

    class Dying(tuple):
        """Tasks of which the fourth kills its executor, the first time it is asked for."""

        def __getitem__(self, number):
            if number == 3 and not marker.exists():
                marker.touch()
                parent = os.getppid()  # the daemon that forks Python workers
                executor = int(Path(f"/proc/{parent}/stat").read_text().split()[3])
                os.kill(executor, signal.SIGKILL)
            return tuple.__getitem__(self, number)

    record = on_spark.count_tasks(session, Dying(tasks))
    assert marker.exists()
    assert record.equals(count_files(files, TextFeatures()))


def test_a_poisoned_row_group_is_named(session, files):
    path = Path(files).parent / "2.parquet"
    content = bytearray(path.read_bytes())
    offset = pq.ParquetFile(path).metadata.row_group(1).column(0).data_page_offset
    content[offset : offset + 40] = b"\xff" * 40
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"2\.parquet: "):
        on_spark.count_tasks(session, text_tasks(files, 4))


def test_a_missing_column_or_label_is_named(session):
    frame = session.createDataFrame([("a b", "x"), ("c", None)], "text string, label string")
    with pytest.raises(ValueError, match="no column `words`"):
        on_spark.class_statistics(frame, text="words")
    with pytest.raises(ValueError, match="the label in column `label` is missing"):
        on_spark.class_statistics(frame)
