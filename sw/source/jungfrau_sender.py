"""A JUNGFRAU that is not there: its packets to UDP ports, as the modules of the real one would send them."""

import errno
import os
import socket
from typing import Self

import numpy as np
from numpy.typing import NDArray

from framelane.base.errors import ConfigError, TransportError
from framelane.models.jungfrau.jf_packet import (
    HEADER,
    MODULE_ROWS,
    PACKETS,
    TICK_NS,
    JfHeader,
    check_interfaces,
    packets,
)

_ADVICE = {
    errno.EACCES: "that is a broadcast address, or a firewall of this machine forbids it",
    errno.ENETUNREACH: "there is no way to that address (see `ip route get ADDRESS`)",
    errno.EMSGSIZE: "raise the MTU of the interface (`ip link set DEV mtu 9000`)",
}


class JungfrauSender:
    """Sends frames of `modules` modules to `host`, to `port` and the ports after it, one for each interface of each.

    TransportError where a packet cannot be sent; whether anybody listens is not known.
    """

    def __init__(self, host: str, port: int, modules: int, interfaces: int = 1) -> None:
        check_interfaces(interfaces)
        streams = modules * interfaces
        if not (modules >= 1 and 1 <= port <= 65536 - streams):
            raise ConfigError(f"{streams} UDP ports from {port} on cannot be: the last is 65535")
        self._modules, self._interfaces = modules, interfaces
        try:
            address = socket.gethostbyname(host)
        except OSError as error:
            raise TransportError(f"{host} is no address, and no name that is known here") from error
        self._targets = [(address, port + stream) for stream in range(streams)]
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)

    def prepare(self, image: NDArray[np.uint16], high_gain: bool = False) -> "PreparedFrame":
        """The packets of a frame, uint16 (modules * 512, 1024), which `send` numbers."""
        split = [
            list(packets(module, JfHeader(0, module_id=index, row=index, daq_info=int(high_gain)), self._interfaces))
            for index, module in enumerate(image.reshape(self._modules, MODULE_ROWS, -1))
        ]
        # Packet by packet and not module by module, as modules send side by side.
        order = [(index, packet) for packet in range(PACKETS) for index in range(self._modules)]
        streams = [index * self._interfaces + split[index][packet][0] for index, packet in order]
        data = np.frombuffer(bytearray(b"".join(split[index][packet][1] for index, packet in order)), np.uint8)
        return PreparedFrame(data.reshape(len(order), -1), streams)

    def send(self, frame: "PreparedFrame", number: int, bunch_id: int, timestamp_ns: int, exposure_ns: int = 0) -> None:
        """Send a frame. Waits while the socket's send queue is full."""
        frame.headers["frame_number"], frame.headers["bunch_id"] = number, bunch_id
        frame.headers["timestamp"], frame.headers["exposure"] = timestamp_ns // TICK_NS, exposure_ns // TICK_NS
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
    """Packets, uint8 (n, 8240), and the stream of each; `headers` are a view of them."""

    def __init__(self, data: NDArray[np.uint8], streams: list[int]) -> None:
        self.streams = streams
        self.headers: NDArray[np.void] = data[:, : HEADER.itemsize].view(HEADER)[:, 0]
        self.rows = [memoryview(row) for row in data]
