"""What the placing loop has to know of a detector's packets, as whole numbers: they are compiled into it."""

from typing import NamedTuple

from framelane.models.detector.detector_packets import (
    MOST_CONSTANTS,
    MOST_IDENTITY,
    MOST_SIZES,
    DetectorPackets,
    HeaderField,
)

Place = tuple[int, int, int]
"""A field: offset, width in bytes (0: there is none, it reads as 0), whether its first byte is the highest."""
_NOWHERE = 0, 0, 0


class PlacingForm(NamedTuple):
    """The form of one description, with so many interfaces a module."""

    header_bytes: int
    frame_number: Place
    packet_number: Place
    first_packet: int
    module_number: Place
    first_module: int
    bunch_id: Place
    timestamp: Place
    constants: tuple[tuple[int, int, int, int], ...]
    """Place and value (as int64), always four: what there is not is 0 of width 0."""
    identity: tuple[Place, ...]
    """Always four, too."""
    sizes: tuple[tuple[int, int], ...]
    """Bytes of a packet, and its pixels in units, of four sizes; -1 bytes where there are fewer."""
    unit_pixels: int
    share_columns: int
    """Columns of one port in one module."""
    columns: int
    """Columns of the image."""
    module_pixels: int
    swapped: bool
    """Pixels are big-endian."""
    gain_code: bool
    """All words of gain code 10 would read as holes; else one word would."""

    @classmethod
    def of(cls, packets: DetectorPackets, interfaces: int) -> "PlacingForm":
        """The form of these packets where a module sends on so many interfaces."""

        def place(field: HeaderField | None) -> Place:
            return (field.offset, field.width, int(packets.order(field) == "big")) if field else _NOWHERE

        header, (_, columns) = packets.header, packets.share(interfaces)
        constants = tuple((*place(each), each.value - (each.value >> 63 << 64)) for each in header.constant.values())
        identity = tuple(map(place, header.identity.values()))
        sizes = tuple(
            (size, each.pixels // packets.unit) for size, each in zip(packets.packet_bytes, packets.packet, strict=True)
        )
        return cls(
            header_bytes=header.bytes,
            frame_number=place(header.frame_number),
            packet_number=place(header.packet_number),
            first_packet=header.packet_number.first,
            module_number=place(header.module_number),
            first_module=header.module_number.first if header.module_number else 0,
            bunch_id=place(header.bunch_id),
            timestamp=place(header.timestamp),
            constants=(*constants, *[(*_NOWHERE, 0)] * (MOST_CONSTANTS - len(constants))),
            identity=(*identity, *[_NOWHERE] * (MOST_IDENTITY - len(identity))),
            sizes=(*sizes, *[(-1, 1)] * (MOST_SIZES - len(sizes))),
            unit_pixels=packets.unit,
            share_columns=columns,
            columns=packets.module.columns,
            module_pixels=packets.module.rows * packets.module.columns,
            swapped=packets.pixel_order == "big",
            gain_code=packets.pixels.guard == "gain_code",
        )
