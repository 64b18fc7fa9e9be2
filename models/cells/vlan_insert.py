"""Frames with their VLAN tag (IEEE 802.1Q, 9.6: four bytes behind the addresses)."""

from framelane.models.roce_tx import wire

_ADDRESSES = wire.ETH_BYTES - 2


def insert(frame: bytes, tci: int | None) -> bytes:
    """`frame` with a tag of this control information; as it is for None."""
    if tci is None:
        return frame
    return frame[:_ADDRESSES] + wire.ETHERTYPE_VLAN.to_bytes(2, "big") + tci.to_bytes(2, "big") + frame[_ADDRESSES:]
