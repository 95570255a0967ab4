"""From a fractional solution to a basic one: as few fractions as the constraints allow."""

from __future__ import annotations

import numpy as np

from naively._kernels.compiled import kernel, patient
from naively._types import Array, FloatArray, IntArray

NEGLIGIBLE = 1e-12  # of the largest entry of a constraint


@kernel
def contended(takes: Array, weights: FloatArray, places: IntArray, sums: FloatArray) -> int:
    """Write places where rows (v, d) differ, and their sums with weights (v,) there: how many."""
    n = 0
    for i in range(takes.shape[1]):
        differ = False
        for v in range(1, len(takes)):
            differ |= takes[v, i] != takes[0, i]
        if differ:
            places[n], sums[n] = i, 0.0
            for v in range(len(takes)):
                sums[n] += weights[v] * takes[v, i]
            n += 1
    return n


@kernel
def _bring_largest(a: FloatArray, column: IntArray, rank: int) -> bool:
    """Move the largest entry not yet eliminated to (rank, rank); False if all are negligible."""
    r, n = a.shape
    best, row, pivot = NEGLIGIBLE, -1, -1
    for i in range(rank, r):
        for j in range(rank, n):
            if abs(a[i, j]) > best:
                best, row, pivot = abs(a[i, j]), i, j
    if row < 0:
        return False
    for j in range(n):
        a[rank, j], a[row, j] = a[row, j], a[rank, j]
    for i in range(r):
        a[i, rank], a[i, pivot] = a[i, pivot], a[i, rank]
    column[rank], column[pivot] = column[pivot], column[rank]
    return True


@kernel
def null_vector(matrix: FloatArray) -> FloatArray:
    """Non-zero vector that a (r, r + 1) matrix sends to 0; elimination with complete pivoting."""
    a = matrix.copy()
    r, n = a.shape
    column = np.arange(n)
    rank = 0
    while rank < r and _bring_largest(a, column, rank):
        for i in range(rank + 1, r):
            factor = a[i, rank] / a[rank, rank]
            for j in range(rank, n):
                a[i, j] -= factor * a[rank, j]
        rank += 1
    vector = np.zeros(n)
    vector[column[rank]] = 1.0  # the other free entries stay 0
    for i in range(rank - 1, -1, -1):
        total = a[i, rank]
        for j in range(i + 1, rank):
            total += a[i, j] * vector[column[j]]
        vector[column[i]] = -total / a[i, i]
    return vector


@kernel
def _make_whole(x: FloatArray, constraints: FloatArray, gains: FloatArray, whole: float) -> None:
    """Move fractions to whole numbers, in place, until at most r are left.

    Parameters
    ----------
    x : (n,)
        Fractions; what is within `whole` of a whole number is none.
    constraints : (r, n)
        Every move keeps constraints @ x; the largest entry of each row is 1.
    gains : (n,)
        Moves go in the direction in which gains @ x does not fall.
    whole : float
        Rounding error of x.
    """
    r, n = constraints.shape
    chosen = np.empty(r + 1, dtype=np.int64)
    first = 0
    while True:
        count, j = 0, first
        while j < n and count <= r:
            if abs(x[j] - np.rint(x[j])) > whole:
                if count == 0:
                    first = j  # entries before the first fraction never become fractions again
                chosen[count] = j
                count += 1
            j += 1
        if count <= r:
            return
        _move(x, constraints, gains, chosen)


make_whole = patient(_make_whole)


@kernel
def _move(x: FloatArray, constraints: FloatArray, gains: FloatArray, chosen: IntArray) -> None:
    """Move the chosen fractions along the constraints until the first of them is whole."""
    part = np.empty((len(constraints), len(chosen)))
    for t in range(len(chosen)):
        for i in range(len(constraints)):
            part[i, t] = constraints[i, chosen[t]]
    direction = null_vector(part)
    rise, largest = 0.0, 0.0
    for t in range(len(chosen)):
        rise += direction[t] * gains[chosen[t]]
        largest = max(largest, abs(direction[t]))
    if rise < 0:
        for t in range(len(chosen)):
            direction[t] = -direction[t]
    nearest, step = 0, np.inf
    for t in range(len(chosen)):
        value = x[chosen[t]]
        room = np.ceil(value) - value if direction[t] > 0 else value - np.floor(value)
        if abs(direction[t]) > NEGLIGIBLE * largest and room / abs(direction[t]) < step:
            nearest, step = t, room / abs(direction[t])
    for t in range(len(chosen)):
        x[chosen[t]] += step * direction[t]
    x[chosen[nearest]] = np.rint(x[chosen[nearest]])
