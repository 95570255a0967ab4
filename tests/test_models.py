"""Model files: the same bytes for the same model, nothing in them is run, damage is noticed."""

import io
import json
import pickle
import zipfile
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, strategies as st
from sklearn.base import clone

from naively import (
    SparseBernoulliNB,
    SparseCategoricalNB,
    SparseGaussianNB,
    SparseL1Centers,
    SparseL2Centers,
    SparseMultinomialNB,
    SparseNegativeBinomialNB,
    SparsePoissonNB,
)
from naively.jobs.model_file import ModelFile, load_model, posterior, save_model
from naively.models.rules import LinearRule
from naively.models.value_rules import kind_of
from naively.read.errors import InputError
from naively.text.features import TextFeatures

X = np.array([[3, 0, 1, 0], [2, 1, 0, 0], [0, 3, 1, 1], [0, 2, 0, 2], [1, 1, 4, 0], [0, 0, 3, 1]])
Y = np.array(["a", "a", "b", "b", "c", "c"])
NAMES = ("", " th", "süß 日本")


def model_of(estimator, kind="multinomial"):
    estimator.fit(X, Y)
    columns = estimator.selection_.support
    return ModelFile(
        kind=kind,
        classes=tuple(estimator.classes_.tolist()),
        names=tuple(f"f{i}" for i in columns),
        columns=columns,
        n_features=X.shape[1],
        rule=estimator.rule_,
        threshold=0.0 if isinstance(estimator, SparseBernoulliNB) else None,
    )


def some_model():
    return ModelFile(
        kind="multinomial",
        classes=("ja", "nein"),
        names=NAMES,
        columns=np.array([1, 5, 8]),
        n_features=10,
        rule=LinearRule(np.array([0.5, -np.inf]), np.ones((2, 3)), np.log([0.25, 0.75])),
        features=TextFeatures("word", (1, 3), False, r"\w+", ("the",), "presence"),
        text_columns=("subject", "body"),
    )


def saved(model):
    out = io.BytesIO()
    save_model(model, out)
    return out.getvalue()


def loaded(content):
    return load_model(io.BytesIO(content))


@pytest.mark.parametrize("alpha", [1.0, 0.0])
@pytest.mark.parametrize("estimator", [SparseMultinomialNB, SparseBernoulliNB])
def test_loaded_model_answers_like_the_estimator(estimator, alpha):
    fitted = estimator(k=3, alpha=alpha)
    model = loaded(saved(model_of(fitted)))
    found = model.scores(X[:, model.columns])
    np.testing.assert_array_equal(np.array(model.classes)[found.argmax(axis=1)], fitted.predict(X))
    np.testing.assert_allclose(posterior(found), fitted.predict_proba(X), rtol=1e-12, atol=1e-300)


def same(one, other):
    first, second = one.rule.arrays(), other.rule.arrays()
    return (
        replace(one, columns=None, rule=None) == replace(other, columns=None, rule=None)
        and np.array_equal(one.columns, other.columns)
        and kind_of(one.rule) == kind_of(other.rule)
        and first.keys() == second.keys()
        and all(np.array_equal(first[name], second[name]) for name in first)
    )


ESTIMATORS = {
    "multinomial": SparseMultinomialNB(k=3, alpha=0.0),
    "bernoulli": SparseBernoulliNB(k=2),
    "poisson": SparsePoissonNB(k=3),
    "negative-binomial": SparseNegativeBinomialNB(k=3),
    "categorical": SparseCategoricalNB(k=3),
    "gaussian": SparseGaussianNB(k=2),
    "l2-centers": SparseL2Centers(k=3),
    "l1-centers": SparseL1Centers(k=3),
}


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_everything_comes_back(kind):
    for model in (some_model(), model_of(clone(ESTIMATORS[kind]), kind)):
        back = loaded(saved(model))
        assert same(back, model)
        seen = X[:, : len(model.names)]
        np.testing.assert_array_equal(back.scores(seen), model.scores(seen))


names = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)


@given(st.lists(names, max_size=6, unique=True), st.integers(0, 5))
def test_any_names_come_back(words, gaps):
    k = len(words)
    model = replace(
        some_model(),
        names=tuple(words),
        columns=np.arange(k) * (gaps + 1),
        n_features=k * (gaps + 1),
        rule=LinearRule(np.zeros(2), np.ones((2, k)), np.zeros(2)),
    )
    assert loaded(saved(model)).names == tuple(words)


def test_equal_models_give_equal_bytes_and_numpy_reads_them():
    content = saved(some_model())
    assert content == saved(some_model())
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        assert arrays["weights"].shape == (2, 3)


# Files from strangers --------------------------------------------------------------------------


def members(content):
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {info.filename: archive.read(info) for info in archive.infolist()}


def packed(parts, compression=zipfile.ZIP_STORED):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as archive:
        for name, part in parts.items():
            archive.writestr(name, part)
    return out.getvalue()


def npy(array):
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


def with_array(name, array):
    content = array if isinstance(array, bytes) else npy(array)
    return packed(members(saved(some_model())) | {f"{name}.npy": content})


def with_field(name, value, inside=None):
    parts = members(saved(some_model()))
    manifest = json.loads(parts["manifest.json"])
    (manifest[inside] if inside else manifest)[name] = value
    return packed(parts | {"manifest.json": json.dumps(manifest)})


class Bomb:
    def __reduce__(self):
        return (pytest.fail, ("code in the file was run",))


def test_code_in_a_model_is_never_run():
    pickled = npy(np.array([Bomb()], dtype=object))
    assert b"pytest" in pickled or b"outcomes" in pickled  # the bomb is in there
    for content in (with_array("weights", pickled), with_array("extra", pickled)):
        with pytest.raises(InputError, match="damaged"):
            loaded(content)
    with pytest.raises(InputError, match="not a model file"):
        loaded(pickle.dumps(Bomb()))


@pytest.mark.parametrize(
    ("name", "array", "match"),
    [
        ("weights", np.ones((2, 4)), "do not fit together"),
        ("weights", np.ones((2, 3), np.float32), "of type float32"),
        ("weights", np.full((2, 3), np.nan), "not numbers"),
        ("intercept", np.full(2, np.inf), "not numbers"),
        ("columns", np.array([1, 1, 2]), "not ascending"),
        ("columns", np.array([1, 2, 10]), "not ascending"),
        ("columns", np.array([-1, 2, 3]), "not ascending"),
        ("columns", np.array([1.0, 2.0, 3.0]), "another type"),
        ("name_ends", np.array([0, 9, 3]), "names of its features"),
        ("name_ends", np.array([0, 3, 4]), "names of its features"),
        ("name_bytes", np.full(18, 0xFF, np.uint8), "damaged"),
        ("log_prior", b"not an array", "damaged"),
    ],
)
def test_arrays_that_do_not_fit(name, array, match):
    with pytest.raises(InputError, match=match):
        loaded(with_array(name, array))


def test_array_that_claims_to_be_huge_takes_no_memory():
    head = npy(np.ones((2, 3))).replace(b"(2, 3)", b"(2, 99999999999999)")
    with pytest.raises(InputError, match="damaged"):
        loaded(with_array("weights", head))


@pytest.mark.parametrize(
    ("name", "value", "inside", "match"),
    [
        ("format", "another model", None, "not a model file of naively, but 'another model'"),
        ("version", 2, None, "written by a newer naively.*pip install --upgrade"),
        ("version", "x", None, "no naively wrote this: version 'x'"),
        ("kind", "neural", None, "knows no model 'neural'"),
        ("kind", 3, None, "`kind` in its manifest"),
        ("classes", ["a", "a"], None, "two or more different classes"),
        ("classes", ["a", 1], None, "must hold text only"),
        ("classes", ["a", "b", "c"], None, "do not fit together"),
        ("n_features", True, None, "`n_features` in its manifest"),
        ("n_features", 3, None, "not ascending"),
        ("first_column", 7, None, "numbering of columns"),
        ("rule", "neural", None, "knows no rule 'neural'"),
        ("rule", "absolute", None, "an array is missing, or one too many"),
        ("text", "x", None, "`text` in its manifest"),
        ("ngrams", [3, 1], "text", "rule for text"),
        ("ngrams", [1], "text", "`ngrams`"),
        ("analyzer", "eval", "text", "rule for text"),
        ("columns", [], "text", "names no column"),
    ],
)
def test_manifests_that_do_not_fit(name, value, inside, match):
    with pytest.raises(InputError, match=match):
        loaded(with_field(name, value, inside))


def test_feature_that_stands_twice():
    model = replace(some_model(), names=("a", "b", "a"))
    with pytest.raises(InputError, match="feature stands in it twice"):
        loaded(saved(model))


def test_other_archives():
    parts = members(saved(some_model()))
    for content, match in (
        (packed({"x.npy": npy(np.ones(3))}), "not a model file of naively; give the model"),
        (packed(parts | {"manifest.json": "[" * 100_000}), "not a model file"),
        (packed(parts | {"manifest.json": "[]"}), "not a model file"),
        (packed(parts, zipfile.ZIP_DEFLATED), "compressed, which files of naively never are"),
        (b"", "not a model file"),
        (b"text,label\n", "not a model file"),
    ):
        with pytest.raises(InputError, match=match):
            loaded(content)


def test_member_that_stands_twice():
    out = io.BytesIO(saved(some_model()))
    with zipfile.ZipFile(out, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("weights.npy", npy(np.ones((2, 3))))
    with pytest.raises(InputError, match="twice"):
        loaded(out.getvalue())


def test_every_cut_is_noticed():
    content = saved(some_model())
    for size in range(0, len(content), 37):
        with pytest.raises(InputError, match="damaged|not a model file"):
            loaded(content[:size])


def test_every_flipped_byte_is_noticed_or_harmless():
    content = bytearray(saved(some_model()))
    for place in range(0, len(content), 11):
        content[place] ^= 0x55
        try:
            # Some bytes carry nothing, such as a time in the archive.
            assert same(loaded(bytes(content)), some_model())
        except InputError:
            pass
        finally:
            content[place] ^= 0x55


@pytest.mark.parametrize(
    ("name", "value", "inside"),
    [
        ("threshold", 10**400, None),
        ("threshold", float("nan"), None),
        ("version", -5, None),
        ("version", True, None),
        ("classes", ["a", "\ud800"], None),
        ("classes", ["a", ""], None),
        ("n_features", 10**400, None),
        ("token_pattern", "a{99999999999999}", "text"),
        ("token_pattern", "(" * 5000, "text"),
        ("ngrams", [1, 10**30], "text"),
    ],
)
def test_fields_out_of_every_range(name, value, inside):
    with pytest.raises(InputError, match="is damaged|not a model file|no naively wrote this"):
        loaded(with_field(name, value, inside))


@pytest.mark.parametrize("shape", ["(-1, -8)", "(True,)", "(0, 1180591620717411303424)"])
def test_shapes_that_no_array_has(shape):
    parts = members(saved(some_model()))
    head = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    header = b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head.encode()
    with pytest.raises(InputError, match="is damaged"):
        loaded(packed(parts | {"weights.npy": header + bytes(64)}))


def test_model_of_impossible_classes_only():
    rule = replace(some_model().rule, log_prior=np.full(2, -np.inf))
    with pytest.raises(InputError, match="no class is possible"):
        loaded(saved(replace(some_model(), rule=rule)))
