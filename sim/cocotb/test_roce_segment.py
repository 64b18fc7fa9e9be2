"""roce_segment: packets of every message equal the golden model, one a cycle; what cannot be served is refused."""

from typing import Any

import cocotb

from bench import ALL_STALLS, Bench, Stalls, run
from framelane.driver import ports
from framelane.driver.ports import PACKET_T, QP_T
from framelane.models import roce_segment
from framelane.models.roce_qp import QpContext, Segmentation
from framelane.models.roce_segment import MAX_MESSAGE_BYTES, Message, PacketCommand, Status
from framelane.models.wire import Endpoint

QPS = (
    QpContext(Endpoint(1, 2), dest_qpn=0x10, rkey=0x70717273, psn=0xFFFFFD, mtu=256),
    QpContext(Endpoint(3, 4), dest_qpn=0x20, rkey=0x80818283, psn=5, mtu=4096, segmentation=Segmentation.MESSAGE),
    QpContext(Endpoint(5, 6), dest_qpn=0x30, rkey=0x90919293, mtu=1024, segmentation=Segmentation.MESSAGE),
    QpContext(Endpoint(7, 8), dest_qpn=0x40, rkey=10, enabled=False),
)


class SegmentBench(Bench):
    """The segmenter with a QP table in Python: it answers in the same cycle, like roce_qp."""

    def __init__(self, dut: Any, stalls: Stalls = Stalls.NONE) -> None:
        super().__init__(dut, stalls)
        self.messages, self.out = self.source("s_axis_msg"), self.sink("m_axis_pkt")
        self.psn = [qp.psn for qp in QPS]
        self.model_psn = list(self.psn)
        self.expected: list[tuple[PacketCommand | Status, int, bool]] = []
        """Packet or refusal, index of the QP, whether the message ends with it."""
        self.refused_lengths: list[int] = []
        self.watch(self._note)
        self.answer(self.look_up)

    def _note(self) -> None:
        if int(self.dut.psn_write_o.value):
            self.psn[int(self.dut.psn_index_o.value)] = int(self.dut.psn_o.value)

    def look_up(self) -> None:
        """Drive the table's outputs for the QP that is looked up."""
        index = int(self.dut.index_o.value) % len(QPS)
        fields = QP_T.unpack(ports.qp_t(QPS[index])) | {"psn": self.psn[index]}
        self.dut.qp_i.value = QP_T.pack(fields)
        self.dut.checksum_i.value = 0x1111 * index

    def send(self, length: int, qp: int = 0, imm: int | None = None) -> None:
        address = self.random.getrandbits(64) | self.random.choice([0, 0xFFFFF000, 0xFFFFFFFF_FFFFF000])
        message = Message(address, length, qp, imm)
        self.messages.items.append({"tdata": ports.message_t(message)})
        status = roce_segment.status(message, QPS)
        if status is Status.OK:
            packets = roce_segment.segment(message, QPS[qp], self.model_psn[qp])
            self.model_psn[qp] = (self.model_psn[qp] + len(packets)) & 0xFFFFFF
            self.expected += [(p, qp, p is packets[-1]) for p in packets]
        else:
            self.expected.append((status, qp, True))
            self.refused_lengths.append(length)

    async def check(self) -> None:
        await self.drain(self.out, len(self.expected))
        assert self.psn == self.model_psn
        to_drop = iter(self.refused_lengths)
        for item, (packet, index, ends) in zip(self.out.items, self.expected, strict=True):
            fields = PACKET_T.unpack(item["tdata"])
            assert (fields["index"], fields["ends"]) == (index, ends)
            if isinstance(packet, Status):
                assert (fields["status"], fields["length"] != 0) == (packet, next(to_drop) != 0)
                continue
            assert fields["status"] == Status.OK
            assert QP_T.unpack(fields["qp"]) == QP_T.unpack(ports.qp_t(QPS[index])) | {"psn": packet.psn}
            assert (fields["opcode"], fields["length"]) == (packet.opcode, packet.length)
            assert (fields["has_reth"], fields["has_imm"]) == (packet.reth is not None, packet.imm is not None)
            assert fields["checksum"] == 0x1111 * index
            if packet.reth:
                reth = (fields["reth_address"], fields["reth_rkey"], fields["reth_length"])
                assert reth == (packet.reth.address, packet.reth.rkey, packet.reth.length)
            if packet.imm is not None:
                assert fields["imm"] == packet.imm


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS)
async def packets_equal_the_model(dut: Any, stalls: Stalls) -> None:
    bench = SegmentBench(dut, stalls)
    await bench.reset()
    for length in (1, 255, 256, 257, 4096, 4097, 10_000, 1023, 1024, 1025, 2, 3):
        for qp in range(3):
            bench.send(length, qp, bench.random.choice([None, bench.random.getrandbits(32)]))
    await bench.check()


@cocotb.test()
async def one_packet_leaves_every_cycle_also_where_a_qp_follows_itself(dut: Any) -> None:
    bench = SegmentBench(dut)
    await bench.reset()
    for n in range(60):
        bench.send(1 + 700 * (n % 4), qp=n // 5 % 3)
    await bench.check()
    assert bench.out.taken[-1] - bench.out.taken[0] == len(bench.out.taken) - 1


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS)
async def impossible_messages_are_refused_and_the_next_one_served(dut: Any, stalls: Stalls) -> None:
    bench = SegmentBench(dut, stalls)
    await bench.reset()
    for length, qp in (
        (0, 0),
        (100, 3),
        (0, 3),
        (MAX_MESSAGE_BYTES + 1, 0),
        ((1 << 32) - 1, 1),
        (600, 0),
        (0, 1),
        (5, 2),
    ):
        bench.send(length, qp)
    await bench.check()


@cocotb.test()
async def the_longest_message_is_served_up_to_its_first_packets(dut: Any) -> None:
    bench = SegmentBench(dut)
    await bench.reset()
    bench.messages.items.append({"tdata": ports.message_t(Message(0, MAX_MESSAGE_BYTES, qp=1))})
    await bench.until(lambda: len(bench.out.items) == 50)
    fields = [PACKET_T.unpack(item["tdata"]) for item in bench.out.items]
    assert fields[0]["reth_length"] == MAX_MESSAGE_BYTES
    assert {f["opcode"] for f in fields[1:]} == {0x27}


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS)
async def a_reset_leaves_nothing_of_the_message_under_way(dut: Any, stalls: Stalls) -> None:
    bench = SegmentBench(dut, stalls)
    for cycles in range(1, 12):
        await bench.reset(cycles=1)
        bench.messages.items.extend({"tdata": ports.message_t(Message(0, 1200, qp=0))} for _ in range(2))
        for _ in range(cycles):
            await bench.step()
        await bench.reset(cycles=1)
        bench.model_psn = list(bench.psn)
        bench.send(300, qp=2)
        await bench.check()
        bench.expected.clear()


def test_roce_segment() -> None:
    run("roce_segment")
