"""The summary as Markdown, for issues, pull requests and notes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from naively.report import words
from naively.report.names import visible
from naively.report.summary import Evaluation, FeatureRow, PathCurve, Summary
from naively.selection.certificate import UNPROVEN

_SHOWN_FEATURES = 100
_SHOWN_CLASSES = 100
_PATH_POINTS = 12
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>()#+.!|~&:@-])")  # what Markdown or HTML may take as markup


def escaped(name: str) -> str:
    """Name that Markdown shows as it stands."""
    return _SPECIAL.sub(r"\\\1", visible(name))


def summary_markdown(summary: Summary) -> str:
    """Render the summary as Markdown."""
    parts = [f"# {_plain(words.title(summary))}", _in_short(summary), _features(summary)]
    if summary.path is not None:
        parts.append(_path(summary.path))
    parts.append(_classes(summary))
    parts.append(
        "## How near the optimum\n\n" + " ".join(words.certificate_in_words(summary.certificate))
    )
    parts.append(_repeat(summary))
    return "\n\n".join(parts) + "\n"


def _plain(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", text)


def _in_short(summary: Summary) -> str:
    near = f"**{words.assurance(summary.certificate)}** of the best possible gain."
    if summary.certificate is None:
        near = UNPROVEN
    elif summary.certificate.proven_optimal:
        near = "**optimal**, proven."
    lines = [f"- How near the optimum: {near}"]
    if summary.evaluation is not None:
        lines.insert(0, _how_good(summary.evaluation))
    return "\n".join([*lines, *(f"- {_plain(note)}" for note in summary.notes)])


def _how_good(evaluation: Evaluation) -> str:
    low, high = words.accuracy_interval(evaluation)
    return (
        f"- How good: **{words.share(evaluation.accuracy)}** of {evaluation.test_rows:,} test rows "
        f"recognised (95 % interval {words.share(low)} to {words.share(high)}); always answering "
        f"{escaped(evaluation.usual_class)}: {words.share(evaluation.usual_accuracy)}."
    )


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], *, text: int = 1) -> str:
    """Markdown table; the first `text` columns to the left, the others to the right."""
    rule = [":--"] * text + ["--:"] * (len(heads) - text)
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [heads, rule, *rows])


def _features(summary: Summary) -> str:
    shown = summary.features[:_SHOWN_FEATURES]
    rows = [_feature(row, len(summary.classes)) for row in shown]
    more = len(summary.features) - len(shown)
    end = f"\n\n{more:,} more in features\\.csv." if more else ""
    weighty = bool(shown and shown[0].weights)
    heads = ["feature", "speaks for", "gain", "weight" if weighty else "center"]
    return "## Features\n\n" + table(heads, rows, text=2) + end


def _feature(row: FeatureRow, n_classes: int) -> list[str]:
    weight = words.signed(words.weight_of(row, n_classes)) if row.weights else ""
    telling = weight or words.figure(max(row.centers))
    also = f" (also says: {_plain(words.also_says(row))})" if row.also else ""
    return [escaped(row.name) + also, escaped(row.speaks_for), words.figure(row.gain), telling]


def _path(path: PathCurve) -> str:
    step = -(-len(path.points) // _PATH_POINTS)
    shown = [p for i, p in enumerate(path.points) if i % step == 0 or p.k == path.chosen]
    rows = [
        [
            f"**{point.k:,}**" if point.k == path.chosen else f"{point.k:,}",
            words.figure(point.objective - path.baseline),
            words.figure(point.bound - path.baseline),
            words.share(point.accuracy),
        ]
        for point in shown
    ]
    heads = ["k", "gain", "at most", "accuracy"]
    whose = f"\n\nAccuracy: {_plain(path.accuracy_of)}." if path.accuracy_of else ""
    return "## Every k\n\n" + table(heads, rows, text=0) + whose


def _classes(summary: Summary) -> str:
    rows = [
        [
            escaped(each.name),
            f"{each.train_rows:,}",
            f"{each.test_rows:,}",
            words.share(each.recall),
            words.share(each.precision),
        ]
        for each in summary.classes[:_SHOWN_CLASSES]
    ]
    heads = ["class", "training rows", "test rows", "recognised", "right when answered"]
    return "## Classes\n\n" + table(heads, rows)


def _repeat(summary: Summary) -> str:
    settings = summary.settings
    fence = "`" * (_longest_run(settings.command) + 3)
    rows = [
        [escaped(each.name), each.role, f"{each.rows:,}", f"{each.size:,}", each.sha256]
        for each in summary.files
    ]
    return (
        f"## To repeat this\n\n{fence}sh\n{visible(settings.command)}\n{fence}\n\n"
        f"Model {settings.model}, k = {settings.k}; naively {settings.version}.\n\n"
        + table(["file", "for", "rows", "bytes", "SHA-256"], rows, text=2)
    )


def _longest_run(text: str) -> int:
    return max((len(run) for run in re.findall("`+", text)), default=0)
