"""Descriptors of whole frames: where every byte comes from and goes to, and which frames must be dropped."""

from dataclasses import dataclass

from framelane.models import trailer
from framelane.models.errors import ConfigError
from framelane.models.slots import FREE_RUNNING
from framelane.models.trailer import TRAILER_BYTES, Trailer


@dataclass(frozen=True, slots=True)
class Flow:
    """One stream of frames to one receiver: QP index, id of this source, bytes of an image, and the receiver's ring.

    `base` is the virtual address of slot 0; `trailer_offset` the place of this source's trailer in each slot.
    """

    qp: int
    source: int
    image_bytes: int
    base: int
    slot_bytes: int
    n_slots: int
    trailer_offset: int

    def __post_init__(self) -> None:
        widths = {
            "qp": 8, "source": 8, "image_bytes": 31, "base": 64, "slot_bytes": 32, "n_slots": 32, "trailer_offset": 32,
        }  # fmt: skip
        for name, bits in widths.items():
            value = getattr(self, name)
            if not 0 <= value < 1 << bits:
                raise ConfigError(f"flow field {name} = {value} does not fit {bits} bits: give 0..{(1 << bits) - 1}")
        if not self.image_bytes or not self.n_slots:
            raise ConfigError(
                f"a flow of {self.image_bytes} image bytes to {self.n_slots} slots is impossible: need 1 of each"
            )


@dataclass(frozen=True, slots=True)
class FrameEvent:
    """A frame that lies complete in the source's memory at `address`."""

    number: int
    timestamp_ns: int
    bunch_id: int
    address: int


@dataclass(frozen=True, slots=True)
class Descriptor:
    """`bd_t`: one transfer. `last` ends a frame: it is the trailer, which carries `imm` and is not read from memory."""

    source: int
    destination: int
    length: int
    qp: int
    last: bool
    imm: int


class BdGen:
    """`bd_gen.sv`, frame by frame.

    `mtu` is the path MTU of the flow's QP in bytes, `width` that of the memory bus in bits.
    """

    def __init__(self, flow: Flow, mtu: int, width: int = 512) -> None:
        self._flow = flow
        self._mtu = mtu
        self._lanes = width // 8
        self.frames_sent = 0
        self.frames_dropped = 0
        self.frames_refused = 0

    def frame(self, event: FrameEvent, window_end: int = FREE_RUNNING) -> tuple[list[Descriptor], Trailer | None]:
        """The descriptors of one frame and its trailer; none where the frame is dropped for want of credit or refused.

        A frame is refused when its address is not aligned to the memory bus.
        """
        flow = self._flow
        if event.address % self._lanes:
            self.frames_refused += 1
            return [], None
        if event.number >= window_end:
            self.frames_dropped += 1
            return [], None
        slot = event.number % flow.n_slots
        at = flow.base + slot * flow.slot_bytes
        end = Trailer(
            source=flow.source,
            slot=slot,
            frame_number=event.number,
            timestamp_ns=event.timestamp_ns,
            bunch_id=event.bunch_id,
            payload_bytes=flow.image_bytes,
            packets=-(-flow.image_bytes // self._mtu),
            frames_dropped=self.frames_dropped + self.frames_refused,
        )
        self.frames_sent += 1
        imm = trailer.immediate(flow.source, event.number)
        image_at, trailer_at = at & (1 << 64) - 1, at + flow.trailer_offset & (1 << 64) - 1
        image = Descriptor(event.address, image_at, flow.image_bytes, flow.qp, last=False, imm=0)
        return [image, Descriptor(0, trailer_at, TRAILER_BYTES, flow.qp, last=True, imm=imm)], end
