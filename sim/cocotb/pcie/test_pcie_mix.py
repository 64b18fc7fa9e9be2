"""pcie_mix: descriptors of two streams in turn, each with its own payload, none of a stream before another of it."""

from collections import deque
from typing import Any

import cocotb
import pytest

from bench import ALL_STALLS, STALL_SHARE, Bench, Stalls, run
from framelane.driver.simulated.ports import BD_T
from framelane.models.cells import axis
from pcie_tx_bench import Port
from signals import now
from widths import some_widths

STREAMS = 2


class MixBench(Bench):
    """Both streams share packed ports; a packet's first byte says of which descriptor it is."""

    def __init__(self, dut: Any, stalls: Stalls = Stalls.NONE) -> None:
        super().__init__(dut, stalls)
        self.width = int(dut.DataW.value)
        self.bds: list[deque[int]] = [deque() for _ in range(STREAMS)]
        self.beats: list[deque[tuple[axis.Beat, int]]] = [deque() for _ in range(STREAMS)]
        self.offered = {"bd": [False] * STREAMS, "payload": [False] * STREAMS}
        self.given: list[list[tuple[dict[str, int], bytes, int]]] = [[] for _ in range(STREAMS)]
        """Descriptors with their payload, and whether it comes with errors."""
        self.out, self.out_payload = self.sink("m_axis_bd"), self.sink("m_axis_payload")
        self.answer(self._drive)
        self.watch(self._sample)

    def give(self, stream: int, length: int, bad: bool = False) -> None:
        fields = dict.fromkeys(BD_T.fields, 0) | {
            "destination": self.random.getrandbits(64),
            "length": length,
            "last": self.random.randrange(2),
            "source": self.random.getrandbits(64),
        }
        self.bds[stream].append(BD_T.pack(fields))
        data = self.random.randbytes(length)
        if length:
            self.beats[stream] += [(beat, int(bad)) for beat in axis.beats(data, self.width)]
        self.given[stream].append((fields, data, int(bad)))

    def _offers(self, kind: str, waiting: list[Any]) -> list[bool]:
        stalls = self._stalls.source
        for k in range(STREAMS):
            if not self.offered[kind][k]:
                self.offered[kind][k] = bool(waiting[k]) and not (stalls and self.random.random() < STALL_SHARE)
        return self.offered[kind]

    def _drive(self) -> None:
        dut = self.dut
        bds = self._offers("bd", self.bds)
        Port(dut.s_axis_bd_tdata, BD_T.width).set([self.bds[k][0] if bds[k] else 0 for k in range(STREAMS)])
        Port(dut.s_axis_bd_tvalid, 1).set([int(each) for each in bds])
        none = (axis.Beat(0, 0, False), 0)
        there = self._offers("payload", self.beats)
        beats = [self.beats[k][0] if there[k] else none for k in range(STREAMS)]
        Port(dut.s_axis_payload_tdata, self.width).set([beat.data for beat, _ in beats])
        Port(dut.s_axis_payload_tkeep, self.width // 8).set([beat.keep for beat, _ in beats])
        Port(dut.s_axis_payload_tlast, 1).set([int(beat.last) for beat, _ in beats])
        Port(dut.s_axis_payload_tuser, 1).set([user for _, user in beats])
        Port(dut.s_axis_payload_tvalid, 1).set([int(each) for each in there])

    def _sample(self) -> None:
        for kind, waiting in (("bd", self.bds), ("payload", self.beats)):
            ready = now(getattr(self.dut, f"s_axis_{kind}_tready"))
            for k in range(STREAMS):
                if self.offered[kind][k] and ready >> k & 1:
                    waiting[k].popleft()
                    self.offered[kind][k] = False

    async def finish(self) -> None:
        await self.until(lambda: not any(self.bds) and not any(self.beats) and bool(now(self.dut.idle_o)), 20_000)
        for _ in range(5):
            await self.step()

    def order(self) -> list[int]:
        """Check all that came out; of which stream each descriptor is."""
        found = [BD_T.unpack(item["tdata"]) for item in self.out.items]
        payload = iter(self.out_payload.packets(self.width))
        users: list[int] = []
        first = True
        for beat in self.out_payload.items:
            if first:
                users.append(0)
            users[-1] |= beat["tuser"]
            first = bool(beat["tlast"])
        bad = iter(users)
        left = [deque(each) for each in self.given]
        for bd in found:
            fields, data, wrong = left[bd["qp"]].popleft()
            assert bd == fields | {"qp": bd["qp"], "source": 0}
            if data:
                assert (next(payload), next(bad)) == (data, wrong)
        assert next(payload, None) is None
        assert not any(left)
        return [bd["qp"] for bd in found]


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS)
async def each_descriptor_has_its_own_payload_and_streams_keep_their_order(dut: Any, stalls: Stalls) -> None:
    bench = MixBench(dut, stalls)
    await bench.reset()
    for _ in range(150):
        bench.give(
            bench.random.randrange(STREAMS), bench.random.choice([0, 1, 63, 64, 65, 300]), not bench.random.randrange(9)
        )
    await bench.finish()
    assert set(bench.order()) == {0, 1}


@cocotb.test()
async def streams_that_both_wait_take_turns(dut: Any) -> None:
    bench = MixBench(dut)
    await bench.reset()
    for _ in range(20):
        bench.give(0, 1000)
        bench.give(1, 64)
    await bench.finish()
    order = bench.order()
    assert order[1:-1:2] == order[1:2] * len(order[1:-1:2])
    assert order[0] != order[1]


@cocotb.test()
async def a_stream_whose_payload_does_not_come_is_waited_for_and_nothing_is_lost(dut: Any) -> None:
    """Descriptors run ahead of their payload as far as they are remembered, and no further."""
    bench = MixBench(dut)
    await bench.reset()
    for _ in range(40):
        bench.give(0, 64)
    held, bench.beats[0] = bench.beats[0], deque()
    for _ in range(200):
        await bench.step()
    ahead = len(bench.out.items)
    assert 8 <= ahead <= int(dut.Depth.value) + 1
    assert not now(dut.idle_o)
    bench.beats[0] = held
    await bench.finish()
    assert bench.order() == [0] * 40


@pytest.mark.parametrize("width", some_widths("pcie_mix", (128, 256, 512)))
def test_pcie_mix(width: int) -> None:
    run("pcie_mix", DataW=width)
