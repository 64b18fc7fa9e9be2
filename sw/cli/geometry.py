"""`framelane geometry`: geometries for other programs. What the commands do is imported when it is needed."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from framelane.cli.file_options import takes_metadata
from framelane.cli.force import Force

if TYPE_CHECKING:
    from framelane.receiver import Metadata

app = typer.Typer(help="The geometry of a detector, for other programs.", no_args_is_help=True)


@app.callback()
def _root() -> None:
    pass


@app.command()
@takes_metadata
def export(
    output: Annotated[Path, typer.Argument(help="File to write: name.geom for CrystFEL, name.poni for pyFAI.")],
    metadata: "Metadata",
    images: Annotated[
        Literal["assembled", "stacked"],
        typer.Option(help="Images of framelane correct --geometry, or frames as they come, module above module."),
    ] = "assembled",
    unit: Annotated[
        Literal["photons", "keV"], typer.Option(help="Unit of the values in images; for CrystFEL.")
    ] = "photons",
    force: Force = False,
) -> None:
    """Write where the pixels are, for CrystFEL or pyFAI.

    Needed are --geometry, --distance, --beam-x, --beam-y, and --energy or --wavelength.
    """
    from framelane.base.errors import OptionError
    from framelane.base.progress import say
    from framelane.cli.terminal import Terminal
    from framelane.receiver import export_geometry

    if metadata.geometry is None:
        raise OptionError("nothing says where the modules are: give {geometry}")
    written = export_geometry(output, metadata.geometry, metadata, images=images, unit=unit, force=force)
    say(Terminal(), f"see {' and '.join(map(str, written))}")
