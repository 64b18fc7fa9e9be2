"""The event queue as software reads it, written by the golden model of the engine's side."""

import numpy as np
import pytest
from numpy.typing import NDArray

from framelane.base.errors import ConfigError, TransportError
from framelane.models.pcie.event_queue import EventQueue
from framelane.models.pcie.tlp_split import Status
from framelane.models.placement.trailer import Trailer
from framelane.receiver.transport.pcie.event_ring import Event, EventRing


def a_trailer(number: int) -> Trailer:
    return Trailer(3, number % 5, number, number * 7, number * 9, 3200, 4, 1, number + 2)


def produce(queue: EventQueue, memory: NDArray[np.uint8], number: int, status: Status, consumed: int) -> None:
    written = queue.event(a_trailer(number).pack(), status, consumed)
    assert written
    write, data = written
    memory[write.offset : write.offset + write.length] = np.frombuffer(data, np.uint8)


def test_each_event_is_read_once_in_order_through_all_rounds() -> None:
    """Bursts of every length round a queue of 8: what is there is taken, what is not is not."""
    queue, memory = EventQueue(0, 3), np.zeros(512, np.uint8)
    ring = EventRing(memory)
    number = 0
    random = np.random.default_rng(5)
    for _ in range(200):
        assert ring.take(100) == []
        burst = int(random.integers(1, 9))
        statuses = [Status(int(random.integers(0, 9))) for _ in range(burst)]
        for k, status in enumerate(statuses):
            produce(queue, memory, number + k, status, ring.consumed)
        expected = [Event(a_trailer(number + k), status) for k, status in enumerate(statuses)]
        assert ring.take(3) + ring.take(100) == expected
        number += burst
    assert ring.consumed == number > 800


def test_a_torn_round_of_a_full_queue_is_not_read_twice() -> None:
    queue, memory = EventQueue(0, 1), np.zeros(128, np.uint8)
    ring = EventRing(memory)
    produce(queue, memory, 0, Status.OK, 0)
    produce(queue, memory, 1, Status.OK, 0)
    assert queue.event(a_trailer(2).pack(), Status.OK, ring.consumed) is None, "no room: lost"
    assert [event.trailer.frame_number for event in ring.take(9)] == [0, 1]
    assert ring.take(9) == []


def test_an_entry_that_is_no_trailer_ends_the_run_with_a_sentence() -> None:
    memory = np.zeros(128, np.uint8)
    memory[12] = 1
    with pytest.raises(TransportError, match="entry 0 of the event queue holds no trailer"):
        EventRing(memory).take(1)


@pytest.mark.parametrize("size", [0, 64, 100, 192, 64 << 17])
def test_memory_of_another_size_is_no_queue(size: int) -> None:
    with pytest.raises(ConfigError, match=f"an event queue of {size} bytes cannot be"):
        EventRing(np.zeros(size, np.uint8))
