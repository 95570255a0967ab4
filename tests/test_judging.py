"""Test rows: which they are, whatever the batches; and verdicts on them, which add up."""

import pickle
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

from naively.scale import judging
from naively.scale.holdout import TEST, TRAIN, Chooser, Holdout, kinds_in, kinds_of
from naively.scale.judging import Verdicts, total
from naively.scale.sources import Batch
from naively.statistics.labels import encode_labels
from naively.text.labels import text_labels

RNG = np.random.default_rng(0)
LABELS = RNG.choice(["a", "b", "c"], 500, p=[0.6, 0.38, 0.02])


@pytest.mark.parametrize("share", [0.05, 0.2, 0.25, 0.3, 1 / 3, 0.5, 0.77])
def test_every_run_of_a_class_has_one_test_row(share):
    kinds = kinds_of([("part", 500)], LABELS, share, seed=1)
    for label in "abc":
        members = kinds[LABELS == label]
        assert members[0] == TRAIN
        assert abs(members.sum() - share * len(members)) <= 1
        # No stretch of a class holds many more, or fewer, than its share.
        held = np.concatenate([[0], np.cumsum(members == TEST)])
        for start in range(0, len(members), 7):
            assert abs(held[-1] - held[start] - share * (len(members) - start)) <= 2


@pytest.mark.parametrize("cuts", [(0, 500), (0, 1, 499, 500), (0, 100, 250, 250, 500)])
def test_the_choice_does_not_depend_on_the_batches(cuts):
    batches = (
        Batch(np.zeros((stop - start, 1)), LABELS[start:stop]) for start, stop in pairwise(cuts)
    )
    marked = [batch.labels for batch in Holdout(0.2, 3).marked("part", batches) if len(batch)]
    expected = kinds_of([("part", 500)], LABELS, 0.2, seed=3)
    test = np.char.startswith(np.concatenate(marked), "test:")
    assert test.tolist() == (expected == TEST).tolist()


def test_choices_are_random_and_differ_by_part_seed_and_class():
    chosen = [kinds_of([(part, 500)], LABELS, 0.2, seed) for part in "xy" for seed in range(20)]
    assert len({kinds.tobytes() for kinds in chosen}) == 40
    often = np.mean(chosen, axis=0)[1:]
    assert often.max() < 0.6
    assert often.mean() == pytest.approx(0.2, abs=0.01)
    one, other = (Chooser(0.2, 0, "x").kinds(*encode_labels([name] * 100)) for name in "ab")
    assert (one != other).any()


def test_a_split_column_is_read_as_words():
    assert kinds_in(np.array(["Train", " test", "dev"])).tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match="also holds 'maybe'"):
        kinds_in(np.array(["train", "maybe"]))


def test_labels_of_any_type_become_the_same_text():
    for labels in (np.array([2.0, 10.0]), np.array([2, 10]), np.array([" 2", "10 "])):
        names, codes = text_labels(labels)
        assert names[codes].tolist() == ["2", "10"]
    with pytest.raises(ValueError, match="missing at row 1"):
        text_labels(np.array(["a", " "]))


def verdicts(n, seed):
    rng = np.random.default_rng(seed)
    margin, right = rng.normal(size=n) * 5, rng.random(n) < 0.8
    pairs = Counter(zip(rng.choice(["a", "b"], n), rng.choice(["a", "b"], n), strict=True))
    return Verdicts(pairs, rng.integers(0, n + 1, 3), 1, margin, right)


def test_verdicts_add_up_in_order():
    parts = [verdicts(n, n) for n in (5, 0, 7)]
    added = total(parts)
    assert added.pairs.total() == 12
    assert added.left_out == 3
    assert added.wrong.tolist() == sum(part.wrong for part in parts).tolist()
    margin, rows, right = added.by_margin()
    assert margin.tolist() == [*parts[0].margin, *parts[2].margin]
    assert rows.tolist() == [1] * 12
    assert right.sum() == added.right.sum()


def test_many_margins_become_a_histogram_whatever_the_division(monkeypatch):
    monkeypatch.setattr(judging, "SINGLE_MARGINS", 1000)
    rows = [verdicts(n, n) for n in (900, 400, 3000, 1)]
    rows[0].margin[:4] = [np.inf, -0.0, 0.0, -1e-9]
    together = total(rows)
    apart = total([total(rows[:2]), total(rows[2:])])
    assert len(pickle.dumps(together)) < 1.2e6
    for one, other in zip(together.by_margin(), apart.by_margin(), strict=True):
        assert one.tolist() == other.tolist()
    margin, n, right = together.by_margin()
    every = np.concatenate([each.margin for each in rows])
    assert n.sum() == 4301
    assert right.sum() == sum(each.right.sum() for each in rows)
    assert (np.diff(margin) > 0).all()
    # Each bin holds the rows from its least margin to that of the next, up to single precision.
    for low in margin[:: len(margin) // 50]:
        assert n[margin >= low].sum() == (every.astype(np.float32) >= np.float32(low)).sum()
