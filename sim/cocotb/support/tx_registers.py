"""Registers of `tx` as its benches use them: offsets, bits of commands and of the status, names of counters."""

from framelane.driver.registers._register_map import REGISTERS

CONTROL, STATUS, COMMAND, LOCAL_MAC = 0x1C, 0x20, 0x24, 0x28
FLOW, DESTINATION, QP = 0x1000, 0x2000, 0x4000
ARM, RESET, SNAPSHOT, ABORT = 1, 1, 2, 4
IDLE, ARMED, RESETTING, COPYING, MEMORY_STUCK = 1, 2, 4, 8, 64
SENT, DROPPED, SKIPPED, FAILED = (f"destination_counters[].{name}" for name in ("sent", "dropped", "skipped", "failed"))
MAP = {register.name: register for register in REGISTERS}
FLOWS = 4
"""Entries of the table of flows."""
