"""
A panel of genes for all cell types at once
===========================================

Four types of cells, one of them rare, and two that resemble each other. Which eight genes tell
all four apart, and what is each of them for?
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from naively import FeaturePanelDisplay, SparsePoissonNB, markers

# %%
# Made-up counts of 300 genes in 600 cells. Depth differs by cell; B cells and plasma cells share
# two genes, and one gene tells them apart.
rng = np.random.default_rng(0)
TYPES = ["B", "NK", "T", "plasma"]
MARKERS = {
    "B": ["CD79A", "CD79B", "MS4A1"],
    "NK": ["GNLY", "NKG7"],
    "T": ["CD3D", "IL7R"],
    "plasma": ["CD79A", "CD79B", "JCHAIN"],
}
genes = np.array(sorted({gene for each in MARKERS.values() for gene in each}))
genes = np.append(genes, [f"gene{j}" for j in range(300 - len(genes))])
y = np.repeat(TYPES, [200, 160, 200, 40])
rate = pd.DataFrame(rng.gamma(2, 0.15, len(genes))[None].repeat(4, axis=0), TYPES, genes)
for each, own in MARKERS.items():
    rate.loc[each, own] += 2.5
depth = rng.lognormal(sigma=0.4, size=(len(y), 1))
X = pd.DataFrame(rng.poisson(rate.loc[y].to_numpy() * depth), columns=genes)

# %%
# The k best genes by likelihood may all speak for the large groups; those that tell every pair of
# types apart do not forget the small one. Depth is part of the model.
model = SparsePoissonNB(k=8, exposure="total", objective="pairs").fit(X, y)
print(", ".join(model.get_feature_names_out()))
print(model.certificate_)

# %%
# What is each for? The shade is the mean, scaled to the range of the gene; a dot is as large as
# the share of the cells that have the gene at all.
FeaturePanelDisplay.from_estimator(model, X, y, kind="dots")
# sphinx_gallery_thumbnail_number = 1

# %%
# The same as a heat map.
FeaturePanelDisplay.from_estimator(model, X, y)

# %%
# And in figures: for each type the gene of the panel that sets it apart most.
print(
    markers(model, 1)
    .to_frame()[["class", "feature", "z", "log2_fold_change"]]
    .round(1)
    .to_string(index=False)
)
plt.show()
