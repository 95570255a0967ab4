"""A damaged HDF5 file may keep its library busy for ever, or end the program: tried out apart.

Before a file is read, another Python goes through all that it holds, with a limit of time. What
Python can say of the file is said when it is read; here only the end is looked at.
"""

from __future__ import annotations

import os
import subprocess
import sys
from functools import lru_cache

from naively.read.errors import InputError

SECONDS = 30.0  # and more for large files:
_BYTES_A_SECOND = 20_000_000
_TRIAL = """
import sys
import h5py

def look(name, found):
    if not isinstance(found, h5py.Dataset):
        return
    size = found.size or 0
    list(found.attrs.items())
    if size * found.dtype.itemsize <= 1 << 26:
        found[()]
    elif found.chunks is not None:
        found.id.get_num_chunks()
        found[(0,) * found.ndim]

try:
    with h5py.File(sys.argv[1], "r") as file:
        list(file.attrs.items())
        file.visititems(lambda name, found: (list(found.attrs.items()), look(name, found))[1])
except Exception:
    pass
"""


def check_hdf5(path: str, source: str) -> None:
    """Refuse an HDF5 file of which the reading does not end, or ends the program.

    Raises
    ------
    InputError
        If it does so.
    """
    try:
        found = os.stat(path)
    except OSError:  # told by who opens it
        return
    said = _fault(path, found.st_size, found.st_mtime_ns)
    if said:
        raise InputError(f"{source}: the file is damaged ({said}); get it again.")


@lru_cache(maxsize=1024)
def _fault(path: str, size: int, _changed: int) -> str:
    """Say what became of a trial; nothing if it came to an end."""
    if not sys.executable:  # an interpreter within another program
        return ""
    seconds = SECONDS + size / _BYTES_A_SECOND
    try:
        # -P: no file of the folder at hand is taken for a module.
        ended = subprocess.run(
            [sys.executable, "-P", "-c", _TRIAL, path],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"HDF5 does not come to an end with it in {seconds:,.0f} s"
    except OSError:  # no more processes, or none allowed
        return ""
    return "HDF5 breaks down over it" if ended.returncode < 0 else ""
