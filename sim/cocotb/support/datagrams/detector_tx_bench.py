"""detector_tx in a bench: configured as the driver does, frames on its line, packets beside those of the model."""

from dataclasses import replace
from typing import Any

from axi_lite import AxiLite
from axi_ports import nobody_behind
from bench import Bench, Stalls, assert_same_packets
from core_bench import BYTES, MODULES, PACKETS, SMALL, TARGET
from correct_bench import any_correction, constants_of
from det_packets import FIRST_PORT, frame_of
from framelane.driver.board.detector_board import DetectorBoard
from framelane.driver.registers._detector_register_map import REGISTERS
from framelane.driver.registers.recording import PaperRegisters, RecordingRegisters
from framelane.driver.registers.register_file import RegisterFile
from framelane.models.cells import axis
from framelane.models.detector.det_correct import DetCorrect
from framelane.models.detector.det_header import DetHeader
from framelane.models.detector_tx import DetectorTx
from framelane.models.placement.slots import FREE_RUNNING
from framelane.models.roce_tx.roce_qp import QpContext
from receive_bench import LOCAL, PEER, line

QP = QpContext(dst=PEER, dest_qpn=0x123, rkey=0xCAFE, psn=7, mtu=4096, src_port=0xC000)
HEADER = DetHeader(SMALL, MODULES)
OWN_TARGET = replace(TARGET, qp=0)
MAP = RegisterFile(None, REGISTERS)  # type: ignore[arg-type]
"""Where registers are; accesses are the bench's own."""


def settings(correct: DetCorrect | None) -> list[tuple[int, int]]:
    """What the driver writes to configure: offsets and words."""
    paper = PaperRegisters(REGISTERS)
    paper.words[MAP.find("sizes").offset] = PACKETS << 20 | MODULES << 12
    paper.words[MAP.find("packet_bytes").offset] = BYTES
    paper.words[MAP.find("correction.present").offset] = int(correct is not None)
    paper.words[MAP.find("status").offset] = 1  # idle
    recorded = RecordingRegisters(paper)
    board = DetectorBoard(recorded)
    board.configure(HEADER, OWN_TARGET, LOCAL, FIRST_PORT, QP, correct)
    board.publish_credit(FREE_RUNNING)
    return [(access.offset, access.value) for access in recorded.accesses if access.op == "write"]


class Configured(Bench):
    """The registers of a bench, by the names of the map, over AXI4-Lite."""

    registers: AxiLite

    async def get(self, name: str) -> int:
        """A register or a field."""
        element = MAP.find(name)
        words = [await self.registers.read(element.offset + at) for at in range(0, element.register.width // 8, 4)]
        bits = sum(word << 32 * at for at, word in enumerate(words))
        return element.field.of(bits) if element.field else bits

    async def put(self, name: str, **values: int) -> None:
        """Write fields of a register; the others become 0."""
        element = MAP.find(name)
        bits = sum(
            value << next(f.lsb for f in element.register.fields if f.name == key) for key, value in values.items()
        )
        for at in range(element.register.width // 32):
            await self.registers.write(element.offset + 4 * at, bits >> 32 * at & 0xFFFF_FFFF)

    async def counters(self) -> dict[str, int]:
        """The counters, by name."""
        await self.put("command", snapshot=1)
        while await self.get("status.snapshot_busy"):
            pass
        names = [register.name for register in REGISTERS if register.name.startswith("det_counters.")]
        return {name.partition(".")[2]: await self.get(name) for name in names}

    async def start_core(self, correct: DetCorrect | None) -> None:
        """Configure and arm, when no reset is under way."""
        while await self.get("status.resetting"):
            pass
        for offset, value in settings(correct):
            await self.registers.write(offset, value)
        while await self.get("status.qp_busy"):
            pass
        await self.put("control", arm=1)


class TxBench(Configured):
    """Built with `Correct`, it corrects with random constants."""

    def __init__(self, dut: Any, stalls: Stalls = Stalls.NONE) -> None:
        super().__init__(dut, stalls)
        self.line, self.width = line(self, stalls), len(dut.s_axis_tdata)
        self.registers, self.out = AxiLite(self), self.sink("m_axis")
        dut.link_up_i.value = 1
        dut.s_axis_tdest.value = dut.links_up_i.value = dut.link_frame_i.value = dut.link_bad_i.value = (
            dut.link_lost_i.value
        ) = 0
        self.correct = None
        if int(dut.Correct.value):
            self.correct = any_correction(self, HEADER)
            self.constants = constants_of(self, self.correct, self.width, stalls=False)
        else:
            nobody_behind(dut, "m_axi_constant")
        self.expected: list[bytes] = []

    async def begin(self) -> None:
        """Reset, configure and arm; what the station has announced is forgotten."""
        await self.reset(cycles=4)
        await self.configure()

    async def configure(self) -> None:
        """Configure and arm, when no reset is under way."""
        self.model, self.expected = DetectorTx(HEADER, OWN_TARGET, LOCAL, FIRST_PORT, (QP,), self.correct), []
        await self.start_core(self.correct)
        for _ in range(100):
            await self.step()
        self.out.clear()

    def packet(self, frame: int, packet: int, module: int) -> bytes:
        numbers = {"frame_number": frame, "packet_number": packet, "module_id": module}
        return frame_of(HEADER.of.written(numbers) + self.random.randbytes(BYTES), module)

    def send(self, frame: bytes, bad: bool = False) -> None:
        self.line.send(frame, self.width, tuser=0)
        self.line.items[-1]["tuser"] = int(bad)
        self.expected += self.model.take(frame, bad)

    async def check(self) -> None:
        """All that came out is what the model says."""
        beats = sum(axis.n_beats(len(packet), self.width) for packet in self.expected)
        await self.until(lambda: not self.line.items and len(self.out.items) >= beats, 60_000)
        for _ in range(200):
            await self.step()
        assert_same_packets(self.out.packets(self.width), self.expected)
