"""`naively.select` is the command, on data in memory."""

from __future__ import annotations

import json

import anndata
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from click.testing import CliRunner

import naively
import naively.scanpy
from naively.cli.commands import naively as command

RNG = np.random.default_rng(1)
WORDS = np.array(
    ["sale", "offer", "cheap", "team", "notes", "agenda", "hello", "please", "today", "about"]
)
SHARES = {"spam": [4, 3, 2, 0, 0, 0, 3, 2, 2, 2], "ham": [0, 0, 0, 4, 3, 2, 3, 2, 2, 2]}
LABELS = ["spam", "ham", "ham"] * 40


def text(label):
    share = np.array(SHARES[label]) / sum(SHARES[label])
    return " ".join(RNG.choice(WORDS, size=8, p=share))


POSTS = pd.DataFrame(
    {
        "title": [text(label) for label in LABELS],
        "text": [text(label) for label in LABELS],
        "label": LABELS,
        "part": ["train", "train", "test", "dev"] * 30,
    }
)
COUNTS = pd.DataFrame(RNG.poisson(2, size=(120, 6)), columns=list("fedcba"))
COUNTS["c"] += 5 * (np.array(LABELS) == "ham")
FRAMES = {
    "pandas": lambda frame: frame,
    "pandas of Arrow": lambda frame: frame.convert_dtypes(dtype_backend="pyarrow"),
    "polars": pl.from_pandas,
    "pyarrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
}


def of_command(folder, frame, *options):
    path, out = folder / "posts.csv", folder / "of_command"
    frame.to_csv(path, index=False)
    arguments = [str(each) for each in ("select", path, *options, "--out", out, "-q")]
    found = CliRunner().invoke(command, arguments)
    assert found.exit_code == 0, found.output
    return out


@pytest.mark.parametrize("kind", FRAMES)
@pytest.mark.parametrize(
    ("options", "same"),
    [
        ({}, ()),
        ({"k": 4, "test": 0.3, "judge": {"seed": 2}},
         ("-k", 4, "--test", 0.3, "--judge", "seed=2")),
        ({"model": "bernoulli", "k": 0.5}, ("--model", "bernoulli", "-k", 0.5)),
        ({"text": ["title", "text"], "words": {"ngrams": (1, 2)}, "k": 7},
         ("--text", "title", "--text", "text", "--words", "ngrams=1,2", "-k", 7)),
        ({"text": ["title", "text"], "model": "hybrid", "k": 3},
         ("--text", "title", "--text", "text", "--model", "hybrid", "-k", 3)),
        ({"read": {"split": "part"}, "k": 3, "words": {"stop_words": ["hello", "today"]}},
         ("--read", "split=part", "-k", 3, "--words", "stop-words=STOP")),
        ({"words": {"weights": "tfidf"}, "k": 3,
          "choose": {"require": "hello", "exclude": ["o*", "s*"]}},
         ("--words", "weights=tfidf", "-k", 3, "--choose", "require=hello",
          "--choose", "exclude=o*", "--choose", "exclude=s*")),
    ],
    ids=lambda each: " ".join(map(str, each)),
)  # fmt: skip
def test_the_features_are_those_of_the_command_byte_for_byte(kind, options, same, tmp_path):
    (tmp_path / "stop.txt").write_text("hello\ntoday\n")
    same = [str(each).replace("STOP", str(tmp_path / "stop.txt")) for each in same]
    expected = of_command(tmp_path, POSTS, *same)
    found = naively.select(FRAMES[kind](POSTS), **options)
    found.save(tmp_path / "saved")
    for name in ("features.csv", "model.npz"):
        assert (tmp_path / "saved" / name).read_bytes() == (expected / name).read_bytes()
    assert {each.name for each in (tmp_path / "saved").iterdir()} == {
        each.name for each in expected.iterdir() if each.name != "run.toml"
    }
    one, other = (json.loads((each / "summary.json").read_text()) for each in (
        expected, tmp_path / "saved"
    ))  # fmt: skip
    assert one["features"] == other["features"] or one["files"] != other["files"]
    assert other["settings"]["command"].startswith("naively.select(table, ")


@pytest.mark.parametrize("kind", FRAMES)
def test_columns_of_numbers(kind, tmp_path):
    frame = COUNTS.assign(kind=LABELS)
    expected = of_command(tmp_path, frame, "--read", "numbers", "--label", "kind", "-k", 2)
    found = naively.select(FRAMES[kind](frame), label="kind", k=2)
    found.save(tmp_path / "saved")
    assert (tmp_path / "saved" / "features.csv").read_bytes() == (
        expected / "features.csv"
    ).read_bytes()
    again = naively.load(tmp_path / "saved")
    shuffled = FRAMES[kind](COUNTS[list("abcdef")])
    assert again.predict(shuffled).tolist() == found.model.predict(shuffled).tolist()


@pytest.mark.parametrize("text", [None, "text"])
def test_a_table_of_several_kinds(text, tmp_path):
    frame = POSTS[["text", "label"]].assign(
        size=RNG.normal(size=len(POSTS)), town=RNG.choice(["a", "b"], size=len(POSTS))
    )
    named = [] if text is None else ["--text", text]
    expected = of_command(tmp_path, frame, "--model", "mixed", *named, "-k", 3)
    found = naively.select(frame, model="mixed", text=text, k=3)
    found.save(tmp_path / "saved")
    names = [(each / "features.csv").read_bytes() for each in (tmp_path / "saved", expected)]
    assert names[0] == names[1]
    assert found.summary.n_features == 3 if text is None else found.summary.n_features > 3


def test_any_container_gives_the_same():
    frame = COUNTS.assign(kind=LABELS)
    expected = naively.select(frame, label="kind", k=3).model.predict(COUNTS).tolist()
    arrays = COUNTS.to_numpy()
    for rows in (arrays, sp.csr_matrix(arrays), sp.coo_array(arrays)):
        model = naively.select(rows, label=LABELS, k=3).model
        assert model.predict(arrays).tolist() == expected
    given = naively.select(COUNTS, label=np.array(LABELS), k=3)
    assert given.model.predict(COUNTS).tolist() == expected
    texts = POSTS["text"]
    whole = naively.select(POSTS, k=3)
    for same in (texts, texts.tolist(), pl.Series(texts), texts.to_numpy()):
        found = naively.select(same, label=POSTS["label"], k=3)
        assert found.features == whole.features.astype(object).to_dict("records")


def test_what_it_returns(tmp_path):
    found = naively.select(POSTS, k=3)
    assert found.features["feature"].tolist() == [each.name for each in found.summary.features]
    assert found.features["gain"].is_monotonic_decreasing
    assert type(naively.select(pl.from_pandas(POSTS), k=3).features) is pl.DataFrame
    page = found._repr_html_()
    assert page.startswith("<iframe")
    assert "&lt;html" in page
    assert found.features["feature"][0] in page
    assert type(found.model) is naively.SparseMultinomialNB
    assert set(found.model.predict(POSTS)) == {"spam", "ham"}
    said = f"<Selected: 3 of {found.summary.n_features} features, multinomial>"
    assert repr(found).split("\n") == [said, *found.summary.notes]
    some = naively.select(POSTS.assign(label=[None, *POSTS["label"][1:]]), k=3)
    assert "left out" in repr(some)
    found.save(tmp_path / "folder")
    POSTS.to_csv(tmp_path / "posts.csv", index=False)
    of_file = naively.select(tmp_path / "posts.csv", k=3)
    assert [row["feature"] for row in of_file.features] == found.features["feature"].tolist()


@pytest.mark.parametrize("nothing", [None, float("nan"), pd.NA])
def test_a_missing_label_is_no_class(nothing):
    labels = [nothing, *LABELS[1:]]
    texts = [f"word{row[0]} word{row[3]} some words" for row in COUNTS.to_numpy().tolist()]
    for table in (COUNTS, COUNTS.to_numpy(), sp.csr_array(COUNTS.to_numpy()), texts):
        found = naively.select(table, label=labels, k=3).summary
        assert {each.name for each in found.classes} == set(LABELS)
        assert "1 row without a label was left out." in found.notes


def test_groups_in_memory_are_a_column():
    with pytest.raises(ValueError, match="`read` groups must be the name of a column; got "):
        naively.select(COUNTS, label=LABELS, k=3, read={"groups": LABELS})


@pytest.mark.parametrize(
    "labels", [np.array(LABELS) == "ham", np.where(np.array(LABELS) == "ham", 7, 12)]
)
def test_labels_keep_their_type(labels):
    model = naively.select(COUNTS.assign(y=labels), label="y", k=2).model
    assert model.classes_.dtype.kind == labels.dtype.kind
    assert (model.predict(COUNTS) == labels).mean() > 0.8


def test_a_frame_to_test_on():
    found = naively.select(POSTS[:90], test=POSTS[90:], k=3)
    assert found.summary.evaluation.test_rows == 30


SECRET = "my secret diary"


@pytest.mark.parametrize(
    ("table", "options", "message"),
    [
        (POSTS, {"labell": "label"}, "No such option"),
        (POSTS, {"label": "kind"}, "no column 'kind'"),
        (POSTS, {"text": "body"}, "no column 'body'"),
        (POSTS, {"out": "folder"}, "write the result with `save`"),
        (POSTS, {"train": {"alpha": -1}}, "`train` alpha"),
        (POSTS, {"k": 1000}, "`k` must be at most"),
        (
            POSTS,
            {"choose": {"time_limit": 3}},
            "`choose` time-limit has no effect without `choose` exact",
        ),
        (POSTS.drop(columns="text"), {}, "`table`: row 1: the value of `title`"),
        ([SECRET], {}, "`label` must be the labels"),
        ([SECRET], {"label": [1, 2]}, "one label for each of the 1 rows"),
        ([SECRET, SECRET], {"label": ["a", None]}, "label"),
        ([SECRET, SECRET], {"label": ["a", "b"], "text": "t"}, "`text` names columns"),
        (POSTS.rename(columns={"title": 3}), {"read": {"numbers": True}}, "must have names"),
        (POSTS, {"test": [SECRET]}, "`test` must be a share, a file"),
        (pd.DataFrame({"text": [SECRET], "label": [None]}), {}, "no row has a label"),
    ],
)
def test_errors_are_told_in_python(table, options, message):
    with pytest.raises(ValueError, match=message) as caught:
        naively.select(table, **options)
    said = str(caught.value)
    assert SECRET not in said
    assert "--" not in said
    assert "/tmp" not in said


# One table, one result: shell, Python, scanpy -----------------------------------------------------

OPTIONS = {"model": "poisson", "k": 4}
SAME = ("--model", "poisson", "-k", 4, "--read", "exposure=total")


def cells(form):
    """Counts of cells, the same in a frame and in AnnData, where X holds logarithms."""
    rng = np.random.default_rng(4)
    types = np.array(["T", "B", "NK"])[np.arange(90) % 3]
    rate = np.full((3, 12), 0.7) + 4 * np.eye(3, 12)
    counts = rng.poisson(rate[np.arange(90) % 3] * rng.uniform(0.5, 2, (90, 1)))
    names = [f"gene {j}" for j in range(12)]
    index = [f"cell {i}" for i in range(90)]
    part = np.where(np.arange(90) < 60, "train", "test")
    adata = anndata.AnnData(
        X=np.log1p(counts).astype(np.float32),
        obs=pd.DataFrame({"type": pd.Categorical(types), "part": part}, index=index),
        var=pd.DataFrame({"long": names}, index=names),
        layers={"counts": form(counts)},
        uns={"anything": {"of": "others"}},
    )
    raw = anndata.AnnData(form(counts), obs=adata.obs, var=adata.var)
    adata.raw = raw
    return adata, pd.DataFrame(counts, columns=names).assign(type=types, part=part)


@pytest.mark.parametrize(
    ("form", "layer"),
    [(np.asarray, "counts"), (sp.csr_matrix, "counts"), (sp.csc_matrix, "raw")],
)
def test_shell_python_and_scanpy_make_the_same_table(form, layer, tmp_path):
    adata, frame = cells(form)
    own = frame.drop(columns="part")
    expected = of_command(tmp_path, own, *SAME, "--read", "numbers", "--label", "type")
    adata.write_h5ad(tmp_path / "cells.h5ad")
    of_file = naively.select(tmp_path / "cells.h5ad", label="type", **OPTIONS,
                             read={"layer": layer, "exposure": "total"})  # fmt: skip
    of_frame = naively.select(own, label="type", **OPTIONS, read={"exposure": "total"})
    before = adata.copy()
    of_cells = naively.select(adata, label="type", **OPTIONS,
                              read={"layer": layer, "exposure": "total"})  # fmt: skip
    for name, found in (("file", of_file), ("frame", of_frame), ("cells", of_cells)):
        found.save(tmp_path / name)
        table = (tmp_path / name / "features.csv").read_bytes()
        assert table == (expected / "features.csv").read_bytes()
    assert (tmp_path / "cells/model.npz").read_bytes() == (tmp_path / "file/model.npz").read_bytes()
    assert of_cells.features.equals(of_frame.features)
    assert adata.obs.equals(before.obs) and [*adata.uns] == ["anything"]  # noqa: PT018
    counts = adata.raw.X if layer == "raw" else adata.layers[layer]
    fitted = naively.SparsePoissonNB(k=4, exposure="total").fit(counts, adata.obs["type"])
    ranked = naively.scanpy.rank_genes(adata, "type", k=4, use_raw=layer == "raw",
                                       layer=None if layer == "raw" else layer)  # fmt: skip
    order = np.argsort(-fitted.scores_[fitted.support_], kind="stable")
    for model in (fitted, ranked):
        genes, gain = (np.asarray(each)[model.support_][order] for each in (
            adata.var_names, model.scores_
        ))  # fmt: skip
        assert of_cells.features["feature"].tolist() == genes.tolist()
        assert of_cells.features["gain"].tolist() == [float(f"{each:.7g}") for each in gain]
        columns = [f"weight:{label}" for label in model.classes_]
        weights = model.coef_[:, model.support_] - model.coef_[:, model.support_].mean(axis=0)
        np.testing.assert_allclose(of_cells.features[columns], weights.T[order], atol=1e-4)
    genes = own.drop(columns="type")
    assert of_cells.model.predict(genes).tolist() == fitted.predict(genes.to_numpy()).tolist()


def test_cells_with_a_split_and_cells_to_test(tmp_path):
    adata, _ = cells(sp.csr_matrix)
    read = {"layer": "counts"}
    split = naively.select(adata, label="type", k=4, read={**read, "split": "part"})
    assert split.summary.evaluation.test_rows == 30
    train, test = (adata[adata.obs["part"] == each].copy() for each in ("train", "test"))
    apart = naively.select(train, label="type", k=4, read=read, test=test)
    assert apart.summary.evaluation.accuracy == split.summary.evaluation.accuracy


def test_cells_that_cannot_be_read_are_refused():
    adata, frame = cells(np.asarray)
    for options, message in (
        ({"label": "kind"}, "no column of `obs` 'kind'.*"),
        ({"label": "type", "read": {"layer": "count"}}, "did you mean `counts`"),
        ({"label": "type", "test": frame}, "`test` must be a share, a file, or"),
        ({"label": "type", "text": "part"}, "`text`"),
    ):
        with pytest.raises(ValueError, match=message):
            naively.select(adata, **options)


@pytest.mark.parametrize("kind", [pl.Categorical, pl.Enum(["ham", "spam"])])
def test_labels_of_polars_may_be_categories(kind):
    frame = pl.from_pandas(POSTS).with_columns(pl.col("label").cast(kind))
    found = naively.select(frame, k=5, text="text")
    assert [each.name for each in found.summary.classes] == ["ham", "spam"]


@pytest.mark.parametrize("other", [None, "a"])
@pytest.mark.parametrize("labels", [np.arange(60) % 2, np.arange(60) % 2 > 0], ids=["int", "bool"])
def test_numbers_of_numpy_in_a_list_of_labels_are_numbers(labels, other):
    X = RNG.poisson(1 + 2 * labels[:, None], (60, 6))
    found = naively.select(X, label=[other] * 4 + list(labels[4:]), k=2, model="multinomial")
    texts = {str(each) for each in labels.tolist()}
    assert {each.name.lower() for each in found.summary.classes} == (
        {each.lower() for each in texts} | ({other} - {None})
    )
