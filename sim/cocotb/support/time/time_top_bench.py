"""framelane_top with a time unit, beside a grandmaster: true time is the simulation's own, from `EPOCH` on."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any, TypeVar

import cocotb
from cocotb.task import bridge, resume
from cocotb.triggers import RisingEdge, Timer

from bench import Stalls
from clocks_bench import Side, SteadySide, moment
from framelane.driver.ptp.board_time import BoardTime
from framelane.driver.registers._time_register_map import REGISTERS
from framelane.models.cells import axis
from framelane.models.time.ptp_tap import keeps
from framelane.models.time.time_counter import NS
from framelane.models.time.time_cross import bound_ns
from signals import now
from top_bench import TopBench

T = TypeVar("T")

EPOCH = 1_800_000_000 * 10**9
"""TAI at the beginning of the simulation, in ns."""
PERIODS = {"": 4000, "pixel": 5200, "memory": 3300, "register": 10_000, "tx": 6400, "rx": 6401}
"""Periods of all clocks in ps; the line's receive clock is 156 ppm slower than its register says."""
NOMINAL = PERIODS | {"rx": 6400}
TIME = {each.name: each for each in REGISTERS}


def true_ns(ps: int) -> Fraction:
    """TAI less `EPOCH` at a moment of the simulation, in ns."""
    return Fraction(ps, 1000)


def half_cycle(side: str) -> float:
    """The most that a time of the clock in that side may be wrong by, in ns."""
    return bound_ns(PERIODS[side] / 1000, PERIODS[""] / 1000)


class TimeTopBench(TopBench):
    """Exact clocks, of which each edge's moment is known; packets of PTP at the MAC apart from all others."""

    kind_of_side: type[Side] = SteadySide

    def __init__(self, dut: Any, stalls: Stalls = Stalls.NONE) -> None:
        super().__init__(dut, PERIODS, stalls)
        self.time_flags = True
        self.arrivals: list[int] = []
        """The moments of the first beats from the MAC, one a packet, in ps."""
        self.departures: list[int] = []
        """Those of the packets of PTP to the MAC."""
        self.frame_starts: list[int] = []
        """Those at which frames' first pixels were offered."""
        self.seconds: list[int] = []
        """Those at which the pulses per second rose."""
        self._inside = dict.fromkeys(("rx", "tx", "pixel"), False)
        self._first = 0
        self.side["rx"].watch(self._from_mac)
        self.side["tx"].watch(self._to_mac)
        self.side["pixel"].watch(self._pixels)
        cocotb.start_soon(self._count_seconds())

    def edge(self, side: str) -> int:
        """The moment with which that side's cycle began, in ps."""
        steady = self.side[side]
        assert isinstance(steady, SteadySide)
        return steady.edge()

    def _from_mac(self) -> None:
        if now(self.dut.s_axis_rx_tvalid):
            if not self._inside["rx"]:
                self.arrivals.append(self.edge("rx"))
            self._inside["rx"] = not now(self.dut.s_axis_rx_tlast)

    def _to_mac(self) -> None:
        if not (now(self.dut.m_axis_tvalid) and now(self.dut.m_axis_tready)):
            return
        if not self._inside["tx"]:
            self._first = self.edge("tx")
        self._inside["tx"] = not now(self.dut.m_axis_tlast)
        if not self._inside["tx"] and self.packets_sent() and keeps(self.packets_sent()[-1]):
            self.departures.append(self._first)

    def _pixels(self) -> None:
        if now(self.dut.s_axis_pixel_tvalid):
            if not self._inside["pixel"]:
                self.frame_starts.append(self.edge("pixel"))
            self._inside["pixel"] = not (now(self.dut.s_axis_pixel_tready) and now(self.dut.s_axis_pixel_tlast))

    async def _count_seconds(self) -> None:
        while True:
            await RisingEdge(self.dut.pps_o)
            self.seconds.append(moment())

    def packets_sent(self) -> list[bytes]:
        """All packets at the MAC so far."""
        beats = self.out.beats()
        whole = max((k + 1 for k, beat in enumerate(beats) if beat.last), default=0)
        return list(axis.packets(beats[:whole], self.mac_width))

    async def put_time(self, name: str, value: int) -> None:
        """Write a register of the time unit."""
        register = TIME[f"time.{name}"]
        for k in range(0, register.width, 32):
            await self.write(register.offset + k // 8, value >> k & 0xFFFF_FFFF)

    async def get_time(self, name: str) -> int:
        """Read one."""
        register = TIME[f"time.{name}"]
        words = [await self.read(register.offset + k // 8) for k in range(0, register.width, 32)]
        return sum(word << 32 * k for k, word in enumerate(words))

    async def stamp(self, name: str, event: str) -> Fraction:
        """A stamp less `EPOCH`, in ns."""
        return await self.get_time(name) - EPOCH + Fraction(await self.get_time(event) & 0xFFFF, 1 << 16)

    async def start(self) -> None:
        """With the periods of the clocks in their registers."""
        await super().start()
        for side in ("rx", "tx", "pixel"):
            await self.put_time(f"{side}_period", (NOMINAL[side] << 24) // 1000)

    async def set_truly(self) -> None:
        """Set the clock to what is true, to some ten cycles, at a whole multiple of its period."""
        await self.set_to(EPOCH + moment() // 4000 * 4)

    async def set_to(self, ns: int) -> None:
        """Set the clock, and wait until that is done."""
        await self.put_time("value_seconds", ns // 10**9)
        await self.put_time("value", ns % 10**9 << 32)
        await self.put_time("command", 2)
        while await self.get_time("status") & 1:
            pass

    async def edge_of(self, signal: str, after_ps: int = 0) -> int:
        """Let a signal be high for a while; the moment at which it rose."""
        await Timer(after_ps + 1, "ps")
        rose = moment()
        getattr(self.dut, signal).value = 1
        await Timer(40, "ns")
        getattr(self.dut, signal).value = 0
        await Timer(200, "ns")
        return rose

    async def ahead_ns(self) -> Fraction:
        """By how much the clock is ahead of the truth: the middle of what many edges of a signal say, in ns."""
        found: list[Fraction] = []
        for k in range(16):
            rose = await self.edge_of("pps_i", 250 * k)
            found.append(await self.stamp("pps_tai", "pps_event") - true_ns(rose))
        assert max(found) - min(found) <= PERIODS[""] / 1000 + 0.01
        return (max(found) + min(found)) / 2

    async def by_driver(self, action: Callable[[BoardTime], T]) -> T:
        """What the driver's `BoardTime` does, in a thread beside the simulation."""

        def act() -> T:
            return action(BoardTime(_Registers(self)))

        return await bridge(act)()


class _Registers:
    """`Registers` of a bench, for a thread beside it."""

    pause_s = 0.0
    patience_s = 60.0

    def __init__(self, bench: TimeTopBench) -> None:
        self._read, self._write = resume(bench.read), resume(bench.write)

    def read(self, offset: int) -> int:
        """See `Registers`."""
        return self._read(offset)

    def write(self, offset: int, value: int) -> None:
        """See `Registers`."""
        self._write(offset, value)

    def close(self) -> None:
        """See `Registers`."""


async def deliver(bench: TimeTopBench, packet: bytes, at_ps: int) -> None:
    """Let a packet come to the MAC at that moment, by two cycles later at most."""
    await Timer(max(1, at_ps - moment()), "ps")
    bench.line.send(packet, bench.mac_width, tuser=0)
    arrived = len(bench.arrivals)
    await bench.side["rx"].wait_until(lambda: len(bench.arrivals) > arrived and not bench._inside["rx"])


def ns_of(stamp: int) -> Fraction:
    """A stamp in 2^-32 ns less `EPOCH`, in ns."""
    return Fraction(stamp, NS) - EPOCH
