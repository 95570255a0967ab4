"""
A model file, from Python
=========================

What ``naively select`` writes can be read by a program: the words, their weights, and the answers.
A model file is data only, so one from a stranger is safe to open.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt

from naively.jobs.learn import select
from naively.jobs.model_file import load_model, posterior
from naively.jobs.predict import eye_of
from naively.jobs.settings import ModelSettings, Recipe
from naively.read.batch import batch_of_texts
from naively.read.layout import Layout
from naively.text.features import TextFeatures

# %%
# A table as it comes: one review a line, its label beside it.
GOOD = ["a lovely film, superb acting", "superb and charming", "lovely music, charming story"]
BAD = ["dull and wretched", "a wretched story, awful acting", "awful, dull, no charm"]
folder = Path(tempfile.mkdtemp())
rows = [f"{text}\t{label}" for texts, label in ((GOOD, "good"), (BAD, "bad")) for text in texts]
(folder / "reviews.tsv").write_text("text\tlabel\n" + "\n".join(rows * 10))

# %%
# The command as a function: select words, train, test, write the result.
recipe = Recipe(
    files=(str(folder / "reviews.tsv"),),
    layout=Layout(text=("text",), label="label"),
    features=TextFeatures(),
    model=ModelSettings(k=6),
)
summary = select(recipe, str(folder / "result"))
print(summary.certificate)
print(f"accuracy {summary.evaluation.accuracy:.2f} on {summary.evaluation.test_rows} rows held out")

# %%
# The model, read back: which word moves an answer, and how far.
model = load_model(folder / "result" / "model.npz")
X = eye_of(model)(batch_of_texts(["a charming, lovely film with awful music"]))
moved = {
    name: weights[1] - weights[0]
    for j, (name, weights) in enumerate(zip(model.names, model.rule.weights.T, strict=True))
    if X[0, j]
}
figure, ax = plt.subplots(figsize=(6, 2.5), layout="constrained")
ax.barh(list(moved), list(moved.values()))
ax.set_xlabel(f"nats towards {model.classes[1]!r}")
print(dict(zip(model.classes, posterior(model.scores(X))[0].round(3).tolist(), strict=True)))
plt.show()
