"""How kernels are compiled."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from time import thread_time
from types import FunctionType
from typing import Any, TypeVar, cast

import numpy as np
from numba import config, njit
from numba.core.caching import FunctionCache
from numba.core.runtime import rtsys

from naively._kernels.first_use import COMPILING
from naively._types import Array

_PATIENCE = 0.3  # seconds of plain Python, after which a patient kernel is compiled after all
_SMALL = 128  # numbers in the arrays of a call that may be made in plain Python

_NOTHING: Mapping[str, Any] = {}

Function = TypeVar("Function", bound=Callable[..., Any])


class _Cache(FunctionCache):  # type: ignore[misc]
    """Compiled code on disk, without which everything works too: only later."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Load what was compiled before; None if it cannot be read.

        What only a compiler needs, the tables of all that numba can compile, is left to it: that
        is most of what the first kernel of a process takes.
        """
        found = None
        rtsys.initialize(target_context)  # what counts references to arrays
        try:
            with self._guard_against_spurious_io_errors():
                found = self._load_overload(sig, target_context)
        except OSError:
            _tell_of_cache()
        if found is None:
            COMPILING.start()
        return found

    @property
    def is_empty(self) -> bool:
        """Whether nothing has been kept yet."""
        return not Path(self._cache_file._index_path).exists()

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
    # What a kernel would need to be called by C is a fifth of the time that it takes to compile.
    dispatcher = njit(nogil=True, no_cfunc_wrapper=True, **options)(function)
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


def lane_kernel(function: Function) -> Function:
    """Compile like `kernel`, but let a division by zero give inf or NaN.

    Else each division is a branch, and no loop with one is worked on in several lanes at once.
    """
    return _compiled(function, error_model="numpy")


def summing_kernel(function: Function) -> Function:
    """Compile like `kernel`, but let sums be taken in several lanes at once.

    The order of the additions is that of the compiled code: it depends on the processor, never on
    the number of threads. It stands in the code of the kernel that calls it: of two copies, the
    one of the process that compiles and the one that is kept on disk, the lanes may differ.
    """
    return _compiled(function, fastmath={"reassoc", "nsz"}, forceinline=True)


def patient(compiled: Function, **instead: Any) -> Function:
    """Compile a kernel only when it pays: a few small calls are made in plain Python.

    A kernel whose loops over much data are kernels themselves may be called with large arrays too;
    `instead` names what then takes the place of some of these.

    To the kernel and all that it calls both ways are one: what it does must be the same in Python
    to the last bit (`math.log` instead of `np.log`, no integers that overflow). Kernels that call
    it name the kernel itself.
    """
    if config.DISABLE_JIT:
        return compiled
    cache, spent = cast(Any, compiled)._cache, 0.0

    @functools.cache
    def plain() -> Callable[..., Any] | None:
        known = isinstance(cache, _Cache) and not cache.is_empty
        return None if known else _interpreted(cast(Any, compiled).py_func, instead)

    @functools.wraps(compiled)
    def called(*arguments: Any) -> Any:
        nonlocal spent
        function = plain() if spent < _PATIENCE else None
        if function is None or not (instead or _are_small(arguments)):
            return compiled(*arguments)
        start, compiling = thread_time(), COMPILING.seconds
        with np.errstate(all="ignore"):
            result = function(*arguments)
        spent += thread_time() - start if compiling == COMPILING.seconds else 0.0
        return result

    return cast(Function, called)


def _are_small(arguments: tuple[Any, ...]) -> bool:
    return sum(each.size for each in arguments if isinstance(each, np.ndarray)) <= _SMALL


def _interpreted(function: Any, instead: Mapping[str, Any] = _NOTHING) -> Callable[..., Any]:
    """Return a function in plain Python, with all kernels that it calls, or what is instead."""
    names = {**function.__globals__, **instead}
    for name in () if instead else function.__code__.co_names:
        if hasattr(names.get(name), "py_func"):
            names[name] = _interpreted(names[name].py_func)
    return FunctionType(function.__code__, names, function.__name__)


def read_only(array: Array) -> Array:
    """Return a read-only view, so that a kernel is compiled for one kind of input, not two."""
    view = array.view()
    view.flags.writeable = False
    return view
