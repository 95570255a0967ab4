"""Parameters that say which features may be chosen, and what each class weighs."""

from __future__ import annotations

import inspect
from dataclasses import replace
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from naively._types import Array
from naively.models.constraints import Constraints
from naively.models.model import Model, S
from naively.statistics.weights import check_weights, class_weights

C = TypeVar("C", bound=type)

ASKED = ("required", "excluded", "groups", "costs", "budget", "quota")

_CONSTRAINTS = """\
required : array-like of str, int or bool, default=None
    Features that are chosen in any case, and count among the `k`: names (of a data frame),
    indices, or a mask of shape (n_features,).
excluded : array-like of str, int or bool, default=None
    Features that are never chosen, given likewise. They stay pooled, as all that is not chosen.
groups : array-like of shape (n_features,), default=None
    Label of the group of each feature: the one-hot columns of a variable, the words of a lexicon.
    A group is chosen as a whole, required or excluded if one of its features is, and `k` counts
    groups.
costs : array-like of shape (n_features,), default=None
    Cost of each feature, >= 0; needs `budget`.
budget : float, default=None
    Most that the features chosen may cost together. `k` is then the most features, or None.
quota : int, default=None
    So many features at least speak for each class: the class where the weight of the feature is
    largest in the rule over all features, or its center (mean, median) in models of values.
"""
_CLASS_WEIGHT = """\
class_weight : "balanced" or dict, default=None
    Weight of the rows of each class, 1 where a dict has none, on top of `sample_weight`:
    "balanced" lets all classes weigh the same, n_samples / (n_classes * rows of the class).
"""


def describe_constraints(cls: C) -> C:
    """Add the parameters of constraints to the docstring of an estimator that has them."""
    has_weight = "class_weight" in inspect.signature(cls).parameters
    text = inspect.cleandoc(cls.__doc__ or "")
    head, _, rest = text.partition("\nAttributes\n")
    added = _CONSTRAINTS + (_CLASS_WEIGHT if has_weight else "")
    cls.__doc__ = f"{head.rstrip()}\n{added}\nAttributes\n{rest}\n"
    return cls


class ConstrainedMixin:
    """What an estimator makes of these parameters, those of them that it has."""

    n_features_in_: int

    def _seeing(self, n_features: int, other: object) -> Self:
        """Take over the features that another estimator has seen."""
        self.n_features_in_ = n_features
        names = getattr(other, "feature_names_in_", None)
        if names is not None:
            self.feature_names_in_ = names
        return self

    @property
    def _asked(self) -> dict[str, Any]:
        return {name: getattr(self, name, None) for name in ASKED}

    @property
    def _is_constrained(self) -> bool:
        return any(each is not None for each in self._asked.values())

    def _constrained(self, model: Model[S]) -> Model[S]:
        """Return the model with the constraints on the features of the data at hand."""
        if not self._is_constrained:
            return model
        names = getattr(self, "feature_names_in_", None)
        names = None if names is None else names.tolist()
        found = Constraints.checked(self.n_features_in_, names, **self._asked)
        return replace(model, constraints=found)

    def _weighed(self, statistics: Any) -> Any:
        """Statistics with the weights of the classes, from those of rows that weigh the same."""
        asked = getattr(self, "class_weight", None)
        weights = class_weights(asked, statistics.classes, statistics.class_rows)
        return statistics if weights is None else statistics.weighted(weights)

    def _weighted_rows(self, y: Array, sample_weight: ArrayLike | None) -> ArrayLike | None:
        """Weights of rows that hold those of their classes."""
        return row_weights(getattr(self, "class_weight", None), y, sample_weight)


def row_weights(class_weight: Any, y: Array, sample_weight: ArrayLike | None) -> ArrayLike | None:
    """Weights of rows that hold those of their classes, (n,), or None."""
    classes, codes, rows = np.unique(y, return_inverse=True, return_counts=True)
    weights = class_weights(class_weight, classes, rows)
    if weights is None:
        return sample_weight
    given = check_weights(sample_weight, len(y))
    return weights[codes] if given is None else given * weights[codes]
