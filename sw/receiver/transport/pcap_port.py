"""RoCEv2 packets from a capture: they wait for the receiver, so a replay loses nothing."""

from pathlib import Path

from framelane.models.roce_tx.packet_batch import EMPTY, Batch
from framelane.packets import pcap
from framelane.receiver.transport import sockets
from framelane.receiver.transport.capture_times import CaptureTimes


class PcapPort:
    """The packets of the capture `path`, once. InputError, before the first packet, where the file is not whole."""

    queue_drops = 0

    def __init__(self, path: Path) -> None:
        self._packets = pcap.load(path)
        self._next = 0
        self.times = CaptureTimes.of(self._packets)
        """When they came, where that can be known."""

    @property
    def ended(self) -> bool:
        """See `Port`."""
        return self._next == len(self._packets)

    def batch(self, timeout_s: float) -> Batch:
        """See `Port`. Nothing is waited for."""
        part = slice(self._next, min(self._next + sockets.BATCH, len(self._packets)))
        self._next = part.stop
        return Batch(self._packets.memory, self._packets.starts[part], self._packets.sizes[part])

    def close(self) -> None:
        """See `Port`."""
        self._packets, self._next = EMPTY, 0
