"""roce_qp: contexts come back as written, checksums are those of the IPv4 header, each QP keeps its PSN."""

from typing import Any

import cocotb

from bench import Bench, run
from framelane.driver import ports
from framelane.driver.ports import QP_T
from framelane.models import wire
from framelane.models.roce_qp import QpContext, Segmentation
from framelane.models.wire import MTUS, Endpoint

NUM_QP = 4
LOCAL_IP = 0xFFFE8001


class QpBench(Bench):
    async def start(self) -> None:
        for name in ("write_i", "psn_write_i", "index_i", "mtu_index_i"):
            getattr(self.dut, name).value = 0
        self.dut.local_ip_i.value = LOCAL_IP
        await self.reset()
        await self.step()

    async def write(self, index: int, qp: QpContext) -> None:
        self.dut.write_i.value, self.dut.write_index_i.value = 1, index
        self.dut.write_qp_i.value = ports.qp_t(qp)
        await self.step()
        # Only what stands there with write_i counts.
        self.dut.write_i.value, self.dut.write_index_i.value = 0, (index + 1) % NUM_QP
        self.dut.write_qp_i.value = ports.qp_t(self.random_qp())
        await self.step()

    async def look_up(self, index: int) -> tuple[dict[str, int], int]:
        """The context as fields, and the checksum."""
        self.dut.index_i.value = index
        self.dut.mtu_index_i.value = index
        await self.step()
        assert int(self.dut.qp_o.value) >= 0
        return QP_T.unpack(int(self.dut.qp_o.value)), int(self.dut.checksum_o.value)

    def random_qp(self, enabled: bool = True) -> QpContext:
        draw = self.random.getrandbits
        names = [name for name in QP_T.fields if name in {"dest_qpn", "rkey", "psn", "src_port", "pkey", "tos", "ttl"}]
        fields: dict[str, Any] = {name: draw(QP_T.fields[name]) for name in names}
        dst, mtu = Endpoint(draw(48), draw(32)), self.random.choice(MTUS)
        return QpContext(dst, mtu=mtu, segmentation=Segmentation(draw(1)), enabled=enabled, **fields)


def ip_header_sum(qp: QpContext, total_length: int) -> int:
    """The header's checksum by the model of the wire, with `total_length` of the IPv4 packet."""
    payload = total_length - wire.IP_BYTES - wire.UDP_BYTES - wire.BTH_BYTES - wire.ICRC_BYTES
    header = wire.pack(
        wire.Headers(Endpoint(0, LOCAL_IP), qp.dst, 0, 0x27, 0, 0, payload_bytes=payload, tos=qp.tos, ttl=qp.ttl)
    )
    return int.from_bytes(header[24:26], "big")


@cocotb.test()
async def contexts_come_back_as_written_and_others_stay(dut: Any) -> None:
    bench = QpBench(dut)
    await bench.start()
    written: dict[int, QpContext] = {}
    for _ in range(40):
        index, qp = bench.random.randrange(NUM_QP), bench.random_qp(enabled=bench.random.random() < 0.5)
        await bench.write(index, qp)
        written[index] = qp
        for k, expected in written.items():
            fields, checksum = await bench.look_up(k)
            assert fields == QP_T.unpack(ports.qp_t(expected))
            assert int(dut.mtu_log2_o.value) == expected.mtu.bit_length() - 1
            total = (checksum + 1044) % 0xFFFF
            assert (0xFFFF - total) % 0xFFFF == ip_header_sum(expected, 1044) % 0xFFFF


@cocotb.test()
async def a_qp_outside_the_table_is_not_enabled(dut: Any) -> None:
    bench = QpBench(dut)
    await bench.start()
    for index in range(NUM_QP):
        assert not (await bench.look_up(index))[0]["enabled"], "enabled before it was written"
        await bench.write(index, bench.random_qp())
    for index in range(256):
        fields, _ = await bench.look_up(index)
        assert fields["enabled"] == (index < NUM_QP)
        assert (int(dut.mtu_log2_o.value) == 0) == (index >= NUM_QP)


@cocotb.test()
async def a_qp_with_an_mtu_that_does_not_exist_is_not_enabled(dut: Any) -> None:
    bench = QpBench(dut)
    await bench.start()
    for mtu_log2 in range(16):
        fields = QP_T.unpack(ports.qp_t(bench.random_qp())) | {"mtu_log2": mtu_log2}
        dut.write_i.value, dut.write_index_i.value, dut.write_qp_i.value = 1, 1, QP_T.pack(fields)
        await bench.step()
        dut.write_i.value = 0
        await bench.step()
        assert (await bench.look_up(1))[0]["enabled"] == (1 << mtu_log2 in MTUS)


@cocotb.test()
async def the_psn_moves_for_its_own_qp_only(dut: Any) -> None:
    bench = QpBench(dut)
    await bench.start()
    qps = [bench.random_qp() for _ in range(NUM_QP)]
    for index, qp in enumerate(qps):
        await bench.write(index, qp)
    dut.psn_write_i.value, dut.psn_index_i.value, dut.psn_i.value = 1, 2, 0xABCDEF
    await bench.step()
    dut.psn_index_i.value = NUM_QP + 1  # no such QP
    await bench.step()
    dut.psn_write_i.value = 0
    for index, qp in enumerate(qps):
        fields, _ = await bench.look_up(index)
        assert fields["psn"] == (0xABCDEF if index == 2 else qp.psn)


def test_roce_qp() -> None:
    run("roce_qp", NumQp=NUM_QP)
