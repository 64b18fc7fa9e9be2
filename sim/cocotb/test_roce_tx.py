"""roce_tx: packets equal the golden model and scapy's ICRC for any length, at line rate, whatever stalls."""

from typing import Any

import cocotb
import pytest
from cocotb.triggers import RisingEdge

from bench import ALL_STALLS, WIDTHS, Bench, Stalls, assert_same_packets, run
from framelane.driver import ports
from framelane.models import axis
from framelane.models.roce_qp import QpContext, Segmentation
from framelane.models.roce_segment import MAX_MESSAGE_BYTES, Message, Status
from framelane.models.roce_tx import RoceTx
from framelane.models.wire import MTUS, Endpoint

LOCAL = Endpoint(mac=0x02_0A_0B_0C_0D_0E, ip=0x0A000001)
PEER = Endpoint(mac=0x02_1A_1B_1C_1D_1E, ip=0xC0A8FFFE)


class RoceTxBench(Bench):
    """The packetizer with its QPs, and the golden model beside it."""

    def __init__(self, dut: Any, stalls: Stalls = Stalls.NONE) -> None:
        super().__init__(dut, stalls)
        self.width = len(dut.m_axis_tdata)
        self.msg, self.payload = self.source("s_axis_msg"), self.source("s_axis_payload")
        self.out = self.sink("m_axis")
        self.statuses: list[tuple[int, int]] = []
        self.watch(self._note_status)
        self.expected: list[bytes] = []
        self.expected_statuses: list[tuple[int, int]] = []

    def _note_status(self) -> None:
        if int(self.dut.idle_o.value):
            assert not int(self.dut.m_axis_tvalid.value), "idle while a packet leaves"
        if int(self.dut.status_valid_o.value):
            self.statuses.append((int(self.dut.status_o.value), int(self.dut.status_qp_o.value)))

    async def start(self, *qps: QpContext) -> None:
        self.dut.local_mac_i.value, self.dut.local_ip_i.value = LOCAL.mac, LOCAL.ip
        self.dut.qp_write_i.value = 0
        self.dut.mtu_index_i.value = 0
        await self.reset()
        for index, qp in enumerate(qps):
            self.dut.qp_write_i.value = 1
            self.dut.qp_write_index_i.value = index
            self.dut.qp_write_data_i.value = ports.qp_t(qp)
            await RisingEdge(self.dut.clk)
        self.dut.qp_write_i.value = 0
        await RisingEdge(self.dut.clk)
        await RisingEdge(self.dut.clk)
        self.model = RoceTx(LOCAL, qps)

    def send(self, length: int, qp: int = 0, imm: int | None = None, address: int | None = None) -> None:
        """Queue one message with random payload, in the design and in the model."""
        address = self.random.getrandbits(64) if address is None else address
        payload = self.random.randbytes(min(length, 1 << 16))
        message = Message(address, length, qp, imm)
        self.msg.items.append({"tdata": ports.message_t(message)})
        if payload:
            self.payload.send(payload, self.width)
        status, packets = self.model.send(message, payload)
        self.expected += packets
        self.expected_statuses.append((status, qp))

    async def check(self) -> None:
        """Run until all is out; packets and statuses equal the model's."""
        beats = sum(axis.n_beats(len(p), self.width) for p in self.expected)
        await self.drain(self.out, beats)
        assert_same_packets(self.out.packets(self.width), self.expected)
        assert self.statuses == self.expected_statuses
        assert int(self.dut.idle_o.value)


def context(**changes: Any) -> QpContext:
    fields: dict[str, Any] = {"dst": PEER, "dest_qpn": 0x11, "rkey": 0xDEADBEEF, "psn": 0xFFFFF0, "tos": 2}
    return QpContext(**(fields | changes))


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS, segmentation=list(Segmentation))
async def packets_equal_the_model_for_any_length(dut: Any, stalls: Stalls, segmentation: Segmentation) -> None:
    bench = RoceTxBench(dut, stalls)
    table = [context(mtu=MTUS[k % 5], segmentation=segmentation, dest_qpn=k) for k in range(int(dut.NumQp.value))]
    await bench.start(*table)
    lengths = [*range(1, 140), *(n * 256 + d for n in (1, 2, 3) for d in (-2, -1, 0, 1, 2)), 4095, 4096, 4097, 9001]
    for length in lengths:
        imm = bench.random.getrandbits(32) if bench.random.random() < 0.5 else None
        bench.send(length, qp=bench.random.randrange(len(table)), imm=imm)
    await bench.check()


@cocotb.test()
@cocotb.parametrize(segmentation=list(Segmentation))
async def a_packet_leaves_every_ideal_number_of_cycles(dut: Any, segmentation: Segmentation) -> None:
    """Every length at 512 bits: payload 1 to 4096 at every path MTU end, no bubble between or inside packets."""
    bench = RoceTxBench(dut)
    await bench.start(context(segmentation=segmentation))
    step = 1 if bench.width == 512 else 61
    for length in range(1, 4097, step):
        bench.send(length)
    await bench.check()
    assert bench.out.taken[-1] - bench.out.taken[0] == len(bench.out.taken) - 1


@cocotb.test()
async def a_long_message_leaves_without_bubbles(dut: Any) -> None:
    bench = RoceTxBench(dut)
    await bench.start(context(segmentation=Segmentation.MESSAGE, mtu=256))
    for length in (1, 257, 256 * 5 + 3, 258, 4096, 1, 1, 259):
        bench.send(length, imm=length)
    await bench.check()
    assert bench.out.taken[-1] - bench.out.taken[0] == len(bench.out.taken) - 1


@cocotb.test()
async def the_first_beat_leaves_at_most_6_cycles_after_the_first_came(dut: Any) -> None:
    bench = RoceTxBench(dut)
    await bench.start(context(segmentation=Segmentation.MESSAGE, mtu=256))
    for length in (1, 300, 4096):
        for record in (bench.msg.accepted, bench.payload.accepted, bench.out, bench.expected):
            record.clear()
        bench.send(length)
        await bench.drain(bench.out, sum(axis.n_beats(len(p), bench.width) for p in bench.expected))
        first_in = min(bench.msg.accepted[0], bench.payload.accepted[0])
        assert bench.out.taken[0] - first_in <= 6
        assert bench.out.taken[0] - bench.payload.accepted[0] <= 4


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS)
async def a_refused_message_sends_nothing_and_the_next_one_is_served(dut: Any, stalls: Stalls) -> None:
    bench = RoceTxBench(dut, stalls)
    await bench.start(context(), context(enabled=False))
    for length, qp in ((100, 0), (200, 1), (64, 0), (0, 0), (65, 0), (3, 255), (0, 1), (300, 0)):
        bench.send(length, qp=qp)
    bench.send(MAX_MESSAGE_BYTES + 1, qp=0)
    bench.send(5000, qp=0)
    await bench.check()
    assert {s for s, _ in bench.statuses} == set(Status)


@cocotb.test()
async def every_qp_keeps_its_own_psn_across_the_wrap(dut: Any) -> None:
    bench = RoceTxBench(dut)
    await bench.start(*(context(psn=(0xFFFFFE + n) & 0xFFFFFF, mtu=256) for n in range(4)))
    for n in range(24):
        bench.send(700 if n % 3 else 20, qp=n % 4)
    await bench.check()


@cocotb.test()
async def a_qp_that_is_written_again_starts_at_its_new_psn(dut: Any) -> None:
    bench = RoceTxBench(dut)
    await bench.start(context(psn=5))
    bench.send(100)
    await bench.check()
    await bench.start(context(psn=77, rkey=1))
    for record in (bench.expected, bench.expected_statuses, bench.statuses):
        record.clear()
    bench.send(100)
    await bench.check()


@pytest.mark.parametrize("width", WIDTHS)
def test_roce_tx(width: int) -> None:
    run("roce_tx", DataW=width)
