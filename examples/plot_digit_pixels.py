"""
Which pixels tell ten digits apart?
===================================

Images of handwritten digits have 64 pixels of 0 to 16. How few of them are enough, which ones are
they, and how sure is the answer?
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from naively import (
    FeatureWeightsDisplay,
    SparseMultinomialNB,
    SparsityCV,
    SparsityPathDisplay,
    sparsity_path,
)

# %%
# Every other image trains; the others test.
X, y = load_digits(return_X_y=True)
X_train, y_train, X_test, y_test = X[::2], y[::2], X[1::2], y[1::2]

# %%
# One count of the training images gives the selection and its bound at every k, and the
# cross-validated accuracy with the selection inside each fold. The upper panel shows what k pixels
# gain and what no k pixels can exceed; the lower one what they are worth on images not seen.
search = SparsityCV(SparseMultinomialNB(), ks=np.arange(2, 65)).fit(X_train, y_train)
SparsityPathDisplay.from_estimator(search, X_train, y_train)
print(f"best k {search.best_k_}, within one standard error {search.simplest_k_}")
print(f"accuracy on test images with the best k {search.score(X_test, y_test):.3f}")

# %%
# How far can the selections be from the best ones? A few per cent with very few pixels, and next to
# nothing from ten on.
path = sparsity_path(SparseMultinomialNB(), X_train, y_train, ks=[2, 5, 10, 20, 40])
for k, share in zip(path.k, path.gap / (path.bound - path.baseline), strict=True):
    print(f"{k:>3} pixels: at most {share:.2%} of the gain is missing")

# %%
# Twenty pixels, and what each says for each digit: blue for it, red against it.
model = SparseMultinomialNB(k=20).fit(X_train, y_train)
print(model.certificate_)
FeatureWeightsDisplay.from_estimator(model, image_shape=(8, 8))
# sphinx_gallery_thumbnail_number = 2

# %%
# Searching on closes the gap: the selection is then proven best.
print(SparseMultinomialNB(k=20, exact=True).fit(X_train, y_train).certificate_)
plt.show()
