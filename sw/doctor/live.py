"""Listening: everything that comes in on an interface for some seconds, with VLAN tags and times (packet(7))."""

import errno
import os
import socket
import struct
import time
from dataclasses import dataclass, field

from framelane.base.errors import TransportError
from framelane.doctor.capture import Captured
from framelane.receiver.transport import sockets

_ETH_P_ALL = 3
_SOL_PACKET, _ADD_MEMBERSHIP, _AUXDATA, _MR_PROMISC = 263, 1, 8, 1
_SO_TIMESTAMPNS = 35
_OUTGOING = 4
_VLAN_VALID, _VLAN_TPID_VALID = 0x10, 0x40
_AUX = struct.Struct("=IIIHHHH")
"""struct tpacket_auxdata: status, len, snaplen, mac, net, vlan_tci, vlan_tpid (linux/if_packet.h)."""
_LONGEST = 1 << 16
_MOST_BYTES = 512 << 20


@dataclass(slots=True)
class Heard:
    """What came: `missed` packets did not fit the queue, and look lost; `full`: it was stopped for want of memory."""

    packets: list[Captured] = field(default_factory=list)
    missed: int = 0
    full: bool = False


def listen(interface: str, seconds: float) -> Heard:
    """Take all packets of `interface` for so many seconds, those for other MAC addresses too (promiscuous meanwhile).

    TransportError where there is no such interface, it is down, or CAP_NET_RAW is missing.
    """
    heard, total = Heard(), 0
    try:
        with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0) as sock:
            _prepare(sock, interface)
            end = time.monotonic() + seconds
            while (left := end - time.monotonic()) > 0 and not heard.full:
                sock.settimeout(left)
                try:
                    captured = _take(sock, interface)
                except TimeoutError:
                    break
                if captured:
                    heard.packets.append(captured)
                    total += len(captured[1])
                    heard.full = total > _MOST_BYTES
            heard.missed = sockets.queue_drops(sock)
    except OSError as error:
        raise _failure(interface, error) from error
    return heard


def _prepare(sock: socket.socket, interface: str) -> None:
    index = socket.if_nametoindex(interface)
    sock.setsockopt(_SOL_PACKET, _AUXDATA, 1)
    sock.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
    sockets.lengthen_queue(sock)
    sock.setsockopt(_SOL_PACKET, _ADD_MEMBERSHIP, struct.pack("=iHH8s", index, _MR_PROMISC, 0, b""))
    sock.bind((interface, _ETH_P_ALL))
    pending = sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
    if pending:
        raise OSError(pending, os.strerror(pending))


def _take(sock: socket.socket, interface: str) -> Captured | None:
    """One packet; None where it is seen once more, on its way out of the loopback interface."""
    frame, extras, _, address = sock.recvmsg(_LONGEST, 256)
    if address[2] == _OUTGOING and interface == "lo":
        return None
    time_ns, size = time.time_ns(), len(frame)
    for level, kind, data in extras:
        if level == socket.SOL_SOCKET and kind == _SO_TIMESTAMPNS:
            seconds, nanoseconds = struct.unpack("=qq", data[:16])
            time_ns = seconds * 10**9 + nanoseconds
        elif level == _SOL_PACKET and kind == _AUXDATA:
            status, wire_bytes, _, _, _, tci, tpid = _AUX.unpack(data[: _AUX.size])
            size = max(size, wire_bytes)
            if status & _VLAN_VALID:  # the kernel has taken the tag away
                tpid = tpid if status & _VLAN_TPID_VALID else 0x8100
                frame = frame[:12] + struct.pack(">HH", tpid, tci) + frame[12:]
                size += 4
    return time_ns, frame, size


def _failure(interface: str, error: OSError) -> TransportError:
    there = ", ".join(name for _, name in socket.if_nameindex())
    advice = {
        errno.EPERM: "run as root, or with the capability CAP_NET_RAW",
        errno.ENODEV: f"choose one of {there}",
        errno.ENETDOWN: f"bring it up, `ip link set {interface} up`",
    }.get(error.errno or errno.ENODEV, f"choose one of {there}")
    return TransportError(f"cannot listen on {interface}: {error.strerror or error}: {advice}")
