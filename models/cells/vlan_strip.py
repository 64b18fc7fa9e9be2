"""Frames without their VLAN tag (IEEE 802.1Q, 9.6: four bytes behind the addresses)."""

from framelane.models.roce_tx import wire
from framelane.models.station.rx_filter import RxUser

_ADDRESSES = wire.ETH_BYTES - 2


def strip(frame: bytes, user: RxUser) -> bytes:
    """`frame` without the tag that `user` says it has."""
    return frame if user.tci is None else frame[:_ADDRESSES] + frame[_ADDRESSES + wire.VLAN_BYTES :]
