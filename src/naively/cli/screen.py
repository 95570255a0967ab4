"""What is shown on the terminal: progress on the error output, results on the output."""

from __future__ import annotations

import errno
import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from rich import console as rich_console
from rich.measure import Measurement
from rich.progress import BarColumn, Progress as Bars, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from naively._kernels.first_use import COMPILING
from naively.cli.ending import stoppable
from naively.judging.agreement import share_interval
from naively.judging.thresholds import Goal, Reached
from naively.read.progress import Progress, silent
from naively.report.names import printable, visible
from naively.report.summary import CoveragePoint, Evaluation, FeatureRow, Summary, Threshold
from naively.report.words import accuracy_interval, also_says, figure, title, weight_of
from naively.selection.certificate import UNPROVEN
from naively.selection.train import is_auto

if TYPE_CHECKING:
    from naively.jobs.predict import Compared, Predicted
    from naively.jobs.reasons import Contribution, Explanation
    from naively.jobs.tables import CvContender, CvPoint, CvTable


class Console(rich_console.Console):
    """The terminal; a reader that has gone is told to the command, which knows the exit status."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        if self.width < 1:  # COLUMNS=0 would leave nothing of what is printed
            self.width = _USUAL_WIDTH

    def on_broken_pipe(self) -> None:
        """Pass it on."""
        raise BrokenPipeError(errno.EPIPE, "the reader has gone")


_USUAL_WIDTH = 80
_WIDEST = 1000
_LONG_NAME = 40  # of a feature: longer ones are broken
_TOLD_CLASSES = 24  # so many or fewer are told one by one
_SHOWN_FEATURES = 20
_SHOWN_CLASSES = 4  # so many classes or fewer have their own column of counts


@contextmanager
def progress(*, quiet: bool) -> Iterator[Progress]:
    """Show how far the work has come, if somebody sits at a terminal."""
    if quiet or not sys.stderr.isatty():
        yield stoppable(silent)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Bars(*columns, console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task("starting", total=None)

        def update(stage: str, done: int, total: int) -> None:
            bars.update(task, description=stage, completed=done, total=total or None)

        try:
            yield stoppable(update)
        finally:
            bars.stop()
            if COMPILING.seconds >= 1:
                sys.stderr.write(
                    f"naively: {COMPILING.seconds:.0f} s of it were compiling for this machine, "
                    "once: the next run has it in its cache.\n"
                )


def show_summary(summary: Summary, out: str) -> None:
    """Show the features, the certificate and the accuracy."""
    console = Console(highlight=False, soft_wrap=False)
    console.print(Text(title(summary), style="bold"))
    _print_whole(console, _features(summary))
    more = len(summary.features) - _SHOWN_FEATURES
    if more > 0:
        console.print(Text(f"and {more:,} more in {visible(str(Path(out) / 'features.csv'))}"))
    if silent_ones := _unspoken(summary):
        console.print(Text(f"No feature speaks for {silent_ones}."))
    console.print()
    console.print(Text(str(summary.certificate or UNPROVEN)))
    if summary.evaluation is not None:
        console.print(Text(accuracy_sentence(summary.evaluation)))
        if (said := surest_sentence(summary.evaluation.coverage)) is not None:
            console.print(Text(said))
    alone = sum(each.log_odds is not None for each in summary.thresholds) == 1
    for each in summary.thresholds:
        console.print(Text(threshold_sentence(each, alone=alone)))
    console.print(Text(f"The model was {summary.settings.final_rows}{_shared(summary)}."))
    if is_auto(summary.settings.k):
        rule = {
            "auto": "within a quarter of a standard error of the best",
            "simplest": "within one standard error of the best",
        }.get(str(summary.settings.k), "that does best")
        said = f"k = {len(summary.features):,} was chosen by cross-validation"
        console.print(Text(f"{said}: the smallest {rule}."))
    for note in summary.notes:
        console.print(Text(printable(note)))
    report = visible(str(Path(out) / "report.html"))
    console.print(Text(f"Report: {report}"))


def _print_whole(console: Console, table: Table) -> None:
    """Show a table whose names stay in one piece, wider than the terminal where they need it."""
    free = console.options.update(width=_WIDEST)
    width = Measurement.get(console, free, table).minimum
    if width > console.width:
        console = Console(highlight=False, width=width)
    console.print(table)


def _unspoken(summary: Summary) -> str:
    """Classes for which no feature speaks, of three or some more."""
    spoken = {row.speaks_for for row in summary.features}
    names = [each.name for each in summary.classes]
    told = 2 < len(names) <= _TOLD_CLASSES and not summary.markers
    return ", ".join(visible(name) for name in names if name not in spoken) if told else ""


def _name_column(table: Table, heading: str, names: Sequence[str]) -> None:
    """Add a column of names of features, which are not broken unless they are long."""
    long = max(map(len, names), default=0) > _LONG_NAME
    table.add_column(heading, no_wrap=not long, overflow="fold")


def _features(summary: Summary) -> Table:
    classes = [each.name for each in summary.classes]
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("#", justify="right")
    shown = summary.features[:_SHOWN_FEATURES]
    _name_column(table, "feature", [visible(row.called) for row in shown])
    table.add_column("speaks for", overflow="fold")
    weighty = bool(summary.features and summary.features[0].weights)
    for name in ("gain", "weight") if weighty else ("gain",):
        table.add_column(name, justify="right", no_wrap=True)
    wide = len(classes) <= _SHOWN_CLASSES
    if not summary.features or any(row.counts or row.centers for row in summary.features):
        for name in classes if wide else ["count" if weighty else "center"]:
            table.add_column(Text(visible(name) if wide else name), justify="right")
    firm = any(row.stability is not None for row in summary.features)
    if firm:
        table.add_column("halves", justify="right")
    held = any(row.documents for row in summary.features)
    if held:
        table.add_column("rows", justify="right")
    also = any(row.also for row in summary.features[:_SHOWN_FEATURES])
    if also:
        table.add_column("also says", overflow="fold")
    for row in summary.features[:_SHOWN_FEATURES]:
        table.add_row(
            str(row.rank),
            Text(visible(row.called)),
            Text(visible(row.speaks_for)),
            figure(row.gain),
            *([f"{weight_of(row, len(classes)):+.2f}"] if weighty else []),
            *map(figure, _shown_figures(row, wide)),
            *(["" if row.stability is None else f"{row.stability:.0%}"] if firm else []),
            *([figure(sum(row.documents)) + ("!" if row.burst else "")] if held else []),
            *([Text(also_says(row))] if also else []),
        )
    return table


def _shown_figures(row: FeatureRow, wide: bool) -> tuple[float, ...]:
    """Count or center in each class, or one figure for all of many classes."""
    if wide or not (row.counts or row.centers):  # of categories there are none
        return row.counts or row.centers
    return (sum(row.counts),) if row.counts else (max(row.centers),)


def accuracy_sentence(evaluation: Evaluation) -> str:
    """Accuracy, on which rows, and what it has to be compared with."""
    low, high = accuracy_interval(evaluation)
    balanced = (
        f", mean over classes {evaluation.balanced_accuracy:.4f}, macro F1 "
        f"{evaluation.macro_f1:.4f}"
        if abs(evaluation.balanced_accuracy - evaluation.accuracy) > 5e-5
        else ""
    )
    return (
        f"Accuracy {evaluation.accuracy:.4f} ({low:.4f} to {high:.4f} with 95 % confidence) on "
        f"{evaluation.test_rows:,} test rows ({evaluation.method}){balanced}; always answering"
        f" {visible(evaluation.usual_class)} would reach {evaluation.usual_accuracy:.4f}."
    )


def _shared(summary: Summary) -> str:
    evaluation = summary.evaluation
    k = len(summary.features)
    if evaluation is None or evaluation.shared_features is None or k == 0:
        return ""
    shared = f"{evaluation.shared_features:,} of its {k:,} features"
    return f"; {shared} were also chosen without the test rows"


def show_predicted(predicted: Predicted, out: str | None) -> None:
    """Say how many rows were labelled, where, and how well; nothing where the table itself goes."""
    console = Console(highlight=False, stderr=out is None)
    if out is not None:
        console.print(Text(f"{predicted.rows:,} rows labelled in {visible(out)}"))
    if predicted.own_threshold is not None:
        name, least = predicted.own_threshold
        console.print(
            Text(
                f"{visible(name)} is answered from {least!r} nats of log-odds on, as the model was "
                "trained for; --threshold says otherwise (none: the likeliest class is answered)."
            )
        )
    if predicted.compared is not None:
        _show_compared(console, predicted.compared)
    for note in predicted.notes:
        console.print(Text(printable(note)))


_CONFUSED_CLASSES = 10


def _show_compared(console: Console, compared: Compared) -> None:
    found, confusion = compared.agreement, compared.confusion
    console.print(
        Text(
            f"Accuracy {found.accuracy:.4f} ({found.low:.4f} to {found.high:.4f} with 95 % "
            f"confidence) on {found.rows:,} rows; mean over classes {found.balanced_accuracy:.4f}, "
            f"macro F1 {found.macro_f1:.4f}"
        )
    )
    if compared.threshold is not None:
        name, reached = compared.threshold
        console.print(Text(f"With the threshold, {visible(name)} has {_reached(reached)}."))
    if confusion is not None and len(confusion.truths) <= _CONFUSED_CLASSES:
        table = Table(box=None, pad_edge=False, header_style="bold")
        table.add_column("is \\ answered", overflow="fold")
        for name in confusion.answers:
            table.add_column(Text(visible(name)), justify="right", overflow="fold")
        for name, row in zip(confusion.truths, confusion.rows, strict=True):
            table.add_row(Text(visible(name)), *(f"{n:,}" for n in row))
        console.print(table)
    if (said := surest_sentence(compared.coverage)) is not None:
        console.print(Text(said))
    for each in compared.misled:
        words = ", ".join(f"{visible(said.feature)} {said.nats:+.1f}" for said in each.words)
        words = f" ({words})" if words else ""
        console.print(
            Text(
                f"Surely wrong: row {visible(each.key)} is {visible(each.truth)}, answered "
                f"{visible(each.answer)} with log-odds of {each.margin:.1f}{words}."
            )
        )


def _reached(reached: Reached) -> str:
    """Precision and recall on some rows, with their intervals."""
    said = []
    for goal in get_args(Goal):
        some, n = reached.of(goal)
        if n:
            low, high = share_interval(some, n)
            said.append(f"{goal} {some / n:.4f} ({low:.4f} to {high:.4f}, {n:,} rows)")
    return " and ".join(said) or "no rows"


def threshold_sentence(threshold: Threshold, *, alone: bool) -> str:
    """Say at which log-odds a class is to be answered, and what that reached on the test rows."""
    name, goal = visible(threshold.name), threshold.goal
    if threshold.log_odds is None:
        return f"No threshold reaches a {goal} of {threshold.wanted:g} for {name} on the folds."
    said = (
        f"A {goal} of {threshold.wanted:g} for {name}: answer it from {threshold.log_odds!r} nats "
        "of log-odds on, as it was on the folds"
    )
    if threshold.reached is not None and threshold.low is not None and threshold.high is not None:
        other = "recall" if goal == "precision" else "precision"
        rest = "" if threshold.other is None else f", {other} {threshold.other:.4f}"
        said += (
            f"; on the test rows {goal} {threshold.reached:.4f} ({threshold.low:.4f} to "
            f"{threshold.high:.4f}, {threshold.test_rows:,} rows){rest}"
        )
    if alone:
        return f"{said}. `naively predict` does so, unless --threshold says otherwise."
    given = f"{threshold.name}={threshold.log_odds!r}"
    return f"{said}. `naively predict --threshold {shlex.quote(visible(given))}` does so."


_REVIEWED = 0.1  # of the rows, which a person reads


def surest_sentence(coverage: Sequence[CoveragePoint]) -> str | None:
    """Say how good the answers are once the least sure ones have gone to a person."""
    near = [p for p in coverage if abs(1 - _REVIEWED - p.coverage) <= _REVIEWED / 2]
    if not near:  # of so few rows
        return None
    point = min(near, key=lambda each: abs(1 - _REVIEWED - each.coverage))
    return (
        f"With the {100 * (1 - point.coverage):.0f} % of the rows with the smallest log-odds left "
        f"to a person, accuracy on the rest is {point.accuracy:.4f}."
    )


_SHOWN_PATH = 25


def show_cv(table: CvTable) -> None:
    """Show the scores of some k for each model, the best first, and how they compare."""
    console = Console(highlight=False)
    divided = f"{table.n_rows:,} rows in {table.folds:,} folds"
    divided += f", divided {table.repeats} times" if table.repeats > 1 else ""
    for each in table.contenders:
        best = each.best
        alpha = "" if best.alpha is None else f", smoothing {best.alpha:g}"
        rows = [p for p in table.points if (p.model, p.alpha) == (best.model, best.alpha)]
        console.print(Text(f"{best.model}{alpha}: {divided}", style="bold"))
        console.print(_points(table, each, rows))
        if each.unit:
            said = f"Gain of {each.quantity} in {each.unit}, on all rows"
            console.print(Text(f"{said}; no k features pass the bound."))
    for sentence in (*table.ranking, *table.notes):
        console.print(Text(printable(sentence)))


def _points(table: CvTable, contender: CvContender, rows: Sequence[CvPoint]) -> Table:
    from naively.jobs.tables import first_ks

    at = set(first_ks(rows, _SHOWN_PATH).tolist())
    shown = Table(box=None, pad_edge=False, header_style="bold")
    gains = ("gain", "bound") if contender.unit else ()
    for name in ("k", table.scoring.replace("_", " "), "s.e.", *gains):
        shown.add_column(name, justify="right", no_wrap=True)
    shown.add_column("", no_wrap=True)
    if gains:
        shown.add_column("new features")  # may shrink: a cell that is too long is cut, not wrapped
    names: list[str] = []
    for i, row in enumerate(rows):
        names += [name for name in row.entered if name not in names]
        said = "within one s.e." if row.k == contender.simplest_k else ""
        said = "best" if row.k == contender.best.k else said
        if i in at or said:
            shown.add_row(
                f"{row.k:,}", f"{row.score:.4f}", f"{row.standard_error:.4f}",
                *(figure(each) for each in (row.gain, row.bound) if each is not None), said,
                *([Text(", ".join(map(visible, names[:30])), no_wrap=True, overflow="ellipsis")]
                  if gains else []),
            )  # fmt: skip
            names = []
    return shown


def _value(each: Contribution) -> Text | str:
    """Value of a feature in the row: a number, or a category by its name."""
    return Text(visible(each.value)) if isinstance(each.value, str) else figure(each.value)


def show_explanation(found: Explanation, most: int) -> None:
    """Show a decision and what moved it."""
    console = Console(highlight=False)
    answer, rival = visible(found.answer), visible(found.rival)
    console.print(
        Text(f"{answer}, with probability {found.probability:.4g} (next: {rival})", style="bold")
    )
    apart = any(each.region for each in found.contributions)
    table = Table(box=None, pad_edge=False, header_style="bold")
    _name_column(table, "feature", [visible(c.feature) for c in found.contributions[:most]])
    for name in ("in", "speaks for") if apart else ("speaks for",):
        table.add_column(name, overflow="fold")
    for name in ("value", "nats"):
        table.add_column(name, justify="right", no_wrap=True)
    start = [Text("(before any feature)", style="italic"), *([Text("")] if apart else [])]
    table.add_row(*start, Text(answer if found.start > 0 else rival), "", f"{found.start:+.2f}")
    for each in found.contributions[:most]:
        side = Text(answer if each.nats > 0 else rival)
        place = [Text(visible(each.region))] if apart else []
        table.add_row(Text(visible(each.feature)), *place, side, _value(each), f"{each.nats:+.2f}")
    rest = found.contributions[most:]
    if rest:
        table.add_row(f"({len(rest):,} more)", *([""] if apart else []), "", "",
                      f"{sum(each.nats for each in rest):+.2f}")  # fmt: skip
    table.add_row("together", *([""] if apart else []), answer, "", f"{found.total:+.2f}")
    _print_whole(console, table)
    if not found.contributions:
        console.print(Text("No selected feature occurs in it: the answer is that of the start."))
    if found.threshold is not None:
        bar = found.threshold
        decided = bar.likeliest != found.answer
        without = f"; without that threshold the answer would be {visible(bar.likeliest)}" * decided
        console.print(
            Text(
                f"{visible(bar.name)} is answered from {bar.least!r} nats of log-odds on, and this "
                f"row has {bar.log_odds:.4g}{without}."
            )
        )
