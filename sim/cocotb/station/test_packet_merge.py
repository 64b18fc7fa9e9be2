"""packet_merge: both streams whole and in order, no cycle lost, neither starved, nothing begun in a hold."""

from typing import Any

import cocotb
import pytest

from bench import ALL_STALLS, Bench, Stalls, assert_same_packets, run
from framelane.models.cells import axis
from framelane.models.station.packet_merge import Origin, PacketMerge
from signals import now
from widths import some_widths

DATA, CONTROL = 0, 1


class MergeBench(Bench):
    """Packets of both streams say by tuser whose they are."""

    def __init__(self, dut: Any, stalls: Stalls = Stalls.NONE, data_stalls: bool | None = None) -> None:
        super().__init__(dut, stalls)
        self.data, self.control = self.source("s_axis_data", data_stalls), self.source("s_axis_control")
        self.out = self.sink("m_axis")
        self.width = len(dut.m_axis_tdata)
        self.sent: tuple[list[bytes], list[bytes]] = ([], [])
        dut.hold_data_i.value = dut.hold_control_i.value = 0

    def send(self, origin: int, size: int) -> None:
        packet = self.random.randbytes(size)
        (self.data, self.control)[origin].send(packet, self.width, tuser=origin)
        self.sent[origin].append(packet)

    def beats(self, origin: int) -> int:
        return sum(axis.n_beats(len(packet), self.width) for packet in self.sent[origin])

    def order(self) -> list[int]:
        """Whose packets came out, checked to be whole."""
        origins: list[int] = []
        inside = False
        for item in self.out.items:
            if inside:
                assert item["tuser"] == origins[-1], "a packet is split"
            else:
                origins.append(item["tuser"])
            inside = not item["tlast"]
        return origins

    async def check(self) -> None:
        await self.drain(self.out, self.beats(DATA) + self.beats(CONTROL))
        packets = self.out.packets(self.width)
        for origin in (DATA, CONTROL):
            mine = [packet for packet, other in zip(packets, self.order(), strict=True) if other == origin]
            assert_same_packets(mine, self.sent[origin])
        assert now(self.dut.idle_o)


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS)
async def every_packet_of_both_streams_comes_out_once_whole_and_in_order(dut: Any, stalls: Stalls) -> None:
    bench = MergeBench(dut, stalls)

    def look() -> None:
        taken = len(bench.data.accepted) + len(bench.control.accepted)
        coming = now(dut.s_axis_data_tvalid) or now(dut.s_axis_control_tvalid)
        if taken > len(bench.out.items) + 1 and not coming:
            assert not now(dut.idle_o), "not idle: beats are inside"

    await bench.reset()
    bench.watch(look)
    for _ in range(100):
        bench.send(bench.random.choice([DATA, DATA, CONTROL]), bench.random.randrange(1, 400))
        for _ in range(bench.random.randrange(8)):
            await bench.step()
    await bench.check()


@cocotb.test()
@cocotb.parametrize(size=[1, 62, 98, 1082, 4170])
async def data_alone_lose_no_cycle(dut: Any, size: int) -> None:
    bench = MergeBench(dut)
    await bench.reset()
    for _ in range(20):
        bench.send(DATA, size)
    await bench.check()
    assert bench.out.taken[-1] - bench.out.taken[0] == bench.beats(DATA) - 1
    assert bench.out.taken[0] == bench.data.accepted[0] + 1


@cocotb.test()
async def data_lose_only_the_beats_of_the_control_packets_however_slowly_those_come(dut: Any) -> None:
    bench = MergeBench(dut, Stalls.SOURCE, data_stalls=False)
    await bench.reset()
    for _ in range(200):
        bench.send(DATA, 500)
    for size in (60, 1514, 64, 1518, 300):
        bench.send(CONTROL, size)
    await bench.check()
    assert CONTROL in bench.order()[:-5]
    beats = bench.beats(DATA) + bench.beats(CONTROL)
    assert bench.order()[-1] == DATA
    assert bench.out.taken[-1] - bench.out.taken[0] == beats - 1


@cocotb.test()
async def neither_stream_starves_the_other(dut: Any) -> None:
    bench = MergeBench(dut)
    await bench.reset()
    for _ in range(30):
        bench.send(DATA, 200)
        bench.send(CONTROL, 60)
    await bench.check()
    order = bench.order()
    first = order.index(CONTROL)
    assert order == [DATA] * first + [CONTROL, DATA] * (30 - first) + [CONTROL] * first


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS)
async def the_choice_is_the_models(dut: Any, stalls: Stalls) -> None:
    """Whenever a packet begins, it is the one that the model chooses from what is on offer."""
    bench = MergeBench(dut, stalls)
    model = PacketMerge()
    origins: list[Origin] = []
    state = {"inside": False}

    def look() -> None:
        def high(name: str) -> bool:
            return bool(now(getattr(dut, name)))

        if not high("ready"):
            return
        if state["inside"]:
            state["inside"] = not (high("valid") and high("last"))
            return
        chosen = model.choose(
            high("s_axis_data_tvalid"), high("whole_tvalid"), high("hold_data_i"), high("hold_control_i")
        )
        assert (chosen is not None) == high("valid")
        if chosen is not None:
            origins.append(chosen)
            assert (chosen is Origin.CONTROL) == high("from_control")
            state["inside"] = not high("last")

    await bench.reset()
    bench.watch(look)
    for _ in range(150):
        bench.send(bench.random.choice([DATA, CONTROL]), bench.random.randrange(1, 300))
        dut.hold_data_i.value = bench.random.random() < 0.3
        dut.hold_control_i.value = bench.random.random() < 0.3
        for _ in range(bench.random.randrange(10)):
            await bench.step()
    dut.hold_data_i.value = dut.hold_control_i.value = 0
    await bench.check()
    assert [origin is Origin.CONTROL for origin in origins] == [origin == CONTROL for origin in bench.order()]


@cocotb.test()
async def a_hold_lets_no_packet_begin_and_every_packet_end(dut: Any) -> None:
    bench = MergeBench(dut)
    await bench.reset()
    for hold_data, hold_control in ((1, 0), (0, 1), (1, 1)):
        bench.out.clear()
        bench.sent[0].clear()
        bench.sent[1].clear()
        bench.send(DATA, 1000)
        bench.send(DATA, 1000)
        await bench.until(lambda: bool(bench.data.accepted) and len(bench.out.items) > 0)
        dut.hold_data_i.value, dut.hold_control_i.value = hold_data, hold_control
        bench.send(CONTROL, 100)
        for _ in range(500):
            await bench.step()
        assert sorted(bench.order()) == [DATA] * (2 - hold_data) + [CONTROL] * (1 - hold_control)
        assert bench.order()[0] == DATA
        assert bench.out.items[-1]["tlast"]
        dut.hold_data_i.value = dut.hold_control_i.value = 0
        await bench.check()
        bench.data.accepted.clear()
        bench.data.offered.clear()


@cocotb.test()
async def a_control_packet_that_is_too_long_still_passes(dut: Any) -> None:
    bench = MergeBench(dut, Stalls.SOURCE)
    await bench.reset()
    for _ in range(5):
        bench.send(CONTROL, 9000)
        bench.send(DATA, 100)
    await bench.check()


@cocotb.test()
async def tready_does_not_follow_the_sinks_in_the_same_cycle(dut: Any) -> None:
    bench = MergeBench(dut)
    bench.out._stall = lambda: True
    await bench.reset()
    for _ in range(10):
        bench.send(DATA, 8)
    for _ in range(20):
        await bench.step()
    taken = len(bench.data.accepted)
    assert taken == 2
    bench.out._stall = lambda: False
    await bench.step()
    assert len(bench.data.accepted) == taken
    await bench.check()


@cocotb.test()
async def a_reset_forgets_packets_of_both_streams(dut: Any) -> None:
    bench = MergeBench(dut)
    for cycles in range(1, 40, 3):
        await bench.reset(cycles=1)
        bench.send(DATA, 500)
        bench.send(CONTROL, 500)
        for _ in range(cycles):
            await bench.step()
        await bench.reset(cycles=1)
        bench.sent[0].clear()
        bench.sent[1].clear()
        bench.send(CONTROL, 70)
        bench.send(DATA, 70)
        await bench.check()


@pytest.mark.parametrize("width", some_widths("packet_merge"))
def test_packet_merge(width: int) -> None:
    run("packet_merge", DataW=width)
