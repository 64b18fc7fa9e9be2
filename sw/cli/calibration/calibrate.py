"""`framelane calibration`: make a calibration and look into one. What the commands do is imported when it is needed."""

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from framelane.cli.force import Force
from framelane.cli.terminal import Terminal

app = typer.Typer(help="Make the calibration of a JUNGFRAU, and look into one.", no_args_is_help=True)

_DARK = "HDF5 file with raw frames without light, {0}."


@app.command()
def make(
    gain_maps: Annotated[list[Path], typer.Option(help="gainMaps_M*.bin of a module; once for each, in module order.")],
    energy: Annotated[float, typer.Option(help="Energy of a photon, keV.")],
    output: Annotated[Path, typer.Option(help="HDF5 file to write.")],
    dark_g0: Annotated[Path | None, typer.Option(help=_DARK.format("in G0"))] = None,
    dark_g1: Annotated[Path | None, typer.Option(help=_DARK.format("forced to G1"))] = None,
    dark_g2: Annotated[Path | None, typer.Option(help=_DARK.format("forced to G2"))] = None,
    dark_hg0: Annotated[Path | None, typer.Option(help=_DARK.format("in high gain (HG0)"))] = None,
    pedestals: Annotated[
        Path | None,
        typer.Option(help="Pedestals of the stages without a dark run: of jungfrau_utils, or an older calibration."),
    ] = None,
    dataset: Annotated[
        str | None, typer.Option(help="Dataset of the raw frames; found, if not given (docs/howto/calibration.md).")
    ] = None,
    min_frames: Annotated[int, typer.Option(help="Frames that a run and a pixel need in their stage.")] = 10,
    max_wrong: Annotated[float, typer.Option(help="Share of a pixel's words that may be of another stage.")] = 0.01,
    max_noise: Annotated[float, typer.Option(help="Largest rms of a pixel, in medians of its module.")] = 4.0,
    max_offset: Annotated[float, typer.Option(help="Largest distance from the module's median pedestal, ADU.")] = 2000,
    mask_bad_gains: Annotated[
        bool, typer.Option("--mask-bad-gains", help="Mask pixels whose gain is not finite, 0 or of the wrong sign.")
    ] = False,
    bad_module: Annotated[
        list[int] | None, typer.Option(help="Module that is not used, from 0: all its pixels are masked.")
    ] = None,
    geometry: Annotated[
        str | None, typer.Option(help="Geometry that the modules have to fit; those that it masks are not used.")
    ] = None,
    force: Force = False,
) -> None:
    """Make a calibration from dark runs of each stage and the gain maps of each module (docs/howto/calibration.md)."""
    from framelane.base.output import check_free, check_no_input
    from framelane.base.progress import Stages, say
    from framelane.calibration import DarkLimits, Stage, make_calibration
    from framelane.cli.calibration import calibration_show
    from framelane.files.linked_files import with_linked
    from framelane.receiver import read_geometry

    runs = {Stage.G0: dark_g0, Stage.G1: dark_g1, Stage.G2: dark_g2, Stage.HG0: dark_hg0}
    darks = {stage: path for stage, path in runs.items() if path is not None}
    limits = DarkLimits(min_frames=min_frames, max_wrong=max_wrong, max_noise=max_noise, max_offset_adu=max_offset)
    detector = read_geometry(geometry) if geometry else None
    others = [path for path in (pedestals, Path(geometry) if geometry else None) if path]
    check_no_input(output, with_linked([*gain_maps, *darks.values(), *others]))
    check_free(output, force=force)
    console = Terminal()
    with Stages(console) as stages:
        made = make_calibration(
            gain_maps,
            energy,
            darks,
            pedestals=pedestals,
            dataset=dataset,
            limits=limits,
            mask_bad_gains=mask_bad_gains,
            bad_modules=bad_module or (),
            geometry=detector,
            progress=stages.show,
        )
        stages.show(f"writing {output}", 0, 0)
        made.write(output, command=shlex.join(["framelane", *sys.argv[1:]]), force=force)
    if made.high_gain is None and Stage.HG0 in made.stages:
        say(console, f"{pedestals} has HG0, the gain maps have not: there is no calibration of the high gain")
    calibration_show.run(output, console)


@app.command()
def show(file: Annotated[Path, typer.Argument(help="HDF5 file with a calibration.")]) -> None:
    """Print a calibration stage by stage: medians, masked pixels by reason, and where it comes from."""
    from framelane.cli.calibration.calibration_show import run

    run(file, Terminal())
