"""What `framelane whatif` says: the recorded verdicts, those of another veto, and which frames change."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich import box
from rich.console import Console
from rich.table import Table

from framelane.base.progress import say
from framelane.receiver import Reason, VetoReplay
from framelane.receiver.pipeline.random_share import RandomShare
from framelane.receiver.pipeline.veto import Veto
from framelane.receiver.sinks.verdict_file import VerdictFile
from framelane.receiver.sinks.what_if import Verdicts

_MOST_NAMED = 20
_WORDS = {
    Reason.ENOUGH_PEAKS: "accepted: enough peaks",
    Reason.HAS_HOLES: "accepted: pixels are missing",
    Reason.KEPT_AT_RANDOM: "accepted: kept at random",
    Reason.TOO_FEW_PEAKS: "rejected: too few peaks",
}


def show(replay: VetoReplay, console: Console) -> None:
    """Print it."""
    record, new, veto, share = replay.record, replay.verdicts, replay.veto, replay.share
    say(console, f"recorded: {_rule(Veto(record.threshold, record.minimum), record.share, record)}")
    say(console, f"what if:  {_rule(veto, share, record)}")
    say(console, f"numbers:  {_numbers(record)}")
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for name in ("frames", "recorded", "what if"):
        table.add_column(name, justify="left" if name == "frames" else "right")
    for reason, words in _WORDS.items():
        then = np.count_nonzero(new.known & (new.reasons == reason))
        table.add_row(words, str(np.count_nonzero(record.reasons == reason)), str(then))
    if not new.exact:
        table.add_row("cannot be told", "0", str(np.count_nonzero(~new.known)))
    console.print(table)
    for line in (*_changes(replay), *_doubt(record, new, veto)):
        say(console, line)


def facts(replay: VetoReplay) -> dict[str, Any]:
    """The same for machines; numbers of frames are their places in the file's order, from 0."""
    record, new = replay.record, replay.verdicts
    counted = {
        reason.name: {
            "recorded": int(np.count_nonzero(record.reasons == reason)),
            "what_if": int(np.count_nonzero(new.known & (new.reasons == reason))),
        }
        for reason in _WORDS
    }
    return {
        "recorded": {"threshold": record.threshold, "minimum_peaks": record.minimum},
        "what_if": {"threshold": replay.veto.threshold, "minimum_peaks": replay.veto.minimum},
        "frames": len(record.reasons),
        "reasons": counted,
        "unknown": np.flatnonzero(~replay.known).tolist(),
        "gained": np.flatnonzero(replay.gained).tolist(),
        "lost": np.flatnonzero(replay.lost).tolist(),
    }


def _rule(veto: Veto, share: RandomShare | None, record: VerdictFile) -> str:
    kept = f", {share.share:g} of the others kept (seed {share.seed})" if share and share.share else ""
    what = "Bragg peaks with pixels" if record.judged_by == "bragg_peaks" else "pixels"
    return f"at least {veto.minimum} {what} of at least {veto.threshold} {record.unit}{kept}"


def _numbers(record: VerdictFile) -> str:
    """What frames are named by."""
    if not record.linked:
        return "frame_number, the receiver's own"
    return f"detector_frame, the detector's own{', or rank:frame_number' if record.unnamed.any() else ''}"


def _changes(replay: VetoReplay) -> list[str]:
    record, gained, lost = replay.record, replay.gained, replay.lost
    lines = [
        f"{gained.sum()} frames would be accepted that were rejected{_named(record, gained)}",
        f"{lost.sum()} frames would be rejected that were accepted{_named(record, lost)}",
    ]
    return [*lines, "the images of rejected frames are not in the file"] if gained.any() else lines


def _named(record: VerdictFile, chosen: NDArray[np.bool_]) -> str:
    frames = np.flatnonzero(chosen).tolist()
    more = ", ..." if len(frames) > _MOST_NAMED else ""
    return f": {', '.join(map(record.name, frames[:_MOST_NAMED]))}{more}" if frames else ""


def _doubt(record: VerdictFile, new: Verdicts, veto: Veto) -> list[str]:
    """Why some verdicts are not known, where the threshold was not recorded."""
    if new.exact:
        return []
    recorded = ", ".join(map(str, sorted(record.counts)))
    sides = [f"from {new.below} on" if new.below else "", f"from {new.above} on" if new.above else ""]
    counts = " and ".join(filter(None, sides))
    lines = [
        f"pixels of at least {veto.threshold} {record.unit} were not counted, but of {recorded}: "
        f"the counts {counts} tell {new.known.sum()} of {len(new.known)} verdicts"
    ]
    return lines if new.known.all() else [*lines, f"frames that they do not tell{_named(record, ~new.known)}"]
