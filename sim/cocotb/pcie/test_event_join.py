"""event_join: payload and entries of events in the order of their descriptors; a lost event's trailer is forgotten."""

from typing import Any

import cocotb
import pytest

from bench import ALL_STALLS, Bench, Stalls, run
from framelane.models.pcie import event_queue
from framelane.models.pcie.tlp_split import Status
from framelane.models.placement.trailer import TRAILER_BYTES, Trailer
from signals import now
from widths import some_widths

ENTRIES = 4
LOST = 1 << 5
PHASE = 1 << 4


class JoinBench(Bench):
    """Turns, marks and payload as event_queue gives them."""

    def __init__(self, dut: Any, stalls: Stalls = Stalls.NONE) -> None:
        super().__init__(dut, stalls)
        self.width = int(dut.DataW.value)
        self.payload, self.out = self.source("s_axis_payload"), self.sink("m_axis_payload")
        self.marks = self.source("s_axis_mark")
        self.turns: list[tuple[int, int]] = []
        self.expected: list[bytes] = []
        self.forgotten = 0
        self.trailers: list[int] = []
        """Which of the packets are trailers."""
        self.waiting: list[tuple[int, int]] = []
        """Marks, each given when the packet of its trailer has passed."""
        self.answer(self._turn)
        self.watch(self._taken)

    def _turn(self) -> None:
        self.dut.s_axis_turn_tvalid.value = int(bool(self.turns))
        if self.turns:
            self.dut.s_axis_turn_event.value, self.dut.s_axis_turn_keeps.value = self.turns[0]

    def _taken(self) -> None:
        passed = sum(item["tlast"] for item in self.out.items)
        while self.waiting and passed > self.waiting[0][0]:
            self.marks.items.append({"tdata": self.waiting.pop(0)[1]})
        self.forgotten += now(self.dut.forgets_o)
        if self.turns and now(self.dut.s_axis_turn_tready):
            self.turns.pop(0)

    def give(self, payload: bytes, keeps: bool = False) -> None:
        """A descriptor's payload; `keeps`: a trailer whose event follows."""
        self.turns.append((0, int(keeps)))
        self.payload.send(payload, self.width, tuser=0)
        self.expected.append(payload)

    def trailer(self, number: int) -> bytes:
        data = Trailer(7, number % 5, number, number * 3, number * 5, 17, 2, 0, number).pack()
        self.trailers.append(len(self.expected))
        self.give(data, keeps=True)
        return data

    def event(self, trailer: bytes, number: int, status: Status) -> None:
        """The oldest trailer's event, number `number`."""
        self.turns.append((1, 0))
        phase = PHASE if number // ENTRIES % 2 == 0 else 0
        self.waiting.append((self.trailers.pop(0), phase | status))
        self.expected.append(event_queue.entry(trailer, number, ENTRIES, status))


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS)
async def events_come_in_their_turn_with_phase_and_status(dut: Any, stalls: Stalls) -> None:
    bench = JoinBench(dut, stalls)
    await bench.reset()
    waiting: list[bytes] = []
    number = 0
    for frame in range(60):
        for _ in range(bench.random.randrange(3)):
            bench.give(bench.random.randbytes(bench.random.choice([1, 63, 64, 65, 200])))
        waiting.append(bench.trailer(frame))
        while waiting and (len(waiting) > 8 or bench.random.random() < 0.4):
            bench.event(waiting.pop(0), number, bench.random.choice(list(Status)))
            number += 1
        await bench.until(lambda: not bench.turns, 2000)
    for trailer in waiting:
        bench.event(trailer, number, Status.OK)
        number += 1
    await bench.until(lambda: bench.forgotten == number, 2000)
    await bench.until(lambda: sum(i["tlast"] for i in bench.out.items) == len(bench.expected), 2000)
    assert bench.out.packets(bench.width) == bench.expected
    assert number == 60


@cocotb.test()
async def a_lost_events_trailer_is_not_the_nexts(dut: Any) -> None:
    bench = JoinBench(dut)
    await bench.reset()
    trailers = [bench.trailer(number) for number in range(6)]
    for number, trailer in enumerate(trailers):
        if number % 2 == 0:
            bench.event(trailer, number, Status.OK)
        else:
            bench.waiting.append((bench.trailers.pop(0), LOST | PHASE))
    await bench.until(lambda: bench.forgotten == 6, 500)
    await bench.until(lambda: sum(i["tlast"] for i in bench.out.items) == len(bench.expected), 500)
    assert bench.out.packets(bench.width) == bench.expected
    assert all(len(each) == TRAILER_BYTES for each in bench.expected)


@pytest.mark.parametrize("width", some_widths("event_join", (128, 256, 512)))
def test_event_join(width: int) -> None:
    run("event_join", DataW=width)
