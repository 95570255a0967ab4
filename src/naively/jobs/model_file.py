"""Models in files: arrays and a manifest, without pickles, reproducible byte for byte.

A model file is a zip archive (NumPy's .npz) of uncompressed arrays and ``manifest.json``. Reading
one never runs anything that stands in it: array headers are parsed, never evaluated as objects,
sizes are compared with the bytes present before memory is taken, and every field is checked.
"""

from __future__ import annotations

import io
import json
import os
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, BinaryIO, Literal, TypeAlias

import numpy as np
from numpy.lib import format as npy

from naively._types import Array, FloatArray, IntArray
from naively._versions import MODEL, VersionError
from naively.judging.thresholds import answers_at
from naively.models import MODELS
from naively.models.counting import presence_of
from naively.models.rules import HybridRule, Rule, winners
from naively.models.value_rules import RULES, MixedRule, kind_of, restored
from naively.read.bytes import opened
from naively.read.errors import InputError, cause
from naively.read.variables import Variables
from naively.statistics.column_kinds import KINDS
from naively.statistics.exposure import Exposure
from naively.statistics.matrix import Matrix
from naively.statistics.mixed_columns import MixedColumns
from naively.text.features import LARGEST_NGRAM, WEIGHTS, TextFeatures, Weights
from naively.text.labels import clean
from naively.text.table_words import TableWords
from naively.text.vocabulary import Vocabulary
from naively.text.weighting import log_weights, scaled
from naively.work.archive import MANIFEST, stored_arrays, stored_manifest

_BY_CLASS = ("intercept", "log_prior")  # arrays (C,) of rules, finite or -inf
_BY_FEATURE = ("weights", "veto", "centers", "mean", "precision", "offset")  # (C, k), finite
_DATE = (1980, 1, 1, 0, 0, 0)  # a zip archive wants a time; a fixed one makes files reproducible
_LARGEST = 1 << 48  # no matrix has more columns
_TYPES = ("<f8", "<i8", "|u1")

LabelType: TypeAlias = Literal["text", "int", "float", "bool"]
_LABELS: Mapping[LabelType, Callable[[str], Any]] = {
    "text": str,
    "int": int,
    "float": float,
    "bool": {"False": False, "True": True}.__getitem__,
}


@dataclass(frozen=True, slots=True)
class ModelFile:
    """All that prediction needs: the rule, the selected features, and how to count them."""

    kind: str  # one of MODELS
    classes: tuple[str, ...]  # (C,)
    names: tuple[str, ...]  # (k,) of the selected features
    columns: IntArray  # (k,) their places among the columns of training, ascending
    n_features: int  # columns of the training matrix
    rule: Rule  # C classes, k features
    threshold: float | None = None  # an entry above it is present; None: the values count
    weights: Weights = "counts"  # of columns of numbers; those of texts are told by `features`
    idf: FloatArray | None = None  # (k,) factors of the features; None: there are none
    # (m,) where `idf` is of all terms, over which rows have length 1, or the total of all columns
    known: tuple[str, ...] = ()
    features: TextFeatures | None = None  # how they are found in texts; None: columns of numbers
    text_columns: tuple[str, ...] = ()  # in which they are found
    first_column: int = 0  # number of the first column in svmlight and Matrix Market files
    named: bool = True  # names are of the data; False: they are numbers of columns
    layer: str | None = None  # of AnnData, that was trained on; None for X or another format
    exposure: Exposure = None  # what the rule sees after the features: see `statistics.exposure`
    exposure_name: str = ""  # of its column, or "total"
    missing: bool = False  # NaN in a row is a value that is missing, and says nothing
    normalize: float | None = None  # sum that rows of a matrix are scaled to when they are read
    log1p: bool = False  # and ln(1 + value) after that
    whole: bool | None = None  # values of training were whole numbers; None: it is not known
    size: float | None = None  # most that they are from 0 in a class, on average; None: not known
    variables: Variables | None = None  # of a table: what is read of it for the k features
    # Class that is answered only from so many nats of log-odds on; None: the likeliest is
    answer_from: tuple[str, float] | None = None
    split: str = ""  # column that said which rows to train on, if one did
    label_type: LabelType = "text"  # what the classes are, of which these are the spellings

    @property
    def n_regions(self) -> int:
        """Columns of text whose features are counted apart, side by side."""
        return max(len(self.text_columns), 1) if self.kind == "hybrid" else 1

    @property
    def labels(self) -> Array:
        """Classes as they were in training, (C,)."""
        return np.array([_LABELS[self.label_type](each) for each in self.classes])

    @property
    def wanted(self) -> tuple[tuple[str, ...] | None, IntArray | None]:
        """Names and places of the columns of numbers that it reads: with those of an exposure."""
        if self.exposure == "total":
            return self.known or None, None
        if self.exposure is None:
            return self.names, self.columns
        at = int(np.searchsorted(self.columns, self.exposure))
        names = (*self.names[:at], self.exposure_name, *self.names[at:])
        return names, np.insert(self.columns, at, self.exposure)

    @property
    def scales(self) -> bool:
        """Whether rows are scaled, or taken logarithms of, before their columns are selected."""
        return self.normalize is not None or self.log1p

    def seen(self, X: Matrix) -> Matrix:
        """Return what the rule sees of the selected columns of rows: (n, k), or (n, R * k)."""
        if self.threshold is not None:
            return presence_of(self.threshold, X)
        if self.weights == "log":
            X = log_weights(X)
        return X if self.idf is None or self.known else scaled(X, self.idf)

    def scores(self, X: Matrix) -> FloatArray:
        """Score of each class (n, C), up to a term per row, from the selected columns (n, k)."""
        return self.rule.scores(self.seen(X))

    def answers(self, scores: FloatArray) -> IntArray:
        """Codes (n,) of the classes that are answered: from `answer_from` on, or the likeliest."""
        if self.answer_from is None:
            return winners(scores)
        name, least = self.answer_from
        return answers_at(scores, self.classes.index(name), least)


def posterior(scores: FloatArray) -> FloatArray:
    """Probability of each class (n, C) from scores (n, C)."""
    shifted = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(shifted / shifted.sum(axis=1, keepdims=True))


# Writing ---------------------------------------------------------------------------------------


def save_model(model: ModelFile, file: BinaryIO) -> None:
    """Write a model; equal models give equal bytes.

    Parameters
    ----------
    model
        The model.
    file
        A binary file open for writing.
    """
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        manifest = json.dumps(_manifest(model), sort_keys=True, indent=1)
        archive.writestr(zipfile.ZipInfo(MANIFEST, _DATE), manifest)
        for name, array in _arrays(model):
            content = io.BytesIO()
            npy.write_array(content, np.ascontiguousarray(array), (1, 0), allow_pickle=False)
            archive.writestr(zipfile.ZipInfo(f"{name}.npy", _DATE), content.getvalue())


def _manifest(model: ModelFile) -> dict[str, Any]:
    return {
        **MODEL.marks(),
        "kind": model.kind,
        "rule": kind_of(model.rule),
        "classes": list(model.classes),
        "n_features": model.n_features,
        "threshold": model.threshold,
        "weights": model.weights,
        "first_column": model.first_column,
        "named": model.named,
        "layer": model.layer,
        **({} if model.exposure is None else _exposure_of(model)),
        **({"missing": True} if model.missing else {}),
        **({} if model.normalize is None else {"normalize": model.normalize}),
        **({"log1p": True} if model.log1p else {}),
        **({} if model.whole is None else {"whole": model.whole}),
        **({} if model.size is None else {"size": model.size}),
        **({} if model.answer_from is None else {"answer_from": list(model.answer_from)}),
        **({"split": model.split} if model.split else {}),
        **({} if model.label_type == "text" else {"label_type": model.label_type}),
        "text": text_of(model),
        **({} if model.variables is None else {"variables": variables_told(model.variables)}),
    }


def text_of(model: ModelFile) -> dict[str, Any] | None:
    """Return how features are found in texts, for JSON; None for columns of numbers."""
    text = model.features
    return text and {"columns": list(model.text_columns), **_analysis(text)}


def _analysis(text: TextFeatures) -> dict[str, Any]:
    return {
        "analyzer": text.analyzer,
        "ngrams": list(text.ngram_range),
        "stop_words": list(text.stop_words),
        "token_pattern": text.token_pattern,
        "lowercase": text.lowercase,
        "weights": text.weights,
        "norm": text.norm,
    }


def variables_told(variables: Variables) -> dict[str, Any]:
    """Return what is read of a table, for JSON."""
    columns, words = variables.columns, variables.words
    assert columns is not None
    return {
        "names": list(variables.names),
        "kinds": list(columns.kinds),
        "categories": [list(labels) for labels in columns.labels],
        "text": {"columns": list(words.columns), **_analysis(words.features)},
        "words": [list(each) for each in words.words],
    }


def _exposure_of(model: ModelFile) -> dict[str, Any]:
    return {"exposure": model.exposure, "exposure_name": model.exposure_name}


def _encoded(what: str, names: Sequence[str]) -> Iterator[tuple[str, Array]]:
    encoded = [name.encode("utf-8") for name in names]
    yield f"{what}_bytes", np.frombuffer(b"".join(encoded), dtype=np.uint8)
    yield f"{what}_ends", np.cumsum([len(name) for name in encoded], dtype=np.int64)


def _arrays(model: ModelFile) -> Iterator[tuple[str, Array]]:
    yield from _encoded("name", model.names)
    if model.known:
        yield from _encoded("known", model.known)
    yield "columns", model.columns.astype("<i8")
    if model.idf is not None:
        yield "idf", model.idf.astype("<f8")
    for name, array in model.rule.arrays().items():
        yield name, array.astype("<i8" if array.dtype.kind == "i" else "<f8")


# Reading ---------------------------------------------------------------------------------------


def load_model(source: str | os.PathLike[str] | BinaryIO) -> ModelFile:
    """Read a model file; nothing in it is ever run.

    Parameters
    ----------
    source
        A path, or a binary file object that can seek.

    Raises
    ------
    InputError
        If the file is damaged, is something else, or of another version.
    """
    if not isinstance(source, str | os.PathLike):
        return _loaded(source, str(getattr(source, "name", "<stream>")))
    with opened(os.fspath(source)) as file:
        return _loaded(file, os.fspath(source))


def _loaded(file: BinaryIO, name: str) -> ModelFile:
    with (
        _explained(name),
        zipfile.ZipFile(file) as archive,
    ):
        manifest = stored_manifest(archive, MODEL)
        return _model(_Fields(manifest), stored_arrays(archive, _TYPES))


class _DamageError(ValueError):
    """What is wrong with the contents of a model file."""


@contextmanager
def _explained(name: str) -> Iterator[None]:
    try:
        yield
    except zipfile.BadZipFile as error:
        raise InputError(
            f"{name}: this is not a model file of naively, or it is damaged or cut off ({error}); "
            f"{MODEL.wanted}"
        ) from error
    except VersionError as error:
        raise InputError(f"{name}: {error}") from error
    except Exception as error:  # whatever a file from anybody makes the libraries raise
        if isinstance(error, InputError | MemoryError):
            raise
        raise InputError(
            f"{name}: the model file is damaged ({cause(error)}); get it again or train anew."
        ) from error


class _Fields:
    """Typed access to a manifest from anybody."""

    def __init__(self, fields: Any) -> None:
        if not isinstance(fields, dict):
            raise _DamageError("its manifest holds another kind of record")
        self._fields = fields

    def get(self, name: str, *kinds: type) -> Any:
        value = self._fields.get(name)
        if type(value) not in kinds:
            raise _DamageError(f"`{name}` in its manifest is missing or of another type")
        if type(value) is str and clean(value) != value:
            raise _DamageError(f"`{name}` in its manifest is not text that can be written")
        if isinstance(value, int | float) and not abs(value) <= _LARGEST:  # also NaN
            raise _DamageError(f"`{name}` in its manifest is out of range")
        return value

    def texts(self, name: str) -> tuple[str, ...]:
        values = self.get(name, list)
        if not all(type(value) is str for value in values):
            raise _DamageError(f"`{name}` in its manifest must hold text only")
        if any(clean(value) != value for value in values):
            raise _DamageError(f"`{name}` in its manifest holds text that cannot be written")
        return tuple(values)

    def lists(self, name: str) -> tuple[tuple[str, ...], ...]:
        """Return lists of texts."""
        values = self.get(name, list)
        return tuple(_Fields({name: each}).texts(name) for each in values)


def _model(fields: _Fields, arrays: dict[str, Array]) -> ModelFile:
    text = fields.get("text", dict, type(None))
    features = None if text is None else _text_features(_Fields(text))
    model = ModelFile(
        kind=fields.get("kind", str),
        classes=fields.texts("classes"),
        names=_names(arrays, "name"),
        columns=_typed(arrays, "columns", "<i8"),
        n_features=fields.get("n_features", int),
        rule=_rule(arrays, fields.get("rule", str)),
        threshold=fields.get("threshold", float, int, type(None)),
        weights=_weights(fields.get("weights", str)),
        idf=_typed(arrays, "idf", "<f8") if "idf" in arrays else None,
        known=_names(arrays, "known") if "known_bytes" in arrays else (),
        features=features,
        text_columns=() if text is None else _text_columns(_Fields(text)),
        first_column=fields.get("first_column", int),
        named=fields.get("named", bool),
        layer=fields.get("layer", str, type(None)),
        exposure=fields.get("exposure", str, int, type(None)),
        exposure_name=fields.get("exposure_name", str, type(None)) or "",
        missing=fields.get("missing", bool, type(None)) or False,
        normalize=fields.get("normalize", float, type(None)),
        log1p=fields.get("log1p", bool, type(None)) or False,
        whole=fields.get("whole", bool, type(None)),
        size=fields.get("size", float, type(None)),
        variables=_variables(fields),
        answer_from=_answer_from(fields),
        split=fields.get("split", str, type(None)) or "",
        label_type=_label_type(fields.get("label_type", str, type(None)) or "text"),
    )
    _check(model)
    return model


def _variables(fields: _Fields) -> Variables | None:
    told = fields.get("variables", dict, type(None))
    if told is None:
        return None
    own = _Fields(told)
    names, kinds = own.texts("names"), own.texts("kinds")
    categories = tuple(map(_categories, own.get("categories", list)))
    words = own.lists("words")
    text = _Fields(own.get("text", dict))
    columns = text.texts("columns")
    if not len(names) == len(kinds) == len(categories) or len(words) != len(columns):
        raise _DamageError("its columns do not fit together")
    for kind, labels in zip(kinds, categories, strict=True):
        if kind not in KINDS or _repeated(labels) or (labels and kind != "categorical"):
            raise _DamageError("its columns are of no kind that this version knows")
    if any(not all(a < b for a, b in pairwise(each)) for each in words):
        raise _DamageError("its words are not in their order")
    found = TableWords(columns, _text_features(text), tuple(map(Vocabulary.of, words)))
    return Variables((), found, names, MixedColumns(kinds, categories, names))


def _categories(labels: Any) -> tuple[Any, ...]:
    """Labels of one column: text, numbers or truth values."""
    known = type(labels) is list and all(
        type(each) in (str, bool, int) or (type(each) is float and np.isfinite(each))
        for each in labels
    )
    if not known or any(type(each) is str and clean(each) != each for each in labels):
        raise _DamageError("its categories are no text, numbers or truth values")
    return tuple(labels)


def _answer_from(fields: _Fields) -> tuple[str, float] | None:
    found = fields.get("answer_from", list, type(None))
    if found is None:
        return None
    if len(found) != 2 or type(found[1]) not in (int, float) or not abs(found[1]) <= _LARGEST:
        raise _DamageError("`answer_from` must be a class and a number within range")
    if found[0] not in fields.texts("classes"):
        raise _DamageError("`answer_from` in its manifest names none of its classes")
    return found[0], float(found[1])


def _label_type(name: str) -> LabelType:
    for known in _LABELS:
        if known == name:
            return known
    raise _DamageError(f"this version knows no labels of type {name!r}")


def _weights(name: str) -> Weights:
    for weights in WEIGHTS:
        if weights == name:
            return weights
    raise _DamageError(f"this version knows no weights {name!r}")


def _text_columns(fields: _Fields) -> tuple[str, ...]:
    columns = fields.texts("columns")
    if not columns:
        raise _DamageError("it names no column of text")
    return columns


def _text_features(fields: _Fields) -> TextFeatures:
    ngrams = fields.get("ngrams", list)
    if len(ngrams) != 2 or any(type(n) is not int for n in ngrams):
        raise _DamageError("`ngrams` must be two numbers")
    if ngrams[1] > LARGEST_NGRAM:
        raise _DamageError("its rule for text is not one that this version knows")
    try:
        return TextFeatures(
            analyzer=fields.get("analyzer", str),
            ngram_range=(ngrams[0], ngrams[1]),
            stop_words=fields.texts("stop_words"),
            token_pattern=fields.get("token_pattern", str),
            lowercase=fields.get("lowercase", bool),
            weights=fields.get("weights", str),
            norm=fields.get("norm", str, type(None)),
        )
    except _DamageError:
        raise
    except ValueError as error:
        raise _DamageError(
            f"its rule for text is not one that this version knows ({error})"
        ) from error


def _typed(arrays: dict[str, Array], name: str, dtype: str) -> Array:
    if name not in arrays or arrays[name].dtype.str != dtype:
        raise _DamageError(f"the array {name} is missing or of another type")
    return arrays[name]


def _names(arrays: dict[str, Array], what: str) -> tuple[str, ...]:
    content = _typed(arrays, f"{what}_bytes", "|u1").tobytes()
    ends = _typed(arrays, f"{what}_ends", "<i8").ravel()
    bounds = np.concatenate(([0], ends))
    if (bounds[1:] < bounds[:-1]).any() or bounds[-1] != len(content):
        raise _DamageError("the names of its features do not fit together")
    limits = bounds.tolist()
    return tuple(
        content[start:end].decode("utf-8")
        for start, end in zip(limits[:-1], limits[1:], strict=True)
    )


def _rule(arrays: dict[str, Array], kind: str) -> Rule:
    if kind not in RULES:
        raise _DamageError(f"this version knows no rule {kind!r}")
    own = ("name_bytes", "name_ends", "known_bytes", "known_ends", "columns", "idf")
    try:
        return restored(kind, {name: each for name, each in arrays.items() if name not in own})
    except (TypeError, KeyError) as error:
        raise _DamageError("an array is missing, or one too many") from error


def _check(model: ModelFile) -> None:
    n_classes, k = len(model.classes), len(model.names)
    if model.kind not in MODELS:
        raise _DamageError(f"this version knows no model {model.kind!r}")
    _check_rule(model)
    if n_classes < 2 or _repeated(model.classes) or "" in model.classes:
        raise _DamageError("it needs two or more different classes")
    if model.features is not None and _repeated(model.names):
        raise _DamageError("a feature stands in it twice")
    weights = model.weights if model.features is None else model.features.weights
    if (model.idf is None) == (weights == "tfidf"):
        raise _DamageError("its weights do not fit its idf")
    two_passes = model.features is not None and model.features.two_passes
    _check_exposure(model)
    _check_missing(model)
    of_all = model.features is None and model.named and model.exposure == "total"
    if bool(model.known) != (two_passes or of_all) or (
        model.known
        and (
            (two_passes and not all(a < b for a, b in pairwise(model.known)))
            or len(model.known) != model.n_features
            or [model.known[j] for j in model.columns.tolist()] != list(model.names)
        )
    ):
        raise _DamageError("the terms that it knows are not those of its weights")
    if model.idf is not None and (
        model.idf.shape != (model.n_features if two_passes else k,)
        or not ((model.idf >= 0) & (model.idf < np.inf)).all()
    ):
        raise _DamageError("its idf is none")
    _check_columns(model)


def _check_rule(model: ModelFile) -> None:
    n_classes, k = len(model.classes), len(model.names)
    if (model.variables is not None) != isinstance(model.rule, MixedRule) or (
        (model.kind == "mixed") != (model.variables is not None)
    ):
        raise _DamageError("its rule is not that of its columns")
    if model.columns.shape != (k,):
        raise _DamageError("its arrays do not fit together")
    if isinstance(model.rule, MixedRule):
        _check_mixed(model, model.rule)
    elif isinstance(model.rule, HybridRule):
        _check_hybrid(model, model.rule)
    else:
        _check_arrays(model.rule.arrays(), n_classes, k + (model.exposure is not None))


def _check_arrays(arrays: Mapping[str, Array], n_classes: int, width: int) -> None:
    """Check the arrays of a rule that is no other rules together: shapes, types and values."""
    cells = int(arrays["starts"][-1]) if arrays.get("starts", np.empty(0)).size else 0
    expected: dict[str, tuple[int, ...]] = {
        **dict.fromkeys((*_BY_CLASS, "veto_offset"), (n_classes,)),
        **dict.fromkeys(_BY_FEATURE, (n_classes, width)),
        "log_prob": (cells, n_classes),
        "starts": (width + 1,),
    }
    if any(
        name not in expected
        or array.shape != expected[name]
        or array.dtype.str != ("<i8" if name == "starts" else "<f8")
        for name, array in arrays.items()
    ):
        raise _DamageError("its arrays do not fit together")
    _check_values(arrays)


def _check_hybrid(model: ModelFile, rule: HybridRule) -> None:
    n_classes, k, of_text = len(model.classes), len(model.names), model.features is not None
    regions = rule.theta.size
    width = rule.weights.shape[-1] if rule.weights.ndim == 2 else -1
    numbers = (rule.intercept, rule.theta, rule.weights)
    shapes = ((n_classes,), (model.n_regions if of_text else regions,), (n_classes, width))
    if (
        regions < 1
        or any(each.dtype.str != "<f8" for each in numbers)
        or tuple(each.shape for each in numbers) != shapes
        or any(each.dtype.str != "<i8" for each in (rule.starts, rule.offsets))
        or rule.starts.shape != (regions + 1,)
        or rule.offsets.shape != (regions,)
    ):
        raise _DamageError("its arrays do not fit together")
    starts, offsets = rule.starts, rule.offsets
    words = np.concatenate([starts[:-1] - offsets, starts[1:] - offsets])
    if (
        starts[0] != 0
        or (np.diff(starts) < 0).any()
        or starts[-1] != (regions * k if of_text else k)
        or (of_text and width != k)
        or ((words < 0) | (words > width)).any()
    ):
        raise _DamageError("its regions do not fit together")
    _check_values({"intercept": rule.intercept, "theta": rule.theta, "weights": rule.weights})


def _check_values(arrays: Mapping[str, Array]) -> None:
    for name, array in arrays.items():
        below = name in (*_BY_CLASS, "log_prob")
        if not (array < np.inf if below else np.isfinite(array)).all():
            raise _DamageError("its weights are not numbers")
    starts = arrays.get("starts")
    if starts is not None and (starts[0] != 0 or (starts[1:] <= starts[:-1]).any()):
        raise _DamageError("its categories do not fit together")
    prior = arrays.get("log_prior")
    if prior is not None and not (prior > -np.inf).any():
        raise _DamageError("no class is possible")


_RULES_OF = {"gaussian": ("linear", "quadratic"), "categorical": ("table",)}  # others: linear


def _check_mixed(model: ModelFile, rule: MixedRule) -> None:
    """Check that the rule of each kind is one, of the columns of that kind."""
    assert model.variables is not None
    variables, n_classes = model.variables.all, len(model.classes)
    if variables.names != model.names or set(rule.rules) != set(variables.kinds):
        raise _DamageError("its features are not those of its columns")
    _check_arrays({"log_prior": rule.log_prior}, n_classes, 0)
    for kind, own in rule.rules.items():
        at, of_rule = rule.columns[kind], kind_of(own)
        if at.dtype.str != "<i8" or not np.array_equal(at, variables.of_kind(kind)):
            raise _DamageError("its columns are not those of its rules")
        arrays = own.arrays()
        if of_rule not in _RULES_OF.get(kind, ("linear",)):
            raise _DamageError(f"this version knows no rule {of_rule!r} of {kind} columns")
        _check_arrays(arrays, n_classes, len(at))
        if ("offset" in arrays) != (of_rule != "table"):
            raise _DamageError("what it makes of missing values does not fit its rule")


def _check_exposure(model: ModelFile) -> None:
    exposure, of_text = model.exposure, model.features is not None
    if isinstance(exposure, int) and (
        of_text or not 0 <= exposure < model.n_features or exposure in model.columns
    ):
        raise _DamageError("its exposure is no column, or a feature")
    if isinstance(exposure, str) and exposure != "total":
        raise _DamageError("its exposure is not known")
    if exposure is not None and kind_of(model.rule) != "linear":
        raise _DamageError("its rule takes no exposure")


def _check_missing(model: ModelFile) -> None:
    kind = MODELS.get(model.kind)
    takes = kind is not None and "missing" in kind.parameters and model.features is None
    if model.missing and not takes:
        raise _DamageError("its model takes no missing values")
    if ("offset" in model.rule.arrays()) != (
        model.missing and kind_of(model.rule) in ("linear", "quadratic")
    ):
        raise _DamageError("what it makes of missing values does not fit its rule")


def _check_columns(model: ModelFile) -> None:
    columns = model.columns
    if columns.size and (
        columns[0] < 0 or columns[-1] >= model.n_features or (columns[1:] <= columns[:-1]).any()
    ):
        raise _DamageError("its columns are not ascending numbers of features")
    if model.normalize is not None and not model.normalize > 0:
        raise _DamageError("its rows have no sum above 0")
    if model.first_column not in (0, 1) or model.n_features < 0:
        raise _DamageError("its numbering of columns is not known")
    try:
        _ = model.labels
    except (KeyError, ValueError) as error:
        raise _DamageError("its classes are not of their type") from error


def _repeated(names: Sequence[Any]) -> bool:
    return len(set(names)) != len(names)
