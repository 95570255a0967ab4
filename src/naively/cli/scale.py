"""The commands that count, merge and solve: statistics of data of any size."""

from __future__ import annotations

from typing import Any

import click

from naively.cli import insight
from naively.cli.commands import (
    BESIDE,
    CONSTRAINTS,
    EXACT,
    EXPOSURE,
    FILE,
    MARKERS,
    NUMBERS,
    OBJECTIVE,
    RATE,
    READING,
    SMOOTHING,
    TERMS,
    WEIGHTING,
    Options,
    amount_option,
    echo_json,
    explained,
    features_of,
    ignored,
    kind_option,
    layout_of,
    naively,
    repeatable_command,
    replacing,
    with_options,
)
from naively.models.kinds import MODELS
from naively.report.names import printable

_QUIET = click.option("-q", "--quiet", is_flag=True, help="Show no progress.")
_FORCE = click.option("--force", is_flag=True, help="Write into a folder with other files in it.")

__all__ = ["insight", "naively"]  # the group, its commands complete

# Whose statistics add up wherever they are counted; kinds of columns are known after a look at all.
ADDED = [name for name, kind in MODELS.items() if kind.statistic and kind.takes != "table"]

COUNT: Options = [
    click.argument("files", nargs=-1, required=True, metavar="SHARD..."),
    click.option("-o", "--out", required=True, metavar="FOLDER", help="Where records are written."),
    click.option(
        "--text", multiple=True, metavar="NAME", help="Column of text; may be repeated.  [text]"
    ),
    click.option("--label", metavar="NAME", help="Column (in .npz: array) of labels.  [label, y]"),
    *BESIDE,
    *NUMBERS,
    *TERMS,
    click.option(
        "--model",
        type=click.Choice(ADDED),
        default="multinomial",
        show_default=True,
        help="Count what this model is trained on.",
    ),
    *WEIGHTING,
    EXPOSURE,
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
    kind_option(ADDED),
    amount_option(auto=False),
    RATE,
    *SMOOTHING,
    *OBJECTIVE,
    *EXACT,
    *CONSTRAINTS,
    MARKERS,
    click.option(
        "--long",
        is_flag=True,
        help="STATISTICS is a table (.csv, .tsv, .parquet) of columns feature, label and count, as "
        "GROUP BY label, feature gives it; with --class-rows.",
    ),
    click.option(
        "--class-rows",
        metavar="FILE",
        type=FILE,
        help="Of --long: a table of the rows of each class, columns label and rows.",
    ),
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
        counted = run(_counting(files, options), out, progress, jobs=jobs)
    written = counted.records
    records = "1 record" if len(written) == 1 else f"{len(written):,} records"
    click.echo(f"{records} in {out}; add them with: naively merge {out} -o FILE")
    for note in counted.notes:
        click.echo(printable(note))


def _counting(files: tuple[str, ...], options: dict[str, Any]) -> Any:
    from naively.jobs.records import Counting
    from naively.jobs.settings import ModelSettings

    layout = layout_of(files[0], options)
    kind = MODELS[options["model"]]
    weighting = {name: options[name] for name in ("weights", "norm", "exposure")}
    model = ModelSettings(kind.name, missing=ignored(options), **weighting)
    if options["resolution"] is not None and layout.text:
        raise click.UsageError("--resolution is of numbers (--numbers) only; leave it out.")
    if options["resolution"] is not None and model.missing is not None:
        raise click.UsageError("--resolution and --missing ignore exclude each other; give one.")
    features = features_of(options) if layout.text else None
    of_counts = features is None and kind.takes == "counts"
    return Counting(files, layout, features, model, options["resolution"], of_counts)


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
        f"{merged.n_rows:,} rows of {len(merged.shards):,} shard{'s' * (len(merged.shards) != 1)}, "
        f"{merged.statistics.n_features:,} features, {len(merged.statistics.classes):,} classes "
        f"in {out}"
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

    markers, long, class_rows = (options.pop(each) for each in ("markers", "long", "class_rows"))
    if long != (class_rows is not None):
        raise click.UsageError(
            "--long and --class-rows go together: counts of features in classes, and the rows of "
            "each class; give both or neither."
        )
    if long and text != "text":
        raise click.UsageError("--text has no effect on --long, a table of counts; leave it out.")
    settings = ModelSettings(kind=options.pop("model"), **options)
    with replacing(out), screen.progress(quiet=quiet) as progress:
        summary = run(
            statistics,
            settings,
            out,
            progress,
            text_column=text,
            force=force,
            command=repeatable_command(),
            markers=markers,
            long_rows=class_rows,
        )
    if as_json:
        echo_json(summary_json(summary))
    else:
        screen.show_summary(summary, out)
