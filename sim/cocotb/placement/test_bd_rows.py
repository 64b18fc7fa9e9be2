"""bd_rows: one descriptor a clock for every row, longer ones split; the trailer counts the packets."""

from dataclasses import replace
from typing import Any

import cocotb

from bench import ALL_STALLS, Bench, Stalls, run
from framelane.driver.simulated.ports import BD_T, PLACED_T, TRAILER_T
from framelane.models.placement import bd_rows
from framelane.models.placement.bd_place import BdPlace
from framelane.models.placement.flow import Destination, Flow, FrameEvent
from framelane.models.placement.slots import FREE_RUNNING
from framelane.models.roce_tx.wire import MTUS
from placement_ports import placed_t
from signals import now

RING = Destination(qp=3, base=0x7F00_0000_1000, slot_bytes=1 << 31, n_slots=3, trailer_offset=8128)
FLOW = Flow(source=9, first_destination=2, width=10, height=6, source_pitch=64, destination_pitch=100)


class RowsBench(Bench):
    """The block beside its model; `mtu` is that of every QP."""

    def __init__(self, dut: Any, stalls: Stalls, mtu: int = 1024) -> None:
        super().__init__(dut, stalls)
        self.placed = self.source("s_axis_placed")
        self.bds, self.trailers, self.over = (
            self.sink("m_axis_bd"),
            self.sink("m_axis_trailer"),
            self.sink("m_axis_over"),
        )
        self.mtu = mtu
        self.answer(self._look_up)

    def _look_up(self) -> None:
        """Only the QP of the destination has an MTU."""
        asked = now(self.dut.mtu_index_o)
        self.dut.mtu_log2_i.value = self.mtu.bit_length() - 1 if asked == RING.qp else 0

    async def start(self) -> None:
        await self.reset(cycles=1)
        self.model = BdPlace((None, None, RING))
        self.expected: list[int] = []
        self.expected_trailers: list[int] = []
        self.numbers = 0

    def offer(self, flow: Flow) -> int:
        """Place one frame; its descriptors."""
        bits = self.random.getrandbits
        event = FrameEvent(bits(64), bits(64), bits(64), bits(64), time_flags=bits(32))
        placed = self.model.place(flow, 0, self.numbers, event, [FREE_RUNNING] * 3)
        self.numbers += 1
        assert placed
        self.placed.items.append({"tdata": placed_t(placed, flow, event)})
        found, trailer = bd_rows.descriptors(placed, event, self.mtu)
        self.expected += [BD_T.pack({n: getattr(bd, n) for n in BD_T.fields}) for bd in found]
        self.expected_trailers.append(TRAILER_T.pack({n: getattr(trailer, n) for n in TRAILER_T.fields}))
        return len(found)

    def end(self) -> None:
        self.placed.items.append({"tdata": PLACED_T.pack(dict.fromkeys(PLACED_T.fields, 0) | {"over": 1})})

    async def check(self) -> None:
        await self.drain(self.trailers, len(self.expected_trailers), quiet=100)
        for got, wanted in zip(self.bds.items, self.expected, strict=True):
            assert BD_T.unpack(got["tdata"]) == BD_T.unpack(wanted)
        assert [item["tdata"] for item in self.trailers.items] == self.expected_trailers
        assert now(self.dut.idle_o)


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS)
async def rows_equal_the_model_and_ends_count_the_descriptors(dut: Any, stalls: Stalls) -> None:
    bench = RowsBench(dut, stalls)
    await bench.start()
    ends, total = [], 0
    draw = bench.random.randrange
    for _ in range(40):
        for _ in range(draw(3)):
            width, height = draw(1, 700), draw(1, 12)
            total += bench.offer(
                replace(
                    FLOW,
                    width=width,
                    height=height,
                    source_pitch=2 * width + draw(2) * draw(3000),
                    destination_pitch=2 * width + draw(2) * draw(3000),
                    max_length=(1 << 31, draw(1, 900))[draw(2)],
                )
            )
        bench.end()
        ends.append(total & 0xFFFF)
    await bench.check()
    assert [item["tdata"] for item in bench.over.items] == ends


@cocotb.test()
@cocotb.parametrize(width=[1, 7, 64, 1024])
async def a_descriptor_leaves_every_clock(dut: Any, width: int) -> None:
    bench = RowsBench(dut, Stalls.NONE)
    await bench.start()
    rows = bench.offer(replace(FLOW, width=width, height=300, source_pitch=2048, destination_pitch=2050))
    pieces = bench.offer(
        replace(FLOW, width=1024, height=100, source_pitch=2048, destination_pitch=2048, max_length=1000)
    )
    await bench.check()
    assert bench.bds.taken[rows - 1] - bench.bds.taken[0] == rows - 1 == 300
    assert bench.bds.taken[-1] - bench.bds.taken[rows] == pieces - 1 == 205


@cocotb.test()
@cocotb.parametrize(mtu=MTUS, max_length=[1 << 31, 1 << 16, 1000])
async def the_trailer_counts_the_packets_of_its_image(dut: Any, mtu: int, max_length: int) -> None:
    bench = RowsBench(dut, Stalls.NONE, mtu)
    await bench.start()
    for width, height in ((1, 1), (2047, 1), (2048, 1), (2049, 1), (1024, 64), (64000, 2)):
        for gap in (0, 2):
            bench.offer(
                replace(
                    FLOW,
                    width=width,
                    height=height,
                    max_length=max_length,
                    source_pitch=2 * width,
                    destination_pitch=2 * width + gap,
                )
            )
    await bench.check()


@cocotb.test()
async def addresses_carry_through_all_64_bits(dut: Any) -> None:
    bench = RowsBench(dut, Stalls.NONE)
    bench.model = BdPlace(())
    for base in ((1 << 64) - 100, (1 << 32) - 100, (1 << 63) - 100):
        await bench.start()
        bench.model = BdPlace((None, None, replace(RING, base=base)))
        bench.offer(replace(FLOW, width=300, source_pitch=0xFFFFFFFF, destination_pitch=700, height=9, max_length=77))
        await bench.check()


@cocotb.test()
async def a_reset_starts_anew_whatever_was_under_way(dut: Any) -> None:
    bench = RowsBench(dut, Stalls.NONE)
    for cycles in range(0, 40):
        await bench.start()
        bench.offer(FLOW)
        bench.end()
        bench.offer(FLOW)
        for _ in range(cycles):
            await bench.step()
        await bench.start()
        bench.offer(FLOW)
        await bench.check()


def test_bd_rows() -> None:
    run("bd_rows")
