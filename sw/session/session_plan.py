"""What a receiver wants of an acquisition, before a NIC has given it a QP and a region: the session's greater part."""

import secrets
from ipaddress import IPv4Address
from typing import Annotated, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from framelane.base.errors import ConfigError
from framelane.models.placement.slots import SLOT_ALIGN, SlotLayout
from framelane.models.roce_tx import wire


def _dotted(value: object) -> object:
    """Neither a number nor true is an address, though either can be taken for one."""
    if isinstance(value, str | IPv4Address):
        return value
    raise PydanticCustomError("ip_v4_address", "no text")


Ip = Annotated[IPv4Address, BeforeValidator(_dotted)]
Mac = Annotated[str, Field(pattern=r"^[0-9a-f]{2}(:[0-9a-f]{2}){5}$")]
U8 = Annotated[int, Field(strict=True, ge=0, lt=1 << 8)]
U16 = Annotated[int, Field(strict=True, ge=0, lt=1 << 16)]
U24 = Annotated[int, Field(strict=True, ge=0, lt=1 << 24)]
U32 = Annotated[int, Field(strict=True, ge=0, lt=1 << 32)]
U64 = Annotated[int, Field(strict=True, ge=0, lt=1 << 64)]
Positive = Annotated[int, Field(strict=True, gt=0, lt=1 << 31)]


class Node(BaseModel):
    """MAC and IPv4 address of one end, as text."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    mac: Mac
    ip: Ip

    def endpoint(self) -> wire.Endpoint:
        """The same as integers in network order."""
        return wire.Endpoint(int(self.mac.replace(":", ""), 16), int(self.ip))

    @classmethod
    def of(cls, endpoint: wire.Endpoint) -> Self:
        """Invert `endpoint`."""
        return cls(mac=endpoint.mac.to_bytes(6, "big").hex(":"), ip=IPv4Address(endpoint.ip))


class SessionPlan(BaseModel):
    """The fields of a `Session` that its receiver chooses.

    `source` sends to `receiver`, over `service`, with `segmentation` and path `mtu` (bytes), from UDP port `src_port`;
    acknowledgements of RC go to its QP number `source_qpn`. The ring has `n_slots` slots of `slot_bytes` (0: what a
    frame needs), shared by `sources`. `rows` and `columns` are the image's pixels of 16 bits: `raw` words of the
    detector, or values that the source has `corrected` (int16 with the codes of `jf_correct.PixelCode`), in `unit`
    with so many `fraction_bits`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    service: Literal["UC", "RC"] = "UC"
    segmentation: Literal["only", "message"] = "only"
    source: Node
    receiver: Node
    src_port: U16 = 0xC000
    source_qpn: U24 = 2
    mtu: Annotated[int, Field(strict=True)] = 4096
    n_slots: Positive
    slot_bytes: Annotated[int, Field(ge=0, lt=1 << 31)] = 0
    sources: Annotated[int, Field(strict=True, ge=1, le=256)] = 1
    rows: Positive
    columns: Positive
    pixels: Literal["raw", "corrected"] = "raw"
    unit: Literal["photons", "keV"] = "photons"
    fraction_bits: Annotated[int, Field(strict=True, ge=0, le=15)] = 0

    @model_validator(mode="after")
    def _check_plan(self) -> Self:
        if self.pixels == "raw" and (self.unit != "photons" or self.fraction_bits):
            raise ValueError("unit and fraction_bits are of corrected pixels: say pixels: corrected, or leave them out")
        if self.mtu not in wire.MTUS:
            raise ValueError(f"mtu: {self.mtu} is impossible: choose one of {', '.join(map(str, wire.MTUS))}")
        try:
            _ = self.layout
        except ConfigError as error:
            raise ValueError(f"slot_bytes: {error}") from None
        return self

    @property
    def image_bytes(self) -> int:
        """Bytes of one image: 2 a pixel."""
        return self.rows * self.columns * 2

    @property
    def layout(self) -> SlotLayout:
        """The ring's geometry."""
        slot_bytes = self.slot_bytes or SlotLayout.needed(self.image_bytes, self.sources)
        return SlotLayout(self.n_slots, slot_bytes, self.image_bytes, self.sources)


def random_base(ring_bytes: int) -> int:
    """A virtual address for such a ring that nobody can guess: whole pages in 64 bits, with the whole ring below 2^63.

    On the wire the address is part of what keeps foreign packets out (ReDMArk, USENIX Security 2021).
    """
    pages = ((1 << 63) - ring_bytes) // SLOT_ALIGN
    return (1 + secrets.randbelow(pages - 1)) * SLOT_ALIGN
