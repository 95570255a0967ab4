"""Select, save, load, export: at every step the model says what it said before, of every model."""

import csv
import json

import anndata
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from click.testing import CliRunner

import naively
from naively.cli.commands import naively as command
from naively.jobs.explain import explain_file
from naively.models import MODELS
from naively.read.layout import Layout

N = 90
RNG = np.random.default_rng(8)
LABELS = np.array(["ham", "it's spam", "news"])[np.arange(N) % 3]
RATE = np.full((3, 8), 0.8) + 3 * np.eye(3, 8)
COUNTS = pd.DataFrame(
    RNG.poisson(RATE[np.arange(N) % 3] * RNG.uniform(0.5, 2, (N, 1))), columns=list("hgfedcba")
)
COUNTS["h"] += 1  # an exposure, too
WORDS = np.array(["sale", "offer", "team", "notes", "storm", "vote", "hello", "today"])


def texts():
    share = (RATE / RATE.sum(axis=1, keepdims=True))[np.arange(N) % 3]
    return [" ".join(RNG.choice(WORDS, 6, p=each)) for each in share]


TEXTS = pd.DataFrame({"title": texts(), "text": texts()})
TABLE = pd.DataFrame({
    "size": COUNTS["g"] + RNG.normal(size=N),
    "town": np.where(COUNTS["f"] > 1, "Oslo", "Rome"),
    "note": TEXTS["title"],
})  # fmt: skip
TABLE.loc[::7, "size"] = np.nan
GAPS = COUNTS.astype(float).mask(RNG.random(COUNTS.shape) < 0.1)
TWO = ["title", "text"]

# Name: the rows, and the options of `select`.
CASES = {
    **{kind: (COUNTS, {"model": kind}) for kind in MODELS if kind not in ("hybrid", "mixed")},
    "hybrid": (TEXTS, {"model": "hybrid", "text": "text"}),
    "hybrid of two": (TEXTS, {"model": "hybrid", "text": TWO}),
    "mixed": (TABLE[["size", "town"]], {"model": "mixed", "k": 2}),
    "mixed with texts": (TABLE, {"model": "mixed", "text": "note"}),
    "mixed, refit": (TABLE, {"model": "mixed", "text": "note", "train": {"refit": "logistic"}}),
    "words": (TEXTS, {"text": TWO}),
    "words, presence": (TEXTS, {"model": "bernoulli"}),
    "words, logarithms": (TEXTS, {"words": {"weights": "log"}}),
    "words, idf": (TEXTS, {"words": {"weights": "tfidf"}}),
    "words, idf and norm": (TEXTS, {"words": {"weights": "tfidf", "norm": "l2"}}),
    "words, exposure": (TEXTS, {"model": "poisson", "read": {"exposure": "total"}}),
    "words, threshold": (TEXTS, {"judge": {"precision": {"news": 0.9}}}),
    "exposure of a column": (COUNTS, {"model": "poisson", "read": {"exposure": "h"}}),
    "exposure of all": (COUNTS, {"model": "negative-binomial", "read": {"exposure": "total"}}),
    "missing": (GAPS, {"model": "poisson", "read": {"missing": "ignore"}}),
    "missing numbers": (GAPS, {"model": "gaussian", "read": {"missing": "ignore"}}),
    "refit": (COUNTS, {"model": "gaussian", "train": {"refit": "logistic"}}),
    "calibrated": (COUNTS, {"model": "bernoulli", "train": {"calibration": "cross-fitted"}}),
    "pairs": (COUNTS, {"model": "poisson", "choose": {"objective": "pairs"}}),
    "quota": (COUNTS, {"model": "poisson", "choose": {"quota": "even"}}),
    "redundancy": (COUNTS, {"model": "bernoulli", "choose": {"redundancy": "conditional"}}),
    "no smoothing": (COUNTS, {"model": "multinomial", "train": {"alpha": 0}}),
    "threshold": (COUNTS, {"judge": {"recall": {"it's spam": 0.95}}}),
    "sum": (COUNTS, {"read": {"normalize": 50}}),
    "sum and logarithms": (COUNTS, {"model": "l1-centers",
                                    "read": {"normalize": "median", "log1p": True}}),
    "all of it": (COUNTS, {"model": "gaussian", "judge": {"precision": {"ham": 0.95}},
                           "read": {"normalize": "median", "log1p": True},
                           "train": {"calibration": "cross-fitted"}}),
}  # fmt: skip


def test_every_model_is_there():
    assert {options.get("model", "multinomial") for _, options in CASES.values()} == {*MODELS}


def answers(model, X):
    asked = ("predict", "predict_proba", "decision_function", "transform")
    found = {name: getattr(model, name)(X) for name in asked if hasattr(model, name)}
    found["features"] = model.get_feature_names_out()
    return {name: each.toarray() if sp.issparse(each) else each for name, each in found.items()}


@pytest.mark.parametrize("name", CASES)
def test_a_model_says_the_same_at_every_step(name, tmp_path):
    rows, options = CASES[name]
    options = {"k": 4, "test": 0, **options}
    words = "text" in rows
    path = written(tmp_path, rows, options)
    X = rows["text"] if words and not isinstance(options.get("text"), list) else rows

    table = path if path.suffix == ".h5ad" else rows.assign(label=LABELS)
    selected = naively.select(table, label="label", **options)
    before = answers(selected.model, X)
    selected.save(tmp_path / "one")
    loaded = naively.load(tmp_path / "one")
    naively.save(loaded, tmp_path / "two.npz")
    assert (tmp_path / "two.npz").read_bytes() == (tmp_path / "one/model.npz").read_bytes()
    after = answers(naively.load(tmp_path / "two.npz"), X)
    assert after.keys() == before.keys()
    for each, values in before.items():
        assert pd.DataFrame(after[each]).equals(pd.DataFrame(values)), each  # to the bit

    layout = Layout(label="label")
    for row in (0, 41):
        told = [explain_file(str(each), str(path), row + 1, layout)
                for each in (tmp_path / "one", tmp_path / "two.npz")]  # fmt: skip
        assert told[0] == told[1]
        assert told[0].answer == before["predict"][row]
        total = told[0].start + sum(each.nats for each in told[0].contributions)
        assert np.isclose(total, told[0].total) or not np.isfinite(total)
        if "predict_proba" in before:
            np.testing.assert_allclose(
                [*told[0].probabilities.values()], before["predict_proba"][row], atol=1e-12
            )

    arguments = ["predict", tmp_path / "two.npz", path, "-q", "--out",
                 tmp_path / "labels.csv"]  # fmt: skip
    found = CliRunner().invoke(command, [*map(str, arguments)])
    assert found.exit_code == 0, found.output
    with (tmp_path / "labels.csv").open(newline="") as file:
        assert [row["label"] for row in csv.DictReader(file)] == before["predict"].tolist()

    for each in ("json", "python", "sql"):
        assert exported(loaded, each) == exported(tmp_path / "one/model.npz", each)
    assert json.loads(exported(loaded, "json"))["classes"] == sorted({*LABELS})
    if (source := exported(loaded, "python")) is not None:
        code = {}
        exec(source, code)
        assert [code["predict"](each) for each in as_mappings(rows, words, options)] == before[
            "predict"
        ].tolist()


def written(folder, rows, options):
    """A file of these rows: what is scaled is a matrix."""
    if "normalize" in options.get("read", {}):
        obs = pd.DataFrame({"label": LABELS}, index=[f"cell {i}" for i in range(N)])
        cells = anndata.AnnData(rows.to_numpy(float), obs, pd.DataFrame(index=rows.columns))
        cells.write_h5ad(folder / "rows.h5ad")
        return folder / "rows.h5ad"
    rows.assign(label=LABELS).to_csv(folder / "rows.csv", index=False)
    return folder / "rows.csv"


def exported(model, format):
    """What is exported; None for what the format cannot express."""
    try:
        return naively.export(model, format)
    except ValueError as error:
        assert "Use " in str(error)  # noqa: PT017
        return None


def as_mappings(rows, words, options):
    """Rows as the exported function takes them: values, or counts of words, by name."""
    if not words:
        return rows.to_dict("records")
    text = options.get("text", "text")
    columns = text if isinstance(text, list) else [text]
    split = rows[columns].agg(" ".join, axis=1).str.split()
    return [{word: each.count(word) for word in each} for each in split]
