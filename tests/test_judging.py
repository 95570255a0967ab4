"""Test rows: which they are, whatever the batches; and verdicts on them, which add up."""

import pickle
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

from naively.judging import verdicts as judging
from naively.judging.parting import LEFT_OUT, TEST, TRAIN, Parting, kinds_in
from naively.judging.verdicts import Verdicts, total

RNG = np.random.default_rng(0)
LABELS = RNG.choice(["a", "b", "c"], 500, p=[0.6, 0.38, 0.02])


def kinds_of(parting, labels=LABELS, content="part", cuts=None):
    chooser = parting.of_part(content)
    bounds = cuts or (0, len(labels))
    batches = [np.unique(labels[a:b], return_inverse=True) for a, b in pairwise(bounds)]
    return np.concatenate([chooser.kinds(*batch) for batch in batches])


@pytest.mark.parametrize("share", [0.05, 0.2, 0.25, 0.3, 1 / 3, 0.5, 0.77])
def test_every_run_of_a_class_has_one_test_row(share):
    tested = kinds_of(Parting(share, seed=1)) == TEST
    for label in "abc":
        members = tested[LABELS == label]
        assert not members[0]
        assert abs(members.sum() - share * len(members)) <= 1
        # No stretch of a class holds many more, or fewer, than its share.
        held = np.concatenate([[0], np.cumsum(members)])
        for start in range(0, len(members), 7):
            assert abs(held[-1] - held[start] - share * (len(members) - start)) <= 2


@pytest.mark.parametrize("cuts", [(0, 500), (0, 1, 499, 500), (0, 100, 250, 250, 500)])
@pytest.mark.parametrize("n_folds", [1, 5])
def test_the_choice_does_not_depend_on_the_batches(cuts, n_folds):
    parting = Parting(0.2, 3, n_folds)
    assert kinds_of(parting, cuts=cuts).tolist() == kinds_of(parting).tolist()


def test_choices_are_random_and_differ_by_content_seed_and_class():
    chosen = [
        kinds_of(Parting(0.2, seed), content=content) == TEST
        for content in "xy"
        for seed in range(20)
    ]
    assert len({kinds.tobytes() for kinds in chosen}) == 40
    often = np.mean(chosen, axis=0)[1:]
    assert often.max() < 0.6
    assert often.mean() == pytest.approx(0.2, abs=0.01)
    one, other = (kinds_of(Parting(0.2), np.repeat(name, 100)) for name in "ab")
    assert (one != other).any()


@pytest.mark.parametrize("share", [0, 0.2])
def test_folds_are_of_equal_size_in_every_class(share):
    kinds = kinds_of(Parting(share, n_folds=5))
    assert set(kinds.tolist()) <= {TEST, *range(TRAIN, TRAIN + 5)}
    without = kinds_of(Parting(share))
    assert ((kinds == TEST) == (without == TEST)).all()
    for label in "abc":
        sizes = np.bincount(kinds[(LABELS == label) & (kinds >= TRAIN)] - TRAIN, minlength=5)
        assert sizes.max() - sizes.min() <= 1
    anew = kinds_of(Parting(share, n_folds=5, fold_seed=1))
    assert ((anew == TEST) == (kinds == TEST)).all()
    assert (anew != kinds).mean() > 0.5


def test_every_fold_is_as_likely_for_every_row():
    found = [kinds_of(Parting(n_folds=4, fold_seed=seed)) - TRAIN for seed in range(200)]
    share = np.mean(np.array(found) == 2, axis=0)
    assert abs(share - 0.25).max() < 0.14  # 4.5 standard deviations of 200 draws


def test_a_split_column_is_read_as_words():
    kinds = kinds_in(np.array(["Train", " test", "dev"]))
    assert kinds.tolist() == [TRAIN, TEST, LEFT_OUT]
    with pytest.raises(ValueError, match="also holds 'maybe'"):
        kinds_in(np.array(["train", "maybe"]))


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
