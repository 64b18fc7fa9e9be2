"""Messages of the Precision Time Protocol that an ordinary clock with end-to-end delay needs (IEEE 1588-2019, 13).

Header (13.3), Sync and Delay_Req (13.6), Follow_Up (13.7), Delay_Resp (13.8), Announce (13.5). Fields are big-endian.
TLVs behind a message are not read, and none is written.
"""

import struct
from dataclasses import dataclass
from enum import IntEnum, IntFlag

from framelane.base.errors import PacketError

VERSION = 2
NS_PER_S = 1_000_000_000
SUB_NS = 1 << 16
"""What a correctionField counts a nanosecond as (13.3.2.9)."""
ANY_PORT = 0xFFFF
_HEAD = struct.Struct(">BBHBBHqIQHHBb")
_TIME = struct.Struct(">HII")
_PORT = struct.Struct(">QH")
_ANNOUNCE = struct.Struct(">hBBBBHBQHB")
HEAD_BYTES = _HEAD.size
TIMED_BYTES = HEAD_BYTES + _TIME.size


class Kind(IntEnum):
    """messageType (table 36)."""

    SYNC = 0x0
    DELAY_REQ = 0x1
    FOLLOW_UP = 0x8
    DELAY_RESP = 0x9
    ANNOUNCE = 0xB

    @property
    def is_event(self) -> bool:
        """Whether the moments of its departure and arrival count."""
        return self < Kind.FOLLOW_UP


_CONTROL = {Kind.SYNC: 0, Kind.DELAY_REQ: 1, Kind.FOLLOW_UP: 2, Kind.DELAY_RESP: 3, Kind.ANNOUNCE: 5}
"""controlField (table 42), which only version 1 reads."""
_BYTES = {Kind.DELAY_RESP: TIMED_BYTES + _PORT.size, Kind.ANNOUNCE: TIMED_BYTES + _ANNOUNCE.size}


class Flag(IntFlag):
    """flagField (table 37), its first octet in the upper byte."""

    TWO_STEP = 0x0200
    UNICAST = 0x0400
    LEAP_61 = 0x0001
    LEAP_59 = 0x0002
    UTC_OFFSET_VALID = 0x0004
    PTP_TIMESCALE = 0x0008
    TIME_TRACEABLE = 0x0010
    FREQUENCY_TRACEABLE = 0x0020


NO_FLAGS = Flag(0)


@dataclass(frozen=True, slots=True, order=True)
class PortIdentity:
    """A port of a clock: clockIdentity (64 bits) and portNumber."""

    clock: int
    port: int = 1

    def __str__(self) -> str:
        """As linuxptp writes it: 02abcd.fffe.012345-1."""
        text = f"{self.clock:016x}"
        return f"{text[:6]}.{text[6:10]}.{text[10:]}-{self.port}"


def clock_identity(mac: int) -> int:
    """The clockIdentity of a MAC address: FFFE between its halves, as linuxptp makes it (EUI-64)."""
    return mac >> 24 << 40 | 0xFFFE << 24 | mac & 0xFFFFFF


@dataclass(frozen=True, slots=True, kw_only=True)
class Announced:
    """What an Announce says of the grandmaster (13.5.1). `utc_offset_s` is TAI - UTC."""

    grandmaster: int
    utc_offset_s: int = 37
    priority1: int = 128
    clock_class: int = 6
    accuracy: int = 0x21
    variance: int = 0x4E5D
    priority2: int = 128
    steps_removed: int = 0
    time_source: int = 0x20

    @property
    def rank(self) -> tuple[int, ...]:
        """The better of two masters has the lower one (9.3.4; steps removed and identity behind all else)."""
        quality = self.clock_class, self.accuracy, self.variance
        return self.priority1, *quality, self.priority2, self.grandmaster, self.steps_removed


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message. `time_ns` is its timestamp: origin, precise origin, or of receipt, in ns since the PTP epoch.

    `correction` in 2^-16 ns. `requester` belongs to a Delay_Resp, `announced` to an Announce.
    """

    kind: Kind
    source: PortIdentity
    sequence: int
    time_ns: int = 0
    correction: int = 0
    domain: int = 0
    flags: Flag = NO_FLAGS
    log_interval: int = 0x7F
    requester: PortIdentity | None = None
    announced: Announced | None = None

    def pack(self) -> bytes:
        """Its bytes: 44, those of a Delay_Resp 54, of an Announce 64."""
        seconds, nanoseconds = divmod(self.time_ns, NS_PER_S)
        body = _TIME.pack(seconds >> 32, seconds & 0xFFFF_FFFF, nanoseconds)
        if self.kind is Kind.DELAY_RESP:
            assert self.requester
            body += _PORT.pack(self.requester.clock, self.requester.port)
        elif self.kind is Kind.ANNOUNCE:
            said = self.announced
            assert said
            quality = said.clock_class, said.accuracy, said.variance
            whose = said.priority2, said.grandmaster, said.steps_removed, said.time_source
            body += _ANNOUNCE.pack(said.utc_offset_s, 0, said.priority1, *quality, *whose)
        head = self.kind, VERSION, HEAD_BYTES + len(body), self.domain, 0, self.flags, self.correction, 0
        control = self.source.clock, self.source.port, self.sequence, _CONTROL[self.kind], self.log_interval
        return _HEAD.pack(*head, *control) + body


def parse(data: bytes) -> Message:
    """The message in `data`, which may go on behind it (padding, TLVs).

    PacketError: `version` for another one than 2, `other` for a kind that is not of these, `length`, `time`.
    """
    if len(data) < HEAD_BYTES:
        raise PacketError("length", f"{len(data)} bytes hold no PTP header")
    code, version, length, domain, _, flags, correction, _, clock, port, sequence, _, interval = _HEAD.unpack_from(data)
    if version & 0xF != VERSION:
        raise PacketError("version", f"PTP version {version & 0xF}, this software knows {VERSION}")
    try:
        kind = Kind(code & 0xF)
    except ValueError:
        raise PacketError("other", f"PTP messageType {code & 0xF:#x}") from None
    if not _BYTES.get(kind, TIMED_BYTES) <= length <= len(data):
        raise PacketError("length", f"{kind.name} of {length} bytes, {len(data)} came")
    high, low, nanoseconds = _TIME.unpack_from(data, HEAD_BYTES)
    if nanoseconds >= NS_PER_S:
        raise PacketError("time", f"{kind.name} has {nanoseconds} nanoseconds")
    requester = announced = None
    if kind is Kind.DELAY_RESP:
        requester = PortIdentity(*_PORT.unpack_from(data, TIMED_BYTES))
    elif kind is Kind.ANNOUNCE:
        utc, _, priority1, *quality, priority2, master, steps, origin = _ANNOUNCE.unpack_from(data, TIMED_BYTES)
        announced = Announced(
            grandmaster=master,
            utc_offset_s=utc,
            priority1=priority1,
            clock_class=quality[0],
            accuracy=quality[1],
            variance=quality[2],
            priority2=priority2,
            steps_removed=steps,
            time_source=origin,
        )
    return Message(
        kind=kind,
        source=PortIdentity(clock, port),
        sequence=sequence,
        time_ns=(high << 32 | low) * NS_PER_S + nanoseconds,
        correction=correction,
        domain=domain,
        flags=Flag(flags),
        log_interval=interval,
        requester=requester,
        announced=announced,
    )
