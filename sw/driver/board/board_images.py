"""The images that a board with a memory of its own sends instead of its picture: written there, read back, chosen."""

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, cast

import numpy as np
from numpy.typing import NDArray

from framelane.base.errors import BoardError, ConfigError
from framelane.driver.registers.registers import WORD_BYTES, Registers
from framelane.models.remote.image_memory import (
    DELAY,
    IMAGE_BYTES,
    IMAGES,
    MEMORY,
    PAGE,
    READY,
    WINDOW,
    WINDOW_BYTES,
)
from framelane.models.remote.udp_registers import MAX_ACCESSES, Access, read, write

_DELAYS = range(4)
_READY_S = 0.5
"""Within this time a memory is ready after power-up; it needs 0.4 ms."""
_NO_MEMORY = (
    "this board has no memory for images, or its registers end before those of one: it sends its own picture, and "
    "nothing can be loaded (boards with such a memory: docs/integrating/board_images.md)"
)
_UNREADABLE = (
    "the board's memory does not hold what is written, whatever delay it is read with: is this the board, and the "
    "revision of it, that its design is made for (boards/colorlight_5a_75b/README.md)?"
)

Told = Callable[[int, int], None]
"""Is told how many bytes of how many are done."""


class _ManyAtOnce(Protocol):
    """Registers that do several accesses in one go."""

    def do(self, accesses: Sequence[Access]) -> list[Access]:
        """At most `MAX_ACCESSES`, in order, and their answers."""


class BoardImages:
    """The image memory of the board behind `registers`. BoardError where it has none."""

    def __init__(self, registers: Registers) -> None:
        self._registers = registers
        try:
            found = registers.read(MEMORY)
            deadline = time.monotonic() + _READY_S
            while found & 0xFF and not found & READY and time.monotonic() < deadline:
                found = registers.read(MEMORY)
        except BoardError as error:
            raise BoardError(f"{_NO_MEMORY}. It said: {error}") from error
        self.room = found & 0xFF
        """Images of 1 MiB that fit."""
        if not self.room:
            raise BoardError(_NO_MEMORY)
        if not found & READY:
            raise BoardError("the board's memory does not get ready: press its button, or load the design anew")

    @property
    def sent(self) -> int:
        """How many images are sent, over and over; 0: the board's own picture."""
        return self._registers.read(IMAGES)

    @sent.setter
    def sent(self, count: int) -> None:
        if not 0 <= count <= self.room:
            raise ConfigError(f"{count} images cannot be sent: give 1 to {self.room}, or 0 for the board's own picture")
        self._registers.write(IMAGES, count)

    def load(self, images: Sequence[NDArray[np.uint16]], told: Told = lambda _done, _all: None) -> None:
        """Write images of uint16, read them back, and have them sent from the next frame on, the first one first.

        Until then the board sends its own picture. ConfigError for more or larger ones than the memory holds, and for
        one without pixels; BoardError where something else is read back.
        """
        data = [image.astype("<u2").tobytes() for image in images]
        self._check(data)
        self.sent = 0
        self._registers.write(DELAY, self._right_delay())
        padded = [image + bytes(-len(image) % WORD_BYTES) for image in data]
        total, done = 2 * sum(map(len, padded)), 0
        for store in (True, False):
            for index, image in enumerate(padded):
                for at, words in _pages(index * IMAGE_BYTES, image):
                    if store:
                        self._write(at, words)
                    else:
                        self._compare(index, at, words)
                    done += WORD_BYTES * len(words)
                    told(done, total)
        self.sent = len(images)

    def _check(self, data: list[bytes]) -> None:
        if not 0 < len(data) <= self.room:
            raise ConfigError(f"{len(data)} images do not fit: the board's memory holds 1 to {self.room}")
        if not all(data):
            raise ConfigError(f"image {data.index(b'')} has no pixels: give images of at least one row")
        largest = max(map(len, data))
        if largest > IMAGE_BYTES:
            raise ConfigError(
                f"an image of {largest} bytes does not fit: the board has {IMAGE_BYTES} for each, as for 512 x 1024 "
                "pixels: give fewer rows of it"
            )

    def _right_delay(self) -> int:
        """The delay with which a test pattern is read back, which overwrites the begin of the first image."""
        pattern = np.random.default_rng(1).integers(0, 1 << 32, MAX_ACCESSES).tolist()
        self._write(0, pattern)
        for delay in _DELAYS:
            self._registers.write(DELAY, delay)
            if self._read(0, len(pattern)) == pattern:
                return delay
        raise BoardError(_UNREADABLE)

    def _compare(self, index: int, at: int, words: list[int]) -> None:
        found = self._read(at, len(words))
        if found != words:
            wrong = [k for k, (one, other) in enumerate(zip(found, words, strict=True)) if one != other]
            first = at + WORD_BYTES * wrong[0]
            raise BoardError(
                f"image {index} is not in the board's memory as it was written: {len(wrong)} words of a page differ, "
                f"the first at {first:#x} reads {found[wrong[0]]:#010x} for {words[wrong[0]]:#010x}. Load it again; "
                "if that goes on, the SDRAM or its supply is bad. The board sends its own picture"
            )

    def _write(self, at: int, words: list[int]) -> None:
        self._turn_to(at)
        self._do([write(offset, word) for offset, word in zip(_offsets(at, len(words)), words, strict=True)])

    def _read(self, at: int, count: int) -> list[int]:
        self._turn_to(at)
        return [access.data for access in self._do([read(offset) for offset in _offsets(at, count)])]

    def _turn_to(self, at: int) -> None:
        self._registers.write(PAGE, at // WINDOW_BYTES)

    def _do(self, accesses: list[Access]) -> list[Access]:
        if hasattr(self._registers, "do"):
            do = cast(_ManyAtOnce, self._registers).do
            groups = (accesses[k : k + MAX_ACCESSES] for k in range(0, len(accesses), MAX_ACCESSES))
            return [done for group in groups for done in do(group)]
        return [self._single(access) for access in accesses]

    def _single(self, access: Access) -> Access:
        if access.operation:
            self._registers.write(access.address, access.data)
            return access
        return Access(address=access.address, data=self._registers.read(access.address))


def _offsets(at: int, count: int) -> range:
    begin = WINDOW + at % WINDOW_BYTES
    return range(begin, begin + WORD_BYTES * count, WORD_BYTES)


def _pages(address: int, data: bytes) -> Iterator[tuple[int, list[int]]]:
    """The words of each page, and where they belong; images begin with a page."""
    words = np.frombuffer(data, "<u4").tolist()
    step = WINDOW_BYTES // WORD_BYTES
    for k in range(0, len(words), step):
        yield address + WORD_BYTES * k, words[k : k + step]
