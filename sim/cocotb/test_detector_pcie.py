"""detector_pcie: a detector's packets land in pages of a host; software finds each frame by its event, as the model."""

from dataclasses import replace
from typing import Any

import cocotb
import pytest

from bench import Stalls, run
from core_bench import IMAGE, MODULES, PACKETS, PARAMETERS, TARGET, DetectorBench
from framelane.models.detector.det_send import Write
from framelane.models.pcie import page_map
from framelane.models.pcie.event_queue import Consumer
from framelane.models.pcie.tlp_split import MPS, Status
from framelane.models.placement import trailer
from pcie_host import Host
from tlp_ports import taken_tlps
from widths import some_widths

PAGE_LOG2 = 12
SLOTS_LOG2 = 3
IN_RING = replace(TARGET, base=0, slots_log2=SLOTS_LOG2)
PAGES = (IN_RING.slot_bytes << SLOTS_LOG2) >> PAGE_LOG2
"""Pages with frames; the page behind them has the events."""
EVENT_LOG2 = 6
FRAMES = 20
UNTOUCHED = b"\xa5"


class PcieBench(DetectorBench):
    """The design with a host: its pages, and software that reads events while packets come."""

    def __init__(self, dut: Any, stalls: Stalls = Stalls.NONE) -> None:
        super().__init__(dut, stalls, target=IN_RING)
        self.tlps = self.sink("m_axis_tlp")
        chance = self.random
        numbers = chance.sample(range(1, 1 << 20), PAGES + 1)
        self.addresses = [number << PAGE_LOG2 for number in numbers]
        self.host = Host(1 << PAGE_LOG2, self.addresses)
        self.host.pages[self.addresses[PAGES]][:] = bytes(1 << PAGE_LOG2)
        self.statuses: list[Status] = []
        self.seen: list[tuple[trailer.Trailer, Status]] = []
        self.ring = bytearray(UNTOUCHED * (PAGES << PAGE_LOG2))
        """What the model has written up to the last event that was read."""
        self.compares = True
        self.flushed: list[Write] = []
        """What the model sends for frames that are ended before they are over, and has not come."""
        dut.mps_i.value, dut.page_log2_i.value, dut.pages_i.value = MPS.index(256), PAGE_LOG2, PAGES + 1
        dut.map_write_i.value = dut.failed_i.value = dut.fence_i.value = dut.fence_limit_i.value = 0
        dut.completion_i.value = dut.completion_tag_i.value = dut.completion_bad_i.value = 0
        dut.event_enabled_i.value, dut.event_base_i.value = 1, PAGES << PAGE_LOG2
        dut.event_log2_i.value, dut.event_consumed_i.value = EVENT_LOG2, 0
        self.consumer, self.waiting = Consumer(EVENT_LOG2), 0
        self.watch(self._arrive)
        self.answer(self._consume)

    async def start(self, hole: int | None = None) -> None:
        """After a reset, with all pages but `hole`."""
        await self.reset()
        self.begin()
        pages: list[int | None] = list(self.addresses)
        if hole is not None:
            pages[hole] = None
        for index, word in enumerate(page_map.of_pages(PAGE_LOG2, pages).entries):
            self.dut.map_index_i.value, self.dut.map_entry_i.value, self.dut.map_write_i.value = index, word, 1
            await self.step()
        self.dut.map_write_i.value = 0
        await self.step()

    def _consume(self) -> None:
        self.dut.event_consumed_i.value = self.consumer.consumed

    def _arrive(self) -> None:
        """TLPs reach the host, which looks whether there is an event."""
        if not self.tlps.items or not self.tlps.items[-1]["tlast"]:
            return
        for sent in taken_tlps(self.tlps.items, self.width):
            self.host.take(sent, self.cycle)
        self.tlps.items.clear()
        while found := self.consumer.next(bytes(self.host.pages[self.addresses[PAGES]])):
            self.seen.append(found)
            self._look(found[0])

    def _look(self, said: trailer.Trailer) -> None:
        """All that the model has sent up to this trailer is there, and nothing else."""
        if self.flushed:  # frames are ended by turns that begin with any module
            write = next(write for write in self.flushed if write.payload == said.pack())
            at = self.flushed.index(write)
            chunk = self.flushed[at - 1 : at + 1]  # its mask before it
            del self.flushed[at - 1 : at + 1]
        else:
            end = next(k for k in range(self.waiting, len(self.expected)) if self.expected[k].imm is not None)
            chunk = self.expected[self.waiting : end + 1]
            self.waiting = end + 1
        for write in chunk:
            self.put(write)
        assert chunk[-1].payload == said.pack()
        if self.compares:
            start = said.slot * IN_RING.slot_bytes
            image = slice(start + (said.source - IN_RING.first_source) * IMAGE // MODULES, None)
            image = slice(image.start, image.start + IMAGE // MODULES)
            assert self.slots()[image] == self.ring[image], f"frame {said.frame_number} of source {said.source}"

    def put(self, write: Write) -> None:
        """What was not whole is anything, until holes come over it."""
        if not write.bad:
            self.ring[write.address : write.address + len(write.payload)] = write.payload

    def slots(self) -> bytes:
        """The ring as software sees it."""
        return self.host.ring(self.addresses[:PAGES])

    async def rest(self) -> None:
        """Until nothing is under way."""
        await self.until(lambda: not self.line.items, 1_000_000)
        quiet = 0
        while quiet < 200:
            before = len(self.host.arrived)
            await self.step()
            quiet = quiet + 1 if len(self.host.arrived) == before else 0


def send_impaired(bench: PcieBench, frames: int) -> None:
    """Frames whose packets come out of order, are lost, cut, repeated; each module a little ahead of the others."""
    chance = bench.random
    packets = [
        (frame, packet, module)
        for frame in range(1, frames + 1)
        for packet in range(PACKETS)
        for module in range(MODULES)
    ]
    order = sorted(packets, key=lambda each: each[0] + 0.02 * each[1] + chance.uniform(0, 0.6))
    for frame, packet, module in order:
        data, kind = bench.packet(frame, packet, module), chance.random()
        if kind < 0.03:
            continue
        cut = kind < 0.08
        bench.send(data[: chance.randrange(100, len(data), 2)] if cut else data, cut or kind > 0.98)
        if 0.08 < kind < 0.10:
            bench.send(data)


@cocotb.test()
@cocotb.parametrize(stalls=[Stalls.SOURCE, Stalls.BOTH])
async def each_event_finds_its_frame_as_the_model_has_it(dut: Any, stalls: Stalls) -> None:
    bench = PcieBench(dut, stalls)
    await bench.start()
    send_impaired(bench, FRAMES)
    await bench.rest()
    for write in bench.expected[bench.waiting :]:
        bench.put(write)
    bench.flushed = list(bench.model.flush())
    ends = sum(write.imm is not None for write in (*bench.expected, *bench.flushed))
    dut.flush_i.value = 1
    await bench.rest()
    dut.flush_i.value = 0
    assert not bench.host.faults
    assert {status for _, status in bench.seen} == {Status.OK}, "what is not whole has holes, and is no error"
    assert len(bench.seen) == ends
    assert len(bench.seen) > (FRAMES - 1) * MODULES
    assert bench.fates() == bench.model.fates
    assert bench.slots() == bench.ring
    assert any(trailer.packets < PACKETS for trailer, _ in bench.seen)
    await bench.until(lambda: bool(int(dut.idle_o.value)), 1000)


@cocotb.test()
async def a_page_that_is_not_there_is_said_by_the_events_of_its_frames_alone(dut: Any) -> None:
    bench = PcieBench(dut)
    bench.compares = False
    hole = 1 + (2 * IN_RING.slot_bytes >> PAGE_LOG2)  # of slot 2: module 0
    await bench.start(hole)
    for frame in range(1, 5):
        for packet in range(PACKETS):
            for module in range(MODULES):
                bench.send(bench.packet(frame, packet, module))
            await bench.rest()
    found = {(said.frame_number, said.source): status for said, status in bench.seen}
    assert len(found) == 4 * MODULES
    slot = {said.frame_number: said.slot for said, _ in bench.seen}
    broken = {status for (number, _), status in found.items() if slot[number] == 2}
    assert Status.NO_PAGE in broken
    assert {status for (number, _), status in found.items() if slot[number] != 2} == {Status.OK}
    assert not bench.host.faults


@cocotb.test()
async def packets_back_to_back_leave_without_a_bubble(dut: Any) -> None:
    """A TLP costs no cycle beside its payload: the bus to the host is as wide as the line's."""
    bench = PcieBench(dut)
    await bench.start()
    for packet in range(PACKETS - 1):
        bench.send(bench.packet(1, packet))
    await bench.rest()
    accepted, taken = bench.line.accepted, bench.tlps.taken
    beats = (PACKETS - 1) * PARAMETERS["PacketBytes"] * 8 // bench.width
    assert len(taken) == beats
    assert taken[-1] - taken[0] <= accepted[-1] - accepted[0] + 1


@pytest.mark.parametrize("width", some_widths("detector_pcie", (128, 256, 512)))
def test_detector_pcie(width: int) -> None:
    run("detector_pcie", DataW=width, Entries=64, **PARAMETERS)
