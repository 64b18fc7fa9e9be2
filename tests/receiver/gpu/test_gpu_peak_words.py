"""The arithmetic of the GPU's peak finder (kernels/peaks.cuh), compiled for the host: every value, ring and limit."""

import ctypes
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from framelane.models.jungfrau.jf_correct import MAX_VALUE
from framelane.models.peaks.peak_settings import PeakSettings
from framelane.receiver import gpu

KERNELS = Path(gpu.__path__[0], "kernels", "include")
RINGS = [(6, 2), (1, 0), (2, 1), (5, 0), (7, 4), (8, 7), (10, 3), (60, 59)]
ALL_VALUES = np.arange(0x10000, dtype=np.uint16)

SOURCE = """
#include "peaks.cuh"
extern "C" u32 ring(i32 *steps) {
    for (u32 i = 0; i < RING_PIXELS; i++) {
        steps[2 * i] = ring_step(i).down;
        steps[2 * i + 1] = ring_step(i).right;
    }
    return RING_PIXELS;
}
extern "C" void reach(const u32 *pairs, u32 n, u32 least, u32 *found) {
    for (u32 i = 0; i < n; i += 4) found[i / 4] = reaching(pairs + i, least * 0x10001);
}
extern "C" void narrow(const u32 *pairs, u32 n, u32 *bytes) {
    for (u32 i = 0; i < n; i += 2) bytes[i / 2] = narrowed(pairs[i], pairs[i + 1]);
}
extern "C" u32 bytes_of_ring(i32 k, i32 shift, u32 beside) { return ring_bytes(k, shift, beside != 0); }
extern "C" u32 bright(u32 n, i32 s, i64 q, i64 v, i64 min_ring, i64 snr_steps) {
    return stands_out({n, s, q}, v, min_ring, snr_steps);
}
extern "C" u32 between(const u32 *row, u32 first, u32 end) { return bits_between(row, first, end); }
extern "C" u32 brighter(i32 v, u32 place, i32 w, u32 other) { return brightness(v, place) > brightness(w, other); }
extern "C" u32 packed(i32 v, u32 place) {
    return value_of(brightness(v, place)) == v && place_of(brightness(v, place)) == place;
}
"""


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[int, int], Any]:
    """The header, built for the host with each ring."""
    compiler = shutil.which("g++")
    assert compiler, "g++ is missing: see scripts/system-packages.sh"
    folder = tmp_path_factory.mktemp("peak_words")
    (folder / "peaks.cpp").write_text(SOURCE)
    found = {}
    for outer, inner in RINGS:
        options = ["-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", f"-I{KERNELS}"]
        output = f"peaks_{outer}_{inner}.so"
        macros = [f"-DOUTER={outer}", f"-DINNER={inner}"]
        subprocess.run([compiler, *options, *macros, "peaks.cpp", "-o", output], cwd=folder, check=True)
        found[outer, inner] = ctypes.CDLL(str(folder / output))
    return found


def pointer(array: Any) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


@pytest.mark.parametrize(("outer", "inner"), RINGS)
def test_a_ring_has_each_of_its_pixels_once(libraries: dict[tuple[int, int], Any], outer: int, inner: int) -> None:
    settings = PeakSettings(outer=outer, inner=inner, min_ring=1, snr=1.0)
    steps = np.full((settings.ring_pixels, 2), 999, np.int32)
    assert libraries[outer, inner].ring(pointer(steps)) == settings.ring_pixels
    side = range(-outer, outer + 1)
    expected = [(down, right) for down in side for right in side if max(abs(down), abs(right)) > inner]
    assert [tuple(step) for step in steps.tolist()] == expected


@pytest.mark.parametrize(("outer", "inner"), [ring for ring in RINGS if ring[0] <= 8])
@pytest.mark.parametrize("shift", range(4))
def test_the_bytes_of_a_ring_in_a_row_are_its_columns(
    libraries: dict[tuple[int, int], Any], outer: int, inner: int, shift: int
) -> None:
    words = (2 * outer + 1 + 6) // 4
    for beside in (0, 1):
        found = np.array(
            [libraries[outer, inner].bytes_of_ring(k, shift, beside) for k in range(words)], np.int32
        ).view(np.uint8)
        columns = np.arange(len(found)) - shift - outer
        expected = (abs(columns) <= outer) & ~(bool(beside) & (abs(columns) <= inner))
        np.testing.assert_array_equal(found, np.where(expected, 255, 0))
        assert expected.sum() == 2 * outer + 1 - beside * (2 * inner + 1)


@pytest.mark.parametrize("least", [1, 2, 5, 80, 127, 128, 3000, MAX_VALUE - 1, MAX_VALUE])
def test_every_value_reaches_its_limit_or_does_not_beside_any_other(
    libraries: dict[tuple[int, int], Any], least: int
) -> None:
    values = np.concatenate([ALL_VALUES, np.random.default_rng(least).permutation(ALL_VALUES)])
    groups = values.reshape(-1, 8)
    found = np.zeros(len(groups), np.uint32)
    libraries[6, 2].reach(pointer(values), values.size // 2, least, pointer(found))
    order = np.arange(8) % 2 * 16 + np.arange(8) // 2
    bits = (found[:, None] >> order) & 1
    signed = groups.view(np.int16).astype(np.int64)
    np.testing.assert_array_equal(bits == 1, (signed >= least) & (signed <= MAX_VALUE))
    assert not (found & ~np.uint32(0x000F000F)).any()


def test_every_value_is_a_byte_or_marked_beside_any_other(libraries: dict[tuple[int, int], Any]) -> None:
    values = np.concatenate([ALL_VALUES, np.random.default_rng(1).permutation(ALL_VALUES)])
    found = np.zeros(values.size, np.uint8)
    libraries[6, 2].narrow(pointer(values), values.size // 2, pointer(found))
    small = values < 128
    np.testing.assert_array_equal(found[small], values[small])
    assert (found[~small] >= 128).all()


@pytest.mark.parametrize("seed", range(20))
def test_a_value_stands_out_where_whole_numbers_say_so(libraries: dict[tuple[int, int], Any], seed: int) -> None:
    rng = np.random.default_rng(seed)
    arguments = [ctypes.c_uint32, ctypes.c_int32, *[ctypes.c_int64] * 4]
    bright = libraries[6, 2].bright
    seen = set()
    for _ in range(500):
        n = int(rng.integers(1, 145))
        spread = int(rng.choice([1, 3, 100, MAX_VALUE]))
        ring = [int(v) for v in rng.integers(-spread, spread + 1, n)]
        s, q = sum(ring), sum(v * v for v in ring)
        snr, least_n = int(rng.integers(0, 49)), int(rng.integers(1, 145))
        v = min(MAX_VALUE, max(-MAX_VALUE, s // n + int(rng.integers(-2, 6 * spread))))
        d = n * v - s
        expected = n >= least_n and d > 0 and 64 * d * d > snr * snr * (n * q - s * s)
        given = [kind(value) for kind, value in zip(arguments, (n, s, q, v, least_n, snr), strict=True)]
        assert bool(bright(*given)) == expected
        seen.add(expected)
    assert seen == {False, True}


def test_bits_are_counted_from_any_place_to_any_other(libraries: dict[tuple[int, int], Any]) -> None:
    row = np.random.default_rng(1).integers(0, 1 << 32, 5, np.uint32)
    bits = np.unpackbits(row.view(np.uint8), bitorder="little")
    for first in range(129):
        for end in range(first, 129):
            assert libraries[6, 2].between(pointer(row), first, end) == bits[first:end].sum()


def test_the_top_of_a_peak_is_the_brightest_and_of_equals_the_first(libraries: dict[tuple[int, int], Any]) -> None:
    library = libraries[6, 2]
    for v, place in ((1, 0), (MAX_VALUE, 0xFFFFFFFF), (77, 0x12345678)):
        assert library.packed(v, ctypes.c_uint32(place))
    assert library.brighter(6, ctypes.c_uint32(0xFFFFFFFF), 5, ctypes.c_uint32(0))
    assert not library.brighter(5, ctypes.c_uint32(0), 6, ctypes.c_uint32(0xFFFFFFFF))
    assert library.brighter(5, ctypes.c_uint32(7), 5, ctypes.c_uint32(8))
    assert not library.brighter(5, ctypes.c_uint32(0x10000), 5, ctypes.c_uint32(0xFFFF))
