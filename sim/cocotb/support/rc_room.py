"""The question whether a ring of RC has room for a frame, as bd_place asks it: of rc_ring, rc_requester and tx_rc."""

from bench import Bench
from signals import now

ROOM_CYCLES = 3
"""From the question to the answer."""


async def has_room(bench: Bench, index: int, wanted: int) -> bool:
    """Ask for `wanted` descriptors of a QP, and wait for the answer; the question stays."""
    bench.dut.room_qp_i.value, bench.dut.room_wanted_i.value = index, wanted
    for _ in range(1 + ROOM_CYCLES):
        await bench.step()
    return bool(now(bench.dut.room_o))
