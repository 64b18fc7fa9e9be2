"""Senders: a transmitter's packets onto a real network, for a receiver to take. The caller paces them."""

import errno
import itertools
import os
import socket
import struct
from collections.abc import Callable, Iterable
from typing import Self

from framelane.base.errors import TransportError
from framelane.models.roce_tx import wire
from framelane.models.roce_tx.packet_batch import Batch
from framelane.models.roce_tx.roce_qp import ENTROPY_PORTS
from framelane.session.session import Session
from framelane.source._full_queue import FULL, PATIENCE_S, FullQueue
from framelane.source._sendmmsg import Messages

_IP_MTU_DISCOVER, _IP_PMTUDISC_DO = 10, 2
"""linux/in.h: set DF, never fragment."""
_IP_RECVERR = 11
"""linux/in.h: what comes back by ICMP is an error of the next packet (ip(7))."""
_SO_NO_CHECK = 11
"""UDP checksum 0, as the transmitter sends it."""
_SO_SNDBUFFORCE = 32
"""SO_SNDBUF without the limit of net.core.wmem_max; needs CAP_NET_ADMIN."""
_QUEUE_BYTES = 4 << 20
_HEADERS = wire.ETH_BYTES + wire.IP_BYTES + wire.UDP_BYTES
_AT_ONCE = 512
"""Packets that are collected for one call."""
_NO_PACKET_SOCKET = "run as root, or with the capability CAP_NET_RAW"
_STUCK = "is the link up, or paused by the switch?"
_ADVICE = {
    errno.EPERM: "a firewall rule of this machine forbids it (chain OUTPUT: see `nft list ruleset`, `iptables -S`)",
    errno.EACCES: "that is a broadcast address, or a firewall of this machine forbids it",
    errno.EADDRINUSE: "stop the process that holds it (`ss -unap` lists them), or change the session's src_port",
    errno.EADDRNOTAVAIL: "no interface here has that address (see `ip -br addr`), correct the session's source.ip",
    errno.EMSGSIZE: "lower the session's mtu, or raise the interface's (`ip link set DEV mtu 9000`)",
    errno.ENETDOWN: "bring the interface up (`ip link set DEV up`)",
    errno.ENODEV: "choose one of those that `ip -br link` lists",
    errno.ENXIO: "the interface is gone, choose one of those that `ip -br link` lists",
    errno.ENETUNREACH: "there is no way to that address (see `ip route get ADDRESS`)",
    errno.EHOSTUNREACH: "that address does not answer (see `ip neigh`): is its machine on, and the cable in?",
    errno.ENOBUFS: f"the interface has taken none for {PATIENCE_S:g} s: {_STUCK}",
    errno.EAGAIN: f"the socket has taken none for {PATIENCE_S:g} s: {_STUCK}",
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
        self.stopped: Callable[[], bool] = lambda: False
        """Asked while the send queue is full: once it is true, the rest is given up soon."""

    def send(self, frames: Iterable[bytes]) -> None:
        """Send packets, given as Ethernet frames without FCS, in order. Waits while the send queue is full.

        TransportError where it stays full for 5 s, or for 1 s after `stopped` said to stop, and for any other error.
        """
        left = iter(frames)
        while chunk := list(itertools.islice(left, _AT_ONCE)):
            self.send_batch(Batch.of(chunk))

    def send_batch(self, batch: Batch) -> None:
        """The same for many of them, in as few calls as possible. They may be changed as soon as this returns."""
        messages = Messages(batch, self._skipped, self._target)
        queue = FullQueue(self._socket, self.stopped)
        sent = 0
        while sent < len(messages):
            try:
                sent += messages.send(self._socket.fileno(), sent)
                queue.taken()
            except OSError as error:
                if not self._may_try_again(error, queue):
                    what = f"cannot send a packet of {messages.length(sent)} bytes to {self._where}"
                    if queue.stopped:
                        raise TransportError(f"{what}: ended while the send queue was full: {_STUCK}") from error
                    raise _failure(what, error) from error

    def _may_try_again(self, error: OSError, queue: FullQueue) -> bool:
        """Whether the same packets can still leave, after a wait where that helps."""
        if error.errno == errno.ECONNREFUSED:
            self.unheard += 1
            return True
        return error.errno == errno.EINTR or (error.errno in FULL and queue.wait(error.errno))

    def close(self) -> None:
        """Free the socket. May be called twice."""
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def udp_session(session: Session, source: int) -> Session:
    """`session` as a UDP socket sends it that is its source number `source`: from port `src_port` + `source`.

    The sources of one machine cannot share a port. After port 65535 comes 0xC000.
    """
    port = session.src_port + source
    return session.model_copy(update={"src_port": port if port < 1 << 16 else port - (1 << 16) + ENTROPY_PORTS})


class UdpPath(_Sender):
    """From a UDP socket bound to `source`, to `target`, which may be changed (`aim`): no privileges, any IP network.

    Both are an IPv4 address and a port.

    The ICRC covers the addresses, the source port and the IP ID, which the kernel makes: on a socket that sets DF and
    is not connected it sends ID 0, as our transmitters do. TransportError when the source's address or port cannot be
    had.
    """

    _skipped = _HEADERS

    def __init__(self, source: tuple[str, int], target: tuple[str, int]) -> None:
        super().__init__()
        self.aim(target)
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

    def aim(self, target: tuple[str, int]) -> None:
        """What is sent from now on goes there."""
        host, port = target
        # struct sockaddr_in (ip(7)).
        self._target = struct.pack("=H", socket.AF_INET) + struct.pack(">H4s8x", port, socket.inet_aton(host))
        self._where = f"UDP {host}:{port}"


class UdpSender(UdpPath):
    """From the session's source to UDP `port` of its receiver: a `UdpPath`."""

    def __init__(self, session: Session, port: int = wire.ROCE_PORT) -> None:
        super().__init__((str(session.source.ip), session.src_port), (str(session.receiver.ip), port))


class PacketSender(_Sender):
    """Onto an interface, as they are (packet(7)). TransportError without CAP_NET_RAW, or without the interface."""

    _target = b""

    def __init__(self, interface: str) -> None:
        super().__init__()
        self._where = f"interface {interface}"
        try:
            self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        except OSError as error:
            advice = _NO_PACKET_SOCKET if error.errno == errno.EPERM else None
            raise _failure(f"cannot open a packet socket on {interface}", error, advice) from error
        try:
            _lengthen_queue(self._socket)
            self._socket.bind((interface, 0))
        except UnicodeError as error:
            self._socket.close()
            raise TransportError(
                f"{interface!r} is not a name of an interface: its bytes are not text in UTF-8"
            ) from error
        except OSError as error:
            self._socket.close()
            raise _failure(f"cannot send on {self._where}", error) from error


def _lengthen_queue(sock: socket.socket) -> None:
    """Give the socket a send queue that holds many packets, as far as the kernel allows."""
    try:
        sock.setsockopt(socket.SOL_SOCKET, _SO_SNDBUFFORCE, _QUEUE_BYTES)
    except PermissionError:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _QUEUE_BYTES)


def _failure(what: str, error: OSError, advice: str | None = None) -> TransportError:
    """What could not be done, why, and what to do: `advice`, or what fits most errors of this kind."""
    code = error.errno or 0
    advice = advice or _ADVICE.get(code)
    return TransportError(f"{what}: {os.strerror(code)}" + (f": {advice}" if advice else ""))
