"""Which time a frame's first beat gets, and what it is worth (`frame_stamp`)."""

from enum import IntEnum


class Stamp(IntEnum):
    """`time.control.frames`: whose time a frame's timestamp is."""

    OWN = 0
    PIXEL = 1
    TRIGGER = 2


def stamp(mode: Stamp, own: int, pixel: int, trigger: int) -> int:
    """`timestamp_ns` of a frame: what it brings, when its first beat was offered first, or the last trigger by then."""
    return {Stamp.PIXEL: pixel, Stamp.TRIGGER: trigger}.get(mode, own)


def flags(mode: Stamp, own: int, quality: int) -> int:
    """`time_flags` of a frame: what it brings, or `quality` of the clock (`time.quality`) and whose time it is."""
    return own if mode is Stamp.OWN else quality & ~(1 << 6) | 1 | (mode is Stamp.TRIGGER) << 6
