"""How a run is repeated: its settings as a command line, and as a file of settings."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, TypeAlias

# By the names of the options; "file" is what is read, and a table stands in a mapping of its own.
Settings: TypeAlias = Mapping[str, Any]

_NUMBER = re.compile(r"-?\d[\d.e+-]*")


def command_line(settings: Settings, command: str = "select") -> str:
    """Return the command line that says the same, quoted for a shell."""
    file = [settings["file"]] if "file" in settings else []
    return shlex.join(["naively", command, *file, *_arguments(settings)])


def _arguments(settings: Settings) -> Iterator[str]:
    for name, value in settings.items():
        if isinstance(value, Mapping):
            for key, given in value.items():
                for each in _all(given):
                    yield from (f"--{name}", f"{key}={_text(each)}")
        elif name != "file" and value is not False:
            for each in _all(value):
                yield f"--{name}" if len(name) > 1 else f"-{name}"
                yield from () if each is True else [_text(each)]


def toml_of(settings: Settings) -> str:
    """Return the file of settings that says the same."""
    tables = {name: value for name, value in settings.items() if isinstance(value, Mapping)}
    top = {name: value for name, value in settings.items() if name not in tables}
    parts = [top, *tables.values()]
    heads = ["", *(f"\n[{name}]\n" for name in tables)]
    return "".join(
        head + "".join(f"{name} = {_toml(value)}\n" for name, value in part.items())
        for head, part in zip(heads, parts, strict=True)
    )


def _all(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


def _text(value: Any) -> str:
    """Value as it is given on the command line."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _toml(value: Any) -> str:
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml, value))}]"
    text = _text(value)
    # Whatever stands in the file is read by its text, so that a number may be written as one.
    if text in ("true", "false") or (_NUMBER.fullmatch(text) and _is_plain(text)):
        return text
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _is_plain(number: str) -> bool:
    """Whether a number that is read is written like this again."""
    with suppress(ValueError, OverflowError):
        return number in (str(int(float(number))), repr(float(number)))
    return False
