"""The session: what a receiver publishes for one acquisition, and all that a transmitter needs to know of it."""

from ipaddress import IPv4Address
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from framelane.models import wire
from framelane.models.errors import ConfigError, InputError
from framelane.models.flow import Destination, Flow
from framelane.models.part_file import PartFile
from framelane.models.roce_qp import QpContext, Segmentation
from framelane.models.slots import FREE_RUNNING, SlotLayout

Mac = Annotated[str, Field(pattern=r"^[0-9a-f]{2}(:[0-9a-f]{2}){5}$")]
U8 = Annotated[int, Field(ge=0, lt=1 << 8)]
U16 = Annotated[int, Field(ge=0, lt=1 << 16)]
U24 = Annotated[int, Field(ge=0, lt=1 << 24)]
U32 = Annotated[int, Field(ge=0, lt=1 << 32)]
U64 = Annotated[int, Field(ge=0, lt=1 << 64)]
Positive = Annotated[int, Field(gt=0, lt=1 << 31)]


class Node(BaseModel):
    """MAC and IPv4 address of one end, as text."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    mac: Mac
    ip: IPv4Address

    def endpoint(self) -> wire.Endpoint:
        """The same as integers in network order."""
        return wire.Endpoint(int(self.mac.replace(":", ""), 16), int(self.ip))


class Session(BaseModel):
    """One receiver's ring, as a JSON document.

    `base` is the virtual address of slot 0, `psn` the first packet's, `mtu` and `slot_bytes` in bytes; `rows` and
    `columns` are the image's pixels of 16 bits: `raw` words of the detector, or photons that the source has `corrected`
    (int16 with the codes of `jf_correct.PixelCode`); `window_end` is the credit at the time of publication (2^64 - 1:
    free-running).
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    format: Literal["framelane-session-1"] = "framelane-session-1"
    service: Literal["UC"] = "UC"
    segmentation: Literal["only", "message"] = "only"
    source: Node
    receiver: Node
    src_port: U16 = 0xC000
    qpn: U24
    psn: U24
    rkey: U32
    base: U64
    mtu: int = 4096
    n_slots: Positive
    slot_bytes: Positive
    sources: Annotated[int, Field(ge=1, le=256)] = 1
    rows: Positive
    columns: Positive
    pixels: Literal["raw", "corrected"] = "raw"
    unit: Literal["photons", "keV"] = "photons"
    fraction_bits: Annotated[int, Field(ge=0, le=15)] = 0
    window_end: U64 = FREE_RUNNING

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.pixels == "raw" and (self.unit != "photons" or self.fraction_bits):
            raise ValueError("unit and fraction_bits are of corrected pixels: say pixels: corrected, or leave them out")
        if self.mtu not in wire.MTUS:
            raise ValueError(f"mtu: {self.mtu} is impossible: choose one of {', '.join(map(str, wire.MTUS))}")
        try:
            layout = self.layout
        except ConfigError as error:
            raise ValueError(f"slot_bytes: {error}") from None
        if self.base + layout.ring_bytes > 1 << 64:
            raise ValueError(f"base: a ring of {layout.ring_bytes} bytes at {self.base:#x} passes the end of memory")
        return self

    @property
    def image_bytes(self) -> int:
        """Bytes of one image: 2 a pixel."""
        return self.rows * self.columns * 2

    @property
    def layout(self) -> SlotLayout:
        """The ring's geometry."""
        return SlotLayout(self.n_slots, self.slot_bytes, self.image_bytes, self.sources)

    def qp_context(self) -> QpContext:
        """The transmitter's QP for this session."""
        return QpContext(
            dst=self.receiver.endpoint(),
            dest_qpn=self.qpn,
            rkey=self.rkey,
            psn=self.psn,
            mtu=self.mtu,
            segmentation=Segmentation[self.segmentation.upper()],
            src_port=self.src_port,
        )

    def destination(self, source: int = 0, qp: int = 0) -> Destination:
        """The session's ring as one source's destination. ConfigError where there is no such source."""
        self._check_source(source)
        return Destination(qp, self.base, self.slot_bytes, self.n_slots, self.layout.trailer_offset(source))

    def flow(self, source: int = 0, first_destination: int = 0) -> Flow:
        """The transmitter's flow of all frames from one source, its share of the rows, which lie without gaps there.

        Raises ConfigError where there is no such source, or the rows do not part evenly.
        """
        self._check_source(source)
        if self.rows % self.sources:
            raise ConfigError(f"{self.rows} rows do not part evenly among {self.sources} sources")
        height, pitch = self.rows // self.sources, 2 * self.columns
        return Flow(
            source=source,
            first_destination=first_destination,
            width=self.columns,
            height=height,
            source_pitch=pitch,
            y1=source * height,
            destination_pitch=pitch,
        )

    def _check_source(self, source: int) -> None:
        if not 0 <= source < self.sources:
            raise ConfigError(f"source {source} is not in a session of {self.sources}: give 0..{self.sources - 1}")

    def save(self, path: Path) -> None:
        """Write the document; a reader sees the old one or the new one, never half. InputError where that fails."""
        try:
            with PartFile(path) as part:
                part.path.write_text(self.model_dump_json(indent=2) + "\n", encoding="utf-8")
        except OSError as error:
            raise InputError(f"cannot write the session {path}: {error.strerror}") from error

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read the document; InputError names the file and every field that is wrong."""
        try:
            return cls.model_validate_json(path.read_bytes())
        except OSError as error:
            raise InputError(f"cannot read the session {path}: {error.strerror}") from error
        except ValidationError as error:
            raise InputError(f"the session {path} is not usable: {_sentence(error)}") from error


def _sentence(error: ValidationError) -> str:
    return "; ".join(
        f"{'.'.join(map(str, e['loc']))}: {e['msg']}" if e["loc"] else e["msg"].removeprefix("Value error, ")
        for e in error.errors()
    )
