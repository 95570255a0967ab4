"""Another classifier on the same folds, so that a report says so if it is better.

It is scikit-learn's logistic regression on all features: words by tf-idf, or columns divided by
their standard deviation. Its penalty is chosen by the rows that it is trained on, of which a fifth
is held out once. All rows are read into memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from naively._types import Array, FloatArray, IntArray
from naively.jobs.data import Data
from naively.jobs.folds import n_divisions
from naively.jobs.settings import Recipe
from naively.judging.curves import Curve
from naively.judging.error_path import class_weights, equal_rows
from naively.judging.parting import Parting
from naively.judging.scoring import is_share, losses_of, names_in, scores_of, sums_of, totals_of
from naively.read.batch import joined
from naively.read.errors import InputError
from naively.selection.refit import counted, log_probabilities, penalty_of
from naively.statistics.matrix import Matrix
from naively.statistics.rows import LabelledRows
from naively.text.counter import count_rows
from naively.text.features import TextFeatures
from naively.work.row_keys import part_keys
from naively.work.stream import Seen, rows_by_kind, tasks_of, whole

OTHERS = ("logistic",)
_ITERATIONS = 1000
_PENALTIES = (0.01, 0.1, 1.0, 10.0, 100.0)  # C
NOTE = (
    "logistic is scikit-learn's logistic regression on all features, its C chosen from "
    f"{_PENALTIES[0]:g} to {_PENALTIES[-1]:g} by the log loss of a fifth of the training rows of "
    "each fold."
)


def logistic(recipe: Recipe, data: Data, parting: Parting) -> Curve:
    """Return the scores of logistic regression on the folds of the training rows.

    Raises
    ------
    InputError
        If a fold leaves rows of one class only to train on.
    """
    scoring, sums = recipe.scoring or "accuracy", list[FloatArray]()
    rows = data.rows_of_classes(*parting.judged)
    names = names_in(data.rows_of_classes(*parting.training))
    X: Matrix | None = None
    for seed in range(n_divisions(recipe, data, parting)):
        seen = _rows(data, replace(parting, fold_seed=seed))
        X = _matrix(data, seen) if X is None else X
        y = np.concatenate([each.names[each.codes] for each in seen])
        kinds = np.concatenate([each.kinds for each in seen])
        rows_read = joined([each.batch for each in seen])
        groups = part_keys(rows_read) if parting.grouped else None
        for kind in (kind for kind in parting.judged if (kinds == kind).any()):
            train = np.flatnonzero(np.isin(kinds, parting.others(kind, parting.training)))
            judged = np.flatnonzero(kinds == kind)
            if len(np.unique(y[train])) < 2:
                raise InputError(
                    f"{recipe.name}: `--against logistic` needs two classes in all folds but one; "
                    "leave it out, or give more rows."
                )
            found, own = _fitted(
                data, X, y, train, recipe.model.class_weight, rows_read.weight, groups
            )
            sums.append(_sums(scoring, found, own[judged], y[judged], names))
    losses, weight = losses_of(scoring, np.array(sums))
    return Curve(
        OTHERS[0], {}, np.array([0 if X is None else X.shape[1]]), scores_of(scoring, losses),
        n_rows=equal_rows(rows, scoring) if is_share(scoring) else None,
        weight=weight, n_folds=len(parting.judged),
    )  # fmt: skip


def _sums(scoring: str, found: Any, X: Matrix, labels: Array, names: Array) -> FloatArray:
    """Return sums by which a fold is judged, of its answers and of its rows: (2, A)."""
    if is_share(scoring):
        weight = _weights(labels, scoring)
        return np.array([[weight @ (found.predict(X) != labels)], [weight.sum()]])
    of_answers = sums_of(scoring, log_probabilities(found, X), labels, found.classes_, names)
    return np.array([of_answers, totals_of(scoring, labels, names)])


def _rows(data: Data, parting: Parting) -> Sequence[Seen]:
    first = data.tasks[0]
    tasks = tasks_of(data.parts, first.features, first.layout, names=first.names, parting=parting)
    task = whole(tasks)
    return [seen for part in task.parts for seen in rows_by_kind(task, part)]


def _matrix(data: Data, seen: Sequence[Seen]) -> Matrix:
    """Return counts of all words, or all columns (n, m)."""
    rows = joined([each.batch for each in seen])
    if not isinstance(data.features, TextFeatures):
        return rows.rows
    plain = replace(data.features, weights="counts", norm=None, documents=False)
    return count_rows(rows.rows, plain, parts=rows.width)[1]


def _weights(labels: Array, scoring: str) -> FloatArray:
    names, codes, n = np.unique(labels, return_inverse=True, return_counts=True)
    of_class = class_weights(dict(zip(names.tolist(), n.tolist(), strict=True)), scoring)
    if of_class is None:
        return np.ones(len(labels))
    return np.array([of_class[name] for name in names.tolist()], dtype=np.float64)[codes]


def _fitted(
    data: Data, X: Any, y: Array, train: IntArray, class_weight: str | None,
    weight: FloatArray | None, groups: Array | None,
) -> tuple[Any, Any]:  # fmt: skip
    """Return a classifier trained on some rows, and all rows as it sees them."""
    from sklearn.feature_extraction.text import TfidfTransformer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.utils.class_weight import compute_sample_weight

    of_text = isinstance(data.features, TextFeatures)
    if of_text:  # words that only other rows have are unknown to it
        X = X[:, np.flatnonzero(np.bincount(X[train].indices, minlength=X.shape[1]))]
    scaler = TfidfTransformer() if of_text else StandardScaler(with_mean=False)
    counts, labels = X[train].astype(np.float64), y[train]
    own = None if weight is None else weight[train]
    if class_weight is not None:
        by_class = compute_sample_weight(class_weight, labels)
        own = by_class if own is None else own * by_class
    scaled = scaler.fit_transform(counts)
    rows = LabelledRows.of(scaled, labels, own)
    rows = rows if groups is None else replace(rows, groups=groups[train])
    C, _ = penalty_of(counted(rows), _PENALTIES, most=1)
    found = LogisticRegression(C=C, max_iter=_ITERATIONS).fit(scaled, labels, sample_weight=own)
    return make_pipeline(scaler, found), X
