"""The summary of a run, from its models and its answers to the test rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

import naively
from naively._types import Array, FloatArray
from naively.families.rules import winners
from naively.io.text import TextRule
from naively.jobs.examples import examples
from naively.jobs.rows import LEFT_OUT, TEST, TRAIN, Rows
from naively.jobs.settings import VALUE_MODELS, ModelSettings, SelectJob
from naively.jobs.study import confusion_of, coverage_points
from naively.jobs.training import Trained
from naively.report.summary import (
    ClassRow,
    Evaluation,
    FeatureRow,
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
    scores: FloatArray  # (n, C) of the test rows
    predicted_error: float | None  # by the model itself


def summarize(
    job: SelectJob, rows: Rows, test: Tested | None, final: Trained, path: PathCurve | None = None
) -> Summary:
    """Tell what came out.

    Parameters
    ----------
    job, rows
        What was asked, and the rows it was done on.
    test
        The model that was tested, with its scores; None without test rows.
    final
        The model that is written: the one that was tested, or trained anew.
    path
        What other numbers of features reach.
    """
    notes = list(final.notes)
    left_out = int((rows.part == LEFT_OUT).sum())
    if left_out:
        notes.append(
            f"{left_out:,} rows that are neither train nor test in column "
            f"{job.test.split_column} were left out."
        )
    evaluation, classes = None, _class_rows(rows, final, None, None)
    if test is not None:
        truth = rows.labels[rows.part == TEST]
        answers = winners(test.scores)
        named = np.array(test.trained.model.classes, dtype=object)[answers]
        evaluation = _evaluation(rows, test, final, truth, named)
        classes = _class_rows(rows, final, truth, named)
        notes.extend(_unseen_note(test.trained, truth, named))
    return Summary(
        settings=_settings(job, rows, test, final),
        files=rows.files,
        n_features=final.n_features,
        n_rows=final.n_rows,
        certificate=final.selection.certificate,
        classes=classes,
        features=_with_examples(rows, final, feature_rows(final)),
        evaluation=evaluation,
        notes=tuple(notes),
        path=path,
    )


def _with_examples(
    rows: Rows, final: Trained, features: tuple[FeatureRow, ...]
) -> tuple[FeatureRow, ...]:
    """Add to each feature a training row in which it occurs."""
    given = np.flatnonzero(np.isin(rows.part, (TRAIN, TEST)))
    trained = given if final.n_rows == len(given) else np.flatnonzero(rows.part == TRAIN)
    X = rows.X[trained]
    if rows.n_regions > 1:
        return features
    shown: Sequence[FeatureRow] = features[:_EXAMPLES]
    found = examples(
        X,
        np.array([row.column for row in shown], dtype=np.int64),
        rows.labels[trained],
        trained,
        [row.speaks_for for row in shown],
        None if rows.documents is None else [rows.documents[i] for i in trained.tolist()],
        [row.name for row in shown],
        rows.text,
    )
    quoted = [replace(row, example=each) for row, each in zip(shown, found, strict=True)]
    return (*quoted, *features[_EXAMPLES:])


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


def _evaluation(
    rows: Rows, test: Tested, final: Trained, truth: Array, answers: Array
) -> Evaluation:
    tested = test.trained
    train_labels = Counter(rows.labels[rows.part == TRAIN].tolist())
    usual = max(sorted(train_labels), key=lambda each: train_labels[each])
    wrong = Counter((t, a) for t, a in zip(truth.tolist(), answers.tolist(), strict=True) if t != a)
    mistakes = sorted(wrong.items(), key=lambda item: (-item[1], item[0]))[:_MISTAKES]
    shared = len(set(tested.model.names) & set(final.model.names))
    recalls = [float((answers[truth == each] == each).mean()) for each in set(truth.tolist())]
    return Evaluation(
        method=rows.test_method,
        train_rows=tested.n_rows,
        test_rows=len(truth),
        accuracy=float((truth == answers).mean()),
        balanced_accuracy=float(np.mean(sorted(recalls))),
        usual_class=usual,
        usual_accuracy=float((truth == usual).mean()),
        unseen_rows=sum(each not in train_labels for each in truth.tolist()),
        mistakes=tuple(Mistake(t, a, n) for (t, a), n in mistakes),
        shared_features=None if final is tested else shared,
        confusion=confusion_of(truth, answers, tested.model.classes),
        coverage=coverage_points(test.scores, truth == answers),
        predicted_error=test.predicted_error,
    )


def _unseen_note(tested: Trained, truth: Array, answers: Array) -> Iterable[str]:
    seen = np.isin(truth.astype(str), tested.model.classes)
    if not seen.all() and seen.any():
        labels = ", ".join(sorted(set(truth[~seen].tolist()))[:5])
        accuracy = float((truth[seen] == answers[seen]).mean())
        yield (
            f"{int((~seen).sum()):,} test rows have labels that training does not have "
            f"({labels}) and count as mistakes; without them the accuracy is {accuracy:.4f}."
        )


def _class_rows(
    rows: Rows, final: Trained, truth: Array | None, answers: Array | None
) -> tuple[ClassRow, ...]:
    trained = dict(zip(final.model.classes, final.class_rows, strict=True))
    tested = Counter() if truth is None else Counter(truth.tolist())
    called = Counter() if answers is None else Counter(answers.tolist())
    right: Counter[str] = Counter()
    if truth is not None and answers is not None:
        right.update(truth[truth == answers].tolist())
    return tuple(
        ClassRow(
            name=name,
            train_rows=int(trained[name]),
            test_rows=tested[name],
            recall=right[name] / tested[name] if tested[name] else None,
            precision=right[name] / called[name] if called[name] else None,
        )
        for name in final.model.classes
    )


def _settings(job: SelectJob, rows: Rows, test: Tested | None, final: Trained) -> Settings:
    if test is None:
        final_rows = "trained on all rows; nothing was tested"
    elif final is test.trained:
        final_rows = "trained on the training rows only: it is the model that was tested"
    else:
        final_rows = "trained on all rows, after the test"
    return Settings(
        command=job.command,
        version=naively.__version__,
        model=job.model.kind,
        k=str(job.model.k or len(final.selection.support)),
        alpha=job.model.smoothing,
        exact=job.model.exact,
        features=features_in_words(rows.text, job.model),
        final_rows=final_rows,
        image=job.model.image,
    )


def features_in_words(text: TextRule | None, settings: ModelSettings) -> str:
    """Say what is counted of a feature, and what the features are."""
    presence = settings.kind == "bernoulli" or settings.binary
    if settings.kind in VALUE_MODELS:
        return _CENTERS_IN_WORDS[settings.kind == "l1-centers"]
    if text is None:
        return "rows with a value above 0" if presence else "sum of the values of the column"
    lo, hi = text.ngrams
    units = "words" if text.analyzer == "word" else "characters"
    sizes = f"runs of {lo} to {hi} {units}" if hi > lo else f"runs of {hi} {units}"
    what = "words" if units == "words" and hi == 1 else sizes
    return f"rows that hold it ({what})" if presence else f"occurrences ({what})"
