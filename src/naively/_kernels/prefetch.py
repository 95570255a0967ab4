"""Ask for a cache line before it is needed."""

from __future__ import annotations

from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import config, types
from numba.extending import intrinsic

_READING, _WRITING, _KEEP_CLOSE, _DATA = 0, 1, 3, 1  # arguments of the LLVM instruction


def _instruction(purpose: int) -> Any:
    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        byte_pointer, i32 = ir.IntType(8).as_pointer(), ir.IntType(32)
        address = builder.bitcast(builder.gep(array.data, [arguments[1]]), byte_pointer)
        function_type = ir.FunctionType(ir.VoidType(), [byte_pointer, i32, i32, i32])
        name = "llvm.prefetch"
        function = builder.module.declare_intrinsic(name, [byte_pointer], function_type)
        hints = [ir.Constant(i32, hint) for hint in (purpose, _KEEP_CLOSE, _DATA)]
        builder.call(function, [address, *hints])
        return context.get_dummy_value()

    def ask(typing_context: Any, array: Any, index: Any) -> Any:  # noqa: ARG001
        return types.void(array, index), code

    return intrinsic(ask)


def _nothing(array: Any, index: Any) -> None:
    """Stand in for the instruction when kernels run as plain Python."""


# Never touches memory that is not there: an address beyond the array is ignored by the processor.
prefetch = _nothing if config.DISABLE_JIT else _instruction(_WRITING)
prefetch_to_read = _nothing if config.DISABLE_JIT else _instruction(_READING)
