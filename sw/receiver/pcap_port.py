"""RoCEv2 packets from a capture: they wait for the receiver, so a replay loses nothing."""

from collections.abc import Iterator
from pathlib import Path

from framelane.receiver import pcap


class PcapPort:
    """The packets of the capture `path`, once. InputError, before the first packet, where the file is not whole."""

    queue_drops = 0

    def __init__(self, path: Path) -> None:
        self._frames = pcap.read(path)
        self.ended = False

    def frames(self, timeout_s: float) -> Iterator[bytes]:
        """See `Port`. Nothing is waited for."""
        while (frame := next(self._frames, None)) is not None:
            yield frame
        self.ended = True

    def close(self) -> None:
        """See `Port`."""
        self._frames = iter(())
        self.ended = True
