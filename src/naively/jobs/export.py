"""A trained model for where this package is not: ONNX, SQL, Python source, JSON."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from naively._types import Array
from naively.exports import plain, source, sql
from naively.exports.decision import Decision, Label
from naively.jobs.model_file import ModelFile, load_model, text_of
from naively.models import MODELS
from naively.models.rules import LinearRule, Rule
from naively.work.writing import atomic_file

FORMATS = ("onnx", "sql", "json", "python")
LAYOUTS = ("columns", "words")


def export(
    model: Any,
    format: str,
    path: str | os.PathLike[str] | None = None,
    *,
    layout: str | None = None,
    table: str | None = None,
) -> Any:
    """Write the decision rule of a trained model for where this package is not.

    Labels are those of `predict`: of the largest score, the first class where scores tie to
    rounding.

    Parameters
    ----------
    model : fitted estimator, path of a model file, or ModelFile
        A sparse classifier of this package, or the `model.npz` that `naively select` wrote.
    format : {"onnx", "sql", "json", "python"}
        "onnx": a graph with the input X, a float tensor of all columns of training, and the outputs
        label and probabilities (scores, for centers). "sql": one statement that adds scores
        (natural logarithms) and label to the rows of a table. "python": source of a module with
        the functions `scores`, `predict` and, for log posteriors, `probabilities` of a row, which
        imports `math` alone. "json": the rule and its features.
    path : path, default=None
        Where to write it, completely or not at all; a file of that name is replaced.
    layout : {"columns", "words"}, default=None
        Of "sql": the table has a column for each feature, or a row for each `row` and `word` with
        its `count`. By default "words" for models of texts, else "columns".
    table : str, default=None
        Of "sql": name of the table. By default "rows", or "words" for that layout.

    Returns
    -------
    exported : str or onnx.ModelProto
        What was, or can be, written.

    Raises
    ------
    ValueError
        If a parameter is out of range or has no effect, or the format cannot express the rule;
        "json" can express all.
    TypeError
        If `model` is none that can be exported.
    ImportError
        If onnx is wanted and not installed.

    Examples
    --------
    >>> from naively import SparseL2Centers, export
    >>> X = [[1.0, 5.0], [2.0, 5.0], [8.0, 5.0], [9.0, 5.0]]
    >>> model = SparseL2Centers(k=1).fit(X, ["low", "low", "high", "high"])
    >>> code = {}
    >>> exec(export(model, "python"), code)
    >>> code["predict"]([7.5, 0.0])
    'high'
    """
    if format not in FORMATS:
        raise ValueError(f"`format` must be one of {', '.join(FORMATS)}; got {format!r}.")
    for name, given in (("layout", layout), ("table", table)):
        if given is not None and format != "sql":
            raise ValueError(f"`{name}` has no effect on `format`={format!r}, only on 'sql'.")
    if layout not in (None, *LAYOUTS):
        raise ValueError(f"`layout` must be 'columns' or 'words'; got {layout!r}.")
    decision = decision_of(model)
    exported: Any
    if format == "onnx":
        from naively.exports import graph

        exported = graph.graph(decision)
    elif format == "sql":
        layout = layout or ("words" if decision.of_words else "columns")
        exported = sql.statement(decision, layout, table or {"columns": "rows"}.get(layout, layout))
    else:
        exported = (plain.text if format == "json" else source.source)(decision)
    if path is not None:
        content = exported.SerializeToString() if format == "onnx" else exported.encode()
        with atomic_file(path) as file:
            file.write(content)
    return exported


def decision_of(model: Any) -> Decision:
    """Return what is exported of a model.

    Raises
    ------
    TypeError, ValueError
        If it is none, or not fitted.
    """
    if isinstance(model, str | os.PathLike):
        model = load_model(Path(model))
    model = getattr(getattr(model, "_reading", None), "file", model)  # of an estimator from a file
    if isinstance(model, ModelFile):
        return _of_file(model)
    if not hasattr(model, "from_statistics"):
        raise TypeError(
            "`model` must be a fitted sparse classifier of this package, a ModelFile or the path "
            f"of one; got {type(model).__name__}. Of a pipeline or a search give the classifier: "
            "pipeline[-1], search.best_estimator_."
        )
    if not hasattr(model, "selection_"):
        raise ValueError(f"`model` must be fitted; call fit of this {type(model).__name__} first.")
    return _of_estimator(model)


# Estimators ------------------------------------------------------------------------------------


def _of_estimator(estimator: Any) -> Decision:
    support: Array = estimator.selection_.support
    named, n = getattr(estimator, "feature_names_in_", None), estimator.n_features_in_
    exposure = estimator.model_.exposure
    columns = [*support.tolist(), *([exposure] if isinstance(exposure, int) else [])]
    names = [f"x{j}" if named is None else str(named[j]) for j in columns]
    return Decision(
        model=estimator.model_.name,
        classes=tuple(map(_label, estimator.classes_.tolist())),
        names=tuple(names),
        columns=tuple(columns),
        named=named is not None,
        n_features=n,
        rule=estimator.rule_,
        threshold=estimator.model_.threshold,
        missing=estimator.model_.ignores_missing,
        posterior=hasattr(estimator, "predict_proba"),
        exposure=exposure if exposure == "total" else None,
        more=dict(_of_table(estimator.statistics_)),
    )


def _of_table(statistics: Any) -> Iterator[tuple[str, Any]]:
    """Kinds and categories of the columns of a mixed model."""
    columns = getattr(statistics, "columns", None)
    if columns is not None:
        yield "kinds", list(columns.kinds)
        yield "categories", [[_label(each) for each in labels] for labels in columns.labels]


def _label(label: Any) -> Label:
    if isinstance(label, float) and label == int(label):
        return int(label)
    return label if isinstance(label, str | int) else str(label)


# Model files -----------------------------------------------------------------------------------


def _of_file(file: ModelFile) -> Decision:
    own = [file.exposure] if isinstance(file.exposure, int) else []
    rule, of_text = _with_idf(file), file.features is not None
    weights = file.weights if file.features is None else file.features.weights
    norm = None if file.features is None else file.features.norm
    unsaid = ""
    if file.scales:
        how = ("normalize", "log1p")[file.normalize is None]
        unsaid = f"`--read {how}` transforms the whole row, and the format sees single columns"
    elif file.answer_from is not None:
        name, least = file.answer_from
        unsaid = (
            f"it answers {name!r} only from {least!r} nats of log-odds on, a threshold of "
            "`--judge`; train without it for the likeliest class"
        )
    elif norm is not None:
        unsaid = f"`--words norm={norm}` divides a row by its length over all its words"
    elif weights == "log":
        unsaid = "`--words weights=log` takes logarithms of the counts"
    return Decision(
        model=file.kind,
        classes=tuple(map(_label, file.labels.tolist())),
        names=(*file.names, *([file.exposure_name] * len(own))),
        columns=(*file.columns.tolist(), *own),
        named=file.named,
        n_features=file.n_features,
        rule=rule,
        threshold=file.threshold,
        missing=file.missing,
        posterior=not MODELS[file.kind].of_distances,
        of_words=of_text,
        exposure="total" if file.exposure == "total" else None,
        unsaid=unsaid,
        more={"text": text_of(file), "weights": weights, **_idf(file), **_row(file)},
    )


def _with_idf(file: ModelFile) -> Rule:
    """Return the rule of counts, where that of a file is of counts times their idf."""
    rule = file.rule
    if file.idf is None or file.known or not isinstance(rule, LinearRule):
        return rule
    return LinearRule(**{**rule.arrays(), "weights": rule.weights * file.idf})


def _row(file: ModelFile) -> dict[str, Any]:
    """Tell what is done to a whole row, and what is answered if not the likeliest class."""
    scaling = {"normalize": file.normalize, "log1p": file.log1p} if file.scales else {}
    if file.answer_from is None:
        return scaling
    name, least = file.answer_from
    return scaling | {
        "answer_from": [_label(file.labels.tolist()[file.classes.index(name)]), least]
    }


def _idf(file: ModelFile) -> dict[str, Any]:
    """Idf of all terms, where the length of a row needs them; else it is in the weights."""
    if file.idf is None or not file.known:
        return {}
    return {"terms": list(file.known), "idf": np.asarray(file.idf).tolist()}
