"""RoCEv2 packets from an interface, as they are on the wire: a soft NIC beside the kernel's own stack (packet(7))."""

import ctypes
import errno
import mmap
import os
import socket
import struct
import threading

import numpy as np

from framelane.base.errors import TransportError
from framelane.models.roce_tx import wire
from framelane.models.roce_tx.packet_batch import EMPTY, Batch
from framelane.receiver.transport import sockets
from framelane.receiver.transport._packet_blocks import SMALLEST_BYTES, give_block, read_block

_SO_ATTACH_FILTER = 26
_SOL_PACKET, _PACKET_RX_RING, _PACKET_STATISTICS, _PACKET_VERSION, _TPACKET_V3 = 263, 5, 6, 10, 2
"""linux/if_packet.h."""
_BLOCK_BYTES = 256 << 10
"""Bytes of packets that are handed over together, when they are full: they fit the L2 cache."""
_FRAME_BYTES = 2048
"""Only checked by the kernel: packets of TPACKET_V3 lie densely."""
_RETIRE_MS = 1
"""A block that is not full is handed over after so long, as exactly as the kernel's clock ticks (1 to 10 ms)."""
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

    They are read where the kernel puts them, in a ring of blocks; a packet may wait some milliseconds until its block
    is handed over. Needs CAP_NET_RAW. The kernel's own stack sees the packets too: it answers those for its own address
    with ICMP "port unreachable" unless something holds UDP port 4791.
    """

    ended = False

    def __init__(self, interface: str) -> None:
        self._interface = interface
        _compile()
        try:
            self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        except OSError as error:
            raise _failure(interface, error) from error
        try:
            self._attach_filter()
            self._make_ring()
            # A socket for one EtherType gets what comes in, and not what goes out.
            self._socket.bind((interface, wire.ETHERTYPE_IPV4))
            self._raise_pending()
        except UnicodeError as error:
            self._socket.close()
            raise TransportError(
                f"{interface!r} is not a name of an interface: its bytes are not text in UTF-8"
            ) from error
        except OSError as error:
            self._socket.close()
            raise _failure(interface, error) from error
        self._block = 0
        """The one that is read now, or that the kernel hands over next."""
        self._read = False
        self._drops = 0
        self._asking = threading.Lock()
        """Held from the kernel's answer until it is added: it tells each drop once, whoever asks."""

    @property
    def queue_drops(self) -> int:
        """See `Port`."""
        with self._asking:
            return self._ask()

    def batch(self, timeout_s: float) -> Batch:
        """See `Port`."""
        if self._socket.fileno() < 0:
            raise TransportError(f"the port on interface {self._interface} is closed: make another")
        if self._read:
            give_block(self._words, self._block * self._block_bytes)
            self._block, self._read = (self._block + 1) % self._blocks, False
        count = self._look()
        if count <= 0 and timeout_s > 0 and self._wait(timeout_s):
            count = self._look()
        if count <= 0:
            return EMPTY
        return Batch(self._memory, self._starts[:count], self._sizes[:count])

    def close(self) -> None:
        """See `Port`."""
        with self._asking:
            self._ask()
            self._socket.close()
        self._memory, self._words = EMPTY.memory, EMPTY.memory.view(np.uint32)  # the mapping holds the socket open

    def _ask(self) -> int:
        if self._socket.fileno() >= 0:
            statistics = self._socket.getsockopt(_SOL_PACKET, _PACKET_STATISTICS, 12)
            self._drops += int(struct.unpack("=III", statistics)[1])  # since it was asked last
        return self._drops

    def _look(self) -> int:
        """How many packets the block holds, if it was handed over; it is read from then on."""
        count = read_block(self._words, self._block * self._block_bytes, self._starts, self._sizes)
        self._read = count >= 0
        return int(count)

    def _wait(self, timeout_s: float) -> bool:
        try:
            came = sockets.wait(self._socket, timeout_s)
            self._raise_pending()
        except OSError as error:
            raise _failure(self._interface, error) from error
        return came

    def _make_ring(self) -> None:
        self._block_bytes = min(_BLOCK_BYTES, sockets.QUEUE_BYTES // 2)
        self._blocks = sockets.QUEUE_BYTES // self._block_bytes
        frames = sockets.QUEUE_BYTES // _FRAME_BYTES
        wanted = struct.pack("=7I", self._block_bytes, self._blocks, _FRAME_BYTES, frames, _RETIRE_MS, 0, 0)
        self._socket.setsockopt(_SOL_PACKET, _PACKET_VERSION, _TPACKET_V3)
        self._socket.setsockopt(_SOL_PACKET, _PACKET_RX_RING, wanted)
        self._memory = np.frombuffer(mmap.mmap(self._socket.fileno(), sockets.QUEUE_BYTES), np.uint8)
        self._words = self._memory.view(np.uint32)
        self._starts, self._sizes = np.empty((2, self._block_bytes // SMALLEST_BYTES), np.int64)

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


def _compile() -> None:
    """Now, and not while packets come."""
    block, places = np.zeros(8, np.uint32), np.zeros(1, np.int64)
    read_block(block, 0, places, places)
    give_block(block, 0)


def _failure(interface: str, error: OSError) -> TransportError:
    advice = {
        errno.EPERM: "run as root, or with the capability CAP_NET_RAW",
        errno.ENODEV: f"choose one of {', '.join(name for _, name in socket.if_nameindex())}",
        errno.ENOMEM: f"the kernel has no {sockets.QUEUE_BYTES >> 20} MiB for its ring of packets: free some memory",
        errno.ENETDOWN: f"bring it up, `ip link set {interface} up`",
    }.get(error.errno or 0, "see packet(7)")
    return TransportError(f"cannot receive on interface {interface}: {os.strerror(error.errno or 0)}: {advice}")
