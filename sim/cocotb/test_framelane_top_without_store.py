"""framelane_top without a frame store: frames lie in memory already; there is no receive path and no RC either."""

from dataclasses import replace
from typing import Any

import cocotb
import pytest
from scapy.layers.l2 import ARP, Ether

from bench import Stalls, assert_same_packets, run
from clocks_bench import JITTER
from framelane.driver.simulated.ports import frame_t
from framelane.models.placement.flow import FrameEvent
from framelane.models.tx import Tx
from receive_bench import count_pulses
from signals import now
from top_bench import SMALL, TopBench
from tx_bench import RECEIVER, SOURCE
from tx_registers import COMMAND, RESET, RESETTING, STATUS
from widths import some_widths

PERIODS = {"": 4000, "pixel": 5200, "memory": 3300, "register": 10_000, "tx": 3103, "rx": 3106}
"""Periods of all clocks in ps: the line is faster than the core."""
STRIDE = 1 << 14
"""Bytes of memory for a frame, which begins anywhere in their first half."""


class FramesBench(TopBench):
    """A program puts frames into memory and offers them; no detector sends any."""

    def __init__(self, dut: Any, stalls: Stalls) -> None:
        super().__init__(dut, PERIODS, stalls)
        self.events: list[FrameEvent] = []
        self.offered = self.side[""].source("s_axis_frame")
        self.released = count_pulses(self.side[""], dut.release_o)

    async def start(self) -> None:
        await super().start()
        self.side[""].start()

    def restart(self) -> None:
        super().restart()
        self.events = []

    def detect(self, count: int) -> None:
        for _ in range(count):
            frame, kind_index = self.next_frame(self.random), self.random.getrandbits(64)
            address = len(self.events) * STRIDE + self.random.randrange(STRIDE // 2)
            self.ram.write(address, frame.pixels)
            self.events.append(frame.info.event(address, kind_index))
            self.offered.items.append({"tdata": frame_t(self.events[-1])})

    def at_the_mac(self, sent: set[int]) -> list[bytes]:
        assert sent == set(range(len(self.events))), "a frame is missing"
        model = Tx(self.config, lambda address, length: bytes(self.ram.read(address, length)))
        told = [replace(event, time_flags=0) for event in self.events]  # there is no clock
        port = self.top.port
        assert port
        return [packet for event in told for packet in port.sent(model.frame(event))]

    async def finish(self) -> list[bytes]:
        await self.side[""].wait_until(lambda: not self.offered.items)
        return await super().finish()

    def bursts(self) -> dict[str, int]:
        """How many each port of the memory has had, by its name and the channel of its addresses."""
        ports = [rules for rules in self.rules if not rules.is_lite]
        return {f"{rules.prefix}_{name}": count for rules in ports for name, count in rules.bursts.items() if count}


@cocotb.test()
@cocotb.parametrize(stalls=[Stalls.NONE, Stalls.BOTH])
async def frames_are_read_where_they_lie_and_nothing_is_written(dut: Any, stalls: Stalls) -> None:
    bench = FramesBench(dut, stalls)
    await bench.start()
    frames = 8
    bench.detect(frames)
    await bench.check()
    assert bench.released == {0: frames}
    assert bench.bursts().keys() == {"m_axi_ar"}
    assert await bench.counters("counters.mac_underruns", "counters.mac_too_long", "counters.frames_bad") == [0, 0, 0]


@cocotb.test()
async def pixels_are_not_taken_and_packets_of_the_line_are_not_answered(dut: Any) -> None:
    bench = FramesBench(dut, Stalls.NONE)
    await bench.start()
    await bench.put("station", 0b011)
    bench.pixels.send(bench.random.randbytes(bench.slot), bench.width, tuser=0)
    request = Ether(src=RECEIVER.mac, dst="ff:ff:ff:ff:ff:ff") / ARP(
        op=1, hwsrc=RECEIVER.mac, psrc=str(RECEIVER.ip), pdst=str(SOURCE.ip)
    )
    for _ in range(3):
        bench.line.send(bytes(request).ljust(60, b"\0"), bench.mac_width, tuser=0)
    bench.detect(3)
    await bench.side["tx"].wait_until(lambda: bench.released[0] == 3)
    assert not bench.pixels.accepted
    assert bench.pixels.items
    assert not bench.line.items
    bench.pixels.clear()
    await bench.check()
    assert bench.bursts().keys() == {"m_axi_ar"}


@cocotb.test()
async def the_registers_say_that_store_correction_station_and_rc_are_missing(dut: Any) -> None:
    bench = FramesBench(dut, Stalls.NONE)
    await bench.start()
    assert await bench.get("capabilities") == bench.width | 1 << 20, "the width and the MAC port, and no more"
    assert await bench.get("rc_sizes") == 0
    for name in ("station", "pause_priorities", "dcqcn"):
        await bench.put(name, 0b11)
        assert await bench.get(name) == 0, name


@cocotb.test()
async def behind_a_reset_by_the_register_the_next_frames_are_whole(dut: Any) -> None:
    bench = FramesBench(dut, Stalls.NONE)
    await bench.start()
    frames = 16
    bench.detect(frames)
    await bench.side["tx"].wait_until(lambda: bool(now(dut.m_axis_tvalid)))
    await bench.write(COMMAND, RESET)
    for _ in range(1000):
        if not await bench.read(STATUS) & RESETTING:
            break
    else:
        raise AssertionError("the reset does not end")
    packets = await bench.finish()
    assert 0 < len(bench.sent(packets)) < frames
    assert_same_packets(packets, bench.at_the_mac(set(range(frames)))[: len(packets)])
    assert bench.released == {0: frames}
    bench.out.clear()
    await bench.configure()
    bench.detect(4)
    await bench.check()


@pytest.mark.parametrize("width", some_widths("framelane_top_without_store"))
def test_framelane_top_without_store(width: int) -> None:
    parts = dict.fromkeys(("Store", "Correct", "Station", "Rc"), 0)
    build: dict[str, Any] = {"DataW": width, "MacW": width, **parts, **SMALL}
    run("framelane_top_without_store", top="framelane_top", build_args=JITTER, **build)
