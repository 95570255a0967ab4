"""What laws are stated of: every statistic, every model, and data that Hypothesis makes up."""

from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, GaussianNB, MultinomialNB
from sklearn.neighbors import NearestCentroid

import naively
from naively import ClassCategories, ClassCounts, ClassMixed, ClassMoments

# -- statistics ----------------------------------------------------------------------------------

M = 4
OBSERVED = [0, np.nan, 1, 2]  # NaN is missing
WHOLE, DYADIC, SIGNED = [0, 0, 1, 2, 5], [0, 0.25, 1, 3.5], [-2.5, -1, 0, 0, 1, 3e3]


@dataclass(frozen=True)
class Kind:
    """A statistic, and values whose sums are exact in it."""

    of: type
    values: list
    settings: dict = field(default_factory=dict)


STATISTICS = {
    "counts": Kind(ClassCounts, WHOLE),
    "real counts": Kind(ClassCounts, DYADIC),
    "sparse counts": Kind(ClassCounts, WHOLE, {"dense_cells": 0}),
    "counts and documents": Kind(ClassCounts, WHOLE, {"documents": True}),
    "sparse counts and documents": Kind(ClassCounts, WHOLE, {"documents": True, "dense_cells": 0}),
    "presence": Kind(ClassCounts, DYADIC, {"presence": True, "threshold": 0.5}),
    "moments": Kind(ClassMoments, SIGNED),
    "sums": Kind(ClassMoments, SIGNED, {"deviations": False}),
    "categories": Kind(ClassCategories, WHOLE),
    "exposed counts": Kind(ClassCounts, WHOLE, {"exposure": "total"}),
    "exposed moments": Kind(ClassMoments, WHOLE, {"exposure": "total"}),
    "observed counts": Kind(ClassCounts, OBSERVED, {"missing": True}),
    "observed presence": Kind(ClassCounts, OBSERVED, {"presence": True, "missing": True}),
    "observed moments": Kind(ClassMoments, OBSERVED, {"missing": True}),
    "observed categories": Kind(ClassCategories, OBSERVED, {"missing": True}),
    "mixed": Kind(
        ClassMixed, OBSERVED, {"kinds": ["gaussian", "categorical", "bernoulli", "poisson"]}
    ),
}


@st.composite
def batches(draw, kind, count=2, rows=5):
    """Rows and labels of several batches over the same features."""
    parts = []
    for _ in range(count):
        n = draw(st.integers(0, rows))
        dtype = np.int64 if kind.values is WHOLE else np.float64
        X = draw(hnp.arrays(dtype, (n, M), elements=st.sampled_from(kind.values)))
        y = draw(st.lists(st.sampled_from("abcd"), min_size=n, max_size=n))
        X = sp.csr_array(X) if draw(st.booleans()) else X
        parts.append((X, np.array(y, dtype="U1")))
    return parts


def gathered(kind, X, y, weights=None, **options):
    return kind.of.from_matrix(X, y, weights, **kind.settings, **options)


def stacked(parts):
    X = [X.toarray() if sp.issparse(X) else X for X, _ in parts]
    return np.vstack(X), np.concatenate([y for _, y in parts])


# -- models --------------------------------------------------------------------------------------

ANY, EVEN = st.integers(2, 6), st.sampled_from([2, 4, 6])  # numbers of columns


@dataclass(frozen=True)
class Model:
    """A sparse estimator, and what is known about it."""

    make: Any
    twin: Any = None  # scikit-learn's estimator, equal at k = "all"
    coupled: bool = False  # the gain of a set is not the sum of the gains of its columns
    smoothed: bool = False  # `alpha` is a number of rows or counts
    averaged: bool = False  # the gain is a distance averaged over the rows


MODELS = {
    "multinomial": Model(naively.SparseMultinomialNB, MultinomialNB(), True, True),
    "multinomial, exact": Model(
        partial(naively.SparseMultinomialNB, exact=True), MultinomialNB(), True, True
    ),
    "bernoulli": Model(naively.SparseBernoulliNB, BernoulliNB(), smoothed=True),
    "poisson": Model(naively.SparsePoissonNB, smoothed=True),
    "negative binomial": Model(naively.SparseNegativeBinomialNB, smoothed=True),
    "negative binomial, given dispersion": Model(
        partial(naively.SparseNegativeBinomialNB, dispersion=0.7), smoothed=True
    ),
    "gaussian": Model(naively.SparseGaussianNB, GaussianNB()),
    "gaussian, shared variance": Model(partial(naively.SparseGaussianNB, variance="shared")),
    "categorical": Model(
        # Rows without weight do not count, but how many categories there are is seen from them.
        partial(naively.SparseCategoricalNB, min_categories=20),
        CategoricalNB(min_categories=20),
        smoothed=True,
    ),
    "gaussian, missing ignored": Model(
        partial(naively.SparseGaussianNB, missing="ignore"), GaussianNB()
    ),
    "bernoulli, missing ignored": Model(
        partial(naively.SparseBernoulliNB, missing="ignore"), BernoulliNB(), smoothed=True
    ),
    "mixed": Model(naively.SparseMixedNB, GaussianNB()),  # all columns are of numbers
    "l1 centers": Model(
        naively.SparseL1Centers, NearestCentroid(metric="manhattan"), averaged=True
    ),
    "l2 centers": Model(naively.SparseL2Centers, NearestCentroid(), averaged=True),
    "l2 centers, std": Model(partial(naively.SparseL2Centers, scale="std"), averaged=True),
    "l2 centers, variance": Model(
        partial(naively.SparseL2Centers, scale="variance"), averaged=True
    ),
}
SELECTORS = {
    f"search, {strategy}": partial(naively.ErrorSearchSelector, strategy=strategy, length=5.0)
    for strategy in ("best_individual", "forward", "plus_l_minus_r", "branch_and_bound")
}
HYBRIDS = {
    "hybrid": partial(naively.HybridNB, regions=2, penalty=1.0),
    "hybrid, own words": partial(naively.HybridNB, regions=2, shared_vocabulary=False, penalty=1.0),
}


@st.composite
def tables(draw, columns=ANY):
    """Small whole numbers with every class twice or more: (X, y)."""
    n_classes = draw(st.integers(2, 3))
    n = draw(st.integers(2 * n_classes, 14))
    X = draw(hnp.arrays(np.int64, (n, draw(columns)), elements=st.integers(0, 5)))
    y = np.arange(n) % n_classes
    return X, np.asarray(draw(st.permutations(y.tolist())))
