"""Where the fastest CRC-32 of this machine lies, as the address of a C function: for compiled code.

Intel's ISA-L (package `isal`) where its symbols can be reached; else zlib's, which is about ten times slower.
"""

import ctypes
import functools
import sys
import zlib
from dataclasses import dataclass
from typing import Any

from framelane.base.errors import ConfigError

_PROBE = bytes(range(256)) * 17


@dataclass(frozen=True, slots=True)
class CrcLibrary:
    """`address` of a function (uint64 crc, const void *data, uint64 bytes): the lower 32 bits of what it returns are
    the CRC-32 of the data, continued from `crc`, as `zlib.crc32` has it; the upper bits mean nothing."""

    name: str
    address: int

    def __call__(self, data: bytes, crc: int = 0) -> int:
        """`zlib.crc32(data, crc)`, for tests and measurements."""
        return int(_KIND(self.address)(crc, data, len(data))) & 0xFFFFFFFF


_KIND = ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.c_uint64, ctypes.c_char_p, ctypes.c_uint64)


@functools.cache
def crc32_library() -> CrcLibrary:
    """The fastest that is here. ConfigError where there is none."""
    for name, find in (("isal", _isal), ("zlib", _zlib)):
        try:
            library = CrcLibrary(name, _address(find()))
        except (ImportError, OSError, AttributeError):
            continue
        if library(_PROBE[1:], 0xABCD) == zlib.crc32(_PROBE[1:], 0xABCD):
            return library
    raise ConfigError("no CRC-32 for compiled code: install the package isal, or the library libz")


def _isal() -> Any:
    from isal import isal_zlib  # its extension carries ISA-L; may be missing where there is no wheel

    return ctypes.CDLL(isal_zlib.__file__).crc32_gzip_refl


def _zlib() -> Any:
    """In the extension or the program that carries Python's own, else the system's."""
    carrier = getattr(zlib, "__file__", None)
    try:
        return ctypes.CDLL(carrier).crc32_z
    except AttributeError:
        return ctypes.CDLL("libz.dylib" if sys.platform == "darwin" else "libz.so.1").crc32_z


def _address(function: Any) -> int:
    address = ctypes.cast(function, ctypes.c_void_p).value
    assert address
    return address
