"""
How sure is each word?
======================

The words that tell two kinds of texts apart come out of these texts; would other texts give the
same? A hundred random halves of the rows answer, for the price of counting once.
"""

import matplotlib.pyplot as plt
import numpy as np

from naively import FeatureScatterDisplay, SparseBernoulliNB, StabilityDisplay, selection_stability

# %%
# Six hundred made-up reviews of 400 words. Six words are clear, six are weak, all others are
# chance.
rng = np.random.default_rng(0)
CLEAR = ["lovely", "superb", "joy", "dull", "slow", "awful"]
WEAK = ["warm", "bright", "music", "long", "noise", "plot"]
words = np.array([*CLEAR, *WEAK, *(f"word{j}" for j in range(388))])
y = np.repeat(["bad", "good"], 300)
share = rng.uniform(0.02, 0.3, len(words))[None].repeat(2, axis=0)
towards = np.tile([0.0] * 3 + [1.0] * 3, 2)[: len(CLEAR + WEAK)]
for j, bad in enumerate(towards):
    strength = 0.35 if j < 6 else 0.13
    share[:, j] = 0.15 + strength * np.array([bad, 1 - bad])
X = (rng.random((600, len(words))) < share[(y == "good").astype(int)]).astype(int)

# %%
# How often each word is among the k best of a half. The clear ones stay; those that come and go
# are there by the luck of the rows.
KS = [2, 4, 6, 8, 12, 20, 40]
StabilityDisplay.from_estimator(SparseBernoulliNB(), X, y, ks=KS, feature_names=words)
found = selection_stability(SparseBernoulliNB(), X, y, ks=KS)
for k in (6, 12):
    print(f"k = {k}: on nine of ten halves {', '.join(words[found.stable(k)])}")

# %%
# ``stable=0.9`` keeps these, and trains on them alone.
print(SparseBernoulliNB(k=12, stable=0.9).fit(X, y).certificate_)

# %%
# Of forty words most are chance. How many texts hold a word, against what it weighs: the rare ones
# weigh more than they should.
model = SparseBernoulliNB(k=40).fit(X, y)
FeatureScatterDisplay.from_estimator(model, X, feature_names=words)
plt.show()
