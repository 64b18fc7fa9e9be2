"""RoCEv2 packets from a UDP socket: a soft NIC for everyone, without privileges."""

import errno
import functools
import socket
from collections.abc import Iterator

from framelane.models import wire
from framelane.models.errors import TransportError
from framelane.models.session import Session
from framelane.receiver import sockets

_CACHED_HEADERS = 64


class UdpPort:
    """A socket on the session's receiver address and UDP `port` (0: any free one, see `address`).

    The kernel takes Ethernet, IP and UDP away. They are put back as the ICRC needs them: IP ID 0 with DF, which is what
    our transmitters send, and the destination port of RoCEv2, whichever port the socket listens on.
    """

    ended = False

    def __init__(self, session: Session, port: int = wire.ROCE_PORT) -> None:
        self._source, self._local = session.source.endpoint(), session.receiver.endpoint()
        host = str(session.receiver.ip)
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            sockets.lengthen_queue(self._socket)
            self._socket.bind((host, port))
        except OSError as error:
            self._socket.close()
            raise TransportError(f"cannot listen on UDP {host}:{port}: {_advice(error, port)}") from error
        self._header = functools.lru_cache(_CACHED_HEADERS)(self._make_header)

    @property
    def address(self) -> tuple[str, int]:
        """The IP address and the port on which the socket listens."""
        host, port = self._socket.getsockname()
        return str(host), int(port)

    @property
    def queue_drops(self) -> int:
        """See `Port`."""
        return sockets.queue_drops(self._socket)

    def frames(self, timeout_s: float) -> Iterator[bytes]:
        """See `Port`."""
        for data, (host, src_port) in sockets.fetch(self._socket, timeout_s):
            yield self._header(host, src_port, len(data)) + data

    def close(self) -> None:
        """See `Port`."""
        self._socket.close()

    def _make_header(self, host: str, src_port: int, size: int) -> bytes:
        """Ethernet, IPv4 and UDP in front of a datagram of `size` bytes from `host` and `src_port`."""
        src = wire.Endpoint(self._source.mac, int.from_bytes(socket.inet_aton(host), "big"))
        rest = size - wire.BTH_BYTES - wire.ICRC_BYTES
        headers = wire.Headers(src, self._local, src_port, opcode=0, dest_qpn=0, psn=0, payload_bytes=rest)
        return wire.pack(headers)[: wire.ETH_BYTES + wire.IP_BYTES + wire.UDP_BYTES]


def _advice(error: OSError, port: int) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"the port is in use: stop the process that holds it (`ss -lunp sport = :{port}`), or give another port"
    if error.errno == errno.EADDRNOTAVAIL:
        return "no interface of this machine has that address (see `ip -br addr`): correct the session's receiver.ip"
    return f"{error.strerror}"
