"""What a UDP socket can send of packets that somebody has captured, and what it changes of them."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from framelane.models.roce_tx import wire
from framelane.models.roce_tx.packet_batch import Batch
from framelane.session.session import Session

_LEAST = wire.ETH_BYTES + wire.IP_BYTES + wire.UDP_BYTES
_DONT_FRAGMENT = 0x4000


@dataclass(frozen=True, slots=True, eq=False)
class UdpView:
    """`indices` of the packets that a UDP socket can send, and their `batch` from an Ethernet header without VLAN tag

    on, without padding behind IPv4. `spoilt` of them had addresses, a source port, an IP ID or flags that the socket
    does not send: their ICRC, which covers these, fits no more.
    """

    indices: NDArray[np.int64]
    batch: Batch
    spoilt: int


def udp_view(packets: Batch, session: Session) -> UdpView:
    """Those of `packets` that are UDP over IPv4 to the port of RoCEv2, as the socket of the session sends them."""
    data, starts, lengths = packets.memory, packets.starts, packets.sizes
    indices = np.flatnonzero(lengths >= _LEAST + wire.VLAN_BYTES)
    starts, lengths = starts[indices], lengths[indices]

    def word(at: NDArray[np.int64]) -> NDArray[np.int64]:
        return data[at].astype(np.int64) << 8 | data[at + 1]

    tagged = word(starts + 12) == wire.ETHERTYPE_VLAN
    starts, lengths = starts + wire.VLAN_BYTES * tagged, lengths - wire.VLAN_BYTES * tagged
    ip, udp = starts + wire.ETH_BYTES, starts + wire.ETH_BYTES + wire.IP_BYTES
    ip_bytes = word(ip + 2)
    fits = (word(ip - 2) == wire.ETHERTYPE_IPV4) & (data[ip] == 0x45) & (data[ip + 9] == wire.PROTOCOL_UDP)
    fits &= (word(udp + 2) == wire.ROCE_PORT) & (ip_bytes >= wire.IP_BYTES + wire.UDP_BYTES)
    fits &= ip_bytes <= lengths - wire.ETH_BYTES
    source, receiver = (int(node.ip) for node in (session.source, session.receiver))

    def address(at: NDArray[np.int64]) -> NDArray[np.int64]:
        return word(at) << 16 | word(at + 2)

    same = (address(ip + 12) == source) & (address(ip + 16) == receiver) & (word(udp) == session.src_port)
    same &= (word(ip + 4) == 0) & (word(ip + 6) == _DONT_FRAGMENT)
    kept = Batch(data, starts[fits], wire.ETH_BYTES + ip_bytes[fits])
    return UdpView(indices[fits], kept, int(np.count_nonzero(fits & ~same)))
