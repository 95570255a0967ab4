"""
Which pixels tell ten digits apart?
===================================

Images of handwritten digits have 64 pixels of 0 to 16. How few of them are enough, which ones are
they, and how sure is the answer?
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from naively import SparseMultinomialNB, sparsity_path

# %%
# Every other image trains; the others test.
X, y = load_digits(return_X_y=True)
X_train, y_train, X_test, y_test = X[::2], y[::2], X[1::2], y[1::2]
KS = [2, 5, 10, 15, 20, 30, 40, 50, 64]

# %%
# One count of the training images gives the selection and its bound at every k.
path = sparsity_path(SparseMultinomialNB(), X_train, y_train, ks=KS)
models = [SparseMultinomialNB(k=k).fit(X_train, y_train) for k in KS]
accuracy = [model.score(X_test, y_test) for model in models]
possible = path.bound - path.baseline

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.5), layout="constrained")
left.plot(path.k, possible, "k--", lw=1, label="bound: no k pixels gain more")
left.plot(path.k, path.objective - path.baseline, "o-", label="gain of the k selected")
left.set(xlabel="k, of 64 pixels", ylabel="nats of the training likelihood", ylim=(0, None))
left.legend()
right.plot(path.k, accuracy, "o-")
right.set(xlabel="k, of 64 pixels", ylabel="accuracy on test images", ylim=(0, 1))
print("largest gap, relative:", f"{(path.gap / possible).max():.2g}")

# %%
# Twenty pixels, and what each says for each digit: weights of the rule, red for and blue against.
model = models[KS.index(20)]
print(model.certificate_)
weights = np.where(model.support_, model.coef_ - model.coef_.mean(axis=0), np.nan)
limit = np.nanmax(np.abs(weights))
figure, axes = plt.subplots(2, 5, figsize=(9, 4), layout="constrained")
for digit, ax in enumerate(axes.flat):
    image = ax.imshow(weights[digit].reshape(8, 8), cmap="RdBu_r", vmin=-limit, vmax=limit)
    ax.set(title=f"digit {digit}", xticks=[], yticks=[])
figure.colorbar(image, ax=axes, label="weight, nats per unit of ink")
# sphinx_gallery_thumbnail_number = 2

# %%
# Searching on closes the gap: the selection is then proven best.
print(SparseMultinomialNB(k=20, exact=True).fit(X_train, y_train).certificate_)
plt.show()
