"""det_place: each of impaired packets has its place once, and frames that are over have exact masks."""

import os
from collections import Counter
from dataclasses import replace
from typing import Any

import cocotb
import pytest

from bench import ALL_STALLS, Bench, Stalls, run
from det_packets import head_bits, item_of
from framelane.driver.simulated.ports import target_t
from framelane.models.detector.det_header import DetFate, Head
from framelane.models.detector.det_place import DetPlace, Item, Target
from framelane.models.placement.slots import FREE_RUNNING
from signals import now

IMPAIRED = int(os.environ.get("FRAMELANE_IMPAIRED_PACKETS", "4000"))
MODULES, PACKETS, BYTES, UNIT_NS = 3, 16, 8192, 100
TARGET = Target(
    **{"base": 0x7F00_0000_1000, "slot_bytes": 0x63000, "slots_log2": 3, "first": 1000, "reach": 500},
    **{"mask_offset": MODULES * PACKETS * BYTES, "trailer_offset": 0x62F00},
)
NEVER = 0xFFFF


class PlaceBench(Bench):
    def __init__(self, dut: Any, stalls: Stalls = Stalls.NONE, target: Target = TARGET) -> None:
        super().__init__(dut, stalls)
        self.bits = int(dut.FrameW.value)
        self.heads, self.tails = self.source("s_axis_head"), self.source("s_axis_tail")
        self.out = self.sink("m_axis_item")
        dut.tick_i.value = dut.flush_i.value = 0
        dut.timeout_i.value, dut.window_end_i.value = NEVER, FREE_RUNNING
        self.begin(target)
        self.fates: list[DetFate] = []
        self.expected: list[Item] = []
        self.judged: list[DetFate] = []
        self.watch(self._look)

    def begin(self, target: Target) -> None:
        self.dut.target_i.value = target_t(target)
        self.model = DetPlace(target, MODULES, PACKETS, BYTES, self.bits, UNIT_NS)

    def credit(self, window_end: int) -> None:
        self.dut.window_end_i.value = self.model.window_end = window_end

    def _look(self) -> None:
        if now(self.dut.fate_valid_o):
            self.fates.append(DetFate(now(self.dut.fate_o)))

    def head(self, frame: int, packet: int, module: int = 0, **fields: int) -> Head:
        """A packet of a frame of the ring."""
        number = (1000 + frame) % (1 << self.bits)
        known = {"identity": module, "bunch_id": 3 * frame, "timestamp": 10 * frame + module, "port": 0}
        return Head(**known | {"number": number, "packet": packet, "module_number": module} | fields)

    def send(self, head: Head, bad: bool = False) -> DetFate:
        self.heads.items.append({"tdata": head_bits(head)})
        self.tails.items.append({"tdata": int(bad)})
        fate, items = self.model.packet(head, bad)
        self.judged.append(fate)
        self.expected += items
        return fate

    async def check(self) -> None:
        """What came out by now is what the model says."""
        await self.until(lambda: not self.heads.items and len(self.out.items) >= len(self.expected), 5_000_000)
        for _ in range(30):
            await self.step()
        assert [item_of(i["tdata"], i["tuser"]) for i in self.out.items] == self.expected
        assert self.fates == self.judged


def send_impaired(bench: PlaceBench, count: int) -> None:
    """Packets of frames that go on: out of order, lost, twice, with leaps, restarts, bad ones and foreign ones."""
    chance, sent = bench.random, 0
    base = [chance.randrange(3) for _ in range(MODULES)]
    waiting: list[Head] = []
    while sent < count:
        module = chance.randrange(MODULES)
        if chance.random() < 0.05:
            base[module] += chance.choice((2, 3, 7, 300, 499, 500, 501, 502, 2000))
        if chance.random() < 0.02:
            base[module] = max(0, base[module] - chance.choice((1, 2, 50)))
        frame = base[module]
        base[module] += 1
        for packet in range(PACKETS):
            if chance.random() > 0.1:
                waiting.append(bench.head(frame, packet, module, port=packet // (PACKETS // 2)))
            if chance.random() < 0.05:
                waiting.append(bench.head(frame, packet, module, port=packet // (PACKETS // 2), identity=99))
        if chance.random() < 0.7:
            waiting[-24:] = chance.sample(waiting[-24:], len(waiting[-24:]))
        while len(waiting) > 40:
            each = waiting.pop(0)
            if chance.random() < 0.05:
                waiting.insert(chance.randrange(30), each)
            bench.send(each, chance.random() < 0.05)
            sent += 1


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS)
async def a_frame_is_over_with_its_last_packet_in_any_order(dut: Any, stalls: Stalls) -> None:
    bench = PlaceBench(dut, stalls)
    await bench.reset()
    for frame in range(4):
        both = [(packet, module) for packet in range(PACKETS) for module in range(2)]
        for packet, module in bench.random.sample(both, len(both)):
            bench.send(bench.head(frame, packet, module))
    await bench.check()
    ends = [item.end for item in bench.expected if item.end]
    assert len(ends) == 8
    assert {end.mask for end in ends} == {(1 << PACKETS) - 1}
    assert {(end.frame_number, end.detector_frame) for end in ends} == {(n, 1000 + n) for n in range(4)}


@cocotb.test()
async def of_impaired_packets_all_is_as_by_the_model(dut: Any) -> None:
    bench = PlaceBench(dut)
    fates: Counter[DetFate] = Counter()
    for _ in range(max(1, IMPAIRED // 4000)):
        await bench.reset()
        bench.begin(TARGET)
        for kept in (bench.fates, bench.expected, bench.judged):
            kept.clear()
        send_impaired(bench, min(IMPAIRED, 4000))
        await bench.check()
        fates.update(bench.judged)
    assert set(fates) >= {DetFate.PLACED, DetFate.BAD, DetFate.LATE, DetFate.FOREIGN, DetFate.DUPLICATE}
    assert fates[DetFate.PLACED] > 0.2 * sum(fates.values())


@cocotb.test()
async def masks_and_places_are_those_of_the_packets_that_were_whole(dut: Any) -> None:
    """Without the model: what was sent against what came out."""
    bench = PlaceBench(dut)
    await bench.reset()
    sent: dict[tuple[int, int], set[int]] = {}
    for frame in range(40):
        for packet in bench.random.sample(range(PACKETS), PACKETS):
            for again in range(bench.random.choice((0, 1, 1, 2))):
                bad = bench.random.random() < 0.2
                bench.send(bench.head(frame, packet, frame % 2), bad)
                if not bad and again < 2:
                    sent.setdefault((frame % 2, frame), set()).add(packet)
    dut.flush_i.value = 0
    await bench.check()
    frames = {}
    for item in (item_of(i["tdata"], i["tuser"]) for i in bench.out.items):
        if item.end:
            frames[item.end.module_number, item.end.frame_number] = item.end
            assert item.address == TARGET.base + item.end.frame_number % 8 * TARGET.slot_bytes
    assert len(frames) >= 36
    for key, end in frames.items():
        assert end.mask == sum(1 << packet for packet in sent[key])


@cocotb.test()
async def without_credit_frames_are_dropped_whole_and_counted(dut: Any) -> None:
    bench = PlaceBench(dut)
    await bench.reset()
    bench.credit(2)
    for frame in (0, 1, 2, 3, 2, 3):
        bench.send(bench.head(frame, frame))
    await bench.check()
    bench.credit(5)
    fates = [bench.send(bench.head(frame, 7)) for frame in (3, 2, 4, 3, 5, 4, 6)]
    await bench.check()
    assert [fate.name for fate in fates] == ["CREDIT", "CREDIT", "PLACED", "CREDIT", "CREDIT", "DUPLICATE", "CREDIT"]
    bench.credit(100)
    bench.send(bench.head(20, 0))
    bench.send(bench.head(22, 0))
    await bench.check()
    assert bench.expected[-1].end
    assert bench.expected[-1].end.frames_dropped == 4


@cocotb.test()
async def a_frame_of_which_nothing_comes_is_over_after_its_time_and_a_flush_ends_all(dut: Any) -> None:
    bench = PlaceBench(dut)
    await bench.reset()
    dut.timeout_i.value = 5
    for module in range(2):
        bench.send(bench.head(3, 1, module))
        bench.send(bench.head(4, 2, module))
    await bench.check()
    for _ in range(5):
        assert len(bench.out.items) == 4
        assert not now(dut.idle_o)
        dut.tick_i.value = 1
        await bench.step()
        dut.tick_i.value = 0
        for _ in range(60):
            await bench.step()
    ends = [item_of(i["tdata"], i["tuser"]).end for i in bench.out.items[4:]]
    assert {(e.module_number, e.frame_number, e.mask) for e in ends if e} == {
        (module, 3 + k, 2 << k) for module in range(2) for k in range(2)
    }
    for module in range(2):
        for parity in range(2):
            item = bench.model.over(module, parity)
            assert item
            assert item.end in ends
    bench.expected = [item_of(i["tdata"], i["tuser"]) for i in bench.out.items]
    assert bench.send(bench.head(4, 3)) is DetFate.LATE
    bench.send(bench.head(5, 3))
    await bench.check()
    dut.flush_i.value = 1
    bench.expected += bench.model.flush()
    await bench.check()
    assert now(dut.idle_o)
    dut.flush_i.value = 0


@cocotb.test()
async def a_number_too_far_ahead_is_refused_and_changes_nothing(dut: Any) -> None:
    bench = PlaceBench(dut)
    await bench.reset()
    fates = [bench.send(bench.head(frame, 3)) for frame in (0, 500, 1001, 1000, 1502, 1001)]
    await bench.check()
    assert [fate.name for fate in fates] == ["PLACED", "PLACED", "NUMBER", "PLACED", "NUMBER", "PLACED"]


@cocotb.test()
async def the_place_is_known_five_cycles_behind_the_head(dut: Any) -> None:
    bench = PlaceBench(dut)
    for wait in range(12):
        await bench.reset()
        bench.begin(TARGET)
        bench.expected.clear()
        for _ in range(wait):
            await bench.step()
        bench.send(bench.head(0, 5))
        await bench.drain(bench.out, 1)
        assert bench.out.taken[0] - bench.heads.offered[0] == 5


@cocotb.test()
async def the_first_packet_may_say_which_frame_is_the_first(dut: Any) -> None:
    bench = PlaceBench(dut, target=replace(TARGET, first=None))
    await bench.reset()
    bench.send(bench.head(700, 0), bad=True)
    for frame, packet in ((50, 1), (49, 0), (50, 2), (51, 0), (52, 0), (53, 0)):
        bench.send(bench.head(frame, packet, 1))
    await bench.check()
    assert bench.judged[2] is DetFate.LATE
    assert [item.end.detector_frame for item in bench.expected if item.end] == [1050, 1051]


@pytest.mark.parametrize("frame_bits", [64, 16])
def test_det_place(frame_bits: int) -> None:
    run("det_place", Modules=MODULES, Packets=PACKETS, PacketBytes=BYTES, FrameW=frame_bits)
