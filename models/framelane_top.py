"""All of the gateware: pixels in, packets at the MAC out. `framelane_top.sv` equals this byte for byte."""

from framelane.models.mac.mac_port import MacPort
from framelane.models.memory.frame_store import FrameInfo
from framelane.models.tx_stream import TxStream


class FramelaneTop:
    """`framelane_top.sv`, frame by frame: what `stream` makes of frames, as the MAC behind `port` gets it.

    Without a `port` packets leave as they are. The credit of each destination is `stream.tx.bd_gen.window_ends`.
    """

    def __init__(self, stream: TxStream, port: MacPort | None = None) -> None:
        self.stream, self.port = stream, port

    def frame(self, info: FrameInfo, pixels: bytes, *, late: bool = False) -> list[bytes]:
        """The packets of one frame at the MAC; none where it is `late`, or does not fit a slot, as of `TxStream`."""
        packets = self.stream.frame(info, pixels, late=late)
        return list(self.port.sent(packets)) if self.port else packets
