"""The summary of a run, from its models and its answers to the test rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

import naively
from naively._types import Array
from naively.io.text import TextRule
from naively.jobs.settings import VALUE_MODELS, ModelSettings
from naively.jobs.study import confusion_of
from naively.jobs.training import Trained
from naively.report.summary import (
    ClassRow,
    CoveragePoint,
    Evaluation,
    Example,
    FeatureRow,
    FileRow,
    Mistake,
    PathCurve,
    Settings,
    Summary,
)

_CENTERS_IN_WORDS = (
    "mean of the values of the class; dispersion: standard deviation",
    "median of the values of the class; dispersion: mean absolute deviation from it",
)
_MISTAKES = 20  # kinds of mistakes kept in the summary
_EXAMPLES = 1000  # features for which a row is quoted


@dataclass(frozen=True, slots=True)
class Tested:
    """A model and what it made of the test rows."""

    trained: Trained
    method: str  # in words: which rows were tested
    pairs: Mapping[tuple[str, str], int]  # test rows by label and answer
    coverage: tuple[CoveragePoint, ...]
    predicted_error: float | None  # by the model itself


@dataclass(frozen=True, slots=True)
class Asked:
    """What was asked, as the summary tells it."""

    model: ModelSettings
    text: TextRule | None
    command: str
    split_column: str | None = None


def summarize(
    asked: Asked,
    files: tuple[FileRow, ...],
    test: Tested | None,
    final: Trained,
    path: PathCurve | None = None,
    examples: Sequence[Example | None] = (),
    left_out: int = 0,
) -> Summary:
    """Tell what came out.

    Parameters
    ----------
    asked, files
        What was asked, and what was read.
    test
        The model that was tested, with its answers; None without test rows.
    final
        The model that is written: the one that was tested, or trained anew.
    path
        What other numbers of features reach.
    examples
        Rows in which the features occur, for the first of `feature_rows`.
    left_out
        Rows that the split column gives to neither training nor test.
    """
    notes = list(final.notes)
    if left_out:
        notes.append(
            f"{left_out:,} rows that are neither train nor test in column "
            f"{asked.split_column} were left out."
        )
    if test is not None:
        notes.extend(_unseen_note(test))
    notes.extend(_same_rows_note(files))
    features = feature_rows(final)
    quoted = [replace(row, example=each) for row, each in zip(features, examples, strict=False)]
    return Summary(
        settings=_settings(asked, test, final),
        files=files,
        n_features=final.n_features,
        n_rows=final.n_rows,
        certificate=final.selection.certificate,
        classes=_class_rows(final, {} if test is None else test.pairs),
        features=(*quoted, *features[len(quoted) :]),
        evaluation=None if test is None else _evaluation(test, final),
        notes=tuple(notes),
        path=path,
    )


def quoted(final: Trained) -> tuple[FeatureRow, ...]:
    """Return the features for which a row is quoted: those of the largest gains."""
    return feature_rows(final)[:_EXAMPLES]


def feature_rows(trained: Trained) -> tuple[FeatureRow, ...]:
    """Describe the selected features, by falling gain."""
    selection, model, figures = trained.selection, trained.model, trained.figures
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
            counts=_of_feature(figures.counts, i),
            centers=_of_feature(figures.centers, i),
            dispersions=_of_feature(figures.dispersions, i),
            column=int(model.columns[i]),
        )
        for rank, i in enumerate(order.tolist(), 1)
    )


def _of_feature(figures: Array | None, i: int) -> tuple[float, ...]:
    return () if figures is None else tuple(figures[i].tolist())


def _evaluation(test: Tested, final: Trained) -> Evaluation:
    tested, pairs = test.trained, test.pairs
    classes = tested.model.classes
    rows = _by_truth(pairs)
    usual = classes[int(np.argmax(tested.class_rows))]
    wrong = [(pair, n) for pair, n in pairs.items() if pair[0] != pair[1]]
    mistakes = sorted(wrong, key=lambda item: (-item[1], item[0]))[:_MISTAKES]
    recalls = [pairs.get((name, name), 0) / n for name, n in rows.items()]
    shared = len(set(tested.model.names) & set(final.model.names))
    return Evaluation(
        method=test.method,
        train_rows=tested.n_rows,
        test_rows=rows.total(),
        accuracy=_right(pairs) / rows.total(),
        balanced_accuracy=float(np.mean(sorted(recalls))),
        usual_class=usual,
        usual_accuracy=rows[usual] / rows.total(),
        unseen_rows=sum(n for name, n in rows.items() if name not in classes),
        mistakes=tuple(Mistake(truth, answer, n) for (truth, answer), n in mistakes),
        shared_features=None if final is tested else shared,
        confusion=confusion_of(pairs, classes),
        coverage=test.coverage,
        predicted_error=test.predicted_error,
    )


def _by_truth(pairs: Mapping[tuple[str, str], int]) -> Counter[str]:
    rows: Counter[str] = Counter()
    for (truth, _), n in pairs.items():
        rows[truth] += n
    return rows


def _right(pairs: Mapping[tuple[str, str], int]) -> int:
    return sum(n for (truth, answer), n in pairs.items() if truth == answer)


def _same_rows_note(files: tuple[FileRow, ...]) -> Iterable[str]:
    trained = {each.sha256 for each in files if each.role == "training"} - {""}
    for each in files:
        if each.role == "test" and each.sha256 in trained:
            yield (
                f"The test rows of {each.name} are the training rows, so the accuracy flatters; "
                "give other rows with --test, or leave it out to hold some back."
            )


def _unseen_note(test: Tested) -> Iterable[str]:
    known = set(test.trained.model.classes)
    seen = {pair: n for pair, n in test.pairs.items() if pair[0] in known}
    unseen = sorted({truth for truth, _ in test.pairs} - known)
    if unseen and seen:
        missed = sum(test.pairs.values()) - sum(seen.values())
        yield (
            f"{missed:,} test rows have labels that training does not have "
            f"({', '.join(unseen[:5])}) and count as mistakes; without them the accuracy is "
            f"{_right(seen) / sum(seen.values()):.4f}."
        )


def _class_rows(final: Trained, pairs: Mapping[tuple[str, str], int]) -> tuple[ClassRow, ...]:
    tested, called = _by_truth(pairs), Counter[str]()
    for (_, answer), n in pairs.items():
        called[answer] += n
    rows = []
    for name, n in zip(final.model.classes, final.class_rows.tolist(), strict=True):
        right = pairs.get((name, name), 0)
        recall = right / tested[name] if tested[name] else None
        precision = right / called[name] if called[name] else None
        rows.append(ClassRow(name, n, tested[name], recall, precision))
    return tuple(rows)


def _settings(asked: Asked, test: Tested | None, final: Trained) -> Settings:
    if test is None:
        final_rows = "trained on all rows; nothing was tested"
    elif final is test.trained:
        final_rows = "trained on the training rows only: it is the model that was tested"
    else:
        final_rows = "trained on all rows, after the test"
    return Settings(
        command=asked.command,
        version=naively.__version__,
        model=asked.model.kind,
        k=str(asked.model.k or len(final.selection.support)),
        alpha=asked.model.smoothing,
        exact=asked.model.exact,
        features=features_in_words(asked.text, asked.model),
        final_rows=final_rows,
        image=asked.model.image,
    )


def features_in_words(text: TextRule | None, settings: ModelSettings) -> str:
    """Say what is counted of a feature, and what the features are."""
    presence = settings.kind == "bernoulli" or settings.binary
    if settings.kind in VALUE_MODELS:
        return _CENTERS_IN_WORDS[settings.kind == "l1-centers"]
    if text is None:
        return "rows with a value above 0" if presence else "sum of the values of the column"
    lo, hi = text.ngrams
    units = {"word": "words", "tokens": "tokens"}.get(text.analyzer, "characters")
    sizes = f"runs of {lo} to {hi} {units}" if hi > lo else f"runs of {hi} {units}"
    what = units if units != "characters" and hi == 1 else sizes
    return f"rows that hold it ({what})" if presence else f"occurrences ({what})"
