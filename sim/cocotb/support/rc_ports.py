"""The packed structs of `hw/rtl/rc/rc_pkg.sv` and the event of `roce_rx_pkg.sv` as integers; the question for room."""

from bench import Bench
from framelane.driver.simulated.ports import BD_T, TRAILER_T, Struct
from signals import now

EVENT_T = Struct(qp=8, kind=3, psn=24, value=5, msn=24)
LIMITS_T = Struct(rnr_retries=3, retries=4, backoff=4, timeout=5, window=16)
COMMAND_T = Struct(arm=1, qp=8, reason=4, psn=24)
STATUS_T = Struct(state=2, reason=4, una=24, nxt=24)
ENTRY_T = Struct(tag=10, packets=16, trailer=TRAILER_T.width, bd=BD_T.width)
ISSUE_T = Struct(tag=10, rc=1, psn=24, skip=16, trailer=TRAILER_T.width, bd=BD_T.width)
ITEM_T = Struct(tag=10, rc=1, resume=1, psn=24, bd=BD_T.width)
RETIRED_T = Struct(failed=1, last=1, destination_index=8, tag=10)
DCQCN_T = Struct(
    **{"enabled": 1, "line": 24, "minimum": 24, "additive": 24, "hyper": 24, "alpha_period": 16, "rise_period": 16},
    **{"bytes_log2": 5, "gain_log2": 4, "fast_rounds": 4},
)
RC_CONTROL_T = Struct(
    **{"limits_write": 1, "limits_qp": 8, "limits": LIMITS_T.width, "command_valid": 1, "command": COMMAND_T.width},
    **{"status_qp": 8, "dcqcn_burst": 24, "dcqcn": DCQCN_T.width},
)
RC_REPORT_T = Struct(command_ready=1, command_refused=1, status=STATUS_T.width)

ROOM_CYCLES = 3
"""From the question for room to the answer."""


async def has_room(bench: Bench, index: int, wanted: int) -> bool:
    """Ask, as bd_place does, for `wanted` descriptors of a QP, and wait for the answer; the question stays."""
    bench.dut.room_qp_i.value, bench.dut.room_wanted_i.value = index, wanted
    for _ in range(1 + ROOM_CYCLES):
        await bench.step()
    return bool(now(bench.dut.room_o))
