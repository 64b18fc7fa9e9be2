"""Which frames of a live detector may be written, for the threads of all its streams and for the one that decides.

A stream's thread takes its turn for each batch of packets: meanwhile nothing of what is here changes but by it. The
thread that decides closes the gate, waits until no stream has its turn, changes what it has to, and opens the gate.
Both are compiled code without the interpreter lock, so that neither waits for other threads of Python.
"""

import contextlib
import os
import select
from collections.abc import Iterator
from typing import Any

import numpy as np
from numba.core import types
from numpy.typing import NDArray

from framelane.base.atomics import add, load, store, swap
from framelane.base.compiled import compiled

WHERE = np.dtype([("base", "u8"), ("shift", "i8"), ("open", "i8"), ("reach", "i8"), ("known", "i8"),
                  ("flushed", "i8"), ("flushed_first", "u8"), ("flushed_last", "u8")])  # fmt: skip
"""What holds for all streams. Frame `base` of the detector is frame `shift` of the session; `open` is the first that is
not over; a number further than `reach` from the last begins a new acquisition. `known`: whether the detector's numbers
are; else those from `flushed_first` to `flushed_last` are of frames that are over, if any is `flushed`."""

_LINE = 8
"""Words of a cache line: what different threads write lies in different ones."""
_GATE, _BELL, EXPECTED = 0, _LINE, 2 * _LINE
"""Words of `signals`: whether the gate is closed; whether the bell has rung; how many streams are expected to send."""
_TURN, NEWEST = 0, 1
"""Words of a stream's line of `turns`."""
_PAUSE_US = 20

_INT: Any = types.int32
_SIZE: Any = types.intp
_usleep: Any = types.ExternalFunction("usleep", _INT(types.uint32))
_write: Any = types.ExternalFunction("write", _SIZE(_INT, _SIZE, _SIZE))


class OpenFrames:
    """The frames of `slots` slots, all closed, for so many `streams`; a number is new beyond `reach`. To be closed.

    `where` (1, `WHERE`) is for all streams. `opened` (slots) is the frame that may be written to each slot, -1 where
    none may; `whole` (slots) how many streams have put their whole share of it there. `turns` (streams, words) says
    which stream has its turn, and the newest frame of which it got a packet; `signals` is what all threads share.
    """

    def __init__(self, slots: int, streams: int, reach: int) -> None:
        self.where: NDArray[np.void] = np.zeros(1, WHERE)
        self.where["reach"] = reach
        self.opened, self.whole = np.full(slots, -1, np.int64), np.zeros(slots, np.int64)
        self.turns = np.zeros((streams, _LINE), np.int64)
        self.turns[:, NEWEST] = -1
        self.signals = np.zeros(3 * _LINE, np.int64)
        self.signals[EXPECTED] = streams
        self._is_held = False
        self._bell = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._one = np.ones(1, np.uint64)
        self._poll = select.poll()
        self._poll.register(self._bell, select.POLLIN)

    @property
    def bell(self) -> tuple[int, int]:
        """What `ring` needs in compiled code: a file descriptor, and the address of what is written to it."""
        return self._bell, self._one.ctypes.data

    def ring(self) -> None:
        """Wake whoever waits."""
        ring(self.signals, *self.bell)

    def wait(self, timeout_s: float) -> None:
        """Wait for so long at most until the bell rings, or has rung since the last call."""
        if self._poll.poll(timeout_s * 1000):
            os.eventfd_read(self._bell)
            _hear(self.signals)  # in this order: who rings in between is seen by the look that follows

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """No stream has its turn."""
        _hold(self.signals, self.turns.reshape(-1))
        self._is_held = True
        try:
            yield
        finally:
            self._is_held = False
            _let_go(self.signals)

    def open(self, first: int, end: int) -> None:
        """Open the slots of the frames from `first` to before `end`, but for those of which a packet was refused."""
        _open(self.signals, self.turns.reshape(-1), self.opened, self.whole, first, end)

    def shut(self, frame: int, whole: bool) -> None:
        """Close the slot of a frame that is open: nobody writes to it any more, as nobody does where it is `whole`."""
        if whole or self._is_held:
            self.opened[frame % len(self.opened)] = -1
        else:
            _shut(self.signals, self.turns.reshape(-1), self.opened, frame)

    def close(self) -> None:
        """Free the bell."""
        if self._bell >= 0:
            os.close(self._bell)
            self._bell = -1


@compiled
def take_turn(signals: NDArray[np.int64], turns: NDArray[np.int64], at: int) -> None:
    """Wait until the gate is open, and have the turn of the stream whose line begins at word `at`."""
    while True:
        store(turns, at + _TURN, 1)
        if load(signals, _GATE) == 0:
            return
        store(turns, at + _TURN, 0)
        _usleep(_PAUSE_US)


@compiled
def end_turn(turns: NDArray[np.int64], at: int, newest: int) -> None:
    """Have it no more; `newest` is the newest frame of which a packet came."""
    turns[at + NEWEST] = newest
    store(turns, at + _TURN, 0)


@compiled
def ring(signals: NDArray[np.int64], descriptor: int, one: int) -> None:
    """Ring the bell, unless it has rung and nobody has heard it."""
    if swap(signals, _BELL, 1) == 0:
        _write(descriptor, one, 8)


@compiled
def tell_whole(signals: NDArray[np.int64], whole: NDArray[np.int64], slot: int) -> bool:
    """A stream has put its whole share into a slot; whether all that are expected to have."""
    return bool(add(whole, slot, 1) + 1 >= load(signals, EXPECTED))


@compiled
def _hear(signals: NDArray[np.int64]) -> None:
    store(signals, _BELL, 0)


@compiled
def _hold(signals: NDArray[np.int64], turns: NDArray[np.int64]) -> None:
    store(signals, _GATE, 1)
    for at in range(0, turns.size, _LINE):
        while load(turns, at + _TURN) != 0:
            _usleep(_PAUSE_US)


@compiled
def _let_go(signals: NDArray[np.int64]) -> None:
    store(signals, _GATE, 0)


@compiled
def _open(
    signals: NDArray[np.int64],
    turns: NDArray[np.int64],
    opened: NDArray[np.int64],
    whole: NDArray[np.int64],
    first: int,
    end: int,
) -> None:
    _hold(signals, turns)
    for at in range(0, turns.size, _LINE):
        first = max(first, turns[at + NEWEST] + 1)
    for frame in range(first, end):
        whole[frame % opened.size] = 0
        opened[frame % opened.size] = frame
    _let_go(signals)


@compiled
def _shut(signals: NDArray[np.int64], turns: NDArray[np.int64], opened: NDArray[np.int64], frame: int) -> None:
    _hold(signals, turns)
    opened[frame % opened.size] = -1
    _let_go(signals)
