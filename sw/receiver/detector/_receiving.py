"""The loop of the thread of one stream, compiled: packets from its socket into the ring, without the interpreter lock.

It goes on until somebody has to decide, or the stream is closed.
"""

import functools
import socket
from typing import Any

import numpy as np
from numba.core import types
from numpy.typing import NDArray

from framelane.base.atomics import load
from framelane.base.compiled import compiled
from framelane.receiver.detector._placing import ALL, placing
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


@functools.cache
def receiving(form: PlacingForm) -> Any:
    """The loop `receive` for packets of this form.

    It places packets `at` to `count` of the batch, then receives other batches: at which packet of how many it stopped,
    and why. `descriptor` is the socket's; at `polled` there is a pollfd of it, at `messages` as many mmsghdr as
    the batch has packets, whose `received` are the bytes of each. `closing` (1) is not 0 when it is to end. The bell
    (`bell`, `one`, see `OpenFrames.bell`) rings when a frame is whole, and for each frame of which the first packet
    comes while one `near` before it is not over. The stream's line of `turns` begins at `turn`. All else is as
    `placing` has it.
    """
    place = placing(form)

    def receive(
        at: int,
        count: int,
        descriptor: int,
        polled: int,
        messages: int,
        received: NDArray[np.uint32],
        closing: NDArray[np.int64],
        bell: int,
        one: int,
        near: int,
        turns: NDArray[np.int64],
        turn: int,
        octets: NDArray[np.uint8],
        words: NDArray[np.uint16],
        sizes: NDArray[np.int64],
        signals: NDArray[np.int64],
        wheres: NDArray[Any],
        opened: NDArray[np.int64],
        whole: NDArray[np.int64],
        frames: NDArray[np.int64],
        came: NDArray[np.int64],
        bits: NDArray[np.bool_],
        infos: NDArray[Any],
        owner: NDArray[Any],
        heard: NDArray[np.int64],
        states: NDArray[Any],
        refused: NDArray[np.int64],
        fates: NDArray[np.int64],
        examples: NDArray[np.int64],
        ring_words: NDArray[np.uint16],
        pitch: int,
        start: int,
        step: int,
        share_units: int,
    ) -> tuple[int, int, int]:
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
            at, why = place(
                octets[:count], words[:count], sizes[:count], at, signals, wheres, opened, whole, frames, came, bits,
                infos, owner, heard, states, refused, fates, examples, ring_words, pitch, start, step, share_units,
            )  # fmt: skip
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
