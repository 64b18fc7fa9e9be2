"""What the kernel takes away from a datagram is put back as it was on the wire."""

import socket
import struct

import numpy as np
from numpy.typing import NDArray

from framelane.models.roce_tx import wire
from framelane.receiver.transport._udp_headers import HEADERS, put_headers

LOCAL = wire.Endpoint(0x02_00_00_00_00_02, 0x0A000002)
MAC = 0x02_00_00_00_00_01
STRIDE = 64


def headers(peers: list[tuple[int, int]], sizes: list[int]) -> NDArray[np.uint8]:
    """Headers of packets from these addresses and ports, of these sizes in bytes: one a row."""
    template = wire.pack(wire.Headers(wire.Endpoint(MAC, 0), LOCAL, 0, 0, 0, 0, 0))[:HEADERS]
    names = b"".join(struct.pack("=H", socket.AF_INET) + struct.pack(">HI8x", port, ip) for ip, port in peers)
    data = np.full((len(peers), STRIDE), 0xEE, np.uint8)
    put_headers(
        np.frombuffer(bytearray(template), np.uint8),
        np.frombuffer(bytearray(names), np.uint8).reshape(-1, 16),
        data.reshape(-1),
        np.arange(len(peers)) * STRIDE,
        np.array(sizes),
    )
    assert (data[:, HEADERS:] == 0xEE).all()
    return data[:, :HEADERS]


def test_headers_are_those_that_the_transmitter_has_sent() -> None:
    peers = [(0x0A000001, 0xC000), (0xFFFFFFFF, 0xFFFF), (0, 0), (0xC0A80164, 4791)]
    payloads = [4096, 0, 1, 65000]
    found = headers(peers, [HEADERS + wire.BTH_BYTES + -(-n // 4) * 4 + wire.ICRC_BYTES for n in payloads])
    for row, (ip, port), payload in zip(found, peers, payloads, strict=True):
        sent = wire.pack(wire.Headers(wire.Endpoint(MAC, ip), LOCAL, port, 0, 0, 0, payload))
        assert row.tobytes() == sent[:HEADERS]


def test_checksums_are_right_also_where_they_carry_twice() -> None:
    rng = np.random.default_rng(4)
    count = 300_000
    peers = list(zip(rng.integers(1 << 32, size=count).tolist(), [1] * count, strict=True))
    found = headers(peers, rng.integers(HEADERS, 1 << 16, count).tolist())
    words = np.ascontiguousarray(found[:, wire.ETH_BYTES :][:, : wire.IP_BYTES]).view(">u2")
    assert (words.sum(1, dtype=np.int64) % 0xFFFF == 0).all()
