"""The loop of the thread of one stream, compiled: packets from its socket into the ring, without the interpreter lock.

It goes on until somebody has to decide, or the stream is closed.
"""

import functools
import socket
from typing import Any, NamedTuple

import numpy as np
from numba.core import types
from numpy.typing import NDArray

from framelane.base.atomics import load
from framelane.base.compiled import compiled
from framelane.receiver.detector._placing import ALL, Batch, Frames, Stream, placing
from framelane.receiver.detector.open_frames import end_turn, ring, take_turn
from framelane.receiver.detector.placing_form import PlacingForm

CLOSED, FAILED = -1, -2
"""Why it stopped, beside what `_placing` says: it was closed; the socket has something to read that cannot be read."""
NEAR = 4
"""Frames by which a stream is ahead of the first that is not over when that may be over though it is not whole."""
_WAIT_MS = 50
_DONTWAIT = int(socket.MSG_DONTWAIT)

_INT: Any = types.int32
# recvmmsg(2), poll(2): pointers are numbers.
_recvmmsg: Any = types.ExternalFunction("recvmmsg", _INT(_INT, types.intp, types.uint32, _INT, types.intp))
_poll: Any = types.ExternalFunction("poll", _INT(types.intp, types.uint64, _INT))


class Port(NamedTuple):
    """Where a stream's packets come from, and what its thread shares with others."""

    descriptor: int
    """The socket's."""
    polled: int
    """Where a pollfd of it is."""
    messages: int
    """Where an mmsghdr is for each packet of a batch."""
    received: NDArray[np.uint32]
    """Bytes of each packet, in those."""
    closing: NDArray[np.int64]
    """(1): not 0 when the thread is to end."""
    bell: int
    one: int
    """See `OpenFrames.bell`."""
    near: int
    turns: NDArray[np.int64]
    turn: int
    """The word of `turns` at which the stream's line begins."""


@functools.cache
def receiving(form: PlacingForm) -> Any:
    """The loop `receive` for packets of this form.

    It places packets `at` to `count` of the batch, then receives other batches: at which packet of how many it stopped,
    and why. The bell rings when a frame is whole, and for each frame of which the first packet comes while one `near`
    before it is not over.
    """
    place = placing(form)

    def receive(at: int, count: int, batch: Batch, port: Port, frames: Frames, stream: Stream) -> tuple[int, int, int]:
        descriptor, polled, messages, received, closing, bell, one, near, turns, turn = port
        sizes, states, signals, wheres = batch.sizes, stream.states, frames.signals, frames.wheres
        rung = np.int64(-1)
        while load(closing, 0) == 0:
            if at >= count:
                got = _recvmmsg(descriptor, messages, sizes.size, _DONTWAIT, 0)
                if got < 0:
                    if _poll(polled, 1, _WAIT_MS) <= 0:
                        continue
                    got = _recvmmsg(descriptor, messages, sizes.size, _DONTWAIT, 0)
                    if got < 0:
                        return 0, 0, FAILED
                at, count = 0, int(got)
                for i in range(count):
                    sizes[i] = received[i]
            take_turn(signals, turns, turn)
            ready = states[0].ready
            at, why = place(batch, at, count, frames, stream)
            newest = states[0].newest
            end_turn(turns, turn, newest)
            if why != ALL:
                return at, count, why
            if states[0].ready != ready:
                ring(signals, bell, one)
            elif newest != rung and newest >= wheres[0].open + near:
                rung = newest
                ring(signals, bell, one)
        return at, count, CLOSED

    return compiled(receive)
