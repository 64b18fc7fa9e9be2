"""Receivers of RC behind a network that loses packets: Ethernet frames go in, acknowledgements come out, without FCS.

Acknowledgements: InfiniBand vol. 1, 9.7.5.1; BTH 9.2, AETH 9.3.5 and table 44; annex A17 (RoCEv2).
"""

import random
import struct
from collections.abc import Iterable

from framelane.base.errors import PacketError
from framelane.models.rc.lossy_network import LinkImpairments, LossyNetwork
from framelane.models.rc.rc_responder import RcResponder
from framelane.models.roce_tx import roce_icrc, wire
from framelane.models.station.roce_rx import ACKNOWLEDGE, AETH_BYTES, FIRST_QPN, Event, EventKind

SRC_PORT = 0xC000
CREDIT_UNLIMITED = 0x1F
"""Credit count in an ACK's syndrome of a receiver that limits nothing (vol. 1, 9.7.7.2.5)."""
_RNR, _NAK = 0x20, 0x60


def syndrome(event: Event) -> int:
    """The first byte of the AETH."""
    if event.kind is EventKind.ACK:
        return CREDIT_UNLIMITED
    return _RNR | event.value if event.kind is EventKind.RNR else _NAK | event.kind - EventKind.NAK_SEQUENCE


def acknowledgement(event: Event, receiver: wire.Endpoint, sender: wire.Endpoint, src_port: int = SRC_PORT) -> bytes:
    """The packet in which `receiver` says `event` to `sender`, from UDP port `src_port`: 62 bytes."""
    after_ip = wire.UDP_BYTES + wire.BTH_BYTES + AETH_BYTES + wire.ICRC_BYTES
    ip = struct.pack(
        ">BBHHHBBHII", 0x45, 0, wire.IP_BYTES + after_ip, 0, 0x4000, 64, wire.PROTOCOL_UDP, 0, receiver.ip, sender.ip
    )
    frame = b"".join((
        sender.mac.to_bytes(6, "big"), receiver.mac.to_bytes(6, "big"), wire.ETHERTYPE_IPV4.to_bytes(2, "big"),
        ip[:10], wire.ip_checksum(ip).to_bytes(2, "big"), ip[12:],
        struct.pack(">HHHH", src_port, wire.ROCE_PORT, after_ip, 0),
        struct.pack(">BBHII", ACKNOWLEDGE, 0, 0xFFFF, FIRST_QPN + event.qp, event.psn),
        struct.pack(">I", syndrome(event) << 24 | event.msn),
    ))  # fmt: skip
    return roce_icrc.append(frame)


def flip_bit(frame: bytes, chance: random.Random) -> bytes:
    """The frame with one bit wrong behind its Ethernet header, which no ICRC covers."""
    at = chance.randrange(wire.ETH_BYTES, len(frame))
    return frame[:at] + bytes([frame[at] ^ 1 << chance.randrange(8)]) + frame[at + 1 :]


class RcRemote:
    """`receivers` by the QP number that packets for them name; those in `silent` hear nothing.

    Each answers so long after it has heard as `slowness` says of it, at once where it says nothing.

    `there` is the way to them, `back` the way of their acknowledgements, both with the same `impairments` at first.
    Times in any unit, the same everywhere. Other packets, and damaged ones, are dropped.
    """

    def __init__(self, receivers: dict[int, RcResponder], impairments: LinkImpairments, seed: int) -> None:
        self.receivers = receivers
        self.silent: set[int] = set()
        self.slowness: dict[int, int] = {}
        self.there: LossyNetwork[bytes] = LossyNetwork(impairments, 2 * seed, flip_bit)
        self.back: LossyNetwork[bytes] = LossyNetwork(impairments, 2 * seed + 1, flip_bit)
        self.damaged = 0
        """Packets that a receiver dropped for their ICRC, or because they could not be read."""

    def send(self, now: int, frames: Iterable[bytes]) -> None:
        """Frames that have left the transmitter by `now`."""
        for frame in frames:
            self.there.send(now, frame)

    def due(self, now: int) -> list[bytes]:
        """What the transmitter hears by `now`, in order."""
        for frame in self.there.due(now):
            self._hear(now, frame)
        return list(self.back.due(now))

    def next_arrival(self) -> int | None:
        """When the next packet arrives, on either way; None where none is under way."""
        return min((t for t in (self.there.next_arrival(), self.back.next_arrival()) if t is not None), default=None)

    def _hear(self, now: int, frame: bytes) -> None:
        try:
            headers, payload = wire.parse(frame)
        except PacketError:
            self.damaged += 1
            return
        if not roce_icrc.check(frame):
            self.damaged += 1
            return
        if headers.dest_qpn in self.receivers and headers.dest_qpn not in self.silent:
            answers = now + self.slowness.get(headers.dest_qpn, 0)
            for event in self.receivers[headers.dest_qpn].receive(headers, payload):
                self.back.send(answers, acknowledgement(event, headers.dst, headers.src))
