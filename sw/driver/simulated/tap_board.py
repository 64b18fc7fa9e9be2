"""A simulated board as a neighbour of Linux: its MAC is at one end of a tap device, Linux at the other."""

import subprocess
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Generic, Protocol, Self, TypeVar

from framelane.base.errors import TransportError
from framelane.driver.simulated.tap import Tap
from framelane.driver.simulated.verilated_rc import SimulatedRcBoard

CYCLES_PER_S = 100_000
"""Cycles a second of the wall clock, as a small machine simulates. The board's own time passes slower accordingly."""

_CYCLES_PER_BYTE = 2
_WAIT_S = 0.0005
_AT_ONCE = 5000
"""Cycles at most until frames are looked for again."""
_KEPT = 1 << 16


class OnWire(Protocol):
    """What can be at a wire: a simulated board that gets frames and sends some while its clock runs."""

    def receive(self, frame: bytes) -> None: ...

    def step(self, cycles: int) -> None: ...

    def take(self) -> list[bytes]: ...


BoardT = TypeVar("BoardT", bound=OnWire)


class TapLine(Generic[BoardT]):
    """A simulated board on a tap device, in a thread of its own until it is closed. Both are its to use.

    `cycles_per_s` clock cycles pass in a second; more while frames come, `cycles_per_byte` for each byte; fewer where
    the machine is slow.
    """

    def __init__(self, board: BoardT, tap: Tap, cycles_per_s: int, cycles_per_byte: int) -> None:
        self._board, self._tap = board, tap
        self._per_s, self._per_byte = cycles_per_s, cycles_per_byte
        self._over = threading.Event()
        self._lock = threading.Lock()
        self._failure: BaseException | None = None
        self._sent: deque[bytes] = deque(maxlen=_KEPT)
        self.to_board = self.from_board = 0
        """Frames that have passed."""
        self._thread = threading.Thread(target=self._run, name="tap")
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @contextmanager
    def still(self) -> Iterator[BoardT]:
        """The board, with its clock standing still but for what is done to it here."""
        with self._lock:
            if self._failure:
                raise self._failure
            yield self._board

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
                    self._let_pass(self._per_byte * len(frame), frame)
                now = time.monotonic()
                self._let_pass(max(1, min(int((now - passed) * self._per_s), _AT_ONCE)))
                passed = now
        except BaseException as error:
            self._failure = error

    def _let_pass(self, cycles: int, frame: bytes | None = None) -> None:
        with self._lock:
            if frame is not None:
                self._board.receive(frame)
                self.to_board += 1
            self._board.step(cycles)
            packets = self._board.take()
            self._sent += packets
            self.from_board += len(packets)
        for packet in packets:
            self._tap.send(packet)


class TapBoard(TapLine[SimulatedRcBoard]):
    """A simulated board on a tap device, its link up: as a line of 1 Gb/s to a board of 250 MHz.

    These are `Registers`, for use by one thread.
    """

    def __init__(self, board: SimulatedRcBoard, tap: Tap) -> None:
        board.link_up(True)
        super().__init__(board, tap, CYCLES_PER_S, _CYCLES_PER_BYTE)

    def read(self, offset: int) -> int:
        """See `Registers`."""
        with self.still() as board:
            return board.read(offset)

    def write(self, offset: int, value: int) -> None:
        """See `Registers`."""
        with self.still() as board:
            board.write(offset, value)


def ip_command(arguments: str) -> None:
    """Run `ip` of iproute2; TransportError with what it says."""
    try:
        subprocess.run(["ip", *arguments.split()], check=True, capture_output=True, text=True)
    except FileNotFoundError as error:
        raise TransportError("the command `ip` is missing: install iproute2") from error
    except subprocess.CalledProcessError as error:
        raise TransportError(f"`ip {arguments}`: {error.stderr.strip()}") from error
