"""`framelane doctor`: why packets are not placed, and what is wrong with the host."""

from pathlib import Path
from typing import Annotated

import typer

from framelane.cli.force import Force
from framelane.cli.terminal import Terminal

STATUS = """Exit status 0: nothing is wrong; warnings and notes may be said.

1: causes were found, or the capture is cut off.

2: bad input, one sentence says what."""


def doctor(
    session: Annotated[
        Path | None, typer.Option(help="Session of the receiver: the session.json that it has published.")
    ] = None,
    pcap: Annotated[
        Path | None, typer.Option(help="Capture of its packets, pcap or pcapng, taken on one Ethernet interface.")
    ] = None,
    listen: Annotated[
        float | None, typer.Option(help="Instead of a capture: take what comes for so many seconds (as root).")
    ] = None,
    save: Annotated[Path | None, typer.Option(help="Write what --listen takes to this capture.")] = None,
    interface: Annotated[
        str | None, typer.Option(help="Network interface of the receiver; that of its address, if not given.")
    ] = None,
    device: Annotated[
        str | None, typer.Option(help="RDMA device that receives, rxe0 or mlx5_0; a soft NIC, if not given.")
    ] = None,
    detector: Annotated[
        bool,
        typer.Option("--detector", help="Instead of a session: a detector's own packets come in on --interface."),
    ] = False,
    pcie: Annotated[
        str | None,
        typer.Option(help="Check this host for the board at this PCI address, 0000:03:00.0, which writes over PCIe."),
    ] = None,
    json: Annotated[Path | None, typer.Option(help="Write the findings to this file, for machines.")] = None,
    force: Force = False,
) -> None:
    """Say why nothing arrives: of a capture, of what arrives now, and of this host.

    The host is checked where there is no capture, or an interface or a device is given.
    """
    from framelane.doctor.doctor_run import DoctorOptions, run

    options = DoctorOptions(
        session=session,
        pcap=pcap,
        listen=listen,
        save=save,
        interface=interface,
        device=device,
        detector=detector,
        pcie=pcie,
        json=json,
        force=force,
    )
    if not run(options, Terminal()):
        raise typer.Exit(1)
