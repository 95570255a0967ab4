"""
Measurements with outliers: medians, means or Gaussians
=======================================================

Thirty measurements of 569 tumours. Three models for real numbers select k of them; on clean data
they agree more or less. Then a few entries are spoilt.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from naively import SparseGaussianNB, SparseL1Centers, SparseL2Centers

# %%
data = load_breast_cancer()
MODELS = {
    "l1 centers": SparseL1Centers,
    "l2 centers": SparseL2Centers,
    "Gaussian": SparseGaussianNB,
}
KS = [1, 2, 3, 5, 8, 12, 20, 30]
folds = StratifiedKFold(5, shuffle=True, random_state=0)

# %%
# Two in a hundred entries of the second copy are a thousand times too large, as if a decimal point
# was lost.
rng = np.random.default_rng(0)
spoilt = np.where(rng.random(data.data.shape) < 0.02, 1000 * data.data, data.data)

# %%
# The whole pipeline, selection included, is cross-validated.
figure, axes = plt.subplots(1, 2, figsize=(9, 3.8), sharey=True, layout="constrained")
for title, X, ax in (("as measured", data.data, axes[0]), ("2 % spoilt", spoilt, axes[1])):
    for name, model in MODELS.items():
        scores = [
            cross_val_score(make_pipeline(StandardScaler(), model(k=k)), X, data.target, cv=folds)
            for k in KS
        ]
        ax.plot(KS, np.mean(scores, axis=1), "o-", label=name)
        print(f"{title:>11}, {name:>10}: {np.mean(scores[KS.index(5)]):.3f} with five")
    ax.set(title=title, xlabel="k, of 30 measurements", ylim=(0.5, 1))
axes[0].set_ylabel("cross-validated accuracy")
axes[0].legend()

# %%
# The five that medians choose.
model = make_pipeline(StandardScaler(), SparseL1Centers(k=5)).fit(data.data, data.target)
print(", ".join(data.feature_names[model[-1].get_support()]))
plt.show()
