"""The memory that benches of AXI4 write masters look into: an independent slave, and a watch on what it is asked."""

import logging
from collections.abc import Callable
from typing import Any

from cocotbext.axi import AxiResp, AxiSlaveWrite, AxiWriteBus

from bench import STALL_SHARE, Bench
from signals import now

NORMAL_BUFFERABLE = 0b0011
"""AWCACHE of memory that may be buffered, not cached (AMBA IHI 0022, A4.4)."""


class WriteMemory:
    """`data` from `base` on, behind the bench's ports `<prefix>_aw*`, `_w*`, `_b*`.

    Writes outside, and those that `refuses` names, fail.
    """

    def __init__(self, bench: Bench, base: int, data: bytes, stalls: bool, prefix: str = "m_axi") -> None:
        self.dut, self.base, self.data = bench.dut, base, bytearray(data)
        self.refuses: Callable[[int], bool] = lambda address: False
        self.refusal = AxiResp.SLVERR
        self.bursts: list[tuple[int, int]] = []
        """Address and beats of each burst, in order."""
        self.beats: list[int] = []
        """Cycle of each beat."""
        self.answers = 0
        self._bench, self._prefix = bench, prefix
        self._held: dict[str, list[int]] = {}
        logging.getLogger(f"cocotb.{bench.dut._name}.{prefix}").setLevel(logging.ERROR)
        self.slave = AxiSlaveWrite(AxiWriteBus.from_prefix(bench.dut, prefix), bench.dut.clk, bench.dut.rst, self)
        self.channels = (self.slave.aw_channel, self.slave.w_channel, self.slave.b_channel)
        for channel in self.channels:
            channel.queue_occupancy_limit = -1
            if stalls:
                channel.set_pause_generator(iter(lambda: bench.random.random() < STALL_SHARE, None))
        self._answer, self.slave.b_channel.send = self.slave.b_channel.send, self._send
        bench.watch(self._watch)

    async def _send(self, answer: Any) -> None:
        if answer.bresp != AxiResp.OKAY:
            answer.bresp = self.refusal
        await self._answer(answer)

    async def write(self, address: int, data: bytes) -> None:
        """What the slave calls: any exception makes its answer an error."""
        start = address - self.base
        if not 0 <= start <= len(self.data) - len(data) or self.refuses(address):
            raise IndexError
        self.data[start : start + len(data)] = data

    def read(self, address: int, length: int) -> bytes:
        """Bytes that lie there."""
        return bytes(self.data[address - self.base :][:length])

    def _value(self, name: str) -> int:
        return now(getattr(self.dut, f"{self._prefix}_{name}"))

    def _handshake(self, channel: str, *payload: str) -> list[int] | None:
        """The payload that is taken in this cycle; what is offered must stay until then."""
        held = self._held.pop(channel, None)
        valid, ready = (self._value(channel + name) for name in ("valid", "ready"))
        if not valid:
            assert held is None or now(self.dut.rst), f"{self._prefix}_{channel}valid fell before {channel}ready"
            return None
        offered = [self._value(channel + name) for name in payload]
        assert held in (None, offered), f"{self._prefix}_{channel}: changed while stalled"
        if not ready and not now(self.dut.rst):
            self._held[channel] = offered
        return offered if ready else None

    def _watch(self) -> None:
        address = self._handshake("aw", "addr", "len", "cache")
        if address:
            assert address[2] == NORMAL_BUFFERABLE
            self.bursts.append((address[0], address[1] + 1))
        if self._handshake("w", "data", "strb", "last"):
            self.beats.append(self._bench.cycle)
        self.answers += self._value("bvalid") & self._value("bready")
