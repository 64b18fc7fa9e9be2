"""tx_payload: each item becomes its message and its bytes, from an independent memory or its trailer, in one order."""

import logging
from dataclasses import asdict
from typing import Any

import cocotb
import pytest
from cocotbext.axi import AxiReadBus, AxiSlaveRead

from bench import ALL_STALLS, STALL_SHARE, Bench, Stalls, assert_same_packets, run
from framelane.driver.simulated import ports
from framelane.driver.simulated.ports import BD_T, TRAILER_T
from framelane.models.placement.bd_rows import Descriptor
from framelane.models.placement.trailer import TRAILER_BYTES, Trailer
from framelane.models.roce_tx.roce_segment import Message
from rc_ports import ITEM_T
from signals import now
from widths import some_widths

SIZE = 1 << 16


class Memory:
    """What the AXI4 slave reads; it answers SLVERR where this raises."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.end = len(data)

    async def read(self, address: int, length: int) -> bytes:
        if address + length > self.end:
            raise IndexError
        return self.data[address:][:length]


class PayloadBench(Bench):
    """The block before cocotbext-axi's memory."""

    def __init__(self, dut: Any, stalls: Stalls = Stalls.NONE) -> None:
        super().__init__(dut, stalls)
        self.width = len(dut.m_axis_payload_tdata)
        self.items, self.trailers = self.source("s_axis_item"), self.source("s_axis_trailer")
        self.messages, self.payload = self.sink("m_axis_msg"), self.sink("m_axis_payload")
        self.ledger = self.sink("m_axis_item")
        logging.getLogger(f"cocotb.{dut._name}.m_axi").setLevel(logging.WARNING)
        self.memory = Memory(self.random.randbytes(SIZE))
        slave = AxiSlaveRead(AxiReadBus.from_prefix(dut, "m_axi"), dut.clk, dut.rst, self.memory)
        if stalls.source:
            slave.r_channel.set_pause_generator(iter(lambda: self.random.random() < STALL_SHARE, None))
        self.expected: list[bytes] = []
        self.expected_messages: list[int] = []
        self.sent: list[int] = []
        self.errors = 0
        self.watch(self._count)

    def _count(self) -> None:
        self.errors += now(self.dut.read_error_o)

    def offer(self, bd: Descriptor) -> None:
        """An item, of RC or not; one of RC may be sent again, from its middle."""
        rc, psn = bool(self.random.getrandbits(1)), self.random.getrandbits(24)
        resume = rc and bool(self.random.getrandbits(1))
        fields = {"tag": self.random.getrandbits(10), "rc": rc, "resume": resume, "psn": psn}
        fields |= {"bd": BD_T.pack(asdict(bd))}
        self.sent.append(ITEM_T.pack(fields))
        self.items.items.append({"tdata": self.sent[-1]})
        imm = bd.imm if bd.last else None
        message = Message(bd.destination, bd.length, bd.qp, imm, psn if rc else None, resume)
        packed = ports.MESSAGE_T.unpack(ports.message_t(message)) | {"psn": psn, "imm": bd.imm}
        self.expected_messages.append(ports.MESSAGE_T.pack(packed))
        if bd.last:
            bits = self.random.getrandbits
            counts = bits(32), bits(64), bits(64), bits(64), bits(32), bits(32), bits(64), bits(64)
            trailer = Trailer(1, *counts, time_flags=bits(32))
            self.trailers.items.append({"tdata": TRAILER_T.pack(asdict(trailer))})
            self.expected.append(trailer.pack())
        else:
            self.expected.append(self.memory.data[bd.source :][: bd.length])

    def row(self, source: int, length: int) -> None:
        bits = self.random.getrandbits
        self.offer(Descriptor(source, bits(64), length, bits(8), bits(8), last=False, imm=0))

    def end(self) -> None:
        bits = self.random.getrandbits
        self.offer(Descriptor(0, bits(64), TRAILER_BYTES, bits(8), bits(8), last=True, imm=bits(32)))

    async def finish(self) -> list[bytes]:
        """Run until all is out; the payload of each item."""
        await self.until(lambda: sum(item["tlast"] for item in self.payload.items) >= len(self.expected), 60_000)
        for _ in range(100):
            await self.step()
        assert [item["tdata"] for item in self.messages.items] == self.expected_messages
        assert [item["tdata"] for item in self.ledger.items] == self.sent
        return self.payload.packets(self.width)


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS)
async def rows_and_trailers_keep_the_order_of_their_items(dut: Any, stalls: Stalls) -> None:
    bench = PayloadBench(dut, stalls)
    await bench.reset()
    for _ in range(20):
        for _ in range(bench.random.randrange(6)):
            length = bench.random.choice((1, 63, 64, 65, bench.random.randrange(1, 1500)))
            bench.row(bench.random.randrange(SIZE - 1500), length)
        bench.end()
    assert_same_packets(await bench.finish(), bench.expected)
    assert not any(item["tuser"] for item in bench.payload.items)
    assert bench.errors == 0


@cocotb.test()
async def a_beat_that_memory_refuses_is_marked_and_told(dut: Any) -> None:
    bench = PayloadBench(dut)
    await bench.reset()
    bench.memory.end = 4096
    for source in (0, 4096 - 256, 8192):
        bench.row(source, 512)
        bench.end()
    packets = await bench.finish()
    marks: list[list[int]] = [[]]
    for item in bench.payload.items:
        marks[-1].append(item["tuser"])
        if item["tlast"]:
            marks.append([])
    beats = 512 * 8 // bench.width
    assert marks[:-1:2] == [[0] * beats, [0] * (beats // 2) + [1] * (beats // 2), [1] * beats]
    assert not any(map(any, marks[1::2])), "a trailer is not read from memory"
    assert bench.errors == beats + beats // 2
    assert packets[0] == bench.expected[0]
    assert packets[1::2] == bench.expected[1::2]


@cocotb.test()
async def the_memory_is_read_while_messages_wait(dut: Any) -> None:
    bench = PayloadBench(dut)
    await bench.reset()
    bench._sinks.remove(bench.messages)
    for n in range(40):
        bench.row(64 * n, 64)
    await bench.until(lambda: sum(item["tlast"] for item in bench.payload.items) == 40, 5000)
    bench._sinks.append(bench.messages)
    assert_same_packets(await bench.finish(), bench.expected)


@pytest.mark.parametrize("width", some_widths("tx_payload"))
def test_tx_payload(width: int) -> None:
    run("tx_payload", flat=True, DataW=width)
