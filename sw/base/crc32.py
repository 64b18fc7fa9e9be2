"""CRC-32 for compiled code, by the library that is fastest on this machine."""

from typing import Any

from llvmlite import binding
from numba.core import types

from framelane.base.crc32_library import crc32_library

_SYMBOL = "framelane_crc32"
binding.add_symbol(_SYMBOL, crc32_library().address)

crc32_raw: Any = types.ExternalFunction(_SYMBOL, types.uint64(types.uint64, types.uintp, types.uint64))
"""crc32_raw(crc, address, bytes), of all uint64: see `CrcLibrary`; only the lower 32 bits of the result count."""
