"""A rule as one statement of standard SQL: over columns of a table, or over words of rows.

A class that is ruled out has the score -1e308, as SQL has no infinity; where all are, the label is
that of the prior. A row in which a column is NULL has the label NULL, unless the model takes
missing values.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from naively.exports.decision import (
    LOWEST,
    Decision,
    Label,
    SingleRule,
    finite_table,
    offset_of,
    prior_of,
    single,
    start_of,
    vetoes_of,
)
from naively.judging.thresholds import answers_at
from naively.models.rules import ROUNDING, LinearRule, winners
from naively.models.value_rules import AbsoluteRule, QuadraticRule, TableRule

_WIDE = 50  # terms in a pair of brackets: engines limit how deep an expression may be


def identifier(name: str) -> str:
    """Quote the name of a table or column.

    Raises
    ------
    ValueError
        If SQL has no spelling for it.
    """
    if "\0" in name or not name:
        raise ValueError(
            f"Names in SQL must have a character, and none that is NUL; got {name!r}. Rename it "
            "before training."
        )
    return '"' + name.replace('"', '""') + '"'


def literal(value: Label) -> str:
    """Spell a label or a word."""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int):
        return str(value)
    if "\0" in value:
        raise ValueError(f"Texts in SQL must not hold the character NUL; got {value!r}.")
    return "'" + value.replace("'", "''") + "'"


def number(value: float) -> str:
    """Spell a number in double precision, to the last digit; -inf as the lowest score."""
    value = max(float(value), LOWEST)
    text = repr(value)
    return text if "e" in text else f"{text}e0"


def over_columns(decision: Decision, table: str) -> str:
    """Return the statement that adds scores and label to the rows of a table."""
    rule = single(decision, "sql", "columns")
    inputs = [_logarithm(decision, f"r.{identifier(name)}") for name in decision.names]
    classes = range(len(decision.classes))
    scores = ",\n    ".join(
        f"{_class_score(decision, rule, c, inputs)} AS naively_score_{c}" for c in classes
    )
    return (
        f"WITH naively_scores AS (\n  SELECT r.*,\n    {scores}\n  FROM {identifier(table)} AS r\n)"
        f"{_decided(decision, rule)}"
    )


def over_words(decision: Decision, table: str) -> str:
    """Return the statement that gives scores and label of rows from their words and counts.

    The table has the columns row, word and count, each pair of row and word once; with all words
    of a row, where its sum is needed.
    """
    rule = single(decision, "sql", "words")
    assert isinstance(rule, LinearRule)  # of others `single` has no words
    classes = range(len(decision.classes))
    vetoes = vetoes_of(rule)
    weights = [rule.weights] if vetoes is None else [rule.weights, vetoes[1]]
    columns = ["word", *(f"{'wv'[i]}{c}" for i in range(len(weights)) for c in classes)]
    if not decision.names:  # a table of values has at least one row
        values = [f"(NULL, {', '.join(['0e0'] * (len(columns) - 1))})"]
    else:
        values = [
            f"({literal(name)}, {', '.join(number(w[c, j]) for w in weights for c in classes)})"
            for j, name in enumerate(decision.names)
        ]
    count = 'r."count"'
    if decision.row_sum is not None:
        scaled = f"{count} * ({number(decision.row_sum)} / t.naively_sum)"
        count = f"(CASE WHEN t.naively_sum > 0 THEN {scaled} ELSE {count} END)"
    count = _logarithm(decision, count)
    seen = count if decision.threshold is None else _presence(count, decision.threshold)
    sums = []
    for c in classes:
        score = f"{number(rule.intercept[c])} + COALESCE(SUM(w.w{c} * {seen}), 0e0)"
        if decision.exposure == "total":
            score += f" + {number(rule.weights[c, -1])} * MAX(t.naively_sum)"
        if vetoes is not None:
            held = f"COALESCE(SUM(w.v{c} * CASE WHEN {seen} <> 0 THEN 1e0 ELSE 0e0 END), 0e0)"
            score = _unless(f"{number(vetoes[0][c])} + {held} > 0.5e0", score)
        sums.append(f"{score} AS naively_score_{c}")
    rows = ",\n    ".join(values)
    scores = ",\n    ".join(sums)
    source, totals = f"{identifier(table)} AS r", ""
    if decision.of_whole_row:
        totals = (
            'naively_sums AS (\n  SELECT "row" AS naively_row, SUM("count") AS naively_sum\n'
            f'  FROM {identifier(table)} GROUP BY "row"\n),\n'
        )
        source += ' JOIN naively_sums AS t ON t.naively_row = r."row"'
    return (
        f"WITH naively_weights({', '.join(columns)}) AS (\n  VALUES\n    {rows}\n),\n{totals}"
        f'naively_scores AS (\n  SELECT r."row" AS naively_row,\n    {scores}\n'
        f'  FROM {source} LEFT JOIN naively_weights AS w ON w.word = r."word"\n'
        f'  GROUP BY r."row"\n){_decided(decision, rule)}'
    )


# Scores ----------------------------------------------------------------------------------------


def _class_score(decision: Decision, rule: SingleRule, c: int, inputs: Sequence[str]) -> str:
    offset = offset_of(rule)
    terms = [number(start_of(rule)[c])]
    for j, column in enumerate(inputs):
        term = _term(decision, rule, c, j, column)
        if decision.missing:
            lacking = 0.0 if offset is None else -float(offset[c, j])
            term = f"CASE WHEN {column} IS NULL THEN {number(lacking)} ELSE {term} END"
        terms.append(term)
    score = _chain(terms, " + ")
    ruled_out = _ruled_out(decision, rule, c, inputs)
    if not ruled_out:
        return score
    if decision.missing or not inputs:
        return _unless(_chain(ruled_out, " OR "), score)
    # What is unknown rules nothing out.
    unknown = _chain([f"{column} IS NULL" for column in inputs], " OR ")
    return f"CASE WHEN {unknown} THEN NULL ELSE {_unless(_chain(ruled_out, ' OR '), score)} END"


def _term(decision: Decision, rule: SingleRule, c: int, j: int, column: str) -> str:
    """Return what a column adds to the score of a class."""
    if isinstance(rule, LinearRule):
        above = decision.threshold
        seen = column if above is None else _presence(column, above)
        return f"{number(rule.weights[c, j])} * {seen}"
    if isinstance(rule, QuadraticRule):
        half, away = -rule.precision[c, j] / 2, f"({column} - {number(rule.mean[c, j])})"
        return f"{number(half)} * {away} * {away}"
    if isinstance(rule, AbsoluteRule):
        return f"-ABS({column} - {number(rule.centers[c, j])})"
    table, _ = finite_table(rule)
    begin, end = rule.starts[j : j + 2].tolist()
    known = " ".join(
        f"WHEN {column} = {i} THEN {number(value)}" for i, value in enumerate(table[begin:end, c])
    )
    return f"CASE {known} WHEN {column} >= {end - begin} THEN 0e0 END"


def _logarithm(decision: Decision, value: str) -> str:
    if decision.logarithm == "log1p":
        return f"LN(1e0 + {value})"
    if decision.logarithm == "log":
        return f"CASE WHEN {value} > 0 THEN 1e0 + LN({value}) WHEN {value} <= 0 THEN 0e0 END"
    return value


def _presence(column: str, above: float) -> str:
    limit = number(above)
    return f"CASE WHEN {column} > {limit} THEN 1e0 WHEN {column} <= {limit} THEN 0e0 END"


def _ruled_out(decision: Decision, rule: SingleRule, c: int, inputs: Sequence[str]) -> list[str]:
    """Conditions of which any keeps a class from having made a row; NULL meets none."""
    if isinstance(rule, TableRule):
        _, never = finite_table(rule)
        return [
            f"{column} = {i}"
            for j, column in enumerate(inputs)
            for i in np.flatnonzero(never[rule.starts[j] : rule.starts[j + 1], c]).tolist()
        ]
    vetoes = vetoes_of(rule)
    if vetoes is None:
        return []
    offset, veto = vetoes[0][c], vetoes[1][c]
    above = decision.threshold
    signs = ("<> 0", "= 0") if above is None else (f"> {number(above)}", f"<= {number(above)}")
    found = [f"{column} {signs[int(v < 0)]}" for column, v in zip(inputs, veto, strict=True) if v]
    return ["1 = 1", *found] if offset > (veto < 0).sum() else found


def _unless(condition: str, score: str) -> str:
    return f"CASE WHEN {condition} THEN {number(LOWEST)} ELSE {score} END"


def _chain(terms: Sequence[str], operator: str) -> str:
    while len(terms) > _WIDE:
        groups = (terms[i : i + _WIDE] for i in range(0, len(terms), _WIDE))
        terms = [f"({operator.join(each)})" for each in groups]
    return operator.join(terms)


# The label -------------------------------------------------------------------------------------


def _decided(decision: Decision, rule: SingleRule) -> str:
    """Return what follows the scores: the label of the largest, the first where they tie."""
    scores = [f"scored.naively_score_{c}" for c in range(len(decision.classes))]
    prior, answer = prior_of(rule), decision.answer_from
    cases, rest = [], [*enumerate(decision.classes)]
    if prior is not None:
        known = winners(prior[None]) if answer is None else answers_at(prior[None], *answer)
        best = int(known[0])
        nothing = _chain([f"{score} <= {number(LOWEST)}" for score in scores], " AND ")
        cases.append(f"WHEN {nothing} THEN {literal(decision.classes[best])}")
    if answer is not None:
        _, label = rest.pop(answer[0])
        cases.append(f"WHEN {_reaches(scores, *answer)} THEN {literal(label)}")
    for c, label in rest:
        wins = _wins(scores, c, [j for j, _ in rest if j != c])
        cases.append(f"WHEN {wins} THEN {literal(label)}")
    lines = "\n    ".join(cases)
    return (
        f"\nSELECT scored.*,\n  CASE\n    {lines}\n  END AS naively_label\n"
        "FROM naively_scores AS scored\n"
    )


def _wins(scores: Sequence[str], c: int, others: Sequence[int]) -> str:
    as_high = [
        f"{scores[c]} >= {scores[j]} - {number(ROUNDING)} * ABS({scores[j]})" for j in others
    ]
    return _chain(as_high, " AND ") if as_high else f"{scores[c]} IS NOT NULL"


def _reaches(scores: Sequence[str], code: int, least: float) -> str:
    """Whether the log-odds of a class against all others reach some nats.

    That is where the sum over the others of exp(their score - its score + nats) is 1 or less.
    """
    own = f"{scores[code]} - {number(least)}"
    above = [f"{each} - ({own})" for c, each in enumerate(scores) if c != code]
    if len(above) == 1:
        return f"{above[0]} <= 0"
    # Engines refuse exponentials that are out of range.
    odds = [
        f"CASE WHEN {each} > 0 THEN 2e0 WHEN {each} < -700 THEN 0e0 ELSE EXP({each}) END"
        for each in above
    ]
    return f"{_chain(odds, ' + ')} <= 1e0"


def statement(decision: Decision, layout: str, table: str) -> str:
    """Return the statement of a layout, "columns" or "words"."""
    return (over_words if layout == "words" else over_columns)(decision, table)
