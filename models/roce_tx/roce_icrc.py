"""The invariant CRC of RoCEv2 (InfiniBand vol. 1, 7.8.1 and annex A17.3.3).

CRC-32 (the Ethernet polynomial) over 8 bytes of ones in place of the InfiniBand LRH, then IPv4, UDP and BTH with the
fields that routers may change set to ones, the rest as sent, the pad included. Sent least significant byte first.
"""

import zlib

from framelane.models.roce_tx import wire

VARIANT = (1, 8, 10, 11, 26, 27, 32)
"""Offsets from the IPv4 header on that count as 0xFF: TOS, TTL, checksum (2); UDP checksum (2); BTH resv8a."""


def icrc(frame: bytes) -> int:
    """ICRC of `frame`, an Ethernet frame, with or without VLAN tag, that ends before its ICRC."""
    covered = bytearray(b"\xff" * 8 + frame[wire.ip_offset(frame) :])
    for offset in VARIANT:
        covered[8 + offset] = 0xFF
    return zlib.crc32(covered)


def append(frame: bytes, poisoned: bool = False) -> bytes:
    """`frame` (Ethernet to pad) followed by its ICRC: what `roce_icrc.sv` does.

    A poisoned packet gets the ICRC inverted: no receiver takes it.
    """
    return frame + (icrc(frame) ^ 0xFFFFFFFF * poisoned).to_bytes(wire.ICRC_BYTES, "little")


def check(frame: bytes) -> bool:
    """Whether `frame` ends with the ICRC of what is before it. Padding behind the IP length must be cut off first."""
    return append(frame[: -wire.ICRC_BYTES]) == frame
