"""How kernels are compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import njit

from naively._types import Array

Function = TypeVar("Function", bound=Callable[..., Any])


def kernel(function: Function) -> Function:
    """Compile a free function on flat arrays: cached on disk, and without holding the GIL."""
    return cast(Function, njit(cache=True, nogil=True)(function))


def kernel_part(function: Function) -> Function:
    """Compile into the kernel that calls it.

    A call in an inner loop that passes arrays on would count their references up and down, which
    costs more than a short function.
    """
    return cast(Function, njit(cache=True, nogil=True, inline="always")(function))


def summing_kernel(function: Function) -> Function:
    """Compile like `kernel`, but let sums be taken in several lanes at once.

    The order of the additions is that of the compiled code: it depends on the processor, never on
    the number of threads.
    """
    return cast(Function, njit(cache=True, nogil=True, fastmath={"reassoc", "nsz"})(function))


def read_only(array: Array) -> Array:
    """Return a read-only view, so that a kernel is compiled for one kind of input, not two."""
    view = array.view()
    view.flags.writeable = False
    return view
