"""ptp_port: one message at a time is sent and stamped; one that never comes to the MAC is waited for so long."""

from typing import Any

import cocotb

from bench import run
from clocks_bench import Side, start_all
from framelane.models.cells import axis
from signals import now

PATIENCE = 300
WAITING = 7
MESSAGE = bytes(12) + b"\x88\xf7" + bytes(range(46))
WIDTH = 64


class Port:
    """The port between software and a MAC, which is in the test's hands."""

    def __init__(self, dut: Any) -> None:
        self.dut = dut
        self.core, self.tx, self.rx = Side(dut, "", 4000), Side(dut, "tx", 6400), Side(dut, "rx", 6403)
        for name in ("receive", "next", "index", "write", "word", "send", "bytes"):
            getattr(dut, f"{name}_i").value = 0
        for side in ("tx", "rx"):
            for name in ("tdata", "tkeep", "tlast", "tuser", "taken", "tai"):
                getattr(dut, f"{side}_{name}_i").value = 0
        self.packets = self.core.sink("m_axis")

    async def start(self) -> None:
        await start_all(self.core, self.tx, self.rx)
        for at in range(0, len(MESSAGE), 4):
            self.dut.index_i.value = at // 4
            self.dut.word_i.value = int.from_bytes(MESSAGE[at : at + 4], "little")
            self.dut.write_i.value = 1
            await self.core.wait(1)
        self.dut.write_i.value, self.dut.bytes_i.value = 0, len(MESSAGE)

    async def send(self) -> None:
        self.dut.send_i.value = 1
        await self.core.wait(1)
        self.dut.send_i.value = 0
        await self.core.wait(1)

    async def to_mac(self, stamp: int) -> None:
        """The message is taken by the MAC, its first beat at that time."""
        await self._passes(self.tx, stamp)

    async def from_mac(self, stamp: int) -> None:
        """A message comes from the MAC."""
        await self._passes(self.rx, stamp)

    async def _passes(self, side: Side, stamp: int) -> None:
        ports = {
            name: getattr(self.dut, f"{side.name}_{name}_i") for name in ("tdata", "tkeep", "tlast", "tai", "taken")
        }
        for k, beat in enumerate(axis.beats(MESSAGE, WIDTH)):
            ports["tdata"].value, ports["tkeep"].value = beat.data, beat.keep
            ports["tlast"].value, ports["tai"].value = int(beat.last), stamp + k
            ports["taken"].value = 1
            await side.wait(1)
        ports["taken"].value = 0
        await side.wait(20)

    async def give_back(self) -> int:
        """The oldest one's stamp; it makes room."""
        await self.core.wait_until(lambda: bool(now(self.dut.valid_o)), 100)
        assert now(self.dut.bytes_o) == len(MESSAGE)
        stamp = now(self.dut.tai_o)
        self.dut.next_i.value = 1
        await self.core.wait(1)
        self.dut.next_i.value = 0
        await self.core.wait(2)
        return stamp

    def sent(self) -> tuple[int, int]:
        """How many were stamped, and the last stamp."""
        event = now(self.dut.sent_o)
        return event >> 80, event & (1 << 80) - 1


@cocotb.test()
async def each_message_is_sent_once_and_has_its_own_stamp(dut: Any) -> None:
    port = Port(dut)
    await port.start()
    for k in range(5):
        await port.send()
        await port.core.wait(40)
        assert now(dut.sending_o)
        await port.send()  # while it waits: is not heeded
        await port.core.wait(40)
        await port.to_mac((k + 1) << 60)
        assert not now(dut.sending_o)
        assert port.sent() == (k + 1, (k + 1) << 60)
    assert port.packets.packets(WIDTH) == [MESSAGE] * 5


@cocotb.test()
async def a_stamp_is_waited_for_so_long_and_not_longer(dut: Any) -> None:
    port = Port(dut)
    await port.start()
    await port.send()
    await port.core.wait_until(lambda: bool(port.packets.items and port.packets.items[-1]["tlast"]))
    left = port.core.cycle
    await port.core.wait_until(lambda: not now(dut.sending_o), 2 * PATIENCE)
    assert abs(port.core.cycle - left - PATIENCE) < 5
    await port.to_mac(77)  # far too late: of no message
    assert port.sent() == (0, 0)
    await port.send()
    await port.core.wait(30)
    await port.to_mac(99)
    assert port.sent() == (1, 99)
    assert not now(dut.sending_o)


@cocotb.test()
async def messages_that_come_wait_in_order_and_those_without_room_are_counted(dut: Any) -> None:
    port = Port(dut)
    await port.start()
    await port.from_mac(1)  # not asked for
    dut.receive_i.value = 1
    await port.rx.wait(10)
    for first in (100, 200):
        for k in range(WAITING + 3):
            await port.from_mac(first + 10 * k)
        assert now(dut.lost_o) == 3 * (first // 100)
        assert [await port.give_back() for _ in range(WAITING)] == [first + 10 * k for k in range(WAITING)]
        await port.core.wait(20)
        assert not now(dut.valid_o)
    assert port.sent() == (0, 0)


def test_ptp_port() -> None:
    run("ptp_port", DataW=WIDTH, MacW=WIDTH, Patience=PATIENCE)
