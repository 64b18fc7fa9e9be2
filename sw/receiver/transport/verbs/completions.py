"""The completion queue, and how to wait for it: by events, or by polling.

InfiniBand vol. 1, 11.4.2 (completion queue operations); ibv_get_cq_event(3). pyverbs tells no file descriptor of its
channels, and its calls hold Python's lock while they wait: so the descriptors are found by what opening makes new, and
waited for here.
"""

import contextlib
import select
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, TypeVar

from framelane.receiver.transport.verbs.library import Pyverbs

Waiting = Literal["events", "polling"]
BATCH = 256
"""Most completions of one look."""
_EVENT_FILE = "anon_inode:[infinibandevent]"
_opening = threading.Lock()
T = TypeVar("T")


def with_event_file(make: Callable[[], T]) -> tuple[T, int]:
    """What `make` makes, and the descriptor of the event file that it has opened by that."""
    with _opening:
        before = _event_files()
        made = make()
        return made, max(_event_files() - before)


def _event_files() -> set[int]:
    found = set()
    for path in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):  # the descriptor of this listing is gone by now
            if str(path.readlink()) == _EVENT_FILE:
                found.add(int(path.name))
    return found


class CompletionQueue:
    """A queue of `depth` completions on `context`.

    `events`: the kernel wakes us, and nothing is used up meanwhile. `polling`: a core looks all the time, for the
    shortest latency.
    """

    def __init__(self, library: Pyverbs, context: Any, depth: int, waiting: Waiting) -> None:
        self._channel, self._events = None, -1
        with library.explaining(f"make a queue of {depth} completions"):
            if waiting == "events":
                self._channel, self._events = with_event_file(lambda: library.cq.CompChannel(context))
            self.cq = library.cq.CQ(context, depth, None, self._channel, 0)
            if self._channel:
                self.cq.req_notify()

    def take(self) -> list[Any]:
        """The completions that are there, at most `BATCH`."""
        return list(self.cq.poll(BATCH)[1])

    def wait(self, deadline: float, also: int) -> bool:
        """Wait until a completion may be there, or the file `also` can be read, at most to `deadline` (monotonic).

        Whether `also` can be read.
        """
        if self._channel is None:
            time.sleep(0)  # other threads may have Python's lock
            return bool(_readable([also], 0))
        ready = _readable([self._events, also], max(0.0, deadline - time.monotonic()))
        if self._events in ready:
            self._channel.get_cq_event(self.cq)
            self.cq.ack_events(1)
            self.cq.req_notify()
        return also in ready

    def close(self) -> None:
        """Free it, after its QP. May be called twice."""
        self.cq.close()
        if self._channel:
            self._channel.close()


def _readable(files: list[int], timeout_s: float) -> list[int]:
    poll = select.poll()
    for file in files:
        poll.register(file, select.POLLIN)
    return [file for file, _ in poll.poll(timeout_s * 1e3)]
