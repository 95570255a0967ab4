"""Verdicts on test rows, which add up."""

import pickle
from collections import Counter

import numpy as np
import pytest

from naively.judging import verdicts as judging
from naively.judging.parting import LEFT_OUT, TEST, TRAIN, kinds_in
from naively.judging.verdicts import Verdicts, total


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
