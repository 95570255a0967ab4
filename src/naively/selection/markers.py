"""What tells each class from all others: its features in order, from statistics alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, TypeVar

import numpy as np

from naively._nearest import short
from naively._notebook import table_html
from naively._types import Array, FloatArray, IntArray
from naively.models.alike import p_values
from naively.models.contrast import Contrast
from naively.models.kinds import MODELS
from naively.models.model import Model
from naively.selection.constrained import speaks_for
from naively.statistics.base import AbstractStatistics
from naively.statistics.contrasts import against_rest

A = TypeVar("A", bound=AbstractStatistics)

NOTHING = 1e-12  # difference of logarithms that is rounding
_SHOWN = 5  # classes in a sentence
_LISTED = 30  # rows in a notebook


@dataclass(frozen=True, slots=True, eq=False)
class Markers:
    """The features that tell each class from all others, class by class.

    A class has those of the selected features that its rows have more of than all other rows, by
    falling z. The gain is that of the model if all other classes had one label.

    Attributes
    ----------
    label : ndarray of shape (n,)
        Class.
    rank : ndarray of shape (n,)
        Place of the feature in its class, from 1.
    column : ndarray of shape (n,)
        Index of the feature.
    feature : ndarray of shape (n,)
        Its name; the index where there are none.
    gain : ndarray of shape (n,)
        Against the rest, in nats (for centers a distance).
    weight : ndarray of shape (n,)
        What the rule of this problem of two classes adds to the class for a unit of the feature, in
        nats; NaN where the rule has no weights.
    standard_error : ndarray of shape (n,)
        Of the weight.
    z : ndarray of shape (n,)
        Log-odds ratio with an informative prior over its standard error (of rates for Poisson and
        negative binomial models; Welch's statistic for means).
    log2_fold_change : ndarray of shape (n,)
        Binary logarithm of the ratio of the rates inside and outside of the class, as counted:
        share of all occurrences (multinomial), mean, or share of the rows (presence, categories).
        It is infinite where the others have none, NaN for means below 0.
    share_in, share_out : ndarray of shape (n,)
        Share of the rows with the feature, inside and outside of the class; NaN where it was not
        counted.
    pvalue : ndarray of shape (n,)
        Of the likelihood-ratio test of the class against the rest; NaN for centers.
    category : ndarray of shape (n,) or None
        Of categorical models: which category of the feature tells the class.
    classes : ndarray of shape (n_classes,)
        All classes.
    uncovered : ndarray of shape (n_uncovered,)
        Classes without a feature of their own: none of those selected speaks most for them (in the
        sense of the parameter `quota`).
    coverage : str
        A sentence on these classes.

    See Also
    --------
    markers : Makes them.

    References
    ----------
    B. L. Monroe, M. P. Colaresi and K. M. Quinn, "Fightin' words: lexical feature selection and
    evaluation for identifying the content of political conflict", Political Analysis 16 (2008).
    """

    label: Array
    rank: IntArray
    column: IntArray
    feature: Array
    gain: FloatArray
    weight: FloatArray
    standard_error: FloatArray
    z: FloatArray
    log2_fold_change: FloatArray
    share_in: FloatArray
    share_out: FloatArray
    pvalue: FloatArray
    category: IntArray | None
    classes: Array
    uncovered: Array

    def __len__(self) -> int:
        return len(self.rank)

    def __str__(self) -> str:
        return f"{len(self):,} markers of {len(self.classes):,} classes. {self.coverage}"

    @property
    def coverage(self) -> str:
        """Say which classes have no feature of their own."""
        n, names = len(self.classes), [short(each) for each in self.uncovered.tolist()]
        if not names:
            return "Every class has a feature of its own."
        more = f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
        verb, whose = ("has", "its") if len(names) == 1 else ("have", "their")
        return (
            f"{len(names):,} of {n:,} classes {verb} no feature of {whose} own: "
            f"{', '.join(names[:_SHOWN])}{more}."
        )

    def columns(self) -> dict[str, Array]:
        """Return the columns of the table by their names.

        Returns
        -------
        columns : dict of ndarray of shape (n,)
            In the order of the table; no category but for categorical models.
        """
        names = ["rank", "feature", "category", "gain", "weight", "standard_error", "z"]
        names += ["log2_fold_change", "share_in", "share_out", "pvalue"]
        columns = {"class": self.label} | {name: getattr(self, name) for name in names}
        return {name: values for name, values in columns.items() if values is not None}

    def to_frame(self) -> Any:
        """Return the table as a data frame.

        Returns
        -------
        frame : pandas.DataFrame
            One row a marker.

        Raises
        ------
        ImportError
            If pandas is not installed.
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError(
                "`to_frame` needs pandas, which is not installed: pip install pandas. The arrays "
                "of `columns()` are the same."
            ) from error
        return pd.DataFrame(self.columns())

    def _repr_html_(self) -> str:
        """Show the first as a table, for notebooks."""
        rows = [
            (
                short(str(self.label[i])),
                str(self.rank[i]),
                short(str(self.feature[i])),
                f"{self.gain[i]:.4g}",
                f"{self.z[i]:.3g}",
            )
            for i in range(min(len(self), _LISTED))
        ]
        return f"<p>{self}</p>" + table_html(("class", "rank", "feature", "gain", "z"), rows)


def markers_of(
    model: Model[Any],
    statistics: A,
    support: IntArray,
    k: int | None,
    *,
    prior: float | None = None,
    presence: Any = None,
    names: Array | None = None,
) -> Markers:
    """Compare each class with all others in the selected features.

    Parameters
    ----------
    model, statistics
        The model, and class statistics of rows that weigh the same.
    support : (q,)
        The selected features, columns.
    k : int or None
        Most features of each class; None: all.
    prior : float, optional
        Rows like the average of all that are expected a priori in the class, and outside: by
        default as many as there are. Of models of counts, presence or categories.
    presence : (q, C), optional
        Rows of each class that hold each of the features.
    names : (q,), optional
        Of the features.

    Raises
    ------
    ValueError
        If a parameter is out of range or has no effect, or the model has no such comparison.
    """
    if k is not None and (isinstance(k, bool) or not isinstance(k, Integral) or int(k) < 1):
        raise ValueError(f"`k` must be an int >= 1, of features of a class, or None; got {k!r}.")
    of_class = [
        _of_class(compared, k, _sides(presence, statistics, support, c))
        for c, compared in enumerate(against_others(model, statistics, support, prior))
    ]
    places, parts = zip(*of_class, strict=True)
    at, counts = np.concatenate(places), list(map(len, places))
    ranks = [np.arange(1, n + 1) for n in counts]
    told = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    spoken = speaks_for(model, statistics)[support]
    silent = np.setdiff1d(np.arange(len(statistics.classes)), spoken)
    return Markers(
        label=np.repeat(statistics.classes, counts),
        rank=np.concatenate(ranks).astype(np.int64),
        column=support[at],
        feature=support[at] if names is None else names[at],
        category=told.pop("category", None),
        classes=statistics.classes,
        uncovered=statistics.classes[silent],
        **told,
    )


@dataclass(frozen=True, slots=True)
class Compared:
    """A class against all others in some features: (q,) each."""

    contrast: Contrast
    gain: FloatArray  # of the model if all others had one label
    pvalue: FloatArray  # of that gain; NaN where it is no likelihood ratio


def against_others(
    model: Model[Any], statistics: AbstractStatistics, support: IntArray, prior: float | None = None
) -> Iterator[Compared]:
    """Compare each class, in their order, with all others in some features; see `markers_of`.

    Raises
    ------
    ValueError
        If `prior` is out of range or has no effect, or the model has no such comparison.
    """
    contrast = model.family.contrast
    if contrast is None:
        raise ValueError(
            f"Markers compare a class with all others by statistics that add up, which the "
            f"{model.name} model lacks; use one of {', '.join(_comparing())}."
        )
    rows = _checked_prior(model, prior)
    rows = float(statistics.class_weight.sum()) if rows is None else rows
    for two in against_rest(statistics):
        gain = model.family.gain(two)[support]
        yield Compared(contrast(two, support, rows), gain, _p_values(model, two, support))


def _comparing() -> list[str]:
    known = MODELS.items()
    return [name for name, kind in known if kind.statistic is not None and kind.takes != "table"]


def _checked_prior(model: Model[Any], prior: float | None) -> float | None:
    if prior is None:
        return None
    if MODELS[model.name].takes == "values":
        raise ValueError(
            f"`prior` has no effect on the {model.name} model, whose means are compared as they "
            f"are; leave it out. Got {prior!r}."
        )
    if not isinstance(prior, Real) or not 0 <= float(prior) < np.inf:
        raise ValueError(f"`prior` must be a finite number of rows >= 0; got {prior!r}.")
    return float(prior)


def _sides(presence: Any, statistics: Any, support: IntArray, c: int) -> FloatArray | None:
    """Share of the rows outside and inside of a class with each feature (q, 2), if it is known."""
    if presence is None:
        return None
    held, rows = np.asarray(presence, dtype=np.float64), statistics.class_weight
    rows = rows if statistics.observed is None else statistics.observed[support]
    with np.errstate(invalid="ignore", divide="ignore"):
        inside = held[:, c] / rows[..., c]
        outside = (held.sum(axis=1) - held[:, c]) / (rows.sum(axis=-1) - rows[..., c])
    return np.stack([outside, inside], axis=1)


def _of_class(
    compared: Compared, k: int | None, shares: FloatArray | None
) -> tuple[IntArray, dict[str, Array]]:
    """Places of the markers of a class in the support, in order, and what is told of them."""
    found, gain = compared.contrast, compared.gain
    above = np.flatnonzero(found.effect > NOTHING)
    at = above[np.lexsort((-gain[above], -found.z[above]))][:k]  # what is no number comes last
    return at, {
        "gain": gain[at],
        "pvalue": compared.pvalue[at],
        **{name: values[at] for name, values in _figures(found, shares).items()},
    }


def _figures(found: Contrast, shares: FloatArray | None) -> dict[str, Array]:
    known = found.shares if shares is None else shares
    if known is None:
        known = np.full((len(found.z), 2), np.nan)
    figures: dict[str, Array] = {
        "weight": found.weight,
        "standard_error": found.standard_error,
        "z": found.z,
        "log2_fold_change": found.log2_fold_change,
        "share_in": known[:, 1],
        "share_out": known[:, 0],
    }
    return figures if found.category is None else figures | {"category": found.category}


def _p_values(model: Model[Any], two: Any, support: IntArray) -> FloatArray:
    if model.family.freedom is None:
        return np.full(len(support), np.nan)
    return p_values(model.family, two)[support]
