"""The k features that matter, out of millions, with a proof of how good they are."""

from __future__ import annotations

import re
from importlib import import_module
from pkgutil import get_data
from typing import Any

__version__ = "0.1.0"

# Public names stand in the stub beside this file, where type checkers and editors find them.
# Estimators import scikit-learn (seconds); counting and merging statistics must not, so each name
# is imported at its first use (PEP 562).
_IMPORT = re.compile(r"^from ([\w.]+) import (?:\(([^)]*)\)|(.*))$", re.MULTILINE)
_HOMES = {
    name: home
    for home, several, one in _IMPORT.findall((get_data(__name__, "__init__.pyi") or b"").decode())
    for name in re.findall(r"(\w+) as ", several or one)
}

__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'naively' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
