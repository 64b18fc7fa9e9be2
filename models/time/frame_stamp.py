"""Which time a frame's first beat gets (`frame_stamp`)."""

from enum import IntEnum


class Stamp(IntEnum):
    """`time.control.frames`: whose time a frame's timestamp is."""

    OWN = 0
    PIXEL = 1
    TRIGGER = 2


def stamp(mode: Stamp, own: int, pixel: int, trigger: int) -> int:
    """`timestamp_ns` of a frame: what it brings, when its first beat was offered first, or the last trigger by then."""
    return {Stamp.PIXEL: pixel, Stamp.TRIGGER: trigger}.get(mode, own)
