"""The summary back from its JSON; every field is checked against its type."""

from __future__ import annotations

import json
import math
import types
from collections.abc import Iterator
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, Union, cast, get_args, get_origin, get_type_hints

from naively._versions import SUMMARY
from naively.report.summary import Evaluation, FeatureRow, Summary
from naively.selection.certificate import Certificate

_DERIVED = {"gap", "relative_gap", "sentence"}  # of the certificate, written for readers of JSON


def summary_of_json(text: str) -> Summary:
    """Read what `summary_json` wrote.

    Raises
    ------
    VersionError
        If the text is of another kind or version.
    ValueError
        Naming the field, if it is anything else.
    """
    try:
        record = json.loads(text, parse_constant=_refuse)
    except RecursionError as error:
        raise ValueError("is nested too deeply to be a summary") from error
    except ValueError as error:
        raise ValueError(f"is not JSON ({error})") from error
    SUMMARY.check(record)
    for name in SUMMARY.marks():
        del record[name]
    certificate = record.get("certificate")
    if isinstance(certificate, dict):
        a_priori = certificate.get("a_priori")
        certificate["a_priori"] = -math.inf if a_priori is None else a_priori
        for name in _DERIVED:
            certificate.pop(name, None)
    try:
        summary = cast("Summary", _built(Summary, record, "summary"))
    except OverflowError as error:
        raise ValueError("holds a number too large for double precision") from error
    for fault in _contradictions(summary):
        raise ValueError(f"contradicts itself: {fault}")
    return summary


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no number")


def _contradictions(summary: Summary) -> Iterator[str]:
    """Yield what the fields say that cannot be true of any run."""
    classes = [each.name for each in summary.classes]
    if len(classes) < 2:
        yield "it has less than two classes"
    given = [len(figures) for figures in _figures(summary.features[0])] if summary.features else []
    if set(given) - {0, len(classes)} or (given and not (given[0] or given[2])):
        yield "a feature must have figures for each class"
    for row in summary.features:
        if [len(figures) for figures in _figures(row)] != given:
            yield f"feature {row.rank} has other figures than the first"
        if row.speaks_for not in classes:
            yield f"feature {row.rank} speaks for a class that is none"
    yield from _contradictions_of_run(summary)
    if summary.evaluation is not None:
        yield from _contradictions_of_test(summary.evaluation, classes)


def _contradictions_of_run(summary: Summary) -> Iterator[str]:
    if any(point.k < 0 for point in summary.path.points) if summary.path else False:
        yield "a number of features is negative"
    certificate = summary.certificate
    if certificate is None:
        return
    if certificate.k < 0 or not certificate.objective <= certificate.bound + _slack(certificate):
        yield "the objective is above its bound"
    elif not 0 <= certificate.relative_gap <= 1 or not math.isfinite(certificate.baseline):
        yield "its certificate leaves more open than there is"


def _figures(row: FeatureRow) -> tuple[tuple[float, ...], ...]:
    return row.weights, row.counts, row.centers, row.dispersions, row.documents, row.errors


def _slack(certificate: Certificate) -> float:
    sizes = [abs(x) for x in (certificate.objective, certificate.bound) if math.isfinite(x)]
    return 1e-9 * (1 + max(sizes, default=0.0))


def _contradictions_of_test(evaluation: Evaluation, classes: list[str]) -> Iterator[str]:
    if evaluation.test_rows < 1:
        yield "a test must have rows"
    shares = [evaluation.accuracy, evaluation.balanced_accuracy, evaluation.macro_f1]
    shares += [evaluation.usual_accuracy]
    shares += [share for p in evaluation.coverage for share in (p.coverage, p.accuracy)]
    if not all(0 <= share <= 1 for share in shares):
        yield "a share of the test rows must lie in 0 to 1"
    confusion = evaluation.confusion
    if confusion is None:
        return
    widths = [len(row) for row in confusion.rows]
    if widths != [len(classes)] * len(confusion.truths) or len(confusion.answers) != len(classes):
        yield "the confusion matrix must have a row for each class tested, a column for each answer"
    if any(min(row) < 0 for row in confusion.rows):
        yield "the confusion matrix counts rows"


def _built(kind: Any, value: Any, place: str) -> Any:
    origin = get_origin(kind)
    if is_dataclass(kind):
        return _record(kind, value, place)
    if origin is tuple:
        return _tuple(get_args(kind)[0], value, place)
    if origin in (types.UnionType, Union):
        inner = next(each for each in get_args(kind) if each is not type(None))
        return None if value is None else _built(inner, value, place)
    if kind is float and isinstance(value, str) and value in ("inf", "-inf"):
        return float(value)
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if type(value) is not kind:
        raise ValueError(f"holds {value!r:.40} where `{place}` must be of type {kind.__name__}")
    return value


def _record(kind: Any, value: Any, place: str) -> Any:
    hints = get_type_hints(kind)
    names = [each.name for each in fields(kind)]
    needed = {each.name for each in fields(kind) if each.default is MISSING}  # others came later
    if not isinstance(value, dict) or not needed <= set(value) <= set(names):
        raise ValueError(f"must hold the fields {', '.join(names)} in `{place}`")
    return kind(**{name: _built(hints[name], found, f"{place}.{name}")
                   for name, found in value.items()})  # fmt: skip


def _tuple(kind: Any, value: Any, place: str) -> Any:
    if not isinstance(value, list):
        raise ValueError(f"must hold a list in `{place}`")
    return tuple(_built(kind, each, f"{place}[{i}]") for i, each in enumerate(value))
