"""`framelane emulate`, the command; what it does is in `emulating`."""

from pathlib import Path
from typing import Annotated, Literal

import typer

_WHERE, _WHAT = "Where to", "What is sent"

STATUS = """Exit status 0: all frames were sent, at the rate that was asked for.

1: frames were dropped for want of credit, the rate was not held, or not all frames were sent, and is said.

2: bad input, or nothing could be sent: one sentence says why.

128 + n: ended by signal n before the first frame. Later, SIGINT, SIGTERM and SIGHUP end the run in order."""


def emulate(
    to: Annotated[
        list[str] | None,
        typer.Option(
            metavar="HOST[:PORT]",
            help="A `framelane recv`, which tells session and credit; several take turns.",
            rich_help_panel=_WHERE,
        ),
    ] = None,
    session: Annotated[
        list[Path] | None, typer.Option(help="Session of any receiver, in place of --to.", rich_help_panel=_WHERE)
    ] = None,
    bunch: Annotated[
        int | None,
        typer.Option(help="Frames in a row to each of several receivers; 1, if not given.", rich_help_panel=_WHERE),
    ] = None,
    source: Annotated[
        int, typer.Option(min=0, help="Which source of the session: its share of the rows.", rich_help_panel=_WHERE)
    ] = 0,
    transport: Annotated[
        Literal["udp", "packet"],
        typer.Option(help="A UDP socket, or AF_PACKET on an interface (as root).", rich_help_panel=_WHERE),
    ] = "udp",
    interface: Annotated[
        str | None, typer.Option(help="To send on, with --transport packet.", rich_help_panel=_WHERE)
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(
            help="UDP port, with --transport udp; 4791, if not given. More receivers of a host have the next ones.",
            rich_help_panel=_WHERE,
        ),
    ] = None,
    rate: Annotated[
        float | None,
        typer.Option(
            help="Frames per second; a frame without credit is dropped. Else as fast as wire and credit permit.",
            rich_help_panel=_WHAT,
        ),
    ] = None,
    frames: Annotated[
        int | None, typer.Option(help="How many; until Ctrl-C, if not given.", rich_help_panel=_WHAT)
    ] = None,
    input: Annotated[
        str,
        typer.Option(
            metavar="FILE|simulated", help="HDF5 file with raw frames (docs/files.md).", rich_help_panel=_WHAT
        ),
    ] = "simulated",
    calibration: Annotated[
        Path | None,
        typer.Option(help="For a session of corrected pixels, where --input has none.", rich_help_panel=_WHAT),
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the simulated detector.", rich_help_panel=_WHAT)] = 1,
    impair: Annotated[
        str | None,
        typer.Option(help="Bad weather on the way, as drop=0.01 (docs/fault_injection.md).", rich_help_panel=_WHAT),
    ] = None,
    impair_seed: Annotated[int, typer.Option(help="Of the bad weather.", rich_help_panel=_WHAT)] = 0,
    report: Annotated[Path | None, typer.Option(help="JSON file to write with all that was counted.")] = None,
) -> None:
    """Send frames as a board would, to any receiver: the golden transmitter, live.

    The same few frames come again and again, each under its own number.
    """
    from framelane.cli.emulating import EmulateOptions, run
    from framelane.cli.impair import ImpairOptions
    from framelane.cli.surroundings import Terminal
    from framelane.cli.wire_options import WireOptions

    options = EmulateOptions(
        session=session or (),
        to=to or (),
        bunch=bunch,
        wire=WireOptions(transport=transport, port=port, interface=interface),
        impair=ImpairOptions(impair, impair_seed),
        source=source,
        rate=rate,
        frames=frames,
        input=None if input == "simulated" else Path(input),
        calibration=calibration,
        seed=seed,
        report=report,
    )
    if run(options, Terminal()).faults:
        raise typer.Exit(1)
