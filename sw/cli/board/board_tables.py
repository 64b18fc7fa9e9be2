"""What `framelane board` prints of a board, but for its registers."""

from dataclasses import fields

from rich import box
from rich.console import Console
from rich.table import Table

from framelane.base.progress import say
from framelane.driver import Board, BoardConfig
from framelane.driver.board.board_readings import Counters, DestinationCounters, Errors, FlowCounters, StationCounters
from framelane.driver.registers._register_map import REGISTERS
from framelane.models.placement.slots import FREE_RUNNING


def show_probe(board: Board, console: Console) -> None:
    """What it is, what it does, what went wrong."""
    is_ = board.probe()
    store = "frames in a store of its own" if is_.frame_store else "frames in memory already"
    store += ", corrected on the way there if wanted" if is_.correction else ""
    say(console, f"transmitter, registers {'.'.join(map(str, is_.version))}, build {is_.build}")
    say(console, f"{is_.data_width} bits at {is_.clock_hz / 1e6:g} MHz, {store}")
    say(console, f"room for {is_.flows} flows, {is_.destinations} destinations, {is_.qps} queue pairs")
    if is_.rc:
        say(console, f"RC on the first {is_.rc_qps} queue pairs, {is_.rc_depth} descriptors kept of each")
    if is_.station:
        say(console, "receive path: ARP, ping, pauses of the link")
    token = board.token
    if token is not None:
        say(console, f"token for writes over UDP, until its reset: {token:016x}")
    state = board.state()
    set_ = [field.name for field in fields(state) if getattr(state, field.name)]
    say(console, f"status: {', '.join(set_) or 'busy'}")
    show_errors(board.errors(), console)


def show_errors(errors: Errors, console: Console) -> None:
    """A line each."""
    for sentence in errors.sentences():
        say(console, sentence, style="red")


def show_configured(config: BoardConfig, console: Console) -> None:
    """Which entries the names of the file have become."""
    for index, (name, flow) in enumerate(zip(config.flows, config.tx.flows, strict=True)):
        corrected = config.correction is not None and flow.source_offset == config.correction.offset
        what = "corrected pixels" if corrected else "pixels"
        say(console, f"flow {index}: {name}, {flow.width} x {flow.height} {what}")
        first = flow.first_destination
        for entry in range(first, first + flow.destinations):
            say(console, f"  destination {entry}: {config.destinations[entry]}, {_credit(config.credit[entry])}")


def show_counters(counters: Counters, errors: Errors, console: Console) -> None:
    """A table of each kind, all but the first without the lines that are all 0; then the errors."""
    described = {register.name: register.description for register in REGISTERS}
    table = _table("counter", "value", "")
    for field in fields(counters):
        if field.name not in ("flows", "destinations", "station"):
            table.add_row(field.name, f"{getattr(counters, field.name):,}", described[f"counters.{field.name}"])
    console.print(table)
    _show_entries("flow", counters.flows, console)
    _show_entries("destination", counters.destinations, console)
    if counters.station:
        _show_station(counters.station, described, console)
    show_errors(errors, console)


def _show_station(station: StationCounters, described: dict[str, str], console: Console) -> None:
    events = _table("receive path", "value", "")
    for name, value in station.events.items():
        if value:
            events.add_row(name, f"{value:,}", described[f"station_counters.{name}"])
    pairs = _table("queue pair", "cnps")
    for index, value in enumerate(station.cnps):
        if value:
            pairs.add_row(str(index), f"{value:,}")
    for table in (events, pairs):
        if table.row_count:
            console.print(table)


def _show_entries(
    what: str, entries: tuple[FlowCounters, ...] | tuple[DestinationCounters, ...], console: Console
) -> None:
    names = [field.name for field in fields(entries[0])]
    table = _table(what, *names)
    for index, entry in enumerate(entries):
        values = [getattr(entry, name) for name in names]
        if any(values):
            table.add_row(str(index), *(f"{value:,}" for value in values))
    if table.row_count:
        console.print(table)


def _table(first: str, *others: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column(first)
    for title in others:
        table.add_column(title, justify="right" if title else "left")
    return table


def _credit(window_end: int) -> str:
    if window_end == FREE_RUNNING:
        return "free-running: slots may be overwritten while they are read"
    return f"credit {window_end:,}" if window_end else "credit 0: no frame is sent until the receiver gives some"
