"""`framelane replay`, the command; what it does is in `source.replay_run`."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from framelane.cli.force import Force

_WHERE, _HOW = "Where to", "How"

STATUS = """Exit status 0: all packets were sent as they are, or with the faults that were asked for, and in time.

1: some were not, and is said; the others were sent.

2: bad input, or nothing could be sent: one sentence says why.

128 + n: ended by signal n, with --output; nothing is written. A wire is left in order."""


def replay(
    capture: Annotated[Path, typer.Argument(help="Ethernet capture in pcap format.")],
    transport: Annotated[
        Literal["udp", "packet"] | None,
        typer.Option(help="A UDP socket, or AF_PACKET on an interface (as root).", rich_help_panel=_WHERE),
    ] = None,
    interface: Annotated[
        str | None, typer.Option(help="Interface to send on, with --transport packet.", rich_help_panel=_WHERE)
    ] = None,
    session: Annotated[
        Path | None, typer.Option(help="Session with the addresses of a UDP socket.", rich_help_panel=_WHERE)
    ] = None,
    port: Annotated[
        int | None, typer.Option(help="UDP port, with --transport udp; 4791, if not given.", rich_help_panel=_WHERE)
    ] = None,
    output: Annotated[
        Path | None, typer.Option(help="Capture to write, in place of a wire.", rich_help_panel=_WHERE)
    ] = None,
    rate: Annotated[
        float | None,
        typer.Option(help="Packets per second; else as far apart as they were captured.", rich_help_panel=_HOW),
    ] = None,
    fast: Annotated[bool, typer.Option("--fast", help="As fast as the wire takes them.", rich_help_panel=_HOW)] = False,
    impair: Annotated[
        str | None,
        typer.Option(
            help="Impairments of the packets, as drop=0.01 (docs/howto/fault_injection.md).", rich_help_panel=_HOW
        ),
    ] = None,
    impair_seed: Annotated[int, typer.Option(help="Seed of the impairments.", rich_help_panel=_HOW)] = 0,
    report: Annotated[Path | None, typer.Option(help="JSON file to write with all that was counted.")] = None,
    force: Force = False,
) -> None:
    """Send the packets of a capture again, to a receiver or into another capture.

    On an interface they go as they are. A UDP socket makes their Ethernet, IPv4 and UDP headers anew.
    """
    from framelane.cli.terminal import Terminal
    from framelane.source.impairments.impair import ImpairOptions
    from framelane.source.replay_run import ReplayOptions, run
    from framelane.source.wire_options import WireOptions

    given = transport is not None or port is not None or interface is not None
    options = ReplayOptions(
        capture=capture,
        wire=WireOptions(transport=transport or "udp", port=port, interface=interface) if given else None,
        impair=ImpairOptions(text=impair, seed=impair_seed),
        session=session,
        rate=rate,
        fast=fast,
        output=output,
        report=report,
        force=force,
    )
    if run(options, Terminal()).faults:
        raise typer.Exit(1)
