"""Registers over UDP: the datagrams, and what a board does with them (docs/integrating/udp_registers.md)."""

import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import IntEnum

MAGIC = b"FLRG\x01"
"""The last byte is the version."""
PORT = 4792
"""UDP port: the one after RoCEv2's 4791."""
MAX_ACCESSES = 64
ANSWER = 0x80
OKAY, SLVERR = 0, 2
"""Responses of AXI (IHI 0022, RRESP and BRESP)."""
_HEAD = struct.Struct(">5sBBBIQ")
_ACCESS = struct.Struct(">BBHI")
_ETH_IP_UDP = struct.Struct(">6s6sHBBHHHBBH4s4sHHHH")


class Kind(IntEnum):
    """What a datagram is."""

    HELLO = 0
    ACCESS = 1


class Status(IntEnum):
    """What came of it."""

    DONE = 0
    NO_TOKEN = 1
    """A write without the right token: nothing was done."""
    NOT_PEER = 2
    """Another has said hello first, or nobody has."""
    REPEATED = 3
    """The number of the last datagram that was done: its writes were not done again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """A read or write of 32 bits; in an answer `operation` is the response, 0 where all is well."""

    address: int
    data: int = 0
    operation: int = 0


def read(address: int) -> Access:
    """A read of the word at byte `address`."""
    return Access(address=address)


def write(address: int, data: int) -> Access:
    """A write of the word at byte `address`."""
    return Access(address=address, data=data, operation=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Datagram:
    """A request, or with `answer` what the board says of it."""

    kind: Kind
    number: int
    token: int = 0
    accesses: tuple[Access, ...] = ()
    status: Status = Status.DONE
    answer: bool = False

    def encode(self) -> bytes:
        """The payload of the UDP datagram."""
        kind = self.kind | (ANSWER if self.answer else 0)
        head = _HEAD.pack(MAGIC, kind, self.status, len(self.accesses), self.number, self.token)
        return head + b"".join(_ACCESS.pack(a.operation, 0, a.address, a.data) for a in self.accesses)

    @classmethod
    def decode(cls, payload: bytes) -> "Datagram":
        """Take a payload apart; ValueError where it is none of these."""
        if len(payload) < _HEAD.size:
            raise ValueError(f"{len(payload)} bytes, fewer than a head has")
        magic, kind, status, count, number, token = _HEAD.unpack_from(payload)
        if magic != MAGIC or count > MAX_ACCESSES or len(payload) != _HEAD.size + count * _ACCESS.size:
            raise ValueError("not of this protocol or version")
        found = list(_ACCESS.iter_unpack(payload[_HEAD.size :]))
        if any(zero for _, zero, _, _ in found) or (status and not kind & ANSWER):
            raise ValueError("what has to be 0 is not")
        accesses = tuple(Access(operation=o, address=address, data=data) for o, _, address, data in found)
        return cls(
            kind=Kind(kind & ~ANSWER),
            status=Status(status),
            number=number,
            token=token,
            accesses=accesses,
            answer=bool(kind & ANSWER),
        )


Target = Callable[[Access], Access]
"""Does an access: with the operation replaced by the response, and the data that were read."""


@dataclass
class UdpRegisters:
    """The board: what it answers to each Ethernet frame (without FCS)."""

    mac: bytes
    target: Target
    port: int = PORT
    token: int | None = None
    """Told to the first that says hello."""
    _peer: tuple[bytes, bytes] | None = field(default=None, init=False)
    _last: int | None = field(default=None, init=False)

    def answer(self, frame: bytes) -> bytes | None:
        """The frame that goes back; None where it is nothing for this board."""
        found = self._datagram(frame)
        if found is None:
            return None
        source, request = found
        status = self._judge(source, request)
        if status is Status.DONE:
            self._peer = source
            self._last = request.number if request.kind is Kind.ACCESS else None
        accesses = request.accesses
        if status in (Status.DONE, Status.REPEATED):
            accesses = tuple(self._access(access, status) for access in accesses)
        told = request.kind is Kind.HELLO and status is Status.DONE
        reply = Datagram(
            kind=request.kind,
            number=request.number,
            token=(self.token or 0) if told else 0,
            accesses=accesses,
            status=status,
            answer=True,
        ).encode()
        ip_source, ip_destination, ports = frame[26:30], frame[30:34], frame[34:38]
        head = frame[6:12] + frame[:6] + frame[12:26] + ip_destination + ip_source + ports[2:] + ports[:2]
        return head + frame[38:40] + bytes(2) + reply

    def _datagram(self, frame: bytes) -> tuple[tuple[bytes, bytes], Datagram] | None:
        if len(frame) < _ETH_IP_UDP.size:
            return None
        (mac, source, ethertype, version, _, _, _, fragment, _, protocol, _, ip, _, _, port, length, _) = (
            _ETH_IP_UDP.unpack_from(frame)
        )
        right = (mac, ethertype, version, fragment & 0x3FFF, protocol, port)
        if right != (self.mac, 0x0800, 0x45, 0, 17, self.port) or len(frame) < 34 + length:
            return None
        try:
            request = Datagram.decode(frame[42 : 34 + length])
        except ValueError:
            return None
        if request.answer or any(access.operation > 1 for access in request.accesses):
            return None
        return None if request.kind is Kind.HELLO and request.accesses else ((source, ip), request)

    def _judge(self, source: tuple[bytes, bytes], request: Datagram) -> Status:
        if self._peer != source if self._peer else request.kind is not Kind.HELLO:
            return Status.NOT_PEER
        if any(access.operation for access in request.accesses) and request.token != self.token:
            return Status.NO_TOKEN
        if request.kind is Kind.ACCESS and request.number == self._last:
            return Status.REPEATED
        return Status.DONE

    def _access(self, access: Access, status: Status) -> Access:
        if status is Status.REPEATED and access.operation:
            return Access(address=access.address, data=access.data)
        return self.target(access)
