"""The transmitter behind a frame store: pixels in, packets out. `tx_stream.sv` equals this byte for byte."""

from framelane.models.memory.frame_store import FrameInfo, FrameStore
from framelane.models.memory.image_writer import Correction
from framelane.models.tx import Tx, TxConfig


class TxStream:
    """`tx_stream.sv`, frame by frame. The credit of each destination is `tx.bd_gen.window_ends`.

    Without a `correction` slots have the raw image only.
    """

    def __init__(self, config: TxConfig, store: FrameStore, correction: Correction | None = None) -> None:
        self.tx = Tx(config, self._read)
        self.store = store
        self._correction = correction
        self._address = 0
        self._slot = bytearray()

    def _read(self, address: int, length: int) -> bytes:
        at = address - self._address
        return bytes(self._slot[at : at + length])

    def frame(self, info: FrameInfo, pixels: bytes, *, late: bool = False) -> list[bytes]:
        """The packets of one frame, of which the link has read all when the next begins.

        None where it is `late`: the link was so slow that no slot was free, the frame is lost; nor where it does not
        fit a slot.
        """
        event = self.store.begin(info, known=not late)
        if event is None or not self.store.finish(len(pixels), refused=False):
            return []
        self._address, self._slot = event.address, bytearray(self.store.ring.slot_bytes)
        if self._correction:
            pixels, corrected = self._correction.images(pixels)
            self._slot[self._correction.offset : self._correction.offset + len(pixels)] = corrected
        self._slot[: len(pixels)] = pixels
        packets = self.tx.frame(event)
        self.store.ring.hand_over()
        self.store.ring.release()
        return packets
