"""Frames a second of a `framelane recv` while clients without the token connect to its link, and while none does."""

import contextlib
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from framelane.base.errors import TransportError
from framelane.session.session_client import SessionClient

ROUNDS = 12
TRIAL_S = 1.5
PROCESSES = 4
FOLDER = Path("build")
SHAPE = 128, 256
_SLOTS = 16
_PATIENCE_S = 240.0
"""A receiver that starts for the first time compiles its loops: a minute on a machine that does much else."""
_LEAST_MS = 1e-3
"""Clocks of processes count in steps of 10 ms: in a short trial they may stand still."""

_CLIENT = """
import os, socket, sys, time
os.nice(19)  # on a machine of their own they would take no processor of this one
end = time.monotonic() + 60
while time.monotonic() < end:
    try:
        with socket.create_connection(("127.0.0.1", int(sys.argv[1])), 0.2) as client:
            client.sendall(b"{\\"source\\": 0, \\"offered\\": 99}\\n")
    except OSError:
        pass
    time.sleep(float(sys.argv[2]))
"""


@dataclass(frozen=True, slots=True)
class _Trial:
    frames_per_s: float
    cpu_ms: float
    """Processor time of the receiver, for each frame."""


def frame_rates() -> list[dict[str, Any]]:
    """A row without such clients, one without them again, whose ratio is noise, and one with `PROCESSES` of them.

    All three follow each other `ROUNDS` times in one run of `recv`; ratios are medians over the rounds.
    """
    taken: list[tuple[_Trial, _Trial, _Trial]] = []
    with _receiving() as (process, link, port):
        for turn in range(ROUNDS):
            if turn % 2:
                before, again = _trial(process, link), _trial(process, link)
            with flooding(port, PROCESSES, 0.0):
                attacked = _trial(process, link)
            if not turn % 2:
                before, again = _trial(process, link), _trial(process, link)
            taken.append((before, again, attacked))
    rows = []
    for place, (what, processes) in enumerate((("none", 0), ("none, again", 0), ("flood", PROCESSES))):
        of = [trials[place] for trials in taken]
        rows.append(
            {
                "clients": what,
                "processes": processes,
                "frames_per_s": median(trial.frames_per_s for trial in of),
                "rate": median(trials[place].frames_per_s / trials[0].frames_per_s for trials in taken),
                "cpu_time": median(trials[place].cpu_ms / max(_LEAST_MS, trials[0].cpu_ms) for trials in taken),
            }
        )
    return rows


@contextlib.contextmanager
def flooding(port: int, processes: int, pause_s: float) -> Iterator[None]:
    """Within the block so many processes connect, with a pause between two connections, and show no token."""
    with contextlib.ExitStack() as stack:
        for _ in range(processes):
            process = subprocess.Popen([sys.executable, "-c", _CLIENT, str(port), str(pause_s)])
            stack.callback(process.wait)
            stack.callback(process.kill)
        yield


def _trial(process: int, link: SessionClient) -> _Trial:
    time.sleep(TRIAL_S / 3)  # the first of them, who are let in at once, are over then
    frames, cpu, begun = link.window_end, _cpu_s(process), time.monotonic()
    time.sleep(TRIAL_S)
    frames, cpu, seconds = max(1, link.window_end - frames), _cpu_s(process) - cpu, time.monotonic() - begun
    return _Trial(frames / seconds, 1000 * cpu / frames)


def _cpu_s(process: int) -> float:
    """Seconds of processor time that a process has taken: `utime` and `stime` of proc(5)."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def _receiving() -> Iterator[tuple[int, SessionClient, int]]:
    """A receiver that writes the frames of `framelane emulate`: its process, its link, and the port of that."""
    FOLDER.mkdir(exist_ok=True)
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=FOLDER, prefix="bench-link-")))
        (folder / "plan.toml").write_text(_plan())
        port, link_port = _free(socket.SOCK_DGRAM), _free(socket.SOCK_STREAM)
        files = ["--plan", folder / "plan.toml", "--publish", folder / "session.json", "--output", folder / "frames.h5"]
        ports = ["--transport", "udp", "--port", port, "--link-port", link_port]
        receiver = stack.enter_context(_run("recv", *files, *ports))
        _wait(receiver, (folder / "session.json").is_file, "it publishes no session")
        link = stack.enter_context(SessionClient("127.0.0.1", link_port))
        stack.enter_context(_run("emulate", "--to", f"127.0.0.1:{link_port}", "--port", port))
        _wait(receiver, lambda: link.window_end > 8 * _SLOTS, "no frames come")
        yield receiver.pid, link, link_port


def _plan() -> str:
    rows, columns = SHAPE
    values: dict[str, object] = {"rows": rows, "columns": columns, "n_slots": _SLOTS, "mtu": 4096, "sources": 1}
    values["src_port"] = _free(socket.SOCK_DGRAM)
    text = "".join(f"{name} = {json.dumps(value)}\n" for name, value in values.items())
    ends = {"source": "127.0.0.2", "receiver": "127.0.0.1"}
    return text + "".join(f'{end} = {{ mac = "02:00:00:00:00:01", ip = "{ip}" }}\n' for end, ip in ends.items())


def _free(kind: socket.SocketKind) -> int:
    """A port that nobody uses now."""
    with socket.socket(socket.AF_INET, kind) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def _run(*arguments: object) -> Iterator[subprocess.Popen[bytes]]:
    """A command of framelane, until the block ends."""
    command = [sys.executable, "-m", "framelane", *map(str, arguments)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        try:
            yield process
        finally:
            process.kill()


def _wait(receiver: subprocess.Popen[bytes], true: Callable[[], bool], why: str) -> None:
    end = time.monotonic() + _PATIENCE_S
    while not true():
        if receiver.poll() is not None or time.monotonic() > end:
            raise TransportError(f"the receiver that is to be measured has failed: {why}")
        time.sleep(0.02)
