"""pcie_route: each engine gets its own descriptors, trailers and ends of frames; memory is free when all have done."""

from collections import deque
from typing import Any

import cocotb
import pytest

from bench import ALL_STALLS, Bench, Stalls, run
from framelane.driver.simulated.ports import BD_T, TRAILER_T
from framelane.models.pcie.pcie_core import NOWHERE
from signals import now

SPACE = {"imm": 0, "last": 0, "destination_index": 0, "qp": 0, "length": 64, "destination": 0, "source": 0}


class RouteBench(Bench):
    """Frames of some descriptors; engines that end them in their own time."""

    def __init__(self, dut: Any, stalls: Stalls = Stalls.NONE) -> None:
        super().__init__(dut, stalls)
        self.engines = int(dut.Engines.value)
        self.bds, self.trailers = self.source("s_axis_bd"), self.source("s_axis_trailer")
        self.overs = self.source("s_axis_over")
        self.held = [False] * self.engines
        self.got: list[list[dict[str, int]]] = [[] for _ in range(self.engines)]
        self.got_trailers: list[list[int]] = [[] for _ in range(self.engines)]
        self.waiting: list[deque[int]] = [deque() for _ in range(self.engines)]
        """Ends of frames that an engine has been told and not released: its descriptors up to there."""
        self.expected: list[list[dict[str, int]]] = [[] for _ in range(self.engines)]
        self.expected_trailers: list[list[int]] = [[] for _ in range(self.engines)]
        self.given = self.frames = self.released = 0
        self.ready = [0, 0, 0]
        self.needs: list[list[int]] = []
        """For each frame, how many descriptors each engine must have had."""
        self.answer(self._drive)
        self.watch(self._sample)

    def _drive(self) -> None:
        def free() -> int:
            stalls = self._stalls.sink
            return sum(
                1 << e for e in range(self.engines) if not self.held[e] and not (stalls and self.random.random() < 0.4)
            )

        self.ready = [free(), free(), free()]
        self.dut.m_axis_bd_tready.value, self.dut.m_axis_trailer_tready.value = self.ready[:2]
        self.dut.m_axis_over_tready.value = self.ready[2]
        release = 0
        for e in range(self.engines):
            if self.waiting[e] and len(self.got[e]) >= self.waiting[e][0] and not self.held[e]:
                self.waiting[e].popleft()
                release |= 1 << e
        self.dut.release_i.value = release

    def _sample(self) -> None:
        dut = self.dut
        if now(dut.release_o):
            counts = self.needs[self.released]
            assert all(len(self.got[e]) >= counts[e] for e in range(self.engines)), (
                "memory of a frame is free too early"
            )
            self.released += 1
        valids = [now(dut.m_axis_bd_tvalid), now(dut.m_axis_trailer_tvalid), now(dut.m_axis_over_tvalid)]
        for e in range(self.engines):
            taken = [valid & ready & 1 << e for valid, ready in zip(valids, self.ready, strict=True)]
            if taken[0]:
                self.got[e].append(BD_T.unpack(now(dut.m_axis_bd_tdata) >> BD_T.width * e & (1 << BD_T.width) - 1))
            if taken[1]:
                self.got_trailers[e].append(
                    now(dut.m_axis_trailer_tdata) >> TRAILER_T.width * e & (1 << TRAILER_T.width) - 1
                )
            if taken[2]:
                self.waiting[e].append(now(dut.m_axis_over_tdata) >> 16 * e & 0xFFFF)

    def frame(self, qps: list[int]) -> None:
        """A frame for these queue pairs: for each some rows and a trailer."""
        for qp in qps:
            engine = qp if qp < self.engines else 0
            rows = self.random.randrange(4)
            for row in range(rows + 1):
                fields = SPACE | {
                    "qp": qp,
                    "source": self.given,
                    "destination": 64 * self.given,
                    "last": int(row == rows),
                }
                self.bds.items.append({"tdata": BD_T.pack(fields)})
                self.expected[engine].append(fields | ({"destination": NOWHERE} if qp >= self.engines else {}))
                self.given += 1
            trailer = self.random.getrandbits(TRAILER_T.width)
            self.trailers.items.append({"tdata": trailer})
            self.expected_trailers[engine].append(trailer)
        self.overs.items.append({"tdata": self.given & 0xFFFF})
        self.needs.append([len(each) for each in self.expected])
        self.frames += 1

    async def finish(self) -> None:
        await self.until(lambda: self.released == self.frames, 20_000)
        for _ in range(10):
            await self.step()
        assert now(self.dut.idle_o)
        assert self.released == self.frames
        assert self.got == self.expected
        assert self.got_trailers == self.expected_trailers


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS)
async def each_engine_gets_its_own_in_order(dut: Any, stalls: Stalls) -> None:
    bench = RouteBench(dut, stalls)
    await bench.reset()
    for _ in range(120):
        bench.frame([bench.random.choice([0, 1, 1, 0, 7, 255]) for _ in range(bench.random.randrange(3))])
    await bench.finish()


@cocotb.test()
async def an_engine_that_stands_still_keeps_its_own_frames_alone(dut: Any) -> None:
    """As many as its queues hold; memory is freed in order, so those of the other wait for it."""
    bench = RouteBench(dut)
    await bench.reset()
    bench.held[0] = True
    for number in range(12):
        bench.frame([number % bench.engines])
    for _ in range(300):
        await bench.step()
    others = [len(each) for each in bench.got[1:]]
    assert others == [len(each) for each in bench.expected[1:]]
    assert bench.released == 0
    assert not now(dut.idle_o)
    bench.held[0] = False
    await bench.finish()


@pytest.mark.parametrize("engines", [1, 2])
def test_pcie_route(engines: int) -> None:
    run("pcie_route", Engines=engines)
