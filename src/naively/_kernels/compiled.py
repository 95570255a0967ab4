"""How kernels are compiled."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np
from numba import config, njit
from numba.core.caching import FunctionCache

from naively._kernels.first_use import COMPILING
from naively._types import Array

Function = TypeVar("Function", bound=Callable[..., Any])


class _Cache(FunctionCache):  # type: ignore[misc]
    """Compiled code on disk, without which everything works too: only later."""

    def load_overload(self, *args: Any, **kwargs: Any) -> Any:
        """Load what was compiled before; None if it cannot be read."""
        found = None
        try:
            found = super().load_overload(*args, **kwargs)
        except OSError:
            _tell_of_cache()
        if found is None:
            COMPILING.start()
        return found

    def save_overload(self, *args: Any, **kwargs: Any) -> None:
        """Keep what was compiled, if there is room for it."""
        COMPILING.stop(self._py_func.__name__)
        try:
            super().save_overload(*args, **kwargs)
        except OSError:
            _tell_of_cache()


@functools.cache  # said once
def _tell_of_cache() -> None:
    logging.getLogger("naively").warning(
        "naively: compiled code cannot be kept, so every start takes some seconds longer; set "
        "NUMBA_CACHE_DIR to a folder that can be written and has room."
    )


def _compiled(function: Function, **options: Any) -> Function:
    if config.DISABLE_JIT:  # compiled code does not warn of what overflows or is divided by 0
        return np.errstate(all="ignore")(function)
    dispatcher = njit(nogil=True, **options)(function)
    try:
        dispatcher._cache = _Cache(dispatcher.py_func)  # as cache=True does, but to be forgiven
    except RuntimeError:  # neither the package nor the home can be written
        _tell_of_cache()
    return cast(Function, dispatcher)


def kernel(function: Function) -> Function:
    """Compile a free function on flat arrays: cached on disk, and without holding the GIL."""
    return _compiled(function)


def kernel_part(function: Function) -> Function:
    """Compile into the kernel that calls it.

    A call in an inner loop that passes arrays on would count their references up and down, which
    costs more than a short function.
    """
    return _compiled(function, inline="always")


def summing_kernel(function: Function) -> Function:
    """Compile like `kernel`, but let sums be taken in several lanes at once.

    The order of the additions is that of the compiled code: it depends on the processor, never on
    the number of threads.
    """
    return _compiled(function, fastmath={"reassoc", "nsz"})


def read_only(array: Array) -> Array:
    """Return a read-only view, so that a kernel is compiled for one kind of input, not two."""
    view = array.view()
    view.flags.writeable = False
    return view
