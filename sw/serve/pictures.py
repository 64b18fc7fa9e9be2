"""The newest picture of a run, for whoever looks: never more work for the receiver than a copy now and then."""

import asyncio
import json
import struct
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from isal import isal_zlib
from numpy.typing import NDArray

from framelane.models.jungfrau.jf_correct import PixelCode
from framelane.models.placement.slots import HOLE_WORD
from framelane.receiver import Frame
from framelane.serve._level_loop import look_up

LOOKED_AT_S, ALONE_S = 0.085, 1.0
"""Seconds from one picture to the next, where somebody looks and where nobody does: frames at 10 Hz may be early."""
_LOOKS_S = 3.0
"""So long after the last question somebody counts as looking."""
REDUCTIONS = (1, 2, 4, 8, 16)
SATURATED, MASKED, INVALID, HOLE = 252, 253, 254, 255
"""Levels of pixels that carry a code. Those below are of values."""
CODED_LEVELS = {
    PixelCode.HOLE: HOLE,
    PixelCode.MASKED: MASKED,
    PixelCode.INVALID: INVALID,
}
"""Codes that are below all values."""
ADU = np.uint16(0x3FFF)
"""A raw word: its value without the gain bits."""
_EXACT = 128
_GZIP = 31
"""Window bits of zlib that mean gzip."""
LEVEL_COUNT = 252
_MOST_PEAKS = 500
"""The most peaks that a picture shows."""


def _levels() -> NDArray[np.int64]:
    """Value of each level: 0 to 127 exactly, then in steps of 4.6 % up to 32767."""
    above = np.geomspace(_EXACT, 32767, LEVEL_COUNT - _EXACT)
    return np.concatenate([np.arange(_EXACT), np.rint(above).astype(np.int64)])


LEVELS = _levels()


def _table() -> NDArray[np.uint8]:
    """The level of each int16 value, by its bits as uint16."""
    values = np.arange(1 << 16).astype(np.uint16).view(np.int16)
    table = (np.searchsorted(LEVELS, values, side="right") - 1).clip(0, LEVEL_COUNT - 1).astype(np.uint8)
    for code, level in (CODED_LEVELS | {PixelCode.SATURATED: SATURATED}).items():
        table[values == code] = level
    return table


_TABLE = _table()


@dataclass(slots=True, eq=False)
class Picture:
    """One image, kept: (rows, columns), int16 values with their codes, or uint16 raw words."""

    sequence: int
    """Grows with each picture of a service."""
    image: NDArray[Any]
    about: dict[str, Any]
    """What is known of the frame: number, holes, peaks, accepted, unit and more."""
    taken: float = field(default_factory=time.monotonic)
    _coded: dict[int, bytes] = field(default_factory=dict, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def levels(self) -> tuple[NDArray[np.uint8], list[int]]:
        """The image in levels, uint8 (rows, columns), and the value of each level below the codes."""
        if self.image.dtype == np.int16:
            return grey_levels(self.image)
        found, values = grey_levels(self.image & ADU)
        found[self.image == HOLE_WORD] = HOLE
        return found, values

    def coded(self, reduce: int = 1) -> bytes:
        """For viewers, gzip: length of a head (u32, little endian), the head in JSON, and a byte for each pixel.

        With `reduce` each pixel is the greatest level of so many by so many. Made once, whoever asks.
        """
        with self._lock:
            if reduce not in self._coded:
                self._coded[reduce] = self.packed(*self.levels(), reduce)
            return self._coded[reduce]

    def packed(self, levels: NDArray[np.uint8], values: list[int], reduce: int, **more: Any) -> bytes:
        """As `coded`, of other levels of the same shape; `more` is for the head."""
        shown = _reduced(levels, reduce)
        head = {**self.about, "sequence": self.sequence, "reduce": reduce, "levels": values, **more}
        head |= {"rows": shown.shape[0], "columns": shown.shape[1], "shape": list(self.image.shape)}
        text = json.dumps(head).encode()
        packer = isal_zlib.compressobj(level=0, wbits=_GZIP)
        parts = struct.pack("<I", len(text)) + text, shown.reshape(-1)
        return b"".join([*map(packer.compress, parts), packer.flush()])


class Pictures:
    """Keeps the newest picture. `take` is for the thread of the run; all else for any other."""

    def __init__(self) -> None:
        self.newest: Picture | None = None
        self.tell: Callable[[Picture], object] = lambda picture: None
        """Is told of each, in the thread of the run."""
        self._sequence, self._taken, self._over = 0, -1e9, False
        self._asked = -1e9
        self._waiting: set[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = set()
        self._lock = threading.Lock()

    def take(self, frame: Frame, unit: str, fraction_bits: int) -> bool:
        """Keep a copy of the frame's image, if it is time; whether it was. A rejected frame has none."""
        now = time.monotonic()
        pause = LOOKED_AT_S if now - self._asked < _LOOKS_S else ALONE_S
        if now - self._taken < pause or not frame.accepted:
            return False
        self._taken = now
        self._sequence += 1
        about = {
            "frame": frame.number,
            "timestamp_ns": frame.timestamp_ns,
            "utc_ns": frame.utc_ns,
            "holes": frame.holes,
            "peaks": frame.verdict.peaks,
            "unit": unit if frame.corrected else "ADU",
            "scale": 2.0**-fraction_bits,
            "bragg": _places(frame),
        }
        image = frame.image.view(np.int16) if frame.corrected else frame.image
        self.newest = picture = Picture(self._sequence, image.copy(), about)
        self.tell(picture)
        self._wake()
        return True

    def end(self) -> None:
        """Nobody waits for another picture any more."""
        self._over = True
        self._wake()

    def _wake(self) -> None:
        with self._lock:
            waiting, self._waiting = self._waiting, set()
        for loop, event in waiting:
            try:
                loop.call_soon_threadsafe(event.set)
            except RuntimeError:  # its loop has ended
                continue

    def look(self) -> Picture | None:
        """The newest, now."""
        self._asked = time.monotonic()
        return self.newest

    async def look_after(self, sequence: int, wait_s: float) -> Picture | None:
        """The newest that is newer than `sequence`; None where none has come in `wait_s` seconds."""
        event = asyncio.Event()
        entry = asyncio.get_running_loop(), event
        with self._lock:
            self._waiting.add(entry)
        try:
            found = self.look()
            if not self._over and (found is None or found.sequence <= sequence):
                try:
                    await asyncio.wait_for(event.wait(), wait_s)
                except TimeoutError:
                    return None
                found = self.look()
            return found if found is None or found.sequence > sequence else None
        finally:
            with self._lock:
                self._waiting.discard(entry)


def grey_levels(image: NDArray[Any]) -> tuple[NDArray[np.uint8], list[int]]:
    """An image in levels, uint8 (rows, columns), and the value of each: of int16 photons with their codes by `LEVELS`.

    Of others in equal steps, from the 0.1st percentile to the 99.9th: of uint16, which are ADU, or int32 without codes.
    """
    if image.dtype == np.int16:
        levels = np.empty(image.shape, np.uint8)
        look_up(image.reshape(-1).view(np.uint16), _TABLE, levels.reshape(-1))
        return levels, LEVELS.tolist()
    low, high = (int(each) for each in np.percentile(image[::4, ::4], (0.1, 99.9)))
    values = low + np.arange(LEVEL_COUNT) * max(1, high - low) // (LEVEL_COUNT - 1)
    each = np.arange(int(ADU) + 1) if image.dtype == np.uint16 else image.clip(low, high).astype(np.int64)
    steps = ((each - low) * (LEVEL_COUNT - 1) // max(1, high - low)).clip(0, LEVEL_COUNT - 1).astype(np.uint8)
    return (steps[image] if image.dtype == np.uint16 else steps), values.tolist()


def _places(frame: Frame) -> list[tuple[float, float]]:
    """Where the Bragg peaks are, column and row; the first ones, and none where none are looked for."""
    if frame.result.bragg is None:
        return []
    peaks = frame.result.bragg.described()[:_MOST_PEAKS]
    return [(round(float(peak["column"]), 1), round(float(peak["row"]), 1)) for peak in peaks]


def _reduced(levels: NDArray[np.uint8], by: int) -> NDArray[np.uint8]:
    """The greatest of each `by` x `by` pixels: a peak, or a hole, stays to be seen. What is over at the end is left."""
    while by > 1:
        rows, columns = (length // 2 * 2 for length in levels.shape)
        if not rows or not columns:
            break
        levels = np.maximum(levels[0:rows:2, :columns], levels[1:rows:2, :columns])
        levels = np.maximum(levels[:, 0::2], levels[:, 1::2])
        by //= 2
    return np.ascontiguousarray(levels)
