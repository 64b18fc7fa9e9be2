"""What `ptp_send` sends of the words that software wrote."""

from collections.abc import Sequence

from framelane.models.time.ptp_tap import MOST_BYTES


def packet(words: Sequence[int], length: int) -> bytes:
    """The packet of `length` bytes in 32 words, the first byte in the lowest bits; empty for a wrong length."""
    if not 1 <= length <= MOST_BYTES:
        return b""
    return b"".join(word.to_bytes(4, "little") for word in words)[:length]
