"""The options of the commands that judge frames, `recv` and `correct`: `JudgingOptions` of the receiver."""

from typing import Annotated, Literal

import typer

PANEL = "What becomes of the frames"

Threshold = Annotated[
    int | None,
    typer.Option(
        help="Photons, or keV where the images are in keV, from which a pixel is a peak; 20, of Bragg peaks 5.",
        rich_help_panel=PANEL,
    ),
]
MinimumPeaks = Annotated[int | None, typer.Option(help="Reject frames with fewer peaks.", rich_help_panel=PANEL)]
PeaksOf = Annotated[
    Literal["pixels", "bragg"] | None,
    typer.Option(
        help="What the veto counts: pixels, or Bragg peaks of such pixels (docs/peaks.md); else pixels.",
        rich_help_panel=PANEL,
    ),
]
Snr = Annotated[float | None, typer.Option(help="Of a Bragg peak's pixels; 6, if not given.", rich_help_panel=PANEL)]
KeepRejected = Annotated[
    float | None,
    typer.Option(help="Keep this share of the rejected frames all the same, 0 to 1.", rich_help_panel=PANEL),
]
KeepSeed = Annotated[
    int | None, typer.Option(help="Of the draw of those frames; 0, if not given.", rich_help_panel=PANEL)
]
Ladder = Annotated[
    str | None,
    typer.Option(
        help="Thresholds for framelane whatif, as 5,10,20; powers of two, if not given.", rich_help_panel=PANEL
    ),
]
Sparse = Annotated[
    int | None,
    typer.Option(help="Also write pixels of at least so many photons, or keV as above.", rich_help_panel=PANEL),
]
