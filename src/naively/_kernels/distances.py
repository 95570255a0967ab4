"""Distances of sparse rows from centers, by their non-zeros."""

from __future__ import annotations

import numpy as np

from naively._kernels.compiled import kernel
from naively._types import Array, FloatArray


@kernel
def absolute_distances_csr(
    data: Array, indices: Array, indptr: Array, centers: FloatArray, distances: FloatArray
) -> None:
    """Write sum_j |x_ij - centers_cj| to distances (n, C), zeros of the rows included."""
    n_classes, n_columns = centers.shape
    of_zero = np.zeros(n_classes)
    for c in range(n_classes):
        for j in range(n_columns):
            of_zero[c] += abs(centers[c, j])
    for i in range(len(indptr) - 1):
        for c in range(n_classes):
            distance = of_zero[c]
            for position in range(indptr[i], indptr[i + 1]):
                center = centers[c, np.uint64(indices[position])]
                distance += abs(np.float64(data[position]) - center) - abs(center)
            distances[i, c] = distance
