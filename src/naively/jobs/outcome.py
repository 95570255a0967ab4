"""The summary of a run, from its models and its answers to the test rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

import naively
from naively._nearest import short
from naively._types import Array
from naively.jobs.data import Data
from naively.jobs.fit import Fitted
from naively.jobs.model_file import ModelFile
from naively.jobs.repeat import command_line
from naively.jobs.settings import Recipe, TestSettings
from naively.jobs.stability import hindrance
from naively.jobs.strangers import bare_note, strangers_note, unlabelled_note
from naively.jobs.study import confusion_of
from naively.judging.agreement import agreement
from naively.models import MODELS
from naively.models.kinds import PRESENCE, RATES
from naively.read.bytes import fingerprint
from naively.read.formats import format_by_name
from naively.report.names import formula, formula_note
from naively.report.summary import (
    ClassRow,
    CoveragePoint,
    Evaluation,
    Example,
    FeatureRow,
    FileRow,
    InputProfile,
    Misled,
    Mistake,
    PathCurve,
    Settings,
    Summary,
)
from naively.selection.train import is_auto

_MISTAKES = 20  # kinds of mistakes kept in the summary
_MANY_ROWS, _FAR_SHARE = 1000, 0.05  # of so many rows a share so far from what was asked is told


@dataclass(frozen=True, slots=True)
class Tested:
    """A model and what it made of the test rows."""

    fitted: Fitted
    method: str  # in words: which rows were tested
    pairs: Counter[tuple[str, str]]  # test rows by label and answer
    left_out: int  # rows that the split column gives to neither; of a test file, without label
    coverage: tuple[CoveragePoint, ...]
    predicted_error: float | None  # by the model itself
    misled: tuple[Misled, ...] = ()  # the surest mistakes
    bare: int = 0  # rows that say nothing to the model


def summarize(
    recipe: Recipe,
    files: tuple[FileRow, ...],
    test: Tested | None,
    final: Fitted,
    path: PathCurve | None = None,
    examples: Sequence[tuple[Example | None, Example | None]] = (),
    profile: InputProfile | None = None,
) -> Summary:
    """Tell what came out.

    Parameters
    ----------
    recipe, files
        What was asked, and what was read.
    test
        The model that was tested, with its answers; None without test rows.
    final
        The model that is written: the one that was tested, or trained anew.
    path
        What other numbers of features reach.
    examples
        Rows in which the features occur, of their class and of another, for the first of
        `feature_rows`.
    profile
        What the rows of the files are like.
    """
    notes = list(final.notes)
    if test is not None and recipe.test.file is not None:
        format = format_by_name(recipe.test.file) or recipe.layout.format or ""
        notes.extend(unlabelled_note(test.left_out, recipe.test.file, formats=[format]))
    elif test is not None and test.left_out:
        notes.append(
            f"{test.left_out:,} rows that are neither train nor test in column "
            f"{recipe.test.split_column} were left out."
        )
    if test is not None:
        file, n = test.fitted.file, sum(test.pairs.values())
        notes.extend(strangers_note(_by_truth(test.pairs), _right(test.pairs), file.classes))
        notes.extend(bare_note(test.bare, n, file.kind, len(file.names), which="test "))
        notes.extend(_share_note(recipe.test, test.fitted.n_rows, n))
    notes.extend(_same_rows_note(files))
    if recipe.model.refit is not None and is_auto(recipe.model.k):
        notes.append(f"k was chosen by the folds of the {recipe.model.kind} model's own rule.")
    features = feature_rows(final)
    notes.extend(_quota_note(recipe, features, final.file.classes))
    notes.extend(formula_note(formula(_cells(features, final))))
    quoted = [
        replace(row, example=own, contrast=other)
        for row, (own, other) in zip(features, examples, strict=False)
    ]
    return Summary(
        settings=_settings(recipe, test, final),
        files=files,
        n_features=final.n_features,
        n_rows=final.n_rows,
        certificate=final.selection.certificate,
        classes=_class_rows(final, {} if test is None else test.pairs),
        features=(*quoted, *features[len(quoted) :]),
        evaluation=None
        if test is None
        else _evaluation(test, final, anew=not recipe.test.is_given),
        notes=tuple(notes),
        path=path,
        markers=final.markers,
        profile=profile,
    )


def _cells(features: Iterable[FeatureRow], final: Fitted) -> Iterator[str | None]:
    """Whatever of the data is a cell of the tables."""
    yield from final.file.classes
    for row in features:
        yield from (row.name, row.category, *row.also[:1])
    for each in final.markers:
        yield each.feature


def _quota_note(
    recipe: Recipe, features: Sequence[FeatureRow], classes: Sequence[str]
) -> Iterable[str]:
    """Say where fewer features speak for a class than a quota asked, by the weights told."""
    quota = recipe.model.quota
    if quota is None or recipe.model.feature_groups is not None:
        return
    least = len(features) // len(classes) if quota == "even" else quota
    spoken = Counter(row.speaks_for for row in features)
    few = [f"{short(name)} ({spoken[name]:,})" for name in classes if spoken[name] < least]
    if few:
        yield (
            f"The quota of {least:,} for each class is by the weights over all features; by those "
            f"over the chosen ones, which are told here, fewer speak for {', '.join(few[:5])}"
            f"{', ...' if len(few) > 5 else ''}."
        )


def feature_rows(fitted: Fitted) -> tuple[FeatureRow, ...]:
    """Describe the selected features, by falling gain."""
    selection, model, figures = fitted.selection, fitted.file, fitted.figures
    telling = figures.weights if figures.weights is not None else figures.centers
    speaks_for = np.argmax(telling, axis=1) if telling is not None else []
    order = np.argsort(-selection.gain, kind="stable")
    return tuple(
        FeatureRow(
            rank=rank,
            name=model.names[i],
            gain=float(selection.gain[i]),
            speaks_for=model.classes[speaks_for[i]],
            weights=_of_feature(figures.weights, i),
            errors=_of_feature(figures.errors, i),
            counts=_of_feature(figures.counts, i),
            centers=_of_feature(figures.centers, i),
            dispersions=_of_feature(figures.dispersions, i),
            documents=_of_feature(figures.documents, i),
            burst=figures.bursts is not None and bool(figures.bursts[i]),
            stability=None if fitted.stability is None else float(fitted.stability[i]),
            column=int(model.columns[i]),
            also=fitted.displaced[i] if fitted.displaced else (),
            category=figures.categories[i] if figures.categories else None,
        )
        for rank, i in enumerate(order.tolist(), 1)
    )


def _of_feature(figures: Array | None, i: int) -> tuple[float, ...]:
    return () if figures is None else tuple(figures[i].tolist())


def _evaluation(test: Tested, final: Fitted, *, anew: bool) -> Evaluation:
    tested, pairs = test.fitted, test.pairs
    classes = tested.file.classes
    rows = _by_truth(pairs)
    usual = classes[int(np.argmax(tested.class_rows))]
    wrong = [(pair, n) for pair, n in pairs.items() if pair[0] != pair[1]]
    mistakes = sorted(wrong, key=lambda item: (-item[1], item[0]))[:_MISTAKES]
    found = agreement(pairs)
    shared = len(set(tested.file.names) & set(final.file.names))
    return Evaluation(
        method=test.method,
        train_rows=tested.n_rows,
        test_rows=found.rows,
        accuracy=found.accuracy,
        balanced_accuracy=found.balanced_accuracy,
        macro_f1=found.macro_f1,
        usual_class=usual,
        usual_accuracy=rows[usual] / rows.total(),
        unseen_rows=sum(n for name, n in rows.items() if name not in classes),
        mistakes=tuple(Mistake(truth, answer, n) for (truth, answer), n in mistakes),
        shared_features=shared if anew else None,
        confusion=confusion_of(pairs, classes),
        coverage=test.coverage,
        misled=test.misled,
        predicted_error=test.predicted_error,
    )


def _by_truth(pairs: Mapping[tuple[str, str], int]) -> Counter[str]:
    rows: Counter[str] = Counter()
    for (truth, _), n in pairs.items():
        rows[truth] += n
    return rows


def _right(pairs: Mapping[tuple[str, str], int]) -> int:
    return sum(n for (truth, answer), n in pairs.items() if truth == answer)


def _share_note(settings: TestSettings, train: int, tested: int) -> Iterator[str]:
    """Say where far more or fewer rows are tested on than asked: equal rows are never parted."""
    share = tested / max(train + tested, 1)
    if settings.is_given or settings.groups is not None or settings.time is not None:
        return
    if train + tested >= _MANY_ROWS and abs(share - settings.holdout) > _FAR_SHARE:
        yield (
            f"{100 * share:.0f} % of the rows were held out, where {100 * settings.holdout:g} % "
            "were asked: equal rows, such as those without any word, are held out together. Leave "
            "them out of the input if they say nothing."
        )


def _same_rows_note(files: tuple[FileRow, ...]) -> Iterable[str]:
    trained = {each.sha256 for each in files if each.role == "training"} - {""}
    for each in files:
        if each.role == "test" and each.sha256 in trained:
            yield (
                f"The test rows of {each.name} are the training rows, so the accuracy flatters; "
                "give other rows with --test, or leave it out to hold some back."
            )


def _class_rows(final: Fitted, pairs: Mapping[tuple[str, str], int]) -> tuple[ClassRow, ...]:
    tested, called = _by_truth(pairs), Counter[str]()
    for (_, answer), n in pairs.items():
        called[answer] += n
    rows = []
    for name, n in zip(final.file.classes, final.class_rows.tolist(), strict=True):
        right = pairs.get((name, name), 0)
        recall = right / tested[name] if tested[name] else None
        precision = right / called[name] if called[name] else None
        rows.append(ClassRow(name, n, tested[name], recall, precision))
    return tuple(rows)


def _settings(recipe: Recipe, test: Tested | None, final: Fitted) -> Settings:
    if test is None:
        final_rows = "trained on all rows; nothing was tested"
    elif recipe.test.is_given:
        final_rows = "trained on the training rows only: it is the model that was tested"
    else:
        final_rows = "trained on all rows, after the test"
    k = str(recipe.model.k or len(final.selection.support))
    return Settings(
        command=command_line(recipe.given),
        version=naively.__version__,
        model=recipe.model.kind,
        k=k if recipe.stable is None else f"{k} (stable {recipe.stable:g})",
        alpha=final.alpha,
        exact=recipe.model.exact,
        features=features_in_words(final.file),
        final_rows=final_rows,
        of_text=final.file.features is not None,
        halves=not hindrance(recipe),
    )


def features_in_words(model: ModelFile) -> str:
    """Say what is counted of a feature, and what the features are."""
    kind = MODELS[model.kind]
    words = PRESENCE if model.threshold is not None else kind.words
    per = f", for each unit of exposure ({model.exposure_name})"
    if model.exposure is None or words is not RATES:
        per = "" if model.exposure is None else f"; exposure: {model.exposure_name}"
    if model.features is None:
        return _WEIGHED.get(model.weights, words.of_column) + per
    (lo, hi), analyzer = model.features.ngram_range, model.features.analyzer
    units = {"word": "words", "tokens": "tokens"}.get(analyzer, "characters")
    sizes = f"runs of {lo} to {hi} {units}" if hi > lo else f"runs of {hi} {units}"
    what = units if units != "characters" and hi == 1 else sizes
    counted = _WEIGHED.get(model.features.weights, words.of_text)
    if model.features.norm is not None:
        counted += ", rows of length 1"
    return counted if kind.takes == "values" else f"{counted} ({what}){per}"


_WEIGHED = {"log": "sum of 1 + ln of the count in each row", "tfidf": "occurrences times idf"}


def files_of(recipe: Recipe, data: Data, test: Tested | None) -> tuple[FileRow, ...]:
    """Tell what was read; a single file with a digest of all its bytes."""
    sources = {part.source: part.path for task in data.tasks for part in task.parts}
    if recipe.engine.name != "local" or len(sources) > 1:
        return file_rows(data.shards)
    ((source, path),) = sources.items()
    tested = recipe.test.file
    rows = sum(data.shards.values()) + (test.left_out if test and not tested else 0)
    read = [(source, path, "training" if tested else "training and test", rows)]
    if tested is not None and test is not None:
        read.append((tested, tested, "test", test.pairs.total()))
    prints = [(name, role, n, fingerprint(path)) for name, path, role, n in read]
    return tuple(
        FileRow(Path(name).name, role, n, each.size, each.sha256) for name, role, n, each in prints
    )


def file_rows(shards: Mapping[str, int]) -> tuple[FileRow, ...]:
    """Rows and size of each file; large files are not read once more for a digest of all bytes."""
    rows: Counter[tuple[str, int]] = Counter()
    for shard, n in shards.items():
        name, size, _ = shard.rpartition("#")[0].rsplit(":", 2)
        rows[name, int(size)] += n
    return tuple(FileRow(name, "counted", n, size, "") for (name, size), n in rows.items())
