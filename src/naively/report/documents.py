"""The summary as CSV, JSON and as a page that needs nothing but itself."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import json
import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib.resources import files
from typing import Any

from naively.report.names import visible
from naively.report.summary import FeatureRow, Summary
from naively.selection.certificate import Certificate

FORMAT = "naively summary"
VERSION = 1
_SHOWN_FEATURES = 1000  # on the page; features.csv has all
_SHOWN_CLASSES = 100  # on the page
_COLUMN_CLASSES = 4  # so many classes or fewer have their own columns on the page


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
    writer.writerow(["rank", "feature", "gain", "class", *heads])
    for row in summary.features:
        figures = [group.plain(each) for group in groups for each in group.of(row)]
        writer.writerow([row.rank, row.name, _short(row.gain), row.speaks_for, *figures])
    return out.getvalue()


def _short(value: float) -> float:
    return float(f"{value:.7g}")  # model.npz has the figures in full


def _plain(value: float) -> int | float:
    return int(value) if float(value).is_integer() else value


def summary_json(summary: Summary) -> str:
    """Give the whole record as JSON; figures that are not finite become null."""
    record = {"format": FORMAT, "version": VERSION, **asdict(summary)}
    for row in record["features"]:
        row["gain"] = _short(row["gain"])
        for group in _GROUPS:
            row[group.field] = [group.plain(each) for each in row[group.field]]
    certificate = summary.certificate
    record["certificate"] |= {
        "gap": certificate.gap,
        "relative_gap": certificate.relative_gap,
        "sentence": str(certificate),
    }
    return _laid_out(_finite(record))


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


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value


def summary_html(summary: Summary) -> str:
    """Render the page: static, self-contained, and closed to everything by its security policy."""
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("naively.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "visible": visible,
        "figure": figure,
        "share": lambda value: "" if value is None else f"{100 * value:.1f} %",
        "weight": signed,
    }
    style = files("naively.report").joinpath("templates/page.css").read_text("utf-8")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return environment.get_template("page.html").render(
        summary=summary,
        style=style,
        policy=f"default-src 'none'; style-src 'sha256-{digest}'; "
        "base-uri 'none'; form-action 'none'",
        title=title(summary),
        assurance=assurance(summary.certificate),
        shown=summary.features[:_SHOWN_FEATURES],
        shown_classes=summary.classes[:_SHOWN_CLASSES],
        wide=len(summary.classes) <= _COLUMN_CLASSES,
        groups=figure_groups(summary),
        largest_gain=_largest_finite([row.gain for row in summary.features]),
    )


def _largest_finite(gains: list[float]) -> float:
    return max((gain for gain in gains if math.isfinite(gain)), default=0.0) or 1.0


def title(summary: Summary) -> str:
    """Say the outcome in one line."""
    k, classes = len(summary.features), [visible(each.name) for each in summary.classes]
    what = f"{k:,} of {summary.n_features:,} features"
    if len(classes) == 2:
        return f"{what} tell {classes[0]} from {classes[1]}"
    return f"{what} tell {len(classes)} classes apart"


def assurance(certificate: Certificate) -> str:
    """Say in two words how good the choice is proven to be."""
    if certificate.proven_optimal:
        return "optimal"
    # Rounded down: what is proven must never be overstated.
    share = math.floor(1e6 * (1 - certificate.relative_gap)) / 1e4
    return f"\N{GREATER-THAN OR EQUAL TO} {share:.4f} %"


def figure(value: float) -> str:
    """Four digits or more, without powers of ten."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def signed(value: float) -> str:
    """Two decimals, with the sign."""
    return f"{value:+.2f}".replace("-", "\N{MINUS SIGN}")


_GROUPS = (
    FigureGroup("weight", "weights", _short, signed),
    FigureGroup("count", "counts", _plain, figure),
    FigureGroup("center", "centers", _short, figure),
    FigureGroup("dispersion", "dispersions", _short, figure),
)


def weight_of(row: FeatureRow, classes: int) -> float:
    """Weight to show in one figure: of its class, or the second class against the first."""
    return row.weights[1] - row.weights[0] if classes == 2 else max(row.weights)
