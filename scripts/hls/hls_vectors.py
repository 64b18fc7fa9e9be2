"""Starts of the HLS correction: what goes in, and by `framelane.models.jungfrau.jf_correct` what must come out."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from framelane.models.jungfrau.jf_constants import planes
from framelane.models.jungfrau.jf_correct import correct_int16
from framelane.models.jungfrau.jf_fixed import FixedCalibration

LANES = 32
"""Pixels a beat."""

BEAT = np.dtype(
    [("data", "<u2", LANES), ("keep", "<u8"), ("strb", "<u8"), ("user", "<u4"), ("last", "<u4")],
)
"""`Beat` of `hw/hls/jf_correct_start.hpp`."""


@dataclass(frozen=True, eq=False)
class Start:
    """One start of the top function: as many frames as are given, with the constants of one detector."""

    fixed: FixedCalibration
    frames: Sequence[NDArray[np.uint16]]
    """Raw words of each frame, u16 of any shape and size: a frame may be shorter or longer than the detector."""

    @property
    def planes(self) -> NDArray[np.uint16]:
        """The constants in memory, u16 (6, beats, 32): filled up with 0."""
        return np.stack([_lines(plane) for plane in planes(self.fixed)])

    @property
    def pixels(self) -> NDArray[np.void]:
        """The beats of all frames; tuser is 1 on every third."""
        return np.concatenate([_beats(frame) for frame in self.frames])

    @property
    def registers(self) -> NDArray[np.uint32]:
        """`Registers` of `hw/hls/jf_correct_start.hpp`."""
        shift, high_gain = self.fixed.shift, int(self.fixed.high_gain)
        return np.array([self.planes.shape[1], len(self.frames), *shift, high_gain], np.uint32)

    @property
    def mismatches(self) -> int:
        """How many frames are shorter or longer than the constants, in beats."""
        return sum(len(_lines(frame)) != self.planes.shape[1] for frame in self.frames)

    @property
    def expected(self) -> NDArray[np.void]:
        """The beats that must come out: a pixel behind the last of the constants has no calibration."""
        beats = self.pixels
        beats["data"] = np.concatenate([self._correct(_lines(frame)) for frame in self.frames])
        return beats

    def _correct(self, lines: NDArray[np.uint16]) -> NDArray[np.uint16]:
        constants = np.zeros((len(self.planes), *lines.shape), np.uint16)
        both = min(len(lines), self.planes.shape[1])
        constants[:, :both] = self.planes[:, :both]
        return correct_int16(lines, replace(self.fixed, pedestal=constants[:3], mantissa=constants[3:])).view(np.uint16)


def write(path: Path, starts: Iterable[Start]) -> None:
    """Write the file that `hw/hls/jf_correct_tb.cpp` reads."""
    mismatches = 0
    with path.open("wb") as file:
        for start in starts:
            mismatches += start.mismatches
            expected = start.expected
            sizes = np.array([mismatches, len(start.pixels), len(expected)], np.uint32)
            for array in (start.registers, sizes, start.planes, start.pixels, expected):
                file.write(array.tobytes())


def standard() -> list[Start]:
    """Every word in every stage with random constants, both gain modes, and frames of a wrong length in between."""
    rng = np.random.default_rng(1)
    words = np.arange(0x10000, dtype=np.uint16)
    starts = []
    for high_gain in (False, True):
        pedestal, mantissa = rng.integers(0, 0x10000, (2, 3, 256, 256), np.uint16)
        mantissa[rng.random(mantissa.shape) < 0.1] = 0
        fixed = FixedCalibration(pedestal, mantissa, (26, 21, 18), high_gain=high_gain)
        frames = [words, words[:999], rng.permutation(words), np.resize(words, 0x10040), words[:1], words]
        starts.append(Start(fixed, frames))
    return starts


def _lines(words: NDArray[np.uint16]) -> NDArray[np.uint16]:
    """Words in beats, u16 (beats, 32), filled up with 0."""
    beats = -(-words.size // LANES)
    lines = np.zeros(beats * LANES, np.uint16)
    lines[: words.size] = words.ravel()
    return lines.reshape(beats, LANES)


def _beats(frame: NDArray[np.uint16]) -> NDArray[np.void]:
    lines = _lines(frame)
    beats = np.zeros(len(lines), BEAT)
    beats["data"] = lines
    beats["keep"] = beats["strb"] = 0xFFFF_FFFF_FFFF_FFFF
    bytes_left = 2 * (frame.size - LANES * (len(lines) - 1))
    beats["keep"][-1] = (1 << bytes_left) - 1
    beats["user"] = np.arange(len(lines)) % 3 == 0
    beats["last"][-1] = 1
    return beats
