"""Training rows over a few columns, for a model that needs them beside the statistics."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from naively._types import Array, FloatArray, IntArray
from naively.jobs.data import Data, Kinds
from naively.jobs.engines import Workers
from naively.models.model import Model, RowsOver
from naively.statistics.rows import LabelledRows
from naively.text.weighting import scaled
from naively.work.judged import Look
from naively.work.taken import Taken, joined, taken


class HeldRows:
    """Rows of some kinds over the columns that were asked for, read once for all of them.

    Parameters
    ----------
    data
        Where they are; what is held are rows times columns, sparse where the rows are.
    kinds
        Of the rows.
    workers
        Who reads.
    """

    def __init__(self, data: Data, kinds: Kinds, workers: Workers) -> None:
        self._data, self._kinds, self._workers = data, kinds, workers
        self._columns = np.empty(0, dtype=np.int64)
        self._held: Taken | None = None

    def hold(self, places: IntArray) -> None:
        """Read the rows over some columns of the data, ascending, and let those held go."""
        look = Look(self._data.features, self._data.terms(places), places)
        found = self._workers.map(taken, self._data.tasks, look, self._kinds)
        self._held, self._columns = joined([each for each in found if each is not None]), places

    def over(
        self, model: Model[Any], statistics: Any, kept: IntArray | None, kinds: Kinds | None = None
    ) -> RowsOver:
        """Give rows of some of the kinds over columns of statistics; `kept` are their places."""
        trained_on = self._kinds if kinds is None else kinds

        def rows(columns: IntArray) -> LabelledRows:
            places = columns if kept is None else kept[columns]
            if self._held is None or not np.isin(places, self._columns).all():
                self.hold(places)
            assert self._held is not None
            X, labels, of_kind, row_weight, groups = self._held
            chosen, idf = np.isin(of_kind, trained_on), self._data.idf(trained_on)
            X = X[chosen][:, np.searchsorted(self._columns, places)]
            X = X if idf is None else scaled(X, idf[places])
            X, y = model.prepare(X), labels[chosen]
            given = None if row_weight is None else row_weight[chosen]
            # Rows weigh what their classes do.
            factor = _class_factors(statistics, y, given)
            if factor is not None:
                weight = factor[np.searchsorted(statistics.classes, y)]
                given = weight if given is None else weight * given
            own = LabelledRows.of(X, y, given, statistics.classes)
            return own if groups is None else replace(own, groups=groups[chosen])

        return rows


def _class_factors(statistics: Any, y: Array, weights: FloatArray | None) -> FloatArray | None:
    """How much more the rows of each class weigh, (C,), in statistics of them; None: no more."""
    codes = np.searchsorted(statistics.classes, y)
    total = np.bincount(codes, weights, len(statistics.classes))
    factor = statistics.class_weight / np.where(total > 0, total, 1.0)
    # Sums of weights depend in their last digits on who added them up.
    near = 0.0 if weights is None else 1e-12
    if (np.abs(factor - 1)[total > 0] <= near * len(y)).all():
        return None
    return np.asarray(factor)
