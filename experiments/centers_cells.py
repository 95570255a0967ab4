"""Panels of genes for all cell types at once (centers and others, beyond the paper's two classes).

k genes for all types together, balanced accuracy of a linear SVM on the standardised panel;
selection and SVM see the training cells only. Twice 5-fold cross-validation. Counts are normalised
to 10,000 a cell and log-transformed. scanpy's `rank_genes_groups` (Wilcoxon; needs scanpy, and is
left out of the quick run) ranks genes for each type against the rest; its panel takes the best
gene of each type in turn until there are k. "a tenth" hides what makes the set easy: nine counts
of ten. khan and su are microarrays, shifted to be positive.

scanpy serves every type in turn, while the sum of gains may take several genes that mark the same
type: the exact optimum of a sum over features knows nothing of redundancy. The Gaussian model
fails on counts: a gene that is never seen in one type has almost no variance there, and its gain
drowns that of all others.
"""

import warnings

import numpy as np
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import RepeatedStratifiedKFold
from sklearn.preprocessing import StandardScaler

from experiments.frame import Result, report
from experiments.methods import Comparison, multinomial, sparse_model
from naively import SparseGaussianNB, SparseL1Centers, SparseL2Centers, SparsePoissonNB

KS = (2, 3, 5, 10, 20, 50)
WILCOXON = "scanpy Wilcoxon"


def wilcoxon(X, y, ks):
    import anndata
    import scanpy

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cells = anndata.AnnData(X)
        cells.obs["type"] = y
        cells.obs["type"] = cells.obs["type"].astype("category")
        scanpy.tl.rank_genes_groups(cells, "type", method="wilcoxon", n_genes=max(ks))
    ranked = cells.uns["rank_genes_groups"]["names"]
    order = list(dict.fromkeys(int(name) for row in ranked for name in row))
    return {k: np.isin(np.arange(X.shape[1]), order[:k]) for k in ks}


CONTINUOUS = {
    WILCOXON: wilcoxon,
    "l1 centers": sparse_model(SparseL1Centers),
    "l2 centers": sparse_model(SparseL2Centers),
    "l2 centers / std": sparse_model(lambda: SparseL2Centers(scale="std")),
    "Gaussian": sparse_model(SparseGaussianNB),
}
COUNTED = {
    "Poisson (counts)": sparse_model(SparsePoissonNB),
    "multinomial (counts)": multinomial,
}


def logged(counts):
    total = counts.sum(axis=1, keepdims=True)
    return np.log1p(counts * (1e4 / np.maximum(total, 1)))


def compare(X, counts, y, quick):
    compared = Comparison({k: k / X.shape[1] for k in KS}, balanced_accuracy_score)
    folds = RepeatedStratifiedKFold(n_splits=5, n_repeats=1 if quick else 2, random_state=0)
    methods = [(name, select, X) for name, select in CONTINUOUS.items()]
    methods += [(name, select, counts) for name, select in COUNTED.items() if counts is not None]
    for i, (train, test) in enumerate(folds.split(X, y)):
        scaler = StandardScaler().fit(X[train])
        judged = scaler.transform(X[train]), scaler.transform(X[test]), y[test]
        for name, select, rows in methods:
            if not (quick and name == WILCOXON):
                compared.add(name, select, rows[train], y[train], judged, timing=i < 3)
    return compared


def run(data, quick):
    result = Result()
    counts, y, _ = data.genes("sc_celseq2")
    thin = np.random.default_rng(0).binomial(counts.astype(np.int64), 0.1).astype(float)
    sets = {"sc_celseq2": (logged(counts), counts, y)}
    if not quick:
        sets["sc_celseq2, a tenth of the counts"] = logged(thin), thin, y
    for name in ("khan", "su"):
        X, y, _ = data.genes(name)
        sets[name] = X - X.min(), None, y
    for name, (X, rows, labels) in sets.items():
        compared = compare(X, rows, labels, quick)
        result.tables |= compared.tables(name, "balanced accuracy")
        most = max(compared.mean(method)[-1] for method in compared.scores)
        result.expect(f"50 genes of {name} tell the types apart", most > 0.9)
        few, many = compared.mean("l2 centers / std")[[0, -1]]
        result.expect(f"two genes of {name} do not tell more than 50", few <= many)
        report(f"  {name}")
    return result
