"""What the benchmarks share: jobs that take turns, peaks of memory, tables that are kept."""

import gc
import os
import subprocess
import sys
import tempfile
import time
import tracemalloc
from pathlib import Path

import numba
import numpy as np
from experiments.frame import record, write

HERE = Path(__file__).parent
SOURCE = HERE.parent / "src"
SCRATCH = Path(tempfile.gettempdir()) / "naively-benchmarks"  # data that are made once
MIB = 1 << 20


def once(job):
    """Seconds of a job, by the clock and of the processor."""
    clock, processor = time.perf_counter(), time.process_time()
    job()
    return time.perf_counter() - clock, time.process_time() - processor


def in_turn(jobs, rounds):
    """Seconds of each job, (rounds, 2), after a round in which each compiles and touches memory."""
    for job in jobs.values():
        job()
    gc.collect()
    gc.freeze()  # what is imported here for tables and figures is not searched for garbage again
    turns = [[once(job) for job in jobs.values()] for _ in range(rounds)]
    return dict(zip(jobs, np.array(turns).transpose(1, 0, 2), strict=True))


def medians(jobs, rounds, unit):
    """Medians of the jobs' seconds, and of their ratios to a job of the same round: both (2,)."""
    taken = in_turn(jobs, rounds)
    return {
        name: (np.median(each, axis=0), np.median(each / taken[unit], axis=0))
        for name, each in taken.items()
    }


def in_threads(count, job):
    """The job in so many threads of numba."""

    def run():
        usual = numba.get_num_threads()
        numba.set_num_threads(count)
        try:
            return job()
        finally:
            numba.set_num_threads(usual)

    return run


def peak(job):
    """Bytes of NumPy's and Python's objects at the highest, above those before."""
    gc.collect()
    tracemalloc.start()
    job()
    _, highest = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return highest


def process(command, source, kept=SCRATCH):
    """CPU seconds, user and system, and peak bytes of a run of Python on a tree of sources.

    Bytecode and compiled kernels stay in a folder, as in any installation. The peak that Linux
    tells is that of the asking process where this is larger: what needs memory is done `apart`.
    """
    environment = {name: os.environ[name] for name in os.environ if not name.startswith("PYTHON")}
    environment |= {
        "PYTHONPATH": os.pathsep.join(map(str, (Path(source).resolve(), HERE.parent))),
        "PYTHONPYCACHEPREFIX": str(kept / "bytecode"),
        "NUMBA_CACHE_DIR": str(kept / "kernels"),
    }
    quiet = subprocess.DEVNULL
    child = subprocess.Popen(command, env=environment, stdout=quiet, stderr=quiet)
    _, status, usage = os.wait4(child.pid, 0)
    if status:
        raise SystemExit(f"{command} failed")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss << 10


def apart(code):
    """What some Python prints in a process of its own."""
    command = [sys.executable, "-c", code]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def keep(name, tables):
    """Write results/NAME.json, with how busy the machine was in the last quarter of an hour."""
    load = [round(each, 1) for each in os.getloadavg()]
    (HERE / "results").mkdir(exist_ok=True)
    write(HERE / "results" / f"{name}.json", record(tables, load=load, cores=os.cpu_count()))
