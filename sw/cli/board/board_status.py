"""What `framelane board` says of the network: queue pairs of RC, the link, and what to do where one is in error."""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from ipaddress import AddressValueError, IPv4Address
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table

from framelane.base.errors import ConfigError, InputError
from framelane.base.progress import say
from framelane.driver import Board, ClockState
from framelane.driver.board.network import gives_up_after_s, settles_s, silence_s
from framelane.driver.board.queue_pairs import STATES, QueuePair
from framelane.driver.board.station import StationState, text
from framelane.driver.config.board_config import BoardConfig, load
from framelane.driver.config.configuring import calibrate
from framelane.driver.config.one_receiver import one_receiver
from framelane.models.rc.rc_protocol import RcLimits
from framelane.models.roce_tx.roce_qp import Service
from framelane.models.station.roce_rx import FIRST_QPN


def show(board: Board, console: Console, file: Path | None = None, as_json: bool = False) -> bool:
    """What goes on, the link, a line for each queue pair of RC, a sentence for all that is wrong; whether nothing is.

    `file`: the configuration, for the names of the receivers; one that is not usable by now costs only these.
    """
    names: dict[int, str] = {}
    try:
        names = names_of(load(file, board.probe(), calibrate)) if file else {}
    except (ConfigError, InputError) as error:
        if not as_json:
            say(console, f"the names of the receivers are not known: {error}", style="red")
    state, station, pairs, clock = board.state(), board.station(), board.queue_pairs(), board.clock()
    wrong = state.sentences() + sentences(station, pairs, names) + (clock.sentences() if clock else [])
    if as_json:
        document = {
            "wrong": wrong,
            "state": dataclasses.asdict(state),
            "station": dataclasses.asdict(station) if station else None,
            "clock": _clock(clock) if clock else None,
            "queue_pairs": [
                dataclasses.asdict(pair)
                | {"name": names.get(pair.index), "number": pair.number, "state": pair.state.name.lower()}
                | {"receiver_ip": str(IPv4Address(pair.receiver_ip)), "outstanding": pair.outstanding, "why": pair.why}
                for pair in pairs
            ],
        }
        say(console, json.dumps(document, indent=2))
        return not wrong
    bits = [field.name for field in dataclasses.fields(state) if getattr(state, field.name)]
    say(console, f"status: {', '.join(bits) or 'busy'}")
    if station:
        say(console, f"link: {'up' if station.link else 'down'}")
    for line in clock.lines() if clock else ():
        say(console, line)
    if pairs:
        table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
        for title in ("queue pair", "number", "receiver", "state", "outstanding", "window", "gives up after"):
            table.add_column(title, justify="left" if title in ("receiver", "state") else "right")
        for pair in pairs:
            where = f"{names[pair.index]}, {pair.receiver}" if pair.index in names else pair.receiver
            numbers = str(pair.outstanding), str(pair.limits.window), _gives_up(pair.limits)
            table.add_row(str(pair.index), str(pair.number), where, STATES[pair.state], *numbers)
        console.print(table)
    for sentence in wrong:
        say(console, sentence, style="red")
    return not wrong


def _clock(clock: ClockState) -> dict[str, object]:
    """Names for its enumerations, and the accuracy in ns."""
    document = dataclasses.asdict(clock)
    quality = document["quality"] | {"source": clock.quality.source.name.lower()}
    quality["accuracy_ns"] = clock.quality.accuracy_ns
    return document | {"frames": clock.frames.name.lower(), "quality": quality}


def show_troubles(board: Board, console: Console) -> None:
    """A sentence for all that is wrong with the board's sides, the link and the queue pairs of RC."""
    for sentence in board.state().sentences() + sentences(board.station(), board.queue_pairs(), {}):
        say(console, sentence, style="red")


def sentences(station: StationState | None, pairs: Sequence[QueuePair], names: Mapping[int, str]) -> list[str]:
    """What is wrong with the link and the queue pairs of RC, and what to do; `names`: their receivers', if known."""
    found = station.sentences() if station else []
    return found + [pair.sentence(names.get(pair.index)) for pair in pairs if pair.why]


def names_of(config: BoardConfig) -> dict[int, str]:
    """The receivers of each queue pair, by the names in the file."""
    found: dict[int, str] = {}
    for name, destination in zip(config.destinations, config.tx.destinations, strict=True):
        known = found.get(destination.qp)
        found[destination.qp] = f"{known}, {name}" if known else name
    return found


def show_configured(config: BoardConfig, console: Console) -> None:
    """Tell when each RC queue pair gives up, and all MACs that were asked for."""
    for index, name in names_of(config).items():
        qp = config.tx.qps[index]
        if config.network.asked_of(index) is not None:
            say(console, f"  {name}: packets go to {text(qp.dst.mac)}, as was answered by ARP")
        if qp.service is Service.RC:
            limits = config.network.limits_of(index, qp)
            say(
                console,
                f"  {name}: RC, queue pair number {FIRST_QPN + index}, window {limits.window} packets, gives up after "
                f"{_gives_up(limits)} of silence, settles for {settles_s(limits):.3g} s",
            )


def _gives_up(limits: RcLimits) -> str:
    return f"{silence_s(limits):.3g} to {gives_up_after_s(limits):.3g} s"


def rearm(board: Board, file: Path, name: str, session_file: Path | None, console: Console) -> None:
    """Start the queue pair of the receiver `name` of the configuration `file` anew, for the session published last.

    Nothing but its own table and session is read of the file.
    """
    one = one_receiver(file, name, session_file, board.registers, board.probe())
    session, index = one.session, one.qp
    if session.service != "RC":
        raise InputError(
            f"the receiver {name!r} is of UC, whose queue pair never gives up: where it has a new session, configure "
            "the board"
        )
    board.rearm(index, session, None if one.asked is None else board.resolve(one.asked))
    say(
        console,
        f"queue pair {index} runs, to QP {session.qpn:#x} at {session.receiver.ip} from PSN {session.psn:#x} on",
    )
    counted = board.counters().destinations
    for k, destination in enumerate(one.destinations):
        here = counted[k]
        passed = here.sent + here.dropped + here.skipped + here.failed
        if board.registers[f"destination[{k}].control.qp"] == index and passed >= session.window_end:
            say(
                console,
                f"{destination} is at frame {passed} and has credit up to {session.window_end}: "
                "`framelane board follow` brings the credit that its receiver gives",
            )


def resolve(board: Board, address: str, console: Console) -> None:
    """Print the MAC of an address, as `arping` does."""
    try:
        ip = IPv4Address(address)
    except AddressValueError as error:
        raise InputError(f"{address!r} is not an IPv4 address: give one like 10.0.0.2") from error
    say(console, f"{ip} is at {text(board.resolve(int(ip)))}")
