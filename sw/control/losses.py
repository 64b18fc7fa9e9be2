"""The first frame of a run that was lost, or lost pixels, by what the service has counted and kept of its frames."""

from collections.abc import Sequence
from typing import Any

from framelane.base.errors import FramelaneError

Json = dict[str, Any]
_WHOLE = ("missing", "dropped_at_source", "dropped_by_host", "wrong_size")
"""Fates of frames of which nothing is in the file."""


class LostFrame(FramelaneError):
    """A frame did not come, or not with all of its pixels. The message names the first one."""


def losses(loss: Json, *, holes: bool = True) -> int:
    """How many frames are lost by a loss identity of the service; with `holes` those that lack pixels count, too."""
    return sum(int(loss[name]) for name in (*_WHOLE, *(["incomplete"] if holes else [])))


def first_lost(loss: Json, records: Sequence[Json], *, holes: bool = True) -> str:
    """What was lost first, as a sentence; `records` are those of the run's newest frames, in order.

    A frame that was dropped before it was sent has no number of the receiver's, but leaves a gap in the detector's.
    """
    before: Json | None = None
    for record in records:
        gap = _gap(before, record, loss["missing"])
        if gap:
            return gap
        if holes and not record["complete"]:
            return f"{_name(record)} came without {record['holes']} of its pixels"
        before = record
    counts = ", ".join(f"{loss[name]} {name.replace('_', ' ')}" for name in ("incomplete", *_WHOLE) if loss[name])
    after = f", after {_name(before)}" if before else ""
    return f"of {loss['sent']} frames {counts}{after}"


def _name(record: Json) -> str:
    detector = record["detector_frame"]
    return f"frame {record['number']}" + (f" (the detector's {detector})" if detector is not None else "")


def _gap(before: Json | None, record: Json, missing: int) -> str:
    """What is missing before a record, behind the one `before`: a run may begin with other frames than 0."""
    number, detector = record["number"], record["detector_frame"]
    if before is None:
        return f"frame 0 did not come: the first one is {_name(record)}" if 0 < number <= missing else ""
    if number > before["number"] + 1:
        return f"frame {before['number'] + 1} did not come: the next one is {_name(record)}"
    earlier = before["detector_frame"]
    if earlier is None or detector is None or detector <= earlier + 1:
        return ""
    return f"the detector's frame {earlier + 1} was dropped before it was sent: {_name(record)} is the next one"
