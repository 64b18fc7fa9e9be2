"""The HLS correction, the whole top function in C simulation: the bits of the model, whatever the frames' lengths."""

import itertools
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import hls_library
from exact import exact
from framelane.base.errors import SimulationError
from framelane.models.jungfrau.jf_calibration import Calibration
from framelane.models.jungfrau.jf_correct import PixelCode, correct_int16
from framelane.models.jungfrau.jf_fixed import FixedCalibration, quantize
from framelane.receiver.jungfrau.jungfrau_file import JungfrauFile
from hls_build import HLS, bench_program, include_arguments
from hls_vectors import BEAT, LANES, Start, standard, write

ALL_WORDS = np.arange(0x10000, dtype=np.uint16).reshape(256, 256)
EXTREMES = list(itertools.product((0, 9601, 0xFFFF), (0, 1, 0x8000, 0xFFFF), (0, 17, 31)))


def scattered(seed: int, shape: tuple[int, int], high_gain: bool = False) -> FixedCalibration:
    """Any constants, a tenth of the pixels masked in each stage, another shift in each stage."""
    rng = np.random.default_rng(seed)
    pedestal, mantissa = rng.integers(0, 0x10000, (2, 3, *shape), np.uint16)
    mantissa[rng.random(mantissa.shape) < 0.1] = 0
    shift = [(26, 21, 18), (0, 31, 1), (12, 0, 31)][seed % 3]
    return FixedCalibration(pedestal, mantissa, shift, high_gain=high_gain)


def values(beats: NDArray[np.void]) -> NDArray[np.int16]:
    """All lanes of all beats."""
    return np.ascontiguousarray(beats["data"]).view(np.int16).ravel()


@pytest.mark.parametrize("high_gain", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_every_word_equals_exact_integers_where_every_pixel_and_stage_differs(seed: int, high_gain: bool) -> None:
    fixed = scattered(seed, ALL_WORDS.shape, high_gain)
    got = values(hls_library.run(Start(fixed, [ALL_WORDS])).beats).tolist()
    pedestal, mantissa = (plane.reshape(3, -1).T.tolist() for plane in (fixed.pedestal, fixed.mantissa))
    expected = [exact(w, pedestal[w], mantissa[w], list(fixed.shift), high_gain) for w in range(0x10000)]
    assert got == expected


@pytest.mark.parametrize(("pedestal", "mantissa", "shift"), EXTREMES)
def test_every_word_equals_the_model_at_the_ends_of_every_constant(pedestal: int, mantissa: int, shift: int) -> None:
    planes = np.ones((3, *ALL_WORDS.shape), np.uint16)
    fixed = FixedCalibration(planes * np.uint16(pedestal), planes * np.uint16(mantissa), (shift, shift, shift))
    got = values(hls_library.run(Start(fixed, [ALL_WORDS])).beats)
    np.testing.assert_array_equal(got, correct_int16(ALL_WORDS, fixed).ravel())


def test_frames_of_other_lengths_keep_to_their_own_constants_and_are_counted() -> None:
    rng = np.random.default_rng(5)
    fixed = scattered(0, (5, 64))
    lengths = [320, 319, 288, 1, 320, 321, 352, 3200, 32, 33, 320, 289]
    start = Start(fixed, [rng.integers(0, 0x10000, n, np.uint16) for n in lengths])
    start.frames[7][-1] = 0x8000
    before = hls_library.run(Start(fixed, [ALL_WORDS[:5, :64]])).mismatches
    beats, mismatches = hls_library.run(start)
    assert (beats == start.expected).all()
    assert mismatches - before == sum(-(-n // LANES) != 10 for n in lengths) == 7
    longest = np.split(beats, np.flatnonzero(beats["last"]) + 1)[7]
    assert set(values(longest)[320:].tolist()) == {PixelCode.HOLE, PixelCode.INVALID, PixelCode.MASKED}


def test_a_start_after_a_frame_that_was_too_short_begins_with_the_first_constants() -> None:
    fixed = scattered(1, (4, 64))
    words = np.full((4, 64), 0x1234, np.uint16)
    hls_library.run(Start(fixed, [words[:1]]))
    hls_library.run(Start(fixed, [np.resize(words, 999)]))
    np.testing.assert_array_equal(
        values(hls_library.run(Start(fixed, [words])).beats), correct_int16(words, fixed).ravel()
    )


def test_a_start_that_lacks_the_end_of_its_frames_waits() -> None:
    class CutShort(Start):
        @property
        def pixels(self) -> NDArray[np.void]:
            return super().pixels[:-1]

    with pytest.raises(SimulationError, match="15 beats of pixels end before the 2 frames do"):
        hls_library.run(CutShort(scattered(2, (4, 64)), [ALL_WORDS[:1]] * 2))


def test_a_start_of_no_frames_takes_and_gives_nothing() -> None:
    class Empty(Start):
        @property
        def pixels(self) -> NDArray[np.void]:
            return np.zeros(0, BEAT)

    assert len(hls_library.run(Empty(scattered(2, (4, 64)), [])).beats) == 0


def test_real_frames_come_out_as_the_model_gives_them(real_file: JungfrauFile) -> None:
    calibration = Calibration(real_file.pedestal_adu, real_file.gain_adu_per_kev, real_file.photon_energy_kev)
    fixed = quantize(calibration, 4)
    images = [real_file.image(n) for n in range(3)]
    got = values(hls_library.run(Start(fixed, images)).beats).reshape(3, *images[0].shape)
    np.testing.assert_array_equal(got, correct_int16(np.stack(images), fixed))
    assert len(np.unique(got)) > 1000


@pytest.mark.parametrize("field", ["data", "keep", "strb", "user", "last"])
def test_the_bench_program_finds_one_wrong_bit_of_what_comes_out(tmp_path: Path, field: str) -> None:
    vectors = tmp_path / "vectors"
    write(vectors, [standard()[0], Start(scattered(0, (2, 32)), [ALL_WORDS[0]])])
    assert subprocess.run([bench_program(), vectors]).returncode == 0
    bits = bytearray(vectors.read_bytes())
    last = np.frombuffer(bits, BEAT, 1, len(bits) - BEAT.itemsize)
    last[field] ^= 1
    vectors.write_bytes(bits)
    result = subprocess.run([bench_program(), vectors], capture_output=True, text=True)
    assert result.returncode == 1
    assert "start 1: beat 7 is not" in result.stderr


def test_the_bench_program_refuses_a_file_that_is_cut_or_empty(tmp_path: Path) -> None:
    vectors = tmp_path / "vectors"
    write(vectors, [Start(scattered(0, (2, 32)), [ALL_WORDS[0]])])
    for size in (vectors.stat().st_size - 1, 0):
        os.truncate(vectors, size)
        assert subprocess.run([bench_program(), vectors], capture_output=True).returncode == 1


def test_of_xilinx_headers_only_those_under_a_free_licence_are_used() -> None:
    command = ["g++", "-M", *include_arguments(), str(HLS / "jf_correct.cpp")]
    used = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    assert any(path.endswith("ap_types/ap_int.h") for path in used)
    assert not [path for path in used if path.endswith(("ap_types/hls_stream.h", "ap_types/ap_shift_reg.h"))]
