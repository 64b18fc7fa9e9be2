"""What is known of a frame when it has ended: its first bytes and its length."""

from dataclasses import dataclass

BEAT_BYTES = 8
LENGTH_MAX = 2040
"""The longest frame whose length is told apart."""
TOO_LONG = 2047
"""The length of all longer ones."""


@dataclass(frozen=True, slots=True)
class FrameHead:
    """`first` has fewer bytes than were asked for where the frame has no more."""

    first: bytes
    length: int


def head(frame: bytes, beats: int) -> FrameHead:
    """The head of so many beats of 64 bits."""
    return FrameHead(frame[: beats * BEAT_BYTES], len(frame) if len(frame) <= LENGTH_MAX else TOO_LONG)
