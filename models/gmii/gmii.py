"""Ethernet frames as they are on GMII (IEEE 802.3, 3.2 and 4.4.2)."""

import zlib

START = bytes([0x55] * 7 + [0xD5])
"""Preamble and SFD."""
FCS_BYTES = 4
GAP_BYTES = 12
"""Least gap between two frames, in cycles."""
MIN_BYTES = 64
"""Shortest frame, with its FCS."""


def fcs(packet: bytes, spoiled: bool = False) -> bytes:
    """The four bytes of the FCS (3.2.9); `spoiled`: all of its bits are wrong."""
    return (zlib.crc32(packet) ^ (0xFFFFFFFF if spoiled else 0)).to_bytes(FCS_BYTES, "little")


def sent(packet: bytes, spoiled: bool = False) -> bytes:
    """What the PHY gets of a packet of 60 bytes or more."""
    return START + packet + fcs(packet, spoiled)


def received(line: bytes, errors: frozenset[int] = frozenset()) -> tuple[bytes, bool] | None:
    """What the core gets of one burst of bytes: the packet, and whether it is marked as wrong.

    `errors` are the indices of the bytes that the PHY marks with RX_ER. None: there is no SFD behind preamble alone, or
    nothing before the FCS.
    """
    start = next((at for at, byte in enumerate(line) if byte != START[0] or at in errors), len(line))
    if start == len(line) or start in errors or line[start] != START[-1]:
        return None
    frame = line[start + 1 :]
    if len(frame) <= FCS_BYTES:
        return None
    packet = frame[:-FCS_BYTES]
    wrong = len(frame) < MIN_BYTES or any(at > start for at in errors) or frame[-FCS_BYTES:] != fcs(packet)
    return packet, wrong
