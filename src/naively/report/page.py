"""The summary as a page that needs nothing but itself, and is closed to everything else.

The page opens offline, from a file or a mail. Its security policy admits one style sheet and one
script, both ours and named by their digests; names and texts from the data are escaped, and
nothing in them is ever run. Without the script everything can still be read.
"""

from __future__ import annotations

import base64
import hashlib
import math
from dataclasses import dataclass
from importlib.resources import files

from naively.models.kinds import MODELS, Words
from naively.report import bars, pictures, words
from naively.report.documents import FigureGroup, figure_groups
from naively.report.names import printable, shortened
from naively.report.summary import Confusion, Evaluation, FeatureRow, Summary
from naively.selection.certificate import UNPROVEN

SHOWN_FEATURES = 1000  # on the page; features.csv has all
_SHOWN_CLASSES = 1000
_COLUMN_CLASSES = 4  # so many classes or fewer have their own columns
_FIGURE_COLUMNS = 6  # if these are not more than the width of the page has room for
_BAR_CLASSES = 24  # so many classes or fewer have their own bars and figures
_DETAILS = 12_000  # so many pairs of feature and class, or fewer, are there to be opened
_CONFUSED_CLASSES = 40
_NAMED_CLASSES, _SHORT_NAME = 4, 4  # more columns with longer names have numbers in the matrix
_TOP_FEATURES = 24  # in the first lines, shared by the classes
_SHADES = 8  # of the cells of the confusion matrix
_FIRM = 0.9  # of the halves: from there on a feature is called sure


@dataclass(frozen=True, slots=True)
class Drawing:
    """A chart in one size, as SVG without style, script or reference, and where its points are."""

    svg: str
    x: tuple[float, ...] = ()  # horizontal place of each point, in units of the drawing
    top: float = 0.0  # of the area of the axes
    bottom: float = 0.0


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart for wide screens and paper, and for narrow screens."""

    wide: Drawing
    narrow: Drawing


@dataclass(frozen=True, slots=True)
class Charts:
    """The charts of a page; None where there is nothing to draw."""

    path: Chart | None = None
    coverage: Chart | None = None


def summary_html(summary: Summary, charts: Charts | None = None) -> str:
    """Render the page."""
    from naively.report.template import environment

    templates = environment()
    templates.filters |= {
        "name": shortened,
        "printable": printable,
        "figure": words.figure,
        "share": lambda value: _bound(words.share(value)),
        "bound": _bound,
        "pvalue": lambda value: _bound(words.pvalue(value)),
        "weight": words.signed,
        "number": "{:,}".format,
        "short": "{:.5g}".format,
        "brief": words.brief,
    }
    style, script = _asset("page.css"), _asset("page.js")
    return templates.get_template("page.html").render(
        summary=summary,
        charts=charts or Charts(),
        style=style,
        script=script,
        policy=f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; "
        "base-uri 'none'; form-action 'none'",
        words=words,
        view=_View(summary),
    )


def _bound(text: str) -> str:
    """Keep a number and its sign on one line."""
    return text.replace(" %", "\N{NO-BREAK SPACE}%").replace("< ", "<\N{NO-BREAK SPACE}")


def _asset(name: str) -> str:
    return files("naively.report").joinpath(f"templates/{name}").read_text("utf-8")


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


class _View:
    """What the template asks of a summary."""

    def __init__(self, summary: Summary) -> None:
        self.summary = summary
        self.shown = summary.features[:SHOWN_FEATURES]
        self.shown_classes = summary.classes[:_SHOWN_CLASSES]
        self.n_classes = len(summary.classes)
        longest = max((len(shortened(each.name)) for each in summary.classes), default=0)
        self.numbered = self.n_classes > _NAMED_CLASSES and longest > _SHORT_NAME
        self.most_markers = SHOWN_FEATURES
        self.groups = figure_groups(summary)
        figures = self.n_classes * len(self.columns)
        self.in_columns = self.n_classes <= _COLUMN_CLASSES and figures <= _FIGURE_COLUMNS
        self.by_class = self.n_classes <= _BAR_CLASSES and bool(self.groups)
        self.detailed = self.by_class and len(self.shown) * self.n_classes <= _DETAILS
        self.cut = sum(each.log_odds is not None for each in summary.thresholds) == 1
        points = summary.path.points if summary.path else ()
        self.stable_path = any(point.stability is not None for point in points)
        self.held = any(row.documents for row in summary.features)
        self.firm = any(row.stability is not None for row in summary.features)
        shares = [row.stability for row in summary.features if row.stability is not None]
        self.firm_share, self.least_firm = _FIRM, min(shares, default=0.0)
        self.n_firm = sum(share >= _FIRM - 1e-9 for share in shares)  # of whole rows in floats
        self._tested = {each.name: each.test_rows for each in summary.classes}
        self.has_examples = any(row.example for row in self.shown)
        self.has_contrasts = any(row.contrast for row in self.shown)
        of_text, drawn = summary.settings.of_text, summary.path is not None  # not with --quick
        self.scatters = pictures.scatters(summary) if drawn and of_text else None
        self.panel = pictures.panel(summary) if drawn and not of_text else None
        self.weighted = bool(summary.features and summary.features[0].weights)
        self.erring = any(self.error(row) is not None for row in self.shown)
        self._largest_weight = bars.largest_finite(w for row in self.shown for w in row.weights)

    @property
    def unproven(self) -> str:
        """What is said where there is no certificate."""
        return UNPROVEN

    @property
    def objective(self) -> Words:
        """How its model speaks of what is maximised."""
        return MODELS[self.summary.settings.model].words

    @property
    def quantity(self) -> str:
        """What is maximised."""
        certificate = self.summary.certificate
        return self.objective.quantity if certificate is None else certificate.quantity

    @property
    def gain(self) -> str:
        """What the gain of a feature is, in words."""
        if self.summary.certificate is None:
            return (
                "what the feature adds to every one before it, in "
                f"{self.objective.unit}; it comes after those that add more"
            )
        return words.gain_in_words(self.summary.certificate)

    @property
    def columns(self) -> tuple[FigureGroup, ...]:
        """Kinds of figures with a column for each class; the bars show the weights already."""
        return tuple(each for each in self.groups if each.field not in ("weights", "errors"))

    def compact(self, figures: tuple[float, ...]) -> str:
        """Figures of a feature in all classes, for the script to spread out."""
        return "|".join(f"{value:.4g}" for value in figures)

    def telling(self, row: FeatureRow) -> float:
        """Return the one figure by which rows are compared: weight, or largest center."""
        return words.weight_of(row, self.n_classes) if self.weighted else max(row.centers)

    def error(self, row: FeatureRow) -> float | None:
        """Return the standard error of that figure, where it is known and finite."""
        if not row.errors or not self.weighted:
            return None
        error = row.errors[[each.name for each in self.summary.classes].index(row.speaks_for)]
        return error if math.isfinite(error) else None

    def class_bars(self, row: FeatureRow) -> str:
        """Bars of the weights, or centers, in each class; weights of two classes share one bar."""
        if self.weighted and self.n_classes == 2:
            return bars.two_sided(self.telling(row), self._largest_weight)
        if self.weighted:
            return bars.columns(row.weights, self._largest_weight)
        largest = bars.largest_finite(row.centers)
        if self.n_classes == 2:
            return bars.pair(row.centers[0], row.centers[1], largest)
        return bars.columns(row.centers, largest)

    def top_features(self) -> list[tuple[str, list[FeatureRow]]]:
        """First features of each class, by falling gain; all together if classes are many."""
        if self.n_classes > _TOP_FEATURES:
            return [("", list(self.shown[:_TOP_FEATURES]))]
        most = max(_TOP_FEATURES // self.n_classes, 4)
        spoken: dict[str, list[FeatureRow]] = {each.name: [] for each in self.summary.classes}
        for row in self.summary.features:
            if len(spoken[row.speaks_for]) < most:
                spoken[row.speaks_for].append(row)
        return list(spoken.items())

    @property
    def scatter_height(self) -> str:
        """What is upwards in the scatter."""
        names = [shortened(each.name, 24) for each in self.summary.classes]
        if self.n_classes == 2:
            return f"weight: {names[1]} above, {names[0]} below"
        return "weight for its class"

    @property
    def scatter_width(self) -> str:
        """What is to the right in the scatter."""
        return "rows that hold it" if self.held else self.summary.settings.features

    @property
    def sizes(self) -> str:
        """Rows of the smallest and the largest class."""
        rows = sorted(each.train_rows for each in self.summary.classes)
        return f"of {rows[0]:,} to {rows[-1]:,} training rows"

    def sections(self) -> list[tuple[str, str]]:
        """Places of the page, and how links call them."""
        summary, evaluation = self.summary, self.summary.evaluation
        given = [
            ("test", "Test", evaluation),
            ("classes", "Classes", True),
            ("thresholds", "Thresholds", summary.thresholds),
            ("features", "Features", True),
            ("scatter", "Frequency and weight", self.scatters),
            ("panel", "Features by class", self.panel),
            ("markers", "Each class against all others", summary.markers),
            ("coverage", "Surest rows", evaluation and evaluation.coverage),
            ("path", "Every k", summary.path),
            ("proof", "Proof", True),
            ("input", "What was read", summary.profile),
            ("repeat", "To repeat this", True),
        ]
        return [(place, name) for place, name, there in given if there]

    def test_rows(self, name: str) -> int:
        """Rows of a class that were tested; 0 for a label that training does not have."""
        return self._tested.get(name, 0)

    def confusion(self) -> Confusion | None:
        """Confusion matrix, if it is small enough to be read."""
        evaluation = self.summary.evaluation
        confusion = evaluation.confusion if evaluation else None
        return confusion if confusion and len(confusion.answers) <= _CONFUSED_CLASSES else None

    def number(self, truth: str, confusion: Confusion) -> str:
        """Give the number of the column of a class; nothing for a label that is never answered."""
        return str(confusion.answers.index(truth) + 1) if truth in confusion.answers else ""

    def shade(self, row: tuple[int, ...], value: int) -> str:
        """Class of a cell by its share of the row."""
        return f"h{round(_SHADES * value / max(sum(row), 1))}" if value else ""

    def compared(self, evaluation: Evaluation) -> list[tuple[str, float]]:
        """Accuracies to be compared, each named for what it is."""
        pairs = [("measured on the test rows", evaluation.accuracy)]
        if evaluation.predicted_error is not None:
            pairs.append(("predicted by the model itself", 1 - evaluation.predicted_error))
        pairs.append((f"always {shortened(evaluation.usual_class)}", evaluation.usual_accuracy))
        return pairs

    def checked(self, evaluation: Evaluation) -> list[tuple[float, float, float]]:
        """Shares of the rows for a person, the margin below which they are, accuracy on the rest.

        For about a twentieth, a tenth, a fifth and so on of the rows.
        """
        found = []
        for sent in (0.05, 0.1, 0.2, 0.3, 0.5):
            points = [each for each in evaluation.coverage if each.coverage <= 1 - sent + 1e-9]
            if points and 0 < points[-1].confidence < 1:
                last = points[-1]
                margin = math.log(last.confidence / (1 - last.confidence))
                # Two digits, rounded down: rows of that very margin, often all those without any
                # feature, are answered, and the model trained on all rows has it a little lower.
                unit = 10 ** (math.floor(math.log10(margin)) - 1) if margin > 0 else 1
                found.append((1 - last.coverage, math.floor(margin / unit) * unit, last.accuracy))
        return [each for i, each in enumerate(found) if not i or each[0] != found[i - 1][0]]

    def surest(self, evaluation: Evaluation) -> list[tuple[float, float]]:
        """Accuracy on the surest tenth, quarter, half and on all rows."""
        found = []
        for wanted in (0.1, 0.25, 0.5, 1.0):
            point = next((each for each in evaluation.coverage if each.coverage >= wanted), None)
            if point is not None:
                found.append((point.coverage, point.accuracy))
        return found
