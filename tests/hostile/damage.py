"""Ways to damage bytes, and what archives hold."""

from __future__ import annotations

import io
import zipfile
from random import Random

WORDS = (  # marks of formats, and numbers at the borders of types
    *(bytes([each]) for each in b"\0\xff\r\n\"',;:{[]}%#\x80\xc3"),
    *(b"\xff\xfe", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"1e999", b"nan", b"-1", b"null"),
    *(b"99999999999999999999", b"9223372036854775807", b"4294967295", b"2147483648"),
    *(b"\xff" * 4, b"\xff" * 8, b"\x7f" * 8, b"\0" * 8, b"\x01\0\0\0", b"\0\0\0\x80"),
    *(b"\0" * 7 + b"\x40", b"[" * 300),
)
Steps = list[tuple[int, int, int]]


def flip(found: bytearray, at: int, value: int) -> None:
    found[at] ^= 1 << value % 8


def put(found: bytearray, at: int, value: int) -> None:
    found[at] = value % 256


def write(found: bytearray, at: int, value: int) -> None:
    word = WORDS[value % len(WORDS)]
    found[at : at + len(word)] = word


def insert(found: bytearray, at: int, value: int) -> None:
    found[at:at] = WORDS[value % len(WORDS)]


def take(found: bytearray, at: int, value: int) -> None:
    del found[at : at + 1 + value % 40]


def repeat(found: bytearray, at: int, value: int) -> None:
    start = value * len(found) >> 16
    found[at:at] = found[start : start + 30]


def cut(found: bytearray, at: int, value: int) -> None:
    del found[at:]


WAYS = (flip, flip, put, write, insert, take, repeat, cut)


def damaged(content: bytes, steps: Steps) -> bytes:
    """Return content after some steps: which way, where (of 2**16), and with what."""
    found = bytearray(content)
    for way, where, value in steps:
        if found:
            WAYS[way](found, where * len(found) >> 16, value)
    return bytes(found)


def damaged_within(content: bytes, steps: Steps) -> bytes:
    """Return an archive of which one file is damaged, is another, or is gone; sums are right."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    (way, where, value), names = steps[0], list(files)
    chosen, other = (names[at * len(names) >> 16] for at in (where, value))
    if way == 0:
        del files[chosen]
    elif way == 1:
        files[chosen] = files[other]
    else:
        files[chosen] = damaged(files[chosen], steps[1:] or steps)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, each in files.items():
            archive.writestr(name, each)
    return out.getvalue()


def damage(content: bytes, steps: Steps) -> bytes:
    """Damage bytes, and of two archives one within."""
    inside = content.startswith(b"PK\3\4") and sum(where for _, where, _ in steps) % 2
    return damaged_within(content, steps) if inside else damaged(content, steps)


def random_steps(random: Random) -> Steps:
    """Return a few steps."""
    n = random.choice((1, 1, 1, 2, 3, 6))
    return [
        (random.randrange(len(WAYS)), random.randrange(1 << 16), random.randrange(1 << 16))
        for _ in range(n)
    ]
