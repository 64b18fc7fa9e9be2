"""Ethernet, IPv4 and UDP in front of datagrams from a socket, put back by compiled code."""

import numpy as np
from numpy.typing import NDArray

from framelane.base.compiled import compiled
from framelane.base.vector_loops import inlined
from framelane.models.roce_tx import wire
from framelane.packets.packet_bytes import copy_bytes, number16

HEADERS = wire.ETH_BYTES + wire.IP_BYTES + wire.UDP_BYTES
_IP, _UDP = wire.ETH_BYTES, wire.ETH_BYTES + wire.IP_BYTES


@compiled
def put_headers(
    template: NDArray[np.uint8],
    peers: NDArray[np.uint8],
    data: NDArray[np.uint8],
    starts: NDArray[np.int64],
    sizes: NDArray[np.int64],
) -> None:
    """Write the headers of packets of `sizes` bytes, headers included, to `starts`.

    They are those of `template` but for source address, source port, lengths and the checksum of IPv4; packet n is from
    `peers[n]`, a sockaddr_in (ip(7)).
    """
    for n in range(starts.size):
        at, size = starts[n], sizes[n]
        copy_bytes(data, at, template, 0, HEADERS)
        copy_bytes(data, at + _UDP, peers[n], 2, 2)
        copy_bytes(data, at + _IP + 12, peers[n], 4, 4)
        _put16(data, at + _UDP + 4, size - _UDP)
        _put16(data, at + _IP + 2, size - _IP)
        _put16(data, at + _IP + 10, 0)
        total = 0
        for word in range(0, wire.IP_BYTES, 2):
            total += number16(data, at + _IP + word)
        total = (total & 0xFFFF) + (total >> 16)
        _put16(data, at + _IP + 10, ~(total + (total >> 16)) & 0xFFFF)


@inlined
def _put16(data: NDArray[np.uint8], at: int, value: int) -> None:
    data[at] = value >> 8
    data[at + 1] = value & 0xFF
