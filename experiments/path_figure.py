"""The picture of the README: the sparsity path of IMDB, and what accuracy each k reaches.

python experiments/path_figure.py DATA docs/sparsity_path.svg
"""

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from datasets import arguments, counts_split

from naively import SparseBernoulliNB, sparsity_path


def main():
    parser = arguments(__doc__)
    parser.add_argument("figure")
    options = parser.parse_args()
    X, X_test, y, y_test, _ = counts_split(options.data, "imdb")
    model = SparseBernoulliNB()
    statistics = model.gather(X, y)
    path = sparsity_path(model, statistics)
    ks = np.unique(np.geomspace(1, X.shape[1], 40).astype(int))
    accuracy = [model.from_statistics(statistics, k=k).score(X_test, y_test) for k in ks]
    share = (path.objective - path.baseline) / (path.objective[-1] - path.baseline)
    mpl.rcParams["svg.hashsalt"] = "naively"
    figure, axes = plt.subplots(figsize=(7, 3), layout="constrained")
    axes.semilogx(path.k, share, label="share of the gain in likelihood that k words keep")
    axes.semilogx(ks, accuracy, label="accuracy on 25,000 test reviews")
    axes.set(xlabel=f"k, of {X.shape[1]:,} words", ylim=(0, 1.02))
    axes.legend(loc="lower right", frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(options.figure, metadata={"Date": None})


if __name__ == "__main__":
    main()
