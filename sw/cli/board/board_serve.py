"""`framelane board serve`: a simulated board that lives on, with a detector before it and the network behind it."""

import contextlib
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from framelane.base.errors import OptionError
from framelane.base.output import check_free, check_no_input
from framelane.base.progress import say
from framelane.base.stopping import stop_on_signals
from framelane.calibration import write_calibration
from framelane.cli.told import Told
from framelane.driver.board.lonely_board import LonelyTop
from framelane.driver.simulated.board_server import BoardServer
from framelane.driver.simulated.board_socket import listening
from framelane.driver.simulated.served_board import Exposure, ServedBoard
from framelane.source.emulate_images import raw_images
from framelane.source.udp_wire import UdpWire

_MIB = 1 << 20
_MOST_SIDE = (1 << 16) - 1
_MOST_MEMORY_MIB = 16_384


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeOptions:
    """What the user chose: the detector's image, what it sends, the board's bus in bits, and where packets go."""

    rows: int
    columns: int
    input: Path | None
    seed: int
    rate: float | None
    frames: int | None
    port: int
    width: int
    memory: int
    clock: bool = False
    calibration: Path | None
    force: bool

    def __post_init__(self) -> None:
        for name, value in (("rows", self.rows), ("columns", self.columns)):
            if not 0 < value <= _MOST_SIDE:
                raise OptionError(f"an image of {{0}} {name} cannot be: give 1 to {{1}}", value, _MOST_SIDE)
        if self.rate is not None and not 0 < self.rate < 1e6:
            raise OptionError("{rate}: {0:g} frames/s cannot be: give more than 0, below 1e6", self.rate)
        if self.frames is not None and self.frames < 1:
            raise OptionError("{frames}: {0} frames cannot be: give 1 or more", self.frames)
        if not 0 < self.port < 1 << 16:
            raise OptionError("{port}: UDP port {0} does not exist: give 1 to 65535", self.port)
        if not 0 < self.memory <= _MOST_MEMORY_MIB:
            raise OptionError("{memory}: {0} MiB cannot be: give 1 to {1}", self.memory, _MOST_MEMORY_MIB)


def run(socket: Path, options: ServeOptions, console: Console, told: Told) -> None:
    """Serve a board at `socket` until a signal comes; `told` says then what was sent.

    OptionError and InputError for what cannot be; SimulationError where none can be simulated.
    """
    if options.calibration is not None:
        check_no_input(options.calibration, [options.input] if options.input else [], "calibration")
        check_free(options.calibration, force=options.force)
    images, constants = raw_images(options.rows, options.columns, options.input, options.seed)
    with contextlib.ExitStack() as held:
        stop = held.enter_context(stop_on_signals())
        listener = held.enter_context(listening(socket))
        wire = held.enter_context(contextlib.closing(UdpWire(options.port)))
        exposure = Exposure(images, options.rate, options.frames)
        with console.status("build the simulator, if it is not there yet"):
            board = LonelyTop(options.width, timed=options.clock)
        held.callback(board.close)
        memory, beat = options.memory * _MIB, options.width // 8
        served = ServedBoard(board, exposure, wire, memory, beat_bytes=beat)
        server = held.enter_context(contextlib.closing(BoardServer(listener, served)))
        if options.calibration is not None:
            write_calibration(options.calibration, constants(), force=options.force)
        say(
            console,
            f"a simulated board with frame store, correction{', a clock' if options.clock else ''} and RC, its "
            f"detector of {options.rows} x {options.columns} pixels, {options.memory} MiB of memory: Ctrl-C ends it",
        )
        say(console, f"in another terminal: export FRAMELANE_BOARD=sim:{socket.absolute()}")
        said = 0
        while not stop.wanted:
            server.attend(served.turn(), _ATTENDS_S)
            for fault in wire.faults[said:]:
                say(console, f"{fault}; these packets are lost", style="red")
            said = len(wire.faults)
    lost = f" ({wire.lost} of them lost)" if wire.lost else ""
    say(console, f"ended: the detector has sent {served.offered} frames, the board {served.packets} packets{lost}")
    told.write(
        good=True, frames=served.offered, packets=served.packets, packets_lost=wire.lost, faults=list(wire.faults)
    )


_ATTENDS_S = 0.01
"""So long clients are served, while the clock stands, before it is the simulation's turn."""
