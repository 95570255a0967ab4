"""A rule as Python source that imports nothing but `math`: scores, probabilities and label."""

from __future__ import annotations

from typing import Any

import numpy as np

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
from naively.models.value_rules import AbsoluteRule, QuadraticRule, TableRule

_HEAD = '''"""Decision rule of a {model} model with {k} of {m} features, written by naively.

`row` maps the names (or positions) in FEATURES to numbers{absent}.{whole}
"""

import math

CLASSES = {classes}
FEATURES = {features}
'''

_SCORES = '''

def scores(row):
    """Score of each class, up to a term common to all."""
    if isinstance(row, str):
        raise TypeError({no_text})
    total = list(START)
{whole}{vetoes}    for j, feature in enumerate(FEATURES):
        x = {found}
{missing}{seen}        for c in range(len(CLASSES)):
            {term}
{exposure}{ruled_out}    return total

'''

_NO_TEXT = {
    False: "a row maps the names (or positions) in FEATURES to numbers; got a string",
    True: "a row maps words to their counts, such as {'word': 1}; got a string: cut it into words "
    "as in training first, or use naively.load, which does",
}

_WHOLE = '''

def row_sum(row):
    """Sum of a row, which must hold all that was counted and nothing else."""
    values = [row[name] for name in row.keys()] if hasattr(row, "keys") else list(row)
    if any(x is None or x != x for x in values):
        raise ValueError("a value of the row is missing, and its sum is wanted")
    return sum(values)
'''

_PREDICT = '''

def predict(row):
    """Label of a row: the class of the largest score, the first where they tie to rounding."""
    found = scores(row)
    return CLASSES[largest(found, range(len(CLASSES)))]
'''

_ANSWER_FROM = '''

def log_odds(found):
    """Log-odds of the class ANSWER against all others, from scores."""
    others = [score for c, score in enumerate(found) if c != ANSWER]
    best = max(others)
    if found[ANSWER] == -math.inf or best == -math.inf:
        return found[ANSWER] if found[ANSWER] == -math.inf else math.inf
    return found[ANSWER] - best - math.log(sum(math.exp(score - best) for score in others))


def predict(row):
    """Label of a row: ANSWER from LOG_ODDS on, else the other class of the largest score."""
    found = scores(row)
    if log_odds(found) >= LOG_ODDS:
        return CLASSES[ANSWER]
    return CLASSES[largest(found, [c for c in range(len(CLASSES)) if c != ANSWER])]
'''

_LARGEST = '''

def largest(found, among):
    """Code of the largest score among some, the first where they tie to rounding."""
    best = max(found[c] for c in among)
    slack = {rounding!r} * abs(best) if math.isfinite(best) else 0.0
    return next(c for c in among if found[c] >= best - slack)
'''

_PROBABILITIES = '''

def probabilities(row):
    """Probability of each class, in the order of CLASSES."""
    found = scores(row)
    best = max(found)
    parts = [math.exp(score - best) for score in found]
    return [part / sum(parts) for part in parts]
'''

_LACKING = """        if x is None or x != x:
            raise ValueError("the value of %r is missing" % (feature,))
"""
_IGNORED = """        if x is None or x != x:
{lacks}            continue
"""
_COUNTS = """        if x < 0:
            raise ValueError("counts are never below 0; got %r of %r" % (x, feature))
"""
_LOGARITHMS = {
    "log1p": """        x = math.log1p(x)
""",
    "log": """        if 0 < x < 1:
            raise ValueError("counts are never between 0 and 1; got %r of %r" % (x, feature))
        x = 1 + math.log(x) if x else 0.0
""",
}
_OF_TABLE = """        if x < 0:
            raise ValueError("categories are whole numbers >= 0; got %r of %r" % (x, feature))
        terms = LOG_PROB[j][int(x)] if x < len(LOG_PROB[j]) else None
        if terms is None:
            continue
"""
_PRIOR = """    if max(total) == -math.inf:  # every class is ruled out
        return list(PRIOR)
"""


def source(decision: Decision) -> str:
    """Return the source of a module with the functions `scores`, `predict`, `probabilities`."""
    rule = single(decision, "python")
    of_all = f"all {decision.n_features:,} columns" if not decision.of_words else "all its words"
    head = _HEAD.format(
        model=decision.model,
        k=len(decision.names),
        m=decision.n_features,
        absent="; what is not there was counted 0 times" if decision.of_words else "",
        whole=f"\nIt must hold {of_all} and nothing else: their sum is wanted."
        if decision.of_whole_row
        else "",
        classes=_written(decision.classes),
        features=_written(decision.keys),
    )
    data = "".join(f"{name} = {_written(value)}\n" for name, value in _data(rule).items())
    if decision.threshold is not None:
        data += f"THRESHOLD = {decision.threshold!r}  # a value above it is present\n"
    if decision.row_sum is not None:
        data += f"ROW_SUM = {decision.row_sum!r}  # to which the values of a row are scaled\n"
    if decision.answer_from is not None:
        code, least = decision.answer_from
        data += f"ANSWER, LOG_ODDS = {code}, {least!r}  # code of a class, and from where it is\n"
    return head + data + _functions(decision, rule)


def _functions(decision: Decision, rule: SingleRule) -> str:
    vetoes, ruled_out, seen = "", "", _seen(decision)
    if vetoes_of(rule) is not None:
        vetoes = "    vetoes = list(VETO_OFFSET)\n"
        ruled_out = "    total = [-math.inf if v > 0 else t for t, v in zip(total, vetoes)]\n"
        seen += (
            "        if x != 0:\n            vetoes = [a + b for a, b in zip(vetoes, VETO[j])]\n"
        )
    whole = "    whole = row_sum(row)\n" * decision.of_whole_row
    if decision.row_sum is not None:
        whole += "    factor = ROW_SUM / whole if whole > 0 else 1.0\n"
    exposure = "    total = [t + w * whole for t, w in zip(total, WEIGHTS[-1])]\n"
    text = _SCORES.format(
        no_text=_written(_NO_TEXT[decision.of_words]),
        whole=whole,
        vetoes=vetoes,
        found="row.get(feature, 0)" if decision.of_words else "row[feature]",
        missing=_IGNORED.format(lacks=_lacks(rule)) if decision.missing else _LACKING,
        seen=seen + (_OF_TABLE if isinstance(rule, TableRule) else ""),
        term=_term(rule),
        exposure=exposure * (decision.exposure == "total"),
        ruled_out=ruled_out + (_PRIOR if prior_of(rule) is not None else ""),
    )
    text += _WHOLE * decision.of_whole_row + _LARGEST.format(rounding=ROUNDING)
    text += _PREDICT if decision.answer_from is None else _ANSWER_FROM
    return text + (_PROBABILITIES if decision.posterior else "")


def _seen(decision: Decision) -> str:
    """Lines from a value to what the rule sees of it."""
    lines = _COUNTS if decision.row_sum is not None or decision.logarithm else ""
    lines += "        x = x * factor\n" if decision.row_sum is not None else ""
    lines += _LOGARITHMS[decision.logarithm] if decision.logarithm else ""
    present = "        x = 1.0 if x > THRESHOLD else 0.0\n"
    return lines + (present if decision.threshold is not None else "")


def _term(rule: SingleRule) -> str:
    if isinstance(rule, LinearRule):
        return "total[c] += WEIGHTS[j][c] * x"
    if isinstance(rule, QuadraticRule):
        return "total[c] -= 0.5 * PRECISION[j][c] * (x - MEAN[j][c]) ** 2"
    if isinstance(rule, AbsoluteRule):
        return "total[c] -= abs(x - CENTERS[j][c])"
    return "total[c] += terms[c]"


def _lacks(rule: SingleRule) -> str:
    """Take away what a missing value has in the start."""
    lines = ""
    if offset_of(rule) is not None:
        lines += "            total = [a - b for a, b in zip(total, OFFSET[j])]\n"
    if vetoes_of(rule) is not None:
        lines += "            vetoes = [a - (b < 0) for a, b in zip(vetoes, VETO[j])]\n"
    return lines


def _data(rule: SingleRule) -> dict[str, Any]:
    """Constants of the module; what is of a feature stands feature by feature."""
    data: dict[str, Any] = {"START": start_of(rule)}
    if prior_of(rule) is not None:
        data["PRIOR"] = prior_of(rule)
    if isinstance(rule, LinearRule):
        data["WEIGHTS"] = rule.weights.T
    elif isinstance(rule, QuadraticRule):
        data |= {"MEAN": rule.mean.T, "PRECISION": rule.precision.T}
    elif isinstance(rule, AbsoluteRule):
        data["CENTERS"] = rule.centers.T
    else:
        data["LOG_PROB"] = tuple(np.split(rule.log_prob, rule.starts[1:-1]))
        data["LOG_PROB"] = data["LOG_PROB"][: len(rule.starts) - 1]
    offset, vetoes = offset_of(rule), vetoes_of(rule)
    if offset is not None:
        data["OFFSET"] = offset.T
    if vetoes is not None:
        data |= {"VETO_OFFSET": vetoes[0], "VETO": vetoes[1].T}
    return data


def _written(value: Any) -> str:
    """Spell a value in ASCII, so that no name can be more than text."""
    if isinstance(value, np.ndarray):
        return _written(value.tolist())
    if isinstance(value, list | tuple):
        parts = [_written(each) for each in value]
        inner = ", ".join(parts) + "," * (len(parts) == 1)
        deep = bool(value) and isinstance(value[0], list | tuple | np.ndarray)
        lines = "".join(f"    {part},\n" for part in parts)
        return f"(\n{lines})" if deep else f"({inner})"
    if isinstance(value, float) and not np.isfinite(value):
        return "-math.inf" if value < 0 else "math.inf"
    return ascii(value)
