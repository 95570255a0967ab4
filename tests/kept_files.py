"""One small file of each kind and version that was ever written, and what it must still say.

    python -m tests.kept_files     stores those of the present version; others are never touched

`test_versions.py` reads them all. Files of a version that is given up are
deleted by hand, and then refused.
"""

import json
import shutil
import tempfile
from contextlib import chdir
from pathlib import Path

import numpy as np
from click.testing import CliRunner

from naively._versions import MODEL, RECORD, SUMMARY
from naively.cli.commands import naively
from naively.models import MODELS
from naively.work.records import load_record

FOLDER = Path(__file__).parent / "kept"
ROWS = {"text": "texts.csv", "numbers": "numbers.csv"}  # no path of a machine is kept
TEXTS = {  # by the words of a model, or of a count
    "text": (),
    "text-tfidf": ("--words", "weights=tfidf"),
    "text-ngrams": ("--words", "ngrams=1,2", "--words", "weights=log"),
}
OF_MODELS = {  # what `naively select` is given for each model that is kept
    **{name: (ROWS["text"], *options) for name, options in TEXTS.items()},
    **{name: (ROWS["numbers"], "--read", "numbers", "--model", name) for name in MODELS},
    "mixed": (ROWS["numbers"], "--model", "mixed"),
}
OF_RECORDS = {  # and `naively count` for each record
    name: options
    for name, options in OF_MODELS.items()
    if name not in ("text-tfidf", "mixed") and (name in TEXTS or MODELS[name].statistic)
}


def run(*arguments):
    """The output of a command that ends well."""
    ended = CliRunner().invoke(naively, [*map(str, arguments)])
    assert ended.exit_code == 0, (arguments, ended.output)
    return ended.stdout


def predictions(model, name):
    """What `naively predict` answers with a model, by rows of its kind: (n, 1 + C) texts."""
    rows = FOLDER / ROWS["text" if name.startswith("text") else "numbers"]
    lines = run("predict", model, rows, "--probabilities", "-q").splitlines()
    return [line.split(",") for line in lines]


def selected(record, name):
    """Names and gains of the three features that are selected from a record."""
    with tempfile.TemporaryDirectory() as folder:
        of_model = () if name.startswith("text") else ("--model", name)
        run("select", record, "-k", 3, *of_model, "-q", "--out", f"{folder}/out")
        summary = json.loads(Path(folder, "out", "summary.json").read_text("utf-8"))
    return [[row["name"], row["gain"]] for row in summary["features"]]


def figures(summary, _):
    """Names and gains of the features of a result rendered anew, and how near the optimum it is."""
    found = json.loads(run("explain", summary, "--report", "json"))
    certificate = [found["certificate"][name] for name in ("objective", "bound", "baseline")]
    return [[[row["name"], row["gain"]] for row in found["features"]], certificate]


def sums(record, _):
    """Rows of each class in a record, and its shards."""
    found = load_record(record)
    rows = found.statistics.class_rows.tolist()
    return [dict(zip(found.statistics.classes.tolist(), rows, strict=True)), dict(found.shards)]


def write_rows():
    """Rows of texts, and of numbers, two of which are as good as categories."""
    rng = np.random.default_rng(0)
    words = np.array(["good", "fun", "great", "film", "plot", "dull", "poor", "awful"])
    lines = ["text,label"]
    for i in range(40):
        own = words[:5] if i % 2 else words[3:]
        lines.append(f"{' '.join(rng.choice(own, 6))},{'yes' if i % 2 else 'no'}")
    (FOLDER / ROWS["text"]).write_text("\n".join(lines) + "\n", "utf-8")
    lines = ["a,b,c,d,label"]
    for i in range(60):
        numbers = rng.poisson([1 + 3 * (i % 3), 2, 4 - i % 3, 1])
        lines.append(f"{','.join(map(str, numbers))},{'xyz'[i % 3]}")
    (FOLDER / ROWS["numbers"]).write_text("\n".join(lines) + "\n", "utf-8")


def main():
    """Store what is missing."""
    FOLDER.mkdir(exist_ok=True)
    if not (FOLDER / ROWS["text"]).exists():
        write_rows()
    said_by = FOLDER / "said.json"
    said = json.loads(said_by.read_text("utf-8")) if said_by.exists() else {}
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        for rows in ROWS.values():
            shutil.copy(FOLDER / rows, rows)
        for file, value in _stored(said):
            said[file] = value
    lines = [f"{json.dumps(file)}: {json.dumps(said[file])}" for file in sorted(said)]
    said_by.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")


def _stored(said):
    """Store the files of the present version that are missing; each with what it says."""
    of_kinds = {
        f"model-{MODEL.version}-*.npz": OF_MODELS,
        f"record-{RECORD.version}-*.npz": OF_RECORDS,
        f"checkpoint-{RECORD.version}-*.npz": ("text", "mixed"),
        f"summary-{SUMMARY.version}-*.json": ("text", "gaussian"),
    }
    for pattern, names in of_kinds.items():
        for name in names:
            file = pattern.replace("*", name)
            if file not in said:
                shutil.copy(_made(file.partition("-")[0], name), FOLDER / file)
                yield file, what_it_says(file)


def what_it_says(file):
    """What a kept file gives, as `said.json` has it."""
    kind, _, name = Path(file).stem.split("-", 2)
    says = {"model": predictions, "record": selected, "checkpoint": sums, "summary": figures}
    return says[kind](FOLDER / file, name)


def _made(kind, name):
    """The file of a kind that a command writes."""
    if kind == "record":
        run("count", *OF_RECORDS[name], "-q", "--out", "record.npz")
        return "record.npz"
    work = ("--checkpoint", f"work-{name}") if kind == "checkpoint" else ()
    run("select", *OF_MODELS[name], "-k", 3, "-q", "--out", name, *work)
    if work:
        (record,) = Path(work[1]).glob("*.npz")
        return record
    return Path(name, "model.npz" if kind == "model" else "summary.json")


if __name__ == "__main__":
    main()
