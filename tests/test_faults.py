"""What machines do to a run: other settings, full disks, signals, forks and threads.

The number of moments at which runs are stopped is small here; `NAIVELY_MOMENTS=20` asks for more.
"""

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import naively
from agreement import agree
from naively.cli import screen
from naively.cli.ending import explained

MOMENTS = int(os.environ.get("NAIVELY_MOMENTS", "5"))
RESULT = {"features.csv", "model.npz", "report.html", "run.toml", "summary.json"}
SOURCES = str(Path(naively.__file__).parents[1])
POSIX = pytest.mark.skipif(os.name != "posix", reason="signals, forks and pipes of POSIX")
WORDS = ["good", "fun", "fine", "great", "bad", "dull", "poor", "awful", "film", "plot"]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write_rows(path, n=60, seed=0):
    rng = np.random.default_rng(seed)
    lines = ["text,label,Größe"]
    for i in range(n):
        words = rng.choice(WORDS[:5] if i % 2 else WORDS[4:], 6)
        lines.append(f"{' '.join(words)} İ{i % 3},{'ja' if i % 2 else 'nein'},{rng.random():.3f}")
    Path(path).write_text("\n".join(lines) + "\n", "utf-8")


def command(*arguments, python=(), **changes):
    """The command in a Python of its own, and its environment, in which None takes a name away."""
    environment = os.environ | {"PYTHONPATH": SOURCES, "PYTHONUTF8": "1"} | changes
    line = [sys.executable, *python, "-m", "naively", *map(str, arguments)]
    return line, {name: value for name, value in environment.items() if value is not None}


def run(*arguments, **settings):
    line, environment = command(*arguments, **settings)
    return subprocess.run(
        line, env=environment, capture_output=True, text=True, check=False, timeout=200
    )


def content(folder):
    return {each.name: each.read_bytes() for each in Path(folder).iterdir()}


# -- the same bytes ------------------------------------------------------------------------------

SELECT = ("select", "a.csv", "-k", 5, "--markers", 3, "--test", 0.3)
ELSEWHERE = {
    "again": {},
    "other hashes, language, time and one thread": {
        "PYTHONHASHSEED": "77", "LC_ALL": "tr_TR.UTF-8", "LANG": "tr_TR.UTF-8",
        "TZ": "Asia/Kathmandu", "NUMBA_NUM_THREADS": "1", "OMP_NUM_THREADS": "1",
    },
    "two threads": {"NUMBA_NUM_THREADS": "2", "OMP_NUM_THREADS": "2", "PYTHONHASHSEED": "0"},
    "no language and no home": {
        "LC_ALL": "C", "PYTHONUTF8": None, "HOME": None, "XDG_CACHE_HOME": None, "TZ": "UTC+13",
    },
    "without documentation and with warnings as errors": {"python": ("-OO", "-W", "error")},
    "without a compiler": {"NUMBA_DISABLE_JIT": "1"},
}  # fmt: skip


@pytest.fixture(scope="module")
def usual(tmp_path_factory):
    folder = tmp_path_factory.mktemp("usual")
    write_rows(folder / "a.csv")
    line, environment = command(*SELECT)
    ended = subprocess.run(
        line, env=environment, cwd=folder, capture_output=True, text=True, check=True
    )
    return ended.stdout, content(folder / "result")


@pytest.mark.parametrize("place", ELSEWHERE)
def test_the_same_rows_give_the_same_bytes(usual, place):
    write_rows("a.csv")
    ended = run(*SELECT, **ELSEWHERE[place])
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout == usual[0]
    assert content("result") == usual[1]


FITTED = """
import hashlib
import numpy as np
import scipy.sparse as sp
from naively import SparseGaussianNB, SparseL1Centers, SparseL2Centers, SparseMultinomialNB

rng = np.random.default_rng(4)
X = rng.gamma(0.5, 1.0, (300, 300)) * (rng.random((300, 300)) < 0.5)
X, y = sp.csr_array(X), np.arange(300) % 5
models = SparseGaussianNB(), SparseL1Centers(), SparseL2Centers(), SparseMultinomialNB()
for scores in (model.fit(X, y).scores_ for model in models):
    print(hashlib.sha256(scores.tobytes()).hexdigest())
"""


def test_the_run_that_compiles_gives_the_bytes_of_later_ones(tmp_path):
    # Sums whose order the compiler chose were those of another copy in the first process.
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "kernels")}
    first, later = (
        subprocess.run(
            [sys.executable, "-c", FITTED],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for _ in range(2)
    )
    assert len(first.splitlines()) == 4
    assert first == later


def test_options_are_helped_with_though_docstrings_are_gone():
    usual, bare = (run("select", "--help", python=python) for python in ((), ("-OO",)))
    assert (usual.returncode, bare.returncode, bare.stderr) == (0, 0, "")
    assert "--text NAME" in bare.stdout
    known = usual.stdout.splitlines()
    added = " ".join(line.strip() for line in bare.stdout.splitlines() if line not in known)
    assert (
        added == "Python runs with -OO, which leaves descriptions out; without it they stand here."
    )


# -- disks ---------------------------------------------------------------------------------------

LIMITED = """
import resource, runpy, signal, sys
import naively.jobs.learn, naively.jobs.records, naively.jobs.predict
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (600, 600))
sys.argv = ["naively", *sys.argv[1:]]
runpy.run_module("naively", run_name="__main__")
"""
# Root may write anywhere, unless it gives that up.
OBEDIENT = """
import ctypes, os, runpy, sys
if os.geteuid() == 0:
    header, nothing = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
    assert ctypes.CDLL(None).capset(header, nothing) == 0
sys.argv = ["naively", *sys.argv[1:]]
runpy.run_module("naively", run_name="__main__")
"""
WRITING = {
    "select": ("select", "a.csv", "-k", 2, "--out", "there/out"),
    "checkpoint": ("select", "a.csv", "-k", 2, "--checkpoint", "there/work", "--out", "out"),
    "count": ("count", "a.csv", "--out", "there/out.npz"),
    "records": ("count", "a.csv", "--out", "there/out"),
    "predict": ("predict", "result/model.npz", "a.csv", "--out", "there/out.csv"),
    "cv": ("cv", "a.csv", "--out", "there/out.csv"),
}


@pytest.fixture(scope="module")
def model(usual):
    return usual[1]["model.npz"]


@POSIX
@pytest.mark.parametrize("writing", WRITING)
@pytest.mark.parametrize("code", [LIMITED, OBEDIENT], ids=["full disk", "read-only folder"])
def test_what_cannot_be_written_is_told_and_nothing_is_left(model, code, writing):
    write_rows("a.csv", 200)
    Path("result").mkdir()
    Path("result/model.npz").write_bytes(model)
    Path("there").mkdir(mode=0o555 if code is OBEDIENT else 0o755)
    before = sorted(map(str, Path().rglob("*")))
    _, environment = command()
    line = [sys.executable, "-c", code, *map(str, WRITING[writing])]
    ended = subprocess.run(line, env=environment, capture_output=True, text=True, check=False)
    after = sorted(map(str, Path().rglob("*")))
    assert (ended.returncode, ended.stdout) == (2, ""), ended.stderr
    assert ended.stderr.startswith("naively: "), ended.stderr
    assert ended.stderr.count("\n") == 1
    assert "cannot be written" in ended.stderr
    assert [each for each in after if not each.startswith("there/work")] == before


@POSIX
@pytest.mark.parametrize("gone", ["there", "there/work"])
def test_a_folder_that_vanishes_meanwhile(gone):
    """The run ends in its result, or in one sentence."""
    Path("there").mkdir()
    os.mkfifo("pipe.csv")
    write_rows("a.csv")
    out = ("--out", "there/out") if gone == "there" else ("--checkpoint", "there/work")
    line, environment = command("select", "pipe.csv", "-k", 2, *out)
    with subprocess.Popen(
        line, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as running:
        with open("pipe.csv", "w") as pipe:  # opens when the command starts to read
            shutil.rmtree(gone, ignore_errors=True)
            pipe.write(Path("a.csv").read_text("utf-8"))
        _, error = running.communicate(timeout=100)
    assert "Traceback" not in error
    if running.returncode:
        assert (running.returncode, error.count("\n")) == (2, 1), error
    else:
        assert set(content("there/out" if gone == "there" else "result")) >= RESULT


# -- stopped and killed --------------------------------------------------------------------------


@POSIX
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_stopped_at_any_moment_all_or_nothing_is_there(number):
    write_rows("a.csv", 400)
    began = time.monotonic()
    assert run(*SELECT).returncode == 0
    usually, whole = time.monotonic() - began, content("result")
    chance = random.Random(int(number))
    for moment in range(MOMENTS):
        shutil.rmtree("result", ignore_errors=True)
        line, environment = command(*SELECT)
        # A word on the error output: from then on the signals are those of the command.
        start = "import sys, runpy, naively.cli.commands\nprint('on', flush=True)\n"
        start += "sys.argv = ['naively', *sys.argv[1:]]\nfrom naively.cli import main; main()\n"
        with subprocess.Popen(
            [line[0], "-c", start, *line[3:]], env=environment,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        ) as running:  # fmt: skip
            assert running.stdout.readline() == "on\n"
            time.sleep(0.05 + chance.random() * usually)
            running.send_signal(number)
            _, error = running.communicate(timeout=100)
        assert "Traceback" not in error, (moment, error)
        # Python itself has its way with a signal before the command begins, and after its end.
        assert running.returncode in (0, 130, -number), (moment, running.returncode, error)
        if running.returncode == 130:
            assert error == "naively: interrupted; nothing was written.\n"
            assert os.listdir(".") == ["a.csv"]
        elif running.returncode == 0 or os.path.exists("result"):
            assert content("result") == whole
        assert set(os.listdir(".")) <= {"a.csv", "result"}


@POSIX
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("where", ["callback=stop", "is_eager=True, callback=stop"])
def test_stopped_while_options_are_read_and_modules_made(number, where):
    """An engine is imported there; of a KeyboardInterrupt in code made of text Python dies."""
    start = f"""
import signal, sys
import click
from naively.cli import commands, main
signal.signal(signal.SIGINT, signal.default_int_handler)
def stop(*_):
    exec("import os, time; os.kill(os.getpid(), {int(number)}); time.sleep(60)")
@commands.naively.command("one")
@click.option("--on", {where})
def one(on): pass
sys.argv = ["naively", "one", "--on", "x"]
main()
"""
    found = subprocess.run(
        [sys.executable, "-c", start], capture_output=True, text=True, timeout=100, check=False
    )
    assert found.stderr == "naively: interrupted; nothing was written.\n"
    assert found.returncode == 130


def test_a_signal_as_compiled_code_returns_is_an_interruption(capsys):
    @explained
    def command(cause):
        raise SystemError("returned a result with an exception set") from cause

    with pytest.raises(SystemExit, match="130"):
        command(KeyboardInterrupt())
    assert capsys.readouterr().err == "naively: interrupted; nothing was written.\n"
    with pytest.raises(SystemError):
        command(None)


class Destroyed:
    """A signal comes while it is destroyed: Python drops what the handler raises, and goes on."""

    def __init__(self, number):
        self.number = number

    def __del__(self):
        os.kill(os.getpid(), self.number)
        time.sleep(0.01)


@POSIX
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_that_python_drops_stops_at_the_next_step(number, capsys):
    before = [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)]

    @explained
    def command():
        with screen.progress(quiet=True) as progress:
            Destroyed(number)
            steps.append("after the signal")
            progress("counting", 0, 1)
            steps.append("after the step")

    steps = []
    with pytest.raises(SystemExit, match="130"):
        command()
    assert steps == ["after the signal"]
    assert capsys.readouterr().err == "naively: interrupted; nothing was written.\n"
    assert [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)] == before


KILLED = """
import os, random, signal, sys, time, warnings
from naively.cli.commands import naively
from naively.work import stream

warnings.simplefilter("ignore")
stream.CHECKPOINT_PARTS = 1
job = ["select", "part-*.csv", "-k", "5", "-q", "--quick", "--checkpoint", "work"]
out = os.dup(1)
os.dup2(os.open(os.devnull, os.O_WRONLY), 1)

def run():
    child = os.fork()
    if not child:
        naively(job)  # ends the process
    return child

naively(job, standalone_mode=False)  # everything is compiled and imported here
os.system("rm -rf work result")
began = time.monotonic()
assert os.waitpid(run(), 0)[1] == 0
usually, chance, killed = time.monotonic() - began, random.Random(0), 0
os.system("rm -rf work; mv result usual")
for _ in range(int(sys.argv[1])):
    child = run()
    time.sleep(chance.random() * usually)
    os.kill(child, signal.SIGKILL)
    killed += os.waitpid(child, 0)[1] == signal.SIGKILL
    if chance.random() < 0.3:
        os.system("rm -rf work")  # or else what is done grows, and there is little to kill
assert os.waitpid(run(), 0)[1] == 0
os.write(out, str(killed).encode())
"""


@POSIX
def test_killed_at_twenty_moments_it_goes_on_to_the_same_bytes():
    for i in range(4):
        write_rows(f"part-{i}.csv", 1000, i)
    _, environment = command()
    ended = subprocess.run(
        [sys.executable, "-c", KILLED, "20"],
        env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    assert int(ended.stdout) > 5
    assert content("result") == content("usual")
    assert set(content("result")) == RESULT
    assert not [each for each in os.listdir(".") if each.startswith(".")]


@POSIX
def test_two_runs_into_one_folder_at_once():
    write_rows("a.csv", 400)
    line, environment = command(*SELECT)
    both = [
        subprocess.Popen(
            line, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    said = [each.communicate(timeout=100)[1] for each in both]
    ends = [each.returncode for each in both]
    assert 0 in ends
    assert set(ends) <= {0, 2}
    told = ("another run is writing its result there", "the earlier result in result was replaced")
    assert all(not each or any(words in each for words in told) for each in said), said
    assert set(content("result")) == RESULT | {"markers.csv"}
    assert sorted(os.listdir(".")) == ["a.csv", "result"]


# -- forks and threads ---------------------------------------------------------------------------

FORKED = """
import multiprocessing, sys
import numpy as np
import naively

rng = np.random.default_rng(0)
X, y = rng.poisson(1.0, (3000, 40)), rng.integers(0, 3, 3000)
MODELS = [naively.SparseMultinomialNB, naively.SparseGaussianNB, naively.SparseL1Centers,
          naively.SparseBernoulliNB]

def fitted(Model):
    model = Model(k=5).fit(X, y)
    return model.support_.tolist(), model.scores_.tolist(), model.predict(X).tolist()

if __name__ == "__main__":
    here = [fitted(each) for each in MODELS]
    with multiprocessing.get_context(sys.argv[1]).Pool(2) as pool:
        assert pool.map(fitted, MODELS) == here
"""


@POSIX
@pytest.mark.parametrize("way", ["fork", "spawn"])
def test_processes_that_start_after_use(way):
    Path("job.py").write_text(FORKED)
    _, environment = command()
    ended = subprocess.run(
        [sys.executable, "-W", "error", "job.py", way],
        env=environment, capture_output=True, text=True, check=False, timeout=200,
    )  # fmt: skip
    assert (ended.returncode, ended.stderr) == (0, "")


THREADED = [
    naively.SparseMultinomialNB(k=4),
    naively.SparseBernoulliNB(k=4),
    naively.SparseGaussianNB(k=4),
    naively.SparseCategoricalNB(k=4),
    naively.SparseL1Centers(k=4),
    naively.SparseL2Centers(k=4),
    naively.SparseMixedNB(k=4),
]


@pytest.mark.parametrize("model", THREADED, ids=lambda model: type(model).__name__)
def test_sixteen_threads_on_one_estimator(model):
    rng = np.random.default_rng(0)
    X, y = rng.poisson(1.0, (2000, 30)), np.arange(2000) % 3
    fitted = type(model)(**model.get_params()).fit(X, y)
    decide = getattr(fitted, "predict_proba", fitted.predict)
    usual = decide(X)

    def work(i):
        if i % 4 == 0:
            model.fit(X, y)  # all of them the same
        return np.array_equal(decide(X), usual)

    with ThreadPoolExecutor(16) as pool:
        assert all(pool.map(work, range(16)))
    agree(model.statistics_, fitted.statistics_, rounded=())
    assert np.array_equal(model.scores_, fitted.scores_)
    assert np.array_equal(model.predict(X), fitted.predict(X))
