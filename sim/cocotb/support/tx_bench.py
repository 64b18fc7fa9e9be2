"""tx between its memory and its sink in C++, and the golden model beside it."""

import ctypes
import itertools
from collections.abc import Iterator
from dataclasses import replace
from ipaddress import IPv4Address
from typing import Any

from axi_lite import AxiLite
from bench import STALL_SHARE, Bench, Stalls, assert_same_packets
from framelane.driver.simulated import ports
from framelane.models.cells import axis
from framelane.models.placement.flow import FrameEvent
from framelane.models.placement.slots import SlotLayout
from framelane.models.registers import registers
from framelane.models.roce_tx.roce_qp import QpContext
from framelane.models.tx import Tx, TxConfig
from framelane.session.session import Session
from framelane.session.session_plan import Node
from signals import now
from tx_registers import (
    ARM,
    COMMAND,
    CONTROL,
    COPYING,
    DESTINATION,
    DROPPED,
    FAILED,
    FLOW,
    FLOWS,
    LOCAL_MAC,
    MAP,
    QP,
    RESETTING,
    SNAPSHOT,
    STATUS,
)

SOURCE = Node(mac="02:00:00:00:00:01", ip=IPv4Address("10.0.0.1"))
RECEIVER = Node(mac="02:00:00:00:00:02", ip=IPv4Address("10.0.0.2"))
STRIDE = 1 << 24
"""Bytes from one image in the memory to the next."""


def session(rows: int = 30, columns: int = 101, **changes: Any) -> Session:
    slot = SlotLayout.needed(rows * columns * 2)
    fields = {"qpn": 0x11, "psn": 0xFFFFFE, "rkey": 0xCAFE, "base": 0x7F0000000000, "n_slots": 3, "slot_bytes": slot}
    return Session(source=SOURCE, receiver=RECEIVER, rows=rows, columns=columns, **(fields | changes))


def second_qp(config: TxConfig) -> TxConfig:
    """The same transmitter with its destination on QP 1; on QP 0 is another that must not send."""
    other = QpContext(RECEIVER.endpoint(), dest_qpn=0xBAD, rkey=0xBAD, mtu=256)
    return replace(config, qps=(other, *config.qps), destinations=(replace(config.destinations[0], qp=1),))


def qp_writes(index: int, qp: QpContext) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Offset and words of a QP's registers: `control` last, it puts the entry in force."""
    control, *others = registers.qp_words(qp)
    yield QP + 0x40 * index + 4, tuple(others)
    yield QP + 0x40 * index, (control,)


def configuration(config: TxConfig, model: Tx) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Offset and words of all registers of a plan, in their order, with the model's windows; the last ones arm."""
    yield from ((FLOW + 0x40 * index, (0,)) for index in range(FLOWS))
    yield LOCAL_MAC, (config.local.mac & 0xFFFFFFFF, config.local.mac >> 32, config.local.ip)
    for index, qp in enumerate(config.qps):
        yield from qp_writes(index, qp)
    for index, destination in enumerate(config.destinations):
        words = registers.destination_words(destination, model.bd_gen.window_ends[index])
        yield DESTINATION + 0x20 * index, tuple(words)
    for index, flow in enumerate(config.flows):
        yield FLOW + 0x40 * index, tuple(registers.flow_words(flow))
    yield CONTROL, (ARM,)


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
        self.frames, self.registers = self.source("s_axis_frame"), AxiLite(self)
        self.images: dict[int, bytes] = {}
        self.expected: list[bytes] = []
        self.released = 0
        self.plan(second_qp(session.tx_config()))
        self.watch(self._watch)

    def plan(self, config: TxConfig) -> None:
        """Another configuration, for the next start."""
        self.config = config
        self.qp = config.qps[config.destinations[0].qp]
        self.model = Tx(config, self._read)

    def _read(self, address: int, length: int) -> bytes:
        return self.images[address // STRIDE * STRIDE][address % STRIDE :][:length]

    def _watch(self) -> None:
        self.released += now(self.dut.release_o)
        if now(self.dut.idle_o):
            moving = [n for n in ("tvalid", "arvalid", "rvalid") if now(getattr(self.dut, n))]
            assert not moving, f"idle with {moving}"

    async def write(self, offset: int, *words: int) -> None:
        for k, word in enumerate(words):
            await self.registers.write(offset + 4 * k, word)

    async def start(self) -> None:
        await self.reset()
        await self.ready()
        await self.configure()

    async def ready(self) -> None:
        """Wait for the end of a reset, and until the MAC has had what left before."""
        while await self.registers.read(STATUS) & RESETTING:
            pass
        await self.until(lambda: bool(now(self.dut.idle_o)), 4000)

    async def configure(self) -> None:
        """Tell the registers the plan, and arm. What they held before outlives a reset."""
        for offset, words in configuration(self.config, self.model):
            await self.write(offset, *words)

    async def write_qp(self, index: int, qp: QpContext) -> None:
        for offset, words in qp_writes(index, qp):
            await self.write(offset, *words)

    async def credit(self, window_end: int) -> None:
        self.model.bd_gen.window_ends[0] = window_end
        await self.write(DESTINATION + 0x18, window_end & 0xFFFFFFFF, window_end >> 32)

    async def counters(self, *names: str, index: int = 0) -> list[int]:
        """Counters of this moment, by their registers' names; of entry `index` where they are in a table."""
        await self.write(COMMAND, SNAPSHOT)
        while await self.registers.read(STATUS) & COPYING:
            pass
        read, places = self.registers.read, [MAP[name].offset_of(index) for name in names]
        return [await read(place) | await read(place + 4) << 32 for place in places]

    def put(self, image: bytes) -> int:
        """Put `image` into the memory; its address."""
        address = len(self.images) * STRIDE
        self.images[address] = image
        self.board.board_write(ctypes.c_uint64(address), image, ctypes.c_uint64(len(image)))
        return address

    def offer(self, number: int, image: bytes, **fields: int) -> None:
        """Put `image` into the memory and offer it."""
        self.send(
            FrameEvent(number, self.random.getrandbits(64), self.random.getrandbits(64), self.put(image), **fields)
        )

    def send(self, event: FrameEvent) -> None:
        self.frames.items.append({"tdata": ports.frame_t(event)})
        self.expected += self.model.frame(event)

    def image(self, extra: int = 0) -> bytes:
        flow = self.config.flows[0]
        return self.random.randbytes(flow.source_pitch * (flow.y0 + flow.height) + extra)

    async def packets(self, expected: list[bytes], quiet: int = 300) -> list[bytes]:
        """Run until as many packets as expected are out, and a little longer; what came."""
        limit = 4000 + 20 * sum(axis.n_beats(len(p), self.width) for p in expected)
        await self.until(lambda: self.board.board_packet_count() >= len(expected) and not self.frames.items, limit)
        for _ in range(quiet):
            await self.step()
        return self.take()

    def take(self) -> list[bytes]:
        """The packets that have left."""
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
        assert now(self.dut.idle_o)
        assert self.released == self.model.bd_gen.frames
        known = self.model.bd_gen.placer.counts
        counts = {"counters.packets": len(packets), DROPPED: known.dropped.get(0, 0), "counters.read_errors": 0}
        counts |= {"flow_counters[].refused": 0, FAILED: 0}
        assert dict(zip(counts, await self.counters(*counts), strict=True)) == counts
        return packets
