"""Panels of k genes for all cell types at once, against scanpy's rank_genes_groups.

    python experiments/centers_cells.py DATA       (needs scanpy)

Counts are normalised to 10,000 per cell and log-transformed; selection and a linear SVM on the
standardised panel see the training cells only. 10 times 5-fold cross-validation. scanpy ranks genes
for each type against the rest (Wilcoxon); its panel takes the best gene of each type in turn until
there are k different ones. "hard" hides what makes the set easy: nine counts of ten, at random.
"""

import warnings

import numpy as np
from centers_methods import sparse_model, table, timed
from datasets import arguments
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import RepeatedStratifiedKFold
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from naively import (
    SparseGaussianNB,
    SparseL1Centers,
    SparseL2Centers,
    SparseMultinomialNB,
    SparsePoissonNB,
)

KS = (2, 3, 5, 10, 20, 50)


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
    order = dict.fromkeys(int(name) for row in ranked for name in row)
    masks = {}
    for k in ks:
        masks[k] = np.zeros(X.shape[1], bool)
        masks[k][list(order)[:k]] = True
    return masks


def on_counts(make):
    select = sparse_model(make)
    select.counts = True
    return select


def multinomial(counts, y, ks):
    statistics = SparseMultinomialNB().gather(counts, y)
    return {k: SparseMultinomialNB.from_statistics(statistics, k=k).support_ for k in ks}


multinomial.counts = True

METHODS = {
    "scanpy Wilcoxon": wilcoxon,
    "l1 centers": sparse_model(SparseL1Centers),
    "l2 centers": sparse_model(SparseL2Centers),
    "l2 centers / std": sparse_model(lambda: SparseL2Centers(scale="std")),
    "Gaussian": sparse_model(SparseGaussianNB),
    "Poisson (counts)": on_counts(SparsePoissonNB),
    "multinomial (counts)": multinomial,
}


def logged(counts):
    total = counts.sum(axis=1, keepdims=True)
    return np.log1p(counts * (1e4 / np.maximum(total, 1)))


def compare(title, X, counts, y, methods):
    reached = {name: np.zeros(len(KS)) for name in methods}
    seconds = {name: [] for name in methods}
    folds = list(RepeatedStratifiedKFold(n_splits=5, n_repeats=10, random_state=0).split(X, y))
    for train, test in folds:
        for name, select in methods.items():
            rows = counts if getattr(select, "counts", False) else X
            masks, used = timed(select, rows[train], y[train], KS)
            seconds[name].append(used)
            for i, k in enumerate(KS):
                scaler = StandardScaler().fit(X[train][:, masks[k]])
                svm = LinearSVC(random_state=0, C=0.1)
                svm.fit(scaler.transform(X[train][:, masks[k]]), y[train])
                found = svm.predict(scaler.transform(X[test][:, masks[k]]))
                reached[name][i] += balanced_accuracy_score(y[test], found) / len(folds)
    table(title, [str(k) for k in KS], [(m, reached[m], np.median(seconds[m])) for m in methods])


def main():
    options = arguments(__doc__).parse_args()
    wanted = options.only or ("sc_celseq2", "hard", "khan", "su")
    if {"sc_celseq2", "hard"} & set(wanted):
        archive = np.load(options.data / "sc_celseq2" / "sc_celseq2.npz")
        counts, y = archive["X"], archive["y"]
        if "sc_celseq2" in wanted:
            compare("sc_celseq2, balanced accuracy", logged(counts), counts, y, METHODS)
        if "hard" in wanted:
            rng = np.random.default_rng(0)
            thin = rng.binomial(counts.astype(np.int64), 0.1).astype(np.float32)
            compare("sc_celseq2, a tenth of the counts", logged(thin), thin, y, METHODS)
    continuous = {n: m for n, m in METHODS.items() if not getattr(m, "counts", False)}
    for name in {"khan", "su"} & set(wanted):
        archive = np.load(options.data / name / f"{name}.npz")
        X = archive["X"] - archive["X"].min()
        compare(f"{name}, balanced accuracy", X, X, archive["y"].astype(str), continuous)


if __name__ == "__main__":
    main()
