"""What the gateware reads of a detector's packet, and what it passes on of it.

The numbers of a description as the gateware has them, and what comes of each packet by its header alone; the frame that
it belongs to is looked at in `det_place`.
"""

from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np

from framelane.base.errors import ConfigError
from framelane.models.detector.detector_packets import PIXEL_BYTES, DetectorPackets, HeaderField
from framelane.models.detector.udp_match import Datagram
from framelane.models.jungfrau.jf_correct import ERROR_WORD, FORBIDDEN_STAGE, STAGE_SHIFT
from framelane.models.placement.slots import HOLE_WORD

FIELDS = 4
"""Constants, and fields of the identity, at most."""
PACKETS_MAX, MODULES_MAX = 256, 16
BESIDE_HOLE = HOLE_WORD + 1
"""What a pixel becomes that would read as a hole, where that is a value like others."""


class DetFate(IntEnum):
    """What becomes of a packet: placed, or the first of the other reasons that applies."""

    PLACED = 0
    SIZE = 1
    """Another length than the detector's packets, as its UDP header says, or not even a header."""
    CONSTANT = 2
    PACKET = 3
    """A packet number that a port does not send."""
    MODULE = 4
    FULL = 5
    """No room for it in the queue."""
    BAD = 6
    """Wrong FCS, or cut, or longer than it says."""
    NUMBER = 7
    """A frame number too far ahead."""
    LATE = 8
    """Its frame is over."""
    CREDIT = 9
    """There was no slot for its frame."""
    FOREIGN = 10
    """Another identity than the first packet of the frame on the same port."""
    DUPLICATE = 11


@dataclass(frozen=True, slots=True)
class Head:
    """A packet by its header; `timestamp` in units of the detector, `packet` counted over the module's ports."""

    identity: int
    bunch_id: int
    timestamp: int
    number: int
    packet: int
    port: int
    module_number: int


@dataclass(frozen=True, slots=True)
class DetHeader:
    """The block `det_header` for one description.

    `size` is which of the description's sizes of packets is taken; `modules` are there, each with as many ports as
    `interfaces`. Raises ConfigError for a description that the gateware cannot serve.
    """

    of: DetectorPackets
    modules: int
    interfaces: int = 1
    size: int = 0

    def __post_init__(self) -> None:
        self.of.check_interfaces(self.interfaces)
        _, columns = self.of.share(self.interfaces)
        half = self.of.module.rows // self.interfaces
        ports = [(port.row, port.column, port.flip) for port in self.of.ports(self.interfaces)]
        wanted = [(index * half, 0, "none") for index in range(self.interfaces)]
        if self.interfaces > 2 or columns != self.of.module.columns or ports != wanted:
            raise ConfigError(
                f"{self.of.name}: the gateware places packets of one port a module, or of two with the upper and the "
                "lower half of its rows, none of them flipped: leave it to the host's receiver"
            )
        if self.of.header.module_number and self.interfaces > 1:
            raise ConfigError(f"{self.of.name}: the gateware takes modules by number, or by two ports each, not both")
        if self.packets > PACKETS_MAX:
            raise ConfigError(f"{self.of.name}: {self.packets} packets a module and frame, at most {PACKETS_MAX}")
        if not 1 <= self.modules <= MODULES_MAX:
            raise ConfigError(f"{self.modules} modules: give 1 to {MODULES_MAX}")
        if any(constant.value >> 32 for constant in self.of.header.constant.values()):
            raise ConfigError(f"{self.of.name}: the gateware compares constants of up to 32 bits")

    @property
    def packet_bytes(self) -> int:
        """Bytes of pixels in a packet."""
        return PIXEL_BYTES * self.of.packet[self.size].pixels

    @property
    def packets(self) -> int:
        """Packets of a module's frame."""
        return PIXEL_BYTES * self.of.module.rows * self.of.module.columns // self.packet_bytes

    def parameters(self) -> dict[str, int]:
        """Those of the gateware, by name."""
        header = self.of.header

        def field(each: HeaderField | None) -> int:
            return each.offset << 16 | each.width << 8 | (self.of.order(each) == "big") if each else 0

        def joined(words: list[int]) -> int:
            return sum(word << 32 * k for k, word in enumerate(words))

        constants, identity = list(header.constant.values()), list(header.identity.values())
        return {
            "HeaderBytes": header.bytes,
            "PacketBytes": self.packet_bytes,
            "Packets": self.packets,
            "FrameField": field(header.frame_number),
            "PacketField": field(header.packet_number),
            "FirstPacket": header.packet_number.first,
            "ModuleField": field(header.module_number),
            "FirstModule": header.module_number.first if header.module_number else 0,
            "BunchField": field(header.bunch_id),
            "TimeField": field(header.timestamp),
            "ConstantField": joined([field(each) for each in constants]),
            "ConstantValue": joined([each.value for each in constants]),
            "IdentityField": joined([field(each) for each in identity]),
            "Swapped": int(self.of.pixel_order == "big"),
            "GainCode": int(self.of.pixels.guard == "gain_code"),
        }

    def read(self, datagram: Datagram) -> Head | DetFate:
        """What a packet is about, by its header; or why it is not passed on."""
        header, packet = self.of.header, datagram.payload
        if len(packet) <= header.bytes or datagram.size != header.bytes + self.packet_bytes:
            return DetFate.SIZE
        numbers: dict[str, int] = self.of.numbers(packet)
        if not self.of.is_own(packet):
            return DetFate.CONSTANT
        port = datagram.stream % self.interfaces
        index = numbers["packet_number"] - header.packet_number.first
        if not 0 <= index < self.packets // self.interfaces:
            return DetFate.PACKET
        module = datagram.stream // self.interfaces
        if header.module_number:
            module = numbers["module_number"] - header.module_number.first
        if not 0 <= module < self.modules:
            return DetFate.MODULE
        identity = 0
        for name, each in header.identity.items():
            identity = identity << 8 * each.width | numbers[name]
        return Head(
            identity=identity,
            bunch_id=numbers.get("bunch_id", 0),
            timestamp=numbers.get("timestamp", 0),
            number=numbers["frame_number"],
            packet=port * (self.packets // self.interfaces) + index,
            port=port,
            module_number=module,
        )

    def pixels(self, payload: bytes) -> tuple[bytes, bool]:
        """The pixels of a packet that is passed on, little endian, and whether it is as long as it says.

        Of a longer one there are as many as there have to be. Words that would read as holes are others.
        """
        body = payload[self.of.header.bytes :]
        kept = body[: self.packet_bytes]
        even = len(kept) // PIXEL_BYTES * PIXEL_BYTES
        words: Any = np.frombuffer(kept[:even], ">u2" if self.of.pixel_order == "big" else "<u2")
        if self.of.pixels.guard == "gain_code":
            words = np.where(words >> STAGE_SHIFT == FORBIDDEN_STAGE, ERROR_WORD, words)
        else:
            words = np.where(words == HOLE_WORD, BESIDE_HOLE, words)
        return words.astype("<u2").tobytes(), len(body) == self.packet_bytes
