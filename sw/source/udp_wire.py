"""A transmitter's packets onto an IP network, by the addresses that they have: many receivers, no session known."""

import errno
import os
import socket
import struct

from framelane.base.errors import TransportError
from framelane.models.roce_tx import wire
from framelane.source.sender import UdpPath

_IPV4 = wire.ETHERTYPE_IPV4.to_bytes(2, "big")
_ROCE = wire.ROCE_PORT.to_bytes(2, "big")
_RC_OPCODES = 0x1F
"""BTH opcodes of RC are not above (InfiniBand vol. 1, table 35)."""
_MOST_BYTES = 64
"""What answers RC is shorter: acknowledgements have 20 bytes, CNPs 32 (annex A17). Longer packets are not for us."""
_LEAST_BYTES = wire.IP_BYTES + wire.UDP_BYTES + wire.BTH_BYTES
_AT_ONCE = 256


class UdpWire:
    """Sends RoCEv2 packets from the address and UDP port that each has to `port` of the address that it goes to.

    A tag of a VLAN stays behind: a socket has none. Other packets than RoCEv2 are not sent. What answers packets of RC
    is heard at the same `port` of their source. `lost` counts packets that cannot be sent, `faults` says why: each
    sentence once. Close it.
    """

    def __init__(self, port: int = wire.ROCE_PORT) -> None:
        self._port = port
        self._paths: dict[tuple[str, int], UdpPath] = {}
        self._ears: dict[str, socket.socket] = {}
        self._macs: dict[str, bytes] = {}
        """The MAC that packets have named for each end, which a socket does not tell."""
        self.lost = 0
        self.faults: list[str] = []
        self._said: set[str] = set()

    def send(self, packets: list[bytes]) -> None:
        """Send them, in order for each path."""
        by_path: dict[bytes, list[bytes]] = {}
        for packet in packets:
            ip = wire.ip_offset(packet)
            if (
                len(packet) < ip + _LEAST_BYTES  # an abort has cut it
                or packet[ip - 2 : ip] != _IPV4
                or packet[ip + 9] != wire.PROTOCOL_UDP
                or packet[ip + 22 : ip + 24] != _ROCE
            ):
                continue
            plain = packet if ip == wire.ETH_BYTES else packet[: wire.ETH_BYTES - 2] + packet[ip - 2 :]
            addresses = plain[wire.ETH_BYTES + 12 : wire.ETH_BYTES + wire.IP_BYTES + 2]
            by_path.setdefault(addresses, []).append(plain)
        for addresses, mine in by_path.items():
            source, target = socket.inet_ntoa(addresses[:4]), socket.inet_ntoa(addresses[4:8])
            if mine[0][wire.ETH_BYTES + wire.IP_BYTES + wire.UDP_BYTES] <= _RC_OPCODES:
                self._macs |= {target: mine[0][:6], source: mine[0][6:12]}
                self._listen(source)
            path = self._path((source, int.from_bytes(addresses[8:], "big")))
            try:
                if path is not None:
                    path.aim((target, self._port))
                    path.send(mine)
                    continue
            except TransportError as error:
                self._fault(str(error))
            self.lost += len(mine)

    def answers(self) -> list[bytes]:
        """What has come for the sources of RC since the last time, as Ethernet frames without FCS, not waiting."""
        frames = []
        for host, ear in self._ears.items():
            for _ in range(_AT_ONCE):
                try:
                    data, (peer, port) = ear.recvfrom(_MOST_BYTES + 1)
                except OSError:
                    break
                if len(data) <= _MOST_BYTES:
                    frames.append(self._frame(data, (peer, port), host))
        return frames

    def _frame(self, data: bytes, peer: tuple[str, int], host: str) -> bytes:
        """With the headers that the kernel has taken away: ID 0 and DF, as RoCEv2 is sent (annex A17)."""
        size = wire.UDP_BYTES + len(data)
        ends = socket.inet_aton(peer[0]) + socket.inet_aton(host)
        ip = struct.pack(">BBHHHBBH", 0x45, 0, wire.IP_BYTES + size, 0, 0x4000, 64, wire.PROTOCOL_UDP, 0) + ends
        ip = ip[:10] + wire.ip_checksum(ip).to_bytes(2, "big") + ends
        macs = self._macs[host] + self._macs.get(peer[0], bytes(6))
        return macs + _IPV4 + ip + struct.pack(">HHHH", peer[1], wire.ROCE_PORT, size, 0) + data

    def _listen(self, host: str) -> None:
        if host in self._ears:
            return
        ear = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            ear.setblocking(False)
            ear.bind((host, self._port))
        except OSError as error:
            ear.close()
            instead = ": a receiver has that address: give the transmitter another one" if _in_use(error) else ""
            self._fault(
                f"cannot hear what answers RC at UDP {host}:{self._port}: {os.strerror(error.errno or 0)}{instead}"
            )
            return
        self._ears[host] = ear

    def _path(self, source: tuple[str, int]) -> UdpPath | None:
        if source not in self._paths:
            try:
                self._paths[source] = UdpPath(source, (source[0], self._port))
            except TransportError as error:
                self._fault(str(error))
                return None  # tried again with the next packets: the address may come
        return self._paths[source]

    def _fault(self, sentence: str) -> None:
        if sentence not in self._said:
            self._said.add(sentence)
            self.faults.append(sentence)

    def close_paths(self) -> None:
        """Free what is sent from: a source's UDP port may be another one by now. What packets need is opened anew."""
        for path in self._paths.values():
            path.close()
        self._paths.clear()

    def close(self) -> None:
        """Free all sockets, as for other sources. What packets need is opened anew."""
        self.close_paths()
        for ear in self._ears.values():
            ear.close()
        self._ears.clear()
        self._macs.clear()
        self._said.clear()


def _in_use(error: OSError) -> bool:
    return error.errno == errno.EADDRINUSE
