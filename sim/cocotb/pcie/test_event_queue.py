"""event_queue: behind each frame an event with how it ended, in its order; no room loses it and holds nothing up."""

from collections import deque
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
        self.consumed = 0
        self.data: list[tuple[int, bytes]] = []
        """Descriptors that were given, with their payload."""
        self.frames: deque[tuple[bytes, Status]] = deque()
        """Frames whose events have not come: trailer, how it ends."""
        self.endings: deque[Status] = deque()
        """How data descriptors will end, in their order."""
        self.ended: list[Status] = []
        self.lost = self.events = 0
        self._seen = self._seen_bytes = 0
        self._closed: deque[int] = deque()
        self._delay = 0
        self._packet = b""
        self.packets: list[bytes] = []
        self.kinds: deque[bool] = deque()
        """Of descriptors that wait for their end: whether each is an event's."""
        self.answer(self._end)
        self.watch(self._note)

    def _end(self) -> None:
        """Drive the end of the oldest descriptor whose payload is over."""
        self._delay -= 1
        ends = bool(self.kinds) and len(self.packets) > self._seen_bytes and self._delay <= 0
        self.dut.status_valid_i.value = int(ends)
        self._ends = ends
        if not ends:
            return
        self._seen_bytes += 1
        self._delay = self.random.randrange(8)
        is_event = self.kinds.popleft()
        status = Status.OK if is_event else self.endings.popleft()
        self.dut.status_i.value = status

    def _note(self) -> None:
        if now(self.dut.status_valid_o):
            self.ended.append(Status(now(self.dut.status_o)))
        self.lost += now(self.dut.lost_o)
        self.events += now(self.dut.event_o)
        for item in self.out.items[self._seen :]:
            bd = BD_T.unpack(item["tdata"])
            self.kinds.append(BASE <= bd["destination"] < BASE + (TRAILER_BYTES << LOG2))
        self._seen = len(self.out.items)
        while self._taken < len(self.out_payload.items):
            beat = self.out_payload.items[self._taken]
            self._taken += 1
            size = beat["tkeep"].bit_length()
            self._packet += beat["tdata"].to_bytes(self.width // 8, "little")[:size]
            if beat["tlast"]:
                self.packets.append(self._packet)
                self._packet = b""

    _taken = 0

    def _give(self, destination: int, payload: bytes, status: Status, last: bool = False) -> None:
        fields = dict.fromkeys(BD_T.fields, 0) | {"destination": destination, "length": len(payload), "last": last}
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

    def check(self) -> None:
        """Data in their order, events in theirs, none before the end of its frame."""
        bds = [BD_T.unpack(item["tdata"]) for item in self.out.items]
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
        assert (self.lost, self.events) == (self.model.lost, len(written))
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


@pytest.mark.parametrize("width", some_widths("event_queue", (128, 256, 512)))
def test_event_queue(width: int) -> None:
    run("event_queue", DataW=width)
