"""The outcome of a run in words and figures, the same on screen, page and in Markdown."""

from __future__ import annotations

import math

from naively.judging.agreement import share_interval
from naively.models.kinds import SEPARATION
from naively.report.names import shortened
from naively.report.summary import Evaluation, FeatureRow, Summary
from naively.selection.certificate import EMPTY, UNPROVEN, Certificate

_ALSO = 5  # features named beside the one that says the same
_MINUS = "\N{MINUS SIGN}"


def title(summary: Summary) -> str:
    """Say the outcome in one line."""
    k, classes = len(summary.features), [shortened(each.name, 60) for each in summary.classes]
    what = f"{k:,} of {summary.n_features:,} features"
    if len(classes) == 2:
        return f"{what} tell {classes[0]} from {classes[1]}"
    return f"{what} tell {len(classes)} classes apart"


def chosen_k(summary: Summary) -> str:
    """Say how the number of features was chosen."""
    if summary.settings.k == "auto":
        return "chosen by cross-validation"
    if summary.settings.k == "fdr":
        return "found: so many are significant; of other k the best features are shown"
    if "stable" in summary.settings.k:
        return "left of the best ones by stability; of other k the best features are shown"
    return "asked for"


def assurance(certificate: Certificate | None) -> str:
    """Say in two words how good the choice is proven to be."""
    if certificate is None:
        return "not proven"
    if certificate.is_empty:
        return "no feature"
    if certificate.proven_optimal:
        return "optimal"
    return f"\N{GREATER-THAN OR EQUAL TO} {_proven(certificate)} %"


def _proven(certificate: Certificate) -> str:
    # Rounded down: what is proven must never be overstated.
    return f"{math.floor(1e6 * (1 - certificate.relative_gap)) / 1e4:.4f}"


def certificate_in_words(certificate: Certificate | None) -> tuple[str, ...]:
    """Explain the certificate to somebody who has never met one, one sentence each."""
    if certificate is None:
        return (UNPROVEN,)
    if certificate.is_empty:
        return (EMPTY,)
    k, what, unit = certificate.k, certificate.quantity, certificate.unit
    these = "the features chosen" if certificate.choice else f"these {k:,} features"
    sentences = [
        f"With {these} the {what} is {figure(certificate.gain)} {unit} better than "
        f"with no feature ({figure(certificate.objective)} against "
        f"{figure(certificate.baseline)}).",
        f"No choice of {certificate.choice or f'{k:,} features'}, tried or not, can gain more than "
        f"{figure(certificate.bound - certificate.baseline)} {unit}: that is proven, not "
        "estimated.",
    ]
    if certificate.proven_optimal:
        sentences.append("The features reach it, so no other choice is better.")
    else:
        sentences.append(
            f"What is left open is {certificate.gap:.3g} {unit}: the features have at least "
            f"{_proven(certificate)} % of what the best choice could have."
        )
    if math.isfinite(certificate.a_priori) and not certificate.proven_optimal:
        sentences.append(
            "Theory alone, before any search, promised "
            f"{figure(certificate.a_priori - certificate.baseline)} {unit}."
        )
    return tuple(sentences)


def gain_in_words(certificate: Certificate) -> str:
    """Say what the gain of a single feature is."""
    what = f"{certificate.quantity} ({certificate.unit})"
    if certificate.quantity == SEPARATION:
        return f"{what} that would be lost without the feature"
    return f"{what} when the feature may differ between the classes"


def accuracy_interval(evaluation: Evaluation) -> tuple[float, float]:
    """Range that holds the true accuracy in about 95 of 100 such tests."""
    n = evaluation.test_rows
    return share_interval(round(evaluation.accuracy * n), n)


def figure(value: float) -> str:
    """Four digits or more, without powers of ten."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def signed(value: float) -> str:
    """Two decimals, with the sign."""
    return f"{value:+.2f}".replace("-", _MINUS)


def brief(value: float) -> str:
    """Two digits or more, without powers of ten."""
    return (f"{value:,.0f}" if abs(value) >= 100 else f"{value:.2g}").replace("-", _MINUS)


def share(value: float | None) -> str:
    """Percent with one decimal; nothing for None."""
    return "" if value is None else f"{100 * value:.1f} %"


def pvalue(value: float | None) -> str:
    """Two digits, or a bound where floats come to their end; nothing for None."""
    return "" if value is None else "< 1e-300" if value < 1e-300 else f"{value:.2g}"


def also_says(row: FeatureRow) -> str:
    """Name what is not chosen because a feature says the same; nothing if there is none."""
    return ", ".join(shortened(name, 30) for name in row.also[:_ALSO])


def weight_of(row: FeatureRow, classes: int) -> float:
    """Weight to show in one figure: of its class, below 0 if that is the first of two."""
    weight = max(row.weights)
    return 0.0 - weight if classes == 2 and row.weights[0] == weight else weight
