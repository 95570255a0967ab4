"""The table of models: one row a model. Importing it costs nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from naively.models.model import Model

Takes = Literal["counts", "presence", "values", "categories", "table"]
Statistic = Literal["counts", "presence", "moments", "categories", "mixed"]


@dataclass(frozen=True, slots=True)
class Words:
    """How reports speak of a model."""

    unit: str  # of the objective
    quantity: str  # what the objective measures
    of_column: str  # what is told of a column of numbers in each class
    of_text: str  # what is told of a word in each class


_LIKELIHOOD = ("nats", "training likelihood")
_DISTANCE = ("units", "saving of distance")
_MEANS = ("mean of the values of the class; dispersion: standard deviation",) * 2
_MEDIANS = ("median of the values of the class; dispersion: mean absolute deviation from it",) * 2

SEPARATION = "separation of the pairs of classes"  # what `objective="pairs"` measures

COUNTS = Words(*_LIKELIHOOD, "sum of the values of the column", "occurrences")
RATES = Words(*_LIKELIHOOD, _MEANS[0], "mean occurrences in a row; dispersion: standard deviation")
PRESENCE = Words(*_LIKELIHOOD, "rows with a value above 0", "rows that hold it")
CATEGORIES = Words(*_LIKELIHOOD, *("rows of each category",) * 2)
_OF_KINDS = (
    "mean of the numbers or counts, share of the rows that are true or of the category named"
)
COLUMNS = Words(*_LIKELIHOOD, *(f"{_OF_KINDS}; dispersion: standard deviation",) * 2)
NORMAL = Words(*_LIKELIHOOD, *_MEANS)
MEANS = Words(*_DISTANCE, *_MEANS)
MEDIANS = Words(*_DISTANCE, *_MEDIANS)


@dataclass(frozen=True, slots=True)
class Kind:
    """A row of the table of models."""

    name: str
    takes: Takes  # what the entries of a matrix are to it
    statistic: Statistic | None  # of batches of rows, which adds up; None: it needs the rows
    parameters: tuple[str, ...]  # that `build` takes
    words: Words
    home: str  # module with the function `model`, imported when one is built

    @property
    def smoothed(self) -> bool:
        """Whether it has a smoothing."""
        return not {"alpha", "var_smoothing"}.isdisjoint(self.parameters)

    @property
    def regions(self) -> bool:
        """Whether it keeps columns of text apart."""
        return "regions" in self.parameters

    @property
    def of_distances(self) -> bool:
        """Whether its objective is a distance, to which all classes contribute the same."""
        return self.words.unit == _DISTANCE[0]

    def build(self, **parameters: Any) -> Model[Any]:
        """Return the model with some parameters, and the others at their defaults.

        Raises
        ------
        ValueError
            If one is out of range.
        TypeError
            If the model has no such parameter.
        """
        asked = {name: parameters.pop(name) for name in ASKED if name in parameters}
        if not asked.keys() <= set(self.parameters):
            unknown = sorted(asked.keys() - set(self.parameters))
            raise TypeError(f"The model {self.name} does not take {', '.join(unknown)}.")
        model: Model[Any] = import_module(self.home).model(**parameters)
        return model.asking(**asked) if asked else model


_REDUNDANCY = ("redundancy", "candidates")
ASKED = (*_REDUNDANCY, "refit", "calibration")  # mean the same for every model that takes them
_PRIOR = ("fit_prior", "class_prior")
_USUAL = (*_PRIOR, *ASKED)
_EXACT = ("exact", "max_nodes", "time_limit")
_REGIONS = ("regions", "shared_vocabulary", "normalize")


def _kind(
    name: str, takes: Takes, statistic: Statistic | None, words: Words, *parameters: str
) -> Kind:
    home = f"naively.models.{name.replace('-', '_')}"
    return Kind(name, takes, statistic, parameters, words, home)


MODELS: Mapping[str, Kind] = MappingProxyType(
    {
        kind.name: kind
        for kind in (
            _kind("multinomial", "counts", "counts", COUNTS, "alpha", *_USUAL, "binary", *_EXACT),
            _kind(
                "bernoulli",
                "presence",
                "presence",
                PRESENCE,
                "alpha",
                *_USUAL,
                "binarize",
                "missing",
            ),
            _kind("poisson", "counts", "counts", COUNTS, "alpha", *_USUAL, "exposure", "missing"),
            _kind(
                "negative-binomial",
                "counts",
                "moments",
                RATES,
                "alpha",
                *_USUAL,
                "dispersion",
                "exposure",
                "missing",
            ),
            _kind(
                "categorical",
                "categories",
                "categories",
                CATEGORIES,
                "alpha",
                *_PRIOR,
                "min_categories",
                "correction",
                "missing",
                *_REDUNDANCY,
                "calibration",
            ),
            _kind(
                "gaussian",
                "values",
                "moments",
                NORMAL,
                "variance",
                "priors",
                "var_smoothing",
                "missing",
                *ASKED,
            ),
            _kind(
                "mixed",
                "table",
                "mixed",
                COLUMNS,
                "alpha",
                *_PRIOR,
                "variance",
                "var_smoothing",
                "correction",
                "columns",
                "refit",
                "calibration",
            ),
            _kind("l2-centers", "values", "moments", MEANS, "scale", "priors", "missing", *ASKED),
            _kind(
                "l1-centers", "values", None, MEDIANS, "priors", "missing", *_REDUNDANCY, "refit"
            ),
            _kind(
                "hybrid",
                "counts",
                None,
                COUNTS,
                *_REGIONS,
                "alpha",
                "penalty",
                "fit_intercept",
                "leave_one_out",
                *_EXACT,
            ),
        )
    }
)
