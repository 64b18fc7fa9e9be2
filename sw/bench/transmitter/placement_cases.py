"""Placement in clock cycles: plans through the Verilated descriptor generator, and through the whole transmitter."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from framelane.driver.simulated.verilated import TxSimulator
from framelane.driver.simulated.verilated_bd_gen import BdGenSimulator
from framelane.models.cells import axis
from framelane.models.placement.flow import Destination, Flow, FrameEvent
from framelane.models.roce_tx.roce_qp import QpContext, Segmentation
from framelane.models.roce_tx.wire import Endpoint
from framelane.models.tx import TxConfig

LOCAL, PEER = Endpoint(0x020000000001, 0x0A000001), Endpoint(0x020000000002, 0x0A000002)
ROWS, COLUMNS = 512, 1024
"""One JUNGFRAU module, pixels of 16 bits: a line has 2048 bytes."""

FRAME_BYTES = ROWS * COLUMNS * 2
WIDE_PITCH = 4 * COLUMNS
"""Bytes of a line of an image two modules wide, in which no two lines of one module touch."""

BUS = 512
"""Bits a clock of the whole transmitter."""

RINGS = (Destination(qp=0, base=0x7F00_0000_0000, slot_bytes=1 << 24, n_slots=3, trailer_offset=(1 << 24) - 64),) * 3
WHOLE = Flow(
    source=0,
    first_destination=0,
    width=COLUMNS,
    height=ROWS,
    source_pitch=2 * COLUMNS,
    destination_pitch=2 * COLUMNS,
)
PITCHED = replace(WHOLE, destination_pitch=WIDE_PITCH)


@dataclass(frozen=True, slots=True)
class Plan:
    """One flow for the generator, by what it is called, and the number of the first of its frames."""

    name: str
    flow: Flow
    first: int = 0

    def events(self, frames: int) -> list[FrameEvent]:
        """That many frames in a row."""
        return [FrameEvent(self.first + n, 0, 0, n % 64 * FRAME_BYTES) for n in range(frames)]


FRAMES_MERGED = Plan("whole frames", WHOLE)
FRAMES_SPLIT = Plan("whole frames, 4096 bytes a descriptor", replace(WHOLE, max_length=4096))
FRAMES_ROUND = Plan(
    "whole frames by turns, number above 2^63",
    replace(WHOLE, period=10, burst=10, bunch=3, destinations=3),
    first=1 << 63,
)
"""Every step of the placement takes its longest: a period, bunches and rounds, and no leading zeros in the number."""


def region(width: int, height: int) -> Plan:
    """A rectangle of each frame in an image two modules wide: a descriptor a row."""
    return Plan("ROI, a descriptor a row", replace(PITCHED, width=width, height=height))


def contiguous(width: int) -> Plan:
    """Whole frames of `width` pixels a row, without gaps on both sides: one descriptor."""
    pitch = 2 * width
    return Plan("ROI, rows merged", replace(WHOLE, width=width, source_pitch=pitch, destination_pitch=pitch))


def plans(widths: Sequence[int]) -> list[Plan]:
    """Whole frames, and ROIs of every width."""
    found = [FRAMES_MERGED, FRAMES_SPLIT, FRAMES_ROUND]
    for height in (64, ROWS):
        found += [region(width, height) for width in widths]
    return found + [contiguous(width) for width in widths]


def descriptor_row(simulator: BdGenSimulator, plan: Plan, frames: int) -> dict[str, Any]:
    """Descriptors per clock, sink always ready, of `frames` frames offered at once, which give equally many.

    `inside` a frame, from its first descriptor to its trailer's, the lowest seen; `over` all frames, from the first
    descriptor to the last; `cycles` is that time.
    """
    placement = simulator.run([plan.flow], RINGS, plan.events(frames))
    cycles = placement.cycles.astype(np.int64).reshape(frames, -1)
    each = cycles.shape[1]
    elapsed = int(cycles[-1, -1] - cycles[0, 0]) + 1
    return {
        "block": "bd_gen",
        "case": plan.name,
        "width": plan.flow.width,
        "height": plan.flow.height,
        "frames": frames,
        "descriptors": each,
        "cycles": elapsed,
        "inside": each / int((cycles[:, -1] - cycles[:, 0]).max() + 1),
        "over": cycles.size / elapsed,
    }


@dataclass(frozen=True, slots=True)
class Traffic:
    """One flow for the whole transmitter, by what it is called; `promised` efficiency, if any."""

    name: str
    flow: Flow
    promised: bool = False


UNALIGNED = 62
"""Bytes from the start of a beat to the first pixel: the shortest rows lie in two beats."""

JUNGFRAU_ROWS = Traffic("JUNGFRAU rows, 2048 bytes", PITCHED, promised=True)
FULL_PACKETS = Traffic("packets of 4096 bytes", WHOLE, promised=True)


def small(width: int, offset: int = 0) -> Traffic:
    """Rows of an ROI, each a packet of its own, `offset` bytes behind the start of a beat."""
    name = f"rows of {2 * width} bytes{', unaligned' if offset else ''}"
    return Traffic(name, replace(PITCHED, width=width, source_offset=offset))


TRAFFIC = (
    JUNGFRAU_ROWS,
    FULL_PACKETS,
    *(small(width, offset) for offset in (0, UNALIGNED) for width in (16, 64, 128, 256)),
    small(COLUMNS, UNALIGNED),
)


def efficiency_row(traffic: Traffic, segmentation: Segmentation, latency: int, frames: int) -> dict[str, Any]:
    """Beats of the packets of `frames` frames over the cycles they take, from the first frame's offer to the last beat.

    All are offered at once; the memory answers after `latency` cycles.
    """
    qp = QpContext(PEER, dest_qpn=0x11, rkey=0x1234, segmentation=segmentation)
    config = TxConfig(LOCAL, (qp,), RINGS[:1], (traffic.flow,))
    with TxSimulator(config, BUS, latency=latency) as simulator:
        simulator.write_memory(0, np.zeros(frames * FRAME_BYTES + UNALIGNED, np.uint8))
        for n in range(frames):
            simulator.offer(FrameEvent(n, 0, 0, n * FRAME_BYTES))
        packets = simulator.run()
        ideal = sum(axis.n_beats(len(packet), BUS) for packet in packets)
        return {
            "block": "tx",
            "case": traffic.name,
            "width": traffic.flow.width,
            "height": traffic.flow.height,
            "frames": frames,
            "segmentation": segmentation.name.lower(),
            "latency": latency,
            "packets": len(packets),
            "ideal_beats": ideal,
            "cycles": simulator.cycles,
            "efficiency": ideal / simulator.cycles,
        }
