"""The counters of a board from their registers, as the last snapshot has them."""

from dataclasses import fields

from framelane.driver.board.board_readings import (
    Capabilities,
    Counters,
    DestinationCounters,
    FlowCounters,
    StationCounters,
)
from framelane.driver.registers._register_map import REGISTERS
from framelane.driver.registers.register_file import RegisterFile


def read_counters(registers: RegisterFile, build: Capabilities) -> Counters:
    """All that the build has."""

    def group(entry: str, *names: str) -> dict[str, int]:
        return {name: registers[f"{entry}.{name}"] for name in names}

    def named(kind: type[Counters | FlowCounters | DestinationCounters]) -> list[str]:
        return [field.name for field in fields(kind) if field.name not in ("flows", "destinations", "station")]

    flows, destinations = range(build.flows), range(build.destinations)
    return Counters(
        **group("counters", *named(Counters)),
        flows=tuple(FlowCounters(**group(f"flow_counters[{k}]", *named(FlowCounters))) for k in flows),
        destinations=tuple(
            DestinationCounters(**group(f"destination_counters[{k}]", *named(DestinationCounters)))
            for k in destinations
        ),
        station=_station(registers, build) if build.station else None,
    )


def _station(registers: RegisterFile, build: Capabilities) -> StationCounters:
    names = [register.name.partition("station_counters.")[2] for register in REGISTERS]
    events = {name: registers[f"station_counters.{name}"] for name in names if name}
    return StationCounters(events, tuple(registers[f"qp_counters[{k}].cnps"] for k in range(build.qps)))
