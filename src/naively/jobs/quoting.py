"""Rows in which features occur, found where the rows are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from naively._types import IntArray
from naively.io.text import TextRule
from naively.jobs.examples import EXAMPLE_ROWS, Quotes, Wanted
from naively.report.summary import Example, FeatureRow
from naively.scale.holdout import rows_at
from naively.scale.judging import eye
from naively.scale.sources import explained
from naively.text.features import FeatureDefinition
from naively.text.utf8 import Texts, TokenRows
from naively.text.vocabulary import Vocabulary
from naively.work.stream import Task, parted_rows


@dataclass(frozen=True, slots=True)
class Search:
    """Which features to look for, and in which rows."""

    wanted: Wanted  # in ascending order of the columns
    features: FeatureDefinition
    terms: Vocabulary | None  # (k,) None for columns of a matrix
    columns: IntArray  # (k,) ascending
    kinds: tuple[int, ...]  # of the rows that were trained on


def search_for(
    shown: Sequence[FeatureRow],
    features: FeatureDefinition,
    names: Vocabulary | None,
    rule: TextRule | None,
    kinds: tuple[int, ...],
) -> tuple[Search, IntArray]:
    """Return a search for features, and where each of them stands in what it finds."""
    columns = np.array([row.column for row in shown], dtype=np.int64)
    order = np.argsort(columns)
    wanted = Wanted(
        [shown[j].name for j in order.tolist()],
        [shown[j].speaks_for for j in order.tolist()],
        rule,
    )
    terms = None if names is None or rule is None else names.take(columns[order])
    return Search(wanted, features, terms, columns[order], kinds), np.argsort(order)


def found_by(task: Task, search: Search) -> list[Example | None]:
    """Find a row for each feature among the first rows of a task."""
    quotes, read, places = Quotes(search.wanted), 0, Counter[str]()
    for part in task.parts:
        for rows, names, codes, kinds in parted_rows(task, part):
            if read >= EXAMPLE_ROWS or not len(quotes.open):
                return quotes.found
            inside = np.isin(kinds, search.kinds)
            inside[EXAMPLE_ROWS - read :] = False
            chosen = np.flatnonzero(inside)
            with explained(str(part)):
                taken = rows_at(rows, chosen)
                X = _of_open(taken, search, quotes.open)
                labels, numbers = names[codes[chosen]], places[part.path] + chosen
                quotes.look(X, labels, numbers, partial(_document, taken))
            read += len(kinds)
            places[part.path] += len(kinds)
    return quotes.found


def _of_open(rows: Any, search: Search, open_: IntArray) -> Any:
    terms = None if search.terms is None else search.terms.take(open_)
    return eye(search.features, terms, search.columns[open_])(rows)


def _document(rows: Any, i: int) -> tuple[str, ...]:
    if isinstance(rows, TokenRows):
        first, last = rows.starts[i : i + 2].tolist()
        return (" ".join(rows.tokens.decoded(j) for j in range(first, last)),)
    return (rows.decoded(i),) if isinstance(rows, Texts) else ()


def whole(tasks: Sequence[Task]) -> Task:
    """Return one task of the parts of all."""
    return replace(tasks[0], parts=tuple(part for task in tasks for part in task.parts))
