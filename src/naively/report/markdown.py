"""The summary as Markdown, for issues, pull requests and notes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from naively.report import words
from naively.report.names import visible
from naively.report.summary import Evaluation, FeatureRow, PathCurve, Summary
from naively.selection.certificate import EMPTY, UNPROVEN

_SHOWN_FEATURES = 100
_SHOWN_CLASSES = 100
_SHOWN_MARKERS = 200
_PATH_POINTS = 12
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>()#+.!|~&:@-])")  # what Markdown or HTML may take as markup


def escaped(name: str) -> str:
    """Name that Markdown shows as it stands."""
    return _SPECIAL.sub(r"\\\1", visible(name))


def summary_markdown(summary: Summary) -> str:
    """Render the summary as Markdown."""
    parts = [f"# {_plain(words.title(summary))}", _in_short(summary), _classes(summary)]
    parts.append(_features(summary))
    if summary.markers:
        parts.append(_markers(summary))
    if summary.path is not None:
        parts.append(_path(summary.path))
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
    elif summary.certificate.is_empty:
        near = EMPTY
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
    columns = _columns(summary)
    rows = [[f(row) for _, f in columns] for row in shown]
    return (
        "## Features\n\n"
        + table([head for head, _ in columns], rows, text=2)
        + _more(len(summary.features) - len(shown), "features")
    )


def _columns(summary: Summary) -> list[tuple[str, Callable[[FeatureRow], str]]]:
    """Heads of the columns of the features, and their cells."""
    rows, n_classes = summary.features, len(summary.classes)
    weighty = bool(rows and rows[0].weights)
    told: list[tuple[str, Callable[[FeatureRow], str], bool]] = [
        ("feature", _named, True),
        ("speaks for", lambda row: escaped(row.speaks_for), True),
        ("gain", lambda row: words.figure(row.gain), True),
        ("weight", lambda row: words.signed(words.weight_of(row, n_classes)), weighty),
        ("center", lambda row: words.figure(max(row.centers)), not weighty),
        ("count", lambda row: words.figure(sum(row.counts)), any(row.counts for row in rows)),
        ("rows", lambda row: words.figure(sum(row.documents)), any(row.documents for row in rows)),
        ("halves", lambda row: words.share(row.stability),
         any(row.stability is not None for row in rows)),
    ]  # fmt: skip
    return [(head, cell) for head, cell, there in told if there]


def _named(row: FeatureRow) -> str:
    return escaped(row.called) + (
        f" (also says: {_plain(words.also_says(row))})" if row.also else ""
    )


def _markers(summary: Summary) -> str:
    shown = summary.markers[:_SHOWN_MARKERS]
    rows = [
        [
            escaped(each.label),
            f"{each.rank}",
            escaped(each.feature) + ("" if each.category is None else f" = {each.category}"),
            words.figure(each.gain),
            "" if each.weight is None else words.signed(each.weight),
            "" if each.z is None else words.figure(each.z),
            words.share(each.share_in),
            words.share(each.share_out),
            words.pvalue(each.pvalue),
        ]
        for each in shown
    ]
    heads = ["class", "rank", "feature", "gain", "weight", "z", "rows inside", "rows outside", "p"]
    title = "## Each class against all others\n\n"
    return title + table(heads, rows) + _more(len(summary.markers) - len(shown), "markers")


def _more(n: int, file: str) -> str:
    return f"\n\n{n:,} more in {file}\\.csv." if n else ""


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
