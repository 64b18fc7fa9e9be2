"""Which packets `ptp_tap` keeps (IEEE 1588-2019, annexes C and E)."""

MOST_BYTES = 128
ETHERTYPE_PTP, ETHERTYPE_IPV4, ETHERTYPE_VLAN = 0x88F7, 0x0800, 0x8100
PORTS = (319, 320)
PROTOCOL_UDP = 17


def keeps(packet: bytes) -> bool:
    """Whether a packet, from its Ethernet header on and without FCS, carries PTP and fits."""
    if len(packet) > MOST_BYTES:
        return False
    at = 16 if int.from_bytes(packet[12:14], "big") == ETHERTYPE_VLAN else 12
    kind = int.from_bytes(packet[at : at + 2], "big")
    ip = packet[at + 2 :]
    is_udp = kind == ETHERTYPE_IPV4 and ip[:1] == b"\x45" and ip[9:10] == bytes([PROTOCOL_UDP])
    return kind == ETHERTYPE_PTP or (is_udp and int.from_bytes(ip[22:24], "big") in PORTS)
