"""Columns settled in advance: the same solution as with all columns looked at."""

import numpy as np
import pytest

from naively.families.family import CoupledCounts
from naively.selection import coupled
from naively.selection.coupled import ScreenedColumns, coupled_columns


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("alpha", [1.0, 0.0])
@pytest.mark.parametrize("seed", range(4))
def test_screened_equals_unscreened(n_classes, alpha, seed, monkeypatch):
    monkeypatch.setattr(coupled, "SCREEN_ABOVE", 100)
    rng = np.random.default_rng(seed)
    table = rng.gamma(0.2, 2.0, (40_000, n_classes)) * (rng.random((40_000, n_classes)) < 0.6)
    counts = CoupledCounts(table, alpha)
    screened = coupled_columns(counts)
    assert isinstance(screened, ScreenedColumns)
    whole = coupled_columns(counts, screen=False)
    for k in (2, 50, 4_000, 30_000):
        fast, slow = screened.select(k, None, None), whole.select(k, None, None)
        scale = 1e-10 * (slow.bound - whole.baseline) + 1e-12 * abs(whole.baseline)
        assert fast.bound == pytest.approx(slow.bound, abs=scale)
        assert fast.objective <= fast.bound + scale
        # The same problem, rounded among other candidates.
        gain = slow.objective - whole.baseline
        assert fast.objective == pytest.approx(slow.objective, abs=1e-6 * gain + scale)
        assert len(screened.listed(fast.take)[0]) == k
