"""What a check of the host finds: one line each, good or bad."""

from dataclasses import dataclass
from enum import Enum


class Level(Enum):
    """How bad it is. A `FAULT` makes the exit status 1."""

    OK = "ok"
    NOTE = "note"
    """Worth knowing; normal with some receivers."""
    WARNING = "warning"
    FAULT = "fault"


@dataclass(frozen=True, slots=True)
class HostFinding:
    """The outcome of one check: `check` is its name, `text` says what is there, `advice` what to do about it."""

    check: str
    level: Level
    text: str
    advice: str = ""


def good(check: str, text: str) -> HostFinding:
    """All is well."""
    return HostFinding(check, Level.OK, text)


def note(check: str, text: str, advice: str) -> HostFinding:
    """It is normal in the cases that `advice` names."""
    return HostFinding(check, Level.NOTE, text, advice)


def warning(check: str, text: str, advice: str) -> HostFinding:
    """It may work, or only with another transport."""
    return HostFinding(check, Level.WARNING, text, advice)


def fault(check: str, text: str, advice: str) -> HostFinding:
    """It cannot work."""
    return HostFinding(check, Level.FAULT, text, advice)
