"""qp_commit: what lies in the registers of a QP comes out as one write to the QP table."""

from typing import Any

import cocotb

from bench import ALL_STALLS, Bench, Stalls, run
from framelane.driver.simulated import ports
from framelane.models.registers.registers import qp_words
from framelane.models.roce_tx.roce_qp import AckPolicy, QpContext, Segmentation, Service
from framelane.models.roce_tx.wire import MTUS, Endpoint
from signals import now

WORDS = 10


class CommitBench(Bench):
    """The block between a table of entries, which it reads, and a QP table."""

    def __init__(self, dut: Any, stalls: Stalls = Stalls.NONE) -> None:
        super().__init__(dut, stalls)
        self.table: dict[int, int] = {}
        self.writes = self.sink("m_axis_qp")
        dut.commit_i.value = 0
        self._asked = 0
        self._busy = self._valid = False
        self.answer(self._read)
        self.watch(self._look)

    def _read(self) -> None:
        self.dut.words_i.value = self.table.get(self._asked, 0)
        self._asked = now(self.dut.index_o)

    def _look(self) -> None:
        self._busy = bool(now(self.dut.busy_o))
        self._valid = bool(now(self.dut.m_axis_qp_tvalid))

    def is_busy(self) -> bool:
        """Whether it was busy in the last cycle."""
        return self._busy

    def is_offered(self) -> bool:
        return self._valid

    async def commit(self, index: int, bits: int) -> None:
        self.table[index] = bits
        self.dut.commit_i.value, self.dut.index_i.value = 1, index
        await self.step()
        self.dut.commit_i.value, self.dut.index_i.value = 0, self.random.getrandbits(8)

    def random_qp(self) -> QpContext:
        draw = self.random.getrandbits
        widths = {"dest_qpn": 24, "rkey": 32, "psn": 24, "src_port": 16, "pkey": 16, "tos": 8, "ttl": 8, "ack_log2": 4}
        fields: dict[str, Any] = {name: draw(width) for name, width in widths.items()}
        fields |= {"vlan": self.random.choice([None, draw(16)]), "rate": draw(24), "burst": draw(24)}
        fields |= {"entropy": bool(draw(1)), "enabled": bool(draw(1)), "mtu": self.random.choice(MTUS)}
        policy = self.random.choice(list(AckPolicy))
        service = Service.RC if policy else Service(draw(1))
        kinds: dict[str, Any] = {"service": service, "segmentation": Segmentation(draw(1)), "ack_policy": policy}
        return QpContext(Endpoint(draw(48), draw(32)), **kinds, **fields)


def bits(words: tuple[int, ...]) -> int:
    return sum(word << 32 * index for index, word in enumerate(words))


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS)
async def every_field_of_an_entry_arrives(dut: Any, stalls: Stalls) -> None:
    bench = CommitBench(dut, stalls)
    await bench.reset()
    expected = []
    for _ in range(100):
        index, qp, set_psn = bench.random.getrandbits(8), bench.random_qp(), bool(bench.random.getrandbits(1))
        await bench.commit(index, bits(qp_words(qp, set_psn)))
        await bench.step()
        await bench.until(lambda: not bench.is_busy(), limit=100)
        expected.append(ports.qp_write_t(index, qp, set_psn))
    await bench.drain(bench.writes, len(expected))
    assert [item["tdata"] for item in bench.writes.items] == expected


@cocotb.test()
async def it_is_busy_until_the_table_is_ready_again(dut: Any) -> None:
    bench = CommitBench(dut)
    await bench.reset()
    bench._sinks.clear()
    dut.m_axis_qp_tready.value = 0
    await bench.commit(3, bits(qp_words(bench.random_qp())))
    for _ in range(30):
        await bench.step()
        assert bench.is_busy()
    assert bench.is_offered()
    dut.m_axis_qp_tready.value = 1
    await bench.step()
    dut.m_axis_qp_tready.value = 0
    for _ in range(30):
        await bench.step()
        assert bench.is_busy()
        assert not bench.is_offered(), "offered twice"
    dut.m_axis_qp_tready.value = 1
    await bench.step()
    await bench.step()
    assert not bench.is_busy()


@cocotb.test()
async def a_reset_forgets_what_was_offered(dut: Any) -> None:
    bench = CommitBench(dut)
    await bench.reset()
    bench._sinks.clear()
    dut.m_axis_qp_tready.value = 0
    await bench.commit(3, bits(qp_words(bench.random_qp())))
    for _ in range(5):
        await bench.step()
    assert bench.is_offered()
    await bench.reset(cycles=1)
    await bench.step()
    assert not bench.is_offered()
    assert not bench.is_busy()


def test_qp_commit() -> None:
    run("qp_commit")
