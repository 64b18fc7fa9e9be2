"""What a detector sends: the packets of a module's frame, by their description."""

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from framelane.base.errors import ConfigError, InputError, PacketError
from framelane.models.detector.detector_packets import DetectorPackets


def packets(
    of: DetectorPackets,
    image: NDArray[np.uint16],
    numbers: Mapping[str, int],
    interfaces: int | None = None,
    size: int = 0,
) -> Iterator[tuple[int, bytes]]:
    """The packets of a module's frame, uint16 (rows, columns): (port of the module, UDP payload), port by port.

    `numbers` are those of the header, by name; the packet number is not asked for. `size` is which of the description's
    sizes is sent. Raises InputError where the image is not a module's, ConfigError for a number that does not fit.
    """
    module, number = of.module, of.header.packet_number
    if image.shape != (module.rows, module.columns) or image.dtype != np.uint16:
        raise InputError(
            f"a module's image is uint16 ({module.rows}, {module.columns}), not {image.dtype} {image.shape}"
        )
    count = of.choices[0] if interfaces is None else interfaces
    rows, columns = of.share(count)
    for index, port in enumerate(of.ports(count)):
        share = image[port.row : port.row + rows, port.column : port.column + columns]
        sent = share[::-1] if port.flip == "rows" else share
        words = sent.astype(">u2" if of.pixel_order == "big" else "<u2").reshape(-1, of.packet[size].pixels)
        for at, each in enumerate(words):
            try:
                header = of.written({**numbers, "packet_number": number.first + at})
            except OverflowError as error:
                raise ConfigError(f"a header with {dict(numbers)} cannot be sent: {error}") from error
            yield index, header + each.tobytes()


def parse(
    of: DetectorPackets, packet: bytes, interfaces: int | None = None
) -> tuple[dict[str, int], NDArray[np.uint16]]:
    """The numbers of a packet's header, and its pixels, uint16 (n), in the order in which they were sent.

    Raises PacketError with the first of these reasons that applies: size, the name of a constant, packet.
    """
    if len(packet) not in of.packet_bytes:
        known = " or ".join(map(str, of.packet_bytes))
        raise PacketError("size", f"{len(packet)} bytes, a packet of {of.name} has {known}")
    numbers, pixels = of.numbers(packet), (len(packet) - of.header.bytes) // 2
    for name, constant in of.header.constant.items():
        if numbers[name] != constant.value:
            raise PacketError(name, f"{name} is {numbers[name]}, of {of.name} it is {constant.value}")
    rows, columns = of.share(of.choices[0] if interfaces is None else interfaces)
    first, count = of.header.packet_number.first, rows * columns // pixels
    if not first <= numbers["packet_number"] < first + count:
        raise PacketError(
            "packet", f"packet number {numbers['packet_number']} is none of {first} to {first + count - 1}"
        )
    order = ">u2" if of.pixel_order == "big" else "<u2"
    return numbers, np.frombuffer(packet, order, offset=of.header.bytes).astype(np.uint16)
