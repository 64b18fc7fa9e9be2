"""The write engine under test: its page map loaded, descriptors with their payload, TLPs beside the model's."""

from typing import Any

from bench import Bench, Stalls
from framelane.driver.simulated.ports import BD_T
from framelane.models.cells import axis
from framelane.models.pcie.page_map import PageMap
from framelane.models.pcie.pcie_wr import Engine
from framelane.models.pcie.tlp_join import Sent
from framelane.models.pcie.tlp_split import MPS, Status, Tlp, Write
from signals import now
from tlp_ports import without_lost_data


class WriteBench(Bench):
    """One engine, of which the design's top has the ports."""

    def __init__(self, dut: Any, stalls: Stalls = Stalls.NONE, mps: int = 256) -> None:
        super().__init__(dut, stalls)
        self.width = int(dut.DataW.value)
        self.descriptors, self.payload = self.source("s_axis_bd"), self.source("s_axis_payload")
        self.statuses: list[Status] = []
        self.expected: list[Sent] = []
        self.expected_statuses: list[Status] = []
        self.engine = Engine(PageMap(12, ()), mps, self.width // 8)
        dut.map_write_i.value = 0
        self._no_fence = {"tuser": 0} if hasattr(dut, "s_axis_bd_tuser") else {}
        self.set_mps(mps)
        self.watch(self._note)

    def _note(self) -> None:
        if now(self.dut.status_valid_o):
            self.statuses.append(Status(now(self.dut.status_o)))

    def set_mps(self, mps: int) -> None:
        """What the link says is the largest payload, of descriptors that are sent from now on."""
        self.dut.mps_i.value = MPS.index(mps)
        self.engine = Engine(self.engine.pages, mps, self.width // 8)

    async def load(self, pages: PageMap) -> None:
        """Write the page map; then two cycles, as for the driver."""
        dut = self.dut
        for index, word in enumerate(pages.entries):
            dut.map_index_i.value, dut.map_entry_i.value, dut.map_write_i.value = index, word, 1
            await self.step()
        dut.map_write_i.value = 0
        dut.page_log2_i.value, dut.pages_i.value = pages.page_log2, len(pages.entries)
        self.engine = Engine(pages, self.engine.mps, self.width // 8)
        for _ in range(2):
            await self.step()

    def write(
        self,
        offset: int,
        payload: bytes,
        length: int | None = None,
        wrong: tuple[int, ...] = (),
        last: bool = False,
    ) -> None:
        """A descriptor of `length` bytes, those of its payload if not given; beats `wrong` of it have errors.

        `last` ends a frame: the payload is its trailer.
        """
        write = Write(offset, len(payload) if length is None else length)
        fields = dict.fromkeys(BD_T.fields, 0) | {"destination": write.offset, "length": write.length}
        fields["last"] = int(last)
        self.descriptors.items.append({"tdata": BD_T.pack(fields)} | self._no_fence)
        for index, beat in enumerate(axis.beats(payload, self.width) if payload else ()):
            item = {"tdata": beat.data, "tkeep": beat.keep, "tlast": int(beat.last), "tuser": int(index in wrong)}
            self.payload.items.append(item)
        status, sent = self.engine.write(write, payload, wrong)
        self.expected += without_lost_data(sent)
        self.expected_statuses.append(status)

    def fence(self, offset: int, status: Status, tag: int = 9) -> None:
        """A read of no bytes, which ends so."""
        fields = dict.fromkeys(BD_T.fields, 0) | {"destination": offset, "length": 1}
        self.descriptors.items.append({"tdata": BD_T.pack(fields), "tuser": 1 << 5 | tag})
        self.expected_statuses.append(status)
        if status is Status.OK:
            address = self.engine.pages.translate(offset)[1] & ~3
            self.expected.append(Sent(Tlp(address, 0), b"", fence=tag))

    def some_writes(self, count: int, longest: int = 1500) -> None:
        """Descriptors of any length and alignment in the ring."""
        ring = self.engine.pages.ring_bytes
        for _ in range(count):
            length = self.random.choice([self.random.randrange(1, 20), self.random.randrange(1, longest)])
            self.write(self.random.randrange(ring - length), self.random.randbytes(length))
