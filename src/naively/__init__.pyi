"""Public names and where they live: the one list, for type checkers, editors and the package."""

from naively.bridge.export import export as export
from naively.bridge.files import load as load, save as save
from naively.bridge.select import Selected as Selected, select as select
from naively.estimators.centers import (
    SparseL1Centers as SparseL1Centers,
    SparseL2Centers as SparseL2Centers,
)
from naively.estimators.error_path import error_path as error_path
from naively.estimators.error_search import ErrorSearchSelector as ErrorSearchSelector
from naively.estimators.gain import gain as gain
from naively.estimators.hybrid import HybridNB as HybridNB, SeparationWarning as SeparationWarning
from naively.estimators.likelihood import (
    SparseCategoricalNB as SparseCategoricalNB,
    SparseGaussianNB as SparseGaussianNB,
    SparseNegativeBinomialNB as SparseNegativeBinomialNB,
    SparsePoissonNB as SparsePoissonNB,
)
from naively.estimators.markers import markers as markers
from naively.estimators.mixed import SparseMixedNB as SparseMixedNB
from naively.estimators.naive_bayes import (
    SparseBernoulliNB as SparseBernoulliNB,
    SparseMultinomialNB as SparseMultinomialNB,
)
from naively.estimators.path import sparsity_path as sparsity_path
from naively.estimators.search import SparsityCV as SparsityCV
from naively.estimators.stability import selection_stability as selection_stability
from naively.estimators.whitener import Whitener as Whitener
from naively.estimators.word_counts import WordCounts as WordCounts
from naively.expected.bootstrap import (
    BootstrapError as BootstrapError,
    bootstrap_error as bootstrap_error,
)
from naively.expected.estimates import (
    ErrorEstimate as ErrorEstimate,
    expected_error as expected_error,
)
from naively.judging.coverage import (
    CoverageCurve as CoverageCurve,
    accuracy_coverage_curve as accuracy_coverage_curve,
)
from naively.judging.error_path import ErrorPath as ErrorPath
from naively.judging.stability import SelectionStability as SelectionStability
from naively.models.model import Pairs as Pairs
from naively.plots.coverage import CoverageDisplay as CoverageDisplay
from naively.plots.error_path import ErrorPathDisplay as ErrorPathDisplay
from naively.plots.feature_panel import FeaturePanelDisplay as FeaturePanelDisplay
from naively.plots.feature_scatter import FeatureScatterDisplay as FeatureScatterDisplay
from naively.plots.feature_weights import FeatureWeightsDisplay as FeatureWeightsDisplay
from naively.plots.sparsity_path import SparsityPathDisplay as SparsityPathDisplay
from naively.plots.stability import StabilityDisplay as StabilityDisplay
from naively.selection.certificate import Certificate as Certificate
from naively.selection.markers import Markers as Markers
from naively.selection.path import SparsityPath as SparsityPath
from naively.statistics.categories import ClassCategories as ClassCategories
from naively.statistics.counts import ClassCounts as ClassCounts
from naively.statistics.mixed import ClassMixed as ClassMixed
from naively.statistics.moments import ClassMoments as ClassMoments
from naively.statistics.values import ClassMedians as ClassMedians, ClassValues as ClassValues

__version__: str
