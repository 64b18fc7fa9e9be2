"""event_queue: behind each frame an event with how it ended, in its order; no room loses it and holds nothing up."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import cocotb
import pytest

from bench import ALL_STALLS, Bench, Stalls, run
from framelane.driver.simulated.ports import BD_T
from framelane.models.pcie.event_queue import EventQueue
from framelane.models.pcie.tlp_split import Status
from framelane.models.placement.trailer import TRAILER_BYTES, Trailer
from signals import now
from widths import some_widths

BASE = 3 << 20
LOG2 = 3


@dataclass(frozen=True)
class Kind:
    """A descriptor that was passed on: an event's, or a fence with its tag, or of data."""

    is_event: bool
    tag: int | None


class QueueBench(Bench):
    """The queue before an engine in Python: it ends descriptors whose payload it has, some cycles later."""

    def __init__(self, dut: Any, stalls: Stalls = Stalls.NONE) -> None:
        super().__init__(dut, stalls)
        self.width = int(dut.DataW.value)
        self.bds, self.payload = self.source("s_axis_bd"), self.source("s_axis_payload")
        self.out, self.out_payload = self.sink("m_axis_bd"), self.sink("m_axis_payload")
        self.model = EventQueue(BASE, LOG2)
        dut.enabled_i.value, dut.base_i.value, dut.log2_i.value, dut.consumed_i.value = 1, BASE, LOG2, 0
        dut.status_valid_i.value, dut.status_i.value = 0, 0
        dut.fence_i.value, dut.fence_limit_i.value = 0, 1000
        dut.completion_i.value, dut.completion_tag_i.value, dut.completion_bad_i.value = 0, 0, 0
        self.answers: deque[tuple[int, int]] = deque()
        """Completions to come: in which cycle, of which tag."""
        self.answer_delay: Callable[[], int] = lambda: self.random.randrange(1, 60)
        self.fences: list[int] = []
        """Where fences went."""
        self.unanswered = 0
        self.consumed = 0
        self.data: list[tuple[int, bytes]] = []
        """Descriptors that were given, with their payload."""
        self.frames: deque[tuple[bytes, Status]] = deque()
        """Frames whose events have not come: trailer, how it ends."""
        self.trailers: list[int] = []
        """Where the trailers of frames are."""
        self.endings: deque[Status] = deque()
        """How data descriptors will end, in their order."""
        self.ended: list[Status] = []
        self.streams: list[int] = []
        """The stream of each of them."""
        self.lost = self.events = self.written = 0
        self.passed: list[dict[str, int]] = []
        self._closed = self._taken = self._delay = 0
        self._packet = b""
        self.packets: list[bytes] = []
        self.kinds: deque[Kind] = deque()
        """Kinds of the descriptors that wait for their end."""
        self.fence_status = Status.OK
        self.answer(self._end)
        self.answer(self._complete)
        self.watch(self._note)

    def _complete(self) -> None:
        """Give the completion whose time has come."""
        due = bool(self.answers) and self.answers[0][0] <= self.cycle
        self.dut.completion_i.value = int(due)
        if due:
            self.dut.completion_tag_i.value = self.answers.popleft()[1]

    def _end(self) -> None:
        """Drive the end of the oldest descriptor whose payload is over."""
        self._delay -= 1
        kind = self.kinds[0] if self.kinds else None
        ends = kind is not None and self._delay <= 0 and (kind.tag is not None or len(self.packets) > self._closed)
        self.dut.status_valid_i.value = int(ends)
        if not ends or kind is None:
            return
        self.kinds.popleft()
        self._delay = self.random.randrange(8)
        if kind.tag is not None:
            status = self.fence_status
            if status is Status.OK and (delay := self.answer_delay()):
                self.answers.append((self.cycle + delay, kind.tag))
        else:
            self._closed += 1
            status = Status.OK if kind.is_event else self.endings.popleft()
        self.dut.status_i.value = status

    def _note(self) -> None:
        assert not (self.kinds and now(self.dut.idle_o)), "it is idle with descriptors under way"
        if now(self.dut.status_valid_o):
            self.ended.append(Status(now(self.dut.status_o)))
            self.streams.append(now(self.dut.status_stream_o))
        self.lost += now(self.dut.lost_o)
        self.events += now(self.dut.event_o)
        self.written += now(self.dut.written_o)
        self.unanswered += now(self.dut.unanswered_o)
        for item in self.out.items[len(self.passed) :]:
            bd = BD_T.unpack(item["tdata"])
            self.passed.append(bd)
            is_event = BASE <= bd["destination"] < BASE + (TRAILER_BYTES << LOG2)
            fence = bool(item["tuser"] >> 5)
            self.kinds.append(Kind(is_event, item["tuser"] & 31 if fence else None))
            if fence:
                assert bd["length"] == 1
                self.fences.append(bd["destination"])
        while self._taken < len(self.out_payload.items):
            beat = self.out_payload.items[self._taken]
            self._taken += 1
            size = beat["tkeep"].bit_length()
            self._packet += beat["tdata"].to_bytes(self.width // 8, "little")[:size]
            if beat["tlast"]:
                self.packets.append(self._packet)
                self._packet = b""

    def _give(self, destination: int, payload: bytes, status: Status, last: bool = False, stream: int = 0) -> None:
        fields = dict.fromkeys(BD_T.fields, 0) | {
            "destination": destination,
            "length": len(payload),
            "last": last,
            "qp": stream,
        }
        self.bds.items.append({"tdata": BD_T.pack(fields)})
        self.payload.send(payload, self.width, tuser=0)
        self.data.append((destination, payload))
        self.endings.append(status)

    def frame(self, number: int, rows: list[int], bad: Status = Status.OK) -> None:
        """A frame of rows of so many bytes, one of which ends in `bad`."""
        wrong = self.random.randrange(len(rows) + 1)
        for index, length in enumerate(rows):
            self._give(number << 12, self.random.randbytes(length), bad if index == wrong else Status.OK)
        trailer = Trailer(7, number % 5, number, number * 3, number * 5, sum(rows), len(rows), 0, number).pack()
        self._give((number << 12) + 2048, trailer, bad if wrong == len(rows) else Status.OK, last=True)
        self.frames.append((trailer, bad))
        self.trailers.append((number << 12) + 2048)

    def consume(self, count: int) -> None:
        self.consumed += count
        self.dut.consumed_i.value = self.consumed

    async def finish(self) -> None:
        """Until all frames have an event, or have lost it."""
        frames = len(self.frames)
        await self.until(lambda: self.lost + self.events == frames)
        await self.until(lambda: len(self.packets) == len(self.data) + self.events and not self.kinds)
        for _ in range(20):
            await self.step()
        assert now(self.dut.idle_o)

    def check(self) -> None:
        """Data in their order, events in theirs, none before the end of its frame."""
        bds = [BD_T.unpack(item["tdata"]) for item in self.out.items if not item["tuser"]]
        assert len(bds) == len(self.packets)
        data, events = [], []
        lasts = 0
        for bd, payload in zip(bds, self.packets, strict=True):
            where = bd["destination"]
            assert bd["length"] == len(payload)
            if BASE <= where < BASE + (TRAILER_BYTES << LOG2):
                events.append((where, payload))
                assert len(events) <= lasts, "an event came before its frame was passed on"
            else:
                data.append((where, payload))
                lasts += bd["last"]
        assert data == self.data
        expected = [self.model.event(*frame, self.consumed) for frame in self.frames]
        written = [(write.offset, entry) for each in expected if each for write, entry in [each]]
        assert events == written
        assert (self.lost, self.events, self.written) == (self.model.lost, len(written), len(written))
        assert now(self.dut.produced_o) == self.model.produced
        assert len(self.ended) == len(self.data)


def some_rows(bench: QueueBench) -> list[int]:
    """Frames of one to three transfers, most of them small."""
    return [bench.random.choice([1, 64, 65, 300]) for _ in range(bench.random.randrange(1, 4))]


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS)
async def each_frame_has_its_event_behind_it_and_says_how_it_ended(dut: Any, stalls: Stalls) -> None:
    bench = QueueBench(dut, stalls)
    await bench.reset()
    for number in range(60):
        if number % 5 == 0:
            await bench.finish()
            bench.consume(number - bench.consumed)
        bad = bench.random.choice([Status.OK, Status.OK, Status.NO_PAGE, Status.BAD_PAYLOAD])
        bench.frame(number, some_rows(bench), bad)
    await bench.finish()
    bench.check()


@cocotb.test()
@cocotb.parametrize(stalls=[Stalls.NONE, Stalls.BOTH])
async def frames_whose_events_have_no_room_go_on(dut: Any, stalls: Stalls) -> None:
    """Software reads nothing: the queue fills, and what comes then is lost and counted."""
    bench = QueueBench(dut, stalls)
    await bench.reset()
    for number in range(40):
        bench.frame(number, [64])
    await bench.finish()
    bench.check()
    assert bench.lost == 40 - (1 << LOG2)


@cocotb.test()
async def many_small_frames_before_the_first_has_ended(dut: Any) -> None:
    """More of them than trailers are kept: the next wait, and nothing hangs."""
    bench = QueueBench(dut)
    await bench.reset()
    bench.consume(1 << LOG2)
    bench._delay = 300
    for number in range(50):
        bench.frame(number, [1])
    await bench.finish()
    assert [status for status in bench.ended if status is not Status.OK] == []
    assert bench.lost + bench.events == 50


@cocotb.test()
async def without_events_all_passes_as_it_came(dut: Any) -> None:
    bench = QueueBench(dut)
    dut.enabled_i.value = 0
    await bench.reset()
    for number in range(20):
        bench.frame(number, some_rows(bench))
    bench.frames.clear()
    await bench.finish()
    bench.check()


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS)
async def an_event_waits_for_the_completion_of_its_fence_and_data_do_not(dut: Any, stalls: Stalls) -> None:
    bench = QueueBench(dut, stalls)
    dut.fence_i.value = 1
    await bench.reset()
    for number in range(40):
        if number % 8 == 0:
            await bench.finish()
            bench.consume(number - bench.consumed)
        bench.frame(number, some_rows(bench), bench.random.choice([Status.OK, Status.NO_PAGE]))
    await bench.finish()
    bench.check()
    assert bench.fences == bench.trailers
    assert bench.unanswered == 0
    kinds = ["fence" if item["tuser"] else "data" for item in bench.out.items]
    assert "data data" in " ".join(kinds)


@cocotb.test()
async def an_event_is_not_sent_before_the_completion(dut: Any) -> None:
    bench = QueueBench(dut)
    dut.fence_i.value = 1
    bench.answer_delay = lambda: 500
    await bench.reset()
    bench.frame(0, [100])
    await bench.until(lambda: bool(bench.answers))
    for _ in range(490):
        await bench.step()
        assert bench.events == 0
    await bench.finish()
    bench.check()


@cocotb.test()
async def a_fence_without_completion_ends_and_a_late_one_is_not_the_nexts(dut: Any) -> None:
    bench = QueueBench(dut)
    dut.fence_i.value, dut.fence_limit_i.value = 1, 200
    await bench.reset()
    delays = iter([0, 300, 30, 250, 10])
    bench.answer_delay = lambda: next(delays)
    for number in range(5):
        bench.frame(number, [64])
    await bench.finish()
    ended = [Status.UNANSWERED, Status.UNANSWERED, Status.OK, Status.UNANSWERED, Status.OK]
    bench.frames = deque((trailer, status) for (trailer, _), status in zip(bench.frames, ended, strict=True))
    bench.check()
    assert bench.unanswered == 3


@cocotb.test()
async def a_fence_that_cannot_be_sent_is_not_waited_for(dut: Any) -> None:
    bench = QueueBench(dut)
    dut.fence_i.value, dut.fence_limit_i.value = 1, 0xFFFFFF
    await bench.reset()
    bench.fence_status = Status.NO_PAGE
    for number in range(3):
        bench.frame(number, [64])
    await bench.finish()
    bench.frames = deque((trailer, Status.NO_PAGE) for trailer, _ in bench.frames)
    bench.check()


@cocotb.test()
async def a_fence_that_is_answered_with_an_error_costs_the_status(dut: Any) -> None:
    bench = QueueBench(dut)
    dut.fence_i.value, dut.completion_bad_i.value = 1, 1
    await bench.reset()
    for number in range(3):
        bench.frame(number, [64])
    await bench.finish()
    bench.frames = deque((trailer, Status.FENCE_REFUSED) for trailer, _ in bench.frames)
    bench.check()


@cocotb.test()
@cocotb.parametrize(stalls=[Stalls.NONE, Stalls.BOTH])
async def frames_of_two_streams_come_mixed_and_each_has_its_own_status(dut: Any, stalls: Stalls) -> None:
    """Descriptors of frames of stream 0 between those of stream 1: an end that is bad is said of its own frame."""
    bench = QueueBench(dut, stalls)
    await bench.reset()
    expected_streams = []
    for number in range(0, 8, 2):
        bad = [bench.random.choice([Status.OK, Status.NO_PAGE, Status.SHORT]) for _ in range(2)]
        turns = [0, 1, 0, 1, 1, 0, 0, 1]
        bench.random.shuffle(turns)
        left = [turns.count(0), turns.count(1)]
        for stream in turns:
            left[stream] -= 1
            at = (number + stream) << 12
            expected_streams.append(stream)
            if left[stream]:
                bench._give(at, bench.random.randbytes(64), bad[stream], stream=stream)
                continue
            trailer = Trailer(7, 1, number + stream, 3, 5, 64, 1, 0, number).pack()
            bench._give(at + 2048, trailer, Status.OK, last=True, stream=stream)
            bench.frames.append((trailer, bad[stream]))
    await bench.finish()
    bench.check()
    assert bench.streams == expected_streams


@pytest.mark.parametrize("width", some_widths("event_queue", (128, 256, 512)))
def test_event_queue(width: int) -> None:
    run("event_queue", DataW=width)
