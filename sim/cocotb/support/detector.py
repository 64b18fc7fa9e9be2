"""The detector's side of a bench: what it says of a frame, and what a top with a frame store makes of frames."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from random import Random

import numpy as np

from framelane.models.jungfrau import jf_constants
from framelane.models.jungfrau.jf_fixed import FixedCalibration
from framelane.models.memory.frame_store import KINDS, FrameInfo, FrameStore
from framelane.models.memory.image_writer import Correction
from framelane.models.placement import trailer
from framelane.models.placement.slot_ring import SlotRing
from framelane.models.placement.slots import FREE_RUNNING
from framelane.models.registers import registers
from framelane.models.roce_tx import wire
from framelane.models.tx import TxConfig
from framelane.models.tx_stream import TxStream
from tx_registers import ARM, CONTROL, DESTINATION, FLOW, FLOWS, LOCAL_MAC, MAP, QP

CONSTANTS = 1 << 34
"""Address of the correction's constants."""


def any_info(random: Random) -> FrameInfo:
    """Anything that may be said."""
    number, timestamp_ns, bunch_id = (random.getrandbits(64) for _ in range(3))
    return FrameInfo(number, timestamp_ns, bunch_id, random.randrange(KINDS), random.getrandbits(32))


@dataclass(frozen=True)
class Frame:
    """A frame of the detector."""

    info: FrameInfo
    pixels: bytes


class StreamPlan:
    """What a top with a frame store is to do, and its golden model. Its slots have the raw image alone at first.

    `time_flags`: it passes those of frames on, as with a clock.
    """

    def __init__(self, config: TxConfig, slots: int) -> None:
        self.time_flags = False
        self.config, self.slots, self.base = config, slots, 128
        self.slot = -(-config.flows[0].payload_bytes // 128) * 128
        self.frames: list[Frame] = []
        self.correction: Correction | None = None
        self.restart()

    def restart(self) -> None:
        """As after a reset and a configuration."""
        limit = self.correction.image_bytes if self.correction else None
        store = FrameStore(SlotRing(self.base, self.slot, self.slots), limit)
        self.model = TxStream(self.config, store, self.correction)
        self.frames.clear()

    def correct(self) -> bytes:
        """From the next restart on: a second flow, of the corrected images, to a receiver of its own. The constants."""
        raw, ring, flow = self.config.qps[0], self.config.destinations[0], self.config.flows[0]
        pixels = flow.payload_bytes // 2
        words = np.random.default_rng(5).integers(0, 0x10000, (2, 3, 1, pixels), np.uint16)
        offset = -(-flow.payload_bytes // 128) * 128
        pitch = jf_constants.needed_pitch(flow.payload_bytes)
        self.correction = Correction(FixedCalibration(words[0], words[1], (17, 25, 14)), offset, CONSTANTS, pitch)
        self.slot = 2 * offset
        self.config = replace(
            self.config,
            qps=(raw, replace(raw, dest_qpn=0x22, rkey=0xF00D)),
            destinations=(ring, replace(ring, qp=1, base=ring.base + (1 << 40))),
            flows=(flow, replace(flow, first_destination=1, source_offset=offset)),
        )
        return jf_constants.pack(self.correction.fixed, pitch)

    def writes(self) -> Iterator[tuple[int, int]]:
        """Offsets and words of all registers of the plan, in their order; the last one arms."""
        config = self.config
        yield from _words(LOCAL_MAC, config.local.mac & 0xFFFFFFFF, config.local.mac >> 32, config.local.ip)
        yield from _words(MAP["store_base"].offset, self.base & 0xFFFFFFFF, self.base >> 32)
        yield from _words(MAP["store_slot_bytes"].offset, self.slot, self.slots)
        yield from _words(MAP["correction"].offset, *self._correction_words())
        for index in range(FLOWS):
            there = index < len(config.flows)
            yield from _words(FLOW + 0x40 * index, *(registers.flow_words(config.flows[index]) if there else (0,)))
        for index, qp in enumerate(config.qps):
            control, *others = registers.qp_words(qp)
            yield from _words(QP + 0x40 * index + 4, *others)
            yield QP + 0x40 * index, control
        for index, destination in enumerate(config.destinations):
            yield from _words(DESTINATION + 0x20 * index, *registers.destination_words(destination, FREE_RUNNING))
        yield CONTROL, ARM

    def _correction_words(self) -> list[int]:
        """The registers of the correction, from `correction` on."""
        correction = self.correction
        if correction is None:
            return [0]
        shift = sum(bits << 8 * (stage + 1) for stage, bits in enumerate(correction.fixed.shift))
        base = (correction.base & 0xFFFFFFFF, correction.base >> 32)
        return [0b101 | shift, correction.offset, *base, correction.pitch, correction.image_bytes]

    def next_frame(self, random: Random) -> Frame:
        """The detector's next frame, of any pixels."""
        info = replace(any_info(random), number=len(self.frames))
        self.frames.append(Frame(info, random.randbytes(self.config.flows[0].payload_bytes)))
        return self.frames[-1]

    def sent(self, packets: list[bytes]) -> set[int]:
        """The detector's numbers of the frames that left, by their trailers."""
        ends = [payload for headers, payload in map(wire.parse, packets) if headers.imm is not None]
        found = [trailer.unpack(end) for end in ends]
        assert None not in found
        return {end.detector_frame for end in found if end}

    def told(self, info: FrameInfo) -> FrameInfo:
        """What of it goes on: without a clock no `time_flags`."""
        return info if self.time_flags else replace(info, time_flags=0)

    def expected(self, sent: set[int]) -> list[bytes]:
        return [
            packet
            for frame in self.frames
            for packet in self.model.frame(self.told(frame.info), frame.pixels, late=frame.info.number not in sent)
        ]


def _words(offset: int, *words: int) -> Iterator[tuple[int, int]]:
    return ((offset + 4 * k, word) for k, word in enumerate(words))
