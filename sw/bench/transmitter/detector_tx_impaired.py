"""A JUNGFRAU's packets as a bad network brings them to `detector_tx`, and what its WRITEs make of a memory."""

import random
import struct
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple

import numpy as np

from framelane.base.errors import SimulationError
from framelane.driver.simulated.verilated_detector import DetectorSimulator
from framelane.models.cells.axis import n_beats
from framelane.models.detector.det_correct import DetCorrect
from framelane.models.detector.det_header import DetFate, DetHeader
from framelane.models.detector.det_place import Target
from framelane.models.detector.det_send import MASK_BYTES, Write
from framelane.models.detector.detector_core import DetectorCore
from framelane.models.jungfrau import jf_constants
from framelane.models.jungfrau.jf_fixed import FixedCalibration
from framelane.models.placement.slots import FREE_RUNNING, HOLE_WORD, SlotLayout
from framelane.models.roce_tx import roce_icrc, wire
from framelane.models.roce_tx.roce_qp import QpContext
from framelane.packets.detector_file import JUNGFRAU, shipped

MODULES, WIDTH, FIRST_PORT = 2, 512, 50001
HEADER = DetHeader(shipped(JUNGFRAU), MODULES)
LOCAL, PEER = wire.Endpoint(0x02_00_00_00_00_01, 0x0A000001), wire.Endpoint(0x02_00_00_00_00_02, 0x0A000002)
QP = QpContext(dst=PEER, dest_qpn=0x123, rkey=0xCAFE, psn=7, mtu=4096, src_port=0xC000)
IMAGE_BYTES = MODULES * HEADER.packets * HEADER.packet_bytes
_LAYOUT = SlotLayout(1 << 16, SlotLayout.needed(IMAGE_BYTES, MODULES), IMAGE_BYTES, MODULES)
TARGET = Target(
    base=0x7F00_0000_0000,
    slot_bytes=_LAYOUT.slot_bytes,
    slots_log2=16,
    first=1,
    mask_offset=IMAGE_BYTES,
    trailer_offset=_LAYOUT.trailer_offset(0),
)
"""With more slots than frames, so that no address is of two."""
FRAME_BYTES = wire.ETH_BYTES + wire.IP_BYTES + wire.UDP_BYTES + HEADER.of.header.bytes + HEADER.packet_bytes
BEATS = n_beats(FRAME_BYTES, WIDTH)
"""A packet of the detector has so many."""
LINE_GAP = 36
"""Cycles of 4 ns between the detector's packets: as many as 100 Gb/s allow, rounded down."""
_CONSTANTS = (5 << 32) - 2 * 4096
"""Where they lie: the first plane crosses a boundary of 4 GiB."""
_IP_UDP = struct.Struct("!BBHHHBBH4s4sHHHH")
_BTH_AT = wire.ETH_BYTES + wire.IP_BYTES + wire.UDP_BYTES
_RETH = struct.Struct("!QII")
_HOLES = HOLE_WORD.to_bytes(2, "little") * (QP.mtu // 2)


@cache
def correction() -> DetCorrect:
    """Random constants; some are masked in a stage."""
    rng = np.random.default_rng(1)
    shape = 3, HEADER.modules * HEADER.of.module.rows, HEADER.of.module.columns
    pedestal, mantissa = (rng.integers(0, 0x10000, shape, np.uint16) for _ in range(2))
    mantissa[rng.random(shape) < 0.05] = 0
    fixed = FixedCalibration(pedestal, mantissa, (17, 25, 14))
    return DetCorrect(HEADER, fixed, _CONSTANTS, jf_constants.needed_pitch(pedestal[0].nbytes))


def simulated(memory: int | None) -> DetectorSimulator:
    """The FPGA; it corrects where its memory of constants answers, after so many cycles."""
    made = HEADER, TARGET, LOCAL, FIRST_PORT, QP, WIDTH
    if memory is None:
        return DetectorSimulator(*made)
    return DetectorSimulator(*made, correct=correction(), memory_cycles=memory)


class Came(NamedTuple):
    """A frame on the line without FCS; `bad`: its FCS is wrong."""

    frame: bytes
    bad: bool = False


def on_the_line(payload: bytes, stream: int, dst: wire.Endpoint = LOCAL) -> bytes:
    """The Ethernet frame of a UDP payload to the station, or to another."""
    length = 8 + len(payload)
    ends = b"\x0a\0\0\x09", dst.ip.to_bytes(4, "big")
    head = dst.mac.to_bytes(6, "big") + b"\2\0\0\0\0\x09\x08\0"
    ip_udp = _IP_UDP.pack(0x45, 0, 20 + length, 0, 0, 64, 17, 0, *ends, 4321, FIRST_PORT + stream, length, 0)
    return head + ip_udp + payload


def packet(number: int, index: int, module: int, words: bytes, **others: int) -> bytes:
    """Packet `index` of a module's frame, as its UDP payload."""
    numbers = {"frame_number": number, "packet_number": index, "module_id": module, "timestamp": number}
    return HEADER.of.written(numbers | others) + words


def impaired(packets: int, rng: random.Random) -> Iterator[tuple[int, list[Came]]]:
    """So many packets of a detector, and what else comes: a frame's number, and what comes with it.

    Some are lost, come twice, later by up to a frame, cut, with a wrong FCS, or are none of this detector's. Frames are
    skipped, old ones come again.
    """
    number, sent = 0, 0
    waiting: list[list[tuple[float, Came]]] = [[], []]
    while sent < packets:
        number += rng.choices((1, 2, 3, 50), (90, 5, 3, 2))[0]
        now, later = waiting
        for index in range(HEADER.packets):
            for module in range(MODULES):
                sent += 1
                if rng.random() < 0.02:
                    continue
                came = _one(number, index, module, rng)
                late = rng.random() < 0.1
                turn, where = (later, rng.randrange(HEADER.packets)) if late else (now, index + rng.randrange(40))
                turn.append((where, came))
                if rng.random() < 0.03:
                    rng.choice(waiting).append((rng.randrange(HEADER.packets), _again(came, rng)))
        if rng.random() < 0.1:
            old = max(1, number - rng.randrange(1, 4))
            now += [(rng.randrange(HEADER.packets), _one(old, index, 0, rng)) for index in range(10)]
        yield number, [came for _, came in sorted(now, key=lambda each: each[0])]
        waiting = [later, []]
    yield number, [came for _, came in waiting[0]]


def _one(number: int, index: int, module: int, rng: random.Random) -> Came:
    words = rng.randbytes(HEADER.packet_bytes)
    kind = rng.random()
    own = packet(number, index, module, words)
    if kind < 0.95:
        came = Came(on_the_line(own, module))
        return came if kind < 0.93 else _again(came, rng)
    others = (
        (own[:-2], module, LOCAL),
        (own + b"12", module, LOCAL),
        (rng.randbytes(rng.randrange(60)), module, LOCAL),
        (own[:47] + b"\xff" + own[48:], module, LOCAL),
        (packet(number, HEADER.packets + index, module, words), module, LOCAL),
        (packet(number, index, module + 7, words), module, LOCAL),
        (packet(number + 1_000_000, index, module, words), module, LOCAL),
        (own, MODULES + module, LOCAL),
        (own, module, PEER),
    )
    return Came(on_the_line(*rng.choice(others)))


def _again(came: Came, rng: random.Random) -> Came:
    """The same once more: whole, with more behind it, cut, or with a wrong FCS."""
    if len(came.frame) < FRAME_BYTES or rng.random() < 0.5:
        return came
    kind = rng.randrange(3)
    if kind == 0:
        return Came(came.frame + b"12")
    end = rng.randrange(_BTH_AT, FRAME_BYTES) if kind == 1 else FRAME_BYTES
    return Came(came.frame[:end], True)


@dataclass(slots=True)
class Memory:
    """What lies at each address of a WRITE, by its checksum, and what the masks say of each module's frame."""

    sums: dict[int, int] = field(default_factory=dict)
    masks: dict[int, int] = field(default_factory=dict)
    """By the address of the module's frame."""
    most: int = 0
    """How often pixels were written to one address, at most, without holes between."""
    refused: int = 0
    """Packets with a wrong ICRC."""
    _pixels: Counter[int] = field(default_factory=Counter)

    def put(self, address: int, data: bytes) -> None:
        """Place a WRITE of up to an MTU."""
        slot, offset = divmod(address - TARGET.base, TARGET.slot_bytes)
        self.sums[address] = zlib.crc32(data)
        if offset < IMAGE_BYTES:
            self._pixels[address] = 0 if data == _HOLES else self._pixels[address] + 1
            self.most = max(self.most, self._pixels[address])
        elif offset < TARGET.mask_offset + MODULES * MASK_BYTES:
            module = (offset - TARGET.mask_offset) // MASK_BYTES
            at = TARGET.base + slot * TARGET.slot_bytes + module * HEADER.packets * HEADER.packet_bytes
            self.masks[at] = int.from_bytes(data[32:], "little")

    def put_writes(self, writes: Iterable[Write]) -> None:
        """Place what the model writes. Of one that is bad nothing stays: holes go there next."""
        for write in writes:
            for at in range(0, 0 if write.bad else len(write.payload), QP.mtu):
                self.put(write.address + at, write.payload[at : at + QP.mtu])

    def put_packets(self, frames: Iterable[bytes]) -> None:
        """Place the WRITE ONLY packets from the wire whose ICRC is right."""
        for frame in frames:
            if not roce_icrc.check(frame):
                self.refused += 1
                continue
            with_imm, pad = frame[_BTH_AT] & 1, frame[_BTH_AT + 1] >> 4 & 3
            address, _, length = _RETH.unpack_from(frame, _BTH_AT + 12)
            start = _BTH_AT + 12 + _RETH.size + 4 * with_imm
            data = frame[start : len(frame) - wire.ICRC_BYTES - pad]
            if len(data) != length:
                raise SimulationError(f"a WRITE of {length} bytes brings {len(data)}")
            self.put(address, data)

    def wrong_masks(self) -> int:
        """Masks that do not say of which packets there are pixels."""
        return sum(mask != self._placed(at) for at, mask in self.masks.items())

    def _placed(self, at: int) -> int:
        places = range(at, at + HEADER.packets * HEADER.packet_bytes, HEADER.packet_bytes)
        return sum((self._pixels[place] > 0) << index for index, place in enumerate(places))


@dataclass(frozen=True, slots=True)
class ImpairedRun:
    """What came of it: `sent` frames on the line; whether the memory is that of the model; the fates of both."""

    sent: int
    memory: Memory
    expected: Memory
    fates: Counter[DetFate]
    expected_fates: Counter[DetFate]


def run_impaired(packets: int, seed: int, gap: int = LINE_GAP, memory: int | None = None) -> ImpairedRun:
    """Send so many impaired packets through the gateware and into its model; for `memory` see `simulated`."""
    rng, sent = random.Random(seed), 0
    model = DetectorCore(HEADER, TARGET, LOCAL, FIRST_PORT, None if memory is None else correction())
    written, expected = Memory(), Memory()
    with simulated(memory) as fpga:
        for last, frames in impaired(packets, rng):
            behind = max(0, last - 1 - rng.randrange(2))
            model.place.window_end = behind if rng.random() < 0.1 else FREE_RUNNING
            fpga.credit(model.place.window_end)
            for came in frames:
                fpga.receive(came.frame, bad=came.bad, gap=gap)
                expected.put_writes(model.take(*came))
            done = fpga.run()
            written.put_packets(done.packets)
            sent += len(frames)
        expected.put_writes(model.flush())
        written.put_packets(fpga.flush().packets)
        fates = fpga.fates()
    return ImpairedRun(sent, written, expected, fates, model.fates)
