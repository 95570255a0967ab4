"""Which columns are which region, from how a user says it."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from naively._types import Array
from naively.statistics.regions import Regions

RegionsLike: TypeAlias = int | Sequence[slice] | ArrayLike | None


def resolve_regions(regions: RegionsLike, n_features: int, *, shared: bool) -> Regions:
    """Return the regions that the parameter `regions` describes.

    Parameters
    ----------
    regions : None, int, sequence of slices, or array-like of shape (n_features,)
        One region; so many blocks of equal width; the columns of each region; the region of each
        column, in the sorted order of their labels.
    n_features : int
        Number of columns.
    shared : bool
        Whether column q of every region is the same word.

    Returns
    -------
    Regions

    Raises
    ------
    ValueError
        If the regions do not divide the columns, or share words and differ in width.
    """
    if regions is None:
        regions = 1
    if isinstance(regions, Integral) and not isinstance(regions, bool | np.bool_):
        return _blocks(int(regions), n_features, shared)
    labels = _labels_of_slices(regions, n_features)
    try:
        label_of = np.asarray(labels)
    except ValueError:  # lists of different lengths
        label_of = np.empty(0)
    if label_of.shape != (n_features,):
        raise ValueError(
            "`regions` must be a number of blocks, slices such as [slice(0, 2), slice(2, 5)], or "
            f"the region of each of the {n_features} columns; got {regions!r}."
        )
    widths = _widths(label_of)
    if shared and len(set(widths.tolist())) > 1:
        raise ValueError(
            "With `shared_vocabulary=True` all regions must have the same words, hence as many "
            f"columns; got {widths.tolist()}. Set `shared_vocabulary=False` or pad with zeros."
        )
    starts = np.concatenate([[0], np.cumsum(widths)]).astype(np.int64)
    order = np.argsort(label_of, kind="stable")
    together = np.array_equal(order, np.arange(n_features))
    return Regions(starts, shared, None if together else order)


def _widths(label_of: Array) -> Array:
    try:
        return np.unique(label_of, return_counts=True)[1]
    except TypeError as error:
        raise ValueError(
            "The regions of the columns must be labels with an order, all numbers or all strings; "
            f"got {label_of[:6].tolist()}."
        ) from error


def _blocks(n_regions: int, n_features: int, shared: bool) -> Regions:
    if n_regions < 1 or n_features % n_regions:
        raise ValueError(
            f"`regions` must be a number of blocks of equal width that divides the columns "
            f"(n_features={n_features}); got {n_regions}. Blocks of other widths: pass slices."
        )
    return Regions(np.arange(n_regions + 1, dtype=np.int64) * (n_features // n_regions), shared)


def _labels_of_slices(regions: RegionsLike, n_features: int) -> RegionsLike:
    """Return the region of each column where `regions` holds slices, else `regions`."""
    if not isinstance(regions, list | tuple) or not any(isinstance(r, slice) for r in regions):
        return regions
    if not all(isinstance(r, slice) for r in regions):
        raise ValueError(f"`regions` must hold slices only, or none; got {regions!r}.")
    label_of = np.full(n_features, -1)
    times = np.zeros(n_features, dtype=np.int64)
    for r, columns in enumerate(regions):
        if not len(_slice_of(columns, n_features)):
            raise ValueError(f"`regions` must hold slices with columns; slice {r} has none.")
        label_of[columns] = r
        times[columns] += 1
    if (times != 1).any():
        column = int(np.flatnonzero(times != 1)[0])
        raise ValueError(
            f"The slices in `regions` must hold each of the {n_features} columns once; column "
            f"{column} is in {times[column]} of them."
        )
    return label_of


def _slice_of(columns: slice, n_features: int) -> range:
    try:
        return range(n_features)[columns]
    except TypeError as error:
        raise ValueError(f"`regions` must hold slices of column numbers; got {columns}.") from error
