"""The transmitter behind a frame store: pixels in, packets out. `tx_stream.sv` equals this byte for byte."""

from framelane.models.frame_store import FrameInfo, FrameStore
from framelane.models.tx import Tx, TxConfig


class TxStream:
    """`tx_stream.sv`, frame by frame. The credit of each destination is `tx.bd_gen.window_ends`."""

    def __init__(self, config: TxConfig, store: FrameStore) -> None:
        self.tx = Tx(config, self._read)
        self._store = store
        self._address = 0
        self._pixels = b""

    def _read(self, address: int, length: int) -> bytes:
        at = address - self._address
        return self._pixels[at : at + length]

    def frame(self, info: FrameInfo, pixels: bytes, *, late: bool = False) -> list[bytes]:
        """The packets of one frame, of which the link has read all when the next begins.

        None where it is `late`: the link was so slow that no slot was free, the frame is lost; nor where it does not
        fit a slot.
        """
        event = self._store.begin(info, known=not late)
        if event is None or not self._store.finish(len(pixels), refused=False):
            return []
        self._address, self._pixels = event.address, pixels
        packets = self.tx.frame(event)
        self._store.ring.hand_over()
        self._store.ring.release()
        return packets
