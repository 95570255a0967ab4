"""Rows over some columns, brought to where a model is trained on them."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from naively._types import Array, FloatArray, IntArray
from naively.statistics.matrix import Matrix, is_sparse
from naively.work.judged import Look
from naively.work.row_keys import part_keys
from naively.work.stream import Task, is_grouped, rows_by_kind, told_at

# Rows (n, q), their labels and their kinds (n,), and their weights and the keys of their groups
# (n,), if they have any.
Taken = tuple[Matrix, Array, IntArray, FloatArray | None, Array | None]


def taken(task: Task, look: Look, kinds: tuple[int, ...]) -> Taken | None:
    """Return the rows of some kinds over the columns looked at; None if there are none."""
    see, found = look.eye(), []
    for part in task.parts:
        for seen in rows_by_kind(task, part):
            chosen = np.isin(seen.kinds, kinds)
            with told_at(part):
                if chosen.any():
                    labels, batch = seen.names[seen.codes[chosen]], seen.batch.take(chosen)
                    groups = part_keys(batch) if is_grouped(task) else None
                    found.append((see(batch), labels, seen.kinds[chosen], batch.weight, groups))
    return joined(found) if found else None


def joined(parts: list[Taken]) -> Taken:
    """Put rows below each other, in their order."""
    matrices, labels, kinds, weights, groups = zip(*parts, strict=True)
    sparse = is_sparse(matrices[0])
    X = sp.vstack(matrices, format="csr") if sparse else np.concatenate(matrices)
    weight = None if weights[0] is None else np.concatenate(weights)
    group = None if groups[0] is None else np.concatenate(groups)
    return X, np.concatenate(labels), np.concatenate(kinds), weight, group
