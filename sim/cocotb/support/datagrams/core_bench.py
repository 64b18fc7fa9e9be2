"""detector_core in a bench: frames on its line, its messages with their payload, the memory that they go to."""

from collections import Counter
from typing import Any

from bench import Bench, Stalls
from correct_bench import any_correction, constants_of, settings
from det_packets import FIRST_PORT, JUNGFRAU, frame_of
from framelane.driver.simulated.ports import MESSAGE_T, target_t
from framelane.models.cells import axis
from framelane.models.detector.det_header import DetFate, DetHeader
from framelane.models.detector.det_place import Target
from framelane.models.detector.det_send import Write
from framelane.models.detector.detector_core import DetectorCore
from framelane.models.detector.detector_packets import DetectorPackets, Interfaces, Module, Packet, Port
from framelane.models.placement.slots import FREE_RUNNING
from receive_bench import LOCAL, count_pulses, line

MODULES, PACKETS, BYTES = 3, 16, 512
SMALL: DetectorPackets = JUNGFRAU.model_copy(
    update={
        "module": Module(rows=PACKETS, columns=BYTES // 2),
        "packet": (Packet(pixels=BYTES // 2),),
        "interfaces": (Interfaces(port=(Port(),)),),
    }
)
"""A JUNGFRAU of 16 rows, in packets of one."""
PARAMETERS: dict[str, Any] = {"PacketBytes": BYTES, "Packets": PACKETS, "Modules": MODULES}
IMAGE = MODULES * PACKETS * BYTES
# A leap of the numbers is no way round the ring: without credit a frame would be overwritten before its end.
TARGET = Target(
    **{"base": 0x7F00_0000_0000, "slot_bytes": 0x7000, "slots_log2": 13, "first": 1, "mask_offset": IMAGE},
    **{"trailer_offset": 0x7000 - 64 * MODULES, "first_source": 4, "qp": 2, "reach": 1000},
)
NEVER = 0xFFFF
LATENCY = 30
"""Cycles from a burst of constants to its first beat, at most, beside those that it has anyway."""


class DetectorBench(Bench):
    """The side of the line: frames of detectors, what the core is told, and its model.

    Built with `Correct`, the core corrects with random constants, for which their memory takes its time.
    """

    def __init__(
        self, dut: Any, stalls: Stalls = Stalls.NONE, header: DetHeader | None = None, target: Target = TARGET
    ) -> None:
        super().__init__(dut, stalls)
        self.line, self.width = line(self, stalls), len(dut.s_axis_tdata)
        self.header, self.target = header or DetHeader(SMALL, MODULES), target
        dut.target_i.value = target_t(target)
        dut.local_mac_i.value, dut.local_ip_i.value = LOCAL.mac, LOCAL.ip
        dut.first_port_i.value, dut.two_ports_i.value = FIRST_PORT, self.header.interfaces - 1
        dut.modules_i.value, dut.armed_i.value = self.header.modules, 1
        dut.window_end_i.value, dut.timeout_i.value = FREE_RUNNING, NEVER
        dut.tick_i.value = dut.flush_i.value = 0
        self.pulses = count_pulses(self, dut.fates_o)
        self.correct = None
        if hasattr(dut, "Correct") and int(dut.Correct.value):
            self.correct = any_correction(self, self.header)
            self.constants = constants_of(self, self.correct, self.width, stalls=False)
            self.constants.latency = lambda: self.random.randrange(LATENCY)
            dut.correction_i.value = settings(self.correct)
        self.begin()

    def begin(self) -> None:
        """As after a reset."""
        self.model = DetectorCore(self.header, self.target, LOCAL, FIRST_PORT, self.correct)
        self.expected: list[Write] = []
        self.pulses.clear()

    def packet(self, frame: int, packet: int, module: int = 0, **others: int) -> bytes:
        """A packet of the detector as an Ethernet frame, with any pixels."""
        numbers = {"frame_number": frame, "packet_number": packet, "module_id": module, "timestamp": frame}
        payload = self.header.of.written(numbers | others) + self.random.randbytes(self.header.packet_bytes)
        return frame_of(payload, module)

    def send(self, frame: bytes, bad: bool = False) -> None:
        self.line.send(frame, self.width, tuser=0)
        self.line.items[-1]["tuser"] = int(bad)
        self.expected += self.model.take(frame, bad)

    def fates(self) -> Counter[DetFate]:
        return Counter({DetFate(k): n for k, n in self.pulses.items()})


class CoreBench(DetectorBench):
    """detector_core with sinks for its messages and their payload."""

    def __init__(self, dut: Any, stalls: Stalls = Stalls.NONE, header: DetHeader | None = None) -> None:
        super().__init__(dut, stalls, header)
        self.messages, self.payload = self.sink("m_axis_msg"), self.sink("m_axis_payload")

    def writes(self) -> list[Write]:
        """What came out, each message with its payload."""
        return writes_of(self.messages.items, self.payload.items, self.width)

    async def settle(self) -> None:
        """Run until all that was sent has come out."""
        await self.until(lambda: not self.line.items, 5_000_000)
        quiet, seen = 0, -1
        while quiet < 60:
            await self.step()
            quiet = quiet + 1 if len(self.payload.items) == seen else 0
            seen = len(self.payload.items)

    async def check(self) -> None:
        """All that came out is what the model says."""
        await self.settle()
        assert self.writes() == self.expected
        assert self.fates() == self.model.fates


def writes_of(messages: list[dict[str, int]], payload: list[dict[str, int]], width: int) -> list[Write]:
    """Messages with the payload that came for them."""
    beats, found = iter(payload), []
    for item in messages:
        message = MESSAGE_T.unpack(item["tdata"])
        taken = [next(beats)]
        while not taken[-1]["tlast"]:
            taken.append(next(beats))
        (data,) = axis.packets((axis.Beat(i["tdata"], i["tkeep"], bool(i["tlast"])) for i in taken), width)
        bad = bool(taken[-1]["tuser"])
        assert message["qp"] == TARGET.qp
        assert bad or message["length"] == len(data)
        imm = message["imm"] if message["imm_valid"] else None
        found.append(Write(message["address"], data[: len(data) // 2 * 2], imm, bad))
    assert next(beats, None) is None
    return found


def memory_of(writes: list[Write]) -> dict[int, bytes]:
    """What lies at each address that was written to whole, in the end: holes are nothing."""
    memory: dict[int, bytes] = {}
    for write in writes:
        if not write.bad:
            memory[write.address] = write.payload
    return {address: data for address, data in memory.items() if data != b"\0\x80" * (len(data) // 2)}
