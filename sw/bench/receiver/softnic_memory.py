"""How fast one core takes packets that are in memory already: no network, all checks, ICRC, placement."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from framelane.base.compiled import compiled
from framelane.base.crc32 import crc32_raw
from framelane.base.crc32_library import crc32_library
from framelane.base.errors import SimulationError
from framelane.bench.receiver import softnic_packets
from framelane.bench.runner import Target
from framelane.models.roce_tx import wire
from framelane.models.roce_tx.packet_batch import Batch
from framelane.packets.packet_bytes import copy_bytes
from framelane.receiver.ring.ring import Ring
from framelane.receiver.transport.fast_responder import FastResponder
from framelane.receiver.transport.responder import Responder

SLOTS = 64
"""Frames of half a MiB: their packets and the ring are more than the caches hold."""
ROUNDS = 15
"""All variants by turns, so many times: of what others lengthen, the least counts."""
LOOP_PACKETS = 2000
"""Packets for the Python loop, which takes long."""
LIMIT_PACKETS, LIMIT_TIMES = 800e3, 15.0
SOFTNIC, LOOP, FLOOR = "soft NIC", "a Python loop over packets", "copy and CRC-32 only"


def from_memory() -> tuple[list[dict[str, Any]], list[Target]]:
    """One row a variant and size; GB/s are of payload."""
    rows = [row for payload in softnic_packets.PAYLOADS for row in _of(payload)]
    rates = {row["what"]: row["packets_per_s"] for row in rows if row["payload_bytes"] == 4096}
    return rows, [
        Target(
            what="packets of 4096 bytes from memory, 1 core",
            value=rates[SOFTNIC],
            unit="packets/s",
            limit=LIMIT_PACKETS,
            better="higher",
        ),
        Target(
            what="times faster than a Python loop over packets",
            value=rates[SOFTNIC] / rates[LOOP],
            unit="",
            limit=LIMIT_TIMES,
            better="higher",
        ),
    ]


def _of(payload: int) -> list[dict[str, Any]]:
    session = softnic_packets.session(payload, SLOTS)
    packets = softnic_packets.packets(session)
    batch, ring = Batch.of(packets), Ring(session)
    payloads = np.array([wire.parse(packet)[0].payload_bytes for packet in packets], np.int64)

    def softnic() -> int:
        responder = FastResponder(ring.memory, session)
        at = 0
        while at < len(batch):
            at, _ = responder.receive(batch, at)
        return responder.counters.placed

    def loop() -> int:
        responder = Responder(ring.memory, session)
        for packet in packets[:LOOP_PACKETS]:
            responder.receive(packet)
        return responder.counters.placed

    def floor() -> int:
        _copy_and_crc(batch.memory, batch.starts, batch.sizes, payloads, ring.memory)
        return len(batch)

    bytes_a_packet = float(payloads.mean())
    return [
        {
            "what": what,
            "path": f"memory ({crc32_library().name})",
            "payload_bytes": payload,
            "packets_per_s": rate,
            "gb_per_s": rate * bytes_a_packet / 1e9,
            "sent_per_s": None,
        }
        for what, rate in _rates({SOFTNIC: softnic, FLOOR: floor, LOOP: loop}).items()
    ]


def _rates(variants: dict[str, Callable[[], int]]) -> dict[str, float]:
    """Packets a second of each, which says how many it has taken."""
    least = dict.fromkeys(variants, float("inf"))
    for _ in range(ROUNDS + 1):  # the first touches memory and compiles: it is never the fastest
        for what, call in variants.items():
            start = time.perf_counter()
            taken = call()
            least[what] = min(least[what], (time.perf_counter() - start) / max(taken, 1))
            if not taken:
                raise SimulationError(f"{what}: no packet of the measurement was placed")
    return {what: 1 / seconds for what, seconds in least.items()}


@compiled
def _copy_and_crc(
    data: NDArray[np.uint8],
    starts: NDArray[np.int64],
    sizes: NDArray[np.int64],
    payloads: NDArray[np.int64],
    ring: NDArray[np.uint8],
) -> np.uint64:
    """What cannot be left out: every packet goes through a CRC-32, its payload to memory, one after the other."""
    at, crc = 0, np.uint64(0)
    for n in range(starts.size):
        crc ^= crc32_raw(np.uint64(0), np.uint64(data.ctypes.data + starts[n]), np.uint64(sizes[n]))
        size = payloads[n]
        if at + size > ring.size:
            at = 0
        copy_bytes(ring, at, data, starts[n] + sizes[n] - size - wire.ICRC_BYTES, size)
        at += size
    return crc
