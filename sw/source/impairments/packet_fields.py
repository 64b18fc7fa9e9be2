"""The header fields of a RoCEv2 packet by name: where each lies, its value, and another one in its place.

Layouts: IEEE 802.3; RFC 791; RFC 768; InfiniBand Architecture Specification vol. 1, 9.2 (BTH), 9.3.3 (RETH), 9.3.6
(ImmDt), annex A17 (RoCEv2). The ICRC is a field in the byte order in which it is sent.
"""

from framelane.models.roce_tx import roce_icrc, wire
from framelane.models.roce_tx.wire import Opcode

_LAYOUT: dict[str, tuple[tuple[str, int], ...]] = {
    "eth": (("dst", 48), ("src", 48), ("type", 16)),
    "ip": (
        ("version", 4),
        ("ihl", 4),
        ("tos", 8),
        ("length", 16),
        ("id", 16),
        ("flags", 3),
        ("fragment", 13),
        ("ttl", 8),
        ("protocol", 8),
        ("checksum", 16),
        ("src", 32),
        ("dst", 32),
    ),
    "udp": (("src", 16), ("dst", 16), ("length", 16), ("checksum", 16)),
    "bth": (
        ("opcode", 8),
        ("se", 1),
        ("m", 1),
        ("pad", 2),
        ("tver", 4),
        ("pkey", 16),
        ("resv8a", 8),
        ("qpn", 24),
        ("ack", 1),
        ("resv7", 7),
        ("psn", 24),
    ),
    "reth": (("va", 64), ("rkey", 32), ("length", 32)),
}
"""Fields of each header with their bits, in the order in which they are sent."""

WHOLE = ("imm", "payload", "icrc")
"""What a packet has beside its headers of several fields."""

NAMES = (*(f"{header}.{name}" for header, fields in _LAYOUT.items() for name, _ in fields), *WHOLE)
"""All names: `eth.dst` to `reth.length`, and `WHOLE`."""

_AT: dict[str, tuple[str, int, int]] = {}
for _header, _fields in _LAYOUT.items():
    _bit = 0
    for _name, _bits in _fields:
        _AT[f"{_header}.{_name}"] = _header, _bit, _bits
        _bit += _bits
"""Header, first bit in it, and bits of each field."""


def width(name: str) -> int:
    """Bits of the field `name`; 0 for the payload, whose size is the packet's own."""
    return _AT[name][2] if name in _AT else {"imm": 32, "icrc": 32, "payload": 0}[name]


def span(packet: bytes, name: str) -> tuple[int, int] | None:
    """First bit of the field `name` in `packet`, and its bits; None where the packet has no such field.

    `packet` is an Ethernet frame without FCS. One that is not IPv4, UDP and an RDMA WRITE has no fields behind.
    """
    header, bit, bits = _AT.get(name, (name, 0, 0))
    place = _places(packet).get(header)
    if place is None:
        return None
    start, stop = place
    found = (start * 8 + bit, bits or (stop - start) * 8)
    return found if found[1] and sum(found) <= stop * 8 else None


def read(packet: bytes, name: str) -> int | None:
    """The value of the field `name`, an unsigned integer in network order; None where the packet has none."""
    at = span(packet, name)
    if at is None:
        return None
    first, last = at[0] // 8, -(-sum(at) // 8)
    return int.from_bytes(packet[first:last], "big") >> last * 8 - sum(at) & (1 << at[1]) - 1


def write(packet: bytes, name: str, value: int) -> bytes:
    """`packet` with `value` (modulo the field's width) in the field `name`, all else as it was, checksums too.

    ValueError where the packet has no such field.
    """
    at = span(packet, name)
    if at is None:
        raise ValueError(f"the packet has no {name}")
    first, last = at[0] // 8, -(-sum(at) // 8)
    shift, mask = last * 8 - sum(at), (1 << at[1]) - 1
    old = int.from_bytes(packet[first:last], "big")
    new = old & ~(mask << shift) | (value & mask) << shift
    return packet[:first] + new.to_bytes(last - first, "big") + packet[last:]


def seal(packet: bytes, name: str = "") -> bytes:
    """`packet` with correct IPv4 checksum and ICRC, except for the field `name`, which is kept.

    What is too short for them, or not IPv4, is left as it is.
    """
    if name != "ip.checksum" and span(packet, "ip.checksum"):
        ip = wire.ip_offset(packet)
        header = write(packet, "ip.checksum", 0)[ip : ip + wire.IP_BYTES]
        packet = write(packet, "ip.checksum", wire.ip_checksum(header))
    covered = name != "icrc" and span(packet, "icrc")
    return roce_icrc.append(packet[: -wire.ICRC_BYTES]) if covered else packet


def is_trailer(packet: bytes) -> bool:
    """Whether `packet` ends a message WITH_IMM: the last of a frame."""
    return read(packet, "imm") is not None


def _places(packet: bytes) -> dict[str, tuple[int, int]]:
    """First byte of each part that `packet` has, and the first byte behind it."""
    ip, end = wire.ip_offset(packet), len(packet) - wire.ICRC_BYTES
    udp = ip + wire.IP_BYTES
    bth = udp + wire.UDP_BYTES
    at = bth + wire.BTH_BYTES
    places = {"eth": (0, wire.ETH_BYTES)}
    if end < at or packet[ip - 2 : ip] != wire.ETHERTYPE_IPV4.to_bytes(2, "big"):
        return places
    places |= {"ip": (ip, udp), "udp": (udp, bth), "bth": (bth, at), "icrc": (end, len(packet))}
    if packet[bth] & ~wire.UC not in list(Opcode):
        return places
    opcode = Opcode(packet[bth] & ~wire.UC)
    if opcode.starts:
        places["reth"] = at, at + wire.RETH_BYTES
        at += wire.RETH_BYTES
    if opcode.has_imm:
        places["imm"] = at, at + wire.IMM_BYTES
        at += wire.IMM_BYTES
    places["payload"] = at, max(at, end - (packet[bth + 1] >> 4 & 3))
    return {name: place for name, place in places.items() if name == "icrc" or place[1] <= end}
