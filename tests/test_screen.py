"""Columns settled in advance: the same solution as with all columns looked at."""

import numpy as np
import pytest

from naively.models.family import Coupled
from naively.selection import coupled
from naively.selection.coupled import ScreenedColumns, coupled_columns


def value(screened, columns):
    """Objective of some columns, but for what does not depend on them."""
    each = np.ones(len(columns), dtype=np.int64)
    return screened.columns.counts(columns, each).value(each)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("alpha", [1.0, 0.0])
@pytest.mark.parametrize("seed", range(4))
def test_screened_equals_unscreened(n_classes, alpha, seed, monkeypatch):
    monkeypatch.setattr(coupled, "SCREEN_ABOVE", 100)
    rng = np.random.default_rng(seed)
    table = rng.gamma(0.2, 2.0, (40_000, n_classes)) * (rng.random((40_000, n_classes)) < 0.6)
    counts = Coupled(table, alpha)
    screened = coupled_columns(counts)
    assert isinstance(screened, ScreenedColumns)
    whole = coupled_columns(counts, screen=False)
    for k in (2, 50, 4_000, 20_000, screened.n_seen - 10):
        fast, slow = screened.select(k, None, None), whole.select(k, None, None)
        scale = 1e-10 * (slow.bound - whole.baseline) + 1e-12 * abs(whole.baseline)
        assert fast.bound == pytest.approx(slow.bound, abs=scale)
        assert fast.objective <= fast.bound + scale
        # The same problem, rounded among other candidates.
        gain = slow.objective - whole.baseline
        assert fast.objective == pytest.approx(slow.objective, abs=1e-6 * gain + scale)
        assert len(screened.listed(fast.take)[0]) == k
        more = np.flatnonzero(screened.widened(k))  # reach the bound (NFS-long, proposition 3.8)
        assert k <= len(more) <= k + n_classes
        gained = value(screened, more) - value(screened, np.flatnonzero(fast.take))
        assert gained >= fast.bound - fast.objective - scale


@pytest.mark.parametrize("n_classes", [2, 3])
def test_counts_lost_in_the_smoothing_are_seen(n_classes, monkeypatch):
    """1e-30 + 1 is 1, but such a column has the gain of any rare one, and many may be wanted."""
    monkeypatch.setattr(coupled, "SCREEN_ABOVE", 100)
    rng = np.random.default_rng(0)
    table = rng.gamma(0.2, 2.0, (20_000, n_classes)) * np.geomspace(1.0, 3.0, n_classes)
    table[rng.random(20_000) < 0.2] *= 1e-30
    counts = Coupled(table, 1.0)
    screened, whole = coupled_columns(counts), coupled_columns(counts, screen=False)
    assert isinstance(screened, ScreenedColumns)
    for k in (8_000, 15_000):
        fast, slow = screened.select(k, None, None), whole.select(k, None, None)
        gain = slow.bound - whole.baseline
        assert fast.bound - screened.baseline == pytest.approx(gain, rel=1e-12)
