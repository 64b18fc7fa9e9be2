"""roce_segment: packets of every message equal the golden model, one a cycle; what cannot be served is refused."""

from typing import Any

import cocotb

from bench import ALL_STALLS, Bench, Stalls, run
from framelane.driver.simulated import ports
from framelane.driver.simulated.ports import CONTEXT_T, PACKET_T, QP_T
from framelane.models.roce_tx import roce_header, roce_segment, wire
from framelane.models.roce_tx.roce_qp import AckPolicy, QpContext, Segmentation, Service
from framelane.models.roce_tx.roce_segment import MAX_MESSAGE_BYTES, Message, PacketCommand, Status
from framelane.models.roce_tx.wire import Endpoint
from signals import now

QPS = (
    QpContext(Endpoint(1, 2), dest_qpn=0x10, rkey=0x70717273, psn=0xFFFFFD, mtu=256),
    QpContext(Endpoint(3, 4), dest_qpn=0x20, rkey=0x80818283, psn=5, mtu=4096, segmentation=Segmentation.MESSAGE),
    QpContext(
        Endpoint(5, 6), dest_qpn=0xABCDEF, rkey=0x90919293, mtu=1024, segmentation=Segmentation.MESSAGE, entropy=True,
        service=Service.RC, ack_policy=AckPolicy.INTERVAL, ack_log2=2, vlan=0xE123,
    ),
    QpContext(Endpoint(7, 8), dest_qpn=0x40, rkey=10, enabled=False),
    QpContext(Endpoint(9, 10), dest_qpn=0x50, rkey=11, mtu=512, service=Service.RC, ack_policy=AckPolicy.LAST),
    QpContext(Endpoint(11, 12), dest_qpn=0x60, rkey=12, mtu=2048, service=Service.RC, entropy=True, psn=0x7FFFFF),
    QpContext(Endpoint(13, 14), dest_qpn=0x70, rkey=13, mtu=256, rate=1),
    QpContext(Endpoint(15, 16), dest_qpn=0x80, rkey=14, mtu=256, rate=1, vlan=5, segmentation=Segmentation.MESSAGE),
)  # fmt: skip
DISABLED = 3
SERVED = (0, 1, 2, 4, 5, 6, 7)


def context_fields(index: int) -> dict[str, int]:
    """What roce_qp gives for a QP; the checksum of each is another. What UC says of acknowledgements does not count."""
    qp = QPS[index]
    fields = {"limited": qp.rate != 0, "checksum": 0xFFFF - 0x111 * index}
    if qp.service is Service.UC:
        fields |= {"ack_policy": AckPolicy.INTERVAL, "ack_log2": 0}
    return {name: v for name, v in QP_T.unpack(ports.qp_t(qp)).items() if name in CONTEXT_T.fields} | fields


class SegmentBench(Bench):
    """The segmenter with a QP table in Python: it answers in the same cycle."""

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
        if now(self.dut.psn_write_o):
            self.psn[now(self.dut.psn_write_index_o)] = now(self.dut.psn_o)

    def look_up(self) -> None:
        """Drive the tables' outputs for what is looked up."""
        index = now(self.dut.index_o) % len(QPS)
        self.dut.context_i.value = CONTEXT_T.pack(context_fields(index))
        self.dut.psn_i.value = self.psn[now(self.dut.psn_index_o) % len(QPS)]

    def send(
        self, length: int, qp: int = 0, imm: int | None = None, psn: int | None = None, resume: bool = False
    ) -> None:
        address = self.random.getrandbits(64) | self.random.choice([0, 0xFFFFF000, 0xFFFFFFFF_FFFFF000])
        message = Message(address, length, qp, imm, psn, resume)
        self.messages.items.append({"tdata": ports.message_t(message)})
        status = roce_segment.status(message, QPS)
        if status is Status.OK:
            packets = roce_segment.segment(message, QPS[qp], self.model_psn[qp] if psn is None else psn)
            if psn is None:
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
            header = roce_header.header(packet, QPS[index], Endpoint(0, 0))
            udp_length = int.from_bytes(header[-len(header) + wire.ip_offset(header) + 24 :][:2], "big")
            assert (fields["opcode"], fields["psn"], fields["length"]) == (packet.opcode, packet.psn, packet.length)
            assert (fields["has_reth"], fields["has_imm"]) == (packet.reth is not None, packet.imm is not None)
            assert (fields["ack_request"], fields["udp_length"]) == (packet.ack_request, udp_length)
            assert (fields["limited"], fields["vlan"]) == (QPS[index].rate != 0, QPS[index].vlan is not None)
            assert fields["checksum"] == context_fields(index)["checksum"] + udp_length
            assert fields.items() >= (ports.path_fields(QPS[index]) | {"src_port": packet.src_port}).items()
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
        for qp in SERVED:
            bench.send(length, qp, bench.random.choice([None, bench.random.getrandbits(32)]))
    await bench.check()


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS)
async def a_repeated_message_is_the_same_and_leaves_the_psn(dut: Any, stalls: Stalls) -> None:
    bench = SegmentBench(dut, stalls)
    await bench.reset()
    for n in range(60):
        qp = n // 4 % 3
        psn = bench.random.getrandbits(24) if n % 3 == 0 else None
        bench.send(1 + 700 * (n % 4), qp=qp, psn=psn, resume=psn is not None and n % 2 == 0)
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
        (100, DISABLED),
        (0, DISABLED),
        (0, 6),
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
