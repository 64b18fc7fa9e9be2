"""What control systems see of a service, by the same names in EPICS and Tango."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from framelane.control.losses import first_lost, losses
from framelane.serve.client import Client

Json = dict[str, Any]
Value = bool | int | float | str


@dataclass(frozen=True, slots=True)
class Reading:
    """Something that is read: its name, its type, what it is, its unit, and how it comes from a `Look`."""

    name: str
    type: type[Value]
    about: str
    unit: str
    value: "Callable[[Look], Value]"
    length: int = 1024
    """The most characters of a text."""


@dataclass(frozen=True, slots=True)
class Setting:
    """Something that is written: a threshold, by the name that the service has for it, and its least value."""

    name: str
    field: str
    about: str
    least: int
    default: int
    """The run's value if none was given."""

    def value(self, look: "Look") -> int:
        """The present value."""
        found = look.status["thresholds"][self.field]
        return self.default if found is None else int(found)


@dataclass(frozen=True, slots=True)
class Look:
    """What the service says at one moment."""

    status: Json
    statistics: Json
    lost: str
    """The first frame of the run that was lost, or lost pixels; empty where none was."""

    @classmethod
    def at(cls, service: Client) -> "Look":
        """Ask it. ServiceError where it cannot be reached."""
        statistics = service.statistics()
        loss = statistics["loss"]
        lost = first_lost(loss, service.frames(4096)) if losses(loss) else ""
        return cls(service.status(), statistics, lost)


def _status(name: str) -> Callable[[Look], Any]:
    return lambda look: "" if look.status[name] is None else look.status[name]


def _loss(name: str) -> Callable[[Look], Any]:
    return lambda look: look.status["loss"][name]


READINGS = (
    Reading("RunState", str, "idle, armed, running, ended or error", "", _status("state"), 40),
    Reading("Said", str, "what is to be known of the state", "", _status("said")),
    Reading("Doing", str, "the command that the service is busy with", "", _status("doing"), 40),
    Reading("Run", int, "number of the newest run", "", _status("run")),
    Reading("File", str, "its file, in the service's folder", "", _status("file")),
    Reading("Address", str, "where sources of the run find its session", "", _status("address")),
    Reading("FrameRate", float, "over the last two seconds", "frames/s", _status("frames_per_s")),
    Reading("Sent", int, "frames that were sent: the sum of the next six", "frames", _loss("sent")),
    Reading("Complete", int, "with all of their pixels", "frames", _loss("complete")),
    Reading("Incomplete", int, "with holes", "frames", _loss("incomplete")),
    Reading("Missing", int, "that did not come at all", "frames", _loss("missing")),
    Reading("DroppedAtSource", int, "for want of credit", "frames", _loss("dropped_at_source")),
    Reading("DroppedByHost", int, "overwritten while they were read", "frames", _loss("dropped_by_host")),
    Reading("WrongSize", int, "of another size than the session's", "frames", _loss("wrong_size")),
    Reading("LossIdentityHolds", bool, "whether the sum is right", "", _loss("holds")),
    Reading("LostFrame", str, "the first frame that was lost, or lost pixels", "", lambda look: look.lost),
    Reading("Written", int, "frames in the file", "frames", lambda look: int(look.statistics["written"])),
    Reading("RingSlots", int, "slots of the ring", "", _status("slots")),
    Reading("RingSlotsUsed", int, "slots that hold frames", "", _status("slots_used")),
    Reading("Troubles", str, "what is wrong, in sentences", "", lambda look: "; ".join(look.status["troubles"])),
)
SETTINGS = (
    Setting("Threshold", "threshold", "photons (or keV) of a peak", 1, 20),
    Setting("MinimumPeaks", "minimum_peaks", "peaks of a frame that is accepted", 0, 0),
)
COMMANDS = ("Arm", "Start", "Stop", "Abort")


def command(service: Client, name: str) -> None:
    """Do a command, and wait for it. ServiceError where the service refuses."""
    {"Arm": service.arm, "Start": service.start, "Stop": service.stop, "Abort": service.abort}[name]()


def change(service: Client, setting: Setting, value: int) -> None:
    """Change a threshold. ServiceError where the service refuses."""
    service.thresholds(**{setting.field: value})
