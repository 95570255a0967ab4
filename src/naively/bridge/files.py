"""Estimators from model files, and model files from estimators."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from naively._types import Array, IntArray
from naively.bridge.reading import FileReading
from naively.estimators.base import AbstractSelectingClassifier, AbstractSparseClassifier
from naively.estimators.centers import SparseL1Centers, SparseL2Centers
from naively.estimators.hybrid import HybridNB
from naively.estimators.likelihood import (
    SparseCategoricalNB,
    SparseGaussianNB,
    SparseNegativeBinomialNB,
    SparsePoissonNB,
)
from naively.estimators.mixed import SparseMixedNB
from naively.estimators.naive_bayes import SparseBernoulliNB, SparseMultinomialNB
from naively.estimators.search import SparsityCV
from naively.estimators.word_counts import WordCounts
from naively.jobs.model_file import LabelType, ModelFile, load_model, save_model
from naively.jobs.predict import model_file
from naively.models.rules import HybridRule
from naively.read.variables import Variables
from naively.selection.certificate import Selection
from naively.text.labels import label_text
from naively.work.writing import atomic_file

ESTIMATORS: Mapping[str, type[AbstractSelectingClassifier]] = {
    "multinomial": SparseMultinomialNB,
    "bernoulli": SparseBernoulliNB,
    "poisson": SparsePoissonNB,
    "negative-binomial": SparseNegativeBinomialNB,
    "categorical": SparseCategoricalNB,
    "gaussian": SparseGaussianNB,
    "l2-centers": SparseL2Centers,
    "l1-centers": SparseL1Centers,
    "hybrid": HybridNB,
    "mixed": SparseMixedNB,
}
_LABEL_TYPES: Mapping[str, LabelType] = {
    "U": "text", "T": "text", "i": "int", "u": "int", "b": "bool", "f": "float"
}  # fmt: skip


# From files ------------------------------------------------------------------------------------


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model file as a fitted estimator, of the class of its model.

    It takes rows as the model was trained on them: texts (a list, an array, a series), a table of
    pandas, polars or Arrow, or a matrix. Columns of a table are taken by their names: their order
    does not matter, those that the model does not know are ignored (a warning says so once), and
    one that is missing is an error. Nothing in the file is run: it holds no pickle.

    Rows are scaled and taken logarithms of (`--read normalize` and `log1p`) as in training: pass
    counts, with all columns, for the sum is that of the row as given. `predict` follows a threshold
    that training stored (`--judge precision` or `recall`); probabilities and scores do not know it.

    Parameters
    ----------
    path : str or path-like
        The `model.npz` of :func:`naively.save`, of :func:`naively.select` or of `naively select`,
        or the folder that holds it.

    Returns
    -------
    model : classifier
        With `predict`, `predict_proba` (of models that have it), `decision_function`, `transform`,
        `get_feature_names_out`, `support_`, `classes_`. The file holds the rule and not what it was
        trained on: there are no gains, no certificate and no statistics, and of the parameters of
        the class only those that say how rows are read are those of training.

    Raises
    ------
    ValueError
        If the file is damaged, or is something else.

    See Also
    --------
    save : The way back.

    Examples
    --------
    >>> import os, tempfile
    >>> import naively
    >>> X, y = [[3, 0, 1], [2, 0, 1], [0, 3, 1], [0, 2, 1]], ["a", "a", "b", "b"]
    >>> model = naively.SparsePoissonNB(k=1).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "model.npz")
    ...     naively.save(model, path)
    ...     again = naively.load(path)
    >>> again
    SparsePoissonNB(k=1)
    >>> (again.predict_proba(X) == model.predict_proba(X)).all()
    np.True_
    """
    return estimator_of(load_model(model_file(os.fspath(path))))


def estimator_of(file: ModelFile) -> Any:
    """Return the fitted estimator that a model file describes."""
    reading = FileReading(file)
    estimator = ESTIMATORS[file.kind](**_parameters(file))
    estimator._reading = reading
    estimator.rule_, estimator.classes_ = file.rule, file.labels
    estimator.n_features_in_ = file.n_features * file.n_regions
    if file.known:
        estimator.feature_names_in_ = np.array(file.known, dtype=object)
    if isinstance(estimator, HybridNB):
        estimator.columns_ = reading.support
    elif isinstance(estimator, AbstractSparseClassifier):
        gain = np.full(len(reading.support), np.nan)
        estimator.selection_ = Selection(reading.support, gain, None)
    return estimator


def _parameters(file: ModelFile) -> dict[str, Any]:
    """Parameters that say how rows are read, and how many features there are."""
    if isinstance(file.rule, HybridRule):
        regions = len(file.rule.theta)
        return {"regions": regions if regions > 1 else None, "normalize": file.rule.normalize}
    found: dict[str, Any] = {"k": len(file.names)}
    if file.missing:
        found["missing"] = "ignore"
    if file.kind == "bernoulli" and file.threshold is not None:
        found["binarize"] = file.threshold
    if file.exposure is not None:
        of_name = file.named and file.exposure != "total"
        found["exposure"] = file.exposure_name if of_name else file.exposure
    return found


# To files --------------------------------------------------------------------------------------


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator as a model file, as `naively select` does.

    The file holds arrays and a manifest, no pickle: :func:`naively.load` reads it, and
    `naively predict` applies it to files (of a :class:`SparseMixedNB` those with named columns,
    whose categories are known by their spelling). Equal models give equal bytes.

    Parameters
    ----------
    model : estimator or Pipeline
        A fitted classifier of this package; a :class:`SparsityCV`, of which the best estimator is
        written; or a pipeline of :class:`WordCounts` and such a classifier, whose file reads texts.
    path : str or path-like
        Where to write. The file appears when it is complete.

    Raises
    ------
    ValueError, TypeError
        If the model is not fitted, or is none that a file can hold.
    OSError
        If the file cannot be written.

    See Also
    --------
    load : The way back.

    Examples
    --------
    >>> import os, tempfile
    >>> import naively
    >>> from sklearn.pipeline import make_pipeline
    >>> pipeline = make_pipeline(naively.WordCounts(), naively.SparseBernoulliNB(k=2))
    >>> texts, labels = ["big sale", "sale now", "team notes", "meeting notes"], [1, 1, 0, 0]
    >>> pipeline = pipeline.fit(texts, labels)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "model.npz")
    ...     naively.save(pipeline, path)
    ...     model = naively.load(path)
    >>> model.predict(["a sale"]), model.get_feature_names_out().tolist()
    (array([1]), ['notes', 'sale'])
    """
    file = file_of(model)
    with atomic_file(path) as out:
        save_model(file, out)


def file_of(model: Any) -> ModelFile:
    """Return what a model file holds of a fitted estimator."""
    words = None
    if isinstance(model, Pipeline):
        *before, model = [step for _, step in model.steps if step not in (None, "passthrough")]
        if len(before) != 1 or not isinstance(before[0], WordCounts):
            names = ", ".join(type(step).__name__ for step in before) or "no step"
            raise TypeError(
                "`model` must be a classifier of this package, or a pipeline of WordCounts and "
                f"one; got one with {names} before it. What other steps do, a model file does not "
                "hold: use WordCounts in place of another vectorizer, or give the classifier, "
                "pipeline[-1], alone, which takes the columns that they make."
            )
        words = before[0]
    if isinstance(model, SparsityCV):
        model = model._best()
    kind = next((name for name, cls in ESTIMATORS.items() if type(model) is cls), None)
    if kind is None:
        raise TypeError(
            "`model` must be a classifier of this package, such as SparseMultinomialNB, or a "
            f"pipeline of WordCounts and one; got {type(model).__name__}."
        )
    check_is_fitted(model)
    if isinstance(model._reading, FileReading) and words is None:
        return model._reading.file
    plain = _plain_file(model, kind)
    return plain if words is None else _of_words(plain, words)


def _plain_file(model: Any, kind: str) -> ModelFile:
    """Return the file of a model of columns of numbers."""
    columns, exposure = np.flatnonzero(model.support_), None
    mixed = kind == "mixed"
    known = getattr(model, "feature_names_in_", None)
    if kind != "hybrid":
        exposure = model.model_.exposure
    labels, label_type = _spelled(model.classes_)
    own = np.arange(len(model.support_)) if known is None else known
    if mixed and model._words.columns:
        own = model.variable_names_
    of_all = known is not None and exposure == "total"
    return ModelFile(
        kind=kind,
        classes=labels,
        names=tuple(str(each) for each in own[columns].tolist()),
        columns=columns.astype(np.int64),
        n_features=len(model.support_),
        rule=model.rule_,
        threshold=float(model.binarize or 0.0) if kind == "bernoulli" else None,
        known=tuple(known.tolist()) if known is not None and of_all else (),
        named=known is not None,
        exposure=exposure,
        exposure_name="" if exposure is None else "total" if exposure == "total" else str(
            own[exposure]
        ),
        missing=not mixed and getattr(model, "missing", "error") == "ignore",
        label_type=label_type,
        whole=model._whole,
        size=model._size,
        variables=_variables(model, tuple(map(str, own.tolist())), columns) if mixed else None,
    )  # fmt: skip


def _variables(model: SparseMixedNB, names: Sequence[str], columns: IntArray) -> Variables:
    """Return what is read of a table for the selected variables."""
    words, n = model._words, len(model._table.kinds)
    if words.columns and not hasattr(model, "feature_names_in_"):
        raise ValueError(
            "A model with `text` is written with the names of its columns, by which they are found "
            "again, and `X` had none; fit it on a data frame."
        )
    own = tuple(names[:n])
    table = replace(model.statistics_.columns.take(np.arange(n)), names=own)
    chosen = Variables((), words, own, table).take(columns)
    strange = [
        label
        for labels in chosen.all.labels
        for label in labels
        if type(label) not in (str, int, float, bool)
    ]
    if strange:
        raise ValueError(
            "Categories that are written to a file must be strings, numbers or booleans of Python; "
            f"got {strange[0]!r}. Decode bytes to strings."
        )
    return chosen


def _spelled(classes: Array) -> tuple[tuple[str, ...], LabelType]:
    labels = classes.tolist()
    texts = all(isinstance(label, str) for label in labels)
    label_type = "text" if texts else _LABEL_TYPES.get(classes.dtype.kind)
    if label_type is None or "" in labels:
        raise ValueError(
            "Labels that are written to a file must be strings that are not empty, whole numbers "
            f"or booleans; got {labels[:5]}."
        )
    return tuple(labels if texts else (str(label_text(each)) for each in labels)), label_type


def _of_words(file: ModelFile, words: WordCounts) -> ModelFile:
    """Return the file of a model of texts, given that of the matrix of their counts."""
    features, terms = words._features(), words._names()
    columns = words.columns_ or ["text"]
    regions = len(file.rule.theta) if isinstance(file.rule, HybridRule) else 1
    hindrance = _hindrance(file, words, regions)
    if hindrance:
        raise ValueError(f"Such a pipeline is no model of a file: {hindrance}.")
    if regions > 1:
        chosen = file.columns[: len(file.columns) // regions]
        if not np.array_equal(file.columns, FileReading(replace(
            file, columns=chosen, n_features=len(terms), text_columns=tuple(columns)
        )).support):  # fmt: skip
            raise ValueError(
                "Such a pipeline is no model of a file: its columns of text have words of their "
                "own; use shared_vocabulary=True."
            )
        file = replace(file, columns=chosen, n_features=len(terms))
    idf = None
    if features.weights == "tfidf":
        idf = words.idf_ if features.two_passes else words.idf_[file.columns]
    return replace(
        file,
        names=tuple(terms[file.columns].tolist()),
        features=features,
        idf=idf,
        known=tuple(terms.tolist()) if features.two_passes else (),
        text_columns=tuple(columns),
        named=True,
    )


def _hindrance(file: ModelFile, words: WordCounts, regions: int) -> str | None:
    if file.exposure is not None:
        return (
            "its exposure is that of the vocabulary, and files count every term of a text; use "
            "naively.select with `exposure`"
        )
    if file.variables is not None or file.missing:
        return "counts of words are numbers that are never missing; use another model"
    if file.kind == "hybrid" and not (regions == max(len(words.columns_), 1) == words.n_regions_):
        return "`regions` of HybridNB must be the number of columns of text, and those kept apart"
    if words.n_regions_ > 1 and regions == 1:
        return "only HybridNB keeps columns of text apart; use WordCounts(regions=False)"
    if words._features().two_passes and (np.diff(words._order) < 0).any():
        return "weights 'tfidf' with a norm need a `vocabulary` in ascending order"
    return None
