"""
Whose documentation is this?
============================

Docstrings of Python and of four libraries, read from their installed sources. A handful of words
tells the five apart; the accuracy on texts held out shows how many are worth having.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS
from sklearn.model_selection import train_test_split

from naively import SparseMultinomialNB, sparsity_path
from naively.jobs.demo import gather
from naively.text.counter import count_rows
from naively.text.features import TextFeatures

# %%
# Texts and labels, a fifth of each library held out, and one count of every word.
docstrings = gather()
labels = np.array([each.library for each in docstrings])
rule = TextFeatures(stop_words=tuple(ENGLISH_STOP_WORDS))
vocabulary, X = count_rows([each.text for each in docstrings], rule)
names = vocabulary.names()
X_train, X_test, y_train, y_test = train_test_split(
    X, labels, test_size=0.2, stratify=labels, random_state=0
)
print(f"{len(labels):,} docstrings, {len(names):,} words")

# %%
# One count of the words holds every selection: more words, better answers.
KS = [5, 20, 100, 500, 2000]
path = sparsity_path(SparseMultinomialNB(), X_train, y_train, ks=KS)
accuracy = []
for k in KS:
    model = SparseMultinomialNB(k=k).fit(X_train, y_train)
    same = np.array_equal(path.support(k), model.get_support(indices=True))
    accuracy.append(model.score(X_test, y_test))
    print(f"{k:>5} words: {accuracy[-1]:.3f} recognised; on the path: {same}")

figure, ax = plt.subplots(figsize=(6, 3.5), layout="constrained")
ax.semilogx(KS, accuracy, "o-")
ax.set(xlabel=f"k, of {len(names):,} words", ylabel="docstrings recognised", ylim=(0, 1))

# %%
# The first words, and how good they are proven to be.
model = SparseMultinomialNB(k=20).fit(X_train, y_train)
print(", ".join(model.get_feature_names_out(names)))
print(model.certificate_)
plt.show()
