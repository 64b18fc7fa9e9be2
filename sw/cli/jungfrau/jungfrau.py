"""`framelane jungfrau`: packets of the real detector, or of one that is simulated. See `_main` for imports."""

from pathlib import Path
from typing import Annotated

import typer

from framelane.cli.terminal import Terminal

app = typer.Typer(help="Record the packets of a real JUNGFRAU, or send those of a simulated one.", no_args_is_help=True)

Modules = Annotated[int, typer.Option(min=1, max=64, help="Modules of the detector.")]
Interfaces = Annotated[int, typer.Option(min=1, max=2, help="On which each sends: with 2, half of its rows on each.")]

_STATUS = """Exit status 0: every packet of every frame came.

1: something was lost or refused, or the disk is full, and is said; what came is written.

2: bad input, or no frame came; nothing is written."""


@app.command(epilog=_STATUS)
def record(
    output: Annotated[Path, typer.Option(help="HDF5 file to write.")],
    pcap: Annotated[Path | None, typer.Option(help="Capture to read; listen if not given.")] = None,
    host: Annotated[str, typer.Option(help="Address of this machine to listen on.")] = "0.0.0.0",
    port: Annotated[
        list[int] | None, typer.Option(help="UDP port: the first of consecutive ones (50001), or each of them.")
    ] = None,
    modules: Modules = 1,
    interfaces: Interfaces = 1,
    frames: Annotated[int | None, typer.Option(help="Stop after so many frames.")] = None,
    compress: Annotated[
        bool, typer.Option("--compress", help="Bitshuffle and LZ4: a quarter less to write, less than half as fast.")
    ] = False,
) -> None:
    """Record raw frames from PSI's UDP packets: live until Ctrl-C, or from a capture.

    Ports: module 0 interface 0, module 0 interface 1, module 1 interface 0, ...
    """
    from framelane.cli.jungfrau.jungfrau_record import RecordOptions, run

    options = RecordOptions(
        output=output,
        pcap=pcap,
        host=host,
        ports=port or [50001],
        modules=modules,
        interfaces=interfaces,
        frames=frames,
        compress=compress,
    )
    if not run(options, Terminal()):
        raise typer.Exit(1)


@app.command()
def send(
    host: Annotated[str, typer.Argument(help="Where to: name or address.")],
    port: Annotated[int, typer.Option(help="UDP port of the first interface; those of the others follow.")] = 50001,
    modules: Modules = 1,
    interfaces: Interfaces = 1,
    frames: Annotated[int | None, typer.Option(help="How many; until Ctrl-C if not given.")] = None,
    rate: Annotated[float, typer.Option(help="Frames per second.")] = 100.0,
    seed: Annotated[int, typer.Option(min=0, help="Of the simulated detector.")] = 1,
    calibration: Annotated[Path | None, typer.Option(help="HDF5 file to write its calibration to.")] = None,
) -> None:
    """Send the packets of a simulated detector, to try a recorder. After 8 frames the same images come again."""
    from framelane.cli.jungfrau.jungfrau_send import SendOptions, run

    run(
        SendOptions(
            host=host,
            port=port,
            modules=modules,
            interfaces=interfaces,
            frames=frames,
            rate=rate,
            seed=seed,
            calibration=calibration,
        ),
        Terminal(),
    )
