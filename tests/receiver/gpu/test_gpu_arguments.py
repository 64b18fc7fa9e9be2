"""Arguments of a kernel, as the driver finds them."""

import ctypes
from typing import Any

import numpy as np

from framelane.receiver.gpu.arguments import Arguments


def found(arguments: Arguments, kinds: list[Any]) -> list[Any]:
    """What the driver reads at the address of the addresses: it knows how long each is."""
    addresses = (ctypes.c_void_p * len(kinds)).from_address(arguments.address)
    sizes = [np.dtype(kind).itemsize for kind in kinds]
    return [
        np.frombuffer(ctypes.string_at(address or 0, size), kind)[0]
        for address, size, kind in zip(addresses, sizes, kinds, strict=True)
    ]


def test_each_argument_is_at_its_address_and_the_first_can_be_changed() -> None:
    given: list[Any] = [np.uintp(0x7F0012345678), np.int64(-5), np.uint32(0xFFFFFFFF), np.int32(-1), np.float64(0.1)]
    kinds = [type(each) for each in given]
    arguments = Arguments(given)
    assert found(arguments, kinds) == given
    arguments.values[0].view(np.uint64)[0] = 77
    assert found(arguments, kinds) == [77, *given[1:]]
    assert found(Arguments([]), []) == []
