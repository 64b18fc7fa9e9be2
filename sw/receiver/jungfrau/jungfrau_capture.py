"""Packets of a JUNGFRAU from a capture: they wait for the reader, so a replay loses nothing."""

from pathlib import Path
from typing import Self

from framelane.models.roce_tx import wire
from framelane.models.roce_tx.packet_batch import EMPTY
from framelane.packets import pcap
from framelane.receiver.detector.packet_batch import PacketBatch
from framelane.receiver.transport.capture_times import CaptureTimes

_FRAGMENT = 0x3FFF
"""More fragments (0x2000) and fragment offset, of the IPv4 header's flags."""


class JungfrauCapture:
    """The packets of the capture `path`, once, whose streams have the UDP `ports` as in `DetectorPort`.

    InputError, before the first packet, where the file is not whole. What is not UDP to one of the ports goes into the
    batch as of stream -1.
    """

    queue_drops = 0

    def __init__(self, path: Path, ports: list[int]) -> None:
        packets = pcap.load(path)
        self.times = CaptureTimes.of(packets)
        """When its packets came, where that can be known."""
        self._frames = enumerate(packets)
        self._came: dict[int, int] = {}
        """When the newest packet of each frame came."""
        self._streams = {port: stream for stream, port in enumerate(ports)}
        self.fragments = 0
        """IP fragments, of which nothing can be used: packets that did not fit the sender's MTU."""
        self.ended = False

    def fill(self, batch: PacketBatch, timeout_s: float) -> None:
        """Replace what is in the batch by the next packets. Nothing is waited for."""
        batch.n = 0
        while not batch.full:
            index, frame = next(self._frames, (-1, b""))
            if index < 0:
                self.ended = True
                return
            port, payload = self._datagram(frame)
            stream = self._streams.get(port, -1)
            if self.times and stream >= 0:
                self._came[int.from_bytes(payload[:8], "little")] = self.times.time_ns(index)
            batch.add(payload, stream)

    def came_ns(self, number: int) -> int | None:
        """When the last packet of this frame came, ns since 1970, asked once; None where the capture does not tell."""
        return self._came.pop(number, None)

    def close(self) -> None:
        """Free the file."""
        self._frames = enumerate(EMPTY)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _datagram(self, frame: bytes) -> tuple[int, bytes]:
        """UDP port and payload of an Ethernet frame; port -1 where it has none."""
        at = wire.ip_offset(frame)
        ip = frame[at:]
        header = max(wire.IP_BYTES, (ip[0] & 15) * 4 if ip else 0)
        is_ip = frame[at - 2 : at] == wire.ETHERTYPE_IPV4.to_bytes(2, "big")
        if not is_ip or len(ip) < header + wire.UDP_BYTES or ip[9] != wire.PROTOCOL_UDP:
            return -1, b""
        if int.from_bytes(ip[6:8], "big") & _FRAGMENT:
            self.fragments += 1
            return -1, b""
        udp = ip[header:]
        return int.from_bytes(udp[2:4], "big"), udp[wire.UDP_BYTES : int.from_bytes(udp[4:6], "big")]
