"""peer_table: a cycle after its index, what was written of a queue pair; nothing of one that is not there."""

from typing import Any

import cocotb
import pytest

from bench import Bench, run
from framelane.driver.simulated import ports
from framelane.models.roce_tx.roce_qp import QpContext, Service
from framelane.models.roce_tx.wire import Endpoint
from framelane.models.station.roce_rx import Peer
from signals import now


class PeerBench(Bench):
    """The table, and what it should hold."""

    def __init__(self, dut: Any) -> None:
        super().__init__(dut)
        dut.qp_write_i.value = dut.qp_write_valid_i.value = dut.index_i.value = 0
        self.peers: dict[int, Peer] = {}

    async def write(self, index: int, valid: bool = True) -> None:
        bits = self.random.getrandbits
        service = self.random.choice(list(Service))
        qp = QpContext(Endpoint(1, bits(32)), 1, 2, service=service, pkey=bits(16), enabled=bool(bits(2)))
        self.dut.qp_write_i.value, self.dut.qp_write_valid_i.value = ports.qp_write_t(index, qp), int(valid)
        await self.step()
        self.dut.qp_write_valid_i.value = 0
        if valid and index < int(self.dut.NumQp.value):
            self.peers.pop(index, None)
            if qp.enabled:
                self.peers[index] = Peer(service is Service.RC, qp.dst.ip, qp.pkey)

    async def check(self) -> None:
        found: list[tuple[int, Peer]] = []
        names = ("rc_o", "peer_ip_o", "pkey_o")

        def look() -> None:
            rc, ip, pkey = (now(getattr(self.dut, name)) for name in names)
            found.append((now(self.dut.enabled_o), Peer(bool(rc), ip, pkey)))

        indexes = [*range(256), 0]
        self.watch(look)
        for index in indexes:
            self.dut.index_i.value = index
            await self.step()
        self._watchers.remove(look)
        for index, (enabled, peer) in zip(indexes, found[1:], strict=False):
            assert enabled == (index in self.peers), index
            if enabled:
                assert peer == self.peers[index]


@cocotb.test()
async def all_that_was_written_is_there_and_a_reset_disables_all(dut: Any) -> None:
    bench = PeerBench(dut)
    await bench.reset()
    await bench.check()
    for _ in range(3):
        for _ in range(40):
            await bench.write(bench.random.randrange(int(dut.NumQp.value) + 3) & 0xFF, bench.random.random() < 0.9)
        await bench.check()
    assert bench.peers
    await bench.reset()
    bench.peers.clear()
    await bench.check()


@pytest.mark.parametrize("num_qp", [1, 16])
def test_peer_table(num_qp: int) -> None:
    run("peer_table", NumQp=num_qp)
