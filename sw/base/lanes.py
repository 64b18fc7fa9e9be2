"""Vectors of pixels for loops that numba cannot write: made of LLVM's instructions, which it cuts to the machine's."""

from typing import Any

from llvmlite import ir
from numba.core import cgutils

LANES = 32
"""Pixels of a vector."""

TILE = 256
"""Pixels that are corrected at once, whole vectors. With more, the reading of the next tile, the computing and the
storing of the one before overlap less."""

LINE_BYTES = 64
"""What is stored past the caches begins at a multiple of this."""


class Lanes:
    """What a loop does with one vector; arithmetic is the `builder`'s. Types of elements are LLVM's."""

    def __init__(self, builder: Any) -> None:
        self.builder = builder

    @staticmethod
    def of(element: Any) -> Any:
        """The type of a vector."""
        return ir.VectorType(element, LANES)

    def fill(self, element: Any, value: int) -> Any:
        """A constant in all lanes."""
        return ir.Constant(self.of(element), [value] * LANES)

    def spread(self, scalar: Any) -> Any:
        """A scalar in all lanes."""
        empty = ir.Constant(self.of(scalar.type), ir.Undefined)
        first = self.builder.insert_element(empty, scalar, ir.Constant(ir.IntType(32), 0))
        return self.builder.shuffle_vector(first, empty, self.fill(ir.IntType(32), 0))

    def load(self, array: tuple[Any, int], index: Any) -> Any:
        """Elements `index` and following of an array: its address and the bytes of an element."""
        value = self.builder.load(self._address(array, index))
        value.align = array[1]
        return value

    def store(self, value: Any, array: tuple[Any, int], index: Any) -> None:
        """Write elements `index` and following."""
        self.builder.store(value, self._address(array, index), array[1])

    def store_past_caches(self, value: Any, array: tuple[Any, int], index: Any) -> None:
        """Write elements `index` and following, whose address is a multiple of `LINE_BYTES`."""
        store = self.builder.store(value, self._address(array, index), LINE_BYTES)
        store.set_metadata("nontemporal", self.builder.module.add_metadata([ir.Constant(ir.IntType(32), 1)]))

    def fetch(self, array: tuple[Any, int], index: Any) -> None:
        """Begin to read the cache line of element `index` for later; it need not be in the array."""
        byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        prefetch = cgutils.get_or_insert_function(self.builder.module, kind, "llvm.prefetch")  # type: ignore[no-untyped-call]
        read, keep, data = (ir.Constant(number, value) for value in (0, 3, 1))
        self.builder.call(prefetch, [self.builder.bitcast(self._address(array, index), byte), read, keep, data])

    def _address(self, array: tuple[Any, int], index: Any) -> Any:
        address = self.builder.gep(array[0], [index])
        return self.builder.bitcast(address, self.of(array[0].type.pointee).as_pointer())
