"""A live `framelane recv` in a process of its own, and a source for it."""

import functools
import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from framelane.models.placement.flow import FrameEvent
from framelane.models.tx import Tx
from framelane.session.session import Session
from framelane.session.session_client import SessionClient
from framelane.source.sender import UdpSender
from own_source import own_address, own_port

PROGRAM = "from framelane.cli import main; main()"
FRAMELANE = [sys.executable, "-c", PROGRAM]
ROWS, COLUMNS, SLOTS = 16, 96, 4


def heard(process: subprocess.Popen[Any], stream: Any, *wanted: str, within_s: float = 60.0) -> str:
    """What `process` has written to its `stream`, in one line, as soon as all of `wanted` are in it.

    AssertionError where it ends before, or has not said it within the time: then it is killed.
    """
    patience = threading.Timer(within_s, process.kill)
    patience.start()
    try:
        text = ""
        while not all(words in text for words in wanted):
            line = stream.readline()
            assert line, f"it has not said {' and '.join(wanted)}, but: {text}"
            text += (line if isinstance(line, str) else line.decode()).replace("\n", " ")
        return text
    finally:
        patience.cancel()


class Source:
    """Sends frames of random words to the receiver that published `session`."""

    def __init__(self, session: Session, port: int, source: int = 0) -> None:
        rng = np.random.default_rng(source)
        self.images = [rng.integers(0, 0x8000, (session.rows, session.columns), np.uint16) for _ in range(5)]
        share = [image.reshape(session.sources, -1)[source].tobytes() for image in self.images]
        self.tx = Tx(
            session.tx_config(source), lambda address, length: share[address >> 32][address & 0xFFFF :][:length]
        )
        self._session, self._port = session, port

    def image(self, number: int) -> NDArray[np.uint16]:
        return self.images[number % len(self.images)]

    def packets(self, number: int) -> list[bytes]:
        return self.tx.frame(FrameEvent(number, 1000 + number, 7, number % len(self.images) << 32))

    def send(self, *numbers: int) -> None:
        self.send_packets([packet for number in numbers for packet in self.packets(number)])

    def send_packets(self, packets: list[bytes]) -> None:
        with UdpSender(self._session, self._port) as sender:
            sender.send(packets)


def write_plan(folder: Path, port: int, **changes: object) -> list[object]:
    """Write a plan; the options of a receiver of it."""
    lines: dict[str, object] = {"rows": ROWS, "columns": COLUMNS, "n_slots": SLOTS, "mtu": 256, "sources": 1}
    lines["src_port"] = own_port()
    ends = {"source": own_address(), "receiver": "127.0.0.1"}
    text = "".join(f"{name} = {json.dumps(value)}\n" for name, value in (lines | changes).items())
    text += "".join(f'{end} = {{ mac = "02:00:00:00:00:01", ip = "{ip}" }}\n' for end, ip in ends.items())
    (folder / "plan.toml").write_text(text)
    return ["--plan", folder / "plan.toml", "--publish", folder / "session.json", "--port", port]


def wait_until(true: Callable[[], bool]) -> bool:
    end = time.monotonic() + 30
    while not true() and time.monotonic() < end:
        time.sleep(0.01)
    return true()


class Run:
    """A receiver in a process of its own."""

    def __init__(self, process: subprocess.Popen[str], folder: Path) -> None:
        self.process = process
        self._folder = folder

    @property
    def session(self) -> Session:
        path = self._folder / "session.json"
        end = time.monotonic() + 30
        while not path.exists():
            assert self.process.poll() is None, self.process.communicate()
            assert time.monotonic() < end
            time.sleep(0.02)
        return Session.load(path)

    @functools.cached_property
    def address(self) -> tuple[str, int]:
        line = heard(self.process, self.process.stdout, "at TCP ", "Ctrl-C")
        host, port = line.split("at TCP ")[1].split(" Ctrl-C")[0].strip().rstrip(":").split(":")
        return host, int(port)

    def link(self, source: int | None = None) -> SessionClient:
        return SessionClient(*self.address, source)

    def end(self, signal_number: int | None = None) -> tuple[int, str, str]:
        if signal_number is not None:
            self.process.send_signal(signal_number)
        out, err = self.process.communicate(timeout=30)
        return self.process.returncode, " ".join(out.split()), err

    def dataset(self, name: str) -> NDArray[Any]:
        with h5py.File(self._folder / "frames.h5") as file:
            return np.asarray(file["entry/data"][name][()])


@contextmanager
def receiving(
    folder: Path, *arguments: object, program: str = PROGRAM, before: tuple[str, ...] = (), output: Path | None = None
) -> Iterator[Run]:
    """Start a receiver by UDP that writes `folder`/frames.h5; `program` runs the command line, behind `before`."""
    output = output or folder / "frames.h5"
    options = ["recv", "--transport", "udp", "--link-port", 0, "--output", output, *arguments]
    command = [*before, sys.executable, "-c", program, *map(str, options)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield Run(process, folder)
        finally:
            process.kill()
