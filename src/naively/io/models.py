"""Models in files: arrays and a manifest, without pickles, reproducible byte for byte.

A model file is a zip archive (NumPy's .npz) of uncompressed arrays and ``manifest.json``. Reading
one never runs anything that stands in it: array headers are parsed, never evaluated as objects,
sizes are compared with the bytes present before memory is taken, and every field is checked.
"""

from __future__ import annotations

import io
import json
import math
import reprlib
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, BinaryIO, TypeAlias

import numpy as np
from numpy.lib import format as npy

from naively._types import Array, FloatArray, IntArray
from naively.io.errors import InputError
from naively.io.files import cause, open_input, passes
from naively.io.formats import Source
from naively.io.text import ANALYZERS, TextRule, text_features
from naively.models.rules import HybridRule, LinearRule, hybrid_rule
from naively.models.value_rules import AbsoluteRule, QuadraticRule
from naively.text.features import LARGEST_NGRAM
from naively.text.labels import clean

FORMAT = "naively model"
VERSION = 1
COUNTING = ("multinomial", "hybrid")  # kinds whose entries are counts
_KINDS = ("bernoulli", *COUNTING, "l1-centers", "l2-centers", "gaussian")
_BY_CLASS = ("intercept", "log_prior")  # arrays (C,) of rules, finite or -inf
_BY_FEATURE = ("weights", "veto", "centers", "mean", "precision")  # (C, k), finite
_RULE_ARRAYS = (*_BY_CLASS, *_BY_FEATURE, "theta", "veto_offset")
_DATE = (1980, 1, 1, 0, 0, 0)  # a zip archive wants a time; a fixed one makes files reproducible
_MANIFEST = "manifest.json"
_MANIFEST_LIMIT = 1 << 26  # bytes
_LARGEST = 1 << 48  # no matrix has more columns


Rule: TypeAlias = LinearRule | HybridRule | AbsoluteRule | QuadraticRule


@dataclass(frozen=True, slots=True)
class Model:
    """All that prediction needs: the rule, the selected features, and how to count them."""

    kind: str  # one of _KINDS
    classes: tuple[str, ...]  # (C,)
    names: tuple[str, ...]  # (k,) of the selected features
    columns: IntArray  # (k,) their places among the columns of training, ascending
    n_features: int  # columns of the training matrix
    rule: Rule  # C classes, k features
    threshold: float | None = None  # an entry above it is present; None: the values count
    text: TextRule | None = None  # None: the input is a matrix
    first_column: int = 0  # number of the first column in svmlight files

    @property
    def n_regions(self) -> int:
        """Columns of text whose features are counted apart, side by side."""
        return len(self.rule.theta) if isinstance(self.rule, HybridRule) else 1


def scores(model: Model, X: Any) -> FloatArray:
    """Score of each class (n, C), up to a term per row.

    From the selected columns X (n, k); (n, R * k) with regions side by side.
    """
    if model.threshold is not None:
        X = (np.float64(model.threshold) < X).astype(np.float64)
    return model.rule.scores(X)


def posterior(scores: FloatArray) -> FloatArray:
    """Probability of each class (n, C) from scores (n, C)."""
    shifted = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(shifted / shifted.sum(axis=1, keepdims=True))


# Writing ---------------------------------------------------------------------------------------


def save_model(model: Model, file: BinaryIO) -> None:
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
        archive.writestr(zipfile.ZipInfo(_MANIFEST, _DATE), manifest)
        for name, array in _arrays(model):
            content = io.BytesIO()
            npy.write_array(content, np.ascontiguousarray(array), (1, 0), allow_pickle=False)
            archive.writestr(zipfile.ZipInfo(f"{name}.npy", _DATE), content.getvalue())


def _manifest(model: Model) -> dict[str, Any]:
    rule = model.text
    return {
        "format": FORMAT,
        "version": VERSION,
        "kind": model.kind,
        "classes": list(model.classes),
        "n_features": model.n_features,
        "threshold": model.threshold,
        "first_column": model.first_column,
        "veto": isinstance(model.rule, LinearRule) and model.rule.veto is not None,
        "text": rule
        and {
            "columns": list(rule.columns),
            "analyzer": rule.analyzer,
            "ngrams": list(rule.ngrams),
            "stop_words": list(rule.stop_words),
            "token_pattern": rule.token_pattern,
            "lowercase": rule.lowercase,
        },
    }


def _arrays(model: Model) -> Iterator[tuple[str, Array]]:
    encoded = [name.encode("utf-8") for name in model.names]
    yield "name_bytes", np.frombuffer(b"".join(encoded), dtype=np.uint8)
    yield "name_ends", np.cumsum([len(name) for name in encoded], dtype=np.int64)
    yield "columns", model.columns.astype("<i8")
    for name in _RULE_ARRAYS:
        array = getattr(model.rule, name, None)
        if array is not None:
            yield name, array.astype("<f8")


# Reading ---------------------------------------------------------------------------------------


def load_model(source: Source) -> Model:
    """Read a model file; nothing in it is ever run.

    Parameters
    ----------
    source
        A path or binary file object.

    Raises
    ------
    InputError
        If the file is damaged, is something else, or comes from a newer version.
    """
    with (
        open_input(source) as file,
        _explained(file.name),
        zipfile.ZipFile(io.BytesIO(file.stream.read())) as archive,
    ):
        manifest = _read_manifest(archive, file.name)
        return _model(_Fields(manifest), _read_arrays(archive))


class _DamageError(ValueError):
    """What is wrong with the contents of a model file."""


@contextmanager
def _explained(name: str) -> Iterator[None]:
    try:
        yield
    except zipfile.BadZipFile as error:
        raise InputError(
            f"{name}: this is not a model file of naively, or it is damaged or cut off ({error}); "
            "give the model.npz that `naively select` wrote."
        ) from error
    except Exception as error:  # whatever a file from anybody makes the libraries raise
        if passes(error):
            raise
        raise InputError(
            f"{name}: the model file is damaged ({cause(error)}); get it again or train anew."
        ) from error


def _read_manifest(archive: zipfile.ZipFile, name: str) -> Any:
    info = archive.NameToInfo.get(_MANIFEST)
    if info is not None and info.file_size > _MANIFEST_LIMIT:
        raise _DamageError("its manifest is too large")
    try:
        manifest = json.loads(archive.read(_MANIFEST))
        found = manifest["format"], manifest["version"]
    except (KeyError, TypeError, RecursionError, ValueError) as error:
        raise InputError(
            f"{name}: this is not a model file of naively; "
            "give the model.npz that `naively select` wrote."
        ) from error
    if found[0] != FORMAT or type(found[1]) is not int or found[1] < 1:
        raise InputError(
            f"{name}: this is not a model file of naively, but {reprlib.repr(found[0])} in version "
            f"{reprlib.repr(found[1])}; give the model.npz that `naively select` wrote."
        )
    if found[1] > VERSION:
        raise InputError(
            f"{name}: written by a newer naively (format {reprlib.repr(found[1])}, "
            f"this one reads up to {VERSION}); upgrade with: pip install --upgrade naively"
        )
    return manifest


def _read_arrays(archive: zipfile.ZipFile) -> dict[str, Array]:
    infos = archive.infolist()
    if len({info.filename for info in infos}) != len(infos):
        raise _DamageError("an array stands in it twice")
    # Stored members cannot unpack to more than the file holds.
    if any(info.compress_type != zipfile.ZIP_STORED for info in infos):
        raise _DamageError("it is compressed, which model files never are")
    return {
        info.filename.removesuffix(".npy"): _array(archive.read(info), info.filename)
        for info in infos
        if info.filename.endswith(".npy")
    }


def _array(content: bytes, name: str) -> Array:
    stream = io.BytesIO(content)
    try:
        if npy.read_magic(stream) != (1, 0):
            raise _DamageError(f"{name} has another layout")
        shape, fortran, dtype = npy.read_array_header_1_0(stream)
    except ValueError as error:
        raise _DamageError(f"{name}: {error}") from error
    if dtype.str not in ("<f8", "<i8", "|u1") or fortran and len(shape) > 1:
        raise _DamageError(f"{name} is of type {dtype}")
    if not all(type(length) is int and 0 <= length <= _LARGEST for length in shape):
        raise _DamageError(f"{name} has an impossible shape")
    size = dtype.itemsize * math.prod(shape)
    if size != len(content) - stream.tell():
        raise _DamageError(f"{name} is not as long as it says")
    return np.frombuffer(content, dtype, offset=stream.tell()).reshape(shape)


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


def _model(fields: _Fields, arrays: dict[str, Array]) -> Model:
    text = fields.get("text", dict, type(None))
    model = Model(
        kind=fields.get("kind", str),
        classes=fields.texts("classes"),
        names=_names(arrays),
        columns=_typed(arrays, "columns", "<i8"),
        n_features=fields.get("n_features", int),
        rule=_rule(arrays, fields),
        threshold=fields.get("threshold", float, int, type(None)),
        text=None if text is None else _text_rule(_Fields(text)),
        first_column=fields.get("first_column", int),
    )
    _check(model)
    return model


def _text_rule(fields: _Fields) -> TextRule:
    ngrams = fields.get("ngrams", list)
    if len(ngrams) != 2 or any(type(n) is not int for n in ngrams):
        raise _DamageError("`ngrams` must be two numbers")
    rule = TextRule(
        columns=fields.texts("columns"),
        analyzer=fields.get("analyzer", str),
        ngrams=(ngrams[0], ngrams[1]),
        stop_words=fields.texts("stop_words"),
        token_pattern=fields.get("token_pattern", str),
        lowercase=fields.get("lowercase", bool),
    )
    sizes = 1 <= rule.ngrams[0] <= rule.ngrams[1] <= LARGEST_NGRAM
    if rule.analyzer not in ANALYZERS or not sizes:
        raise _DamageError("its rule for text is not one that this version knows")
    text_features(rule)  # refuses a pattern that is none
    if not rule.columns:
        raise _DamageError("it names no column of text")
    return rule


def _typed(arrays: dict[str, Array], name: str, dtype: str) -> Array:
    if name not in arrays or arrays[name].dtype.str != dtype:
        raise _DamageError(f"the array {name} is missing or of another type")
    return arrays[name]


def _names(arrays: dict[str, Array]) -> tuple[str, ...]:
    content = _typed(arrays, "name_bytes", "|u1").tobytes()
    ends = _typed(arrays, "name_ends", "<i8").ravel()
    bounds = np.concatenate(([0], ends))
    if (bounds[1:] < bounds[:-1]).any() or bounds[-1] != len(content):
        raise _DamageError("the names of its features do not fit together")
    limits = bounds.tolist()
    return tuple(
        content[start:end].decode("utf-8")
        for start, end in zip(limits[:-1], limits[1:], strict=True)
    )


def _rule(arrays: dict[str, Array], fields: _Fields) -> Rule:
    def stored(name: str) -> Array:
        return _typed(arrays, name, "<f8")

    veto = fields.get("veto", bool)
    match fields.get("kind", str):
        case "hybrid":
            return hybrid_rule(stored("intercept"), stored("theta"), stored("weights"))
        case "l1-centers":
            return AbsoluteRule(stored("intercept"), stored("centers"))
        case "gaussian":
            return QuadraticRule(stored("intercept"), stored("mean"), stored("precision"))
    return LinearRule(
        intercept=stored("intercept"),
        weights=stored("weights"),
        log_prior=stored("log_prior"),
        veto_offset=stored("veto_offset") if veto else None,
        veto=stored("veto") if veto else None,
    )


def _check(model: Model) -> None:
    n_classes, k = len(model.classes), len(model.names)
    expected: dict[str, tuple[int, ...]] = {
        **dict.fromkeys((*_BY_CLASS, "veto_offset"), (n_classes,)),
        **dict.fromkeys(_BY_FEATURE, (n_classes, k)),
        "theta": (_expected_regions(model),),
    }
    arrays = {name: getattr(model.rule, name, None) for name in expected}
    if model.columns.shape != (k,) or any(
        array is not None and array.shape != expected[name] for name, array in arrays.items()
    ):
        raise _DamageError("its arrays do not fit together")
    if model.kind not in _KINDS:
        raise _DamageError(f"this version knows no model {model.kind!r}")
    if n_classes < 2 or _repeated(model.classes) or "" in model.classes:
        raise _DamageError("it needs two or more different classes")
    if model.text is not None and _repeated(model.names):
        raise _DamageError("a feature stands in it twice")
    _check_numbers(model)


def _expected_regions(model: Model) -> int:
    return 1 if model.text is None else len(model.text.columns)


def _check_numbers(model: Model) -> None:
    columns, rule = model.columns, model.rule
    if columns.size and (
        columns[0] < 0 or columns[-1] >= model.n_features or (columns[1:] <= columns[:-1]).any()
    ):
        raise _DamageError("its columns are not ascending numbers of features")
    if model.first_column not in (0, 1) or model.n_features < 0:
        raise _DamageError("its numbering of columns is not known")
    finite, below_infinity = (
        [array for name in names if (array := getattr(rule, name, None)) is not None]
        for names in ((*_BY_FEATURE, "theta", "veto_offset"), _BY_CLASS)
    )
    if not all(np.isfinite(array).all() for array in finite) or not all(
        (array < np.inf).all() for array in below_infinity
    ):
        raise _DamageError("its weights are not numbers")
    prior = getattr(rule, "log_prior", None)
    if prior is not None and not (prior > -np.inf).any():
        raise _DamageError("no class is possible")


def _repeated(names: Sequence[str]) -> bool:
    return len(set(names)) != len(names)
