"""A rule as an ONNX graph: input X, outputs label and probabilities, as converters name them.

X is a float tensor (n, n_features) with the columns of training; the rule is computed in double
precision. Models whose scores are distances have the output scores instead of probabilities.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from naively._types import Array
from naively.exports.decision import (
    Decision,
    SingleRule,
    offset_of,
    prior_of,
    single,
    start_of,
    vetoes_of,
)
from naively.models.rules import ROUNDING, LinearRule
from naively.models.value_rules import AbsoluteRule, QuadraticRule

_OPSET = 18
_IR = 9  # that runtimes since 2023 read


class _Graph:
    """Nodes and constants as they are added."""

    def __init__(self) -> None:
        from onnx import helper, numpy_helper

        self._helper, self._numpy_helper = helper, numpy_helper
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, value: Any, dtype: Any = np.float64) -> str:
        """Add an array; return its name."""
        name = f"c{len(self.constants)}"
        array: Array = np.asarray(value, dtype=dtype)
        self.constants.append(self._numpy_helper.from_array(array, name))
        return name

    def add(self, operator: str, *inputs: str, name: str = "", **attributes: Any) -> str:
        """Add a node; return the name of its output."""
        name = name or f"n{len(self.nodes)}"
        self.nodes.append(self._helper.make_node(operator, list(inputs), [name], **attributes))
        return name

    def doubles(self, value: str) -> str:
        """Add a cast to double precision."""
        return self.add("Cast", value, to=self._helper.np_dtype_to_tensor_dtype(np.dtype("f8")))


def graph(decision: Decision) -> Any:
    """Return the `onnx.ModelProto`.

    Raises
    ------
    ImportError
        If onnx is not installed.
    """
    rule = single(decision, "onnx")
    try:
        from onnx import TensorProto, checker, helper
    except ImportError as error:
        raise ImportError(
            "`format`='onnx' needs onnx, which is not installed: pip install 'naively[onnx]'."
        ) from error
    made = _Graph()
    scores = _scores(made, decision, rule)
    _label(made, decision, scores)
    second = "probabilities" if decision.posterior else "scores"
    values = made.add("Softmax", scores, axis=1) if decision.posterior else scores
    made.add("Cast", values, name=second, to=TensorProto.FLOAT)
    of_text = isinstance(decision.classes[0], str)
    label_type = TensorProto.STRING if of_text else TensorProto.INT64
    inputs = [helper.make_tensor_value_info("X", TensorProto.FLOAT, [None, decision.n_features])]
    outputs = [
        helper.make_tensor_value_info("label", label_type, [None]),
        helper.make_tensor_value_info(second, TensorProto.FLOAT, [None, len(decision.classes)]),
    ]
    body = helper.make_graph(made.nodes, "naively", inputs, outputs, made.constants)
    opset = [helper.make_opsetid("", _OPSET)]
    model = helper.make_model(body, opset_imports=opset, producer_name="naively", ir_version=_IR)
    helper.set_model_props(model, {"model": decision.model, "features": str(len(decision.names))})
    checker.check_model(model)
    return model


def _scores(made: _Graph, decision: Decision, rule: SingleRule) -> str:
    whole = made.doubles("X")
    x = made.add("Gather", whole, made.constant(decision.columns, np.int64), axis=1)
    if decision.of_whole_row:
        total = made.add("ReduceSum", whole, made.constant([1], np.int64), keepdims=1)
    if decision.row_sum is not None:
        to_sum = made.add("Div", made.constant(decision.row_sum), total)
        some = made.add("Greater", total, made.constant(0.0))
        x = made.add("Mul", x, made.add("Where", some, to_sum, made.constant(1.0)))
    if decision.logarithm is not None:
        x = _logarithm(made, decision.logarithm, x)
    if decision.exposure == "total":
        x = made.add("Concat", x, total, axis=1)
    lacking = made.add("IsNaN", x) if decision.missing else None
    if decision.threshold is not None:
        x = made.doubles(made.add("Greater", x, made.constant(decision.threshold)))
    joint = _joint(made, rule, x, lacking)
    return _possible(made, rule, x, joint, lacking)


def _logarithm(made: _Graph, which: str, x: str) -> str:
    one = made.constant(1.0)
    if which == "log1p":
        return made.add("Log", made.add("Add", x, one))
    log = made.add("Add", made.add("Log", made.add("Max", x, one)), one)
    return made.add("Where", made.add("Greater", x, made.constant(0.0)), log, x)


def _joint(made: _Graph, rule: SingleRule, x: str, lacking: str | None) -> str:
    """Scores before any class is ruled out, (n, C)."""
    start = made.constant(start_of(rule))
    if isinstance(rule, LinearRule):
        x = x if lacking is None else made.add("Where", lacking, made.constant(0.0), x)
        joint = made.add("Add", made.add("MatMul", x, made.constant(rule.weights.T)), start)
    else:
        apart = made.add("Unsqueeze", x, made.constant([1], np.int64))  # (n, 1, q)
        if isinstance(rule, QuadraticRule):
            away = made.add("Sub", apart, made.constant(rule.mean))  # (n, C, q)
            half = made.constant(rule.precision / 2)
            terms = made.add("Mul", made.add("Mul", away, away), half)
        else:
            assert isinstance(rule, AbsoluteRule)
            terms = made.add("Abs", made.add("Sub", apart, made.constant(rule.centers)))
        if lacking is not None:
            terms = made.add("Where", made.add("IsNaN", terms), made.constant(0.0), terms)
        sums = made.add("ReduceSum", terms, made.constant([2], np.int64), keepdims=0)
        joint = made.add("Sub", start, sums)
    offset = offset_of(rule)
    if lacking is None or offset is None:
        return joint
    lost = made.add("MatMul", made.doubles(lacking), made.constant(offset.T))
    return made.add("Sub", joint, lost)


def _possible(made: _Graph, rule: SingleRule, x: str, joint: str, lacking: str | None) -> str:
    """Scores with -inf for classes that are ruled out; those of the prior if all are."""
    vetoes, prior = vetoes_of(rule), prior_of(rule)
    if vetoes is None or prior is None:
        return joint
    nothing, never = made.constant(0.0), made.constant(-np.inf)
    there = made.add("Not", made.add("Equal", x, nothing))
    if lacking is not None:
        there = made.add("And", there, made.add("Not", lacking))
    events = made.add("MatMul", made.doubles(there), made.constant(vetoes[1].T))
    events = made.add("Add", events, made.constant(vetoes[0]))
    if lacking is not None:
        absent = made.constant((vetoes[1] < 0).T)
        events = made.add("Sub", events, made.add("MatMul", made.doubles(lacking), absent))
    scores = made.add("Where", made.add("Greater", events, nothing), never, joint)
    best = made.add("ReduceMax", scores, made.constant([1], np.int64), keepdims=1)
    return made.add("Where", made.add("Equal", best, never), made.constant(prior), scores)


def _label(made: _Graph, decision: Decision, scores: str) -> None:
    """Label of the class that is answered."""
    answer = decision.answer_from
    first = _largest(made, scores) if answer is None else _answered(made, scores, decision, *answer)
    of_text = isinstance(decision.classes[0], str)
    labels = made.constant(decision.classes, object if of_text else np.int64)
    made.add("Gather", labels, first, name="label")


def _largest(made: _Graph, scores: str) -> str:
    """Code of the largest score, the first where they tie to rounding."""
    best = made.add("ReduceMax", scores, made.constant([1], np.int64), keepdims=1)
    slack = made.add("Mul", made.add("Abs", best), made.constant(ROUNDING))
    wins = made.doubles(made.add("GreaterOrEqual", scores, made.add("Sub", best, slack)))
    return made.add("ArgMax", wins, axis=1, keepdims=0)


def _answered(made: _Graph, scores: str, decision: Decision, code: int, least: float) -> str:
    """Code of a class where its log-odds reach some nats, else the largest score of the others.

    They do where the sum over the others of exp(their score - its score + nats) is 1 or less.
    """
    codes = made.constant(np.delete(np.arange(len(decision.classes)), code), np.int64)
    others = made.add("Gather", scores, codes, axis=1)
    own = made.add("Gather", scores, made.constant([code], np.int64), axis=1)
    above = made.add("Sub", others, made.add("Sub", own, made.constant(least)))
    most = made.constant(0.0)
    if len(decision.classes) > 2:
        above, most = made.add("Exp", above), made.constant(1.0)
    sums = made.add("ReduceSum", above, made.constant([1], np.int64), keepdims=0)
    reached = made.add("LessOrEqual", sums, most)
    best = made.add("Gather", codes, _largest(made, others))
    return made.add("Where", reached, made.constant(code, np.int64), best)
