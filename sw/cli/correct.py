"""`framelane correct`, the command. See `_main` for imports."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from framelane.cli.file_options import takes_file_options
from framelane.cli.force import Force
from framelane.cli.judging import takes_judging
from framelane.cli.told import Json, Told, reasons_of

if TYPE_CHECKING:
    from framelane.receiver import FileOptions

STATUS = """Exit status 0: all frames were corrected.

2: bad input, one sentence says what; nothing is written."""


@takes_file_options
@takes_judging
def correct(
    input: Annotated[Path, typer.Option(help="HDF5 file with raw frames, of the kinds in docs/howto/calibration.md.")],
    calibration: Annotated[Path, typer.Option(help="HDF5 file with the calibration.")],
    output: Annotated[Path, typer.Option(help="HDF5 file to write.")],
    options: "FileOptions",
    *,
    geometry: Annotated[
        str | None, typer.Option(help="jungfrau_4m, or a file (docs/howto/geometry.md): assemble images.")
    ] = None,
    double_pixels: Annotated[
        Literal["keep", "mask", "split"] | None, typer.Option(help="At chip borders, in assembled images; else keep.")
    ] = None,
    output_type: Annotated[
        Literal["int16", "float32"] | None, typer.Option(help="Whole numbers with codes, or not; int16, if not given.")
    ] = None,
    unit: Annotated[Literal["photons", "keV"], typer.Option(help="Unit of the values.")] = "photons",
    gain_mode: Annotated[
        Literal["normal", "hg0"] | None,
        typer.Option(help="Gain mode of the frames; needed if --calibration has both and the frames do not say it."),
    ] = None,
    dataset: Annotated[str | None, typer.Option(help="Dataset of the raw frames; found, if not given.")] = None,
    judging: dict[str, Any],
    json: Json = None,
    force: Force = False,
) -> None:
    """Correct recorded raw frames, assemble the modules into images of the detector, and judge these as recv does."""
    from framelane.base.progress import Stages, say
    from framelane.cli.recv.summary import verdicts
    from framelane.cli.terminal import Terminal
    from framelane.receiver import JudgingOptions, correct_file

    console = Terminal()
    asked = JudgingOptions(**judging)
    told = Told(json, "correct", inputs=[input, calibration, output], force=force)
    with Stages(console) as stages:
        done = correct_file(
            input,
            calibration,
            output,
            geometry=geometry,
            double_pixels=double_pixels,
            output_type=output_type,
            unit=unit,
            gain_mode=gain_mode,
            dataset=dataset,
            judging=asked,
            options=options,
            force=force,
            progress=stages.show,
        )
    bad = f", {done.left_out} left out whose is_good_frame is 0" if done.left_out else ""
    if asked.minimum_peaks:
        say(console, verdicts(done.reasons))
    say(console, f"{done.corrected} frames corrected{bad}: see {output}")
    facts = {"corrected": done.corrected, "left_out": done.left_out, "reasons": reasons_of(done.reasons)}
    told.write(good=True, file=str(output), **facts)
