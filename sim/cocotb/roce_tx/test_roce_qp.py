"""roce_qp: contexts come back as written, checksums are those of the IPv4 header, each QP keeps its PSN."""

from typing import Any

import cocotb

from bench import Bench, run
from framelane.driver.simulated import ports
from framelane.driver.simulated.ports import CONTEXT_T, QP_T, QP_WRITE_T
from framelane.models.roce_tx import wire
from framelane.models.roce_tx.roce_qp import AckPolicy, QpContext, Segmentation, Service
from framelane.models.roce_tx.wire import MTUS, Endpoint
from signals import now

NUM_QP = 4
LOCAL_IP = 0xFFFE8001


class QpBench(Bench):
    async def start(self) -> None:
        for name in ("psn_write_i", "index_i", "psn_index_i", "mtu_index_i"):
            getattr(self.dut, name).value = 0
        self.dut.local_ip_i.value = LOCAL_IP
        self.writes = self.source("s_axis_qp")
        await self.reset()

    async def write(self, index: int, qp: QpContext | int, set_psn: bool = True) -> None:
        """Write a QP, or its bits; what follows on the stream's wires does not count."""
        bits = qp if isinstance(qp, int) else ports.qp_t(qp)
        self.writes.items.append({"tdata": QP_WRITE_T.pack({"set_psn": set_psn, "index": index, "qp": bits})})
        await self.until(lambda: not self.writes.items)
        self.dut.s_axis_qp_tvalid.value = 0
        self.dut.s_axis_qp_tdata.value = self.random.getrandbits(QP_WRITE_T.width)
        await self.hand_over(self.writes, limit=15)

    async def look_up(self, index: int) -> dict[str, int]:
        """The context as fields, and the PSN."""
        for name in ("index_i", "psn_index_i", "mtu_index_i"):
            getattr(self.dut, name).value = index
        await self.step()
        psn = now(self.dut.psn_o) if index < NUM_QP else 0
        return CONTEXT_T.unpack(now(self.dut.context_o)) | {"psn": psn}

    def random_qp(self, enabled: bool = True) -> QpContext:
        draw = self.random.getrandbits
        names = ("dest_qpn", "rkey", "psn", "src_port", "pkey", "tos", "ttl", "ack_log2", "burst")
        fields: dict[str, Any] = {name: draw(QP_T.fields[name]) for name in names}
        dst, mtu, policy = Endpoint(draw(48), draw(32)), self.random.choice(MTUS), self.random.choice(list(AckPolicy))
        fields |= {"vlan": self.random.choice([None, draw(16)]), "rate": draw(1) and draw(24), "entropy": bool(draw(1))}
        service = Service.RC if policy else Service(draw(1))
        kinds: dict[str, Any] = {"service": service, "segmentation": Segmentation(draw(1)), "ack_policy": policy}
        return QpContext(dst, mtu=mtu, enabled=enabled, **kinds, **fields)


def seen(qp: QpContext) -> dict[str, int]:
    """What a look-up of `qp` gives, except the checksum."""
    fields = QP_T.unpack(ports.qp_t(qp)) | {"limited": qp.rate != 0}
    return {name: fields[name] for name in (*CONTEXT_T.fields, "psn") if name != "checksum"}


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
    for _ in range(60):
        index, qp = bench.random.randrange(NUM_QP), bench.random_qp(enabled=bench.random.random() < 0.5)
        await bench.write(index, qp)
        written[index] = qp
        for k, expected in written.items():
            fields = await bench.look_up(k)
            total = (fields.pop("checksum") + 1024) % 0xFFFF
            assert fields == seen(expected)
            assert now(dut.mtu_log2_o) == expected.mtu.bit_length() - 1
            assert (0xFFFF - total) % 0xFFFF == ip_header_sum(expected, 1044) % 0xFFFF


@cocotb.test()
async def the_checksum_of_every_carry_is_right(dut: Any) -> None:
    bench = QpBench(dut)
    await bench.start()
    for dst_ip in (0, 0xFFFFFFFF, 0xFFFF0000, 0x0000FFFF, 0x7AFE0001, 0xFFFE0000):
        for tos, ttl in ((0, 0), (0xFF, 0xFF), (0, 0xFF)):
            qp = QpContext(Endpoint(1, dst_ip), dest_qpn=1, rkey=1, tos=tos, ttl=ttl)
            await bench.write(0, qp)
            total = ((await bench.look_up(0))["checksum"] + 1024) % 0xFFFF
            assert (0xFFFF - total) % 0xFFFF == ip_header_sum(qp, 1044) % 0xFFFF


@cocotb.test()
async def a_write_without_psn_leaves_the_psn(dut: Any) -> None:
    bench = QpBench(dut)
    await bench.start()
    before, after = bench.random_qp(), bench.random_qp()
    await bench.write(2, before)
    await bench.write(2, after, set_psn=False)
    fields = await bench.look_up(2)
    assert fields.pop("checksum") is not None
    assert fields == seen(after) | {"psn": before.psn}


@cocotb.test()
async def a_qp_outside_the_table_is_not_enabled_and_its_write_changes_none(dut: Any) -> None:
    bench = QpBench(dut)
    await bench.start()
    qps = [bench.random_qp() for _ in range(NUM_QP)]
    for index, qp in enumerate(qps):
        await bench.write(index, qp)
    for index in (NUM_QP, NUM_QP + 1, 255):
        await bench.write(index, bench.random_qp())
        assert not (await bench.look_up(index))["enabled"]
        assert now(dut.mtu_log2_o) == 0
    for index, qp in enumerate(qps):
        assert (await bench.look_up(index)).items() >= seen(qp).items()


@cocotb.test()
async def a_reset_disables_all(dut: Any) -> None:
    bench = QpBench(dut)
    await bench.start()
    for index in range(NUM_QP):
        await bench.write(index, bench.random_qp())
    await bench.reset(cycles=1)
    for index in range(NUM_QP):
        assert not (await bench.look_up(index))["enabled"]


@cocotb.test()
async def a_qp_with_an_mtu_that_does_not_exist_is_not_enabled(dut: Any) -> None:
    bench = QpBench(dut)
    await bench.start()
    for mtu_log2 in range(16):
        fields = QP_T.unpack(ports.qp_t(bench.random_qp())) | {"mtu_log2": mtu_log2}
        await bench.write(1, QP_T.pack(fields))
        assert (await bench.look_up(1))["enabled"] == (1 << mtu_log2 in MTUS)


@cocotb.test()
async def the_psn_moves_for_its_own_qp_only(dut: Any) -> None:
    bench = QpBench(dut)
    await bench.start()
    qps = [bench.random_qp() for _ in range(NUM_QP)]
    for index, qp in enumerate(qps):
        await bench.write(index, qp)
    dut.psn_write_i.value, dut.psn_write_index_i.value, dut.psn_i.value = 1, 2, 0xABCDEF
    await bench.step()
    dut.psn_write_i.value = 0
    for index, qp in enumerate(qps):
        assert (await bench.look_up(index))["psn"] == (0xABCDEF if index == 2 else qp.psn)


@cocotb.test()
async def a_psn_is_set_also_while_another_qp_moves_on_every_cycle(dut: Any) -> None:
    bench = QpBench(dut)
    await bench.start()
    qp = bench.random_qp()
    dut.psn_write_i.value, dut.psn_write_index_i.value, dut.psn_i.value = 1, 3, 0x123456
    bench.writes.items.append({"tdata": ports.qp_write_t(1, qp)})
    for _ in range(30):
        await bench.step()
    assert not now(dut.s_axis_qp_tready), "in force before its PSN"
    dut.psn_write_i.value = 0
    await bench.hand_over(bench.writes, limit=5)
    assert (await bench.look_up(1))["psn"] == qp.psn
    assert (await bench.look_up(3))["psn"] == 0x123456


def test_roce_qp() -> None:
    run("roce_qp", NumQp=NUM_QP)
