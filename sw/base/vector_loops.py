"""Loops over vectors of pixels as numba cannot write them: integers that stay narrow, stores past the caches.

numba widens integers to 64 bits, which costs most lanes of a vector; and before one of its stores the processor reads
the cache line, as if a part of it stayed.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numba
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from framelane.base.lanes import LANES, Lanes

_BITS = ir.IntType(LANES)


def inlined(function: Callable[..., Any]) -> Any:
    """Machine code for `function` that becomes a part of the functions that call it."""
    return numba.njit(nogil=True, forceinline=True)(function)


def generated(function: Callable[..., Any]) -> Any:
    """A function for compiled code, made of LLVM's instructions by what `function` returns after the signature."""
    return intrinsic(function)


def g0_loop(correct: Callable[..., Any]) -> Any:
    """Make a function for compiled code that corrects words as if all were in G0.

        loop(raw, raw_at, ahead, pedestal, scale, at, shift, result, pixels, special, found) -> int

    All arrays are flat. The whole vectors of `pixels` words, from `raw_at` on, with their constants, from `at` on, go
    to the beginning of `result`, by `correct(lanes, word, pedestal, scale, shift)`. Bits of `found`, uint32, say which
    words are `special` or greater; the result is not 0 if any is. The words `ahead` of these are fetched for later.

    Places, not views: to make a view is to count it, by a locked instruction, which waits for stores past the caches.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        _, raw_at, ahead, _, _, at, shift, _, pixels, special, _ = arguments
        places = {0: raw_at, 3: at, 4: at}
        raw, pedestal, scale, result, found = (
            _array(context, builder, signature, arguments, n, places.get(n)) for n in (0, 3, 4, 7, 10)
        )
        lanes = Lanes(builder)
        limit = lanes.spread(builder.trunc(special, ir.IntType(16)))
        any_found = cgutils.alloca_once_value(builder, ir.Constant(_BITS, 0))  # type: ignore[no-untyped-call]
        with _vectors(builder, pixels) as (vector, index):
            word = lanes.load(raw, index)
            lanes.fetch(raw, builder.add(index, ahead))
            value = correct(lanes, word, lanes.load(pedestal, index), lanes.load(scale, index), shift)
            lanes.store(value, result, index)
            bits = builder.bitcast(builder.icmp_unsigned(">=", word, limit), _BITS)
            builder.store(bits, builder.gep(found[0], [vector]))
            builder.store(builder.or_(builder.load(any_found), bits), any_found)
        return builder.zext(builder.load(any_found), context.get_value_type(signature.return_type))

    @generated
    def loop(
        _: Any,
        raw: Any,
        raw_at: Any,
        ahead: Any,
        pedestal: Any,
        scale: Any,
        at: Any,
        shift: Any,
        result: Any,
        pixels: Any,
        special: Any,
        found: Any,
    ) -> Any:
        n = types.intp
        return n(raw, n, n, pedestal, scale, n, n, result, n, n, found), generate

    return loop


def _copy_loop(past_caches: bool) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        lanes = Lanes(builder)
        store = lanes.store_past_caches if past_caches else lanes.store
        read = _array(context, builder, signature, arguments, 0)
        written = _array(context, builder, signature, arguments, 1, arguments[2])
        with _vectors(builder, arguments[3]) as (_, index):
            store(lanes.load(read, index), written, index)
        return context.get_dummy_value()

    @generated
    def loop(_: Any, result: Any, image: Any, at: Any, pixels: Any) -> Any:
        return types.void(result, image, types.intp, types.intp), generate

    return loop


_store, _stream = _copy_loop(past_caches=False), _copy_loop(past_caches=True)


@inlined
def put(result: Any, image: Any, at: int, pixels: int, past_caches: bool) -> None:
    """Copy so many pixels from the beginning of `result` to `image`, from `at` on; both are flat.

    Where `past_caches`, the address of `image[at]` is a multiple of `LINE_BYTES`, and `fence` follows the last call.
    """
    if past_caches:
        _stream(result, image, at, pixels)
    else:
        _store(result, image, at, pixels)
    for i in range(pixels // LANES * LANES, pixels):
        image[at + i] = result[i]


@generated
def lowest_bit(_: Any, bits: Any) -> Any:
    """The number of the lowest bit of a uint32 that is 1; there has to be one."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        number = builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))
        return builder.zext(number, context.get_value_type(signature.return_type))

    return types.intp(types.uint32), generate


@generated
def fence(_: Any) -> Any:
    """Put what was stored past the caches before all that this thread writes from now on."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        builder.fence("seq_cst")
        return context.get_dummy_value()

    return types.void(), generate


def element(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """The address of the element of the first argument, a flat array, whose index is the second."""
    return _array(context, builder, signature, arguments, 0, arguments[1])[0]


def _array(context: Any, builder: Any, signature: Any, arguments: Any, n: int, at: Any = None) -> tuple[Any, int]:
    """Argument `n`, a flat array: the address of element `at`, and the bytes of one."""
    start = context.make_array(signature.args[n])(context, builder, arguments[n]).data
    return (start if at is None else builder.gep(start, [at])), signature.args[n].dtype.bitwidth // 8


@contextmanager
def _vectors(builder: Any, pixels: Any) -> Iterator[tuple[Any, Any]]:
    """A loop over the whole vectors of so many pixels: a vector's number, and that of its first pixel."""
    lanes = ir.Constant(pixels.type, LANES)
    with cgutils.for_range(builder, builder.udiv(pixels, lanes)) as loop:
        yield loop.index, builder.mul(loop.index, lanes)
