"""pause: data and control frames are held exactly as long as the model says; what is not honoured is counted."""

import struct
from collections import Counter, deque
from typing import Any

import cocotb

from bench import Bench, run
from framelane.driver.simulated.neighbour_ports import PAUSE_EVENTS_T
from framelane.models.station import pause
from framelane.models.station.pause import GROUP_MAC, Heard, Pause
from signals import now

MAC = 0x02_00_00_00_00_01
FULL = 1 << 16
"""One quantum a clock cycle."""
LATENCY = 3
"""Cycles from the change of a timer to that of the hold."""


def frame(opcode: int, *words: int, dst: int = GROUP_MAC, ethertype: int = 0x8808, size: int = 60) -> bytes:
    body = struct.pack(f">HH{len(words)}H", ethertype, opcode, *words)
    return (dst.to_bytes(6) + bytes.fromhex("020000000002") + body).ljust(size, b"\0")[:size]


def pause_frame(time: int, **other: int) -> bytes:
    return frame(pause.OPCODE_PAUSE, time, **other)


def pfc_frame(times: dict[int, int], **other: int) -> bytes:
    enables = sum(1 << priority for priority in times)
    return frame(pause.OPCODE_PFC, enables, *(times.get(priority, 0xFFFF) for priority in range(8)), **other)


class PauseBench(Bench):
    """The block beside its model, clock by clock: it holds exactly when the model does, `LATENCY` later."""

    def __init__(self, dut: Any, quanta: int = FULL, honoured: bool = True, data: int = 0, control: int = 0) -> None:
        super().__init__(dut)
        self.input = self.source("s_axis")
        self.events: Counter[str] = Counter()
        self.held: list[int] = []
        """Cycles in which data are held."""
        self.control_held: list[int] = []
        self.dut.local_mac_i.value = MAC
        self.model = Pause(MAC, quanta)
        self.dut.quanta_per_clock_i.value = quanta
        self.honour(honoured, data, control)
        self._begin()
        self.watch(self._look)

    def honour(self, honoured: bool, data: int, control: int) -> None:
        self.dut.honoured_i.value = honoured
        self.dut.data_priorities_i.value, self.dut.control_priorities_i.value = data, control
        self._masks = (honoured << 8 | data, honoured << 8 | control)

    def _begin(self) -> None:
        self._sent: deque[bytes] = deque()
        self._ended: bytes | None = None
        self._started = False
        self._running: deque[int] = deque([0] * LATENCY)
        self._masks_before = (0, 0)
        self.held.clear()
        self.control_held.clear()

    def _look(self) -> None:
        if now(self.dut.rst):
            return
        fields = PAUSE_EVENTS_T.unpack(now(self.dut.events_o))
        self.events.update(name for name, value in fields.items() if value)
        holds = bool(now(self.dut.hold_data_o)), bool(now(self.dut.hold_control_o))
        running = self._running.popleft()
        assert holds == tuple(bool(running & mask) for mask in self._masks_before), f"cycle {self.cycle}"
        if holds[0]:
            self.held.append(self.cycle)
        if holds[1]:
            self.control_held.append(self.cycle)
        self._masks_before = self._masks
        if self._started:
            self.model.clock()
        self._started = True
        if self._ended is not None:
            self.heard.append(self.model.receive(self._ended))
        self._ended = None
        if now(self.dut.s_axis_tvalid) and now(self.dut.s_axis_tlast):
            self._ended = self._sent.popleft()
        self._running.append(sum(1 << timer for timer, left in enumerate(self.model._left) if left))

    async def reset(self, cycles: int = 2) -> None:
        await super().reset(cycles)
        quanta = self.model.quanta_per_clock
        self.model = Pause(MAC, quanta)
        self.heard: list[Heard] = []
        self._begin()

    def send(self, what: bytes) -> None:
        self._sent.append(what)
        self.input.send(what, 64)

    async def run(self, cycles: int) -> None:
        for _ in range(cycles):
            await self.step()

    async def hear(self, what: bytes) -> Heard:
        """Send a frame; return when it has been judged."""
        self.send(what)
        await self.until(lambda: not self.input.items)
        await self.run(2)
        return self.heard[-1]

    async def hold(self, cycles: int = 200) -> int:
        """How long data are held in the next `cycles`, without a break."""
        self.held.clear()
        self.control_held.clear()
        await self.run(cycles)
        assert not self.held or self.held[-1] - self.held[0] == len(self.held) - 1
        return len(self.held)


@cocotb.test()
@cocotb.parametrize(quanta=[FULL // 20, FULL // 3, 39768, FULL, 255590, 15 * FULL + 7])
async def a_pause_lasts_its_time(dut: Any, quanta: int) -> None:
    """As many cycles as its quanta take, and at most one quantum more."""
    bench = PauseBench(dut, quanta)
    await bench.reset()
    for time in (1, 2, 5, 100, 1000):
        await bench.hear(pause_frame(time))
        held = await bench.hold((time + 1) * FULL // quanta + 10)
        assert -(-time * FULL // quanta) <= held <= -(-(time + 1) * FULL // quanta)
        assert bench.held == bench.control_held
    assert bench.events["pause"] == 5


@cocotb.test()
async def a_pause_begins_four_cycles_behind_its_frame(dut: Any) -> None:
    bench = PauseBench(dut)
    await bench.reset()
    bench.send(pause_frame(50))
    await bench.run(30)
    assert bench.held[0] == bench.input.accepted[-1] + 4


@cocotb.test()
async def a_time_of_zero_ends_a_pause(dut: Any) -> None:
    bench = PauseBench(dut)
    await bench.reset()
    await bench.hear(pause_frame(0))
    assert await bench.hold() == 0
    await bench.hear(pause_frame(0xFFFF))
    assert await bench.hold(500) > 490
    await bench.hear(pause_frame(0))
    assert await bench.hold() <= LATENCY


@cocotb.test()
async def without_the_time_of_a_quantum_nothing_is_held(dut: Any) -> None:
    """Such a pause would never end."""
    bench = PauseBench(dut, quanta=0, data=0xFF, control=0xFF)
    await bench.reset()
    assert await bench.hear(pause_frame(5)) is Heard.PAUSE
    assert await bench.hear(pfc_frame({3: 5})) is Heard.PRIORITY_PAUSE
    assert await bench.hold(30) == 0
    assert not bench.control_held
    assert bench.events == {"pause": 1, "priority_pause": 1}


@cocotb.test()
async def the_longest_pause_ends(dut: Any) -> None:
    bench = PauseBench(dut, quanta=15 * FULL)
    await bench.reset()
    await bench.hear(pause_frame(0xFFFF))
    assert await bench.hold(5000) == 0x10000 // 15 + 1


@cocotb.test()
async def a_renewal_replaces_what_is_left_longer_or_shorter(dut: Any) -> None:
    bench = PauseBench(dut)
    await bench.reset()
    for _ in range(20):
        await bench.hear(pause_frame(100))
        await bench.run(50)
    assert bench.held[-1] - bench.held[0] == len(bench.held) - 1 > 1000
    await bench.hear(pause_frame(5))
    assert 5 <= await bench.hold() <= 6 + LATENCY


@cocotb.test()
async def pfc_holds_for_the_priorities_that_are_ours_and_no_others(dut: Any) -> None:
    bench = PauseBench(dut, honoured=True, data=0b0000_1010, control=0b0000_0001)
    await bench.reset()
    await bench.hear(pfc_frame({0: 50, 2: 0xFFFF, 4: 0xFFFF, 5: 0xFFFF, 6: 0xFFFF, 7: 0xFFFF}))
    assert await bench.hold() == 0
    assert len(bench.control_held) == 51
    for priority in (1, 3):
        await bench.hear(pfc_frame({priority: 30}))
        assert await bench.hold() == 31
        assert not bench.control_held
    await bench.hear(pfc_frame({1: 200, 3: 60}))
    await bench.hear(pfc_frame({1: 10}))  # the other one stays
    assert 61 - 12 <= await bench.hold() <= 61
    await bench.hear(pfc_frame({3: 0xFFFF}))
    await bench.hear(pfc_frame({3: 0}))
    assert await bench.hold() <= LATENCY
    assert (bench.events["priority_pause"], bench.events["pause"]) == (7, 0)


@cocotb.test()
async def each_priority_has_its_own_time(dut: Any) -> None:
    bench = PauseBench(dut)
    await bench.reset()
    for priority in range(8):
        bench.honour(False, 1 << priority, 0)
        await bench.hear(pfc_frame({p: 20 + p for p in range(8)}))
        assert await bench.hold() == 21 + priority
        await bench.hear(pfc_frame({p: 90 for p in range(8) if p != priority}))
        assert await bench.hold() == 0


@cocotb.test()
async def what_is_not_honoured_is_counted_only(dut: Any) -> None:
    bench = PauseBench(dut, honoured=False)
    await bench.reset()
    await bench.hear(pause_frame(0xFFFF))
    await bench.hear(pfc_frame(dict.fromkeys(range(8), 0xFFFF)))
    assert await bench.hold(30) == 0
    assert not bench.control_held
    assert bench.events == {"pause": 1, "priority_pause": 1}
    bench.honour(True, 0xFF, 0xFF)
    assert await bench.hold(10) == 9
    bench.honour(False, 0, 0)  # and lets go at once
    assert await bench.hold(10) == 1


@cocotb.test()
async def what_is_no_pause_frame_holds_nothing(dut: Any) -> None:
    bench = PauseBench(dut, data=0xFF)
    await bench.reset()
    assert await bench.hear(pause_frame(5, dst=MAC)) is Heard.PAUSE
    assert await bench.hold() == 6
    await bench.hear(pfc_frame(dict.fromkeys(range(8), 0)))
    bad = [
        *(pause_frame(9, dst=dst) for dst in (0xFFFFFFFFFFFF, MAC ^ 1, GROUP_MAC ^ 1)),
        *(pause_frame(9, ethertype=ethertype) for ethertype in (0x0808, 0x8809, 0x0800)),
        *(frame(opcode, 9, *[9] * 8) for opcode in (0, 2, 0x0100, 0x0102, 0x8001)),
        *(pause_frame(9)[:size] for size in (1, 8, 14, 16, 17)),
        *(pfc_frame({0: 9})[:size] for size in (18, 32, 33)),
    ]
    for what in bad:
        assert await bench.hear(what) is Heard.MALFORMED, what.hex(" ")
        assert await bench.hold(20) == 0
    assert bench.events["malformed"] == len(bad)
    for what in (pause_frame(9)[:18], pfc_frame({0: 9})[:34]):
        await bench.hear(what)
        assert await bench.hold() == 10


@cocotb.test()
async def frames_without_end_are_all_heard(dut: Any) -> None:
    bench = PauseBench(dut, data=0x10)
    await bench.reset()
    for n in range(100):
        bench.send(pause_frame(n) if n % 2 else pfc_frame({n % 8: n}))
    await bench.until(lambda: not bench.input.items)
    await bench.run(300)
    assert bench.events["pause"] == bench.events["priority_pause"] == 50
    assert bench.events["held"] == len(bench.held) > 0


@cocotb.test()
async def a_reset_ends_a_pause(dut: Any) -> None:
    bench = PauseBench(dut, data=0xFF)
    await bench.reset()
    await bench.hear(pause_frame(0xFFFF))
    await bench.hear(pfc_frame(dict.fromkeys(range(8), 0xFFFF)))
    assert await bench.hold(20)
    await bench.reset(cycles=1)
    assert await bench.hold(20) == 0


@cocotb.test()
@cocotb.parametrize(quanta=[FULL // 7, 2 * FULL + 31])
async def any_sequence_holds_as_the_model_does(dut: Any, quanta: int) -> None:
    bench = PauseBench(dut, quanta, data=0b0110_0000, control=0b0000_0011)
    await bench.reset()
    draw = bench.random.randrange
    for _ in range(200):
        bench.send(pause_frame(draw(30)) if draw(3) else pfc_frame({draw(8): draw(30) for _ in range(draw(5))}))
        await bench.run(draw(60))
        if not draw(5):
            bench.honour(bool(draw(2)), bench.random.getrandbits(8), bench.random.getrandbits(8))
    assert len(bench.held) > 500


def test_pause() -> None:
    run("pause")
