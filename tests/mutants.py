"""Change the sources at random, one place at a time, and see whether a test fails.

`python -m tests.mutants` draws places in the packages of tests/mutants.toml, makes one change at
each (with the operators of Cosmic Ray) in a copy of the project, and runs the test files that
concern the module; then, of what these did not notice, laws and golden tests. Two processes share
the work with `1/2` and `2/2`; `report` prints what no test noticed. All is kept in .mutants/: a
stopped run goes on where it was, with the sample and the sources that it began with; remove the
folder to begin anew.

Every mutant is tried in a fork of a process that has loaded the libraries, but nothing of ours.
Kernels are not changed, so that compiled code stays valid: each copy keeps its own.
"""

import ast
import compileall
import difflib
import filecmp
import importlib
import json
import os
import random
import re
import resource
import shutil
import signal
import sys
import tomllib
from collections import Counter, defaultdict
from contextlib import suppress
from pathlib import Path

HERE = Path(__file__).parent
KEPT = HERE.parent / ".mutants"
CONFIG = tomllib.loads((HERE / "mutants.toml").read_text("utf-8"))
LEFT_OUT = shutil.ignore_patterns(".git", ".venv*", ".mutants", "__pycache__", "_build", ".*_cache")
LIBRARIES = "pytest hypothesis.extra.numpy numba.core.registry scipy.stats scipy.optimize pandas"
LIBRARIES += " sklearn.naive_bayes sklearn.neighbors sklearn.model_selection sklearn.pipeline"
LIBRARIES += " sklearn.linear_model sklearn.feature_extraction.text sklearn.utils.estimator_checks"
ALREADY = "ignore::pytest.PytestAssertRewriteWarning"  # of plugins that are loaded already
NOTICED = ("killed", "crashed")
OURS, SOURCES = HERE.parent / "src", Path("src/naively")


def _meaning(source):
    """Return what is evaluated of a module, without annotations; None if it is not Python."""
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return None
    for node in ast.walk(tree):
        for field in ("annotation", "returns"):
            if getattr(node, field, None):
                setattr(node, field, ast.Constant(0))
    return ast.dump(tree)


def _places():
    """Return the changes that can be made, (operator, occurrence), by module and position."""
    from cosmic_ray.ast import ast_nodes, get_ast
    from cosmic_ray.plugins import get_operator, operator_names

    operators = {
        name: get_operator(name)()
        for name in sorted(operator_names())
        if not get_operator(name).arguments()
        and not any(each in name for each in CONFIG["without"])
    }
    places = defaultdict(list)
    for path in sorted(
        path for each in CONFIG["packages"] for path in (SOURCES / each).glob("*.py")
    ):
        nodes = list(ast_nodes(get_ast(path.read_text("utf-8"))))
        for name, operator in operators.items():
            starts = [start for node in nodes for start, _ in operator.mutation_positions(node)]
            for occurrence, start in enumerate(starts):
                places[str(path), *start].append((name, occurrence))
    return places


def _mutants():
    """Draw places, and one change at each: (what it is, the module as it was and is then)."""
    kept = KEPT / "drawn.json"
    if not kept.exists():
        kept.write_text(json.dumps(_drawn()))
    return json.loads(kept.read_text())


def _drawn():
    """Make the sample: random places, and one change at each that means something else."""
    from cosmic_ray.mutating import mutate_code
    from cosmic_ray.plugins import get_operator

    places, chance, drawn = _places(), random.Random(CONFIG["seed"]), []
    for place in chance.sample(sorted(places), len(places)):
        operator, occurrence = chance.choice(places[place])
        source = Path(place[0]).read_text("utf-8")
        mutated = mutate_code(source, get_operator(operator)(), occurrence)
        if _meaning(mutated) not in (None, _meaning(source)):
            drawn.append((f"{place[0]}:{place[1]}:{place[2]} {operator}", source, mutated))
        if len(drawn) == CONFIG["sample"]:
            return drawn
    return drawn


def _files_of(module):
    """Return what concerns a module, for pytest: its test files; laws and golden tests."""
    package, name = module.relative_to(SOURCES).with_suffix("").parts
    own = CONFIG["tests"].get(f"{package}/{name}", CONFIG["tests"][package]).split()
    words = f"{CONFIG['words'][package]} or {name}"
    return [
        [f"tests/test_{each}.py" for each in own],
        ["tests/test_laws.py", "tests/test_golden.py", "-k", words],
    ]


class _ByTurns:
    """Runs the first case of every test before the second of any."""

    def pytest_collection_modifyitems(self, items):
        turn, met = {}, Counter()
        for item in items:
            name = item.nodeid.split("[")[0]
            turn[item] = met[name]
            met[name] += 1
        items.sort(key=turn.get)


def _tested(tests, log):
    """Run tests in a fork: (how it ended, seconds of processor time)."""
    child = os.fork()
    if not child:
        import pytest

        os.setsid()
        output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(output, 1), os.dup2(output, 2)
        resource.setrlimit(resource.RLIMIT_CPU, (CONFIG["seconds"],) * 2)
        options = ["-n", "0", "-q", "-x", "-p", "no:cacheprovider", "--tb=line", "-W", ALREADY]
        os._exit(pytest.main([*options, *tests], plugins=[_ByTurns()]))
    _, status, usage = os.wait4(child, 0)
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)  # what a killed test has started
    late = os.WIFSIGNALED(status) and os.WTERMSIG(status) in (signal.SIGKILL, signal.SIGXCPU)
    crashed = os.WIFSIGNALED(status) and not late
    ended = "out of time" if late else "crashed" if crashed else "killed" if status else "survived"
    return ended, usage.ru_utime + usage.ru_stime


def _renew(source, copy):
    """Copy a file that has changed: compiled kernels know theirs by its time."""
    if not (os.path.exists(copy) and filecmp.cmp(source, copy, shallow=False)):
        shutil.copy2(source, copy)


def _enter(name):
    """Go to a copy of the project, of which everything that is run takes its sources."""
    copy = (KEPT / name).resolve()
    shutil.copytree(HERE.parent, copy, ignore=LEFT_OUT, copy_function=_renew, dirs_exist_ok=True)
    os.chdir(copy)
    os.environ |= {"PYTHONPATH": str(copy / "src"), "NUMBA_CACHE_DIR": str(copy / "kernels")}
    os.environ["SCIPY_ARRAY_API"] = "1"
    sys.path[:] = [str(copy / "src"), *(each for each in sys.path if each != str(OURS))]
    compileall.compile_dir(copy / "src", quiet=1)
    sys.dont_write_bytecode = True  # or a mutant could be taken for the next one of its module
    for library in LIBRARIES.split():
        importlib.import_module(library)
    assert "naively" not in sys.modules


def run(share="1/1"):
    """Try the mutants of a share that have not been tried."""
    part, parts = map(int, share.split("/"))
    _enter(f"copy-{part}-{parts}")
    results, log = KEPT / f"results-{part}-{parts}.jsonl", KEPT / f"log-{part}-{parts}"
    mutants = _mutants()[part - 1 :: parts]
    for step in range(2):  # laws and golden tests for what the test files have not noticed
        known = {what: found["ended"] for what, found in _found([results]).items()}
        for what, source, mutated in mutants:
            if known.get((what, step)) or (step and known[what, 0] in NOTICED):
                continue
            module = Path(what.split(":")[0])
            module.write_text(mutated, "utf-8")
            try:
                ended, spent = _tested(_files_of(module)[step], log)
            finally:
                module.write_text(source, "utf-8")
            lines = difflib.unified_diff(source.split("\n"), mutated.split("\n"), n=1, lineterm="")
            by = re.findall(r"^(?:FAILED|ERROR) (\S+)", log.read_text(), re.M)
            if ended == "killed" and not by:
                sys.exit(f"No test ran; see {log}.")
            found = {"what": what, "step": step, "ended": ended, "seconds": round(spent), "by": by}
            found["change"] = [*lines][2:]
            with results.open("a") as file:
                file.write(json.dumps(found) + "\n")


def _found(paths):
    """Return what is kept, by mutant and step."""
    lines = [line for path in paths if path.exists() for line in path.open()]
    return {(each["what"], each["step"]): each for each in map(json.loads, lines)}


def report():
    """Print the mutants that no test noticed, and how many were tried."""
    found = _found(sorted(KEPT.glob("results-*")))
    last = {what: each for (what, _), each in sorted(found.items())}
    for each in last.values():
        if each["ended"] not in NOTICED:
            sys.stdout.write("\n".join([each["what"], each["ended"], *each["change"], ""]))
    sys.stdout.write(f"{len(last)} tried: {dict(Counter(e['ended'] for e in last.values()))}\n")


if __name__ == "__main__":
    report() if sys.argv[1:] == ["report"] else run(*sys.argv[1:])
