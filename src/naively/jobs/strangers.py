"""Rows that are no rows to a model: labels missing or unknown, no feature that it knows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from naively._nearest import short
from naively.models.kinds import MODELS
from naively.read.formats import is_written
from naively.text.labels import folded

ABSENT_WORDS = (
    " (an empty cell, NA, NaN, N/A, None, null; if one of these is a class, write it otherwise)"
)
_SHOWN = 5


def strangers_note(rows: Mapping[str, int], right: int, classes: Sequence[str]) -> Iterator[str]:
    """Say how many rows have labels that are no classes of the model; nothing if none has.

    Parameters
    ----------
    rows
        Rows of each label.
    right
        Rows whose label is the answer.
    classes
        Labels of the training.
    """
    strange = sorted(set(rows) - set(classes))
    if not strange:
        return
    missed, total = sum(rows[label] for label in strange), sum(rows.values())
    whose = "has a label" if missed == 1 else "have labels"
    yield (
        f"{missed:,} test row{'s' * (missed > 1)} {whose} that training does not have "
        f"({_listed(map(short, strange))}) and count{'s' * (missed == 1)} as mistakes; "
        + (
            f"without them the accuracy is {right / (total - missed):.4f}."
            if total > missed
            else f"there are no others (training has {', '.join(map(short, sorted(classes)[:2]))}, "
            "...)."
        )
    )
    known = {folded(label): label for label in classes}
    alike = [f"{short(each)} and {short(known[folded(each)])}" for each in strange
             if folded(each) in known]  # fmt: skip
    if alike:
        yield (
            f"Labels of the test and of the training that differ by spelling only are not the "
            f"same: {_listed(alike, '; ')}. Write them alike."
        )


def bare_note(bare: int, rows: int, kind: str, k: int, which: str = "") -> Iterator[str]:
    """Say how many rows say nothing to a model of k features; nothing if all do."""
    if not bare or not k:
        return
    counted = MODELS[kind].takes in ("counts", "presence")
    absent = MODELS[kind].takes == "presence" or "exposure" in MODELS[kind].parameters
    what = f"hold none of the {k:,} features" if counted else f"have no value in the {k:,} features"
    also = ", and the absence of the features," if absent else ""
    yield (
        f"{bare:,} of the {rows:,} {which}rows ({100 * bare / rows:.3g} %) {what}: the prior "
        f"of the classes{also} is all that decides."
    )


def wordless_note(wordless: int, rows: int, others: int, k: int) -> Iterator[str]:
    """Say how many rows hold none of the words, of k features all but some; nothing if all do."""
    if wordless:
        beside = "the other columns" if others else "the prior of the classes"
        yield (
            f"{wordless:,} of the {rows:,} rows ({100 * wordless / rows:.3g} %) hold none of the "
            f"{k - others:,} words: their absence and {beside} are all that decides."
        )


def unlabelled_note(
    rows: int, source: str = "", what: str = "left out", formats: Iterable[str] = ()
) -> Iterator[str]:
    """Say how many rows have no label; nothing if all have one.

    Of formats in which people write NA for that, it is said that they may.
    """
    if rows:
        written = any(map(is_written, formats))
        of = f" of {source}" * bool(source)
        yield (
            f"{rows:,} row{'s' * (rows > 1)}{of} without a label "
            f"{'were' if rows > 1 else 'was'} {what}{ABSENT_WORDS * written}."
        )


def copies_note(shards: Mapping[str, int]) -> Iterator[str]:
    """Say which shards, by name and rows, are copies of others under another name."""
    first: dict[str, str] = {}
    copies = []
    for shard, rows in shards.items():
        name, _, _ = shard.rsplit(":", 2)
        content = shard[len(name) :]
        if rows and first.setdefault(content, name) != name:
            copies.append(f"{short(name)} of {short(first[content])}")
    copies = list(dict.fromkeys(copies))
    if copies:
        yield (
            f"By size, beginning and end, files are copies of others, whose rows then count twice: "
            f"{_listed(copies)}. Take the copies away."
        )


def case_note(classes: Iterable[str]) -> Iterator[str]:
    """Say which classes a reader would take for one."""
    alike: dict[str, list[str]] = {}
    for name in classes:
        alike.setdefault(folded(name), []).append(short(name))
    groups = [" and ".join(names) for names in alike.values() if len(names) > 1]
    if groups:
        more = f" (and {len(groups) - _SHOWN} more)" if len(groups) > _SHOWN else ""
        yield (
            f"Classes that differ by case or spelling only are kept apart: "
            f"{'; '.join(groups[:_SHOWN])}{more}."
        )


def _listed(names: Iterator[str] | Sequence[str], separator: str = ", ") -> str:
    names = list(names)
    return separator.join(names[:_SHOWN]) + f"{separator}..." * (len(names) > _SHOWN)
