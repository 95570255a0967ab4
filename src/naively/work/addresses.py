"""Addresses of schedulers, looked at before an engine tries them for minutes."""

from __future__ import annotations

import re
import socket

_PATIENCE = 10.0  # seconds in which a scheduler answers
_PLACE = re.compile(r"(?:\[(?P<six>[^]]+)\]|(?P<host>[^\s:/]+))(?::(?P<port>\d{1,5}))?")


def check_answers(address: str, example: str, default_port: int | None = None) -> None:
    """Refuse an address where nothing listens.

    Parameters
    ----------
    address : str
        As SCHEME://HOST:PORT; of several hosts, separated by commas, one must answer.
    example : str
        How such an address looks, for the message.
    default_port : int, default=None
        Port of an address that has none; None: it must have one.

    Raises
    ------
    ValueError
        If the address has another form, or nobody answers there.
    """
    hosts = re.split("[/;?]", address.rpartition("://")[2], maxsplit=1)[0].split(",")
    found = [_PLACE.fullmatch(each) for each in hosts]
    places = [
        (each["six"] or each["host"], int(each["port"] or default_port or 0))
        for each in found
        if each is not None
    ]
    if len(places) < len(hosts) or not all(0 < port < 1 << 16 for _, port in places):
        raise ValueError(f"`address` must be like {example}; got {address!r}.")
    refusals = [_refusal(place) for place in places]
    if None not in refusals:
        raise ValueError(
            f"{address}: no scheduler answers there ({refusals[0]}); start it, or give another "
            "`address`."
        )


def _refusal(place: tuple[str, int]) -> str | None:
    try:
        socket.create_connection(place, _PATIENCE).close()
    except (OSError, UnicodeError) as error:
        return getattr(error, "strerror", None) or str(error)
    return None
