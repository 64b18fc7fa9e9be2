"""`framelane whatif`, the command; what it prints is made in `what_if_table`."""

from pathlib import Path
from typing import Annotated

import typer

from framelane.cli.force import Force
from framelane.cli.told import Json, Told

STATUS = """Exit status 0: every verdict is known.

1: the threshold was not recorded, and some verdicts cannot be told.

2: bad input, one sentence says what."""


def whatif(
    file: Annotated[Path, typer.Argument(help="HDF5 file that framelane recv has written.")],
    minimum_peaks: Annotated[
        int | None, typer.Option(help="Reject frames with fewer peaks; as the run did, if not given.")
    ] = None,
    threshold: Annotated[
        int | None,
        typer.Option(help="Photons or keV from which a pixel is a peak; as the run did, if not given."),
    ] = None,
    keep_rejected: Annotated[
        float | None, typer.Option(help="Share of the rejected frames that is kept; as the run did, if not given.")
    ] = None,
    keep_seed: Annotated[int | None, typer.Option(help="Seed of the draw; default: as in the run.")] = None,
    json: Json = None,
    force: Force = False,
) -> None:
    """Judge the frames of a file again, by its record: which would another veto have accepted, and rejected?"""
    from framelane.cli.terminal import Terminal
    from framelane.cli.what_if_table import facts, show
    from framelane.receiver import replay_veto

    told = Told(json, "whatif", inputs=[file], force=force)
    replay = replay_veto(
        file, minimum_peaks=minimum_peaks, threshold=threshold, keep_rejected=keep_rejected, keep_seed=keep_seed
    )
    show(replay, Terminal())
    good = bool(replay.known.all())
    told.write(good=good, file=str(file), **facts(replay))
    if not good:
        raise typer.Exit(1)
