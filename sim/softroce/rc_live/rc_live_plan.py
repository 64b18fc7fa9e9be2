"""RC live: which queue pairs, which frames over them, and with which impairments. Guest and host share it."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from framelane.models.placement.flow import FrameEvent
from framelane.models.placement.slots import HOLE_WORD
from framelane.models.placement.trailer import Trailer
from framelane.models.rc.lossy_network import LinkImpairments
from framelane.models.rc.rc_protocol import RcLimits
from framelane.models.station.roce_rx import FIRST_QPN
from framelane.session.session_plan import SessionPlan
from rdma_link import RdmaLink

ROWS, COLUMNS = 33, 101
"""6,666 bytes: the last packet of an image is padded."""
LIMITS = RcLimits(window=16, timeout=0, backoff=1, retries=5, rnr_retries=7)
"""Time-outs of 4 us, 1,024 clocks of the simulation, and of 8 us from the second on."""
DELAY = 150
"""Clocks that a packet takes in each direction."""
LOSSY = LinkImpairments(loss=0.05, duplicate=0.03, corrupt=0.02, delay=DELAY)
LOSSLESS = LinkImpairments(delay=DELAY)
IN_FLIGHT = 5
"""Frames that are offered and still held."""
RECEIVES = 8
"""Trailers that a receiver can take without looking."""
NOT_READY = 3


@dataclass(frozen=True, slots=True)
class Service:
    """One queue pair: its name, how it makes packets, its first PSN."""

    name: str
    segmentation: Literal["only", "message"]
    mtu: int
    psn: int


SERVICES = (
    Service("only", "only", 1024, 0xFFFFE0),
    Service("message", "message", 1024, 0xFFFFC0),
    Service("mortal", "only", 2048, 0x123456),
)
"""In the order of the queue pairs in the transmitter's table. The PSNs of two of them wrap around."""
MORTAL = len(SERVICES) - 1
"""The one whose receiver dies."""
REBORN_PSN = 0xABCDEF


@dataclass(frozen=True, slots=True)
class Phase:
    """So many frames over a link with these impairments.

    What happens before. `sleeps`: the receivers do not look for completions, until each was not ready NOT_READY times.
    `dies`: the mortal one's queue pair is destroyed. `reborn`: a new one is opened, and told to the transmitter.
    `lies`: the transmitter is told a wrong rkey for it.
    """

    name: str
    frames: int
    impairments: LinkImpairments = LOSSLESS
    happens: Literal["", "sleeps", "dies", "reborn", "lies"] = ""


PHASES = (
    Phase("lossless", 4),
    Phase("lossy", 20, LOSSY),
    Phase("not ready", 12, happens="sleeps"),
    Phase("dead", 8, happens="dies"),
    Phase("reborn", 8, LOSSY, happens="reborn"),
    Phase("wrong rkey", 4, happens="lies"),
    Phase("reborn again", 4, happens="reborn"),
)
FRAMES = sum(phase.frames for phase in PHASES)
PHASES_FILE = "phases.json"
"""What the guest has counted."""
FATAL = ("dies", "lies")
"""In these phases nothing reaches the mortal one."""


def numbers(phase: Phase) -> range:
    """The frames of a phase."""
    first = sum(each.frames for each in PHASES[: PHASES.index(phase)])
    return range(first, first + phase.frames)


def packets(mtu: int) -> int:
    """Packets of a frame: those of the image, and the trailer's."""
    return -(-2 * ROWS * COLUMNS // mtu) + 1


def ring_file(name: str, life: int) -> str:
    """The memory of a service's ring at the end; it has another one in each of its lives."""
    return f"{name}_{life}.ring"


def plan_of(index: int, link: RdmaLink) -> SessionPlan:
    """The session of service `index`, whose ring holds all frames."""
    service = SERVICES[index]
    return SessionPlan(
        service="RC",
        segmentation=service.segmentation,
        source=link.source_node,
        receiver=link.receiver_node,
        source_qpn=FIRST_QPN + index,
        mtu=service.mtu,
        n_slots=FRAMES,
        rows=ROWS,
        columns=COLUMNS,
    )


def image(number: int) -> NDArray[np.uint16]:
    """The pixels of a frame; none is a hole."""
    return np.random.default_rng(number).integers(0, HOLE_WORD, (ROWS, COLUMNS), np.uint16)


def event(number: int, address: int = 0) -> FrameEvent:
    """The frame as it is offered."""
    return FrameEvent(number, 1_000_000 + 977 * number, 31 * number, address, kind_index=number)


def slot(plan: SessionPlan, number: int, frames_dropped: int) -> bytes:
    """The whole slot of a frame that has arrived: image, holes, trailer."""
    layout, frame = plan.layout, event(number)
    content = np.full(layout.slot_bytes // 2, HOLE_WORD, np.uint16).tobytes()
    trailer = Trailer(
        source=0,
        slot=layout.slot(number),
        frame_number=number,
        timestamp_ns=frame.timestamp_ns,
        bunch_id=frame.bunch_id,
        payload_bytes=layout.image_bytes,
        packets=packets(plan.mtu) - 1,
        frames_dropped=frames_dropped,
        detector_frame=number,
    ).pack()
    at = layout.trailer_offset(0)
    pixels = image(number).tobytes()
    return pixels + content[len(pixels) : at] + trailer + content[at + len(trailer) :]
