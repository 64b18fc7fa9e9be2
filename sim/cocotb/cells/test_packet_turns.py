"""packet_turns: packets of three streams come out whole and in order, each stream in its turn, no cycle lost."""

from typing import Any

import cocotb
import pytest

from bench import ALL_STALLS, Bench, Stalls, assert_same_packets, run
from framelane.models.cells import axis
from framelane.models.cells.packet_turns import PacketTurns
from signals import now
from widths import some_widths

STREAMS = 3
NAMES = "abc"


class TurnsBench(Bench):
    """Packets of each stream say by tuser whose they are."""

    def __init__(self, dut: Any, stalls: Stalls = Stalls.NONE) -> None:
        super().__init__(dut, stalls)
        self.streams = [self.source(f"s_axis_{name}") for name in NAMES]
        self.out = self.sink("m_axis")
        self.dest: list[int] = []
        self.width = len(dut.m_axis_tdata)
        self.sent: list[list[bytes]] = [[] for _ in NAMES]
        self.watch(self._look)

    def _look(self) -> None:
        if now(self.dut.m_axis_tvalid) and now(self.dut.m_axis_tready):
            self.dest.append(now(self.dut.m_axis_tdest))

    def send(self, stream: int, size: int) -> None:
        packet = self.random.randbytes(size)
        self.streams[stream].send(packet, self.width, tuser=stream)
        self.sent[stream].append(packet)

    def beats(self) -> int:
        return sum(axis.n_beats(len(packet), self.width) for packets in self.sent for packet in packets)

    def order(self) -> list[int]:
        """Whose packets came out, checked to be whole, and to be called so by tdest."""
        owners: list[int] = []
        inside = False
        for item, dest in zip(self.out.items, self.dest, strict=True):
            if inside:
                assert item["tuser"] == owners[-1], "a packet is split"
            else:
                owners.append(item["tuser"])
            assert dest == 1 << item["tuser"]
            inside = not item["tlast"]
        return owners

    async def check(self) -> None:
        await self.drain(self.out, self.beats())
        packets = self.out.packets(self.width)
        order = self.order()
        for stream, sent in enumerate(self.sent):
            assert_same_packets([p for p, owner in zip(packets, order, strict=True) if owner == stream], sent)


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS)
async def every_packet_comes_out_once_whole_and_in_the_order_of_its_stream(dut: Any, stalls: Stalls) -> None:
    bench = TurnsBench(dut, stalls)
    await bench.reset()
    for _ in range(150):
        bench.send(bench.random.randrange(STREAMS), bench.random.randrange(1, 400))
        for _ in range(bench.random.randrange(8)):
            await bench.step()
    await bench.check()


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS)
async def whose_turn_it_is_the_model_says(dut: Any, stalls: Stalls) -> None:
    """Whenever a packet begins, it is the one that the model chooses from what is on offer."""
    bench = TurnsBench(dut, stalls)
    model = PacketTurns(STREAMS)
    owners: list[int] = []
    inside: list[int] = []

    def look() -> None:
        offered = {k for k, name in enumerate(NAMES) if now(getattr(dut, f"s_axis_{name}_tvalid"))}
        taken = [k for k in sorted(offered) if now(getattr(dut, f"s_axis_{NAMES[k]}_tready"))]
        assert len(taken) <= 1
        if not taken:
            return
        if not inside:
            assert model.choose(offered) == taken[0]
            owners.extend(taken)
        inside[:] = [] if now(getattr(dut, f"s_axis_{NAMES[taken[0]]}_tlast")) else taken

    await bench.reset()
    bench.watch(look)
    for _ in range(200):
        bench.send(bench.random.randrange(STREAMS), bench.random.randrange(1, 300))
        for _ in range(bench.random.randrange(10)):
            await bench.step()
    await bench.check()
    assert owners == bench.order()
    assert len(set(owners)) == STREAMS


@cocotb.test()
async def streams_that_all_wait_have_their_turns_without_a_bubble(dut: Any) -> None:
    bench = TurnsBench(dut)
    await bench.reset()
    for _ in range(20):
        for stream in range(STREAMS):
            bench.send(stream, 200)
    await bench.check()
    assert bench.order() == [0, 1, 2] * 20
    assert bench.out.taken[-1] - bench.out.taken[0] == bench.beats() - 1
    assert bench.out.taken[0] == bench.streams[0].accepted[0] + 1


@cocotb.test()
async def a_gap_inside_a_packet_lets_no_other_in(dut: Any) -> None:
    bench = TurnsBench(dut)
    await bench.reset()
    pause = False
    bench.streams[1]._stall = lambda: pause
    size = bench.width // 8 * 4
    bench.send(1, size)
    await bench.until(lambda: len(bench.streams[1].accepted) == 2)
    pause = True
    for stream in (0, 2, 1):
        bench.send(stream, size)
    for _ in range(20):
        await bench.step()
    assert not bench.streams[0].accepted
    pause = False
    await bench.check()
    assert bench.order() == [1, 2, 0, 1]


@cocotb.test()
async def tready_does_not_follow_the_sinks_in_the_same_cycle(dut: Any) -> None:
    bench = TurnsBench(dut)
    bench.out._stall = lambda: True
    await bench.reset()
    for _ in range(10):
        bench.send(0, 8)
    for _ in range(20):
        await bench.step()
    taken = len(bench.streams[0].accepted)
    assert taken == 2
    bench.out._stall = lambda: False
    await bench.step()
    assert len(bench.streams[0].accepted) == taken
    await bench.check()


@cocotb.test()
async def a_reset_forgets_what_is_under_way(dut: Any) -> None:
    bench = TurnsBench(dut)
    for cycles in range(1, 30, 3):
        await bench.reset(cycles=1)
        for stream in range(STREAMS):
            bench.send(stream, 500)
        for _ in range(cycles):
            await bench.step()
        await bench.reset(cycles=1)
        bench.dest.clear()
        bench.sent = [[] for _ in NAMES]
        for stream in (2, 1):
            bench.send(stream, 70)
        await bench.check()
        assert bench.order() == [1, 2]


@pytest.mark.parametrize("width", some_widths("packet_turns"))
def test_packet_turns(width: int) -> None:
    run("packet_turns", top="packet_turns_bench", DataW=width)
