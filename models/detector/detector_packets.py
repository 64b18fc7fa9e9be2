"""The description of a detector's UDP packets: where a header has its numbers, and which pixels a packet brings.

A packet is a header of a fixed size, then pixels of 16 bits. It belongs to a module by its UDP port or by a number in
its header, and its packet number tells which pixels of the port's share of the module it has: packet n has the pixels
from n times its pixels on, row by row. docs/detectors/packets.md is the page for whoever writes one.

Names are those that a gateware's parameters have: an offset and a width in bytes for each field, sizes in pixels.
"""

import itertools
import math
import re
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from framelane.base.errors import ConfigError

ByteOrder = Literal["little", "big"]
Guard = Literal["gain_code", "hole_word"]

MOST_UDP_BYTES = 65507
"""Largest UDP payload over IPv4."""
MOST_HEADER_BYTES = 1024
MOST_PIXELS = 1 << 24
"""Most pixels of a module."""
MOST_PACKETS = 1 << 16
"""Most packets of a module's frame."""
MOST_SIZES = 4
MOST_NAME = 60
MOST_CONSTANTS = MOST_IDENTITY = 4
MOST_IDENTITY_BYTES = 8
FEWEST_FRAME_BYTES = 2
"""Shortest frame number, in bytes: one byte would wrap around while its frame is under way."""
PIXEL_BYTES = 2

RESERVED = frozenset({"placed", "port", "size", "packet", "module", "late", "number", "duplicate", "slot"})
"""Other reasons for which a packet is refused: no constant has such a name."""

_MOST = (1 << 64) - 1
_Count = Annotated[int, Field(ge=1, le=MOST_PIXELS)]
_Place = Annotated[int, Field(ge=0, le=MOST_PIXELS)]
_Number = Annotated[int, Field(ge=0, le=_MOST)]
_NAME = re.compile("[a-z][a-z0-9_]{0,31}")


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class HeaderField(_Table):
    """A whole number in the header, unsigned."""

    offset: _Place
    """Offset of its first byte in the UDP payload."""
    width: Annotated[int, Field(ge=1, le=8)]
    """Bytes."""
    byte_order: ByteOrder | None = None
    """None: that of the description."""

    @property
    def end(self) -> int:
        """Behind its last byte."""
        return self.offset + self.width

    @property
    def most(self) -> int:
        """The largest number that it holds."""
        return (1 << 8 * self.width) - 1


class IndexField(HeaderField):
    """A number that counts packets or modules."""

    first: _Number = 0
    """What it is for the first of them."""


class TimeField(HeaderField):
    """A time."""

    unit_ns: Annotated[int, Field(ge=1, le=10**9)] = 1
    """Its unit in nanoseconds."""


class ConstantField(HeaderField):
    """A number that every packet of this detector has; a packet with another one is not of it."""

    value: _Number


class Header(_Table):
    """What stands before the pixels."""

    bytes: Annotated[int, Field(ge=1, le=MOST_HEADER_BYTES)]
    frame_number: HeaderField
    packet_number: IndexField
    module_number: IndexField | None = None
    """Where all modules send to one port; None: each has ports of its own."""
    bunch_id: HeaderField | None = None
    timestamp: TimeField | None = None
    exposure: TimeField | None = None
    constant: dict[str, ConstantField] = Field(default_factory=dict)
    """By the name of the reason for which others are refused, in the order in which they are looked at."""
    identity: dict[str, HeaderField] = Field(default_factory=dict)
    """Any numbers that are the same in all packets of one port: by them a foreign sender is known."""
    other: dict[str, HeaderField] = Field(default_factory=dict)
    """What else there is; nobody reads it, and a simulated detector may send it."""

    @property
    def fields(self) -> dict[str, HeaderField]:
        """All that there are, by name."""
        single = {name: getattr(self, name) for name in _SINGLE if getattr(self, name) is not None}
        return {**single, **self.constant, **self.identity, **self.other}

    @model_validator(mode="after")
    def _check(self) -> Self:
        count = sum(getattr(self, name) is not None for name in _SINGLE)
        if len(self.fields) < count + len(self.constant) + len(self.identity) + len(self.other):
            raise ValueError("two fields have the same name: give each its own")
        for name in self.fields:
            if not _NAME.fullmatch(name):
                raise ValueError(
                    f"{name[:40]!a} is not a name for a field: give up to 32 small letters, digits and underscores"
                )
            if name in self.constant and name in RESERVED:
                raise ValueError(f"constant.{name}: packets are refused for {name} already: give another name")
        self._check_places()
        for name, constant in self.constant.items():
            if constant.value > constant.most:
                raise ValueError(
                    f"constant.{name}: the value {constant.value} does not fit {constant.width} bytes: "
                    f"give {constant.most} or less, or a larger width"
                )
        if self.frame_number.width < FEWEST_FRAME_BYTES:
            raise ValueError(
                "frame_number: a number of 1 byte comes again after 256 frames, which cannot be told apart: "
                f"give {FEWEST_FRAME_BYTES} bytes or more"
            )
        identity = sum(field.width for field in self.identity.values())
        if identity > MOST_IDENTITY_BYTES or len(self.identity) > MOST_IDENTITY:
            raise ValueError(
                f"identity: {len(self.identity)} fields of {identity} bytes together are too many: give at most "
                f"{MOST_IDENTITY} of {MOST_IDENTITY_BYTES} bytes, and the rest as other"
            )
        if len(self.constant) > MOST_CONSTANTS:
            raise ValueError(f"constant: {len(self.constant)} are too many: give at most {MOST_CONSTANTS}")
        return self

    def _check_places(self) -> None:
        """Every field lies in the header, and no two on the same bytes."""
        places = sorted((field.offset, field.end, name) for name, field in self.fields.items())
        for _, end, name in places:
            if end > self.bytes:
                raise ValueError(
                    f"{name} ends with byte {end - 1}, the header with byte {self.bytes - 1}: "
                    "give its right offset and width, or a longer header"
                )
        for (_, end, before), (offset, _, name) in itertools.pairwise(places):
            if offset < end:
                raise ValueError(f"{name} begins at byte {offset}, where {before} is (up to byte {end - 1})")


_SINGLE = "frame_number", "packet_number", "module_number", "bunch_id", "timestamp", "exposure"


class Module(_Table):
    """A module's size, in pixels."""

    rows: _Count
    columns: _Count


class Pixels(_Table):
    """How a pixel is sent."""

    byte_order: ByteOrder | None = None
    """None: that of the description."""
    guard: Guard = "hole_word"
    """Which words would read as 0x8000, a pixel that never came. `gain_code`: all of gain code 10, the highest bits,
    as a JUNGFRAU never sends: they become 0xFFFF. `hole_word`: 0x8000 alone, a value like others: it becomes 0x8001."""


class Packet(_Table):
    """One size of packets."""

    pixels: _Count


class Port(_Table):
    """Where in the module the share of one UDP port lies."""

    row: _Place = 0
    column: _Place = 0
    flip: Literal["none", "rows"] = "none"
    """`rows`: its first row comes last."""


class Interfaces(_Table):
    """A way in which a module sends: on so many UDP ports, each an equal share of it."""

    rows: _Count | None = None
    """Rows of a share; None: all rows of the module."""
    columns: _Count | None = None
    port: tuple[Port, ...] = Field((Port(),), min_length=1)
    """In the order of the UDP ports."""


class DetectorPackets(_Table):
    """The packets of a detector. Raises ValidationError (pydantic) for what cannot be."""

    name: Annotated[str, StringConstraints(min_length=1)]
    """In what is said of it."""
    byte_order: ByteOrder = "little"
    header: Header
    module: Module
    pixels: Pixels = Pixels()
    packet: tuple[Packet, ...] = Field(min_length=1)
    interfaces: tuple[Interfaces, ...] = Field((Interfaces(port=(Port(),)),), min_length=1)
    """The first is the one where nobody chooses."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if len(self.name) > MOST_NAME or not self.name.isprintable():
            raise ValueError(f"name: give at most {MOST_NAME} letters, digits and signs")
        if self.module.rows * self.module.columns > MOST_PIXELS:
            raise ValueError(
                f"a module of {self.module.rows} x {self.module.columns} pixels is too large: at most {MOST_PIXELS}"
            )
        counts = [len(each.port) for each in self.interfaces]
        if len(set(counts)) < len(counts):
            raise ValueError("interfaces: two of them have as many ports: only their number tells which is meant")
        if len(self.packet) > MOST_SIZES:
            raise ValueError(f"packet: {len(self.packet)} sizes are too many: give at most {MOST_SIZES}")
        if len({each.pixels for each in self.packet}) < len(self.packet):
            raise ValueError("packet: two of them have as many pixels: leave one out")
        for size in self.packet_bytes:
            if size > MOST_UDP_BYTES:
                raise ValueError(f"packet: {size} bytes with the header do not fit UDP: at most {MOST_UDP_BYTES}")
        for each in self.interfaces:
            self._check_tiles(each)
            self._check_filled(each)
        return self

    def _check_tiles(self, interfaces: Interfaces) -> None:
        """The ports' shares cover the module, each pixel once."""
        rows, columns = self.share(len(interfaces.port))
        taken: dict[tuple[int, int], int] = {}
        of = f"interfaces with {len(interfaces.port)} ports"
        for index, port in enumerate(interfaces.port):
            if port.row + rows > self.module.rows or port.column + columns > self.module.columns:
                raise ValueError(
                    f"{of}: port {index} has {rows} x {columns} pixels from row {port.row}, column {port.column} on, "
                    f"and lies outside of the module of {self.module.rows} x {self.module.columns}"
                )
            for (row, column), other in taken.items():
                if abs(row - port.row) < rows and abs(column - port.column) < columns:
                    raise ValueError(f"{of}: port {index} has pixels that port {other} has, too")
            taken[port.row, port.column] = index
        missing = self.module.rows * self.module.columns - len(taken) * rows * columns
        if missing:
            raise ValueError(f"{of}: {missing} pixels of the module are of no port: give their rows and columns")

    def _check_filled(self, interfaces: Interfaces) -> None:
        """Packets of each size fill a port's share, and can be numbered."""
        ports = len(interfaces.port)
        area, of = math.prod(self.share(ports)), f"interfaces with {ports} ports"
        number = self.header.packet_number
        for each in self.packet:
            if area % each.pixels:
                raise ValueError(
                    f"packet: packets of {each.pixels} pixels do not fill a port's {area}, {area % each.pixels} are "
                    f"left ({of}): give pixels that divide {area}"
                )
            last = number.first + area // each.pixels - 1
            if last > number.most:
                raise ValueError(
                    f"packet: with {each.pixels} pixels the last packet number is {last} ({of}): it does not fit the "
                    f"{number.width} bytes of packet_number"
                )
        if area * ports // self.unit > MOST_PACKETS:
            raise ValueError(f"packet: a module's frame has {area * ports // self.unit} parts: at most {MOST_PACKETS}")

    def check_interfaces(self, interfaces: int) -> None:
        """Raise ConfigError unless a module can send on so many."""
        if interfaces not in self.choices:
            known = " or ".join(map(str, sorted(self.choices)))
            raise ConfigError(f"a module of {self.name} sends on {known} interfaces, not on {interfaces}")

    def share(self, interfaces: int) -> tuple[int, int]:
        """Rows and columns of one port where a module sends on so many."""
        each = next(each for each in self.interfaces if len(each.port) == interfaces)
        return each.rows or self.module.rows, each.columns or self.module.columns

    def ports(self, interfaces: int) -> tuple[Port, ...]:
        """The ports of a module that sends on so many."""
        return next(each.port for each in self.interfaces if len(each.port) == interfaces)

    @property
    def choices(self) -> list[int]:
        """On how many ports a module may send; the first is the one where nobody chooses."""
        return [len(each.port) for each in self.interfaces]

    @property
    def packet_bytes(self) -> list[int]:
        """Bytes of a packet of each size."""
        return [self.header.bytes + PIXEL_BYTES * each.pixels for each in self.packet]

    @property
    def unit(self) -> int:
        """Pixels of the largest part of which every packet has a whole number: what came is kept part by part."""
        return math.gcd(*(each.pixels for each in self.packet))

    @property
    def pixel_order(self) -> ByteOrder:
        """Byte order of the pixels."""
        return self.pixels.byte_order or self.byte_order

    def order(self, field: HeaderField) -> ByteOrder:
        """Byte order of a field."""
        return field.byte_order or self.byte_order

    def read(self, packet: bytes, name: str) -> int:
        """The number of this field in a packet."""
        field = self.header.fields[name]
        return int.from_bytes(packet[field.offset : field.end], self.order(field))

    def is_own(self, packet: bytes) -> bool:
        """Whether a packet has the constants of this detector."""
        return all(self.read(packet, name) == each.value for name, each in self.header.constant.items())

    def ahead(self, number: int, of: int) -> int:
        """How far a frame number is ahead of another: they count on from 0 behind the largest, so the shorter way."""
        most = self.header.frame_number.most
        ahead = (number - of) & most
        return ahead - most - 1 if ahead > most // 2 else ahead

    def numbers(self, packet: bytes) -> dict[str, int]:
        """All numbers of a packet's header."""
        return {name: self.read(packet, name) for name in self.header.fields}

    def written(self, numbers: dict[str, int]) -> bytes:
        """A header with these numbers, its constants, and 0 in all else. OverflowError for one that does not fit."""
        header = bytearray(self.header.bytes)
        values: dict[str, Any] = {name: each.value for name, each in self.header.constant.items()}
        for name, value in (values | numbers).items():
            field = self.header.fields[name]
            header[field.offset : field.end] = value.to_bytes(field.width, self.order(field))
        return bytes(header)
