"""RoCEv2 packets from an interface, as they are on the wire: a soft NIC beside the kernel's own stack (packet(7))."""

import ctypes
import errno
import os
import socket
import struct
from collections.abc import Iterator

from framelane.models import wire
from framelane.models.errors import TransportError
from framelane.receiver import sockets

_SO_ATTACH_FILTER = 26
_ROCE_FILTER = (
    (0x28, 0, 0, 12),  # ldh [12]: EtherType
    (0x15, 0, 6, wire.ETHERTYPE_IPV4),
    (0x30, 0, 0, 23),  # ldb [23]: IPv4 protocol
    (0x15, 0, 4, wire.PROTOCOL_UDP),
    (0xB1, 0, 0, 14),  # ldxb 4*([14]&0xf): IPv4 header length
    (0x48, 0, 0, 16),  # ldh [x+16]: UDP destination port
    (0x15, 0, 1, wire.ROCE_PORT),
    (0x06, 0, 0, 0x40000),  # ret: keep the packet
    (0x06, 0, 0, 0),  # ret: drop it
)
"""Classic BPF (bpf(4)) as (code, jump if true, jump if false, operand): `ip and udp dst port 4791`."""


class PacketPort:
    """All RoCEv2 packets that come in on `interface`, lo and veth included; none that this machine sends there itself.

    Needs CAP_NET_RAW. The kernel's own stack sees the packets too: it answers those for its own address with ICMP "port
    unreachable" unless something holds UDP port 4791.
    """

    ended = False

    def __init__(self, interface: str) -> None:
        self._interface = interface
        try:
            self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        except OSError as error:
            raise _failure(interface, error) from error
        try:
            self._attach_filter()
            sockets.lengthen_queue(self._socket)
            # A socket for one EtherType gets what comes in, and not what goes out.
            self._socket.bind((interface, wire.ETHERTYPE_IPV4))
            self._raise_pending()
        except OSError as error:
            self._socket.close()
            raise _failure(interface, error) from error

    @property
    def queue_drops(self) -> int:
        """See `Port`."""
        return sockets.queue_drops(self._socket)

    def frames(self, timeout_s: float) -> Iterator[bytes]:
        """See `Port`."""
        try:
            for frame, _ in sockets.fetch(self._socket, timeout_s):
                yield frame
        except OSError as error:
            raise _failure(self._interface, error) from error

    def close(self) -> None:
        """See `Port`."""
        self._socket.close()

    def _attach_filter(self) -> None:
        code = b"".join(struct.pack("=HBBI", *line) for line in _ROCE_FILTER)
        buffer = ctypes.create_string_buffer(code, len(code))
        program = struct.pack("@HP", len(_ROCE_FILTER), ctypes.addressof(buffer))
        self._socket.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, program)

    def _raise_pending(self) -> None:
        """Binding to an interface that is down succeeds, and leaves its error behind."""
        pending = self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if pending:
            raise OSError(pending, os.strerror(pending))


def _failure(interface: str, error: OSError) -> TransportError:
    advice = {
        errno.EPERM: "run as root, or with the capability CAP_NET_RAW",
        errno.ENODEV: f"choose one of {', '.join(name for _, name in socket.if_nameindex())}",
        errno.ENETDOWN: f"bring it up, `ip link set {interface} up`",
    }.get(error.errno or 0, "see packet(7)")
    return TransportError(f"cannot receive on interface {interface}: {os.strerror(error.errno or 0)}: {advice}")
