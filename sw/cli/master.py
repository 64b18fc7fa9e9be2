"""`framelane master`: one file over those of several receivers."""

from pathlib import Path
from typing import Annotated

import typer

STATUS = """Exit status 0: all files are in it.

1: some are left out, and the sentence says why.

2: bad input, or no file can be used; nothing is written."""


def master(
    output: Annotated[Path, typer.Argument(help="HDF5 file to write.")],
    files: Annotated[list[Path], typer.Argument(help="Files that framelane recv has written, in the order of ranks.")],
) -> None:
    """Link the files of several receivers as one run, in the order of the detector's frame numbers.

    As `framelane recv` under MPI does at its end: for receivers that ran without MPI, or whose rank 0 was killed.
    """
    from framelane.cli.output import check_no_input
    from framelane.cli.stages import say
    from framelane.cli.surroundings import Terminal
    from framelane.models.errors import InputError
    from framelane.receiver.master_file import Part, write_master

    check_no_input(output, files)
    made = write_master(output, [Part(path) for path in files])
    sentences = [f"rank {rank}: {why}" for rank, why in made.left_out.items()]
    if not made.frames:
        raise InputError("; ".join(sentences))
    say(Terminal(), "\n".join([*sentences, f"see {output}, of {made.frames} frames"]))
    if sentences:
        raise typer.Exit(1)
