"""The commands for data of any size, and the options that send `select` into streams."""

from __future__ import annotations

from typing import Any

import click

from naively.cli import insight
from naively.cli.commands import (
    MODEL,
    READING,
    TERMS,
    Options,
    explained,
    naively,
    repeatable_command,
    style_of,
    with_options,
)

_QUIET = click.option("-q", "--quiet", is_flag=True, help="Show no progress.")
_FORCE = click.option("--force", is_flag=True, help="Write into a folder with other files in it.")

__all__ = ["insight", "naively", "select_streamed"]  # the group, its commands complete

COUNT: Options = [
    click.argument("files", nargs=-1, required=True, metavar="SHARD..."),
    click.option("-o", "--out", required=True, metavar="FOLDER", help="Where records are written."),
    click.option("--text", default="text", show_default=True, metavar="NAME", help="Text column."),
    click.option("--label", default="label", show_default=True, metavar="NAME", help="Of labels."),
    click.option("--numbers", is_flag=True, help="Count the numbers of a table, not its text."),
    *TERMS,
    click.option("--presence", is_flag=True, help="Count a feature once a row (for bernoulli)."),
    click.option("--hash", "n_hashed", type=click.IntRange(1), metavar="N", help="Hashed columns."),
    click.option("--columns", type=click.IntRange(1), metavar="N", help="Columns of svmlight."),
    click.option(
        "--resolution",
        type=click.FloatRange(0, min_open=True),
        metavar="STEP",
        help="Round real numbers to multiples of this; sums are then exact in any order.",
    ),
    *READING,
    click.option("--jobs", type=click.IntRange(min=1), metavar="N", help="Threads.  [1]"),
    _QUIET,
]

SOLVE: Options = [
    click.argument("statistics", metavar="STATISTICS"),
    *MODEL,
    click.option("--text", default="text", show_default=True, metavar="NAME", help="Text column."),
    click.option(
        "-o", "--out", default="result", show_default=True, metavar="FOLDER", help="Where to write."
    ),
    _FORCE,
    click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON."),
    _QUIET,
]


@naively.command(short_help="Count files by class, each into a record.")
@with_options(COUNT)
@explained
def count(files: tuple[str, ...], out: str, jobs: int | None, quiet: bool, **options: Any) -> None:
    """Count SHARDs of any size by class, and write a record of each into a folder.

    A shard that has a whole record already is not counted again, so the command may be stopped at
    any moment and repeated, and many may run at once on different shards.
    """
    from naively.cli import screen
    from naively.jobs.records import count as run

    with screen.progress(quiet=quiet) as progress:
        written = run(_counting(files, options), out, progress, jobs=jobs)
    click.echo(f"{len(written):,} records in {out}; add them with: naively merge {out} -o FILE")


def _counting(files: tuple[str, ...], options: dict[str, Any]) -> Any:
    from naively.io.text import TextRule
    from naively.jobs.records import Counting
    from naively.jobs.route import is_matrix
    from naively.jobs.rows import stop_words
    from naively.scale.sources import Layout
    from naively.text.features import TOKEN_PATTERN

    numbers = options["numbers"] or is_matrix(files[0], options["format"])
    for name, other in (("n_hashed", "--hash"), ("resolution", "--resolution")):
        if options[name] is not None and numbers == (name == "n_hashed"):
            what = "text" if numbers else "numbers (--numbers)"
            raise click.UsageError(f"{other} is of {what} only; leave it out.")
    text = TextRule(
        columns=(options["text"],),
        analyzer=options["analyzer"],
        ngrams=options["ngrams"],
        stop_words=stop_words(options["stop_words"]),
        token_pattern=options["token_pattern"] or TOKEN_PATTERN,
        lowercase=options["analyzer"] != "tokens",
    )
    style = style_of(options)
    layout = Layout(
        label=options["label"],
        text=None if numbers else options["text"],
        format=options["format"],
        delimiter=style.delimiter,
        quotes=style.quotes,
        header=style.header,
        encoding=style.encoding,
    )
    return Counting(
        files,
        layout,
        None if numbers else text,
        presence=options["presence"],
        n_hashed=options["n_hashed"],
        n_columns=options["columns"],
        resolution=options["resolution"],
    )


@naively.command(short_help="Add records of different shards.")
@click.argument("sources", nargs=-1, required=True, metavar="RECORD|FOLDER...")
@click.option("-o", "--out", required=True, metavar="FILE", help="The statistics of all.")
@_QUIET
@explained
def merge(sources: tuple[str, ...], out: str, quiet: bool) -> None:
    """Add RECORDs, or all of a FOLDER, to the statistics of all their rows.

    Records that define their features differently are refused, and so is a shard in two of them.
    """
    from naively.cli import screen
    from naively.jobs.records import merge_records

    with screen.progress(quiet=quiet) as progress:
        merged = merge_records(sources, out, progress)
    click.echo(
        f"{merged.n_rows:,} rows of {len(merged.shards):,} shards, "
        f"{merged.counts.n_features:,} features, {len(merged.counts.classes):,} classes in {out}"
    )


@naively.command(short_help="Select features and train from statistics.")
@with_options(SOLVE)
@explained
def solve(
    statistics: str, text: str, out: str, force: bool, as_json: bool, quiet: bool, **options: Any
) -> None:
    """Select features and train a classifier from STATISTICS alone, and write a result folder.

    The model is the one that `naively select` finds on the rows behind them. Nothing is tested,
    since there are no rows.
    """
    from naively.cli import screen
    from naively.jobs.records import solve as run
    from naively.jobs.settings import ModelSettings
    from naively.report.documents import summary_json

    settings = ModelSettings(kind=options.pop("model"), **options)
    with screen.progress(quiet=quiet) as progress:
        summary = run(
            statistics,
            settings,
            out,
            progress,
            text_column=text,
            force=force,
            command=repeatable_command(),
        )
    if as_json:
        click.echo(summary_json(summary), nl=False)
    else:
        screen.show_summary(summary, out)


def _check_honoured(job: Any) -> None:
    """Refuse what streams would leave out of account."""
    layout = job.layout
    given = {
        "--labels": layout.labels_file,
        "--names": layout.names_file,
        "--transpose": layout.transpose,
        "--ignore": layout.ignore,
        "--test-labels": job.test.labels_file,
        "--image": job.model.image,
    }
    unknown = [name for name, value in given.items() if value]
    if unknown:
        raise click.UsageError(
            f"streams do not know {' and '.join(unknown)}; leave out --engine, --jobs and "
            "--checkpoint, and name one file."
        )


def select_streamed(
    job: Any,
    progress: Any,
    *,
    engine: str | None,
    address: str | None,
    jobs: int | None,
    checkpoint: str | None,
) -> Any:
    """Run a `select` in streams."""
    if address is not None and engine in (None, "local"):
        raise click.UsageError("--address is that of an engine; add --engine dask or spark.")
    if checkpoint is not None and engine in ("dask", "spark"):
        raise click.UsageError(
            f"--checkpoint is of this machine only; leave out it or --engine {engine}, or write "
            "records with naively count."
        )
    from naively.jobs.engines import Engine
    from naively.jobs.route import in_streams
    from naively.jobs.streamed import select_streamed as run

    _check_honoured(job)
    return run(in_streams(job, Engine(engine or "local", address, jobs), checkpoint), progress)
