"""The state of a service, and the file that has it when the service starts anew."""

import json
import threading
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from framelane.base.claim import Claim, json_with
from framelane.base.documents import read_text
from framelane.base.errors import InputError
from framelane.base.part_file import PartFile
from framelane.base.validation import sentence
from framelane.serve.configuration import Configuration

FILE = "serve.json"
FORMAT: Literal["framelane-serve-1"] = "framelane-serve-1"


class State(StrEnum):
    """What a service does."""

    IDLE = "idle"
    """Nothing is configured, or nothing was armed yet."""
    ARMED = "armed"
    """Frames that come now are taken; none has come, and the board, if there is one, does not send."""
    RUNNING = "running"
    """Frames come, or may: it was started."""
    ENDED = "ended"
    """The last run came to its end; its file is closed."""
    ERROR = "error"
    """The last run could not begin, or ended early; what came is in its file."""


class Known(BaseModel):
    """What the file says."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    format: Literal["framelane-serve-1"] = FORMAT
    state: State = State.IDLE
    run: int = 0
    """Number of the newest run, from 1."""
    file: str | None = None
    """The file of its frames, in the folder of this file."""
    said: str = ""
    """What is to be known of the state, in a sentence."""
    configuration: Configuration | None = None


class StateFile:
    """`serve.json` in a folder, which belongs to one service as long as that lives. InputError where that is not so."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE
        self._lock = threading.Lock()
        kind = json_with("a state of a service", "state", format=FORMAT)
        try:
            self._claim = Claim(self.path, kind=kind, renews=True)
        except InputError as error:
            raise InputError(f"{folder} cannot be the folder of a service: {error}") from error

    def read(self) -> Known:
        """What was written last; of a new service where there is none. InputError where it is damaged."""
        if not self.path.is_file() or not self.path.stat().st_size:
            return Known()
        text = read_text(self.path, "state of the service")
        try:
            return Known.model_validate(json.loads(text))
        except ValidationError as error:
            raise InputError(
                f"{self.path} is not usable: {sentence(error, Known)}: move it away to begin anew"
            ) from error
        except (ValueError, RecursionError) as error:
            raise InputError(f"{self.path} is not JSON: {error}: move it away to begin anew") from error

    def write(self, known: Known) -> None:
        """Put this in its place; it is on the disk then, whole. InputError where the disk is full."""
        document: dict[str, Any] = known.model_dump(mode="json", exclude_none=True)
        with self._lock, PartFile(self._claim, 0o600) as part:
            try:
                part.path.write_text(json.dumps(document, indent=2) + "\n")
            except OSError as error:
                raise InputError(f"cannot write {self.path}: {error.strerror}") from error

    def close(self) -> None:
        """Let another service have it."""
        self._claim.release()
