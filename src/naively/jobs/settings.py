"""What the jobs are asked, as records."""

from __future__ import annotations

from dataclasses import dataclass

from naively.io.samples import Layout
from naively.io.text import TextRule

DEFAULT_HOLDOUT = 0.2
DEFAULT_K = 100
VALUE_MODELS = ("l1-centers", "l2-centers", "gaussian")  # of tables of numbers of any sign
UNSMOOTHED = ("l1-centers", "l2-centers")


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """Which model to train, and how."""

    kind: str = "multinomial"
    k: int | float | str | None = None  # None: DEFAULT_K, or all where there are fewer
    alpha: float = 1.0
    exact: bool = False
    time_limit: float | None = None  # seconds
    min_count: int = 1  # features counted less often in training are left out
    binary: bool = False  # every count above 0 becomes 1
    scale: str | None = None  # of l2 centers: what the features are divided by
    image: tuple[int, int] | None = None  # height and width, if the features are pixels

    @property
    def smoothing(self) -> float | None:
        """Smoothing, for the models that have one."""
        return None if self.kind in VALUE_MODELS else self.alpha


@dataclass(frozen=True, slots=True)
class TestSettings:
    """Which rows to test on. The first that is given holds: file, column, share."""

    file: str | None = None
    labels_file: str | None = None
    split_column: str | None = None
    holdout: float = DEFAULT_HOLDOUT
    seed: int = 0


def method_of(test: TestSettings) -> str:
    """Say in words which rows are tested on."""
    if test.file is not None:
        return f"the rows of {test.file}"
    if test.split_column is not None:
        return f"the rows with test in column {test.split_column}"
    if test.holdout == 0:
        return "no row"
    return f"{100 * test.holdout:g} % of each class, held out at random with seed {test.seed}"


@dataclass(frozen=True, slots=True)
class SelectJob:
    """All that `naively select` is asked."""

    input: str
    layout: Layout
    text: TextRule
    model: ModelSettings
    test: TestSettings
    out: str
    force: bool = False
    command: str = ""  # to repeat the run
    quick: bool = False  # no other k, no rows to quote, no charts
