"""The template of the page, whose bytecode is kept as that of modules is.

Compiling it is a twentieth of a short run. `PYTHONDONTWRITEBYTECODE` and `PYTHONPYCACHEPREFIX` say
whether and where it is kept, and a folder that cannot be written does no harm.
"""

from __future__ import annotations

import hashlib
import marshal
import sys
from contextlib import suppress
from importlib.util import cache_from_source
from pathlib import Path
from typing import final

import jinja2
from jinja2.bccache import Bucket

_TEMPLATE = Path(__file__).parent / "templates" / "page.html"
_DIGEST = 32  # bytes


def environment() -> jinja2.Environment:
    """Return what loads it; a name that it misses is an error."""
    return jinja2.Environment(
        loader=jinja2.PackageLoader("naively.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        bytecode_cache=_Bytecode(),
    )


@final
class _Bytecode(jinja2.BytecodeCache):
    """A file of bytecode behind a digest, by which a stale, half or damaged one is known."""

    def load_bytecode(self, bucket: Bucket) -> None:
        """Take what was compiled of the same source, if it is there."""
        with suppress(OSError):
            kept = _place().read_bytes()
            if kept[:_DIGEST] == _digest(bucket, kept[_DIGEST:]):
                bucket.code = marshal.loads(kept[_DIGEST:])

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keep what was compiled."""
        if sys.dont_write_bytecode:
            return
        code = marshal.dumps(bucket.code)
        with suppress(OSError):
            _place().parent.mkdir(parents=True, exist_ok=True)
            _place().write_bytes(_digest(bucket, code) + code)


def _place() -> Path:
    return Path(cache_from_source(_TEMPLATE))


def _digest(bucket: Bucket, code: bytes) -> bytes:
    made_by = f"{jinja2.__version__} {sys.version} {bucket.checksum}"
    return hashlib.sha256(made_by.encode() + code).digest()
