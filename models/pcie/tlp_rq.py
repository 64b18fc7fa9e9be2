"""What an UltraScale+ PCIe block is asked to send: one TLP on its requester request interface (PG213)."""

from framelane.models.pcie.tlp_join import Sent

BEAT = 64
"""Bytes of a beat."""
HALF = 32
"""A TLP begins at a multiple of so many bytes."""
MEMORY_READ = 0b0000
MEMORY_WRITE = 0b0001


def descriptor(sent: Sent) -> bytes:
    """The 16 bytes in front of the payload (PG213, Requester Request Descriptor Formats)."""
    low = sent.tlp.dw_address
    kind = MEMORY_WRITE if sent.fence is None else MEMORY_READ
    high = sent.tlp.dwords | kind << 75 - 64 | (sent.fence or 0) << 96 - 64
    return (low | high << 64).to_bytes(16, "little")


def halves(sent: Sent) -> int:
    """How many halves of beats a TLP takes."""
    return -(-(16 + 4 * sent.tlp.dwords) // HALF) if sent.fence is None else 1
