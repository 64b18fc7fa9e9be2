"""Bytes of packets for compiled code: numbers in network order, copies, the ICRC."""

from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numpy.typing import NDArray

from framelane.base.crc32 import crc32_raw
from framelane.base.vector_loops import generated, inlined
from framelane.models.roce_tx import roce_icrc, wire

_COVERED = wire.IP_BYTES + wire.UDP_BYTES + wire.BTH_BYTES
"""All headers with bytes that the ICRC does not cover; whole words."""
_LRH_BYTES = 8
_ONES = np.uint8(0xFF)
_WORD = np.uint64(0xFFFFFFFF)
_VARIANT = tuple(_LRH_BYTES + offset for offset in roce_icrc.VARIANT)
SCRATCH_BYTES = _LRH_BYTES + _COVERED


@inlined
def number16(data: NDArray[np.uint8], at: int) -> int:
    """Two bytes in network order."""
    return int((np.int64(data[at]) << 8) | np.int64(data[at + 1]))


@inlined
def number32(data: NDArray[np.uint8], at: int) -> int:
    """Four bytes in network order."""
    return int((number16(data, at) << 16) | number16(data, at + 2))


@inlined
def number64(data: NDArray[np.uint8], at: int) -> np.uint64:
    """Eight bytes in network order."""
    return (np.uint64(number32(data, at)) << np.uint64(32)) | np.uint64(number32(data, at + 4))


@generated
def copy_bytes(_: Any, target: Any, at: Any, source: Any, start: Any, size: Any) -> Any:
    """copy_bytes(target, at, source, start, size): both are flat arrays of uint8 that do not overlap."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        def place(array: int, offset: int) -> Any:
            start = context.make_array(signature.args[array])(context, builder, arguments[array]).data
            return builder.gep(start, [arguments[offset]])

        cgutils.raw_memcpy(builder, place(0, 1), place(2, 3), arguments[4], ir.Constant(arguments[4].type, 1))  # type: ignore[no-untyped-call]
        return context.get_dummy_value()

    return types.void(target, types.intp, source, types.intp, types.intp), generate


@inlined
def has_icrc(data: NDArray[np.uint8], ip: int, ip_bytes: int, scratch: NDArray[np.uint8]) -> bool:
    """Whether the packet whose IPv4 header is at `ip` ends with its ICRC, as `roce_icrc.check` has it.

    It has at least the headers up to BTH and an ICRC. `scratch` is of `SCRATCH_BYTES`, the first 8 of them ones.
    """
    copy_bytes(scratch, _LRH_BYTES, data, ip, _COVERED)
    for offset in _VARIANT:
        scratch[offset] = _ONES
    crc = crc32_raw(np.uint64(0), np.uint64(scratch.ctypes.data), np.uint64(SCRATCH_BYTES)) & _WORD
    rest = np.uint64(data.ctypes.data) + np.uint64(ip + _COVERED)
    crc = crc32_raw(crc, rest, np.uint64(ip_bytes - _COVERED - wire.ICRC_BYTES)) & _WORD
    end = ip + ip_bytes
    for n in range(wire.ICRC_BYTES):
        if data[end - wire.ICRC_BYTES + n] != np.uint8(crc >> np.uint64(8 * n) & np.uint64(0xFF)):
            return False
    return True
