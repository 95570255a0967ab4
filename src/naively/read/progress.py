"""How long work reports where it is, without knowing who listens."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Receives the state of the stage at work."""

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Say that `done` of `total` units of the stage are finished (total 0: unknown)."""
        ...


def silent(stage: str, done: int, total: int) -> None:
    """Report to nobody."""
