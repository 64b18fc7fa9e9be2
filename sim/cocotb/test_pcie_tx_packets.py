"""pcie_tx with packets: those of a source that knows no ring lie in posted buffers in sequence, beside frames."""

from collections import deque
from typing import Any

import cocotb
import pytest

from bench import Stalls, run
from framelane.models.cells import axis
from framelane.models.pcie import page_map
from framelane.models.pcie.posted_buffers import PostedBuffers
from framelane.models.pcie.tlp_split import Status
from framelane.models.placement.trailer import TRAILER_BYTES, Trailer
from links_bench import IMAGE as LINK_IMAGE
from links_bench import PAGE, SLOTS, LinksBench
from pcie_tx_bench import ENGINES, EVENT_LOG2, HIGH, IMAGE, PAGE_LOG2, PcieTxBench, Port
from signals import now
from widths import some_widths

SOURCE = 9
"""The packets' own; frames have another one."""
SIZE_LOG2, COUNT_LOG2 = 10, 3
FIRST_PAGE = 8
"""The buffers begin with it: behind slots and events, at a multiple of their own bytes."""
ROOM = (1 << SIZE_LOG2) - TRAILER_BYTES
COUNTERS = ("packets", "packets_lost", "packets_unposted", "packets_too_long", "packets_wrong")


class PacketsBench(PcieTxBench):
    """Each engine has eight buffers of 1 KiB, and a source of packets that cannot wait."""

    first_page = FIRST_PAGE
    """Where the buffers begin, in units of 4 KiB."""

    def __init__(self, dut: Any, stalls: Stalls = Stalls.NONE) -> None:
        super().__init__(dut, stalls)
        self.lines: list[deque[tuple[axis.Beat, int]]] = [deque() for _ in range(ENGINES)]
        """Beats to come, each with tuser."""
        self.models = [PostedBuffers(FIRST_PAGE << PAGE_LOG2, SIZE_LOG2, COUNT_LOG2, SOURCE) for _ in range(ENGINES)]
        self.posted = [0] * ENGINES
        dut.packet_time_ns_i.value = 77
        self.answer(self._send)

    @staticmethod
    def addresses(engine: int) -> list[int]:
        """With pages for buffers."""
        return [HIGH + (engine << 28) + ((4 * k + 3) % 15 << PAGE_LOG2) for k in range(FIRST_PAGE + 2)]

    def _send(self) -> None:
        """One beat of each line that has some, unless a cycle passes without."""
        beats = [
            line.popleft() if line and not self._stall(self._stalls.source) else (axis.Beat(0, 0, False), 0)
            for line in self.lines
        ]
        lanes = self.width // 8
        Port(self.dut.s_axis_packet_tdata, self.width).set([beat.data for beat, _ in beats])
        Port(self.dut.s_axis_packet_tkeep, lanes).set([beat.keep for beat, _ in beats])
        Port(self.dut.s_axis_packet_tlast, 1).set([int(beat.last) for beat, _ in beats])
        Port(self.dut.s_axis_packet_tuser, 1).set([user for _, user in beats])
        Port(self.dut.s_axis_packet_tvalid, 1).set([int(beat.keep != 0) for beat, _ in beats])

    def send(self, engine: int, data: bytes, wrong: bool = False) -> bytes:
        """A packet comes, behind those that have not come whole yet."""
        self.lines[engine] += [(beat, int(wrong and beat.last)) for beat in axis.beats(data, self.width)]
        return data

    async def post(self, engine: int, count: int) -> None:
        """Ring the doorbell."""
        self.posted[engine] += count
        await self.put(f"pcie[{engine}].buffers_posted", value=self.posted[engine])

    async def take_packets(self, engine: int) -> None:
        """As software begins: nothing posted."""
        name = f"pcie[{engine}]"
        self.posted[engine] = 0
        await self.put(f"{name}.buffers", size_log2=SIZE_LOG2, count_log2=COUNT_LOG2, source=SOURCE)
        await self.put(f"{name}.buffers_base", value=self.first_page)
        await self.put(f"{name}.buffers_posted", value=0)
        await self.put(f"{name}.control", events=1, packets=1)
        assert await self.get(f"{name}.status.packets") == 1

    async def begin(self) -> None:
        await self.start()
        for engine in range(ENGINES):
            await self.take_packets(engine)

    def buffer(self, engine: int, index: int) -> bytes:
        """What is in one, trailer included."""
        ring = self.hosts[engine].ring(self.addresses(engine))
        return ring[FIRST_PAGE << PAGE_LOG2 :][index << SIZE_LOG2 :][: 1 << SIZE_LOG2]

    async def next_packet(self, engine: int) -> tuple[Trailer, Status, bytes]:
        """The next event must be a packet's: with the bytes in its buffer as the event is found."""
        trailer, status = await self.next_event(engine)
        assert trailer.source == SOURCE
        return trailer, status, self.buffer(engine, trailer.slot)[: trailer.payload_bytes]

    async def counted(self, engine: int) -> dict[str, int]:
        return await self.counters(engine, *COUNTERS)

    def check(self, engine: int, trailer: Trailer, data: bytes) -> None:
        """The model, which was given the packet now, says the same of it."""
        assert self.models[engine].packet(data, 77, self.posted[engine])
        assert trailer.pack() == self.models[engine].written[-1][1]
        there = self.buffer(engine, trailer.slot)
        assert there[: len(data)] == data
        assert there[ROOM:] == trailer.pack()


class LinkedBench(LinksBench, PacketsBench):
    """The same before two links with the wire's time, each with its own host's memory: buffers in a page of theirs."""

    first_page = (SLOTS + 1) * PAGE >> 12

    async def start_links(self) -> None:
        for engine, link in enumerate(self.links):
            await link.complex.enumerate()
            self.maps[engine] = page_map.of_pages(16, link.memory.pages(SLOTS + 2, PAGE))
            link.memory.fill(SLOTS, bytes(PAGE))
        await self.start()

    async def linked_event(self, engine: int) -> tuple[Trailer, Status]:
        """The next event, as soon as it is in the host's memory."""
        for _ in range(100_000):
            if found := self.consumers[engine].next(self.links[engine].memory.page(SLOTS)[: 64 << EVENT_LOG2]):
                await self.put(f"pcie[{engine}].event_consumed", value=self.consumers[engine].consumed)
                return found
            await self.step()
        raise AssertionError(f"engine {engine}: no event")


@cocotb.test()
async def over_links_that_others_have_modelled_each_event_comes_behind_its_packet(dut: Any) -> None:
    """cocotbext-pcie's root complex: packets beside frames of 60 KiB, which wait for the wire."""
    bench = LinkedBench(dut)
    await bench.start_links()
    sent: list[deque[bytes]] = [deque() for _ in range(ENGINES)]
    for engine in range(ENGINES):
        await bench.take_packets(engine)
        await bench.post(engine, 1 << COUNT_LOG2)
    images = [bench.offer(number) for number in range(2 * ENGINES)]
    kinds: list[list[int]] = [[] for _ in range(ENGINES)]
    for _ in range(5):
        for engine in range(ENGINES):
            sent[engine] += [bench.send(engine, bench.random.randbytes(bench.random.randrange(1, ROOM))) for _ in "ab"]
        for engine in range(ENGINES):
            memory = bench.links[engine].memory
            while sent[engine]:
                trailer, status = await bench.linked_event(engine)
                assert status is Status.OK
                kinds[engine].append(trailer.source)
                if trailer.source == SOURCE:
                    data = sent[engine].popleft()
                    there = memory.page(SLOTS + 1)[trailer.slot << SIZE_LOG2 :]
                    assert (trailer.payload_bytes, there[: len(data)]) == (len(data), data)
                    await bench.post(engine, 1)
                else:
                    assert memory.page(trailer.frame_number)[:LINK_IMAGE] == images[trailer.detector_frame]
    for engine in range(ENGINES):
        while kinds[engine].count(3) < 2:
            kinds[engine].append((await bench.linked_event(engine))[0].source)
        assert kinds[engine].count(SOURCE) == 10
        assert await bench.counted(engine) == dict.fromkeys(COUNTERS, 0) | {"packets": 10}


@cocotb.test()
@cocotb.parametrize(stalls=[Stalls.NONE, Stalls.BOTH])
async def packets_lie_in_their_buffers_in_sequence_and_frames_in_their_slots(dut: Any, stalls: Stalls) -> None:
    """On both engines: all events of both kinds, each behind its data, over several rounds of the buffers."""
    bench = PacketsBench(dut, stalls)
    await bench.begin()
    sizes = [1, 63, 64, 65, 900, ROOM]
    packets: list[deque[bytes]] = [deque() for _ in range(ENGINES)]
    images: dict[int, bytes] = {}
    frames, seen = 0, [0] * ENGINES
    for engine in range(ENGINES):
        await bench.post(engine, 1 << COUNT_LOG2)
    for _ in range(12):
        for engine in range(ENGINES):
            for _ in range(2):
                size = bench.random.choice([*sizes, bench.random.randrange(1, ROOM)])
                packets[engine].append(bench.send(engine, bench.random.randbytes(size)))
            images[frames] = bench.offer(frames)
            frames += 1
        for engine in range(ENGINES):
            for _ in range(3):
                trailer, status = await bench.next_event(engine)
                assert status is Status.OK
                if trailer.source == SOURCE:
                    bench.check(engine, trailer, packets[engine].popleft())
                    await bench.post(engine, 1)
                else:
                    assert trailer.frame_number == seen[engine]
                    assert bench.slot(engine, seen[engine])[:IMAGE] == images[ENGINES * seen[engine] + engine]
                    seen[engine] += 1
    await bench.quiet()
    assert (packets, seen) == ([deque(), deque()], [12, 12])
    assert await bench.destinations("sent") == [12, 12]
    assert bench.released == 24
    for engine in range(ENGINES):
        assert await bench.counted(engine) == dict.fromkeys(COUNTERS, 0) | {"packets": 24}
        assert await bench.get(f"pcie[{engine}].buffers_used") == 24
        assert await bench.get(f"pcie[{engine}].errors") == 0
        assert await bench.counters(engine, "descriptors", "events") == {"descriptors": 72, "events": 36}


@cocotb.test()
async def packets_without_buffer_too_long_or_wrong_cost_themselves_alone(dut: Any) -> None:
    """Those are counted, in the next trailer too; frames and the packets behind them go on."""
    bench = PacketsBench(dut)
    await bench.begin()
    model = bench.models[0]
    images = [bench.offer(number) for number in range(4)]
    for _ in range(5):
        bench.send(0, bench.random.randbytes(200))
    await bench.until(lambda: not bench.lines[0], 1000)
    for _ in range(100):
        await bench.step()
    model.unposted = 5
    for number in range(4):
        trailer, status = await bench.next_event(number % ENGINES)
        assert (trailer.detector_frame, status) == (number, Status.OK)
        assert bench.slot(number % ENGINES, number // ENGINES)[:IMAGE] == images[number]
    await bench.post(0, 2)
    bench.send(0, bench.random.randbytes(ROOM + 1))
    bench.send(0, bench.random.randbytes(3 << SIZE_LOG2))
    bench.send(0, bench.random.randbytes(100), wrong=True)
    model.too_long, model.wrong = 2, 1
    for _ in range(2):
        data = bench.send(0, bench.random.randbytes(ROOM))
        trailer, status, found = await bench.next_packet(0)
        assert (found, status) == (data, Status.OK)
        bench.check(0, trailer, data)
    assert trailer.frames_dropped == 8
    bench.send(0, bench.random.randbytes(1))
    await bench.quiet()
    counted = {"packets": 2, "packets_lost": 0, "packets_unposted": 6, "packets_too_long": 2, "packets_wrong": 1}
    assert await bench.counted(0) == counted
    for name, bit in {"packet_lost": 0, "packet_unposted": 1, "packet_too_long": 1, "packet_wrong": 1}.items():
        assert await bench.get(f"pcie[0].errors.{name}") == bit
        assert await bench.get(f"pcie[1].errors.{name}") == 0


@cocotb.test()
async def a_port_that_stands_still_loses_whole_packets_and_says_so(dut: Any) -> None:
    bench = PacketsBench(dut)
    await bench.begin()
    await bench.post(0, 1 << COUNT_LOG2)
    bench.dead[0] = True
    sent = [bench.send(0, bench.random.randbytes(ROOM)) for _ in range(8)]
    await bench.until(lambda: not bench.lines[0], 3000)
    bench.dead[0] = False
    await bench.quiet()
    counted = await bench.counted(0)
    kept = counted["packets"]
    assert 0 < kept < 8
    assert counted["packets_lost"] == 8 - kept
    assert await bench.get("pcie[0].errors.packet_lost") == 1
    for number in range(kept):
        trailer, status, found = await bench.next_packet(0)
        assert (trailer.frame_number, status, found) == (number, Status.OK, sent[number])


@cocotb.test()
async def a_page_missing_is_said_of_what_lies_there_and_not_of_what_was_mixed_with_it(dut: Any) -> None:
    """Frames without their second page among packets that are whole, then the other way round."""
    for missing in (1, FIRST_PAGE):
        bench = PacketsBench(dut)
        bench.maps = [
            page_map.of_pages(PAGE_LOG2, [None if k == missing else at for k, at in enumerate(bench.addresses(engine))])
            for engine in range(ENGINES)
        ]
        await bench.begin()
        await bench.post(0, 8)
        bad, good = (Status.NO_PAGE, Status.OK) if missing == 1 else (Status.OK, Status.NO_PAGE)
        images = [bench.offer(0), bench.offer(1)]
        data = [bench.send(0, bench.random.randbytes(300)) for _ in range(4)]
        statuses: dict[int, list[Status]] = {3: [], SOURCE: []}
        for _ in range(5):
            trailer, status = await bench.next_event(0)
            statuses[trailer.source].append(status)
            if trailer.source == SOURCE and missing == 1:
                assert bench.buffer(0, trailer.slot)[:300] == data[trailer.frame_number]
            if trailer.source == 3 and missing != 1:
                assert bench.slot(0, 0)[:IMAGE] == images[0]
        assert statuses == {3: [bad], SOURCE: [good] * 4}
        await bench.quiet()
        assert await bench.destinations("failed") == [int(bad is not Status.OK), int(bad is not Status.OK)]


@cocotb.test()
@cocotb.parametrize(core=[False, True])
async def what_begins_anew_takes_no_packet_until_software_has_asked_again(dut: Any, core: bool) -> None:
    """A restart of the engine, or a reset of the core, in the middle of a packet, while others follow without pause."""
    bench = PacketsBench(dut)
    await bench.begin()
    await bench.post(0, 8)
    data = bench.send(0, bench.random.randbytes(500))
    trailer, status, found = await bench.next_packet(0)
    assert (trailer.frame_number, status, found) == (0, Status.OK, data)
    for _ in range(200):
        bench.send(0, bench.random.randbytes(900))
    if core:
        await bench.put("command", reset=1)
        while await bench.get("status.resetting"):
            pass
    else:
        await bench.put("pcie[0].command", restart=1)
        while await bench.get("pcie[0].status.restarting"):
            pass
    assert len(bench.lines[0]) > 0, "packets go on coming"
    assert await bench.get("pcie[0].status.packets") == 0
    assert await bench.get("pcie[0].buffers_used") == 0
    assert await bench.get("pcie[0].event_produced") == 0
    for _ in range(300):
        await bench.step()
    assert await bench.get("pcie[0].buffers_used") == 0
    bench.lines[0] = deque(list(bench.lines[0])[-bench.random.randrange(2, 10) :])  # the rest of one
    await bench.start_engine(0)
    await bench.take_packets(0)
    await bench.post(0, 8)
    await bench.until(lambda: not bench.lines[0], 1000)
    used = await bench.get("pcie[0].buffers_used")
    data = bench.send(0, bench.random.randbytes(400))
    trailer, status, found = await bench.next_packet(0)
    assert (trailer.frame_number, trailer.slot, status, found) == (used, used, Status.OK, data)
    assert used == 0, "the rest of a packet was taken for one"


@cocotb.test()
async def no_packet_is_taken_that_nobody_asked_for(dut: Any) -> None:
    bench = PacketsBench(dut)
    await bench.start()
    await bench.put("pcie[0].buffers", size_log2=SIZE_LOG2, count_log2=COUNT_LOG2, source=SOURCE)
    await bench.put("pcie[0].buffers_posted", value=8)
    bench.send(0, bench.random.randbytes(300))
    for _ in range(300):
        await bench.step()
    assert await bench.counted(0) == dict.fromkeys(COUNTERS, 0)
    assert await bench.get("pcie[0].sizes.packets") == 1
    assert bench.hosts[0].arrived == []
    assert now(dut.idle_o)


@pytest.mark.parametrize("width", some_widths("pcie_tx", (128, 256, 512)))
def test_pcie_tx_packets(width: int) -> None:
    run("pcie_tx_packets", top="pcie_tx", DataW=width, Entries=16, PacketBeats=4096 * 8 // width)
