"""Words that several threads share, for compiled code: read, written and changed so that all agree on the order.

numba's own loads and stores may be moved by the compiler and the processor; these are LLVM's, sequentially consistent.
`array` is flat, of 64-bit integers; `at` is the index of the word. Python may read and write the same words while no
compiled code runs, and wherever a value that is a moment old will do.
"""

from typing import Any

from numba.core import types

from framelane.base.vector_loops import element, generated

_ORDER, _BYTES = "seq_cst", 8


@generated
def load(_: Any, array: Any, at: Any) -> Any:
    """The word."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load_atomic(element(context, builder, signature, arguments), _ORDER, _BYTES)

    return types.int64(array, types.intp), generate


@generated
def store(_: Any, array: Any, at: Any, value: Any) -> Any:
    """Write the word."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = element(context, builder, signature, arguments)
        builder.store_atomic(arguments[2], place, _ORDER, _BYTES)
        return context.get_dummy_value()

    return types.void(array, types.intp, types.int64), generate


def _changing(operation: str) -> Any:
    @generated
    def change(_: Any, array: Any, at: Any, value: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            place = element(context, builder, signature, arguments)
            return builder.atomic_rmw(operation, place, arguments[2], _ORDER)

        return types.int64(array, types.intp, types.int64), generate

    return change


add = _changing("add")
"""Add a value; what was there before."""
swap = _changing("xchg")
"""Write a value; what was there before."""
