"""RETH (InfiniBand vol. 1, 9.3.3): the message lies in the ring, has its rkey, and is as long as its packets."""

from collections.abc import Iterator

from framelane.doctor.cause import Cause, Finding, Kind, Placer, found
from framelane.doctor.packets.dissect import Packet
from framelane.doctor.target import Target
from framelane.models.roce_tx.wire import Reth
from framelane.receiver.transport.refusals import Refusal

_MOST = 1 << 31

SHORT = Cause(
    "headers-short",
    Kind.FAULT,
    "the packet ends within the headers that its opcode demands",
    "a FIRST or ONLY has a RETH of 16 bytes, a packet with immediate 4 bytes of ImmDt, every packet an ICRC",
    Placer.ALL,
    Refusal.LENGTH,
)
RKEY = Cause(
    "rkey",
    Kind.FAULT,
    "the rkey is not that of the ring's memory region: refused on UC, remote access error (NAK 2) on RC",
    "give the source the rkey of the present session: it is new with every registration",
    Placer.ALL,
    Refusal.RKEY,
)
BOUNDS = Cause(
    "bounds",
    Kind.FAULT,
    "the message does not lie in the ring: refused on UC, remote access error (NAK 2) on RC",
    "compare base, slot_bytes and n_slots of the source's destination with the session",
    Placer.ALL,
    Refusal.BOUNDS,
)
TOO_LONG = Cause(
    "message-too-long",
    Kind.FAULT,
    "the DMA length is more than 2^31 bytes, the longest message of InfiniBand",
    "look at the length field of the RETH: it is in bytes, high byte first",
    Placer.ALL,
    Refusal.LENGTH,
)
LENGTH = Cause(
    "dma-length",
    Kind.FAULT,
    "the DMA length of the RETH is not the length of the message",
    "the RETH of an ONLY has the bytes of its payload, that of a FIRST those of all packets together, pads not counted",
    Placer.ALL,
    Refusal.LENGTH,
)
MTU = Cause(
    "mtu",
    Kind.FAULT,
    "the payload of one packet is longer than the session's path MTU",
    "give the source the mtu of the session",
    Placer.ALL,
    Refusal.LENGTH,
)
FIRST = Cause(
    "first-not-mtu",
    Kind.FAULT,
    "a FIRST does not carry exactly the path MTU",
    "every packet of a message but the last carries exactly the mtu of the session",
    Placer.ALL,
    Refusal.LENGTH,
)


def check(packet: Packet, target: Target) -> Iterator[Finding]:
    """What is wrong with the headers behind the BTH, and with the length of a FIRST or ONLY."""
    if packet.write is None:
        return
    if packet.payload_bytes < 0 and not packet.is_cut:
        yield found(SHORT, f"{packet.end - packet.udp_at} bytes of UDP are too few for {packet.write.name}")
        return
    if packet.payload_bytes > target.mtu and packet.is_whole:
        yield found(MTU, f"payload of {packet.payload_bytes} bytes, the path MTU is {target.mtu}")
    reth = packet.reth
    if reth is None:
        return
    if reth.length > _MOST:
        yield found(TOO_LONG, f"DMA length {reth.length}, {_MOST} at most")
    elif packet.is_whole:
        yield from _check_length(packet, reth, target)
    if not reth.length:  # a WRITE of nothing needs no rkey and no address (vol. 1, C9-88)
        return
    if reth.rkey != target.session.rkey:
        yield found(RKEY, f"rkey {reth.rkey:#010x}, should be that of the session{_hint(reth, target)}")
    yield from _check_bounds(reth, target)


def _check_length(packet: Packet, reth: Reth, target: Target) -> Iterator[Finding]:
    """The length of a FIRST or ONLY. SoftRoCE compares with the RETH first, and takes a full packet of any message."""
    assert packet.write is not None
    size, mtu = packet.payload_bytes, target.mtu
    full = Placer.ALL & ~Placer.SOFT_ROCE if size == mtu <= reth.length else Placer.ALL
    if packet.write.ends:
        if size != reth.length:
            yield found(LENGTH, f"DMA length {reth.length}, the ONLY has {size} bytes of payload", full)
    elif size != mtu:
        yield found(FIRST, f"payload of {size} bytes, should be {mtu}")
    elif reth.length <= size:
        yield found(LENGTH, f"DMA length {reth.length}: all of it is in the FIRST, should be an ONLY", full)


def _check_bounds(reth: Reth, target: Target) -> Iterator[Finding]:
    start = reth.address - target.base
    stop = start + reth.length
    if start >= 0 and stop <= target.ring_bytes:
        return
    swapped = int.from_bytes(reth.address.to_bytes(8, "big"), "little") - target.base
    slot = start // target.session.slot_bytes
    if 0 <= swapped < target.ring_bytes:
        where = alike = "its bytes are in reverse order"
    elif abs(start) > 1 << 40:
        where = alike = f"nowhere near the ring at {target.base:#x}: is it of another session?"
    elif start < 0:
        where = f"begins {-start} bytes before the ring at {target.base:#x}"
        alike = f"begins before the ring at {target.base:#x}"
    elif start >= target.ring_bytes:
        would = f"it would be slot {slot} of {target.session.n_slots} (0 to {target.session.n_slots - 1})"
        where = f"begins {start - target.ring_bytes} bytes behind the ring: {would}"
        alike = f"begins behind the ring: {would}"
    else:
        where = f"begins in slot {slot} and ends {stop - target.ring_bytes} bytes behind the ring"
        alike = f"begins in slot {slot} and ends behind the ring"
    yield found(BOUNDS, f"{reth.length} bytes at {reth.address:#x}: {where}", alike=alike)


def _hint(reth: Reth, target: Target) -> str:
    if reth.rkey.to_bytes(4, "big") == target.session.rkey.to_bytes(4, "little"):
        return ": its bytes are in reverse order"
    return ""


CAUSES = (SHORT, RKEY, BOUNDS, TOO_LONG, LENGTH, MTU, FIRST)
