"""The six commands.

Jobs are imported when they run, so that `--help` and `--version` answer at once.
"""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

import naively as package
from naively.cli.ending import Refusal, echo_json, explained, output_refused, replacing
from naively.cli.keys import Group, given, settings_given
from naively.cli.options import COUNT, CV, DEMO, EXPLAIN, PREDICT, SELECT, command
from naively.cli.recipes import (
    check_records,
    features_of,
    jobs_of,
    layout_of,
    model_settings,
    recipe_of,
    rows_layout,
)
from naively.models.kinds import MODELS
from naively.read.formats import FORMATS, format_of
from naively.report.names import printable

__all__ = ["Refusal", "echo_json", "naively", "output_refused"]

_EPILOG = """Exit status: 0, done; 1, a fault of naively itself; 2, a mistake in the command or its
input, told in one sentence; 130, interrupted; 141, whoever read the output has gone. Whatever it
is, nothing half-written is left.

Completion: eval "$(_NAIVELY_COMPLETE=bash_source naively)" in ~/.bashrc; zsh_source and
fish_source for other shells."""


@click.group(
    cls=Group,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=_EPILOG,
)
@click.version_option(package.__version__, prog_name="naively", message="%(prog)s %(version)s")
def naively() -> None:
    """Find the k features that tell classes apart, with a proof of how good they are.

    Start with `naively demo`, which runs on data that is already on your machine.
    """
    with suppress(AttributeError, ValueError):
        sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]


@command(naively, "select", SELECT)
@explained
def select(file: str, out: str, force: bool, as_json: bool, quiet: bool, **options: Any) -> None:
    """Select features from FILE, train a classifier on them, test it, and write a result folder.

    FILE is a table with a column of text (CSV, TSV, JSON, Parquet, Excel), a table of numbers
    (with --read numbers or a model of numbers such as --model l1-centers), a table of columns of
    any kind, texts among them (--model mixed), or a matrix (svmlight, .npz, Matrix Market,
    .h5ad), plain or compressed; - for the standard input,
    with --read format; many files by a pattern in quotes, such as 'part-?.csv'; or what `naively
    count` wrote, a record or a folder of them: the same model from statistics alone, untested.

    The folder gets features.csv, model.npz, summary.json, report.html and run.toml, by which
    `naively select --config` repeats the run; with --markers also markers.csv. It appears when
    all is done. A folder that is empty or holds an earlier result is replaced; one with other
    files needs --force.
    """
    from naively.cli import screen
    from naively.jobs import learn, records
    from naively.report.documents import summary_json

    rows = options["class_rows"]
    counted = rows is not None or (options["format"] is None and records.holds_records(file))
    if counted:
        check_records(file)
    with replacing(out), screen.progress(quiet=quiet) as progress:
        if counted:
            summary = records.solve(
                file, model_settings(options), out, progress, force=force, given=settings_given(),
                text_columns=options["text"] or ("text",), markers=options["markers"],
                long_rows=rows, format=options["format"],
            )  # fmt: skip
        else:
            recipe = recipe_of({"file": file, **options})
            summary = learn.select(recipe, out, progress, force=force)
    if as_json:
        echo_json(summary_json(summary))
    else:
        screen.show_summary(summary, out)


@command(naively, "predict", PREDICT)
@explained
def predict(
    model: str, file: str, out: str | None, probabilities: bool, margin: bool, threshold: Any,
    quiet: bool, **options: Any,
) -> None:  # fmt: skip
    """Apply MODEL (the model.npz of a result) to the rows of FILE and write their labels as CSV.

    A FILE with a message a line is read by --read format=tsv --read header=false --read
    quotes=false --text 1.

    A model file is data only: opening one from a stranger never runs code.
    """
    from naively.cli import screen
    from naively.jobs.predict import PredictJob, predict as run

    bound: Any = threshold if "threshold" in given() else "own"
    job = PredictJob(model, file, rows_layout(options), out, probabilities, margin, bound)
    with screen.progress(quiet=quiet) as progress:
        predicted = run(job, sys.stdout.buffer, progress)
    screen.show_predicted(predicted, out)


@command(naively, "explain", EXPLAIN)
@explained
def explain(
    model: str, texts: tuple[str, ...], file: str | None, row: int | None, shown: int | None,
    report: str | None, out: str | None, as_json: bool, **options: Any,
) -> None:  # fmt: skip
    """Tell what the model of RESULT (a folder, or its model.npz) makes of TEXT, word by word.

    TEXT may be - for the standard input. The answer and the class that comes second differ by the
    sum of what the words say, in nats: e to that power is the odds. Rows of numbers are explained
    with --file and --row. With --report, RESULT itself is rendered anew.
    """
    from naively.cli import screen
    from naively.jobs import explain as job
    from naively.jobs.tables import as_record

    asked = given()
    if report is not None:
        _only(asked, {"report", "out"}, "--report")
        _render(model, report, out)
        return
    if as_json and "shown" in asked:
        raise click.UsageError("-n has no effect on --json, which has all; leave it out.")
    if "out" in asked:
        raise click.UsageError("--out has no effect without --report; leave it out.")
    if (file is None) == (not texts) or (file is None) != (row is None):
        raise click.UsageError("give either TEXT, or both --file and --row, or --report.")
    if file is None:
        _only(asked, {"shown", "as_json"}, "a TEXT, only on --file")
        found = job.explain_text(model, [job.text_of(each, sys.stdin) for each in texts])
    else:
        found = job.explain_file(model, file, row or 1, rows_layout(options))
    if as_json:
        _print_json(as_record(found))
    else:
        screen.show_explanation(found, shown or 20)


def _only(asked: dict[str, str], known: set[str], what: str) -> None:
    """Refuse options that have no effect on something."""
    for name, spelled in asked.items():
        if name not in known:
            raise click.UsageError(f"{spelled} has no effect on {what}; leave it out.")


def _render(result: str, form: str, out: str | None) -> None:
    """Render the summary of a result as a page, Markdown or JSON."""
    from naively.jobs.reporting import read_summary, rendered

    text = rendered(read_summary(result), form)
    if out is None and form == "html":
        folder = Path(result) if Path(result).is_dir() else Path(result).parent
        out = str(folder / "report.html")
    if out is None:
        echo_json(text) if form == "json" else click.echo(text, nl=False)
        return
    _write(out, text)
    click.echo(f"Report: {out}")


@command(naively, "cv", CV)
@explained
def cv(
    file: str, model: tuple[str, ...], ks: Any, folds: int | str, against: str | None, alpha: Any,
    out: str | None, as_json: bool, quiet: bool, **options: Any,
) -> None:  # fmt: skip
    """Cross-validate every k at once, the features selected anew in each fold of FILE.

    Beside the score stands the gain of the training objective on all rows, with its bound, which
    no k features pass. The best score is the best of many and so flatters a little; `naively
    select -k auto` tests its choice on other rows.
    """
    from naively.cli import screen
    from naively.jobs.tables import as_record, cross_validate, cv_csv
    from naively.work.writing import check_csv_name

    if out is not None:
        check_csv_name(out)
    models = tuple(dict.fromkeys(model)) or ("multinomial",)
    if len(models) > 1 and "mixed" in models:
        raise click.UsageError(
            "--model mixed reads a table as it is, and the other models columns of one kind; "
            "compare it in a run of its own."
        )
    n_folds = folds if isinstance(folds, int) else None
    one = alpha[0] if alpha is not None and len(alpha) == 1 else None
    recipe = recipe_of({"file": file, **options, "model": models[0], "alpha": one})
    alphas = alpha if one is None else None
    with screen.progress(quiet=quiet) as progress:
        table = cross_validate(recipe, models, ks, n_folds, alphas, progress, against=against)
    if out is not None:
        _write(out, cv_csv(table))
    if as_json:
        _print_json(as_record(table))
    else:
        screen.show_cv(table)


def _write(out: str, text: str) -> None:
    from naively.work.writing import atomic_file

    with atomic_file(out) as file:
        file.write(text.encode("utf-8", "backslashreplace"))


def _print_json(record: Any) -> None:
    from naively.report.documents import finite

    echo_json(json.dumps(finite(record), ensure_ascii=False, allow_nan=False, indent=1) + "\n")


@command(naively, "count", COUNT)
@explained
def count(
    sources: tuple[str, ...], out: str, quiet: bool, model: str, resolution: Any, **options: Any
) -> None:
    """Count files of any size by class, into records of statistics that add up.

    Where OUT is a folder, each FILE gets a record in it; one that has a whole record already is
    not counted again, so the command may be stopped at any moment and repeated, and many may run
    at once on different files. Where OUT ends in .npz or .stats, it gets one record of all: of
    files, records, and the folders of records. `naively select` takes a record or such a folder.

    Records that define their features differently are refused, and so is a file in two of them.
    """
    from naively.cli import screen
    from naively.jobs import records

    records.check_out(out)
    known, files = records.parted(sources)
    counting = None
    if files:
        counting = _counting(files, {"model": model, **options}, resolution)
    else:
        _only(given(), {"out", "quiet"}, "records, which are counted")
    jobs = jobs_of(options)
    with screen.progress(quiet=quiet) as progress:
        if records.is_one(out):
            merged, notes = records.added(known, counting, out, progress, jobs=jobs)
            shards = f"{len(merged.shards):,} shard{'s' * (len(merged.shards) != 1)}"
            said = f"{merged.n_rows:,} rows of {shards}, {merged.statistics.n_features:,} "
            said += f"features, {len(merged.statistics.classes):,} classes in {out}"
        else:
            counted = records.count(counting, out, progress, jobs=jobs, known=known)
            written, notes = counted.records, counted.notes
            some = "1 record" if len(written) == 1 else f"{len(written):,} records"
            said = f"{some} in {out}; select from them with: naively select {out}"
    for line in (said, *map(printable, notes)):
        click.echo(line)


def _counting(files: tuple[str, ...], options: dict[str, Any], resolution: float | None) -> Any:
    from naively.jobs.records import Counting

    layout = layout_of(files[0], options)
    model = model_settings(options)
    table = not layout.text and FORMATS[format_of(files[0], layout.format)].holds == "table"
    if layout.key is not None and not table:
        raise click.UsageError(
            "--id has no effect here: names of rows are left out of the columns of a table of "
            "numbers (--read numbers), and not counted elsewhere; leave it out."
        )
    if resolution is not None and layout.text:
        raise click.UsageError(
            "--read resolution is of numbers (--read numbers) only; leave it out."
        )
    if resolution is not None and model.missing is not None:
        raise click.UsageError(
            "--read resolution and --read missing=ignore exclude each other; give one."
        )
    features = features_of(options) if layout.text else None
    of_counts = features is None and MODELS[model.kind].takes == "counts"
    return Counting(files, layout, features, model, resolution, of_counts)


@command(naively, "demo", DEMO)
@explained
def demo(out: str, force: bool, quiet: bool) -> None:
    """Ask which words tell whose documentation one is reading.

    The texts are the docstrings of Python and of the libraries that this one is built on, read
    from their installed sources; nothing is downloaded and none of them is run.
    """
    from naively.cli import screen
    from naively.jobs.demo import demo as run

    with replacing(out), screen.progress(quiet=quiet) as progress:
        summary = run(out, progress, force=force)
    screen.show_summary(summary, out)
