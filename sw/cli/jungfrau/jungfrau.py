"""`framelane jungfrau`: packets of the real detector, or of one that is simulated. See `_main` for imports."""

from pathlib import Path
from typing import Annotated

import typer

from framelane.cli.force import Force
from framelane.cli.terminal import Terminal
from framelane.cli.told import Json, Told

app = typer.Typer(help="Record the packets of a real JUNGFRAU, or send those of a simulated one.", no_args_is_help=True)

Modules = Annotated[int, typer.Option(min=1, max=64, help="Modules of the detector.")]
Interfaces = Annotated[
    int, typer.Option(min=1, max=2, help="Interfaces on which each module sends; with 2, half of its rows on each.")
]

_DARK = "HDF5 file with raw frames without light, {0}, to write."

_STATUS = """Exit status 0: every packet of every frame came.

1: something was lost or refused, or the disk is full, and is said; what came is written.

2: bad input, or no frame came; nothing is written."""


@app.command(epilog=_STATUS)
def record(
    output: Annotated[Path, typer.Option(help="HDF5 file to write.")],
    pcap: Annotated[Path | None, typer.Option(help="Capture to read; default: listen.")] = None,
    host: Annotated[str, typer.Option(help="Address of this machine to listen on.")] = "0.0.0.0",
    port: Annotated[
        list[int] | None, typer.Option(help="UDP port: the first of consecutive ones (50001), or each of them.")
    ] = None,
    modules: Modules = 1,
    interfaces: Interfaces = 1,
    frames: Annotated[int | None, typer.Option(help="Stop after so many frames.")] = None,
    compress: Annotated[
        bool,
        typer.Option("--compress", help="Compress by bitshuffle and LZ4: a quarter less data, less than half as fast."),
    ] = False,
    json: Json = None,
    force: Force = False,
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
        force=force,
    )
    told = Told(json, "jungfrau record", inputs=[pcap, output], force=force)
    if not run(options, Terminal(), told):
        raise typer.Exit(1)


@app.command()
def send(
    host: Annotated[str, typer.Argument(help="Name or address of the receiver.")],
    port: Annotated[int, typer.Option(help="UDP port of the first interface; those of the others follow.")] = 50001,
    modules: Modules = 1,
    interfaces: Annotated[
        int | None,
        typer.Option(help="Interfaces on which each module sends its share of the rows: 1 or 2; default 1."),
    ] = None,
    detector: Annotated[
        str | None,
        typer.Option(
            help="Another detector: a TOML file that describes its packets (docs/detectors/packets.md), or eiger, "
            "example. Its images are random counts."
        ),
    ] = None,
    size: Annotated[
        int | None, typer.Option(help="Bytes of a packet, where the detector has several: 8240 or 4144.")
    ] = None,
    frames: Annotated[int | None, typer.Option(help="Frames to send; default until Ctrl-C.")] = None,
    rate: Annotated[float, typer.Option(help="Frames per second.")] = 100.0,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the simulated detector.")] = 1,
    calibration: Annotated[Path | None, typer.Option(help="HDF5 file to write its calibration to.")] = None,
    force: Force = False,
) -> None:
    """Send the packets of a simulated detector, to try a recorder. After 8 frames the same images come again."""
    from framelane.cli.jungfrau.jungfrau_send import SendOptions, run

    run(
        SendOptions(
            host=host,
            port=port,
            modules=modules,
            interfaces=interfaces,
            detector=detector,
            size=size,
            frames=frames,
            rate=rate,
            seed=seed,
            calibration=calibration,
            force=force,
        ),
        Terminal(),
    )


@app.command()
def simulate(
    dark_g0: Annotated[Path | None, typer.Option(help=_DARK.format("in G0"))] = None,
    dark_g1: Annotated[Path | None, typer.Option(help=_DARK.format("forced to G1"))] = None,
    dark_g2: Annotated[Path | None, typer.Option(help=_DARK.format("forced to G2"))] = None,
    gain_maps: Annotated[
        list[Path] | None, typer.Option(help="gainMaps_M*.bin of a module; once for each, in module order.")
    ] = None,
    exposed: Annotated[Path | None, typer.Option(help="HDF5 file with raw frames of a crystal's diffraction.")] = None,
    truth: Annotated[
        Path | None, typer.Option(help="HDF5 file with the true calibration, and the photons of the exposed frames.")
    ] = None,
    modules: Modules = 1,
    frames: Annotated[int, typer.Option(help="Frames of each dark run; 1 MB for each module and frame.")] = 1000,
    exposed_frames: Annotated[int, typer.Option(help="Frames of --exposed.")] = 20,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the simulated detector.")] = 1,
    energy: Annotated[float, typer.Option(help="Energy of a photon, keV.")] = 12.4,
    noise: Annotated[tuple[float, float, float], typer.Option(help="Rms of a pixel in G0, G1, G2, ADU.")] = (
        24.0,
        3.0,
        3.0,
    ),
    pedestal_spread: Annotated[
        tuple[float, float, float], typer.Option(help="Spread of the pixels' pedestals in G0, G1, G2: rms, ADU.")
    ] = (225.0, 150.0, 165.0),
    gain_spread: Annotated[float, typer.Option(help="Spread of the pixels' gains: rms, relative.")] = 0.025,
    dead: Annotated[int, typer.Option(help="Pixels of a module that always read the same.")] = 20,
    noisy: Annotated[int, typer.Option(help="Pixels of a module with 20 times the noise.")] = 20,
    stuck: Annotated[int, typer.Option(help="Pixels of a module that always read G1.")] = 130,
    force: Force = False,
) -> None:
    """Simulate dark runs, gain maps and exposed frames, to rehearse a calibration (docs/howto/calibration.md).

    The detector is that of `framelane jungfrau send` with the same seed, but for its dead and noisy pixels.
    """
    from framelane.cli.jungfrau.jungfrau_simulate import SimulateOptions, run
    from framelane.models.jungfrau.jf_detector import DetectorConfig

    config = DetectorConfig(
        modules=modules,
        seed=seed,
        photon_energy_kev=energy,
        noise_adu=noise,
        pedestal_spread_adu=pedestal_spread,
        gain_spread=gain_spread,
        dead=dead,
        noisy=noisy,
        stuck_in_g1=stuck,
        dark_period=0,
    )
    options = SimulateOptions(
        detector=config,
        darks=(dark_g0, dark_g1, dark_g2),
        gain_maps=gain_maps or [],
        exposed=exposed,
        truth=truth,
        frames=frames,
        exposed_frames=exposed_frames,
        force=force,
    )
    run(options, Terminal())
