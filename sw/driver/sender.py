"""Senders: a transmitter's packets onto a real network, for a receiver to take. The caller paces them."""

import errno
import os
import socket
from collections.abc import Iterable
from typing import Self

from framelane.models import wire
from framelane.models.errors import TransportError
from framelane.models.session import Session

_IP_MTU_DISCOVER, _IP_PMTUDISC_DO = 10, 2
"""linux/in.h: set DF, never fragment."""
_SO_NO_CHECK = 11
"""UDP checksum 0, as the transmitter sends it."""
_HEADERS = wire.ETH_BYTES + wire.IP_BYTES + wire.UDP_BYTES
_ADVICE = {
    errno.EPERM: "run as root, or with the capability CAP_NET_RAW",
    errno.EADDRINUSE: "stop the process that holds it (`ss -unap` lists them), or change the session's src_port",
    errno.EADDRNOTAVAIL: "no interface here has that address (see `ip -br addr`), correct the session's source.ip",
    errno.EMSGSIZE: "lower the session's mtu, or raise the interface's (`ip link set DEV mtu 9000`)",
    errno.ENETDOWN: "bring the interface up (`ip link set DEV up`)",
    errno.ENODEV: "choose one of those that `ip -br link` lists",
}


class _Sender:
    """Sends through `_socket` to `_target`, which `_where` names in messages."""

    _socket: socket.socket
    _target: tuple[str, int]
    _where: str

    def _send(self, packets: Iterable[bytes]) -> None:
        for packet in packets:
            try:
                self._socket.sendto(packet, self._target)
            except OSError as error:
                raise _failure(f"cannot send a packet of {len(packet)} bytes to {self._where}", error) from error

    def close(self) -> None:
        """Free the socket. May be called twice."""
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class UdpSender(_Sender):
    """From a UDP socket bound to the session's source, to UDP `port` of its receiver: no privileges, any IP network.

    The ICRC covers the addresses, the source port and the IP ID, which the kernel makes: on a socket that sets DF and
    is not connected it sends ID 0, as our transmitters do. TransportError when the source's address or port cannot be
    had.
    """

    def __init__(self, session: Session, port: int = wire.ROCE_PORT) -> None:
        source = (str(session.source.ip), session.src_port)
        self._target = (str(session.receiver.ip), port)
        self._where = f"UDP {self._target[0]}:{port}"
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            self._socket.setsockopt(socket.IPPROTO_IP, _IP_MTU_DISCOVER, _IP_PMTUDISC_DO)
            self._socket.setsockopt(socket.SOL_SOCKET, _SO_NO_CHECK, 1)
            self._socket.bind(source)
        except OSError as error:
            self._socket.close()
            raise _failure(f"cannot send from UDP {source[0]}:{source[1]}", error) from error

    def send(self, frames: Iterable[bytes]) -> None:
        """Send packets, given as Ethernet frames without FCS, in order. Waits while the socket's send queue is full."""
        self._send(frame[_HEADERS:] for frame in frames)


class PacketSender(_Sender):
    """Onto an interface, as they are (packet(7)). TransportError without CAP_NET_RAW, or without the interface."""

    def __init__(self, interface: str) -> None:
        self._target = (interface, 0)
        self._where = f"interface {interface}"
        try:
            self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        except OSError as error:
            raise _failure(f"cannot open a packet socket on {interface}", error) from error
        try:
            self._socket.bind(self._target)
        except OSError as error:
            self._socket.close()
            raise _failure(f"cannot send on {self._where}", error) from error

    def send(self, frames: Iterable[bytes]) -> None:
        """Send Ethernet frames without FCS, in order. Waits while the socket's send queue is full."""
        self._send(frames)


def _failure(what: str, error: OSError) -> TransportError:
    code = error.errno or 0
    return TransportError(f"{what}: {os.strerror(code)}" + (f": {_ADVICE[code]}" if code in _ADVICE else ""))
