"""
Three errors, and which one to believe
======================================

A model can predict its own error. Leaving rows out can correct it. Neither counts what the
selection of the features itself has learned from the rows; on noise, that is everything.
"""

import matplotlib.pyplot as plt
import numpy as np

from naively import ErrorPathDisplay, SparseBernoulliNB, error_path

# %%
# Eighty rows of 2,000 columns that are pure chance, and the same with ten columns that are not.
rng = np.random.default_rng(0)
y = np.repeat([0, 1], 40)
noise = rng.integers(0, 2, (80, 2000))
signal = noise.copy()
signal[:, :10] = rng.random((80, 10)) < np.where(y == 1, 0.75, 0.25)[:, None]

# %%
# Cross-validation that selects the features anew in every fold is the only one of the three that
# sees the noise for what it is.
KS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 2000]
figure, axes = plt.subplots(1, 2, figsize=(10, 4), sharey=True, layout="constrained")
for name, X, ax in (("pure noise", noise, axes[0]), ("ten columns tell", signal, axes[1])):
    curves = error_path(SparseBernoulliNB(), X, y, ks=KS)
    ErrorPathDisplay(curves).plot(ax=ax)
    ax.set_title(f"{name} ({ax.get_legend_handles_labels()[1][-1]})")
    ax.get_legend().remove()
    best = int(np.argmin(curves.leave_one_out))
    print(
        f"{name}: at k = {KS[best]} leave-one-out says {curves.leave_one_out[best]:.2f}, "
        f"cross-validation {curves.cross_validated[best]:.2f}"
    )

lines, labels = axes[0].get_legend_handles_labels()
figure.legend(lines[:3], labels[:3], loc="outside lower center")

# %%
# Fresh rows from the same source settle it.
fresh, truth = rng.integers(0, 2, (2000, 2000)), rng.integers(0, 2, 2000)
model = SparseBernoulliNB(k=20).fit(noise, y)
print(f"20 columns of noise, on fresh rows: error {1 - model.score(fresh, truth):.2f}")
plt.show()
