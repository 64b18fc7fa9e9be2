"""A service and its source, each in a process of its own, and what is asked of the service meanwhile."""

import contextlib
import http.client
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from framelane.base.errors import SimulationError

_PATIENCE_S = 120.0
_STEP_S = 0.1
_COMMAND = [sys.executable, "-m", "framelane"]
_NOWHERE = subprocess.DEVNULL


@dataclass(frozen=True, slots=True)
class Running:
    """A service whose run goes on."""

    process: int
    port: int

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """The answer of its interface, from JSON. SimulationError for what it refuses."""
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=_PATIENCE_S)) as connection:
            data = None if body is None else json.dumps(body)
            connection.request(method, path, data, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            found = json.loads(answer.read())
        if answer.status != 200:
            raise SimulationError(f"the service refuses {method} {path}: {found['detail']}")
        return found

    def loss(self) -> dict[str, int]:
        """The loss identity, up to now."""
        found: dict[str, int] = self.ask("GET", "/api/status")["loss"]
        return found

    def streamed(self) -> dict[str, float]:
        """Frames that were handed to consumers, by the address of the stream."""
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=_PATIENCE_S)) as connection:
            connection.request("GET", "/metrics")
            text = connection.getresponse().read().decode()
        lines = re.findall(
            r'^framelane_stream_frames_total\{address="([^"]+)",fate="sent"\} (\S+)$', text, re.MULTILINE
        )
        return {address: float(count) for address, count in lines}

    def spent_s(self) -> float:
        """Its processor time, in seconds (proc(5), stat)."""
        words = Path(f"/proc/{self.process}/stat").read_text().rpartition(")")[2].split()
        return (int(words[11]) + int(words[12])) / float(os.sysconf("SC_CLK_TCK"))


@contextlib.contextmanager
def running(shape: tuple[int, int], rate_hz: float, streams: list[dict[str, Any]] | None = None) -> Iterator[Running]:
    """A service in an empty folder, with `streams`, and an emulated detector of `shape` (rows, columns) that sends."""
    ends = {"source": "127.0.0.2", "receiver": "127.0.0.1"}
    plan: dict[str, Any] = {"rows": shape[0], "columns": shape[1], "n_slots": 32, "pixels": "corrected"}
    plan |= {end: {"mac": "02:00:00:00:00:01", "ip": ip} for end, ip in ends.items()}
    with (
        tempfile.TemporaryDirectory(prefix="framelane-serve-") as folder,
        _process("serve", folder, "--port", "0", stdout=subprocess.PIPE) as process,
    ):
        assert process.stdout is not None
        line = next((line for line in process.stdout if "serving" in line), "")
        if not line:
            raise SimulationError("the service has ended before it served: run framelane serve to see why")
        service = Running(process.pid, int(line.split("127.0.0.1:")[1].split("/")[0]))
        service.ask("POST", "/api/configure", {"source": {"plan": plan}, "streams": streams or []})
        service.ask("POST", "/api/arm")
        with _process("emulate", "--to", "127.0.0.1", "--rate", str(rate_hz), stdout=_NOWHERE):
            wait(lambda: service.loss()["complete"] >= rate_hz, "no frame comes")
            yield service


@contextlib.contextmanager
def _process(*words: str, stdout: int) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen([*_COMMAND, *words], stdout=stdout, stderr=_NOWHERE, text=True) as process:
        try:
            yield process
        finally:
            process.terminate()


def wait(true: Callable[[], bool], otherwise: str) -> None:
    """Until it is true. SimulationError where it is not for two minutes."""
    end = time.monotonic() + _PATIENCE_S
    while not true():
        if time.monotonic() > end:
            raise SimulationError(f"{otherwise} for {_PATIENCE_S:g} s: run framelane serve to see why")
        time.sleep(_STEP_S)
