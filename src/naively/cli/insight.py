"""The commands that look closer: every k, a report in another form, a decision taken apart."""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from typing import Any

import click

from naively.cli.commands import (
    AS_TRAINED,
    CONSTRAINTS,
    EXPOSURE,
    FEATURES,
    FILE,
    GROUPS,
    INPUT,
    KIND,
    NUMBERS,
    OBJECTIVE,
    READING,
    REDUNDANCY,
    REPEATS,
    SCORING,
    SMOOTHING,
    TABLE,
    TIME,
    AnyType,
    Options,
    echo_json,
    explained,
    naively,
    recipe_of,
    style_of,
    with_options,
)
from naively.models.kinds import MODELS

_JSON = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
_QUIET = click.option("-q", "--quiet", is_flag=True, help="Show no progress.")


class Grid(AnyType):
    """Numbers of features."""

    name = "K,K-K,..."

    def convert(self, value: Any, param: Any, ctx: Any) -> list[int]:
        """Read 1,10,100 or 1-20."""
        from naively.jobs.tables import grid

        with suppress(ValueError):
            return grid(str(value)) or []
        return self.fail(
            f"{value!r} is not a list of numbers of features, such as 1,10,100 or 1-20,50.",
            param,
            ctx,
        )


KS = click.option("--ks", type=Grid(), help="Which k.  [about 100, from 1 to all]")

PATH: Options = [
    *INPUT,
    KIND,
    KS,
    *SMOOTHING,
    EXPOSURE,
    *OBJECTIVE,
    *REDUNDANCY,
    *CONSTRAINTS,
    *FEATURES,
    *NUMBERS,
    *TABLE,
    *READING,
    click.option("--out", metavar="FILE", type=FILE, help="Write all k as CSV."),
    _JSON,
    _QUIET,
]


@naively.command(short_help="What every number of features reaches.")
@with_options(PATH)
@explained
def path(input: str, ks: Any, out: str | None, as_json: bool, quiet: bool, **options: Any) -> None:
    """Select for every k at once from one count of FILE, and show what each reaches.

    The gain is that of the training objective; its limit is proven for any features of that
    number. `naively cv` tells how well each k predicts.
    """
    from naively.cli import screen
    from naively.jobs.tables import as_record, path_csv, path_of

    with screen.progress(quiet=quiet) as progress:
        table = path_of(recipe_of(input, options), ks, progress)
    _write(out, path_csv(table))
    if as_json:
        _print_json(as_record(table))
    else:
        screen.show_path(table)


_MODELS = [name for name, kind in MODELS.items() if not kind.regions]


class Smoothings(AnyType):
    """Values of alpha."""

    name = "A,A,..."

    def convert(self, value: Any, param: Any, ctx: Any) -> list[float]:
        """Read 0.1,1."""
        with suppress(ValueError):
            found = [float(part) for part in str(value).split(",")]
            if all(0 <= each < float("inf") for each in found):
                return found
        return self.fail(f"{value!r} is not a list of smoothings, such as 0.1,1.", param, ctx)


class Folds(AnyType):
    """How many folds there are."""

    name = "N|loo"

    def convert(self, value: Any, param: Any, ctx: Any) -> int | str:
        """Read 5, or loo."""
        text = str(value).strip().lower()
        if text == "loo" or (text.isdecimal() and len(text) < 10 and int(text) >= 2):
            return text if text == "loo" else int(text)
        return self.fail(
            f"{value!r} is not a number of folds, 2 or more, nor loo (leave one out).", param, ctx
        )


CV: Options = [
    *INPUT,
    click.option(
        "--model",
        "models",
        multiple=True,
        type=click.Choice(_MODELS),
        help="May be repeated: all on the same folds.  [multinomial]",
    ),
    KS,
    click.option(
        "--folds",
        type=Folds(),
        default=5,
        show_default=True,
        help="Parts of the rows; loo leaves out each row, or each of --groups, alone.",
    ),
    REPEATS,
    GROUPS,
    TIME,
    SCORING,
    click.option(
        "--against",
        type=click.Choice(["logistic"]),
        help="Judge scikit-learn's logistic regression, too: all words by tf-idf, or all columns.",
    ),
    click.option("--alphas", type=Smoothings(), help="Smoothings to try.  [that of --alpha]"),
    *SMOOTHING,
    EXPOSURE,
    *OBJECTIVE,
    *REDUNDANCY,
    *CONSTRAINTS,
    *FEATURES,
    *NUMBERS,
    *TABLE,
    *READING,
    click.option("--out", metavar="FILE", type=FILE, help="Write all k as CSV."),
    _JSON,
    _QUIET,
]


@naively.command(short_help="How well every number of features predicts.")
@with_options(CV)
@explained
def cv(
    input: str,
    models: tuple[str, ...],
    ks: Any,
    folds: int | str,
    alphas: Any,
    against: str | None,
    out: str | None,
    as_json: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Cross-validate every k at once, the features selected anew in each fold of FILE.

    The best accuracy is the best of many and so flatters a little; `naively select -k auto` tests
    its choice on other rows.
    """
    from naively.cli import screen
    from naively.jobs.tables import as_record, cross_validate, cv_csv

    models = tuple(dict.fromkeys(models)) or ("multinomial",)
    if len(models) > 1 and "mixed" in models:
        raise click.UsageError(
            "--model mixed reads a table as it is, and the other models columns of one kind; "
            "compare it in a run of its own."
        )
    recipe = recipe_of(input, {**options, "model": models[0]})
    with screen.progress(quiet=quiet) as progress:
        n_folds = folds if isinstance(folds, int) else None
        table = cross_validate(recipe, models, ks, n_folds, alphas, progress, against=against)
    _write(out, cv_csv(table))
    if as_json:
        _print_json(as_record(table))
    else:
        screen.show_cv(table)


def _write(out: str | None, text: str) -> None:
    from naively.work.writing import atomic_file

    if out is not None:
        with atomic_file(out) as file:
            file.write(text.encode("utf-8", "backslashreplace"))


def _print_json(record: Any) -> None:
    from naively.report.documents import finite

    echo_json(json.dumps(finite(record), ensure_ascii=False, allow_nan=False, indent=1) + "\n")


REPORT: Options = [
    click.argument("result", metavar="RESULT", type=FILE),
    click.option(
        "--format",
        "form",
        type=click.Choice(["html", "md", "json"]),
        default="html",
        show_default=True,
        help="A page, Markdown or JSON.",
    ),
    click.option(
        "--out",
        metavar="FILE",
        type=FILE,
        help="Where to write.  [RESULT/report.html; md and json: the terminal]",
    ),
    click.option("--open", "opened", is_flag=True, help="Open the page in the browser."),
]


@naively.command(short_help="Render a result as a page, Markdown or JSON.")
@with_options(REPORT)
@explained
def report(result: str, form: str, out: str | None, opened: bool) -> None:
    """Render RESULT, the folder that `naively select` wrote, anew from its summary.json."""
    from pathlib import Path

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
    if opened and form == "html":
        click.launch(out)


EXPLAIN: Options = [
    click.argument("model", metavar="MODEL", type=FILE),
    click.argument("texts", metavar="[TEXT]...", nargs=-1),
    click.option("--file", "source", metavar="FILE", type=FILE, help="Explain a row of this file."),
    click.option("--row", type=click.IntRange(min=1), help="Which row; 1 is the first."),
    click.option("--text", multiple=True, metavar="NAME", help="Column of text.  [as in training]"),
    *AS_TRAINED,
    *READING,
    click.option(
        "-n",
        "shown",
        type=click.IntRange(min=1),
        default=20,
        show_default=True,
        help="Show so many features.",
    ),  # fmt: skip
    _JSON,
]


def _check_no_file() -> None:
    """Refuse options of a file where a text is given."""
    context = click.get_current_context()
    for each in context.command.params:
        if each.name in _OF_FILE and context.get_parameter_source(each.name) is _GIVEN:
            raise click.UsageError(f"{each.opts[0]} has no effect on a TEXT, only on --file.")


_OF_FILE = {
    *("text", "names", "layer", "transpose", "format"),
    *("delimiter", "no_quotes", "no_header", "encoding", "sheet"),
}
_GIVEN = click.core.ParameterSource.COMMANDLINE


@naively.command(short_help="Which words moved a decision, and how much.")
@with_options(EXPLAIN)
@explained
def explain(
    model: str,
    texts: tuple[str, ...],
    source: str | None,
    row: int | None,
    shown: int,
    as_json: bool,
    **options: Any,
) -> None:
    """Tell what MODEL (or the result folder with it) makes of TEXT, word by word.

    TEXT may be - for the standard input. The answer and the class that comes second differ by the
    sum of what the words say, in nats: e to that power is the odds. Rows of numbers are explained
    with --file and --row.
    """
    from naively.cli import screen
    from naively.jobs import explain as job
    from naively.jobs.tables import as_record
    from naively.read.layout import Layout

    if (source is None) == (not texts) or (source is None) != (row is None):
        raise click.UsageError("give either TEXT, or both --file and --row.")
    if source is None:
        _check_no_file()
        found = job.explain_text(model, [job.text_of(each, sys.stdin) for each in texts])
    else:
        layout = Layout(
            format=options["format"],
            text=options["text"],
            names_file=options["names"],
            layer=options["layer"],
            transpose=options["transpose"],
            **style_of(options),
        )
        found = job.explain_file(model, source, row or 1, layout)
    if as_json:
        _print_json(as_record(found))
    else:
        screen.show_explanation(found, shown)
