"""pcie_tx with a host at each engine's port, the frame memory, and its registers by name."""

from collections import deque
from typing import Any

from axi_lite import AxiLite
from bench import STALL_SHARE, Bench, Source, Stalls
from framelane.driver.registers._pcie_register_map import REGISTERS as PCIE_REGISTERS
from framelane.driver.registers._register_map import REGISTERS
from framelane.driver.registers.register_file import RegisterFile
from framelane.driver.simulated import ports
from framelane.models.pcie import page_map
from framelane.models.pcie.event_queue import Consumer
from framelane.models.pcie.page_map import PageMap
from framelane.models.pcie.tlp_split import MPS, Status
from framelane.models.placement.flow import Destination, Flow, FrameEvent
from framelane.models.placement.trailer import TRAILER_BYTES, Trailer
from framelane.models.registers import registers
from pcie_host import Host
from signals import now
from tlp_ports import taken_tlps

SLOT = 8192
SLOTS = 3
PAGE_LOG2 = 12
PAGES = SLOT * SLOTS >> PAGE_LOG2
"""Pages with slots; the page behind them has the events."""
ROWS, COLUMNS = 30, 101
IMAGE = 2 * ROWS * COLUMNS
STRIDE = 1 << 16
EVENT_LOG2 = 3
ENGINES = 2
MAP = RegisterFile(None, (*REGISTERS, *PCIE_REGISTERS))  # type: ignore[arg-type]
"""Where registers are; accesses are the bench's own."""
HIGH = 0x12_3400_0000


class Port:
    """A packed array of ports, one for each engine: `width` bits of each."""

    def __init__(self, handle: Any, width: int) -> None:
        self._handle, self._width = handle, width

    def get(self, engine: int) -> int:
        return now(self._handle) >> self._width * engine & (1 << self._width) - 1

    def set(self, values: list[int]) -> None:
        self._handle.value = sum(value << self._width * engine for engine, value in enumerate(values))


class PcieTxBench(Bench):
    """Frames alternate between the engines: two destinations of one flow, each with its own ring."""

    def __init__(self, dut: Any, stalls: Stalls = Stalls.NONE, mps: int = 256) -> None:
        super().__init__(dut, stalls)
        self.width = int(dut.DataW.value)
        self.registers = AxiLite(self)
        self._user = ports.TLP_USER_T.width
        self.hosts = [Host(1 << PAGE_LOG2, self.addresses(engine)) for engine in range(ENGINES)]
        self.consumers = [Consumer(EVENT_LOG2) for _ in range(ENGINES)]
        self.maps = [page_map.of_pages(PAGE_LOG2, self.addresses(engine)) for engine in range(ENGINES)]
        self.dead = [False] * ENGINES
        """Ports that take nothing."""
        self.images: dict[int, bytes] = {}
        self.bad_reads: set[int] = set()
        """Addresses of beats that memory answers with an error."""
        self.silent = False
        """Memory that takes requests and answers none."""
        self.released = 0
        self.stalled = [0] * ENGINES
        """Cycles in which a port was offered a beat and did not take it."""
        self.frames = self.feed()
        dut.link_up_i.value = 3
        dut.mps_i.value = 0b1010
        self.mps = mps
        self._beats: list[list[dict[str, int]]] = [[] for _ in range(ENGINES)]
        self._reads: list[deque[tuple[int, int, int]]] = [deque() for _ in range(ENGINES)]
        self._offered: list[tuple[int, int, int] | None] = [None] * ENGINES
        self.tlp_ready = [0] * ENGINES
        self.answer(self._drive)
        self.watch(self._sample)

    @staticmethod
    def addresses(engine: int) -> list[int]:
        """Pages of an engine's ring on its bus, in no order."""
        return [HIGH + (engine << 28) + ((4 * k + 3) % (2 * PAGES + 3) << PAGE_LOG2) for k in range(PAGES + 1)]

    def feed(self) -> Source:
        """What frames come by: none of them out of a frame store."""
        self.dut.store_i.value = 1 << 10  # idle
        self.watch(self._count_releases)
        return self.source("s_axis_frame")

    def _count_releases(self) -> None:
        self.released += now(self.dut.release_o)

    def memory_at(self, address: int, size: int) -> bytes:
        """What lies in the frame memory; behind images, less."""
        return self.images.get(address // STRIDE, b"")[address % STRIDE :][:size]

    def _port(self, name: str, width: int) -> Port:
        return Port(getattr(self.dut, name), width)

    def _stall(self, stalls: bool) -> bool:
        return stalls and self.random.random() < STALL_SHARE

    def _drive(self) -> None:
        """Answers of the frame memory, ready of the ports, completions."""
        dut = self.dut
        for e in range(ENGINES):
            if self._offered[e] is None and self._reads[e] and not self.silent and not self._stall(self._stalls.source):
                self._offered[e] = self._reads[e].popleft()
        offers = [each or (0, 0, 0) for each in self._offered]
        dut.m_axi_arready.value = 3
        dut.m_axi_rvalid.value = sum(1 << e for e in range(ENGINES) if self._offered[e])
        dut.m_axi_rlast.value = sum(offer[1] << e for e, offer in enumerate(offers))
        self._port("m_axi_rdata", self.width).set([offer[0] for offer in offers])
        self._port("m_axi_rresp", 2).set([offer[2] for offer in offers])
        self.tlp_ready = [int(not self.dead[e] and not self._stall(self._stalls.sink)) for e in range(ENGINES)]
        dut.m_axis_tlp_tready.value = sum(ready << e for e, ready in enumerate(self.tlp_ready))
        due = [host.answers[0] if host.answers and host.answers[0][0] <= self.cycle else None for host in self.hosts]
        dut.completion_i.value = sum(1 << e for e in range(ENGINES) if due[e])
        dut.completion_bad_i.value = sum(int(each[2]) << e for e, each in enumerate(due) if each)
        self._port("completion_tag_i", 5).set([each[1] if each else 0 for each in due])
        for host, each in zip(self.hosts, due, strict=True):
            if each:
                host.answers.popleft()

    def _sample(self) -> None:
        dut = self.dut
        valid, rready, arvalid = now(dut.m_axis_tlp_tvalid), now(dut.m_axi_rready), now(dut.m_axi_arvalid)
        for e in range(ENGINES):
            if self._offered[e] and rready >> e & 1:
                self._offered[e] = None
            if arvalid >> e & 1:
                self._ask(e)
            if valid >> e & 1 and self.tlp_ready[e]:
                self._take(e)
            self.stalled[e] += valid >> e & 1 and not self.tlp_ready[e]

    def _ask(self, engine: int) -> None:
        size = self.width // 8
        at = self._port("m_axi_araddr", int(self.dut.AddrW.value)).get(engine) // size * size
        beats = self._port("m_axi_arlen", 8).get(engine) + 1
        for k in range(beats):
            where = at + k * size
            data = self.memory_at(where, size)
            error = 2 if where in self.bad_reads else 0
            self._reads[engine].append((int.from_bytes(data, "little"), int(k == beats - 1), error))

    def _take(self, e: int) -> None:
        keep = self.width // 32
        last = now(self.dut.m_axis_tlp_tlast) >> e & 1
        self._beats[e].append(
            {
                "tdata": self._port("m_axis_tlp_tdata", self.width).get(e),
                "tkeep": self._port("m_axis_tlp_tkeep", keep).get(e),
                "tlast": last,
                "tuser": self._port("m_axis_tlp_tuser", self._user).get(e),
            }
        )
        if last:
            self._deliver(e)
            self._beats[e].clear()

    def _deliver(self, engine: int) -> None:
        for sent in taken_tlps(self._beats[engine], self.width):
            self.hosts[engine].take(sent, self.cycle)

    # Registers

    async def put(self, name: str, **fields: int) -> None:
        """Write a register's fields, 0 in the others."""
        element = MAP.find(name)
        lsb = {field.name: field.lsb for field in element.register.fields}
        bits = sum(value << lsb[field] for field, value in fields.items())
        for word in range(element.register.width // 32):
            await self.registers.write(element.offset + 4 * word, bits >> 32 * word & 0xFFFF_FFFF)

    async def get(self, name: str) -> int:
        """A register, or a field of one."""
        element = MAP.find(name)
        words = range(element.register.width // 32)
        bits = sum([await self.registers.read(element.offset + 4 * word) << 32 * word for word in words])
        return element.field.of(bits) if element.field else bits

    async def counters(self, engine: int, *names: str) -> dict[str, int]:
        """Counters of an engine, of now."""
        await self.put(f"pcie[{engine}].command", snapshot=1)
        while await self.get(f"pcie[{engine}].status.snapshot_busy"):
            pass
        return {name: await self.get(f"pcie_counters[{engine}].{name}") for name in names}

    async def counter(self, name: str) -> int:
        """A counter of the transmitter, of now."""
        await self._snapshot()
        return await self.get(f"counters.{name}")

    async def _snapshot(self) -> None:
        await self.put("command", snapshot=1)
        while await self.get("status.snapshot_busy"):
            pass

    async def destinations(self, name: str) -> list[int]:
        """A counter of both destinations, of now."""
        await self._snapshot()
        return [await self.get(f"destination_counters[{k}].{name}") for k in range(ENGINES)]

    async def load(self, engine: int, pages: PageMap) -> None:
        """Write an engine's page map."""
        await self.put(f"pcie[{engine}].page_log2", value=pages.page_log2)
        await self.put(f"pcie[{engine}].map_index", value=0)
        offset = MAP.find(f"pcie[{engine}].map_entry").offset
        for word in pages.entries:
            await self.registers.write(offset, word & 0xFFFF_FFFF)
            await self.registers.write(offset + 4, word >> 32)
        await self.put(f"pcie[{engine}].pages", value=len(pages.entries))
        self.maps[engine] = pages

    async def start(self, **control: int) -> None:
        """Reset, tell the registers all, and arm."""
        await self.reset()
        while await self.get("status.resetting"):
            pass
        for engine in range(ENGINES):
            await self.load(engine, self.maps[engine])
            await self.start_engine(engine, **control)
            words = registers.destination_words(self.destination(engine), 1 << 40)
            for k, word in enumerate(words):
                await self.registers.write(MAP.find(f"destination[{engine}].control").offset + 4 * k, word)
        for k, word in enumerate(registers.flow_words(self.flow())):
            await self.registers.write(MAP.find("flow[0].control").offset + 4 * k, word)
        await self.put("control", arm=1)

    async def start_engine(self, engine: int, **control: int) -> None:
        """The engine's registers, with an empty queue."""
        name = f"pcie[{engine}]"
        self.hosts[engine].pages[self.addresses(engine)[PAGES]][:] = bytes(1 << PAGE_LOG2)
        self.consumers[engine] = Consumer(EVENT_LOG2)
        await self.put(f"{name}.link", mps=MPS.index(self.mps))
        await self.put(f"{name}.event_base", value=PAGES << PAGE_LOG2)
        await self.put(f"{name}.event_log2", value=EVENT_LOG2)
        await self.put(f"{name}.event_consumed", value=0)
        await self.put(f"{name}.control", **{"events": 1} | control)

    @staticmethod
    def flow() -> Flow:
        """One flow of whole frames to both destinations in turn."""
        rectangle = {"width": COLUMNS, "height": ROWS, "source_pitch": 2 * COLUMNS, "destination_pitch": 2 * COLUMNS}
        return Flow(source=3, first_destination=0, destinations=ENGINES, **rectangle)  # type: ignore[arg-type]

    @staticmethod
    def destination(engine: int) -> Destination:
        """A ring, of which the offsets are those of the engine's pages."""
        return Destination(engine, 0, SLOT, SLOTS, SLOT - TRAILER_BYTES)

    # Frames

    def image_of(self) -> bytes:
        """Any pixels."""
        return self.random.randbytes(IMAGE)

    def offer(self, number: int) -> bytes:
        """A frame of any pixels; its image."""
        image = self.image_of()
        self.images[number % (1 << 16)] = image
        event = FrameEvent(number, number * 7, number * 9, number % (1 << 16) * STRIDE)
        self.frames.items.append({"tdata": ports.frame_t(event)})
        return image

    def event(self, engine: int) -> tuple[Trailer, Status] | None:
        """The next event in an engine's queue, as software finds it by polling."""
        return self.consumers[engine].next(bytes(self.hosts[engine].pages[self.addresses(engine)[PAGES]]))

    async def next_event(self, engine: int, limit: int = 5000) -> tuple[Trailer, Status]:
        """Wait for it, and give its entry back."""
        for _ in range(limit):
            if found := self.event(engine):
                await self.put(f"pcie[{engine}].event_consumed", value=self.consumers[engine].consumed)
                return found
            await self.step()
        raise AssertionError(f"engine {engine}: no event came in {limit} cycles")

    def slot(self, engine: int, number: int) -> bytes:
        """What lies in the slot of the engine's own frame `number`."""
        ring = self.hosts[engine].ring(self.addresses(engine)[:PAGES])
        return ring[number % SLOTS * SLOT :][:SLOT]

    async def quiet(self, limit: int = 20_000) -> None:
        """Until nothing is under way."""
        await self.until(lambda: not self.frames.items and bool(now(self.dut.idle_o)), limit)
