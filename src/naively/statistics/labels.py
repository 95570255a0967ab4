"""Class labels of any kind as positions in the sorted array of classes."""

from __future__ import annotations

from typing import Any

import numpy as np

from naively._nearest import short
from naively._types import Array, IntArray

_WIDE = 1 << 16  # integer labels in a range up to this are looked up instead of sorted


def encode_labels(y: Any, classes: Any = None, *, name: str = "y") -> tuple[Array, Array]:
    """Return the sorted classes and the position of each label among them.

    Parameters
    ----------
    y : array-like of shape (n,)
        Labels: integers, booleans, strings or other sortable objects; floats if whole.
    classes : array-like of shape (C,), default=None
        All labels that may occur, in any order. By default those that do.
    name : str, default="y"
        What y is called in messages.

    Returns
    -------
    classes : ndarray of shape (C,)
        Ascending.
    codes : ndarray of shape (n,), uint32
        `classes[codes]` equals y.

    Raises
    ------
    ValueError
        If y is not one-dimensional, has missing or continuous labels, or labels outside `classes`.
    """
    y = _checked(y, name)
    if len(y) == 0 and classes is not None:
        return _distinct(_checked(classes, "classes")), np.empty(0, dtype=np.uint32)
    found, codes = _encoded(y)
    if classes is None:
        return found, codes
    classes = _distinct(_checked(classes, "classes"))
    positions = class_positions(found, classes)
    if np.array_equal(positions, np.arange(len(found))):
        return classes, codes
    return classes, positions.astype(np.uint32)[codes]


def class_positions(labels: Array, classes: Array) -> IntArray:
    """Return the position in `classes` of each of some distinct labels, or raise ValueError."""
    _same_kind(labels, classes)
    position = {label: c for c, label in enumerate(classes.tolist())}
    strangers = [label for label in labels.tolist() if label not in position]
    if strangers:
        more = " ..." if len(classes) > 10 else ""
        raise ValueError(
            f"y has labels outside `classes`, such as {_shown(strangers[:5])}; the classes are "
            f"{_shown(classes[:10].tolist())}{more}. Name every label in `classes` from the start."
        )
    return np.array([position[label] for label in labels.tolist()], dtype=np.int64)


def _shown(labels: list[Any]) -> list[Any]:
    """Labels for a message: texts that were taken for some are cut."""
    return [short(each) if isinstance(each, str) else each for each in labels]


def union_of_classes(first: Array, second: Array) -> Array:
    """Return the sorted union of two arrays of classes."""
    if len(first) == 0 or len(second) == 0:
        return second if len(first) == 0 else first
    _same_kind(first, second)
    return _distinct(_joined(first, second))


def _joined(first: Array, second: Array) -> Array:
    """Labels of two arrays in one, whole numbers beyond 2**53 too."""
    joined = np.concatenate([first, second])
    labels = [*first.tolist(), *second.tolist()]
    if joined.dtype.kind != "f" or joined.tolist() == labels:
        return joined
    whole = [int(label) for label in labels]
    for dtype in (np.int64, np.uint64):
        if np.iinfo(dtype).min <= min(whole) and max(whole) <= np.iinfo(dtype).max:
            return np.array(whole, dtype=dtype)
    raise ValueError(
        f"Labels must fit one type of numbers to be united; got {min(whole)} and {max(whole)}. "
        "Make all labels strings."
    )


def _checked(values: Any, name: str) -> Array:
    labels = as_given(values)
    if labels.ndim != 1:
        raise ValueError(
            f"`{name}` must have one dimension, one label per row; got shape {labels.shape}. "
            "Several labels per row are not supported."
        )
    refuse_missing(labels, name)
    if labels.dtype.kind == "f":
        _check_whole(labels, name)
    if labels.dtype.kind in "cVmM":
        raise ValueError(f"`{name}` must hold labels; got dtype {labels.dtype}.")
    return labels


def refuse_missing(values: Any, name: str) -> None:
    """Raise ValueError if a label is None, NaN or NA, saying where."""
    labels = as_given(values)
    if labels.ndim == 1:
        where = _missing_at(labels)
        if where:
            raise ValueError(
                f"`{name}` contains NaN or None, which is no label: at {where}; drop the rows "
                "without a label."
            )


def group_codes(groups: Any, n: int, each: str) -> IntArray:
    """Return the number of the group of each row, or feature, in the order of their labels: (n,).

    Parameters
    ----------
    groups : array-like of shape (n,)
        Labels of one kind: numbers, booleans, strings, dates or other sortable objects.
    n : int
        How many there have to be.
    each : {"row", "feature"}
        What has a group.

    Raises
    ------
    ValueError
        If there is not one label for each, or labels are missing, or of two kinds.
    """
    try:
        labels = as_given(groups)
    except ValueError:  # lists of different lengths
        labels = np.empty((0, 0))
    if labels.shape != (n,):
        got = f"shape {labels.shape}" if labels.size else short(repr(groups))
        raise ValueError(f"`groups` must have one label for each of the {n:,} {each}s; got {got}.")
    where = _missing_at(labels, each)
    if where:
        raise ValueError(
            f"`groups` must have a label for every {each}; got NaN or None at {where}: give each "
            f"{each} without a group a label of its own, or leave it out."
        )
    try:
        return np.unique(labels, return_inverse=True)[1].ravel().astype(np.int64)
    except TypeError:
        some = {type(label).__name__: label for label in reversed(labels.tolist())}
        shown = " and ".join(f"{some[kind]!r} ({kind})" for kind in sorted(some)[:3])
        raise ValueError(
            f"`groups` must have labels of one kind; got {shown}: make them all strings."
        ) from None


def as_given(values: Any) -> Array:
    """Labels as an array, objects where NumPy would make text of what is none."""
    labels = np.asarray(values)
    if labels.ndim == 1 and labels.dtype.kind in "US" and not isinstance(values, np.ndarray):
        labels = _uncast(values, labels)
    return labels


def _missing_at(labels: Array, each: str = "row") -> str:
    """Say where the first missing label is; empty if there is none."""
    if labels.dtype.kind in "fc":
        missing = np.isnan(labels)
    elif labels.dtype.kind in "mM":
        missing = np.isnat(labels)
    elif labels.dtype.kind in "OT":
        missing = np.fromiter(map(is_missing, labels.ravel()), np.bool_, labels.size)
    else:
        return ""
    if not missing.any():
        return ""
    n, first = int(missing.sum()), int(np.argmax(missing))
    more = f", the first of {n:,}" if n > 1 else ""
    return f"{each} {first:,}{more} (counted from 0)"


def _uncast(values: Any, text: Array) -> Array:
    """Objects where NumPy made text of something else, such as 'nan' of a missing label."""
    objects = np.array(values, dtype=object)
    return (
        text if all(issubclass(kind, str | bytes) for kind in set(map(type, objects))) else objects
    )


def is_missing(label: Any) -> bool:
    """Whether a value is None, or is not equal to itself as NaN is not, or NA."""
    try:
        return label is None or bool(label != label)
    except TypeError:  # pandas' NA is neither equal to itself nor not
        return True
    except ValueError:  # an array
        return False


def _check_whole(labels: Array, name: str) -> None:
    if not np.isfinite(labels).all():
        raise ValueError(f"`{name}` contains NaN or infinity; drop the rows without a label.")
    fractions = labels[labels != np.rint(labels)]
    if len(fractions):
        raise ValueError(
            f"Unknown label type: `{name}` is continuous ({fractions[0]}); labels must be whole "
            "numbers, booleans or strings. Bin a continuous target first."
        )


def _distinct(labels: Array) -> Array:
    distinct: Array
    try:
        distinct = np.unique(labels)
    except TypeError:
        kinds = sorted({type(label).__name__ for label in labels})
        raise ValueError(
            f"Labels must be of one kind to be sorted; got {' and '.join(kinds)}."
        ) from None
    return distinct


def _encoded(y: Array) -> tuple[Array, Array]:
    """Sorted distinct labels and codes, without sorting all n labels where that can be helped."""
    if y.dtype.kind in "OUST":
        return _encoded_objects(y)
    if y.dtype.kind in "biu" and len(y):
        low, high = int(y.min()), int(y.max())
        if high - low < _WIDE:
            # Unsigned labels may exceed int64, signed ones may not be subtracted in their own type.
            unsigned = y.dtype.kind == "u"
            offsets = (y - y.min()).astype(np.int64) if unsigned else y.astype(np.int64) - low
            present = np.bincount(offsets, minlength=high - low + 1) > 0
            if present.all():
                codes = offsets.astype(np.uint32)
            else:
                codes = (np.cumsum(present) - 1).astype(np.uint32)[offsets]
            return np.flatnonzero(present).astype(y.dtype) + y.min(), codes
    classes, codes = np.unique(y, return_inverse=True)
    return classes, codes.astype(np.uint32)


def _encoded_objects(y: Array) -> tuple[Array, Array]:
    labels = y.tolist()
    distinct = np.empty(len(seen := dict.fromkeys(labels)), dtype=y.dtype)
    distinct[:] = list(seen)
    classes = _distinct(distinct)
    code = {label: c for c, label in enumerate(classes.tolist())}
    return classes, np.fromiter(map(code.__getitem__, labels), np.uint32, len(labels))


def _same_kind(first: Array, second: Array) -> None:
    def kind(labels: Array) -> str:
        return "text" if labels.dtype.kind in "UST" else "number"

    if "O" in (first.dtype.kind, second.dtype.kind) or not (len(first) and len(second)):
        return
    if kind(first) != kind(second):
        raise ValueError(
            f"Labels must be of one kind; got {kind(first)} such as {_shown(first[:1].tolist())} "
            f"and {kind(second)} such as {_shown(second[:1].tolist())}."
        )
