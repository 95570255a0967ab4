"""The summary as CSV and JSON, and back from JSON."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from typing import Any

from naively._versions import SUMMARY
from naively.report.summary import FeatureRow, MarkerRow, Summary
from naively.report.words import figure, signed


@dataclass(frozen=True, slots=True)
class FigureGroup:
    """A kind of figure that every selected feature has for every class."""

    name: str  # heads the columns
    field: str  # of `FeatureRow`
    plain: Callable[[float], int | float]  # for files
    shown: Callable[[float], str]  # on screen and page

    def of(self, row: FeatureRow) -> tuple[float, ...]:
        """Figures of a feature, by class."""
        figures: tuple[float, ...] = getattr(row, self.field)
        return figures


def figure_groups(summary: Summary) -> tuple[FigureGroup, ...]:
    """Kinds of figures that the features of a summary have."""
    return tuple(group for group in _GROUPS if summary.features and group.of(summary.features[0]))


def features_csv(summary: Summary) -> str:
    """Table of the selected features, with the figures of each class."""
    names = [each.name for each in summary.classes]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    groups = figure_groups(summary)
    heads = [f"{group.name}:{name}" for group in groups for name in names]
    also = ["also says"] if any(row.also for row in summary.features) else []
    counted = any(row.documents for row in summary.features)
    firm = any(row.stability is not None for row in summary.features)
    named = any(row.category is not None for row in summary.features)
    also = [*["category"] * named, *["stability"] * firm, *also]
    writer.writerow(["rank", "feature", "gain", "class", *also, *heads, *["burst"] * counted])
    for row in summary.features:
        figures = [group.plain(each) for group in groups for each in group.of(row)]
        others = ["; ".join(row.also)] if "also says" in also else []
        others = [*[row.category or ""] * named, *[str(row.stability)] * firm, *others]
        mark = ["yes" if row.burst else ""] * counted
        told = [row.rank, row.name, _short(row.gain), row.speaks_for, *others, *figures, *mark]
        writer.writerow(told)
    return out.getvalue()


def markers_csv(summary: Summary) -> str:
    """Table of the features that tell each class from all others; empty where nothing is known."""
    of_categories = any(row.category is not None for row in summary.markers)
    names = [each.name for each in fields(MarkerRow) if each.name != "category" or of_categories]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["class" if name == "label" else name for name in names])
    for row in summary.markers:
        values = [getattr(row, name) for name in names]
        writer.writerow([_short(each) if isinstance(each, float) else each for each in values])
    return out.getvalue()


def _short(value: float) -> float:
    return float(f"{value:.7g}")  # model.npz has the figures in full


def _plain(value: float) -> int | float:
    return int(value) if float(value).is_integer() else value


def summary_json(summary: Summary) -> str:
    """Give the whole record as JSON.

    Figures that are not finite become the texts "inf" and "-inf", except a bound that theory
    does not give, which becomes null.
    """
    record = {**SUMMARY.marks(), **asdict(summary)}
    for name in ("markers", "profile"):
        if not record[name]:
            del record[name]
    if not summary.settings.of_text:
        del record["settings"]["of_text"]
    record["features"] = [_feature_record(row) for row in record["features"]]
    for point in (record["path"] or {"points": ()})["points"]:
        if point["stability"] is None:
            del point["stability"]
    certificate = summary.certificate
    record["certificate"] = certificate and record["certificate"] | {
        "a_priori": certificate.a_priori if math.isfinite(certificate.a_priori) else None,
        "gap": certificate.gap,
        "relative_gap": certificate.relative_gap,
        "sentence": str(certificate),
    }
    if certificate is not None and certificate.choice is None:  # of any k features
        del record["certificate"]["choice"]
    return _laid_out(finite(record))


def _feature_record(row: dict[str, Any]) -> dict[str, Any]:
    given = {group.field: [group.plain(each) for each in row[group.field]] for group in _GROUPS}
    empty = {name for name in ("also", "contrast", "category", "errors") if not row[name]}
    told = row | given | {"gain": _short(row["gain"])}
    return {name: value for name, value in told.items() if name not in empty}


def _laid_out(record: dict[str, Any]) -> str:
    # One feature a line: with hundreds of classes, a figure a line would fill the disk.
    rows = []
    for key, value in record.items():
        parts = [_compact(each) for each in value] if isinstance(value, list) else []
        text = "[\n  " + ",\n  ".join(parts) + "\n ]" if parts else _compact(value)
        rows.append(f" {_compact(key)}: {text}")
    return "{\n" + ",\n".join(rows) + "\n}\n"


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def finite(value: Any) -> Any:
    """Spell out figures that are not finite, which JSON does not have."""
    if isinstance(value, dict):
        return {key: finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [finite(each) for each in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    return value


_GROUPS = (
    FigureGroup("weight", "weights", _short, signed),
    FigureGroup("standard error", "errors", _short, figure),
    FigureGroup("count", "counts", _plain, figure),
    FigureGroup("rows", "documents", _plain, figure),
    FigureGroup("center", "centers", _short, figure),
    FigureGroup("dispersion", "dispersions", _short, figure),
)
