"""Counters of the register map as `tx_counters_pkg.sv` numbers them: structs of events, indexes of amounts."""

from collections import Counter
from typing import Any

from bench import Bench
from framelane.driver.simulated.ports import Struct
from signals import now
from tx_registers import MAP

COUNTER_BYTES = 8


def _events(table: str) -> Struct:
    """The struct of the counters `table`: counter 0 is its last field, the least significant bit."""
    names = [name.removeprefix(f"{table}.") for name in MAP if name.startswith(f"{table}.")]
    return Struct(**dict.fromkeys(reversed(names), 1))


PULSES_T, STATION_PULSES_T = _events("counters"), _events("station_counters")
_STATION = [*STATION_PULSES_T.fields]
_RC = _STATION.index("roce_length") + 1
RC_PULSES_T = Struct(**dict.fromkeys(_STATION[:_RC], 1))
NEIGHBOUR_PULSES_T = Struct(**dict.fromkeys(_STATION[_RC:], 1))


def pulses(**events: int) -> int:
    """Those events of `counters` in one cycle."""
    return PULSES_T.pack(dict.fromkeys(PULSES_T.fields, 0) | events)


def counter(name: str, index: int = 0) -> int:
    """Where the counter `name` of entry `index`, such as `flow_counters[].refused`, lies among those of its memory."""
    first = "station_counters.pause_global" if name.startswith(("station_", "qp_")) else "counters.cycles"
    return (MAP[name].offset_of(index) - MAP[first].offset) // COUNTER_BYTES


def count_events(bench: Bench, signal: Any, struct: Struct) -> Counter[str]:
    """How often each event of `signal`, a `struct`, comes from now on."""
    counted: Counter[str] = Counter()

    def look() -> None:
        if bits := now(signal):
            counted.update(name for name, high in struct.unpack(bits).items() if high)

    bench.watch(look)
    return counted
