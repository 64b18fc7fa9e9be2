"""`framelane recv`, the command: its options; what it prints is in `one_run`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from framelane.cli.file_options import takes_file_options
from framelane.cli.force import Force
from framelane.cli.judging import PANEL, takes_judging
from framelane.cli.told import Json, Told, run_facts

if TYPE_CHECKING:
    from framelane.receiver import FileOptions

_CAPTURE, _LIVE, _DETECTOR = "From a capture", "From the wire", "From a detector itself"


@takes_file_options
@takes_judging
def recv(
    output: Annotated[Path, typer.Option(help="HDF5 file to write.")],
    options: "FileOptions",
    *,
    session: Annotated[
        Path | None,
        typer.Option(help="Session of the packets: session.json of the receiver. Live: the one to serve again."),
    ] = None,
    pcap: Annotated[Path | None, typer.Option(help="Capture to replay.", rich_help_panel=_CAPTURE)] = None,
    transport: Annotated[
        Literal["udp", "packet", "verbs", "pcie", "jungfrau", "detector"] | None,
        typer.Option(
            help="udp: a UDP socket. packet: AF_PACKET on an interface, as root. verbs: an RNIC or SoftRoCE. pcie: a "
            "board in this host. jungfrau: a JUNGFRAU's own packets. detector: packets that --detector describes.",
            rich_help_panel=_LIVE,
        ),
    ] = None,
    plan: Annotated[
        Path | None,
        typer.Option(help="TOML file that describes a new session (docs/howto/receiving.md).", rich_help_panel=_LIVE),
    ] = None,
    publish: Annotated[
        Path | None, typer.Option(help="Write the new session to this file.", rich_help_panel=_LIVE)
    ] = None,
    link_port: Annotated[
        int | None,
        typer.Option(
            help="TCP port of the link, by which sources learn session and credit; 0: any.",
            rich_help_panel=_LIVE,
        ),
    ] = None,
    link_tls: Annotated[
        bool,
        typer.Option(
            help="Encrypt the link by TLS. Use it where the link crosses other networks. With --session: as before.",
            rich_help_panel=_LIVE,
        ),
    ] = False,
    max_rate: Annotated[
        float | None,
        typer.Option(
            help="Highest frame rate that a source may report, per second; default 1,000,000. Give twice the "
            "detector's rate.",
            rich_help_panel=_LIVE,
        ),
    ] = None,
    ring: Annotated[
        Literal["host", "gpu"] | None,
        typer.Option(
            help="Memory that the RDMA device writes to; default host. gpu: by GPUDirect RDMA, with --gpu.",
            rich_help_panel=_LIVE,
        ),
    ] = None,
    free_running: Annotated[
        bool,
        typer.Option(
            help="Give unlimited credit: slots may be overwritten while they are read.", rich_help_panel=_LIVE
        ),
    ] = False,
    interface: Annotated[
        str | None, typer.Option(help="Interface to receive on, with --transport packet.", rich_help_panel=_LIVE)
    ] = None,
    port: Annotated[
        list[int] | None,
        typer.Option(
            help="UDP port; default 4791 with --transport udp. For a detector: of its first interface (default 50001), "
            "and the others follow; or give one for each.",
            rich_help_panel=_LIVE,
        ),
    ] = None,
    detector: Annotated[
        str | None,
        typer.Option(
            help="TOML file that describes its packets (docs/detectors/packets.md), or eiger, example, jungfrau.",
            rich_help_panel=_DETECTOR,
        ),
    ] = None,
    modules: Annotated[
        int | None, typer.Option(help="Number of modules of the detector; default 1.", rich_help_panel=_DETECTOR)
    ] = None,
    interfaces: Annotated[
        int | None,
        typer.Option(
            help="Interfaces on which each module sends: 1 or 2 for a JUNGFRAU. Default: the first that is described.",
            rich_help_panel=_DETECTOR,
        ),
    ] = None,
    host: Annotated[
        str | None,
        typer.Option(help="IPv4 address to which the detector sends; default any.", rich_help_panel=_DETECTOR),
    ] = None,
    slots: Annotated[
        int | None,
        typer.Option(help="Frames that the ring holds; default 64.", rich_help_panel=_DETECTOR),
    ] = None,
    device: Annotated[
        str | None,
        typer.Option(
            help="RDMA device, with --transport verbs; found if not given. With --transport pcie: PCI address of the "
            "board (0000:03:00.0), or sim for a simulated board that sends --frames frames (default 10).",
            rich_help_panel=_LIVE,
        ),
    ] = None,
    gid_index: Annotated[
        int | None,
        typer.Option(
            help="GID index of the RDMA device, if several GIDs have the receiver's address.", rich_help_panel=_LIVE
        ),
    ] = None,
    polling: Annotated[
        bool,
        typer.Option(
            help="Poll the RDMA device on one core, instead of sleeping until something comes: lower latency.",
            rich_help_panel=_LIVE,
        ),
    ] = False,
    huge_pages: Annotated[
        bool, typer.Option(help="Keep the ring in reserved huge pages.", rich_help_panel=_LIVE)
    ] = False,
    frames: Annotated[
        int | None, typer.Option(help="End after so many frames, or a few more.", rich_help_panel=_LIVE)
    ] = None,
    idle: Annotated[
        float | None, typer.Option(help="End when nothing has come for so many seconds.", rich_help_panel=_LIVE)
    ] = None,
    calibration: Annotated[
        Path | None,
        typer.Option(
            help="HDF5 file with the calibration. Without it, raw words are kept. Not for images that come corrected.",
            rich_help_panel=PANEL,
        ),
    ] = None,
    gpu: Annotated[
        bool, typer.Option("--gpu", help="Correct and judge frames on a GPU.", rich_help_panel=PANEL)
    ] = False,
    judging: dict[str, Any],
    expect: Annotated[
        int | None,
        typer.Option(help="Exit status 1 unless exactly so many frames were sent, and all of them are complete."),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit status 1 unless every frame that was sent is complete.")
    ] = False,
    dark_period: Annotated[
        int | None,
        typer.Option(help="Track the pedestal: one in so many frames of the detector is dark.", rich_help_panel=PANEL),
    ] = None,
    dark_phase: Annotated[
        int | None,
        typer.Option(help="Which frame of the period is dark, from 0; default the last.", rich_help_panel=PANEL),
    ] = None,
    gain_mode: Annotated[
        Literal["normal", "hg0"] | None,
        typer.Option(help="Gain mode of the detector; needed if --calibration has both.", rich_help_panel=PANEL),
    ] = None,
    stream: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ADDRESS[,OPTION...]",
            help="Also send frames to other programs as they come: tcp://HOST:PORT, and all, accepted or newest, push "
            "or pub, every=N, rate=HZ, reduce=N, queue=N (docs/serve/streams.md). May be given several times.",
        ),
    ] = None,
    json: Json = None,
    force: Force = False,
) -> None:
    """Receive frames, live or from a capture: correct them, judge them and write them to a file.

    A live run ends after --frames frames, after --idle seconds without a packet, when all sources have reported their
    end over the link, or by Ctrl-C. What has arrived is written.
    """
    from framelane.cli.recv import one_run, ranked
    from framelane.cli.recv.recv_options import Demand, RecvOptions, chosen_source, live_options
    from framelane.cli.terminal import Terminal
    from framelane.receiver import Processing, StreamOptions
    from framelane.receiver.ranks.ranks import find_ranks

    live = live_options(
        force=force,
        transport=transport,
        session=session,
        plan=plan,
        publish=publish,
        link_port=link_port,
        link_tls=link_tls or None,
        max_rate=max_rate,
        interface=interface,
        port=port[0] if port and len(port) == 1 else None,
        ports=tuple(port) if port and len(port) > 1 else None,
        detector=detector,
        modules=modules,
        interfaces=interfaces,
        host=host,
        slots=slots,
        device=device,
        gid_index=gid_index,
        polling=polling or None,
        huge_pages=huge_pages or None,
        ring=ring,
        free_running=free_running or None,
        frames=frames,
        idle=idle,
    )
    processing = Processing(
        calibration=calibration,
        gain_mode=gain_mode,
        gpu=gpu,
        **judging,
        dark_period=dark_period,
        dark_phase=dark_phase,
    )
    chosen = RecvOptions(
        source=chosen_source(pcap, session, live),
        processing=processing,
        output=output,
        demand=Demand(strict=strict, expect=expect),
        file=options,
        streams=tuple(StreamOptions.parse(text) for text in stream or ()),
        force=force,
    )
    ranks = find_ranks()
    if ranks is not None:
        good = ranked.run(chosen, ranks, Terminal(), json)
    else:
        told = Told(json, "recv", inputs=[*chosen.source.inputs, *chosen.processing.inputs, output], force=force)
        received = one_run.run(chosen, Terminal())
        good, counted = received.good, received.statistics
        facts = run_facts(counted) if counted else {}
        told.write(good=good, file=str(output), fault=received.fault, unmet=received.unmet, **facts)
    if not good:
        raise typer.Exit(1)
