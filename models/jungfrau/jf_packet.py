"""Packets of a real JUNGFRAU: UDP payloads of 8240 bytes, a header of 48 bytes and four rows of a module's pixels.

Or of 4144 bytes, with two rows: then there are twice as many.

The format is version 2 of PSI's detector header, little endian (slsDetectorPackage, docs/src/udpheader.rst and
udpdetspec.rst):

| field           | offset | bytes |                                                                                 |
|-----------------|--------|-------|---------------------------------------------------------------------------------|
| `frame_number`  | 0      | 8     | of the acquisition, the same in all modules                                     |
| `exposure`      | 8      | 4     | expLength, 100 ns                                                               |
| `packet_number` | 12     | 4     | 0..127, or 0..63 of each of two interfaces; rows 4n..4n+3 (or 2n..2n+1)         |
| `bunch_id`      | 16     | 8     | detSpec1                                                                        |
| `timestamp`     | 24     | 8     | 100 ns, since the measurement began                                             |
| `module_id`     | 32     | 2     | modId                                                                           |
| `row`           | 34     | 2     | of the module (or its interface) in the detector: any value                     |
| `column`        | 36     | 2     | the same                                                                        |
| `spec2`         | 38     | 2     | detSpec2, 0                                                                     |
| `daq_info`      | 40     | 4     | detSpec3: bit 0 high gain (HG0), bits 11..8 storage cell                        |
| `spec4`         | 44     | 2     | detSpec4, 0                                                                     |
| `detector`      | 46     | 1     | detType, 3                                                                      |
| `version`       | 47     | 1     | 2                                                                               |

With two interfaces the first sends rows 0..255 and the second rows 256..511, each to a UDP port of its own; their
headers look alike, so only the port tells them apart.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from framelane.base.errors import ConfigError, InputError, PacketError

MODULE_ROWS, MODULE_COLUMNS = 512, 1024
PACKET_ROWS = 4
PACKETS = MODULE_ROWS // PACKET_ROWS
"""Packets of one module's frame."""
PACKET_WORDS = PACKET_ROWS * MODULE_COLUMNS
HEADER_BYTES = 48
PACKET_BYTES = HEADER_BYTES + 2 * PACKET_WORDS
ROWS_BY_BYTES = {HEADER_BYTES + 2 * rows * MODULE_COLUMNS: rows for rows in (PACKET_ROWS, PACKET_ROWS // 2)}
"""Rows in a packet of so many bytes."""
DETECTOR = 3
VERSION = 2
TICK_NS = 100
"""Unit of `exposure` and `timestamp`."""

HIGH_GAIN = 1
STORAGE_CELL_SHIFT, STORAGE_CELL_MASK = 8, 0xF

HEADER = np.dtype(
    [
        ("frame_number", "<u8"),
        ("exposure", "<u4"),
        ("packet_number", "<u4"),
        ("bunch_id", "<u8"),
        ("timestamp", "<u8"),
        ("module_id", "<u2"),
        ("row", "<u2"),
        ("column", "<u2"),
        ("spec2", "<u2"),
        ("daq_info", "<u4"),
        ("spec4", "<u2"),
        ("detector", "u1"),
        ("version", "u1"),
    ]
)
"""The header as a packed structure."""


@dataclass(frozen=True, slots=True)
class JfHeader:
    """The fields of a header, in their order; times in units of 100 ns."""

    frame_number: int
    exposure: int = 0
    packet_number: int = 0
    bunch_id: int = 0
    timestamp: int = 0
    module_id: int = 0
    row: int = 0
    column: int = 0
    spec2: int = 0
    daq_info: int = 0
    spec4: int = 0
    detector: int = DETECTOR
    version: int = VERSION

    def pack(self) -> bytes:
        """The 48 bytes. Raises ConfigError where a number does not fit its field."""
        try:
            return np.array(tuple(asdict(self).values()), HEADER).tobytes()
        except OverflowError as error:
            raise ConfigError(f"{self} cannot be sent: {error}") from error

    @property
    def high_gain(self) -> bool:
        """Whether the module was in high gain: its G0 is HG0."""
        return bool(self.daq_info & HIGH_GAIN)

    @property
    def storage_cell(self) -> int:
        """The storage cell that took the exposure, 0..15."""
        return self.daq_info >> STORAGE_CELL_SHIFT & STORAGE_CELL_MASK


def check_interfaces(interfaces: int) -> None:
    """Raise ConfigError unless a module can have so many."""
    if interfaces not in (1, 2):
        raise ConfigError(f"a module sends on 1 or 2 interfaces, not on {interfaces}")


def parse(packet: bytes, interfaces: int = 1) -> tuple[JfHeader, NDArray[np.uint16]]:
    """The header and the rows, uint16 (4 or 2, 1024), of a packet from a module with so many interfaces.

    Raises PacketError, with the first of these reasons that applies: size, version, detector, packet.
    """
    check_interfaces(interfaces)
    rows = ROWS_BY_BYTES.get(len(packet))
    if rows is None:
        known = " or ".join(map(str, ROWS_BY_BYTES))
        raise PacketError("size", f"{len(packet)} bytes, a packet of JUNGFRAU has {known}")
    header = JfHeader(*np.frombuffer(packet, HEADER, 1)[0].item())
    if header.version != VERSION:
        raise PacketError("version", f"header version {header.version}, known is {VERSION}")
    if header.detector != DETECTOR:
        raise PacketError("detector", f"detector type {header.detector}, JUNGFRAU is {DETECTOR}")
    last = MODULE_ROWS // rows // interfaces - 1
    if header.packet_number > last:
        raise PacketError("packet", f"packet number {header.packet_number}, the last is {last}")
    return header, np.frombuffer(packet, "<u2", offset=HEADER_BYTES).reshape(rows, MODULE_COLUMNS)


def packets(image: NDArray[np.uint16], header: JfHeader, interfaces: int = 1) -> Iterator[tuple[int, bytes]]:
    """The packets of a module's frame, uint16 (512, 1024), in the order of rows: (interface, UDP payload).

    Of `header` the packet number is replaced. Raises InputError where the image is not a module's.
    """
    check_interfaces(interfaces)
    if image.shape != (MODULE_ROWS, MODULE_COLUMNS) or image.dtype != np.uint16:
        raise InputError(
            f"a module's image is uint16 ({MODULE_ROWS}, {MODULE_COLUMNS}), not {image.dtype} {image.shape}"
        )
    numbered = np.full(PACKETS, np.frombuffer(header.pack(), HEADER)[0])
    share = PACKETS // interfaces
    numbered["packet_number"] = np.arange(PACKETS) % share
    rows = np.ascontiguousarray(image, "<u2").reshape(PACKETS, PACKET_WORDS)
    for index in range(PACKETS):
        yield index // share, numbered[index].tobytes() + rows[index].tobytes()
