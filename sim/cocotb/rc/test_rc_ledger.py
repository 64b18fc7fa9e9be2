"""rc_ledger: a frame is held by its descriptors and its transmissions, and released in order when none is left."""

from collections import deque
from dataclasses import asdict, dataclass
from typing import Any

import cocotb

from bench import ALL_STALLS, Bench, Stalls, run
from counter_ports import counter
from framelane.driver.simulated.ports import BD_T, COUNT_T
from framelane.models.rc.rc_ledger import RcLedger
from framelane.models.rc.rc_ring import Retired
from rc_ports import ITEM_T, RETIRED_T
from signals import now

TAGS = 8


@dataclass
class Kept:
    """A descriptor of RC: transmissions still to come before it may be retired."""

    tag: int
    last: bool
    destination: int
    left: int


class LedgerBench(Bench):
    """The block beside its model; descriptors, transmissions and ends happen at random."""

    def __init__(self, dut: Any, stalls: Stalls) -> None:
        super().__init__(dut, stalls)
        self.overs, self.items = self.source("s_axis_over"), self.source("s_axis_item")
        self.ends, self.counts = self.source("s_axis_retired"), self.sink("m_axis_count")
        for name in ("accepted_i", "issued_i", "issued_tag_i", "ended_i", "failed_i"):
            getattr(dut, name).value = 0
        self.model = RcLedger(TAGS)
        self.released = self.accepted = 0
        self.kept: deque[Kept] = deque()
        self._seen = {"over": 0, "item": 0, "end": 0}
        self._items: list[tuple[int, bool, bool, int]] = []
        self._ends: list[Retired] = []
        self.leaving = 0
        self.watch(self._sample)

    def _sample(self) -> None:
        """What was handed over in this cycle, in the model."""
        assert not now(self.dut.accepted_i) or now(self.dut.tag_o) == self.model.tag
        self.released += now(self.dut.release_o)
        assert self.released <= self.model.released, "released while somebody needs it"
        if len(self.items.accepted) > self._seen["item"]:
            self.model.item(*self._items[self._seen["item"]])
            self._seen["item"] += 1
            self.leaving += 1
        if len(self.ends.accepted) > self._seen["end"]:
            self.model.retired(self._ends[self._seen["end"]])
            self._seen["end"] += 1
        if len(self.overs.accepted) > self._seen["over"]:
            self.model.over()
            self._seen["over"] += 1

    async def start(self) -> None:
        await self.reset()
        await self.until(lambda: bool(now(self.dut.ready_o)), limit=TAGS + 5)

    async def accept(self, rc: bool, last: bool, destination: int) -> None:
        """A descriptor; one that is not of RC leaves at once."""
        tag = self.model.tag
        self.dut.accepted_i.value = 1
        await self.step()
        self.dut.accepted_i.value = 0
        self.model.accepted()
        self.accepted += 1
        if rc:
            self.kept.append(Kept(tag, last, destination, self.random.randrange(4)))
        else:
            self._leave(tag, False, last, destination)

    def _leave(self, tag: int, rc: bool, last: bool, destination: int) -> None:
        bd = dict.fromkeys(BD_T.fields, 0) | {"last": last, "destination_index": destination}
        fields = {"tag": tag, "rc": rc, "resume": 0, "psn": 0, "bd": BD_T.pack(bd)}
        self._items.append((tag, rc, last, destination))
        self.items.items.append({"tdata": ITEM_T.pack(fields)})

    async def over(self) -> None:
        self.overs.items.append({"tdata": self.accepted & 0xFFFF})
        while self.overs.items:
            await self.act()

    async def act(self) -> None:
        """A transmission begins, one ends, or a descriptor is retired."""
        draw = self.random.randrange
        match draw(4):
            case 0 if self.kept and self.kept[0].left:
                first = self.kept[0]
                first.left -= 1
                self.dut.issued_i.value, self.dut.issued_tag_i.value = 1, first.tag
                await self.step()
                self.dut.issued_i.value = 0
                self.model.issued(first.tag)
                self._leave(first.tag, True, first.last, first.destination)
            case 1 if self.leaving:
                failed = draw(5) == 0
                self.dut.ended_i.value, self.dut.failed_i.value = 1, failed
                self.leaving -= 1
                await self.step()
                self.dut.ended_i.value = 0
                self.model.ended(failed)
            case 2 if self.kept and not self.kept[0].left:
                first = self.kept.popleft()
                end = Retired(first.tag, first.last, first.destination, draw(3) == 0)
                self._ends.append(end)
                self.ends.items.append({"tdata": RETIRED_T.pack(asdict(end))})
            case _:
                await self.step()

    async def finish(self) -> None:
        for _ in range(20_000):
            if self.kept or self.leaving or self.items.items or self.ends.items:
                await self.act()
        for _ in range(50):
            await self.step()
        found: dict[int, int] = {}
        for item in self.counts.items:
            count = COUNT_T.unpack(item["tdata"])
            found[count["index"]] = found.get(count["index"], 0) + count["amount"]
        ends = (("sent", self.model.sent), ("failed", self.model.failed))
        assert found == {
            counter(f"destination_counters[].{name}", d): n for name, known in ends for d, n in known.items()
        }
        assert self.released == self.model.released == self.model.begun
        assert now(self.dut.idle_o)


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS)
async def frames_are_counted_and_released_as_the_model_does(dut: Any, stalls: Stalls) -> None:
    bench = LedgerBench(dut, stalls)
    await bench.start()
    draw = bench.random.randrange
    for _ in range(150):
        for _ in range(draw(3)):
            rc, destination, rows = bool(draw(2)), draw(256), draw(1, 5)
            for row in range(rows):
                await bench.accept(rc, row == rows - 1, destination)
                for _ in range(draw(4)):
                    await bench.act()
        await bench.over()
    await bench.finish()
    assert bench.model.failed
    assert bench.model.sent


@cocotb.test()
async def memory_is_held_by_a_transmission_of_what_is_acknowledged_already(dut: Any) -> None:
    bench = LedgerBench(dut, Stalls.NONE)
    await bench.start()
    await bench.accept(True, True, 3)
    first = bench.kept.popleft()
    for _ in range(2):
        dut.issued_i.value, dut.issued_tag_i.value = 1, first.tag
        await bench.step()
        dut.issued_i.value = 0
        bench.model.issued(first.tag)
        bench._leave(first.tag, True, True, 3)
    bench.overs.items.append({"tdata": 1})
    bench._ends.append(Retired(first.tag, True, 3, False))
    bench.ends.items.append({"tdata": RETIRED_T.pack(asdict(bench._ends[0]))})
    for ended in range(2):
        for _ in range(20):
            await bench.step()
        assert bench.released == 0, f"released with {2 - ended} transmissions under way"
        dut.ended_i.value, dut.failed_i.value = 1, 1
        bench.leaving -= 1
        await bench.step()
        dut.ended_i.value = 0
        bench.model.ended(True)
    await bench.finish()
    assert bench.model.sent == {3: 1}, "an RC message that left badly is not a lost frame"


@cocotb.test()
async def the_end_of_a_frame_waits_for_a_tag(dut: Any) -> None:
    bench = LedgerBench(dut, Stalls.NONE)
    await bench.start()
    for _ in range(TAGS):
        await bench.accept(True, True, 1)
        bench.overs.items.append({"tdata": bench.accepted})
        for _ in range(10):
            await bench.step()
    assert len(bench.overs.items) == 1
    await bench.finish()
    assert bench.released == TAGS


def test_rc_ledger() -> None:
    run("rc_ledger", Tags=TAGS)
