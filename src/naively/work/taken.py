"""Rows over some columns, brought to where a model is trained on them."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from naively._types import Array, IntArray
from naively.statistics.matrix import Matrix, is_sparse
from naively.work.judged import Look
from naively.work.stream import Task, rows_by_kind, told_at

Taken = tuple[Matrix, Array, IntArray]  # rows (n, q), their labels and their kinds (n,)


def taken(task: Task, look: Look, kinds: tuple[int, ...]) -> Taken | None:
    """Return the rows of some kinds over the columns looked at; None if there are none."""
    see, found = look.eye(), []
    for part in task.parts:
        for seen in rows_by_kind(task, part):
            chosen = np.isin(seen.kinds, kinds)
            with told_at(part):
                if chosen.any():
                    labels = seen.names[seen.codes[chosen]]
                    found.append((see(seen.batch.take(chosen)), labels, seen.kinds[chosen]))
    return joined(found) if found else None


def joined(parts: list[Taken]) -> Taken:
    """Put rows below each other, in their order."""
    matrices, labels, kinds = zip(*parts, strict=True)
    sparse = is_sparse(matrices[0])
    X = sp.vstack(matrices, format="csr") if sparse else np.concatenate(matrices)
    return X, np.concatenate(labels), np.concatenate(kinds)
