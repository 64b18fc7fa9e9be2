"""Where the numbers of a calibration come from."""

import hashlib
import os
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from framelane import __version__
from framelane.base.documents import open_regular
from framelane.base.errors import InputError


@dataclass(frozen=True, slots=True)
class Source:
    """A file that went into a calibration."""

    role: str
    """What was taken from it: "dark run of G0", say."""
    name: str
    """Its name, without the folder."""
    sha256: str
    """SHA-256 of the file, in hexadecimal."""
    size: int
    """Bytes."""
    modified: str
    """When it was last written: UTC, ISO 8601."""
    begun: str = ""
    """When its recording began, ISO 8601; empty where it does not say."""
    frames: int = 0
    """Frames in it; 0 where it holds none."""
    used: int = 0
    """Frames that were averaged: of the module with the fewest."""

    @classmethod
    def of(cls, path: Path, role: str, begun: str = "", frames: int = 0, used: int = 0) -> "Source":
        """The same of a file, which is read wholly. InputError where it cannot be read."""
        try:
            with open_regular(path, "file") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
                status = os.fstat(file.fileno())
        except OSError as error:
            raise InputError(f"cannot read {path}: {error.strerror}: give another file") from error
        return cls(role, path.name, digest, status.st_size, _iso(status.st_mtime), begun, frames, used)


@dataclass(frozen=True, slots=True)
class Provenance:
    """How a calibration was made."""

    command: str
    """The command line."""
    version: str
    """The version of framelane."""
    created: str
    """UTC, ISO 8601."""
    sources: tuple[Source, ...]

    @classmethod
    def now(cls, command: str, sources: tuple[Source, ...]) -> "Provenance":
        """The provenance of what this version makes at this moment."""
        return cls(command, __version__, _iso(datetime.now(UTC).timestamp()), sources)


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
