"""A detector that is not there: its packets to UDP ports, as the modules of the real one would send them."""

import errno
import os
import socket
from typing import Self

import numpy as np
from numpy.typing import NDArray

from framelane.base.errors import ConfigError, TransportError
from framelane.models.detector.detector_packets import DetectorPackets
from framelane.models.detector.detector_sent import packets as packets_of
from framelane.packets.detector_file import JUNGFRAU, shipped

_ADVICE = {
    errno.EACCES: "that is a broadcast address, or a firewall of this machine forbids it",
    errno.ENETUNREACH: "there is no way to that address (see `ip route get ADDRESS`)",
    errno.EMSGSIZE: "raise the MTU of the interface (`ip link set DEV mtu 9000`)",
}


class DetectorSender:
    """Sends frames of `modules` modules to `host`, to `port` and the ports after it, one for each interface of each.

    By the description `packets`, a JUNGFRAU's if not given; where it has a module number, all modules send to the ports
    of one. `size` is which of its packet sizes they send. TransportError where a packet cannot be sent; whether anybody
    listens is not known.
    """

    def __init__(
        self,
        host: str,
        port: int,
        modules: int,
        interfaces: int | None = None,
        packets: DetectorPackets | None = None,
        size: int = 0,
    ) -> None:
        self.packets = packets or shipped(JUNGFRAU)
        self._interfaces = self.packets.choices[0] if interfaces is None else interfaces
        self.packets.check_interfaces(self._interfaces)
        self._shared, self._size = self.packets.header.module_number is not None, size
        streams = (1 if self._shared else modules) * self._interfaces
        if not (modules >= 1 and 1 <= port <= 65536 - streams):
            raise ConfigError(f"{streams} UDP ports from {port} on cannot be: the last is 65535")
        self._modules = modules
        try:
            address = socket.gethostbyname(host)
        except OSError as error:
            raise TransportError(f"{host} is not an address, and no name that is known here") from error
        self._targets = [(address, port + stream) for stream in range(streams)]
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)

    def prepare(self, image: NDArray[np.uint16], **numbers: int) -> "PreparedFrame":
        """The packets of a frame, uint16 (modules * rows, columns), which `send` numbers.

        `numbers` are of other fields of the header. Where it has no module number, the first field of the identity has.
        """
        split = [
            list(packets_of(self.packets, module, self._of_module(index) | numbers, self._interfaces, self._size))
            for index, module in enumerate(image.reshape(self._modules, self.packets.module.rows, -1))
        ]
        # Packet by packet and not module by module, as modules send side by side.
        order = [(index, packet) for packet in range(len(split[0])) for index in range(self._modules)]
        first = 0 if self._shared else self._interfaces
        streams = [index * first + split[index][packet][0] for index, packet in order]
        data = np.frombuffer(bytearray(b"".join(split[index][packet][1] for index, packet in order)), np.uint8)
        return PreparedFrame(self.packets, data.reshape(len(order), -1), streams)

    def _of_module(self, index: int) -> dict[str, int]:
        number = self.packets.header.module_number
        if number is not None:
            return {"module_number": number.first + index}
        return dict.fromkeys(list(self.packets.header.identity)[:1], index)

    def send(self, frame: "PreparedFrame", number: int, bunch_id: int, timestamp_ns: int, exposure_ns: int = 0) -> None:
        """Send a frame. Waits while the socket's send queue is full."""
        frame.stamp(number, bunch_id, timestamp_ns, exposure_ns)
        for packet, stream in zip(frame.rows, frame.streams, strict=True):
            target = self._targets[stream]
            try:
                self._socket.sendto(packet, target)
            except OSError as error:
                reason, advice = os.strerror(error.errno or 0), _ADVICE.get(error.errno or 0, "see udp(7)")
                raise TransportError(f"cannot send to UDP {target[0]}:{target[1]}: {reason}: {advice}") from error

    def close(self) -> None:
        """Free the socket."""
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class PreparedFrame:
    """Packets, uint8 (n, bytes), and the stream of each."""

    def __init__(self, packets: DetectorPackets, data: NDArray[np.uint8], streams: list[int]) -> None:
        self.streams = streams
        self._packets, self._data = packets, data
        self.rows = [memoryview(row) for row in data]

    def stamp(self, number: int, bunch_id: int, timestamp_ns: int, exposure_ns: int) -> None:
        """Give the packets the numbers of a frame, as far as their header has room for them, modulo their fields."""
        header = self._packets.header
        ticks = {
            "timestamp": timestamp_ns // header.timestamp.unit_ns if header.timestamp else 0,
            "exposure": exposure_ns // header.exposure.unit_ns if header.exposure else 0,
        }
        for name, value in {"frame_number": number, "bunch_id": bunch_id, **ticks}.items():
            if (field := header.fields.get(name)) is not None:
                written = (value & field.most).to_bytes(field.width, self._packets.order(field))
                self._data[:, field.offset : field.end] = np.frombuffer(written, np.uint8)
