"""Which frame goes to which lane, on lanes that only remember what they were told."""

import random
import time
from dataclasses import dataclass, field

import numpy as np
import pytest

from framelane.receiver.gpu.gpu_error import GpuError
from framelane.receiver.gpu.pipeline import watchdog
from framelane.receiver.gpu.pipeline.lane_queue import LaneQueue
from framelane.receiver.gpu.pipeline.learning import Dark
from framelane.receiver.gpu.pipeline.watchdog import Watchdog
from framelane.receiver.ring.receiver import ReceivedFrame

N_SLOTS = 8
NOTHING = np.zeros((1, 1), np.uint16)


def frame(number: int) -> ReceivedFrame:
    return ReceivedFrame(number, number % N_SLOTS, NOTHING, 0, ())


@dataclass
class Book:
    """Lanes that end when they are told to. They complain of work while they have some."""

    count: int
    slots: dict[int, int] = field(default_factory=dict)
    """Slot of each lane's newest work."""
    dark: dict[int, Dark | None] = field(default_factory=dict)
    """What was learned by the newest work of each lane."""
    begun: set[int] = field(default_factory=set)
    ended: set[int] = field(default_factory=set)
    calls: list[str] = field(default_factory=list)
    broken: str | None = None

    def queue(self, lane: int, slot: int, keep: bool | None, dark: Dark | None = None) -> None:
        if self.broken:
            raise GpuError(self.broken)
        assert lane not in self.begun - self.ended, "the lane is busy"
        self.slots[lane], self.dark[lane] = slot, dark
        self.ended.discard(lane)
        self.begun.discard(lane)
        if keep is not None:
            self.begun.add(lane)
        self.calls.append(f"queue {lane} {slot}{f' dark {dark.tick}' if dark else ''}")

    def release(self, lane: int, keep: bool) -> None:
        assert lane not in self.begun
        self.begun.add(lane)
        self.calls.append(f"release {lane}{' keep' if keep else ''}")

    def done(self, lane: int) -> bool:
        return lane in self.ended

    def check(self) -> None:
        if self.broken:
            raise GpuError(self.broken)

    def end(self, *lanes: int) -> None:
        assert set(lanes) <= self.begun
        self.ended.update(lanes)


def dark(tick: int) -> Dark:
    return Dark(tick, 0, tick, False)


def lane_queue(lanes: Book, ahead: bool, first_slot: int = 0, patience_s: float = 60.0) -> LaneQueue:
    return LaneQueue(lanes, N_SLOTS, first_slot, ahead, patience_s)


def taken(queue: LaneQueue) -> list[tuple[int, int | None]]:
    return [(each.frame.number, each.lane) for each in queue.take(0)]


@pytest.mark.parametrize("ahead", [False, True])
def test_frames_come_out_in_their_order_whichever_lane_ends_first(ahead: bool) -> None:
    lanes = Book(3)
    queue = lane_queue(lanes, ahead)
    for number in range(3):
        queue.put(frame(number), False)
    lanes.end(2, 1)
    assert taken(queue) == []
    lanes.end(0)
    assert taken(queue) == [(0, 0), (1, 1), (2, 2)]
    assert queue.pending == 0


@pytest.mark.parametrize("ahead", [False, True])
def test_a_lane_whose_result_is_in_use_gets_no_work_before_the_next_call(ahead: bool) -> None:
    lanes = Book(2)
    queue = lane_queue(lanes, ahead)
    for number in range(4):
        queue.put(frame(number), False)
    lanes.end(0)
    assert taken(queue) == [(0, 0)]
    assert lanes.slots[0] == 0
    assert taken(queue) == []
    assert lanes.slots[0] == 2


def test_work_is_queued_ahead_in_the_order_of_the_ring_and_begins_by_one_release() -> None:
    lanes = Book(3)
    queue = lane_queue(lanes, ahead=True, first_slot=6)
    assert lanes.calls == ["queue 0 6", "queue 1 7", "queue 2 0"]
    lanes.calls.clear()
    queue.put(frame(6), True)
    assert lanes.calls == ["release 0 keep"]


def test_a_frame_that_never_comes_is_passed_over_with_void_work_that_nobody_sees() -> None:
    lanes = Book(3)
    queue = lane_queue(lanes, ahead=True)
    queue.put(frame(2), False)
    assert lanes.calls[3:] == ["release 0", "release 1", "release 2"]
    assert queue.pending == 1
    lanes.end(0, 1, 2)
    assert taken(queue) == [(2, 2)]
    assert [call for call in lanes.calls if call.startswith("queue")][3:] == ["queue 0 3", "queue 1 4"]


def test_after_a_gap_of_more_frames_than_lanes_work_goes_on_at_the_frame_that_came() -> None:
    lanes = Book(2)
    queue = lane_queue(lanes, ahead=True)
    queue.put(frame(5), False)
    assert taken(queue) == []
    lanes.end(0)
    assert taken(queue) == []
    assert (lanes.slots[0], lanes.begun) == (5, {0, 1})
    lanes.end(0, 1)
    assert taken(queue) == [(5, 0)]


def test_a_gap_of_whole_rings_costs_nothing() -> None:
    lanes = Book(2)
    queue = lane_queue(lanes, ahead=True)
    queue.put(frame(0 + 3 * N_SLOTS), False)
    assert lanes.calls[2:] == ["release 0"]


@pytest.mark.parametrize("ahead", [False, True])
def test_while_a_sink_takes_nothing_all_frames_of_a_ring_wait_and_none_is_lost(ahead: bool) -> None:
    lanes = Book(2)
    queue = lane_queue(lanes, ahead)
    for number in range(N_SLOTS):
        queue.put(frame(number), False)
    assert queue.pending == N_SLOTS
    seen: list[int] = []
    while queue.pending:
        lanes.end(*lanes.begun)
        seen += [number for number, _ in taken(queue)]
    assert seen == list(range(N_SLOTS))


@pytest.mark.parametrize("ahead", [False, True])
def test_when_the_gpu_fails_what_is_done_is_given_and_the_rest_comes_back_with_the_reason(ahead: bool) -> None:
    lanes = Book(3)
    queue = lane_queue(lanes, ahead)
    for number in range(5):
        queue.put(frame(number), False)
    lanes.end(1)
    lanes.broken = "an illegal address"
    found = queue.take(1.0)
    assert [(each.frame.number, each.lane, each.fault) for each in found] == [
        (0, None, "an illegal address"),
        (1, 1, None),
        *((number, None, "an illegal address") for number in (2, 3, 4)),
    ]
    assert (queue.fault, queue.pending) == ("an illegal address", 0)
    queue.put(frame(5), False)
    assert [each.fault for each in queue.take(0)] == ["an illegal address"]


def test_a_gpu_that_fails_while_work_is_queued_loses_no_frame() -> None:
    lanes = Book(1)
    queue = lane_queue(lanes, ahead=False)
    queue.put(frame(0), False)
    lanes.end(0)
    lanes.broken = "no such stream"
    queue.put(frame(1), False)
    assert [(each.frame.number, each.lane) for each in queue.take(0)] == [(0, 0)]
    assert [(each.frame.number, each.fault) for each in queue.take(0)] == [(1, "no such stream")]


def test_a_gpu_that_fails_is_noticed_by_calls_that_do_not_wait() -> None:
    lanes = Book(1)
    queue = lane_queue(lanes, ahead=True)
    queue.put(frame(0), False)
    lanes.broken = "an illegal address"
    for _ in range(10_000_000):
        if queue.take(0):
            break
    assert queue.fault == "an illegal address"


def test_a_lane_that_does_not_end_in_time_is_a_fault_that_names_its_frame() -> None:
    lanes = Book(2)
    queue = lane_queue(lanes, ahead=True, patience_s=0.1)
    queue.put(frame(0), False)
    queue.put(frame(1), False)
    lanes.end(1)
    found = queue.take(5.0)
    assert queue.fault is not None
    assert "frame 0 within 0.1 s" in queue.fault
    assert [(each.frame.number, each.lane) for each in found] == [(0, None), (1, 1)]


def test_lanes_that_wait_for_a_frame_are_no_fault() -> None:
    lanes = Book(2)
    queue = lane_queue(lanes, ahead=True, patience_s=0.0)
    assert queue.take(0.2) == []
    queue.put(frame(0), False)
    lanes.end(0)
    assert taken(queue) == [(0, 0)]
    assert queue.fault is None


def test_work_that_was_released_for_no_frame_is_seen_by_nobody_and_the_next_frame_has_its_own() -> None:
    lanes = Book(2)
    queue = lane_queue(lanes, ahead=True)
    queue.void_ahead()
    assert lanes.begun == {0, 1}
    queue.put(frame(0), False)
    lanes.end(0, 1)
    assert taken(queue) == []
    assert lanes.calls[4] == "queue 0 0"
    lanes.end(0)
    assert taken(queue) == [(0, 0)]


def test_the_watchdog_releases_while_there_is_no_sign_of_life_and_only_then(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watchdog, "QUIET_S", 0.2)
    released: list[float] = []
    dog = Watchdog(lambda: released.append(time.monotonic()))
    begin = time.monotonic()
    while time.monotonic() - begin < 1.0:
        dog.alive()
        time.sleep(0.01)
    assert not released
    time.sleep(1.0)
    dog.close()
    assert released
    n = len(released)
    time.sleep(0.3)
    assert len(released) == n


def test_a_dark_frame_gets_work_of_its_own_behind_that_of_the_lanes_that_wait_which_is_void() -> None:
    lanes = Book(2)
    queue = lane_queue(lanes, ahead=True)
    lanes.calls.clear()
    queue.put(frame(0), True, dark(7))
    queue.put(frame(1), False)
    assert lanes.calls == ["release 0", "release 1"]
    lanes.end(0, 1)
    assert taken(queue) == []
    assert lanes.calls[2:] == ["queue 0 0 dark 7", "queue 1 1"]
    lanes.end(0, 1)
    assert [(each.frame.number, each.dark) for each in queue.take(0)] == [(0, dark(7)), (1, None)]


def test_without_work_ahead_a_dark_frame_takes_its_turn() -> None:
    lanes = Book(2)
    queue = lane_queue(lanes, ahead=False)
    queue.put(frame(0), False)
    queue.put(frame(1), False, dark(7))
    assert lanes.calls == ["queue 0 0", "queue 1 1 dark 7"]


@pytest.mark.parametrize("ahead", [False, True])
@pytest.mark.parametrize("seed", range(20))
def test_whatever_comes_each_frame_has_a_lane_that_worked_on_its_slot(ahead: bool, seed: int) -> None:
    rng = random.Random(seed)
    lanes = Book(rng.randint(1, 4))
    queue = lane_queue(lanes, ahead)
    put: list[int] = []
    seen: list[int] = []
    number = 0
    while len(seen) < 200:
        if queue.pending < N_SLOTS and rng.random() < 0.5:
            number += 1 if rng.random() < 0.8 else rng.randint(1, 3 * N_SLOTS)
            queue.put(frame(number), False, dark(number) if number % 5 == 0 else None)
            put.append(number)
        for lane in rng.sample(sorted(lanes.begun), rng.randint(0, len(lanes.begun))):
            lanes.end(lane)
        if rng.random() < 0.1:
            queue.void_ahead()
        if rng.random() < 0.5:
            for each in queue.take(0):
                assert each.lane is not None
                assert lanes.slots[each.lane] == each.frame.slot
                assert (
                    lanes.dark[each.lane] == each.dark == (None if each.frame.number % 5 else dark(each.frame.number))
                )
                assert each.lane in lanes.ended
                seen.append(each.frame.number)
    assert seen == put[: len(seen)]
    assert queue.fault is None
