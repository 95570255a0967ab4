"""A trained model for where this package is not: ONNX, SQL, Python source, JSON."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from naively._types import Array
from naively.exports.decision import Decision, Label
from naively.jobs.model_file import ModelFile, load_model, text_of, variables_told
from naively.jobs.predict import model_file
from naively.models.rules import LinearRule, Rule
from naively.models.value_rules import AbsoluteRule
from naively.statistics.mixed_columns import MixedColumns
from naively.text.features import Weights


def decision_of(model: Any) -> Decision:
    """Return what is exported of a model.

    Raises
    ------
    TypeError, ValueError
        If it is none, or not fitted.
    """
    if isinstance(model, str | os.PathLike):
        model = load_model(Path(model_file(os.fspath(model))))
    model = getattr(getattr(model, "_reading", None), "file", model)  # of an estimator from a file
    if isinstance(model, ModelFile):
        return _of_file(model)
    if not hasattr(model, "from_statistics"):
        raise TypeError(
            "`model` must be a fitted sparse classifier of this package, a ModelFile or the path "
            f"of one; got {type(model).__name__}. Of a search give search.best_estimator_."
        )
    if not hasattr(model, "selection_"):
        raise ValueError(f"`model` must be fitted; call fit of this {type(model).__name__} first.")
    return _of_estimator(model)


# Estimators ------------------------------------------------------------------------------------


def _of_estimator(estimator: Any) -> Decision:
    support: Array = estimator.selection_.support
    named = getattr(estimator, "feature_names_in_", None)
    if named is not None:
        named = getattr(estimator, "variable_names_", named)  # of a table with texts: their words
    exposure = estimator.model_.exposure
    columns = [*support.tolist(), *([exposure] if isinstance(exposure, int) else [])]
    mixed = getattr(estimator.statistics_, "columns", None)
    return Decision(
        model=estimator.model_.name,
        classes=tuple(map(_label, estimator.classes_.tolist())),
        names=_names(None if named is None else named[columns].tolist(), columns),
        columns=tuple(columns),
        named=named is not None,
        n_features=len(estimator.support_),
        rule=estimator.rule_,
        threshold=estimator.model_.threshold,
        missing=estimator.model_.ignores_missing,
        posterior=not isinstance(estimator.rule_, AbsoluteRule),
        exposure=exposure if exposure == "total" else None,
        more={} if mixed is None else _of_table(mixed.take(support)),
    )


def _names(names: Iterable[Any] | None, columns: Iterable[int]) -> tuple[str, ...]:
    """Names of columns; x and the place, from 0, of those that have none."""
    return tuple(map(str, names) if names is not None else map("x{}".format, columns))


def _of_table(columns: MixedColumns) -> dict[str, Any]:
    """Kinds and categories of the features of a mixed model."""
    return {
        "kinds": list(columns.kinds),
        "categories": [[_label(each) for each in labels] for labels in columns.labels],
    }


def _label(label: Any) -> Label:
    if isinstance(label, float) and label == int(label):
        return int(label)
    return label if isinstance(label, str | int) else str(label)


# Model files -----------------------------------------------------------------------------------


def _of_file(file: ModelFile) -> Decision:
    own = [file.exposure] if isinstance(file.exposure, int) else []
    rule, of_text = _with_idf(file), file.features is not None
    weights = file.weights if file.features is None else file.features.weights
    columns, names = (*file.columns.tolist(), *own), (*file.names, *[file.exposure_name] * len(own))
    answer = file.answer_from
    return Decision(
        model=file.kind,
        classes=tuple(map(_label, file.labels.tolist())),
        names=_names(names if file.named else None, columns),
        columns=columns,
        named=file.named,
        n_features=file.n_features,
        rule=rule,
        threshold=file.threshold,
        missing=file.missing or file.variables is not None,
        posterior=not isinstance(rule, AbsoluteRule),
        of_words=of_text,
        exposure="total" if file.exposure == "total" else None,
        row_sum=file.normalize,
        logarithm="log1p" if file.log1p else "log" if weights == "log" else None,
        answer_from=None if answer is None else (file.classes.index(answer[0]), answer[1]),
        unsaid=_unsaid(file),
        more=dict(_more(file, weights)),
    )


def _unsaid(file: ModelFile) -> str:
    """Return what is done to a row that JSON alone tells; nothing if there is no such thing."""
    norm = None if file.features is None else file.features.norm
    if norm is not None:
        return f"`--words norm={norm}` divides a row by its length over all its words"
    if file.normalize is not None and file.missing:
        return "`--read normalize` scales rows with missing values"
    if file.scales and file.exposure == "total":
        return "its exposure is the total of values that were scaled or taken logarithms of"
    return ""


def _with_idf(file: ModelFile) -> Rule:
    """Return the rule of counts, where that of a file is of counts times their idf."""
    rule = file.rule
    if file.idf is None or file.known or not isinstance(rule, LinearRule):
        return rule
    return LinearRule(**{**rule.arrays(), "weights": rule.weights * file.idf})


def _more(file: ModelFile, weights: Weights) -> Iterator[tuple[str, Any]]:
    """Tell, for JSON, how a row comes to what the rule sees, and a label of its scores."""
    table = file.variables
    yield (
        "text",
        text_of(file)
        if table is None or not table.words.columns
        else variables_told(table)["text"],
    )
    yield "weights", weights
    if file.known and file.idf is not None:  # of all terms: the length of a row needs them
        yield from (("terms", list(file.known)), ("idf", np.asarray(file.idf).tolist()))
    if table is not None:
        yield from _of_table(table.all).items()
    if file.scales:
        yield from (("normalize", file.normalize), ("log1p", file.log1p))
    if file.answer_from is not None:
        name, least = file.answer_from
        label = file.labels.tolist()[file.classes.index(name)]
        yield "answer_from", [_label(label), least]
