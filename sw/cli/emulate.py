"""`framelane emulate`, the command; what it does is in `framelane.source`."""

import contextlib
from pathlib import Path
from typing import Annotated, Literal

import typer

from framelane.cli.force import Force

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
    token_file: Annotated[
        list[Path] | None,
        typer.Option(
            help="For each --to the session that it publishes, for the link's token; not for receivers of this user "
            "on this machine. Else the file FRAMELANE_TOKEN_FILE.",
            rich_help_panel=_WHERE,
        ),
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
        str | None, typer.Option(help="Interface to send on, with --transport packet.", rich_help_panel=_WHERE)
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
            help="Frames per second; a frame without credit is dropped. Default: as fast as wire and credit permit.",
            rich_help_panel=_WHAT,
        ),
    ] = None,
    frames: Annotated[
        int | None, typer.Option(help="Frames to send; default until Ctrl-C.", rich_help_panel=_WHAT)
    ] = None,
    input: Annotated[
        str,
        typer.Option(
            metavar="FILE|simulated", help="HDF5 file with raw frames (docs/reference/files.md).", rich_help_panel=_WHAT
        ),
    ] = "simulated",
    calibration: Annotated[
        Path | None,
        typer.Option(
            help="HDF5 file with the calibration, for a session of corrected pixels if --input has none.",
            rich_help_panel=_WHAT,
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the simulated detector.", rich_help_panel=_WHAT)] = 1,
    impair: Annotated[
        str | None,
        typer.Option(
            help="Impairments of the packets, drop=0.01 for example (docs/howto/fault_injection.md).",
            rich_help_panel=_WHAT,
        ),
    ] = None,
    impair_seed: Annotated[int, typer.Option(help="Seed of the impairments.", rich_help_panel=_WHAT)] = 0,
    report: Annotated[Path | None, typer.Option(help="JSON file to write with all that was counted.")] = None,
    force: Force = False,
) -> None:
    """Send frames as a board would, to any receiver: the golden transmitter, live.

    The same few frames come again and again, each under its own number.
    """
    from framelane.base.output import check_free, check_no_input
    from framelane.base.progress import say
    from framelane.base.stopping import Stop, stop_on_signals
    from framelane.cli.terminal import Terminal
    from framelane.files.linked_files import with_linked
    from framelane.source import emulate as send
    from framelane.source.impairments.impair import ImpairOptions, describe, document

    if report is not None:
        inputs = [
            *(session or ()),
            *(token_file or ()),
            *([Path(input)] if input != "simulated" else []),
            *([calibration] if calibration else []),
        ]
        check_no_input(report, with_linked(inputs), "report")
        check_free(report, force=force)
    console, stop = Terminal(), Stop()
    impairment = ImpairOptions(text=impair, seed=impair_seed).make(1)
    with console.status("prepare the frames") as status, contextlib.ExitStack() as signals:
        outcome = send(
            to=to or (),
            session=session or (),
            token_file=token_file or (),
            source=source,
            transport=transport,
            port=port,
            interface=interface,
            rate=rate,
            frames=frames,
            bunch=bunch,
            input=None if input == "simulated" else input,
            calibration=calibration,
            seed=seed,
            impairment=impairment,
            stop=stop,
            ready=lambda: signals.enter_context(stop_on_signals(stop)),
            progress=lambda sofar: status.update(sofar.lines()[0]),
        )
    say(console, "\n".join([*outcome.lines(), *describe(impairment)]))
    if report is not None:
        outcome.save(report, force=force, **document(impairment))
    if outcome.faults:
        raise typer.Exit(1)
