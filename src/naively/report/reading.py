"""The summary back from its JSON; every field is checked against its type."""

from __future__ import annotations

import json
import math
import types
from dataclasses import fields, is_dataclass
from typing import Any, Union, cast, get_args, get_origin, get_type_hints

from naively.report.documents import FORMAT, VERSION
from naively.report.summary import Summary

_DERIVED = {"gap", "relative_gap", "sentence"}  # of the certificate, written for readers of JSON


def summary_of_json(text: str) -> Summary:
    """Read what `summary_json` wrote.

    Raises
    ------
    ValueError
        Naming the field, if the text is anything else.
    """
    try:
        record = json.loads(text)
    except RecursionError as error:
        raise ValueError("is nested too deeply to be a summary") from error
    except ValueError as error:
        raise ValueError(f"is not JSON ({error})") from error
    if not isinstance(record, dict) or record.pop("format", None) != FORMAT:
        raise ValueError(f'is not a summary: it lacks "format": "{FORMAT}"')
    version = record.pop("version", None)
    if version != VERSION:
        raise ValueError(f"has version {version!r}; this naively reads version {VERSION}")
    certificate = record.get("certificate")
    if isinstance(certificate, dict):
        a_priori = certificate.get("a_priori")
        certificate["a_priori"] = -math.inf if a_priori is None else a_priori
        for name in _DERIVED:
            certificate.pop(name, None)
    try:
        return cast("Summary", _built(Summary, record, "summary"))
    except OverflowError as error:
        raise ValueError("holds a number too large for double precision") from error


def _built(kind: Any, value: Any, place: str) -> Any:
    origin = get_origin(kind)
    if is_dataclass(kind):
        return _record(kind, value, place)
    if origin is tuple:
        return _tuple(get_args(kind), value, place)
    if origin in (types.UnionType, Union):
        inner = next(each for each in get_args(kind) if each is not type(None))
        return None if value is None else _built(inner, value, place)
    if kind is float and isinstance(value, str) and value in ("inf", "-inf"):
        return float(value)
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if type(value) is not kind:
        raise ValueError(f"holds {value!r:.40} where `{place}` must be of type {kind.__name__}")
    return value


def _record(kind: Any, value: Any, place: str) -> Any:
    hints = get_type_hints(kind)
    names = [each.name for each in fields(kind)]
    if not isinstance(value, dict) or set(value) != set(names):
        raise ValueError(f"must hold the fields {', '.join(names)} in `{place}`")
    return kind(**{name: _built(hints[name], value[name], f"{place}.{name}") for name in names})


def _tuple(kinds: tuple[Any, ...], value: Any, place: str) -> Any:
    if not isinstance(value, list):
        raise ValueError(f"must hold a list in `{place}`")
    if len(kinds) == 2 and kinds[1] is Ellipsis:
        kinds = (kinds[0],) * len(value)
    if len(kinds) != len(value):
        raise ValueError(f"must hold {len(kinds)} values in `{place}`")
    return tuple(
        _built(kind, each, f"{place}[{i}]")
        for i, (kind, each) in enumerate(zip(kinds, value, strict=True))
    )
