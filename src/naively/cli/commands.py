"""The options of the command, and the jobs they belong to.

Jobs are imported when they run, so that `--help` and `--version` answer at once.
"""

from __future__ import annotations

import codecs
import functools
import json
import math
import os
import re
import shlex
import signal
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NoReturn, ParamSpec, TypeAlias, TypeVar

import click

import naively as package
from naively._choices import AUTO
from naively.judging.names import SCORINGS
from naively.models.kinds import ASKED, MODELS
from naively.read.errors import InputError, OutputError, reason
from naively.read.formats import FORMATS, format_of
from naively.report.names import printable
from naively.statistics.column_kinds import KINDS
from naively.text.features import LARGEST_NGRAM, PRESETS, TOKEN_PATTERN, WEIGHTS

if TYPE_CHECKING:
    from naively.judging.thresholds import Goal, Wanted

    AnyType: TypeAlias = click.ParamType[Any]
else:
    AnyType = click.ParamType  # before click 8.4 it is not generic

P = ParamSpec("P")
R = TypeVar("R")

_INTERRUPTED = 130  # what shells report for a program stopped by Ctrl-C
_READER_GONE = 141  # and for one that wrote on to a reader that had enough (head, less)


_SMALLER = {"--min-count": "--min-count", "--ngrams": "smaller --ngrams", "-k": "a smaller -k"}


class Refusal(click.ClickException):
    """One clear sentence and exit status 2."""

    exit_code = 2

    def show(self, file: Any = None) -> None:
        """Write the sentence to the error output."""
        click.echo(f"naively: {printable(' '.join(self.message.split()))}", file=file, err=True)


def explained(command: Callable[P, R]) -> Callable[P, R]:
    """Turn what the user can mend into one sentence, and Ctrl-C into a clean end."""

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        _stop_like_interrupt(signal.SIGTERM)
        try:
            return command(*args, **kwargs)
        except (InputError, OutputError) as error:
            raise Refusal(str(error)) from error
        except BrokenPipeError:
            _give_up_output()
            sys.exit(_READER_GONE)
        except OSError as error:
            _give_up_output()
            name = f"{error.filename}:" if error.filename else "the output"
            raise Refusal(f"{name} cannot be written: {reason(error)}.") from error
        except MemoryError as error:
            known = {
                name for each in click.get_current_context().command.params for name in each.opts
            }
            ways = [way for name, way in _SMALLER.items() if name in known]
            raise Refusal(f"not enough memory; use {', '.join([*ways, 'fewer rows'])}.") from error
        except KeyboardInterrupt:
            click.echo("naively: interrupted; nothing was written.", err=True)
            sys.exit(_INTERRUPTED)

    return run


def _stop_like_interrupt(number: int) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    with suppress(ValueError):  # not in the main thread: leave signals alone
        signal.signal(number, stop)


def output_refused(error: OSError) -> NoReturn:
    """End, telling in one sentence why the output cannot be written."""
    _give_up_output()
    refusal = Refusal(f"the output cannot be written: {reason(error)}.")
    refusal.show()
    sys.exit(refusal.exit_code)


@contextmanager
def replacing(out: str) -> Iterator[None]:
    """Tell, once it is done, that an earlier result gave way."""
    from naively.jobs.results import RESULT_FILES
    from naively.work.writing import replaces

    earlier = replaces(out, RESULT_FILES)
    yield
    if earlier:
        click.echo(f"naively: the earlier result in {printable(out)} was replaced.", err=True)


def echo_json(text: str) -> None:
    """Print JSON: as it is where the output is UTF-8, and else in ASCII, which is JSON too."""
    encoding = codecs.lookup(getattr(sys.stdout, "encoding", None) or "utf-8").name
    if encoding != "utf-8":
        # Outside of strings JSON is ASCII.
        text = re.sub(r"[^\x00-\x7f]", lambda found: json.dumps(found[0])[1:-1], text)
    click.echo(text, nl=False)


def _give_up_output() -> None:
    # What could not be written would be tried, and complained of, once more at exit.
    with suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class Amount(AnyType):
    """How many features: a number, a share of all, all of them, or what cross-validation finds."""

    name = "INTEGER|FRACTION|all|fdr|auto|simplest|best"

    def __init__(self, *, auto: bool = True) -> None:
        self.words = ("all", "fdr", *AUTO) if auto else ("all", "fdr")
        self.name = "|".join(["INTEGER", "FRACTION", *self.words])

    def convert(self, value: Any, param: Any, ctx: Any) -> int | float | str:
        """Read 100, 0.01, 1%, all, fdr, auto, simplest or best."""
        text = str(value).strip().lower()
        if text in self.words:
            return text
        if text in AUTO:
            self.fail(
                f"-k {text} cross-validates, which needs the rows themselves and not only their "
                "statistics; give a number, or the files to `naively select`.",
                param,
                ctx,
            )
        with suppress(ValueError):
            if text.isdecimal():
                return int(text)
            share = float(text[:-1]) / 100 if text.endswith("%") else float(text)
            if 0 < share <= 1 and not text.isdecimal():
                return share
        return self.fail(
            f"{value!r} is not a number of features (100), a share of them (0.01 or 1%), "
            f"{', '.join(self.words[:-1])} or {self.words[-1]}.",
            param,
            ctx,
        )


class QuotaType(AnyType):
    """How many features for each class."""

    name = "N|even"

    def convert(self, value: Any, param: Any, ctx: Any) -> int | str:
        """Read 2 or even."""
        text = str(value).strip().lower()
        if text == "even" or text.isdecimal():
            return text if text == "even" else int(text)
        return self.fail(
            f"{value!r} is not a number of features for each class, 0 or more, or even.", param, ctx
        )


class Bound(AnyType):
    """A class and its least log-odds."""

    name = "CLASS=NATS|none"

    def convert(self, value: Any, param: Any, ctx: Any) -> tuple[str, float] | None:
        """Read spam=2.5, in which the name may hold =, or none."""
        if value == "none":
            return None
        name, _, number = str(value).rpartition("=")
        with suppress(ValueError):
            if name and not math.isnan(float(number)):
                return name, float(number)
        said = f"{value!r} is not a class and a number, such as spam=2.5, nor none."
        return self.fail(said, param, ctx)


class Share(AnyType):
    """A class and a share of its rows."""

    name = "CLASS=SHARE"

    def __init__(self, goal: Goal) -> None:
        self.goal: Goal = goal

    def convert(self, value: Any, param: Any, ctx: Any) -> Wanted:
        """Read spam=0.95; the name may hold =."""
        from naively.judging.thresholds import Wanted

        name, _, number = str(value).rpartition("=")
        with suppress(ValueError):
            if name and 0 < float(number) <= 1:
                return Wanted(name, self.goal, float(number))
        return self.fail(
            f"{value!r} is not a class and a share in (0, 1], such as spam=0.95.", param, ctx
        )


class Finite(click.FloatRange):
    """A number in a range; NaN is in none, though no comparison says so."""

    def convert(self, value: Any, param: Any, ctx: Any) -> float:
        """Read a number that is neither NaN nor infinite."""
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a finite number.", param, ctx)
        return number


class Sizes(AnyType):
    """Smallest and largest n of n-grams."""

    name = "N[,N]"

    def convert(self, value: Any, param: Any, ctx: Any) -> tuple[int, int]:
        """Read 1,2 or 1-3 or 2."""
        if isinstance(value, tuple):
            return value
        parts = str(value).replace("-", ",").split(",")
        with suppress(ValueError):  # Python reads no number of thousands of digits
            lo, hi = int(parts[0]), int(parts[-1])
            if 1 <= lo <= hi <= LARGEST_NGRAM and len(parts) <= 2:
                return lo, hi
        return self.fail(
            f"{value!r} is not a size (2) or a range of sizes (1,3) up to {LARGEST_NGRAM:,}.",
            param,
            ctx,
        )


def models_that(take: str, known: Collection[str] = tuple(MODELS)) -> str:
    """Name the models whose entries are counts, presence, values or categories."""
    return ", ".join(name for name in known if MODELS[name].takes == take)


def _with(parameter: str) -> list[str]:
    """Names of the models that have a parameter."""
    return [name for name, kind in MODELS.items() if parameter in kind.parameters]


Options = list[Callable[[Callable[..., Any]], Callable[..., Any]]]

TRANSPOSE = click.option(
    "--transpose", is_flag=True, help="Rows of the table of numbers are features, not samples."
)

NUMBERS: Options = [
    click.option(
        "--numbers",
        is_flag=True,
        help="A table holds numbers, not text (implied by --model "
        f"{models_that('values')} unless --text is given).",
    ),
    TRANSPOSE,
    click.option("--ignore", multiple=True, metavar="NAME", help="Leave out a column of numbers."),
    click.option(
        "--missing",
        type=click.Choice(["error", "ignore"]),
        default="error",
        show_default=True,
        help="What a number that is missing does (an empty cell, NA, NaN, null): ignore leaves it "
        f"out of its own column. Of --model {', '.join(_with('missing'))}.",
    ),
]


class Sum(AnyType):
    """A sum of rows, or their median."""

    name = "median|SUM"

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Read median or 1e4."""
        if value == "median" or isinstance(value, float):
            return value
        with suppress(ValueError):
            if 0 < float(value) < math.inf:
                return float(value)
        return self.fail(f"{value!r} is neither median nor a number above 0.", param, ctx)


NUMBERS += [
    click.option(
        "--normalize",
        type=Sum(),
        metavar="median|SUM",
        help="Scale the rows of a matrix of counts, such as cells, to this sum, or to their "
        "median; the model keeps it.",
    ),
    click.option("--log1p", is_flag=True, help="Take ln(1 + value) of a matrix, after that."),
]


class ColumnKind(AnyType):
    """A column and its kind."""

    name = "NAME=KIND"

    def convert(self, value: Any, param: Any, ctx: Any) -> tuple[str, str]:
        """Read visits=poisson; the name may hold =."""
        name, _, kind = str(value).rpartition("=")
        if name and kind in KINDS:
            return name, kind
        return self.fail(
            f"{value!r} is not a column and one of {', '.join(KINDS)}, such as visits=poisson.",
            param,
            ctx,
        )


TABLE: Options = [
    click.option(
        "--kind",
        "kinds",
        type=ColumnKind(),
        multiple=True,
        help=f"Of --model mixed: the kind of a column, {', '.join(KINDS[:-1])} or {KINDS[-1]}.  "
        "[numbers gaussian, truth values bernoulli, all else categorical]",
    ),
    click.option(
        "--correction",
        type=click.Choice(["bic"]),
        help="Take from each gain what its parameters gain by chance (bic), so that columns of "
        f"many categories do not win by it. Of --model {', '.join(_with('correction'))}.",
    ),
]

READING: Options = [
    click.option(
        "--format", type=click.Choice(list(FORMATS)), help="Format, if the name does not tell it."
    ),
    click.option(
        "--delimiter",
        metavar="CHAR",
        help="What separates the columns of CSV.  [a comma; ; tab or | where only that fits]",
    ),
    click.option("--no-quotes", is_flag=True, help="Quotation marks are part of the text."),
    click.option("--no-header", is_flag=True, help="No header; columns are called 1, 2, ..."),
    click.option("--sheet", metavar="NAME", help="Of an .xlsx file.  [the only one with cells]"),
    click.option(
        "--encoding",
        metavar="NAME",
        help="Of text files.  [utf-8; utf-16 by its mark; Windows-1252 where it is no utf-8]",
    ),
]

TERMS: Options = [
    click.option(
        "--text-like",
        type=click.Choice(list(PRESETS)),
        help="Count what such texts hold: tweets, #hashtags, @names and emoji as well; cjk, "
        "characters and pairs of them, where no blanks part the words.",
    ),
    click.option(
        "--analyzer",
        type=click.Choice(["word", "char", "char_wb", "tokens"]),
        default="word",
        show_default=True,
        help="Count words, or characters (char_wb: within words), or the strings of a column of "
        "lists (tokens; Parquet and JSON Lines).",
    ),
    click.option(
        "--ngrams",
        type=Sizes(),
        default="1",
        show_default=True,
        help="Count runs of so many words or characters: 2, or from 1,2.",
    ),
    click.option(
        "--stop-words",
        metavar="LANGUAGE|FILE",
        help="Leave out the words of a language, such as english, or of a file (one a line).",
    ),
    click.option("--token-pattern", metavar="REGEX", help="What a word is."),
]

WEIGHTING: Options = [
    click.option(
        "--weights",
        type=click.Choice(WEIGHTS),
        help="What a feature that stands c times in a row is worth there: c, 1, 1 + ln c, or c "
        "times its idf.  [default: presence for words in a multinomial or hybrid model, else "
        "counts]",
    ),
    click.option(
        "--norm",
        type=click.Choice(["l2"]),
        help="Divide a row of text by the root of the sum of its squares.",
    ),
]

FEATURES: Options = [
    *TERMS,
    click.option(
        "--min-count",
        type=click.IntRange(min=0),
        default=1,
        show_default=True,
        help="Leave out features counted less often in the training rows.",
    ),
    click.option(
        "--min-documents",
        type=click.IntRange(min=0),
        default=1,
        show_default=True,
        help="Leave out features that fewer training rows hold.",
    ),
    *WEIGHTING,
]


def kind_option(known: Collection[str]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return the option that chooses among some models."""
    of_text = ", which learns a weight for each --text" * ("hybrid" in known)
    medians = ": of medians" * ("l1-centers" in known)
    values, tables = f"numbers of any kind ({models_that('values', known)}{medians})", ""
    if table := models_that("table", known):
        values, tables = f"{values},", f", or tables of all these kinds ({table})"
    else:
        values = f"{values} or"
    return click.option(
        "--model",
        type=click.Choice(list(known)),
        default="multinomial",
        show_default=True,
        help=f"Of counts ({models_that('counts', known)}{of_text}), presence alone "
        f"({models_that('presence', known)}), {values} numbers of categories "
        f"({models_that('categories', known)}){tables}.",
    )


def amount_option(*, auto: bool) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return the option that says how many features."""
    words = "all or fdr (all that are significant)"
    if auto:
        words = (
            "all, fdr (all that are significant), or cross-validated: auto (fewest within a "
            "quarter of a standard error of the best), simplest (within one) or best"
        )
    return click.option(
        "-k",
        "--fraction",
        "k",
        type=Amount(auto=auto),
        help=f"How many features: 100, or a share such as 0.01, or {words}.  "
        "[default: 100, or all if there are fewer]",
    )


RATE = click.option(
    "--q",
    type=Finite(0, 1, min_open=True, max_open=True),
    help="Of -k fdr: expected share of the features that are there by chance, at most.  [0.1]",
)

KIND = kind_option(MODELS)

SMOOTHING: Options = [
    click.option(
        "--alpha",
        type=Finite(min=0),
        help="Smoothing, added to every count.  [default: 1]",
    ),
    click.option(
        "--scale",
        type=click.Choice(["std", "variance"]),
        help="Divide numbers by their spread within the classes (l2-centers).",
    ),
]

CONSTRAINTS: Options = [
    click.option(
        "--require", multiple=True, metavar="NAME|GLOB", help="Choose these features in any case."
    ),
    click.option(
        "--exclude",
        multiple=True,
        metavar="NAME|GLOB",
        help="Never choose these features, such as 'MT-*'; they are counted all the same.",
    ),
    click.option(
        "--feature-groups",
        metavar="FILE",
        type=click.Path(),
        help="Choose groups of features as a whole (a line: NAME|GLOB,GROUP); -k counts groups.",
    ),
    click.option(
        "--costs",
        metavar="FILE",
        type=click.Path(),
        help="Cost of each feature (a line: NAME|GLOB,COST), with --budget.",
    ),
    click.option(
        "--budget",
        type=Finite(min=0),
        help="Most that the features may cost together; -k is then the most features.",
    ),
    click.option(
        "--quota",
        type=QuotaType(),
        metavar="N|even",
        help="Choose N features or more that speak for each class; even: as many as -k has for "
        "each.",
    ),
    click.option(
        "--class-weight", type=click.Choice(["balanced"]), help="Let all classes weigh the same."
    ),
]

OBJECTIVE: Options = [
    click.option(
        "--objective",
        type=click.Choice(["likelihood", "pairs"]),
        default="likelihood",
        show_default=True,
        help="Choose the features of the likeliest model, or those that tell every pair of classes "
        "apart.",
    ),
    click.option(
        "--exponent",
        type=Finite(min=0, min_open=True),
        help="Of --objective pairs; below 1 it hedges against dependence.  [default: 1]",
    ),
]

EXACT: Options = [
    click.option(
        "--exact",
        is_flag=True,
        help="Search on until the choice is proven optimal (multinomial, and --objective pairs).",
    ),
    click.option("--time-limit", type=Finite(min=0), metavar="SECONDS", help="Of --exact."),
]

SCORING = click.option(
    "--scoring",
    type=click.Choice(SCORINGS),
    help="By what k is chosen; balanced, or macro F1: all classes count the same.  [accuracy]",
)
REPEATS = click.option(
    "--repeats",
    type=click.IntRange(min=1),
    metavar="N",
    help="Divide the rows into folds so often, and average.  [500 / rows, from 1 to 5]",
)
TIME = click.option(
    "--time",
    metavar="NAME",
    help="Column of numbers or dates: the last rows are held out, and folds follow each other, "
    "each judged by what was trained on the rows before it.",
)
GROUPS = click.option(
    "--groups",
    metavar="NAME",
    help="Column of an author, a donor, a plate: its rows are held out, or in a fold, together.",
)

MODEL: Options = [
    KIND,
    amount_option(auto=True),
    SCORING,
    REPEATS,
    RATE,
    *SMOOTHING,
    *OBJECTIVE,
    *EXACT,
    *CONSTRAINTS,
]

TESTING: Options = [
    click.option(
        "--test", metavar="FILE", type=click.Path(), help="Test on the rows of this file."
    ),
    click.option(
        "--test-labels", metavar="FILE", type=click.Path(), help="Its labels, if beside it."
    ),
    click.option(
        "--split-column",
        metavar="NAME",
        help="Column that says train or test; rows of dev or validation are left out.",
    ),
    click.option(
        "--holdout",
        type=Finite(0, 1, max_open=True),
        metavar="SHARE",
        help="Test on so much of each class, chosen at random, then train on all rows; "
        "0 for no test.  [default: 0.2 unless --test or --split-column is given]",
    ),
    click.option(
        "--seed",
        type=click.IntRange(min=0),
        default=0,
        show_default=True,
        help="Of the choice for --holdout.",
    ),
    GROUPS,
    TIME,
    click.option(
        "--precision",
        type=Share("precision"),
        multiple=True,
        help="Choose a threshold by cross-validation, with which answers CLASS are so often right.",
    ),
    click.option(
        "--recall",
        type=Share("recall"),
        multiple=True,
        help="Or with which so many rows of CLASS are found.",
    ),
]

STREAMING: Options = [
    click.option(
        "--engine",
        type=click.Choice(["local", "dask", "spark"]),
        help="Read FILE, or many ('data/*.parquet'), in streams: of any size, here or elsewhere.",
    ),
    click.option("--address", metavar="URL", help="Of the engine.  [workers on this machine]"),
    click.option("--jobs", type=click.IntRange(min=1), metavar="N", help="Workers of the engine."),
    click.option(
        "--checkpoint", metavar="FOLDER", help="Keep work done there; a run killed goes on from it."
    ),
]


class InputFile(click.Path):
    """A file to read; `-` is the standard input."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Give the standard input the name under which it can be opened."""
        return "/dev/stdin" if value == "-" else super().convert(value, param, ctx)


class OneFile(click.Command):
    """A command that takes one file, and says so to who lets the shell expand a pattern."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Add the way out to the error of more arguments."""
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            if "extra argument" not in error.message:
                raise
            way = "Many files are named by one pattern in quotes: 'data/*.csv'."
            raise click.UsageError(f"{error.message}. {way}", error.ctx) from error


FILE = click.Path()  # so that shells complete it; whether it is there is said by who opens it

LAYER = click.option(
    "--layer", metavar="NAME", help="Of an .h5ad file: the name of a layer, or raw.  [X]"
)
NAMES = click.option(
    "--names", metavar="FILE", type=FILE, help="Column names of a matrix, one a line."
)
AS_TRAINED = [  # of rows for a model
    NAMES,
    click.option(
        "--layer",
        metavar="NAME",
        help="Of an .h5ad file: the name of a layer, raw, or X.  [as in training]",
    ),
    TRANSPOSE,
]
BESIDE: Options = [
    click.option("--labels", metavar="FILE", type=FILE, help="Labels of a matrix, one a line."),
    NAMES,
    LAYER,
]

ID = click.option("--id", "key", metavar="NAME", help="Column of names of the rows.")

INPUT: Options = [
    click.argument("input", metavar="FILE", type=InputFile()),
    click.option(
        "--text", multiple=True, metavar="NAME", help="Column of text; may be repeated.  [text]"
    ),
    click.option("--label", metavar="NAME", help="Column (in .npz: array) of labels.  [label, y]"),
    *BESIDE,
]

REDUNDANCY: Options = [
    click.option(
        "--redundancy",
        type=click.Choice(["conditional"]),
        help="Choose each feature for what it adds to those before it: no copies, no certificate.",
    ),
    click.option(
        "--candidates",
        type=click.IntRange(min=1),
        metavar="N",
        help="Of --redundancy: among so many features of the largest gains.  [4000]",
    ),
]

REFIT = click.option(
    "--refit",
    type=click.Choice(["logistic"]),
    help="Decide by a logistic regression on the chosen features, its penalty cross-validated.",
)

CALIBRATION = click.option(
    "--calibration",
    type=click.Choice(["cross-fitted"]),
    help="Make probabilities credible: fitted to the rows of five folds, their answers the same.",
)

EXPOSURE = click.option(
    "--exposure",
    metavar="NAME",
    help="Column that says how much was counted to make a row, or total, the sum of the row: "
    "counts are expected in proportion. Of --model poisson and negative-binomial.",
)

MARKERS = click.option(
    "--markers",
    type=click.IntRange(min=1),
    metavar="N",
    help="Tell, for each class, N of the features that set it apart from all others (markers.csv).",
)

SELECT: Options = [
    *INPUT,
    ID,
    *MODEL,
    EXPOSURE,
    *REDUNDANCY,
    REFIT,
    CALIBRATION,
    *TESTING,
    *FEATURES,
    *NUMBERS,
    *TABLE,
    *READING,
    click.option(
        "--out",
        default="result",
        show_default=True,
        metavar="FOLDER",
        type=FILE,
        help="Where to write.",
    ),
    click.option("--force", is_flag=True, help="Write into a folder with other files in it."),
    click.option(
        "--stability",
        is_flag=True,
        help="Tell how many of 100 random halves of the rows select each feature.",
    ),
    click.option(
        "--stable",
        type=Finite(0.5, 1, min_open=True),
        metavar="SHARE",
        help="Keep the features that so large a share of these halves selects, such as 0.9.",
    ),
    MARKERS,
    click.option(
        "--quick", is_flag=True, help="Only the features, the model and its test: a plain report."
    ),
    *STREAMING,
    click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON."),
    click.option("-q", "--quiet", is_flag=True, help="Show no progress."),
]

PREDICT: Options = [
    click.argument("model", metavar="MODEL", type=FILE),
    click.argument("input", metavar="FILE", type=InputFile()),
    click.option("--out", metavar="FILE", type=FILE, help="Where to write.  [the terminal]"),
    click.option("--probabilities", is_flag=True, help="Add the probability of each class."),
    click.option(
        "--margin",
        is_flag=True,
        help="Add the log-odds of the answer in nats: the rows with the least are for a person.",
    ),
    click.option(
        "--threshold",
        type=Bound(),
        help="Answer CLASS only where its log-odds are so many or more, and else the next best; "
        "none: answer the likeliest.  [that of --precision or --recall in training]",
    ),
    click.option("--id", "key", metavar="NAME", help="Column to copy instead of row numbers."),
    click.option("--text", multiple=True, metavar="NAME", help="Column of text.  [as in training]"),
    click.option(
        "--truth", "--label", "label", metavar="NAME", help="Column of labels to compare with."
    ),
    click.option("--labels", metavar="FILE", help="Labels of a matrix to compare with."),
    *AS_TRAINED,
    *READING,
    click.option("-q", "--quiet", is_flag=True, help="Show no progress."),
]


def with_options(options: Options) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command all options of a table, in its order."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


_EPILOG = """Exit status: 0, done; 1, a fault of naively itself; 2, a mistake in the command or its
input, told in one sentence; 130, interrupted; 141, whoever read the output has gone. Whatever it
is, nothing half-written is left.

Completion: eval "$(_NAIVELY_COMPLETE=bash_source naively)" in ~/.bashrc; zsh_source and
fish_source for other shells."""


@click.group(
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


@naively.command(cls=OneFile, short_help="Select features, train, test, report.")
@with_options(SELECT)
@explained
def select(input: str, as_json: bool, quiet: bool, **options: Any) -> None:
    """Select features from FILE, train a classifier on them, test it, and write a result folder.

    FILE is a table with a column of text (CSV, TSV, JSON, Parquet, Excel), a table of numbers
    (CSV, TSV, Parquet, with --numbers or a model of numbers such as --model l1-centers), a table
    of columns of any kind, texts among them (--model mixed), or a matrix (svmlight, .npz, Matrix
    Market, .h5ad), plain or compressed.

    FILE may be - for the standard input, with --format, or many files: a pattern in quotes, such
    as 'part-?.csv'.

    The folder gets features.csv, model.npz, summary.json and report.html, with --markers also
    markers.csv. It appears when all is
    done. A folder that is empty or holds an earlier result is replaced; one with other files
    needs --force.
    """
    from naively.cli import screen
    from naively.jobs.learn import select as run
    from naively.report.documents import summary_json

    out, force = options.pop("out"), options.pop("force")
    recipe = recipe_of(input, options)
    with replacing(out), screen.progress(quiet=quiet) as progress:
        summary = run(recipe, out, progress, force=force)
    if as_json:
        echo_json(summary_json(summary))
    else:
        screen.show_summary(summary, out)


def recipe_of(input: str, options: Mapping[str, Any]) -> Any:
    """Return what the learner is asked; options that a command does not have are at defaults."""
    from naively.jobs.settings import ModelSettings, Recipe

    settings = ["k", "q", "alpha", "min_count", "min_documents", "weights", "norm", "scale"]
    settings += ["objective", "exponent", "exact", "time_limit"]
    settings += ["require", "exclude", "feature_groups", "costs", "budget", "quota", "class_weight"]
    settings += [*ASKED, "exposure", "correction"]
    given = {name: options[name] for name in settings if name in options}
    given["missing"] = ignored(options)
    layout = layout_of(input, options)
    if not layout.text and options.get("text_like") is not None:
        raise click.UsageError("--text-like is of texts, and the file holds numbers; leave it out.")
    return Recipe(
        files=(input,),
        layout=layout,
        features=features_of(options) if layout.text else None,
        model=ModelSettings(kind=options["model"], **given),
        test=_test_settings(options),
        engine=_engine_of(options),
        quick=options.get("quick", False),
        stability=options.get("stability", False),
        scoring=options.get("scoring"),
        repeats=options.get("repeats"),
        wanted=(*options.get("precision", ()), *options.get("recall", ())),
        stable=options.get("stable"),
        markers=options.get("markers"),
        command=repeatable_command(),
    )


def layout_of(input: str, options: Mapping[str, Any]) -> Any:
    """Where things stand in the files: texts, unless they hold numbers."""
    from naively.read.layout import Layout
    from naively.read.parts import find_files

    (file, *_) = find_files(input)
    format = format_of(file, options["format"])
    text, variables = options["text"] or ("text",), _variables_of(options)
    numbers = options["numbers"] or options.get("transpose") or FORMATS[format].holds == "matrix"
    if (
        variables is not None
        or numbers
        or (MODELS[options["model"]].takes == "values" and not options["text"])
    ):
        text = ()
    return Layout(
        format=options["format"],
        text=text,
        tokens=bool(text) and options["analyzer"] == "tokens",
        label=options["label"],
        split=options.get("split_column"),
        group=options.get("groups") or options.get("time"),
        key=options.get("key"),
        labels_file=options.get("labels"),
        names_file=options.get("names"),
        transpose=options.get("transpose", False),
        ignore=options.get("ignore", ()),
        layer=options.get("layer"),
        normalize=options.get("normalize"),
        log1p=options.get("log1p", False),
        variables=variables,
        missing=ignored(options) is not None,
        missing_way="add --missing ignore" * (options["model"] in _with("missing")),
        **style_of(options),
    )


def _variables_of(options: Mapping[str, Any]) -> Any:
    """Say what is told of the columns of a table of several kinds; None if the model takes none."""
    from naively.read.variables import Variables
    from naively.text.table_words import TableWords

    model, kinds = options["model"], options.get("kinds", ())
    if MODELS[model].takes != "table":
        if kinds:
            raise click.UsageError(
                f"--kind has no effect on --model {model}, whose columns are of one kind; leave it "
                "out, or add --model mixed."
            )
        return None
    for name in ("numbers", "transpose"):
        if options.get(name):
            raise click.UsageError(
                f"--{name} has no effect on --model {model}, which reads a table with a row a "
                "sample as it is; leave it out."
            )
    if options["text"]:
        features = replace(features_of(options), weights="presence")
        return Variables(kinds, TableWords(tuple(options["text"]), features))
    context = click.get_current_context()
    for each in context.command.params:
        if each.name in _OF_TERMS and (
            context.get_parameter_source(each.name) is click.core.ParameterSource.COMMANDLINE
        ):
            raise click.UsageError(
                f"{each.opts[0]} is of texts, and has no effect on --model {model} without --text; "
                "add it."
            )
    return Variables(kinds)


_OF_TERMS = ("analyzer", "ngrams", "stop_words", "token_pattern")


def ignored(options: Mapping[str, Any]) -> str | None:
    """Whether missing values are left out: "ignore", or None."""
    return "ignore" if options["missing"] == "ignore" else None


def preset(options: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the options with those that `--text-like` settles."""
    like = options.get("text_like")
    if like is None:
        return options
    context = click.get_current_context()
    called = {"ngram_range": "ngrams"}
    settled = {called.get(name, name): value for name, value in PRESETS[like].items()}
    for name in settled:
        if context.get_parameter_source(name) == click.core.ParameterSource.COMMANDLINE:
            option = name.replace("_", "-")
            raise click.UsageError(f"--text-like {like} settles --{option}; leave one of them out.")
    return {**options, **settled}


def features_of(options: Mapping[str, Any]) -> Any:
    """Define what is counted in texts."""
    from naively.jobs.words import text_features

    options = preset(options)
    idle = {"token_pattern": ("char", "char_wb", "tokens"), "stop_words": ("char", "char_wb")}
    for name, analyzers in idle.items():
        if options[name] is not None and options["analyzer"] in analyzers:
            raise click.UsageError(
                f"--{name.replace('_', '-')} has no effect on --analyzer {options['analyzer']}; "
                "leave it out."
            )
    return text_features(
        analyzer=options["analyzer"],
        ngram_range=options["ngrams"],
        stop_words=options["stop_words"],
        token_pattern=options["token_pattern"] or TOKEN_PATTERN,
    )


def _test_settings(options: Mapping[str, Any]) -> Any:
    from naively.jobs.settings import DEFAULT_HOLDOUT, TestSettings

    if "holdout" not in options:
        groups, time = options.get("groups"), options.get("time")
        return TestSettings(holdout=0.0, groups=groups, time=time)
    given = [name for name in ("test", "split_column", "holdout") if options[name] is not None]
    if len(given) > 1:
        names = " and ".join("--" + name.replace("_", "-") for name in given)
        raise click.UsageError(f"{names} exclude each other; give one of them.")
    for name, other in (("time_limit", "exact"), ("test_labels", "test")):
        if options[name] is not None and not options[other]:
            raise click.UsageError(
                f"--{name.replace('_', '-')} has no effect without --{other}; give both or neither."
            )
    return TestSettings(
        file=options["test"],
        labels_file=options["test_labels"],
        split_column=options["split_column"],
        holdout=DEFAULT_HOLDOUT if options["holdout"] is None else options["holdout"],
        seed=options["seed"],
        groups=options["groups"],
        time=options["time"],
    )


def _engine_of(options: Mapping[str, Any]) -> Any:
    from naively.jobs.settings import Engine

    given = {name: options.get(name) for name in ("engine", "address", "jobs", "checkpoint")}
    name = given.pop("engine") or "local"
    if given["address"] is not None and name == "local":
        raise click.UsageError("--address is that of an engine; add --engine dask or spark.")
    if given["checkpoint"] is not None and name != "local":
        raise click.UsageError(
            f"--checkpoint is of this machine only; leave out it or --engine {name}, or write "
            "records with naively count."
        )
    return Engine(name, **given)


def style_of(options: Mapping[str, Any]) -> dict[str, Any]:
    """How a delimited file is written."""
    return {
        "delimiter": options["delimiter"],
        "quotes": not options["no_quotes"],
        "header": not options["no_header"],
        "encoding": options["encoding"],
        "sheet": options["sheet"],
    }


def repeatable_command() -> str:
    """Return the command as it was given, quoted for a shell."""
    return shlex.join(["naively", *sys.argv[1:]])


@naively.command(short_help="Apply a model to more rows.")
@with_options(PREDICT)
@explained
def predict(model: str, input: str, quiet: bool, **options: Any) -> None:
    """Apply MODEL (the model.npz of a result) to the rows of FILE and write their labels as CSV.

    A model file is data only: opening one from a stranger never runs code.
    """
    from naively.cli import screen
    from naively.jobs.predict import PredictJob, predict as run
    from naively.read.layout import Layout

    layout = Layout(
        format=options["format"],
        text=options["text"],
        label=options["label"],
        key=options["key"],
        labels_file=options["labels"],
        names_file=options["names"],
        layer=options["layer"],
        transpose=options["transpose"],
        **style_of(options),
    )
    job = PredictJob(
        model, input, layout, options["out"], options["probabilities"],
        options["margin"], options["threshold"] if _is_given("threshold") else "own",
    )  # fmt: skip
    with screen.progress(quiet=quiet) as progress:
        predicted = run(job, sys.stdout.buffer, progress)
    screen.show_predicted(predicted, options["out"])


def _is_given(name: str) -> bool:
    source = click.get_current_context().get_parameter_source(name)
    return source is click.core.ParameterSource.COMMANDLINE


@naively.command(short_help="Do the whole job on data that is already here.")
@click.option(
    "--out", default="naively-demo", show_default=True, metavar="FOLDER", help="Where to write."
)
@click.option("--force", is_flag=True, help="Write into a folder with other files in it.")
@click.option("-q", "--quiet", is_flag=True, help="Show no progress.")
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
