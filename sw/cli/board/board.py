"""`framelane board`: bring up a transmitter and look into it. What the commands do is imported when it is needed."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from framelane.base.errors import OptionError
from framelane.cli.force import Force
from framelane.cli.terminal import Terminal, compiling
from framelane.cli.told import Json, Told

if TYPE_CHECKING:
    from framelane.driver import Board

app = typer.Typer(help="Bring up a transmitter and look into it.", no_args_is_help=True)

Address = Annotated[
    str,
    typer.Option(
        "--board",
        envvar="FRAMELANE_BOARD",
        metavar="uio:/dev/uioN|pci:0000:03:00.0[:BAR]|udp:HOST[:PORT]|uart:/dev/ttyUSBn|sim:SOCKET|sim|sim:rc",
        help="Which board. sim:SOCKET: the one of `framelane board serve`. sim: a new simulated board for this "
        "command only. sim:rc: the same without frame store and correction.",
    ),
]

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]


def _opened(address: str) -> "Board":
    from framelane.base.telling import show_long_work
    from framelane.driver import open_board

    show_long_work(compiling)
    return open_board(address)


@app.command()
def probe(board: Address, as_json: AsJson = False) -> None:
    """Say what the board is and does, and what went wrong."""
    from framelane.cli.board import board_documents, board_status, board_tables

    with _opened(board) as opened:
        if as_json:
            board_documents.show(board_documents.probed(opened), Terminal())
            return
        board_tables.show_probe(opened, Terminal())
        board_status.show_troubles(opened, Terminal())


@app.command(
    epilog="Exit status 0: nothing is wrong.\n\n1: something is wrong with the link, a queue pair, the Ethernet core "
    "or memory: a sentence says what, and what to do.\n\n2: the board cannot be read."
)
def status(
    board: Address,
    file: Annotated[
        Path | None,
        typer.Argument(help="TOML file that the board was configured with, for the names of its receivers."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show the state of the link, of the clock and of the RC queue pairs, what is wrong, and what to do."""
    from framelane.cli.board import board_status

    with _opened(board) as opened:
        good = board_status.show(opened, Terminal(), file, as_json)
    if not good:
        raise typer.Exit(1)


@app.command()
def ptp(
    board: Address,
    domain: Annotated[int, typer.Option(help="PTP domain of the grandmaster.")] = 0,
    transport: Annotated[Literal["ethernet", "udp"], typer.Option(help="What its messages travel in.")] = "ethernet",
    lock: Annotated[float, typer.Option(metavar="NS", help="Locked is a clock that is known to be so near.")] = 100.0,
    asymmetry: Annotated[
        float, typer.Option(metavar="NS", help="How much longer the way from the master is than the mean of both ways.")
    ] = 0.0,
    frames: Annotated[
        Literal["own", "pixel", "trigger"] | None,
        typer.Option(
            help="The time of frames: the detector's own, or of this clock, at the first pixel or the trigger."
        ),
    ] = None,
) -> None:
    """Let the board's clock follow a PTP grandmaster, until Ctrl-C.

    `framelane board status` says meanwhile how it does, and so does the trailer of every frame.
    """
    from framelane.cli.board import board_ptp
    from framelane.driver import PtpSettings

    with _opened(board) as opened:
        settings = PtpSettings(domain=domain, lock_ns=lock, asymmetry_ns=asymmetry)
        board_ptp.run(opened, settings, transport, frames, Terminal())


@app.command()
def resolve(
    board: Address, ip: Annotated[str, typer.Argument(metavar="IP", help="IPv4 address, as 10.0.0.2.")]
) -> None:
    """Ask by ARP for the Ethernet address of a machine, from the board's own address."""
    from framelane.cli.board import board_status
    from framelane.driver.board.board_address import check_neighbours

    check_neighbours(board)
    with _opened(board) as opened:
        board_status.resolve(opened, ip, Terminal())


@app.command()
def rearm(
    board: Address,
    file: Annotated[Path, typer.Argument(help="TOML file that the board was configured with.")],
    name: Annotated[str, typer.Argument(help="The receiver, by its name in the file.")],
    session: Annotated[
        Path | None, typer.Option(help="The session that it publishes now, if it is not where the file says.")
    ] = None,
) -> None:
    """Restart the queue pair of one RC receiver that was itself restarted; the others go on."""
    from framelane.cli.board import board_status

    with _opened(board) as opened:
        board_status.rearm(opened, file, name, session, Terminal())


@app.command()
def configure(
    board: Address,
    file: Annotated[Path, typer.Argument(help="TOML file (docs/howto/board.md).")],
    as_json: AsJson = False,
) -> None:
    """Disarm, reset, and write the whole configuration, with the credit that its sessions give."""
    from framelane.base.progress import say
    from framelane.cli.board import board_constants, board_documents, board_status, board_tables
    from framelane.driver import configure as write

    with _opened(board) as opened:
        config = write(opened, file)
        if as_json:
            board_documents.show(board_documents.configured(config), Terminal())
            return
        board_tables.show_configured(config, Terminal())
        board_status.show_configured(config, Terminal())
        if config.correction:
            board_constants.show(config.correction, Terminal())
        say(Terminal(), "configured, not armed")


@app.command()
def serve(
    socket: Annotated[Path, typer.Option(metavar="PATH", help="Local socket to make, for `--board sim:PATH`.")],
    rows: Annotated[int, typer.Option(help="Pixels of the detector's image, from top to bottom.")] = 512,
    columns: Annotated[int, typer.Option(help="Pixels of the image, from left to right.")] = 1024,
    input: Annotated[
        str, typer.Option(metavar="FILE|simulated", help="HDF5 file with raw frames, sent again and again.")
    ] = "simulated",
    seed: Annotated[int, typer.Option(help="Seed of the simulated detector.")] = 1,
    rate: Annotated[
        float | None, typer.Option(help="Frames per second, at most; default as fast as the simulation.")
    ] = None,
    frames: Annotated[
        int | None, typer.Option(help="Frames after each reset; default as long as the board is armed.")
    ] = None,
    port: Annotated[int, typer.Option(help="UDP port that the receivers listen on.")] = 4791,
    width: Annotated[int, typer.Option(help="Bus of the gateware, in bits: 64 to 1024.")] = 512,
    memory: Annotated[int, typer.Option(help="Memory of the board, in MiB: for the frame store and constants.")] = 64,
    calibration: Annotated[
        Path | None, typer.Option(help="File to write: the detector's calibration, for [correction].")
    ] = None,
    json: Json = None,
    clock: Annotated[
        bool, typer.Option("--clock", help="Give it a clock of TAI too; it is a fifth slower then.")
    ] = False,
    force: Force = False,
) -> None:
    """Keep a simulated board, all of the gateware, for the other commands, until Ctrl-C.

    Its detector sends while the board is armed, and begins with frame 0 again when it is configured. Packets leave by
    UDP, from the address of [transmitter], which must be one of this machine (loopback: any 127.x.y.z).
    """
    from framelane.base.telling import show_long_work
    from framelane.cli.board.board_serve import ServeOptions, run

    show_long_work(compiling)
    options = ServeOptions(
        rows=rows,
        columns=columns,
        input=None if input == "simulated" else Path(input),
        seed=seed,
        rate=rate,
        frames=frames,
        port=port,
        width=width,
        memory=memory,
        clock=clock,
        calibration=calibration,
        force=force,
    )
    told = Told(json, "board serve", inputs=[options.input, calibration, socket], force=force)
    run(socket, options, Terminal(), told)


@app.command()
def constants(
    file: Annotated[Path, typer.Argument(help="TOML file, with the table of the correction (docs/howto/board.md).")],
    output: Annotated[Path | None, typer.Option(help="File to write: the contents of the board's memory.")] = None,
    board: Annotated[
        str | None, typer.Option(metavar="sim:SOCKET", help="Write them to the memory of this simulated board.")
    ] = None,
    force: Force = False,
) -> None:
    """Write the constants of the correction to a file, and say to which address of the board's memory they belong.

    With --board they are written there; it must be a board of `framelane board serve`.
    """
    from framelane.cli.board.board_constants import bring, export

    if output is None and board is None:
        raise OptionError("where shall the constants go: give {output}, or {board} with a simulated board")
    if output is not None:
        export(file, output, Terminal(), force=force)
    if board is not None:
        bring(file, board, Terminal())


@app.command()
def load(
    board: Address,
    file: Annotated[
        Path | None, typer.Argument(help="Raw frames: HDF5 with a dataset `raw`, or .npy, of uint16. Default: none.")
    ] = None,
    first: Annotated[int, typer.Option(help="The first frame of the file that is taken.")] = 0,
    frames: Annotated[int | None, typer.Option(help="How many are taken; default as many as fit the board.")] = None,
) -> None:
    """Load images into the memory of a board that has one: it sends them over and over, instead of its own picture.

    All that was written is read back and compared. Without a file the board sends its own picture again.
    """
    from framelane.cli.board import board_load

    with _opened(board) as opened:
        board_load.run(opened, file, first, frames, Terminal())


@app.command()
def arm(board: Address) -> None:
    """Send frames from the next one on."""
    from framelane.base.progress import say

    with _opened(board) as opened:
        opened.arm()
        say(Terminal(), "armed")


@app.command()
def follow(
    board: Address,
    file: Annotated[Path, typer.Argument(help="TOML file that the board was configured with.")],
) -> None:
    """Arm, give the board the credit of its receivers as it grows, and tell them what it dropped, until Ctrl-C; disarm.

    The receivers are live ones (`framelane recv`).
    """
    from framelane.cli.board import board_follow

    with _opened(board) as opened:
        board_follow.run(opened, file, Terminal())


@app.command()
def disarm(board: Address) -> None:
    """Send no more frames, and wait for the one that is under way."""
    from framelane.base.progress import say

    with _opened(board) as opened:
        opened.disarm()
        opened.wait_idle()
        say(Terminal(), "disarmed, nothing is under way")


@app.command()
def counters(
    board: Address,
    as_json: AsJson = False,
    clear_errors: Annotated[bool, typer.Option("--clear-errors", help="Clear the errors that are shown.")] = False,
) -> None:
    """Print all counters since the reset, of one moment, and what went wrong."""
    from framelane.cli.board import board_documents, board_status, board_tables

    with _opened(board) as opened:
        read, errors = opened.counters(), opened.errors()
        if clear_errors:
            opened.clear_errors()
        if as_json:
            document = dataclasses.asdict(read) | {"errors": dataclasses.asdict(errors)}
            board_documents.show(document, Terminal())
        else:
            board_tables.show_counters(read, errors, Terminal())
            board_status.show_troubles(opened, Terminal())


@app.command()
def regs(
    board: Address,
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME | NAME=VALUE]...", help="Default: all except the tables.")
    ] = None,
) -> None:
    """Print registers with their fields and what they mean; write those that are given a value.

    A name may be a register's (flow[0].rectangle), a field's (flow[0].rectangle.width), or the beginning of several
    (flow[0]). Values: 5, 0x5, 0b101.
    """
    from framelane.cli.board import board_registers

    with _opened(board) as opened:
        board_registers.run(opened, names or [], Terminal())
