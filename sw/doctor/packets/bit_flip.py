"""One flipped bit found by its CRC: the difference of two CRCs of equal length depends on the flipped bits only."""

from framelane.doctor.packets.dissect import Packet

_POLYNOMIAL = 0xEDB88320
"""The polynomial of Ethernet's CRC-32, reflected."""


class BitFlips:
    """Which single bit makes which difference. A flip n bits before the end shifts the register n times more."""

    def __init__(self) -> None:
        self._distances: dict[int, int] = {}
        """Bits from the flipped one to the end, by the difference it makes."""
        self._state = 1

    def find(self, packet: Packet, difference: int) -> str | None:
        """The one bit whose flip makes the ICRC differ by `difference`, in words; None where no single bit does."""
        if difference.bit_count() == 1:
            return f"bit {difference.bit_length() - 1} of the ICRC itself"
        covered = packet.icrc_at - packet.ip_at
        self._reach(8 * covered)
        distance = self._distances.get(difference)
        if distance is None or distance >= 8 * covered:
            return None
        back, bit = divmod(distance, 8)
        byte = packet.icrc_at - 1 - back
        return f"bit {7 - bit} of byte {byte} of the frame ({_place(packet, byte)})"

    def _reach(self, bits: int) -> None:
        """Know all differences up to so many bits before the end. Bytes go in least significant bit first."""
        state = self._state
        for distance in range(len(self._distances), bits):
            state = state >> 1 ^ _POLYNOMIAL if state & 1 else state >> 1
            self._distances[state] = distance
        self._state = state


def _place(packet: Packet, byte: int) -> str:
    if byte >= packet.payload_at:
        return f"byte {byte - packet.payload_at} of the payload or pad"
    if byte >= packet.udp_at + 20:
        return "RETH or ImmDt"
    if byte >= packet.udp_at + 8:
        return "BTH"
    return "UDP header" if byte >= packet.udp_at else "IP header"
