"""The picture of the documentation: the sparsity path of IMDB, and what accuracy each k reaches."""

import numpy as np
from matplotlib.figure import Figure

from experiments.frame import Result
from naively import SparseBernoulliNB, sparsity_path


def run(data, quick):
    X, X_test, y, y_test, _ = data.counts("imdb")
    model = SparseBernoulliNB()
    statistics = model.gather(X, y)
    path = sparsity_path(model, statistics)
    ks = np.unique(np.geomspace(1, X.shape[1], 40).astype(int))
    accuracy = [model.from_statistics(statistics, k=k).score(X_test, y_test) for k in ks]
    share = (path.objective - path.baseline) / (path.objective[-1] - path.baseline)
    figure = Figure(figsize=(7, 3), layout="constrained")
    axes = figure.subplots()
    axes.semilogx(path.k, share, label="share of the gain in likelihood that k words keep")
    axes.semilogx(ks, accuracy, label=f"accuracy on {len(y_test):,} test reviews")
    axes.set(xlabel=f"k, of {X.shape[1]:,} words", ylim=(0, 1.02))
    axes.legend(loc="lower right", frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    result = Result(figures={"path": figure})
    result.expect("more words keep more of the likelihood", bool((np.diff(share) >= 0).all()))
    return result
