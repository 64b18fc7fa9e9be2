"""msix: a message behind its events, never before them, as few as moderation says, and none that is lost."""

from typing import Any

import cocotb
import pytest

from bench import ALL_STALLS, Bench, Stalls, run
from framelane.driver.simulated.ports import MSIX_T
from framelane.models.pcie import pcie_core
from framelane.models.pcie.tlp_join import Sent
from framelane.models.pcie.tlp_split import Tlp
from signals import now
from tlp_ports import taken_tlps
from tlp_streams import beats, some_tlp
from widths import some_widths

AT, DATA = 0xFEE0_0000_1000, 0xDEAD_BEEF
MESSAGE = pcie_core.message(AT, DATA)
QUEUE = 0x7_0000_0000
"""Events are TLPs that go there."""


class MsixBench(Bench):
    """TLPs with events among them; the pulse of each comes as its last beat is on offer, or a cycle later."""

    def __init__(self, dut: Any, stalls: Stalls = Stalls.NONE) -> None:
        super().__init__(dut, stalls)
        self.width = int(dut.DataW.value)
        self.tlps, self.out = self.source("s_axis_tlp"), self.sink("m_axis_tlp")
        self.sent: list[Sent] = []
        self.pulses = self.offered = self.messages = 0
        self._ends: list[int] = []
        """Which beats are the last ones of events."""
        self._beats = self._pulsed = self._told = 0
        """Last beat of the newest event that has had its pulse: as it is now, and as it was a cycle before."""
        dut.event_i.value = 0
        self.answer(self._pulse)
        self.watch(self._count)

    def configure(self, **fields: int) -> None:
        known = {"enabled": 1, "masked": 0, "address": AT, "data": DATA, "events": 1, "delay": 0}
        self.dut.config_i.value = MSIX_T.pack(known | fields)

    def _pulse(self) -> None:
        """When the beat is on offer: from then on the message may come, but behind it."""
        begun = len(self.tlps.accepted) + int(self.tlps._offered)
        due = bool(self._ends) and begun >= self._ends[0]
        self.dut.event_i.value = int(due)
        if due:
            self._pulsed = self._ends.pop(0)
            self.pulses += 1

    def _count(self) -> None:
        if now(self.dut.sent_o):
            self.messages += 1
            assert len(self.tlps.accepted) >= self._told, "a message passes an event that it may be of"
        self._told = self._pulsed

    def send(self, sent: Sent) -> None:
        items = list(beats(sent, self.width))
        self.tlps.items.extend(items)
        self._beats += len(items)
        self.sent.append(sent)

    def event(self) -> None:
        """The entry of an event, 64 bytes."""
        self.send(Sent(Tlp(QUEUE, 64), self.random.randbytes(64)))
        self._ends.append(self._beats)

    def others(self, most: int) -> None:
        for _ in range(self.random.randrange(most + 1)):
            self.send(some_tlp(self.random, 256))

    async def taken(self) -> list[Sent]:
        await self.until(lambda: not self.tlps.items and not self._ends, 20_000)
        for _ in range(40):
            await self.step()
        return taken_tlps(self.out.items, self.width)

    def told(self, got: list[Sent]) -> list[int]:
        """For each message, how many events came before it. What else came is what was sent."""
        assert [each for each in got if each != MESSAGE] == self.sent
        events, found = 0, []
        for each in got:
            events += each.tlp.address == QUEUE
            if each == MESSAGE:
                found.append(events)
        assert len(found) == self.messages
        return found


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS, events=[0, 1, 3])
async def messages_are_behind_their_events_and_as_many_as_asked_for(dut: Any, stalls: Stalls, events: int) -> None:
    bench = MsixBench(dut, stalls)
    bench.configure(events=events)
    await bench.reset()
    for _ in range(60):
        bench.others(2)
        bench.event()
    told = bench.told(await bench.taken())
    each = max(1, events)
    assert all(told[k] >= each * (k + 1) for k in range(len(told))), "a message before its events"
    assert 60 - each < told[-1] <= 60
    assert len(told) <= 60 // each


@cocotb.test()
async def one_event_alone_is_told_at_once_and_once(dut: Any) -> None:
    bench = MsixBench(dut)
    bench.configure()
    await bench.reset()
    for number in range(1, 6):
        bench.event()
        assert bench.told(await bench.taken()) == list(range(1, number + 1))


@cocotb.test()
async def fewer_events_than_asked_for_wait_so_long_and_no_longer(dut: Any) -> None:
    bench = MsixBench(dut)
    bench.configure(events=100, delay=2)
    await bench.reset()
    for _ in range(2):
        start, before = bench.cycle, bench.messages
        bench.event()
        await bench.taken()
        bench.event()
        await bench.until(lambda before=before: bench.messages > before, 1000)  # type: ignore[misc]
        assert 2 * 256 <= bench.cycle - start <= 2 * 256 + 10
    bench.configure(events=100, delay=0)
    bench.event()
    await bench.taken()
    for _ in range(1200):
        await bench.step()
    assert bench.messages == 2


@cocotb.test()
async def a_masked_message_is_pending_and_comes_when_it_is_not(dut: Any) -> None:
    bench = MsixBench(dut)
    bench.configure(masked=1)
    await bench.reset()
    assert not now(dut.pending_o)
    for _ in range(3):
        bench.event()
    await bench.taken()
    assert now(dut.pending_o)
    assert bench.messages == 0
    bench.configure()
    assert bench.told(await bench.taken()) == [3]
    assert not now(dut.pending_o)


@cocotb.test()
async def without_interrupts_nothing_is_added_and_nothing_kept_for_later(dut: Any) -> None:
    bench = MsixBench(dut)
    bench.configure(enabled=0)
    await bench.reset()
    for _ in range(5):
        bench.event()
        bench.others(2)
    assert bench.told(await bench.taken()) == []
    bench.configure()
    assert bench.told(await bench.taken()) == []
    bench.event()
    assert bench.told(await bench.taken()) == [6]


@pytest.mark.parametrize("width", some_widths("msix", (128, 256, 512)))
def test_msix(width: int) -> None:
    run("msix", DataW=width)
