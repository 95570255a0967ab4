"""A trained model, or a pipeline, for where this package is not."""

from __future__ import annotations

import os
from typing import Any

from sklearn.pipeline import Pipeline

from naively.bridge.files import file_of
from naively.exports import plain, source, sql
from naively.jobs.export import decision_of
from naively.work.writing import atomic_file

_FORMATS = ("onnx", "sql", "json", "python")
_LAYOUTS = ("columns", "words")


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
    rounding; or by the threshold that training stored (`--judge precision` or `recall`). Rows are
    given as in training: what scales them or takes logarithms (`--read normalize` and `log1p`) is
    part of what is exported.

    Parameters
    ----------
    model : fitted estimator or Pipeline, path of a model file, or ModelFile
        A sparse classifier of this package; a pipeline of :class:`WordCounts` and one, whose
        features are words; or the `model.npz` of :func:`naively.save` or `naively select`, or the
        folder that holds it.
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
        If a parameter is out of range or has no effect, features that have no names are asked for
        by name, or the format cannot express the rule;
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
    if format not in _FORMATS:
        raise ValueError(f"`format` must be one of {', '.join(_FORMATS)}; got {format!r}.")
    for name, given in (("layout", layout), ("table", table)):
        if given is not None and format != "sql":
            raise ValueError(f"`{name}` has no effect on `format`={format!r}, only on 'sql'.")
    if layout not in (None, *_LAYOUTS):
        raise ValueError(f"`layout` must be 'columns' or 'words'; got {layout!r}.")
    decision = decision_of(file_of(model) if isinstance(model, Pipeline) else model)
    found: Any
    if format == "onnx":
        from naively.exports import graph

        found = graph.graph(decision)
    elif format == "sql":
        layout = layout or ("words" if decision.of_words else "columns")
        found = sql.statement(decision, layout, table or {"columns": "rows"}.get(layout, layout))
    else:
        found = (plain.text if format == "json" else source.source)(decision)
    if path is not None:
        content = found.SerializeToString() if format == "onnx" else found.encode()
        with atomic_file(path) as file:
            file.write(content)
    return found
