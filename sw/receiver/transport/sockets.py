"""What the sockets of the soft NIC have in common: a long queue, its drops, and waiting for it (socket(7))."""

import math
import select
import socket
import struct

_SO_RCVBUFFORCE = 33
"""SO_RCVBUF without the limit of net.core.rmem_max; needs CAP_NET_ADMIN."""
_SO_MEMINFO = 55
_MEMINFO_DROPS = 8
"""linux/sock_diag.h: the ninth number is sk_drops."""
QUEUE_BYTES = 64 << 20
"""Asked of the kernel; without privilege it gives net.core.rmem_max at most."""
BATCH = 8192
"""Most packets of one poll: finished frames are served even while a source never pauses."""


def lengthen_queue(sock: socket.socket) -> None:
    """Give the socket the longest receive queue that the kernel allows."""
    try:
        sock.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, QUEUE_BYTES)
    except PermissionError:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, QUEUE_BYTES)


def queue_drops(sock: socket.socket) -> int:
    """Packets that the kernel dropped because the queue was full."""
    numbers = sock.getsockopt(socket.SOL_SOCKET, _SO_MEMINFO, 4 * (_MEMINFO_DROPS + 1))
    return int(struct.unpack_from("=I", numbers, 4 * _MEMINFO_DROPS)[0])


def wait(sock: socket.socket, timeout_s: float) -> bool:
    """Whether something to read, or an error, comes within `timeout_s`, which is rounded up to milliseconds."""
    poller = select.poll()
    poller.register(sock, select.POLLIN)
    return bool(poller.poll(math.ceil(timeout_s * 1000)))
