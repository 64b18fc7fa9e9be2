"""tx: whole frames from memory to packets, equal to the golden model, scapy's ICRC and tshark's decoding."""

import ctypes
import itertools
import json
import subprocess
import tempfile
from dataclasses import replace
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

import cocotb
import numpy as np
import pytest
from scapy.contrib.roce import BTH
from scapy.layers.l2 import Ether

from bench import ALL_STALLS, ROOT, STALL_SHARE, WIDTHS, Bench, Stalls, assert_same_packets, run
from framelane.driver import ports
from framelane.models import axis
from framelane.models.bd_gen import FrameEvent
from framelane.models.roce_qp import QpContext
from framelane.models.session import Node, Session
from framelane.models.slots import FREE_RUNNING, SlotLayout
from framelane.models.tx import Tx, TxConfig
from framelane.receiver.pcap import PcapWriter

SOURCE = Node(mac="02:00:00:00:00:01", ip=IPv4Address("10.0.0.1"))
RECEIVER = Node(mac="02:00:00:00:00:02", ip=IPv4Address("10.0.0.2"))
STRIDE = 1 << 24


def session(rows: int = 30, columns: int = 101, **changes: Any) -> Session:
    slot = SlotLayout.needed(rows * columns * 2)
    fields = {"qpn": 0x11, "psn": 0xFFFFFE, "rkey": 0xCAFE, "base": 0x7F0000000000, "n_slots": 3, "slot_bytes": slot}
    return Session(source=SOURCE, receiver=RECEIVER, rows=rows, columns=columns, **(fields | changes))


def second_qp(config: TxConfig) -> TxConfig:
    """The same transmitter with its flow on QP 1; on QP 0 is another that must not send."""
    other = QpContext(RECEIVER.endpoint(), dest_qpn=0xBAD, rkey=0xBAD, mtu=256)
    return replace(config, qps=(other, *config.qps), flow=replace(config.flow, qp=1))


class TxBench(Bench):
    """The transmitter with its memory and its sink in C++, and the golden model beside it."""

    def __init__(self, dut: Any, stalls: Stalls, session: Session, *, latency: int = 0) -> None:
        super().__init__(dut, Stalls.SOURCE if stalls.source else Stalls.NONE)
        self.board = ctypes.CDLL(None)
        for name in ("board_packet_count", "board_packet_bytes"):
            getattr(self.board, name).restype = ctypes.c_uint64
        share, seed = round(STALL_SHARE * 256), ctypes.c_uint64(self.random.getrandbits(63))
        self.board.board_configure(latency, share * stalls.source, share * stalls.sink, seed)
        self.width = 8 * int(dut.KeepW.value)
        self.frames, self.qp_table = self.source("s_axis_frame"), self.source("s_axis_qp")
        self.images: dict[int, bytes] = {}
        self.expected: list[bytes] = []
        self.config = second_qp(TxConfig.of(session))
        self.qp = self.config.qps[self.config.flow.qp]
        self.model = Tx(self.config, lambda address, length: self.images[address][:length], self.width)
        self.credit(FREE_RUNNING)
        self.watch(self._idle_is_idle)

    def _idle_is_idle(self) -> None:
        if int(self.dut.idle_o.value):
            moving = [n for n in ("tvalid", "arvalid", "rvalid") if int(getattr(self.dut, n).value)]
            assert not moving, f"idle with {moving}"

    def credit(self, window_end: int) -> None:
        self.window_end = window_end
        self.dut.window_end_i.value = window_end

    def resize(self, image_bytes: int) -> None:
        """Another number of bytes an image, also an odd one."""
        self.config = replace(self.config, flow=replace(self.config.flow, image_bytes=image_bytes))
        self.model = Tx(self.config, lambda address, length: self.images[address][:length], self.width)

    async def start(self) -> None:
        dut, config = self.dut, self.config
        dut.local_mac_i.value, dut.local_ip_i.value = config.local.mac, config.local.ip
        dut.flow_i.value = ports.flow_t(config.flow)
        await self.reset()
        for index, qp in enumerate(config.qps):
            await self.write_qp(index, qp)

    async def write_qp(self, index: int, qp: QpContext) -> None:
        self.qp_table.items.append({"tdata": ports.qp_write_t(index, qp)})
        await self.hand_over(self.qp_table)

    def offer(self, number: int, image: bytes, offset: int = 0) -> None:
        """Put `image` into the memory, `offset` bytes behind a page, and offer it."""
        address = len(self.images) * STRIDE + offset
        self.images[address] = image
        self.board.board_write(ctypes.c_uint64(address), image, ctypes.c_uint64(len(image)))
        event = FrameEvent(number, self.random.getrandbits(64), self.random.getrandbits(64), address)
        self.frames.items.append({"tdata": ports.frame_t(event)})
        self.expected += self.model.frame(event, self.window_end)

    async def packets(self, expected: list[bytes], quiet: int = 300) -> list[bytes]:
        """Run until as many packets as expected are out, and a little longer; what came."""
        limit = 2000 + 20 * sum(axis.n_beats(len(p), self.width) for p in expected)
        await self.until(lambda: self.board.board_packet_count() >= len(expected) and not self.frames.items, limit)
        for _ in range(quiet):
            await self.step()
        data = ctypes.create_string_buffer(max(1, self.board.board_packet_bytes()))
        lengths = (ctypes.c_uint32 * max(1, self.board.board_packet_count()))()
        count = self.board.board_packet_count()
        size = self.board.board_packet_bytes()
        self.board.board_take(data, lengths)
        ends = list(itertools.accumulate(lengths[:count]))
        return [data.raw[:size][end - n : end] for end, n in zip(ends, lengths[:count], strict=True)]

    async def check(self) -> list[bytes]:
        packets = await self.packets(self.expected)
        assert_same_packets(packets, self.expected)
        assert int(self.dut.packets_o.value) == len(packets)
        for name in ("frames_sent", "frames_dropped", "frames_refused"):
            assert int(getattr(self.dut, f"{name}_o").value) == getattr(self.model.bd_gen, name), name
        assert int(self.dut.read_errors_o.value) == int(self.dut.message_errors_o.value) == 0
        assert int(self.dut.idle_o.value)
        return packets


def tshark(packets: list[bytes]) -> list[dict[str, int | None]]:
    """The packets as tshark decodes them: one dict of fields each."""
    names = (
        "ip.checksum.status", "infiniband.bth.opcode", "infiniband.bth.psn", "infiniband.bth.destqp",
        "infiniband.bth.padcnt", "infiniband.reth.va", "infiniband.reth.r_key", "infiniband.reth.dmalen",
        "infiniband.immdt",
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tx.pcap"
        with PcapWriter(path) as writer:
            for packet in packets:
                writer.write(packet)
        fields = itertools.chain.from_iterable(("-e", name) for name in names)
        command = ["tshark", "-r", str(path), "-o", "ip.check_checksum:TRUE", "-T", "json", *fields]
        found = json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout)
    layers = [packet["_source"]["layers"] for packet in found]
    return [{name: _number(fields[name][0]) if name in fields else None for name in names} for fields in layers]


def _number(text: str) -> int:
    return int(text, 16 if ":" in text or text.startswith("0x") else 10)


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS, segmentation=["only", "message"])
async def packets_equal_the_model_and_both_other_oracles(dut: Any, stalls: Stalls, segmentation: str) -> None:
    bench = TxBench(dut, stalls, session(segmentation=segmentation, mtu=1024), latency=20)
    bench.resize(6061 - bench.random.randrange(4))  # packets with a pad
    await bench.start()
    for n in range(5):
        bench.offer(n, bench.random.randbytes(bench.config.flow.image_bytes))
    packets = await bench.check()
    for packet in packets:
        frame = Ether(packet)
        frame[BTH].icrc = None
        assert bytes(frame) == packet, "scapy computes another ICRC"
    flow, qp, psn = bench.config.flow, bench.qp, bench.qp.psn
    expected: list[tuple[int | None, ...]] = []
    for n in range(5):
        slot = flow.base + n % flow.n_slots * flow.slot_bytes
        for at in range(0, flow.image_bytes, qp.mtu):
            size = min(qp.mtu, flow.image_bytes - at)
            reth: tuple[int | None, ...] = (slot + at, qp.rkey, size)
            if segmentation == "message":
                reth = (slot, qp.rkey, flow.image_bytes) if at == 0 else (None, None, None)
            expected.append((-size % 4, *reth, None))
        expected.append((0, slot + flow.trailer_offset, qp.rkey, 64, flow.source << 24 | n))
    for index, (fields, (pad, *rest)) in enumerate(zip(tshark(packets), expected, strict=True)):
        assert fields["ip.checksum.status"] == 1
        assert fields["infiniband.bth.psn"] == (psn + index) & 0xFFFFFF
        assert fields["infiniband.bth.destqp"] == qp.dest_qpn
        assert fields["infiniband.bth.padcnt"] == pad
        names = ("reth.va", "reth.r_key", "reth.dmalen", "immdt")
        assert [fields[f"infiniband.{name}"] for name in names] == rest


@cocotb.test()
async def an_image_of_4_megapixels_passes_at_line_rate(dut: Any) -> None:
    if len(dut.rdata) < 512:
        return  # one width is enough: the claim is about 512 bits
    bench = TxBench(dut, Stalls.NONE, session(rows=4096, columns=1024), latency=100)
    await bench.start()
    bench.offer(0, np.random.default_rng(1).bytes(8 << 20))
    beats = sum(axis.n_beats(len(p), bench.width) for p in bench.expected)
    start = bench.cycle
    await bench.until(lambda: bench.board.board_packet_count() >= len(bench.expected), limit=2 * beats)
    assert bench.cycle - start < beats * 1.002
    await bench.check()


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS)
async def without_credit_no_packet_leaves_and_frames_are_counted(dut: Any, stalls: Stalls) -> None:
    bench = TxBench(dut, stalls, session(n_slots=2))
    await bench.start()
    for window_end, numbers in ((0, (0,)), (2, (1, 2, 3)), (4, (4,)), (FREE_RUNNING, (5, 6))):
        bench.credit(window_end)
        for n in numbers:
            bench.offer(n, bench.random.randbytes(bench.config.flow.image_bytes))
        expected = list(bench.expected)
        bench.expected.clear()
        assert_same_packets(await bench.packets(expected), expected)
    assert int(dut.frames_dropped_o.value) == 4
    assert int(dut.frames_sent_o.value) == 3


@cocotb.test()
async def a_frame_that_does_not_begin_with_a_beat_is_refused(dut: Any) -> None:
    bench = TxBench(dut, Stalls.NONE, session())
    await bench.start()
    for n, offset in enumerate((0, 8, 4, 64, 32)):
        bench.offer(n, bench.random.randbytes(bench.config.flow.image_bytes), offset)
    await bench.check()
    assert bench.model.bd_gen.frames_refused == (1 if bench.width == 64 else 3)


@cocotb.test()
async def a_frame_outside_the_memory_is_counted_and_the_next_one_is_whole(dut: Any) -> None:
    bench = TxBench(dut, Stalls.NONE, session())
    await bench.start()
    size = bench.config.flow.image_bytes
    bench.offer(0, bench.random.randbytes(size))
    first = bench.expected
    outside = FrameEvent(1, 0, 0, 1 << 40)
    bench.images[1 << 40] = bytes(size)
    bench.frames.items.append({"tdata": ports.frame_t(outside)})
    bench.expected = first + bench.model.frame(outside)
    bench.offer(2, bench.random.randbytes(size))
    assert_same_packets(await bench.packets(bench.expected), bench.expected)
    assert int(dut.read_errors_o.value) == axis.n_beats(size, bench.width)


@cocotb.test()
async def a_qp_that_is_not_enabled_sends_nothing_and_the_next_frame_after_its_write_is_whole(dut: Any) -> None:
    bench = TxBench(dut, Stalls.NONE, session())
    await bench.start()
    await bench.write_qp(bench.config.flow.qp, replace(bench.qp, enabled=False))
    bench.offer(0, bench.random.randbytes(bench.config.flow.image_bytes))
    assert await bench.packets([], quiet=2000) == []
    assert int(dut.message_errors_o.value) == 2, "the image and its trailer: bad_qp, the last field"
    psn = bench.qp.psn + len(bench.expected) & 0xFFFFFF  # where the model is now, to which the QP was enabled
    await bench.write_qp(bench.config.flow.qp, replace(bench.qp, psn=psn))
    bench.expected.clear()
    bench.offer(1, bench.random.randbytes(bench.config.flow.image_bytes))
    assert_same_packets(await bench.packets(bench.expected), bench.expected)


@pytest.mark.parametrize("width", WIDTHS)
def test_tx(width: int) -> None:
    harness = ROOT / "sim" / "dpi"
    args = [str(harness / "board.cpp"), "-CFLAGS", f"-I{harness}", "-LDFLAGS", "-rdynamic"]
    run("tx", top="tx_board", build_args=args, DataW=width)
