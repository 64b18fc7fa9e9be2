"""The options of the commands that judge frames, `recv` and `correct`: `JudgingOptions` of the receiver."""

import functools
import inspect
from typing import Annotated, Any, Literal

import typer

from framelane.base.errors import OptionError
from framelane.cli.file_options import Command, shown

PANEL = "What becomes of the frames"


def _asked(kind: Any, said: str) -> Any:
    """An option, None where it is not given."""
    return Annotated[kind | None, typer.Option(help=said, rich_help_panel=PANEL)]


_OPTIONS = {
    "threshold": _asked(
        int, "Photons (or keV, if the images are in keV) that a peak's pixel must reach; default 20, for Bragg peaks 5."
    ),
    "minimum_peaks": _asked(int, "Reject frames with fewer peaks."),
    "peaks": _asked(
        Literal["pixels", "bragg"],
        "What the veto counts: pixels (default), or Bragg peaks made of such pixels (docs/reference/peaks.md).",
    ),
    "snr": _asked(float, "Signal-to-noise ratio that a Bragg peak's pixels must reach; default 6."),
    "keep_rejected": _asked(float, "Keep this share of the rejected frames anyway, 0 to 1."),
    "keep_seed": _asked(int, "Seed of the draw of those frames; default 0."),
    "ladder": _asked(str, "Thresholds for framelane whatif, 5,10,20 for example; default powers of two."),
    "sparse": _asked(int, "Also write, as sparse rows, the pixels of at least so many photons (or keV)."),
}


def takes_judging(command: Command) -> Command:
    """Give the command these options in the place of its `judging`, which gets what `JudgingOptions` takes."""

    @functools.wraps(command)
    def with_judging(**given: Any) -> None:
        judging = {name: given.pop(name) for name in _OPTIONS}
        if judging["ladder"] is not None:
            judging["ladder"] = _thresholds(judging["ladder"])
        command(**given, judging=judging)

    parameters: list[inspect.Parameter] = []
    for each in inspect.signature(command).parameters.values():
        kind = inspect.Parameter.KEYWORD_ONLY
        if each.name == "judging":
            parameters += [inspect.Parameter(name, kind, default=None, annotation=of) for name, of in _OPTIONS.items()]
        else:
            parameters.append(each)
    return shown(with_judging, parameters)


def _thresholds(text: str) -> tuple[int, ...]:
    """Those of a ladder as people write them, "5,10,20"; none of an empty text. OptionError for others."""
    try:
        return tuple(map(int, text.split(","))) if text else ()
    except ValueError:
        raise OptionError(
            "{ladder} {0} is not a list of thresholds: give whole numbers with commas, as 5,10,20", text
        ) from None
