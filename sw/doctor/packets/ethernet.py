"""Ethernet: is the frame for the receiver's interface, and does it carry IPv4 as it must?"""

from collections.abc import Iterator

from framelane.doctor.cause import Cause, Finding, Kind, Placer, found
from framelane.doctor.packets.dissect import Packet
from framelane.doctor.target import Target, mac_text
from framelane.models.roce_tx.wire import ETHERTYPE_IPV4, ETHERTYPE_VLAN
from framelane.receiver.transport.refusals import Refusal

ETHERTYPE_ROCE_V1 = 0x8915
ETHERTYPE_IPV6 = 0x86DD
_GROUP = 1 << 40
_LOWEST_ETHERTYPE = 0x600

CUT = Cause(
    "cut-by-capture",
    Kind.FAULT,
    "the capture holds only the beginning of the packet: nothing can be said of its payload and ICRC, and from here on "
    "of messages and frames",
    "capture whole packets: `tcpdump -s 0`",
)
SHORT = Cause(
    "short-frame",
    Kind.FAULT,
    "the frame ends within its headers",
    "look at what builds the frame: the end of the packet was lost before the MAC",
    Placer.ALL,
    Refusal.ETHERNET,
)
MAC = Cause(
    "mac",
    Kind.FAULT,
    "the destination MAC is not the receiver's: the NIC does not take the frame",
    "give the source the MAC of the session, or of the next router; see `ip link` at the receiver",
    Placer.ALL,
    Refusal.DESTINATION,
)
MAC_REVERSED = Cause(
    "mac-reversed",
    Kind.FAULT,
    "the bytes of the destination MAC are in reverse order",
    "the first byte of the MAC goes on the wire first: swap the bytes in the source's configuration",
    Placer.ALL,
    Refusal.DESTINATION,
)
MAC_GROUP = Cause(
    "mac-group",
    Kind.FAULT,
    "the destination MAC is broadcast or multicast: an RC or UC packet goes to one receiver",
    "give the source the MAC of the session; all ones or 01:00:5e means that it was never set or ARP has failed",
    Placer.ALL,
    Refusal.DESTINATION,
)
MAC_LOOPBACK = Cause(
    "mac-loopback",
    Kind.WARNING,
    "all MAC addresses are zero: a capture on the loopback interface, which has none",
    "nothing, with `--transport udp`; AF_PACKET and NICs compare the MAC, so send over a real interface or veth",
    Placer.ALL,
    Refusal.DESTINATION,
)
SOURCE_MAC = Cause(
    "source-mac",
    Kind.NOTE,
    "the source MAC is not the session's: it is placed all the same, a router has changed it, or it is another board",
    "nothing, if a router is in between",
)
VLAN = Cause(
    "vlan",
    Kind.WARNING,
    "the frame has a VLAN tag: a NIC takes it only on an interface of this VLAN",
    "let the switch take the tag away (access port), or put the receiver's address on a VLAN interface: "
    "`ip link add link IF name IF.ID type vlan id ID`",
    Placer.NICS,
)
VLAN_PRIORITY = Cause(
    "vlan-priority", Kind.NOTE, "a priority tag (VLAN 0): taken as an untagged frame", "nothing: PFC uses it"
)
VLAN_STACKED = Cause(
    "vlan-stacked",
    Kind.FAULT,
    "the frame has several VLAN tags, or a service tag (0x88a8)",
    "let the switch take the outer tag away",
    Placer.ALL,
    Refusal.ETHERNET,
)
ETHERTYPE = Cause(
    "ethertype",
    Kind.FAULT,
    "the EtherType is not IPv4's 0x0800, though an IPv4 header follows",
    "set the EtherType to 0x0800, high byte first",
    Placer.ALL,
    Refusal.ETHERNET,
)
ROCE_V1 = Cause(
    "roce-v1",
    Kind.FAULT,
    "RoCE v1 (EtherType 0x8915): there is no IP and UDP header",
    "switch the source to RoCE v2",
    Placer.ALL,
    Refusal.ETHERNET,
)
IPV6 = Cause(
    "ipv6",
    Kind.FAULT,
    "RoCE v2 over IPv6: the session is of IPv4",
    "give the source the session's IPv4 addresses",
    Placer.ALL,
    Refusal.ETHERNET,
)


def check(packet: Packet, target: Target) -> Iterator[Finding]:
    """What is wrong with the Ethernet header of a packet that is meant for the session."""
    if packet.is_cut:
        yield found(CUT, f"{len(packet.frame)} of {packet.wire_bytes} bytes were captured")
    yield from _check_mac(packet, target)
    yield from _check_tags(packet)
    if packet.ethertype not in (ETHERTYPE_IPV4, -1):
        yield found(ETHERTYPE, f"EtherType {packet.ethertype:#06x}, should be 0x0800")
    elif packet.ip is None and not packet.is_cut:
        yield found(SHORT, f"{len(packet.frame)} bytes hold no Ethernet and IPv4 header")


def _check_mac(packet: Packet, target: Target) -> Iterator[Finding]:
    mac, wanted = packet.dst_mac, target.dst_mac
    if mac != wanted and len(packet.frame) >= 6:
        if not mac and not packet.src_mac:
            cause = MAC_LOOPBACK
        elif mac.to_bytes(6, "little") == wanted.to_bytes(6, "big"):
            cause = MAC_REVERSED
        else:
            cause = MAC_GROUP if mac & _GROUP else MAC
        yield found(cause, f"destination MAC {mac_text(mac)}, should be {mac_text(wanted)}")
    elif packet.src_mac != target.src_mac and len(packet.frame) >= 12:
        yield found(SOURCE_MAC, f"source MAC {mac_text(packet.src_mac)}, in the session {mac_text(target.src_mac)}")


def _check_tags(packet: Packet) -> Iterator[Finding]:
    tags = packet.tags
    if not tags:
        return
    text = ", ".join(f"{tpid:#06x} VLAN {tci & 0xFFF} priority {tci >> 13}" for tpid, tci in tags)
    if len(tags) > 1 or tags[0][0] != ETHERTYPE_VLAN:
        yield found(VLAN_STACKED, f"tags {text}: at most one of 0x8100")
    elif tags[0][1] & 0xFFF:
        yield found(VLAN, f"tag {text}; the session knows none")
    else:
        yield found(VLAN_PRIORITY, f"tag {text}")


CAUSES = (
    *(CUT, SHORT, MAC, MAC_REVERSED, MAC_GROUP, MAC_LOOPBACK, SOURCE_MAC, VLAN, VLAN_PRIORITY, VLAN_STACKED),
    *(ETHERTYPE, ROCE_V1, IPV6),
)
