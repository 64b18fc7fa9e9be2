"""`framelane tap`, the command: Linux and the simulated transmitter on one wire, for a look with Linux' own tools."""

import contextlib
import ipaddress
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from types import FrameType
from typing import Annotated, Literal, NoReturn

import typer

from framelane.base.errors import InputError, TransportError
from framelane.base.stopping import handled

STATUS = """Exit status: that of the command, 128 + n where signal n has ended it.

2: bad input, or there can be no wire; one sentence says why."""

_SIGNALS = signal.SIGINT, signal.SIGTERM, signal.SIGHUP
_MAC = 0x02_00_00_00_00_02
_NAME = "tap0"
_ENDS = "10.77.0.2", "10.77.0.1/24"
_BOARD_ENDS = "192.168.1.50", "192.168.1.10/24"
_HOST_MAC = "02:00:00:00:00:0a"
_JUMBO = 9000
_LINE_S = 8e-9
_LINE_CYCLES_PER_S = 1_000_000
"""More cycles of the board's line than any machine simulates: it is as fast as it can be."""
_PROGRAM = "from framelane.cli import main; main()"


def tap(
    command: Annotated[list[str], typer.Argument(help="What to run, with its options; a shell, say.")],
    address: Annotated[
        str | None,
        typer.Option(help="IPv4 address of the transmitter; default 10.77.0.2, with --board 192.168.1.50."),
    ] = None,
    host: Annotated[
        str | None,
        typer.Option(
            help="IPv4 address of Linux, with the length of its prefix; default 10.77.0.1/24, with --board "
            "192.168.1.10/24."
        ),
    ] = None,
    width: Annotated[int, typer.Option(help="Bus of the gateware, in bits: 64 to 1024.")] = 512,
    board: Annotated[
        str | None,
        typer.Option(
            metavar="colorlight_5a_75b|ecpix_5",
            help="Not the transmitter alone, but this board, by its pins (docs/tutorials/first_board.md).",
        ),
    ] = None,
    network: Annotated[
        Literal["own", "here"], typer.Option(help="A network of its own, or here: all see the interface tap0.")
    ] = "own",
) -> None:
    """Run a command beside the simulated transmitter on a tap device, and print what that has counted, as JSON.

    framelane tap ping -c 3 10.77.0.2

    framelane tap --board colorlight_5a_75b framelane board probe --board udp:192.168.1.50
    """
    address = address or (_BOARD_ENDS if board else _ENDS)[0]
    host = host or (_BOARD_ENDS if board else _ENDS)[1]
    try:
        ours, theirs = ipaddress.IPv4Address(address), ipaddress.IPv4Interface(host)
    except ValueError as error:
        raise InputError(f"{error}: give --address as 10.77.0.2, --host as 10.77.0.1/24") from error
    if network == "own":
        which = ("--board", board) if board else ("--width", str(width))
        _in_a_network_of_its_own("--address", address, "--host", host, *which, "--", *command)
    raise typer.Exit(_run_board(command, ours, theirs, board) if board else _run(command, ours, theirs, width))


def _in_a_network_of_its_own(*options: str) -> NoReturn:
    """Go on as a process in a network that ends with it. TransportError where none can be made."""
    own = ["unshare", "--net", *(["--map-root-user"] if os.geteuid() else [])]
    try:
        tried = subprocess.run([*own, "true"], capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise TransportError("no network can be made without the command `unshare`: install util-linux") from error
    if tried.returncode:
        raise TransportError(f"no network can be made: {tried.stderr.strip()}: run as root")
    os.execvp(own[0], [*own, sys.executable, "-c", _PROGRAM, "tap", "--network", "here", *options])


def _run(command: list[str], ours: ipaddress.IPv4Address, theirs: ipaddress.IPv4Interface, width: int) -> int:
    """The command's exit status."""
    from framelane.driver import Board
    from framelane.driver.simulated.tap import Tap
    from framelane.driver.simulated.tap_board import TapBoard, ip_command
    from framelane.driver.simulated.verilated_rc import SLOW_HZ, SimulatedRcBoard
    from framelane.models.roce_tx.wire import Endpoint
    from framelane.models.tx import TxConfig

    with Tap(_NAME) as wire, SimulatedRcBoard(width, clock_hz=SLOW_HZ) as simulated:
        ip_command(f"address add {theirs} dev {_NAME}")
        ip_command(f"link set {_NAME} up")
        Board(simulated).configure(TxConfig(Endpoint(_MAC, int(ours)), (), (), ()))
        with TapBoard(simulated, wire) as board:
            status = _beside(command)
            counted = Board(board).counters().station
    assert counted
    print(json.dumps({name: count for name, count in counted.events.items() if count}))
    return status


def _run_board(command: list[str], ours: ipaddress.IPv4Address, theirs: ipaddress.IPv4Interface, board: str) -> int:
    """The command's exit status, beside a board by its pins."""
    from framelane.base.telling import show_long_work
    from framelane.cli.terminal import compiling
    from framelane.driver.simulated.pins.verilated_pins import PinBoard
    from framelane.driver.simulated.tap import Tap
    from framelane.driver.simulated.tap_board import TapLine, ip_command

    show_long_work(compiling)
    with PinBoard(board, ours) as simulated, Tap(_NAME) as wire:
        ip_command("link set lo up")  # which what Linux sends to its own address passes
        ip_command(f"address add {theirs} dev {_NAME}")
        ip_command(f"link set {_NAME} address {_HOST_MAC} mtu {_JUMBO} up")
        with TapLine(simulated, wire, _LINE_CYCLES_PER_S, 1) as line:
            status = _beside(command)
        passed = {"to_board": line.to_board, "from_board": line.from_board, "wrong": simulated.wrong}
        print(json.dumps(passed | {"line_seconds": round(simulated.cycle * _LINE_S, 6)}))
    return status


def _beside(command: list[str]) -> int:
    with contextlib.ExitStack() as ending:
        with _signals_wait():
            process = ending.enter_context(subprocess.Popen(command))
            ending.callback(process.terminate)  # where it has not ended by then
        while True:
            try:
                status = process.wait()
            except KeyboardInterrupt:
                continue  # the command was told, too
            return status if status >= 0 else 128 - status


@contextlib.contextmanager
def _signals_wait() -> Iterator[None]:
    """Let a signal take effect at the end of the block: while a program starts, nobody could end it."""
    came: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        came.append(number)

    try:
        with handled(note, *_SIGNALS):
            yield
    finally:
        if came:
            signal.raise_signal(came[0])
