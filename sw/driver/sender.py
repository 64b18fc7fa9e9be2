"""Senders: a transmitter's packets onto a real network, for a receiver to take. The caller paces them."""

import errno
import itertools
import os
import socket
import struct
import time
from collections.abc import Iterable
from typing import Self

from framelane.driver._sendmmsg import Messages
from framelane.models import wire
from framelane.models.errors import TransportError
from framelane.models.packet_batch import Batch
from framelane.models.session import Session

_IP_MTU_DISCOVER, _IP_PMTUDISC_DO = 10, 2
"""linux/in.h: set DF, never fragment."""
_IP_RECVERR = 11
"""linux/in.h: what comes back by ICMP is an error of the next packet (ip(7))."""
_SO_NO_CHECK = 11
"""UDP checksum 0, as the transmitter sends it."""
_SO_SNDBUFFORCE = 32
"""As SO_SNDBUF but past net.core.wmem_max, for those with CAP_NET_ADMIN."""
_QUEUE_BYTES = 4 << 20
_HEADERS = wire.ETH_BYTES + wire.IP_BYTES + wire.UDP_BYTES
_AT_ONCE = 512
"""Packets that are collected for one call."""
_FULL = (errno.EAGAIN, errno.ENOBUFS)
"""The queue of the socket, or of the interface, is full."""
_PATIENCE_S, _NAP_S = 5.0, 100e-6
_ADVICE = {
    errno.EPERM: "run as root, or with the capability CAP_NET_RAW",
    errno.EACCES: "that is a broadcast address, or a firewall of this machine forbids it",
    errno.EADDRINUSE: "stop the process that holds it (`ss -unap` lists them), or change the session's src_port",
    errno.EADDRNOTAVAIL: "no interface here has that address (see `ip -br addr`), correct the session's source.ip",
    errno.EMSGSIZE: "lower the session's mtu, or raise the interface's (`ip link set DEV mtu 9000`)",
    errno.ENETDOWN: "bring the interface up (`ip link set DEV up`)",
    errno.ENODEV: "choose one of those that `ip -br link` lists",
    errno.ENXIO: "the interface is gone, choose one of those that `ip -br link` lists",
    errno.ENETUNREACH: "there is no way to that address (see `ip route get ADDRESS`)",
    errno.EHOSTUNREACH: "that address does not answer (see `ip neigh`): is its machine on, and the cable in?",
    errno.ENOBUFS: f"the interface has taken none for {_PATIENCE_S:g} s: is the link up, or paused by the switch?",
    errno.EAGAIN: f"the socket has taken none for {_PATIENCE_S:g} s: is the link up, or paused by the switch?",
}


class _Sender:
    """Sends through `_socket` to `_target` (a socket address), which `_where` names in messages."""

    _socket: socket.socket
    _target: bytes
    _where: str
    _skipped = 0
    """Bytes in front of each packet that the kernel makes."""

    def __init__(self) -> None:
        self.unheard = 0
        """Times that the receiver's machine said by ICMP that nobody holds the UDP port.

        So it does, too, where a receiver takes the packets before its kernel.
        """

    def send(self, frames: Iterable[bytes]) -> None:
        """Send packets, given as Ethernet frames without FCS, in order. Waits while the send queue is full."""
        left = iter(frames)
        while chunk := list(itertools.islice(left, _AT_ONCE)):
            self.send_batch(Batch.of(chunk))

    def send_batch(self, batch: Batch) -> None:
        """The same for many of them, in as few calls as possible. They may be changed as soon as this returns."""
        messages = Messages(batch, self._skipped, self._target)
        sent, deadline = 0, 0.0
        while sent < len(messages):
            try:
                sent += messages.send(self._socket.fileno(), sent)
                deadline = 0.0
            except OSError as error:
                deadline = deadline or time.monotonic() + _PATIENCE_S
                if not self._may_try_again(error, deadline):
                    what = f"cannot send a packet of {messages.length(sent)} bytes to {self._where}"
                    raise _failure(what, error) from error

    def _may_try_again(self, error: OSError, deadline: float) -> bool:
        """Whether the same packets can still leave, after a pause where that helps, but not after the `deadline`."""
        if error.errno == errno.ECONNREFUSED:
            self.unheard += 1
            return True
        if error.errno in _FULL and time.monotonic() < deadline:
            time.sleep(_NAP_S)
            return True
        return error.errno == errno.EINTR

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

    _skipped = _HEADERS

    def __init__(self, session: Session, port: int = wire.ROCE_PORT) -> None:
        super().__init__()
        source = (str(session.source.ip), session.src_port)
        # struct sockaddr_in (ip(7)).
        self._target = struct.pack("=H", socket.AF_INET) + struct.pack(">H4s8x", port, session.receiver.ip.packed)
        self._where = f"UDP {session.receiver.ip}:{port}"
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            self._socket.setsockopt(socket.IPPROTO_IP, _IP_MTU_DISCOVER, _IP_PMTUDISC_DO)
            self._socket.setsockopt(socket.IPPROTO_IP, _IP_RECVERR, 1)
            self._socket.setsockopt(socket.SOL_SOCKET, _SO_NO_CHECK, 1)
            _lengthen_queue(self._socket)
            self._socket.bind(source)
        except OSError as error:
            self._socket.close()
            raise _failure(f"cannot send from UDP {source[0]}:{source[1]}", error) from error


class PacketSender(_Sender):
    """Onto an interface, as they are (packet(7)). TransportError without CAP_NET_RAW, or without the interface."""

    _target = b""

    def __init__(self, interface: str) -> None:
        super().__init__()
        self._where = f"interface {interface}"
        try:
            self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        except OSError as error:
            raise _failure(f"cannot open a packet socket on {interface}", error) from error
        try:
            _lengthen_queue(self._socket)
            self._socket.bind((interface, 0))
        except OSError as error:
            self._socket.close()
            raise _failure(f"cannot send on {self._where}", error) from error


def _lengthen_queue(sock: socket.socket) -> None:
    """Give the socket a send queue that holds many packets, as far as the kernel allows."""
    try:
        sock.setsockopt(socket.SOL_SOCKET, _SO_SNDBUFFORCE, _QUEUE_BYTES)
    except PermissionError:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _QUEUE_BYTES)


def _failure(what: str, error: OSError) -> TransportError:
    code = error.errno or 0
    return TransportError(f"{what}: {os.strerror(code)}" + (f": {_ADVICE[code]}" if code in _ADVICE else ""))
