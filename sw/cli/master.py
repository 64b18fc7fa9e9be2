"""`framelane master`: one file over those of several receivers."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from framelane.cli.file_options import takes_metadata
from framelane.cli.force import Force

if TYPE_CHECKING:
    from framelane.receiver import Metadata

STATUS = """Exit status 0: all files are in it.

2: a file is missing, damaged or of another run, and one sentence says which; nothing is written."""


@takes_metadata
def master(
    output: Annotated[Path, typer.Argument(help="HDF5 file to write.")],
    files: Annotated[list[Path], typer.Argument(help="Files that framelane recv has written, in the order of ranks.")],
    metadata: "Metadata",
    force: Force = False,
) -> None:
    """Link the files of several receivers as one run, in the order of the detector's frame numbers.

    As `framelane recv` under MPI does at its end: for receivers that ran without MPI, or whose rank 0 was killed. Files
    of other settings, and those that have the same frame of the detector, are of different runs: they are refused.
    """
    from framelane.base.errors import InputError
    from framelane.base.output import check_no_input
    from framelane.base.progress import say
    from framelane.cli.terminal import Terminal
    from framelane.files.linked_files import with_linked
    from framelane.receiver.geometry.redescribe import redescribing
    from framelane.receiver.sinks.master_file import Part, write_master

    check_no_input(output, with_linked([*files, *metadata.files]))
    for path in files:
        if not path.is_file():
            raise InputError(f"{path}: {'it is not a file' if path.exists() else 'no such file'}: give files of a run")
    mended = redescribing(metadata) if metadata.given else None
    made = write_master(output, [Part(path) for path in files], whole=True, redescribe=mended, force=force)
    say(Terminal(), f"see {output}, of {made.frames} frames")
