"""rc_control: each command of software reaches the requester once; a reset closes every queue pair."""

from typing import Any

import cocotb

from bench import Bench, Stalls, run
from framelane.models.rc.rc_protocol import RcReason
from rc_ports import COMMAND_T
from signals import now

QPS = 4


class ControlBench(Bench):
    """The block with a requester that takes commands at random."""

    def __init__(self, dut: Any, stalls: Stalls = Stalls.SINK) -> None:
        super().__init__(dut, stalls)
        for name in ("arm_i", "close_i", "qp_i", "psn_i", "resetting_i", "refused_i"):
            getattr(dut, name).value = 0
        self.commands = self.sink("m_axis_command")

    async def give(self, name: str, qp: int, psn: int) -> None:
        getattr(self.dut, f"{name}_i").value = 1
        self.dut.qp_i.value, self.dut.psn_i.value = qp, psn
        await self.step()
        getattr(self.dut, f"{name}_i").value = 0
        self.dut.qp_i.value = self.dut.psn_i.value = 0

    async def settle(self) -> None:
        await self.until(lambda: not now(self.dut.busy_o), 500)

    def taken(self) -> list[tuple[int, int, int]]:
        found = [COMMAND_T.unpack(item["tdata"]) for item in self.commands.items]
        self.commands.items.clear()
        assert all(command["reason"] == RcReason.CLOSED for command in found)
        return [(command["arm"], command["qp"], command["psn"]) for command in found]


@cocotb.test()
async def commands_are_given_once(dut: Any) -> None:
    bench = ControlBench(dut)
    await bench.reset()
    for name, qp in (("arm", 1), ("close", 2), ("arm", 9), ("close", 3), ("close", 9)):
        await bench.give(name, qp, 1000 + qp)
        await bench.give("arm", 0, 5)  # ignored: the first one is under way
        await bench.settle()
        await bench.step()
        found = bench.taken()
        assert found[0] == (name == "arm", qp, 1000 + qp)
        assert len(found) <= 2, "a command that came while busy is ignored, or the first was over"
        await bench.settle()


@cocotb.test()
async def a_refusal_is_seen_until_the_next_command_or_reset(dut: Any) -> None:
    bench = ControlBench(dut, Stalls.NONE)
    early: list[int] = []
    bench.watch(lambda: early.append(now(dut.busy_o) and now(dut.refused_o)))
    for _ in range(2):
        await bench.reset()
        assert not now(dut.refused_o)
        for qp in (9, 1, 9):
            dut.refused_i.value = int(qp == 9)
            await bench.give("arm", qp, 7)
            for _ in range(5):
                await bench.step()
            assert now(dut.refused_o) == (qp == 9)
    assert not any(early), "refused before the command was taken"


@cocotb.test()
async def a_reset_closes_every_queue_pair_once_behind_the_command_under_way(dut: Any) -> None:
    bench = ControlBench(dut)
    await bench.reset()
    every = [(0, qp, 0) for qp in range(QPS)]
    for _ in range(3):
        await bench.give("arm", 2, 77)
        dut.resetting_i.value = 1
        await bench.step()
        for _ in range(10):
            await bench.give("arm", 1, 5)
        await bench.settle()
        for _ in range(20):
            await bench.step()
        assert bench.taken() == [(1, 2, 77), *every]
        dut.resetting_i.value = 0
        for _ in range(20):
            await bench.step()
        assert bench.taken() == []


@cocotb.test()
async def coming_out_of_reset_while_the_core_resets_closes_nothing(dut: Any) -> None:
    bench = ControlBench(dut)
    dut.resetting_i.value = 1
    await bench.reset()
    for _ in range(20):
        await bench.step()
    assert bench.taken() == []
    assert not now(dut.busy_o)


def test_rc_control() -> None:
    run("rc_control", RcQps=QPS)
