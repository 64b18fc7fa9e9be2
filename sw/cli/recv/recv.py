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
            help="A UDP socket, AF_PACKET on an interface (as root), RDMA hardware or SoftRoCE, a board on PCIe in "
            "this host, or a detector's own packets: a JUNGFRAU's, or those that --detector describes.",
            rich_help_panel=_LIVE,
        ),
    ] = None,
    plan: Annotated[
        Path | None,
        typer.Option(help="TOML file: of what kind a new session is (docs/howto/receiving.md).", rich_help_panel=_LIVE),
    ] = None,
    publish: Annotated[
        Path | None, typer.Option(help="Write the new session to this file.", rich_help_panel=_LIVE)
    ] = None,
    link_port: Annotated[
        int | None,
        typer.Option(help="TCP port that tells sources session and credit; 0: any free one.", rich_help_panel=_LIVE),
    ] = None,
    link_tls: Annotated[
        bool,
        typer.Option(
            help="Encrypt the link by TLS, where it crosses other networks; as before, with --session.",
            rich_help_panel=_LIVE,
        ),
    ] = False,
    max_rate: Annotated[
        float | None,
        typer.Option(
            help="Frames per second that a source can offer at most: give twice the detector's. 1,000,000, if not "
            "given. Reports of more are refused.",
            rich_help_panel=_LIVE,
        ),
    ] = None,
    ring: Annotated[
        Literal["host", "gpu"] | None,
        typer.Option(
            help="Memory that the RDMA device writes to; gpu: with --gpu, by GPUDirect RDMA. The host's, if not given.",
            rich_help_panel=_LIVE,
        ),
    ] = None,
    free_running: Annotated[
        bool, typer.Option(help="Give credit for ever: slots may be overwritten.", rich_help_panel=_LIVE)
    ] = False,
    interface: Annotated[
        str | None, typer.Option(help="To receive on, with --transport packet.", rich_help_panel=_LIVE)
    ] = None,
    port: Annotated[
        list[int] | None,
        typer.Option(
            help="UDP port; 4791 with --transport udp, if not given. Of a detector that of the first interface (50001, "
            "if not given), the others follow; or one for each.",
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
        int | None, typer.Option(help="Of the detector; 1, if not given.", rich_help_panel=_DETECTOR)
    ] = None,
    interfaces: Annotated[
        int | None,
        typer.Option(
            help="On which a module sends: of a JUNGFRAU 1 or 2. If not given, as it is described first; 1.",
            rich_help_panel=_DETECTOR,
        ),
    ] = None,
    host: Annotated[
        str | None,
        typer.Option(help="IPv4 address to which it sends; any, if not given.", rich_help_panel=_DETECTOR),
    ] = None,
    slots: Annotated[
        int | None,
        typer.Option(help="Frames that the ring holds; 64, if not given.", rich_help_panel=_DETECTOR),
    ] = None,
    device: Annotated[
        str | None,
        typer.Option(
            help="RDMA device, with --transport verbs; else it is found. With --transport pcie the address of the "
            "board's PCI device (0000:03:00.0), or sim: a simulated one that sends --frames frames, 10 if not given.",
            rich_help_panel=_LIVE,
        ),
    ] = None,
    gid_index: Annotated[
        int | None,
        typer.Option(
            help="Index of the RDMA device's GID, where several are of the receiver's address.", rich_help_panel=_LIVE
        ),
    ] = None,
    polling: Annotated[
        bool,
        typer.Option(
            help="A core looks all the time for what the RDMA device has completed: lower latency, else it sleeps.",
            rich_help_panel=_LIVE,
        ),
    ] = False,
    huge_pages: Annotated[
        bool, typer.Option(help="Keep the ring in huge pages that are reserved.", rich_help_panel=_LIVE)
    ] = False,
    frames: Annotated[
        int | None, typer.Option(help="End after so many frames, or a few more.", rich_help_panel=_LIVE)
    ] = None,
    idle: Annotated[
        float | None, typer.Option(help="End when nothing has come for so many seconds.", rich_help_panel=_LIVE)
    ] = None,
    calibration: Annotated[
        Path | None,
        typer.Option(help="HDF5 file; without, raw words are kept. Corrected images take none.", rich_help_panel=PANEL),
    ] = None,
    gpu: Annotated[
        bool, typer.Option("--gpu", help="Frames are corrected and judged by a GPU.", rich_help_panel=PANEL)
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
        typer.Option(
            help="Every so many frames of the detector one is dark: track the pedestal.", rich_help_panel=PANEL
        ),
    ] = None,
    dark_phase: Annotated[
        int | None,
        typer.Option(help="The dark frame of a period, from 0; else the last.", rich_help_panel=PANEL),
    ] = None,
    gain_mode: Annotated[
        Literal["normal", "hg0"] | None,
        typer.Option(help="Of the detector; needed where --calibration has both.", rich_help_panel=PANEL),
    ] = None,
    stream: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ADDRESS[,OPTION...]",
            help="Send frames to other programs, too, as they come: tcp://HOST:PORT, and all, accepted or newest, push "
            "or pub, every=N, rate=HZ, reduce=N, queue=N (docs/serve/streams.md). May be given several times.",
        ),
    ] = None,
    json: Json = None,
    force: Force = False,
) -> None:
    """Receive frames, live or from a capture: correct them, judge them and write them to a file.

    From the wire it ends with --frames, --idle, when all sources have told their end by the link, or with Ctrl-C: what
    has arrived is written.
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
