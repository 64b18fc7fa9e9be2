"""cdc_restart: a reset of either side clears both, while both are stopped; and both go on."""

from collections import deque
from typing import Any

import cocotb
from cocotb.triggers import ReadOnly, RisingEdge, Timer
from cocotb.utils import get_sim_time

from bench import run
from clocks_bench import JITTER, RATIOS, Side
from framelane.models.clocks.cdc import Restart, RestartState
from signals import now

ORDER = (RestartState.RUN, RestartState.STOP, RestartState.CLEAR, RestartState.DONE)


class Pair:
    """The design and, with a clock of its own, a peer that is the model."""

    def __init__(self, dut: Any, periods: tuple[int, int]) -> None:
        self.dut = dut
        self.side = Side(dut, "", periods[0])
        self.random = self.side.random
        self.period = periods[1]
        self.peer = Restart()
        self.peer_rst = False
        self.quiet_share = 1.0
        self.cleared = [0, 0]
        """Times that each side has cleared: the design's, the peer's."""
        self.clears_ps = [0.0, 0.0]
        """When each side was last seen to clear."""
        dut.rst.value, dut.quiet_i.value, dut.peer_i.value = 0, 1, 0
        cocotb.start_soon(self._run_peer())
        cocotb.start_soon(self._watch())

    async def _run_peer(self) -> None:
        synchronizer = deque([RestartState.RUN] * 3)
        while True:
            await Timer(self.period + self.random.randint(-90, 90), "ps")
            synchronizer.append(RestartState(now(self.dut.state_o)))
            seen = synchronizer.popleft()
            before = self.peer.state
            self.peer.step(self.peer_rst, self.random.random() < self.quiet_share, seen)
            self.cleared[1] += self.peer.clears and before is not RestartState.CLEAR
            self._note(1, self.peer.state)
            self.dut.peer_i.value = int(self.peer.state)

    async def _watch(self) -> None:
        before = RestartState.RUN
        while True:
            await RisingEdge(self.dut.clk)
            self.dut.quiet_i.value = int(self.random.random() < self.quiet_share)
            await ReadOnly()
            state = RestartState(now(self.dut.state_o))
            assert state in (before, ORDER[(ORDER.index(before) + 1) % 4])
            self.cleared[0] += state is RestartState.CLEAR and before is not RestartState.CLEAR
            self._note(0, state)
            before = state
            apart = (ORDER.index(state) - ORDER.index(self.peer.state)) % 4
            assert apart in (0, 1, 3), f"{state.name} beside {self.peer.state.name}"
            assert now(self.dut.clear_o) == (state is RestartState.CLEAR)
            assert now(self.dut.stop_o) or (state is RestartState.RUN and not self.dut.rst.value)

    def _note(self, whose: int, state: RestartState) -> None:
        if state is RestartState.CLEAR:
            self.clears_ps[whose] = get_sim_time("ps")

    def runs(self) -> bool:
        return not now(self.dut.stop_o) and self.peer.state is RestartState.RUN

    async def until_it_runs(self) -> None:
        for _ in range(2000):
            if self.runs():
                return
            await self.side.wait(1)
        raise AssertionError("a side waits for ever")


@cocotb.test()
@cocotb.parametrize(periods=RATIOS)
async def a_reset_of_either_side_at_any_time_clears_both_and_both_go_on(dut: Any, periods: tuple[int, int]) -> None:
    pair = Pair(dut, periods)
    chance = pair.random
    for round_ in range(60):
        pair.quiet_share = chance.choice((1.0, 0.1))
        before = list(pair.cleared)
        asked_ps = [0.0, 0.0]
        for _ in range(chance.randrange(1, 4)):
            own = chance.random() < 0.5
            asked_ps[not own] = get_sim_time("ps")
            if own:
                dut.rst.value = 1
            else:
                pair.peer_rst = True
            await pair.side.wait(chance.randrange(1, 12) if own else 8)
            dut.rst.value = 0
            pair.peer_rst = False
            await pair.side.wait(chance.randrange(1, 60))
        await pair.until_it_runs()
        for _ in range(80):  # a reset that came last may still begin
            await pair.side.wait(1)
        await pair.until_it_runs()
        assert all(after > then for after, then in zip(pair.cleared, before, strict=True)), round_
        assert all(done > asked for done, asked in zip(pair.clears_ps, asked_ps, strict=True)), f"{round_}: forgotten"


@cocotb.test()
async def while_it_is_not_quiet_it_does_not_stop_for_the_other(dut: Any) -> None:
    pair = Pair(dut, (2000, 2000))
    pair.quiet_share = 0
    pair.peer_rst = True
    await pair.side.wait(100)
    pair.peer_rst = False
    await pair.side.wait(100)
    assert not now(dut.stop_o)
    assert now(dut.ending_o)
    pair.quiet_share = 1
    await pair.side.wait(3)
    assert now(dut.stop_o)
    await pair.until_it_runs()
    assert pair.cleared == [1, 1]


def test_cdc_restart() -> None:
    run("cdc_restart", build_args=JITTER)
