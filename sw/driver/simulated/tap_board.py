"""The simulated transmitter as a neighbour of Linux: its MAC is at one end of a tap device, Linux at the other."""

import subprocess
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Self

from framelane.base.errors import TransportError
from framelane.driver.simulated.tap import Tap
from framelane.driver.simulated.verilated_rc import SimulatedRcBoard

CYCLES_PER_S = 100_000
"""Cycles a second of the wall clock, as a small machine simulates. The board's own time passes slower accordingly."""

_CYCLES_PER_BYTE = 2
_WAIT_S = 0.0005
_LATE_S = 0.05
_KEPT = 1 << 16


class TapBoard:
    """A simulated board on a tap device, its link up, in a thread of its own until it is closed.

    `CYCLES_PER_S` clock cycles pass in a second; more while frames come, `_CYCLES_PER_BYTE` a byte, as on a line of
    1 Gb/s to a board of 250 MHz; fewer where the machine is slow. Both `board` and `tap` are its to use. These are
    `Registers`, for use by one thread.
    """

    def __init__(self, board: SimulatedRcBoard, tap: Tap) -> None:
        self._board, self._tap = board, tap
        self._over = threading.Event()
        self._lock = threading.Lock()
        self._failure: BaseException | None = None
        self._sent: deque[bytes] = deque(maxlen=_KEPT)
        board.link_up(True)
        self._thread = threading.Thread(target=self._run, name="tap")
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @contextmanager
    def still(self) -> Iterator[SimulatedRcBoard]:
        """The board, with its clock standing still but for what is done to it here."""
        with self._lock:
            if self._failure:
                raise self._failure
            yield self._board

    def read(self, offset: int) -> int:
        """See `Registers`."""
        with self.still() as board:
            return board.read(offset)

    def write(self, offset: int, value: int) -> None:
        """See `Registers`."""
        with self.still() as board:
            board.write(offset, value)

    def close(self) -> None:
        """Stop the clock."""
        self._over.set()
        self._thread.join()

    def take(self) -> list[bytes]:
        """The frames that the board has sent since the last time, the last `_KEPT` of them; Linux has seen them."""
        with self._lock:
            sent = list(self._sent)
            self._sent.clear()
        return sent

    def _run(self) -> None:
        try:
            passed = time.monotonic()
            while not self._over.is_set():
                self._tap.wait(_WAIT_S)
                while (frame := self._tap.receive()) is not None and not self._over.is_set():
                    self._let_pass(_CYCLES_PER_BYTE * len(frame), frame)
                now = time.monotonic()
                self._let_pass(max(1, int(min(now - passed, _LATE_S) * CYCLES_PER_S)))
                passed = now
        except BaseException as error:
            self._failure = error

    def _let_pass(self, cycles: int, frame: bytes | None = None) -> None:
        with self._lock:
            if frame is not None:
                self._board.receive(frame)
            self._board.step(cycles)
            packets = self._board.take()
            self._sent += packets
        for packet in packets:
            self._tap.send(packet)


def ip_command(arguments: str) -> None:
    """Run `ip` of iproute2; TransportError with what it says."""
    try:
        subprocess.run(["ip", *arguments.split()], check=True, capture_output=True, text=True)
    except FileNotFoundError as error:
        raise TransportError("the command `ip` is missing: install iproute2") from error
    except subprocess.CalledProcessError as error:
        raise TransportError(f"`ip {arguments}`: {error.stderr.strip()}") from error
