"""The k features that matter, out of millions, with a proof of how good they are."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

# Public names and where they live. Estimators import scikit-learn (seconds); counting and merging
# statistics must not, so each name is imported at its first use (PEP 562).
_HOMES = {
    "Certificate": "naively.selection.certificate",
    "ClassCategories": "naively.statistics.categories",
    "ClassCounts": "naively.statistics.counts",
    "ClassMedians": "naively.statistics.values",
    "ClassMoments": "naively.statistics.moments",
    "ClassValues": "naively.statistics.values",
    "CoverageCurve": "naively.judging.coverage",
    "CoverageDisplay": "naively.plots.coverage",
    "ErrorEstimate": "naively.expected.estimates",
    "ErrorPath": "naively.judging.error_path",
    "ErrorPathDisplay": "naively.plots.error_path",
    "ErrorSearchSelector": "naively.estimators.error_search",
    "FeatureWeightsDisplay": "naively.plots.feature_weights",
    "HybridNB": "naively.estimators.hybrid",
    "RegionVectorizer": "naively.estimators.regions",
    "SeparationWarning": "naively.estimators.hybrid",
    "SparseBernoulliNB": "naively.estimators.naive_bayes",
    "SparseCategoricalNB": "naively.estimators.likelihood",
    "SparseGaussianNB": "naively.estimators.likelihood",
    "SparseL1Centers": "naively.estimators.centers",
    "SparseL2Centers": "naively.estimators.centers",
    "SparseMultinomialNB": "naively.estimators.naive_bayes",
    "SparsePoissonNB": "naively.estimators.likelihood",
    "SparsityCV": "naively.estimators.search",
    "SparsityPath": "naively.selection.path",
    "SparsityPathDisplay": "naively.plots.sparsity_path",
    "accuracy_coverage_curve": "naively.judging.coverage",
    "error_path": "naively.estimators.error_path",
    "expected_error": "naively.expected.estimates",
    "sparsity_path": "naively.estimators.path",
}

__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'naively' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
