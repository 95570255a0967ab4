"""The words by which k is chosen; without NumPy, as the command's help needs them."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

Choice: TypeAlias = Literal["auto", "simplest", "best"]  # of k, by its loss over some folds
AUTO: tuple[Choice, ...] = get_args(Choice)
