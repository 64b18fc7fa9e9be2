"""Registers of a board with a memory for images, and what it does with them (docs/integrating/board_images.md).

Model of `boards/common/sdram_window.sv`.
"""

from dataclasses import dataclass, field

from framelane.models.remote.udp_registers import Access

IMAGE_BYTES = 1 << 20
"""From the begin of one image to that of the next."""
MEMORY = 0xC000
"""What the memory is: bits 7:0 how many images fit, bit 31 that it is ready."""
IMAGES = 0xC004
"""How many are sent, over and over; 0: the board's own picture."""
PAGE = 0xC008
"""Which part of the memory the window shows."""
DELAY = 0xC00C
"""Cycles by which what is read comes later than it should, 0 to 3."""
WINDOW, WINDOW_BYTES = 0xE000, 0x2000
READY = 1 << 31


@dataclass
class ImageMemory:
    """A memory for so many images, behind the registers from `MEMORY` on; `access` serves all of these.

    Words that were never written are 0. `lag` is the delay with which it reads right; with another one it reads the
    word of an access before.
    """

    room: int = 4
    lag: int = 0
    images: int = 0
    page: int = 0
    delay: int = 0
    words: dict[int, int] = field(default_factory=dict)
    """By byte address."""
    last: int = 0
    """What was read last."""

    def access(self, access: Access) -> Access:
        """Do it, and give its answer."""
        address, data = access.address, access.data
        if access.operation:
            self._write(address, data)
            return Access(address=address, data=data)
        return Access(address=address, data=self._read(address))

    def _write(self, address: int, data: int) -> None:
        if address >= WINDOW:
            self.words[self._place(address)] = data
            return
        match address & ~0x1FF0:
            case 0xC004:
                self.images = data & (2 * self.room - 1)
            case 0xC008:
                self.page = data % (self.room * IMAGE_BYTES // WINDOW_BYTES)
            case 0xC00C:
                self.delay = data & 3

    def _read(self, address: int) -> int:
        if address >= WINDOW:
            before, self.last = self.last, self.words.get(self._place(address), 0)
            return self.last if self.delay == self.lag else before
        state = self.room | READY
        return {0xC004: self.images, 0xC008: self.page, 0xC00C: self.delay}.get(address & ~0x1FF0, state)

    def _place(self, address: int) -> int:
        return self.page * WINDOW_BYTES + address - WINDOW

    def read(self, address: int, length: int) -> bytes:
        """Bytes from a multiple of 4 on, as a frame has them."""
        words = (self.words.get(at, 0) for at in range(address, address + length, 4))
        return b"".join(word.to_bytes(4, "little") for word in words)[:length]
