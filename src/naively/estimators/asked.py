"""What can be asked of every model: an objective, constraints on the features, class weights."""

from __future__ import annotations

import inspect
from abc import abstractmethod
from dataclasses import replace
from functools import partial
from typing import Any, Generic, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from naively._types import Array
from naively.models.constraints import Constraints
from naively.models.counting import test_of_counts
from naively.models.exposure import checked_exposure
from naively.models.kinds import ASKED, COUNTS
from naively.models.model import Model, S, with_objective
from naively.selection.train import is_fdr
from naively.statistics.exposure import Exposure
from naively.statistics.weights import check_weights, class_weights

C = TypeVar("C", bound=type)

CONSTRAINTS = ("required", "excluded", "groups", "costs", "budget", "quota")

# Parameters that several estimators have, in the order in which they are described
_DESCRIBED = {
    "exposure": """
exposure : {None, "total"}, str or int, default=None
    How much was counted to make each row, as sequencing depth or length: counts are expected in
    proportion to it, so that it is no evidence of the class. A column of X, by its name, or by its
    index where there are no names, which is then never selected; or "total", the sum of the row
    over all columns. Finite, >= 0, and > 0 in rows that count something.""",
    "correction": """
correction : {None, "bic"}, default=None
    "bic" takes from each gain half the parameters that the feature has more than a pooled one,
    times the log of the number of rows: a feature of many values gains by chance.""",
    "missing": """
missing : {"error", "ignore"}, default="error"
    What a missing value (NaN) does. "ignore" leaves it out of its own feature: the feature is
    trained on the rows that have it, and a row to classify is judged by the features it has. That
    values are missing is taken to tell nothing.""",
    "objective": """
objective : "likelihood", "pairs" or Pairs, default="likelihood"
    What the features are chosen for: the largest likelihood (smallest distances), or to tell every
    pair of classes apart (:class:`naively.Pairs`; "pairs" is `Pairs()`). Constraints hold for
    both.""",
    "redundancy": """
redundancy : {None, "conditional"}, default=None
    "conditional" chooses one feature after another, each for what it adds to every one before it,
    so that copies do not take the places of others (Fleuret 2004; see
    :mod:`naively.selection.redundancy`). There is then no certificate. `required` features come
    first, then those of a `quota`, and `excluded` ones are no candidates; groups and budgets are
    refused.""",
    "candidates": """
candidates : int, default=None
    Number of features of the largest gains among which `redundancy` chooses; by default 4000. The
    others follow by their gains.""",
    "refit": """
refit : {None, "logistic"}, default=None
    "logistic" decides by a penalised logistic regression on the selected features instead of the
    model's own rule: :class:`sklearn.linear_model.LogisticRegression`, its `C` chosen by the log
    loss of five folds. What chooses `k="auto"`, and the certificate, are of the model.""",
    "calibration": """
calibration : {None, "cross-fitted"}, default=None
    "cross-fitted" divides the scores by a temperature fitted to the rows of five folds, each judged
    by a model of the others: the predictions stay, their probabilities can be believed.""",
    "q": """
q : float, default=None
    With `k="fdr"`: the false discovery rate (0.1 by default). The features are those that Benjamini
    and Hochberg (1995) call significant, and a share of `q` of them at most is alike in the rows of
    all classes, in expectation. Models of counts and Gaussian ones, whose `pvalues_` do not hold in
    few rows or where rows vary more than the model, take the p-values of an analysis of variance
    of the rows instead; other models take `pvalues_`.""",
    "stable": """
stable : float, default=None
    Share in (0.5, 1]. Of the `k` features only those are kept that are selected on so large a share
    of 100 random halves of the rows (:func:`naively.selection_stability`); there may be none.""",
    "required": """
required : array-like of str, int or bool, default=None
    Features that are chosen in any case, and count among the `k`: names (of a data frame),
    indices, or a mask of shape (n_features,).""",
    "excluded": """
excluded : array-like of str, int or bool, default=None
    Features that are never chosen, given likewise. They stay pooled, as all that is not chosen.""",
    "groups": """
groups : array-like of shape (n_features,), default=None
    Label of the group of each feature: the one-hot columns of a variable, the words of a lexicon.
    A group is chosen as a whole, required or excluded if one of its features is, and `k` counts
    groups.""",
    "costs": """
costs : array-like of shape (n_features,), default=None
    Cost of each feature, >= 0; needs `budget`.""",
    "budget": """
budget : float, default=None
    Most that the features chosen may cost together. `k` is then the most features, or None.""",
    "quota": """
quota : int or "even", default=None
    So many features at least speak for each class: the class where the weight of the feature is
    largest in the rule over all features, or its center (mean, median) in models of values. "even"
    follows k: at least k over the number of classes, rounded down, or all there are of a class.""",
    "class_weight": """
class_weight : "balanced" or dict, default=None
    Weight of the rows of each class, 1 where a dict has none, on top of `sample_weight`:
    "balanced" lets all classes weigh the same: n / (n_classes * n of the class), where n is the
    number of rows, each as often as `sample_weight` says.""",
}


def describe_asked(cls: C) -> C:
    """Add the parameters that it shares with others to the docstring of an estimator."""
    has = inspect.signature(cls).parameters
    text = inspect.cleandoc(cls.__doc__ or "")
    head, _, rest = text.partition("\nAttributes\n")
    added = "".join(words for name, words in _DESCRIBED.items() if name in has)
    cls.__doc__ = f"{head.rstrip()}{added}\n\nAttributes\n{rest}\n"
    return cls


class AskedMixin(Generic[S]):
    """What an estimator makes of these parameters, those of them that it has."""

    @abstractmethod
    def _model(self) -> Model[S]:
        """Return the model that the other parameters make, checked."""

    n_features_in_: int
    exposure: str | int | None  # of those that have it

    def _seeing(self, n_features: int, other: object) -> Self:
        """Take over the features that another estimator has seen."""
        self.n_features_in_ = n_features
        names = getattr(other, "feature_names_in_", None)
        if names is not None:
            self.feature_names_in_ = names
        return self

    @property
    def _is_constrained(self) -> bool:
        return any(getattr(self, name, None) is not None for name in CONSTRAINTS)

    def _asked(self) -> Model[S]:
        """Return the model with all that is asked of it, checked, for the features of the data."""
        model = self._model().asking(**{name: getattr(self, name, None) for name in ASKED})
        model = with_objective(model, getattr(self, "objective", "likelihood"))
        if is_fdr(getattr(self, "k", None)) and model.family.test is test_of_counts:
            squares = model.words == COUNTS  # of presence they are known
            model = replace(model, gather=partial(model.gather, documents=squares))
        of_column = isinstance(model.exposure, int)
        if not self._is_constrained and not of_column:
            return model
        n_features, names = self._n_variables, self._names
        asked = {name: getattr(self, name, None) for name in CONSTRAINTS}
        constraints = Constraints.checked(n_features, names, **asked)
        if isinstance(model.exposure, int):
            constraints = (constraints or Constraints(n_features)).without(model.exposure, names)
        return replace(model, constraints=constraints)

    @property
    def _n_variables(self) -> int:
        """Number of features to choose from."""
        return self.n_features_in_

    @property
    def _names(self) -> list[str] | None:
        """Names of the features, if they have any."""
        names = getattr(self, "feature_names_in_", None)
        return None if names is None else names.tolist()

    def _exposure(self) -> Exposure:
        """Exposure as the model takes it."""
        return checked_exposure(self.exposure, getattr(self, "n_features_in_", None), self._names)

    def _of_path(self) -> Model[S]:
        """Return the model of which every k is tried, in which `stable` has no part."""
        stable = getattr(self, "stable", None)
        if stable is not None:
            raise ValueError(
                f"`stable`={stable!r} has no part where every k is tried; leave it out, or "
                "cross-validate the estimator as a whole."
            )
        return self._asked()

    def _weighed(self, statistics: Any) -> Any:
        """Statistics with the weights of the classes, from those of rows that weigh the same."""
        asked = getattr(self, "class_weight", None)
        weights = class_weights(asked, statistics.classes, statistics.class_weight)
        return statistics if weights is None else statistics.weighted(weights)

    def _weighted_rows(self, y: Array, sample_weight: ArrayLike | None) -> ArrayLike | None:
        """Weights of rows that hold those of their classes."""
        return row_weights(getattr(self, "class_weight", None), y, sample_weight)


def row_weights(class_weight: Any, y: Array, sample_weight: ArrayLike | None) -> ArrayLike | None:
    """Weights of rows that hold those of their classes, (n,), or None."""
    if class_weight is None:  # labels are not gone through for nothing
        return sample_weight
    classes, codes = np.unique(y, return_inverse=True)
    given = check_weights(sample_weight, len(y))
    weights = class_weights(class_weight, classes, np.bincount(codes, given, len(classes)))
    assert weights is not None
    return weights[codes] if given is None else given * weights[codes]
