"""The library's CRC-32: as zlib's for any bytes, and zlib's itself where there is no other."""

import sys
import zlib
from collections.abc import Iterator

import numpy as np
import pytest
from numpy.typing import NDArray

from framelane.base.compiled import compiled
from framelane.base.crc32 import crc32_raw
from framelane.base.crc32_library import crc32_library


@pytest.fixture(params=["isal", "zlib"])
def name(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Find the library anew, with and without isal."""
    if request.param == "zlib":
        monkeypatch.setitem(sys.modules, "isal", None)
        monkeypatch.setitem(sys.modules, "isal.isal_zlib", None)
    else:
        pytest.importorskip("isal")
    crc32_library.cache_clear()
    yield str(request.param)
    crc32_library.cache_clear()


def test_bytes_of_any_length_from_any_address_have_the_crc_of_zlib(name: str) -> None:
    library, rng = crc32_library(), np.random.default_rng(2)
    assert library.name == name
    for size in [*range(300), 1023, 4096, 4100, 70000]:
        data, seed = rng.bytes(size), int(rng.integers(1 << 32))
        assert library(data) == zlib.crc32(data)
        assert library(data, seed) == zlib.crc32(data, seed)


@compiled
def crc_of(data: NDArray[np.uint8], start: int, stop: int) -> int:
    address = np.uint64(data.ctypes.data + start)
    return int(crc32_raw(np.uint64(0), address, np.uint64(stop - start)) & np.uint64(0xFFFFFFFF))


def test_compiled_code_has_it_too() -> None:
    data = np.random.default_rng(3).integers(0, 256, 5000).astype(np.uint8)
    for start in range(70):
        assert crc_of(data, start, 5000 - start) == zlib.crc32(data[start : 5000 - start].tobytes())
