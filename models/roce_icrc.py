"""The invariant CRC of RoCEv2 (InfiniBand vol. 1, 7.8.1 and annex A17.3.3).

CRC-32 (the Ethernet polynomial) over 8 bytes of ones in place of the InfiniBand LRH, then IPv4, UDP and BTH with the
fields that routers may change set to ones, the rest as sent, the pad included. Sent least significant byte first.
"""

import zlib

from framelane.models import wire

VARIANT = tuple(wire.ETH_BYTES + k for k in (1, 8, 10, 11, 26, 27, 32))
"""Frame offsets that count as 0xFF: IPv4 TOS, TTL, checksum (2); UDP checksum (2); BTH resv8a."""


def icrc(frame: bytes) -> int:
    """ICRC of `frame`, an Ethernet frame without VLAN tag that ends before its ICRC."""
    covered = bytearray(b"\xff" * 8 + frame[wire.ETH_BYTES :])
    for offset in VARIANT:
        covered[8 - wire.ETH_BYTES + offset] = 0xFF
    return zlib.crc32(covered)


def append(frame: bytes) -> bytes:
    """`frame` (Ethernet to pad) followed by its ICRC: what `roce_icrc.sv` does."""
    return frame + icrc(frame).to_bytes(wire.ICRC_BYTES, "little")


def check(frame: bytes) -> bool:
    """Whether `frame` ends with the ICRC of what is before it. Padding behind the IP length must be cut off first."""
    return append(frame[: -wire.ICRC_BYTES]) == frame
