"""bd_gen: whole plans of flows against the model, at random; the next frame is placed while one leaves."""

from dataclasses import replace
from typing import Any

import cocotb
import pytest

from bench import ALL_STALLS, Bench, Stalls, run
from framelane.driver.simulated import ports
from framelane.driver.simulated.ports import BD_T, TRAILER_T
from framelane.models.placement.bd_gen import BdGen
from framelane.models.placement.flow import Destination, Flow, FrameEvent
from signals import now, twice

FLOWS, DESTINATIONS, MTU = 4, 16, 1024
FLOW = Flow(source=9, first_destination=0, width=10, height=6, source_pitch=64, destination_pitch=100)
RING = Destination(qp=3, base=0x7F00_0000_1000, slot_bytes=8192, n_slots=3, trailer_offset=8128)


class BdGenBench(Bench):
    """The generator with both tables behind it, beside its model."""

    def __init__(self, dut: Any, stalls: Stalls, flows: list[Flow], destinations: list[Destination]) -> None:
        super().__init__(dut, stalls)
        self.frames = self.source("s_axis_frame")
        self.bds, self.trailers = self.sink("m_axis_bd"), self.sink("m_axis_trailer")
        self.overs, self.counts = self.sink("m_axis_over"), self.sink("m_axis_count")
        self.flows, self.destinations = flows, destinations
        self._asked = (0, 0)
        dut.armed_i.value = dut.room_i.value = 1
        dut.mtu_log2_i.value = MTU.bit_length() - 1
        self.answer(self._look_up)
        self.watch(self._sample)

    async def start(self) -> None:
        """Reset the generator, also in the middle of its work, and its model."""
        await self.reset(cycles=1)
        self.model = BdGen(tuple(self.flows), tuple(self.destinations), (MTU,) * len(self.destinations))
        self.expected: list[int] = []
        self.expected_trailers: list[int] = []
        self.expected_overs: list[int] = []

    def _look_up(self) -> None:
        flow, entry = self._asked
        known = self.destinations[entry] if entry < len(self.destinations) else None
        self.dut.flow_i.value = ports.flow_t(self.flows[flow]) if flow < len(self.flows) else 0
        self.dut.destination_i.value = ports.destination_t(known, self.model.window_ends[entry]) if known else 0

    def _sample(self) -> None:
        self._asked = twice(self.dut.flow_index_o), now(self.dut.destination_index_o)

    def offer(self, number: int, kind: int = 0, kind_index: int = 0) -> None:
        bits = self.random.getrandbits
        event = FrameEvent(
            number, bits(64), bits(64), bits(64), kind, kind_index, (number + 1) * 0x9E37_79B9 & 0xFFFF_FFFF
        )
        self.frames.items.append({"tdata": ports.frame_t(event)})
        if not int(self.dut.TimeFlags.value):
            event = replace(event, time_flags=0)
        for descriptors, trailer in self.model.frame(event):
            self.expected += [BD_T.pack({n: getattr(bd, n) for n in BD_T.fields}) for bd in descriptors]
            self.expected_trailers.append(TRAILER_T.pack({n: getattr(trailer, n) for n in TRAILER_T.fields}))
        self.expected_overs.append(len(self.expected) & 0xFFFF)

    async def check(self) -> None:
        await self.drain(self.overs, len(self.expected_overs), quiet=50)
        for got, wanted in zip(self.bds.items, self.expected, strict=True):
            assert BD_T.unpack(got["tdata"]) == BD_T.unpack(wanted)
        assert [item["tdata"] for item in self.trailers.items] == self.expected_trailers
        assert [item["tdata"] for item in self.overs.items] == self.expected_overs
        assert now(self.dut.idle_o)


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS)
async def three_flows_of_one_detector(dut: Any, stalls: Stalls) -> None:
    """Whole frames to two receivers in bunches, a region of every 10th, dark frames to a third."""
    rings = [replace(RING, base=k << 40, n_slots=k + 2, qp=k) for k in range(4)]
    whole = replace(FLOW, width=32, source_pitch=64, destination_pitch=64, destinations=2, bunch=3)
    region = replace(FLOW, first_destination=2, x0=3, y0=2, width=5, height=3, x1=1, y1=1, period=10, first=1)
    dark = replace(whole, first_destination=3, kind=1, bunch=1, destinations=1)
    bench = BdGenBench(dut, stalls, [whole, region, dark], rings)
    await bench.start()
    for n in range(30):
        bench.offer(n, kind=n % 4 == 3, kind_index=n // 4 if n % 4 == 3 else n - n // 4)
    await bench.check()


@cocotb.test()
async def random_plans(dut: Any) -> None:
    bench = BdGenBench(dut, Stalls.NONE, [], [])
    draw, bits = bench.random.randrange, bench.random.getrandbits
    for _ in range(60):
        bench.destinations = [
            Destination(bits(8), bits(64), 4096 * (1 + draw(4)), 1 + bits(draw(33)) % 0xFFFFFFFF, 4032)
            for _ in range(16)
        ]
        bench.flows = []
        for first in range(0, 16, 4):
            width, period = 1 + draw(40), 1 + draw(4)
            bench.flows.append(
                Flow(
                    **{
                        "source": bits(8),
                        "first_destination": first,
                        "destinations": 1 + draw(4),
                        "bunch": 1 + draw(3),
                    },
                    first=draw(5),
                    period=period,
                    burst=1 + draw(period),
                    count=draw(2) * draw(6),
                    kind=(None, draw(3))[draw(2)],
                    wide=bool(draw(2)),
                    x0=bits(16),
                    y0=bits(16),
                    width=width,
                    height=1 + draw(40),
                    x1=draw(10),
                    y1=draw(10),
                    source_pitch=(2 * width, bits(32))[draw(2)],
                    source_offset=bits(32),
                    destination_pitch=width * 4 * (1 + draw(2)),
                    max_length=(1 << 31, 1 + draw(99))[draw(2)],
                )
            )
        await bench.start()
        bench.model.window_ends = [(draw(6), (1 << 64) - 1)[draw(2)] for _ in range(16)]
        number = 0
        for _ in range(8):
            kind = draw(3)
            bench.offer(number, kind, number // 3)
            number += 1 + draw(2) * draw(4)
        await bench.check()
    assert bench.model.placer.counts.selected


@cocotb.test()
async def the_next_frame_is_placed_while_one_leaves(dut: Any) -> None:
    lines = replace(FLOW, width=20, height=200)
    bench = BdGenBench(dut, Stalls.NONE, [lines], [replace(RING, slot_bytes=1 << 16, trailer_offset=(1 << 16) - 64)])
    await bench.start()
    for n in range(10):
        bench.offer(n)
    await bench.check()
    cycles = bench.bds.taken[-1] - bench.bds.taken[0] + 1
    assert cycles <= 10 * 201 + 9 * 6, "more than 6 cycles between two frames"


@cocotb.test()
async def a_reset_starts_anew_whatever_was_under_way(dut: Any) -> None:
    bench = BdGenBench(dut, Stalls.NONE, [FLOW, replace(FLOW, first_destination=1)], [RING, RING])
    for cycles in range(0, 200, 7):
        await bench.start()
        for n in range(3):
            bench.offer(n)
        for _ in range(cycles):
            await bench.step()
        await bench.start()
        bench.offer(2)
        await bench.check()


@pytest.mark.parametrize("flags", [0, 1])
def test_bd_gen(flags: int) -> None:
    run("bd_gen", Flows=FLOWS, Destinations=DESTINATIONS, TimeFlags=flags)
