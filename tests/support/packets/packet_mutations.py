"""How a fault is planted in a stream of good packets: one packet changed, taken out, or put in."""

import struct
import zlib
from collections.abc import Callable, Sequence

from framelane.models.roce_tx import roce_icrc, wire
from framelane.models.roce_tx.wire import UC, Opcode
from framelane.session.session import Session
from framelane.source.impairments.packet_fields import read, seal, write

Mutate = Callable[[Sequence[bytes], Session], list[bytes]]
"""The packets of some whole frames, and the same with a fault in."""

One = Callable[[bytes, Session], bytes]
"""Another packet in place of a good one."""


def victim(packets: Sequence[bytes], opcode: Opcode = Opcode.WRITE_ONLY) -> int:
    """The packet with this `opcode`, of pixels, nearest to the middle of the stream."""
    found = [n for n, packet in enumerate(packets) if read(packet, "bth.opcode") == opcode + UC]
    return min(found, key=lambda n: abs(n - len(packets) // 2))


def on(one: One, opcode: Opcode = Opcode.WRITE_ONLY) -> Mutate:
    """The fault that puts another packet in the place of one."""

    def mutate(packets: Sequence[bytes], session: Session) -> list[bytes]:
        at = victim(packets, opcode)
        return [*packets[:at], one(packets[at], session), *packets[at + 1 :]]

    return mutate


def forged(name: str, change: Callable[[int, Session], int], sealed: bool = True) -> One:
    """A sender's mistake: another value in a field, with the checksum and the ICRC that are right for it."""

    def one(packet: bytes, session: Session) -> bytes:
        value = read(packet, name)
        assert value is not None, f"no {name}"
        changed = write(packet, name, change(value, session))
        assert changed != packet
        return seal(changed, name) if sealed else changed

    return one


def flipped(name: str, mask: int, sealed: bool = True) -> One:
    """Some bits of a field the other way round; not `sealed`: on the wire, so that nothing fits any more."""
    return forged(name, lambda value, session: value ^ mask, sealed)


def to(name: str, value: int) -> One:
    """A sender's mistake: this value in a field."""
    return forged(name, lambda old, session: value)


def rebuilt(packet: bytes, payload: bytes, opcode: int | None = None) -> bytes:
    """The packet with other payload, or of an opcode with other headers: its lengths, checksum and ICRC are right."""
    headers, _ = wire.parse(packet)
    code = headers.opcode if opcode is None else opcode
    reth = headers.reth if Opcode(code & ~UC).starts else None
    new = wire.Headers(
        headers.src, headers.dst, headers.src_port, code, headers.dest_qpn, headers.psn, len(payload), reth, headers.imm
    )
    return roce_icrc.append(wire.pack(new) + payload + bytes(new.pad))


def with_payload(change: Callable[[bytes], bytes]) -> One:
    return lambda packet, session: rebuilt(packet, change(wire.parse(packet)[1]))


def with_icrc(icrc: Callable[[bytes], bytes]) -> One:
    """`icrc` makes the four bytes from the packet before them."""
    return lambda packet, session: packet[:-4] + icrc(packet[:-4])


def tagged(tci: int) -> One:
    return lambda packet, session: packet[:12] + struct.pack(">HH", wire.ETHERTYPE_VLAN, tci) + packet[12:]


def with_options(packet: bytes, session: Session) -> bytes:
    """Four NOP options behind the IPv4 header."""
    longer = write(write(packet, "ip.ihl", 6), "ip.length", len(packet) - wire.ETH_BYTES + 4)
    header = write(longer, "ip.checksum", 0)[14:34] + b"\x01" * 4
    header = header[:10] + wire.ip_checksum(header).to_bytes(2, "big") + header[12:]
    return roce_icrc.append(longer[:14] + header + longer[34:-4])


def arp(packet: bytes, session: Session) -> bytes:
    """Who has the source's next address? Tell the source."""
    sender = packet[6:12] + session.source.ip.packed
    asked = bytes(6) + (session.source.ip + 1).packed
    return b"\xff" * 6 + packet[6:12] + bytes.fromhex("0806 0001 0800 06 04 0001") + sender + asked + bytes(18)


def ipv6(packet: bytes, session: Session) -> bytes:
    """The same UDP datagram over IPv6, between link-local addresses."""
    datagram = packet[34:]
    addresses = bytes.fromhex("fe80" + "00" * 13 + "01" + "fe80" + "00" * 13 + "02")
    header = struct.pack(">IHBB", 6 << 28, len(datagram), wire.PROTOCOL_UDP, 64) + addresses
    return packet[:12] + b"\x86\xdd" + header + datagram


def udp_checksum_right(packet: bytes, session: Session) -> bytes:
    """RFC 768, over the addresses, protocol and length too; never 0."""
    data = packet[26:34] + struct.pack(">HH", wire.PROTOCOL_UDP, len(packet) - 34) + packet[34:]
    return write(packet, "udp.checksum", wire.ip_checksum(data + bytes(len(data) % 2)) or 0xFFFF)


def udp_checksum_wrong(packet: bytes, session: Session) -> bytes:
    """Neither 0 nor right."""
    right = udp_checksum_right(packet, session)
    return write(right, "udp.checksum", (read(right, "udp.checksum") or 0) % 0xFFFE + 1)


def carrying(packet: bytes, rest: bytes) -> bytes:
    """The packet with `rest` behind its UDP header; the lengths and the IPv4 checksum are right."""
    longer = write(packet, "ip.length", wire.IP_BYTES + wire.UDP_BYTES + len(rest))
    longer = write(longer, "udp.length", wire.UDP_BYTES + len(rest))
    header = write(longer, "ip.checksum", 0)[14:34]
    return write(longer, "ip.checksum", wire.ip_checksum(header))[:42] + rest


def without(opcode: Opcode) -> Mutate:
    """That packet is lost."""

    def mutate(packets: Sequence[bytes], session: Session) -> list[bytes]:
        at = victim(packets, opcode)
        return [*packets[:at], *packets[at + 1 :]]

    return mutate


def merged(packets: Sequence[bytes], session: Session) -> list[bytes]:
    """Two neighbours in one packet of twice the path MTU: the sender was told another one."""
    for at in range(victim(packets), 0, -1):
        (one, left), (two, right) = wire.parse(packets[at - 1]), wire.parse(packets[at])
        if one.reth and two.reth and one.imm is two.imm is None and one.reth.address + len(left) == two.reth.address:
            whole = rebuilt(packets[at - 1], left + right)
            double = seal(write(whole, "reth.length", len(left + right)))
            return [*packets[: at - 1], double, *packets[at + 1 :]]
    raise AssertionError("no two neighbours: give images of more than one packet")


def repeated(packets: Sequence[bytes], session: Session) -> list[bytes]:
    """A packet of the first frame comes once more, when that frame is over."""
    at = victim(packets)
    return [*packets[:at], packets[0], *packets[at:]]


def at_the_end(too_far: int) -> Callable[[int, Session], int]:
    """The address of a message as long as the path MTU whose last `too_far` bytes are behind the ring."""
    return lambda old, session: session.base + session.layout.ring_bytes - session.mtu + too_far


def unsealed_ip(one: One) -> One:
    """As `one`, with the ICRC of the packet before."""
    return lambda packet, session: one(packet, session)[:-4] + packet[-4:]


def icrc_of(frame: bytes, ones: int = 8, but: tuple[int, ...] = ()) -> bytes:
    """An ICRC with so many bytes of ones in front, and over the bytes `but`, from the IPv4 header on, as they are."""
    covered = bytearray(frame[14:])
    for offset in set(roce_icrc.VARIANT) - set(but):
        covered[offset] = 0xFF
    return zlib.crc32(b"\xff" * ones + covered).to_bytes(4, "little")
