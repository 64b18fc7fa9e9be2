"""When the packets of a capture were taken."""

import struct

import numpy as np
from numpy.typing import NDArray

from framelane.models.roce_tx.packet_batch import Batch
from framelane.packets._pcap_records import RECORD_BYTES

_NANOSECONDS = b"\xa1\xb2\x3c\x4d"


def times_ns(capture: Batch) -> NDArray[np.int64]:
    """Nanoseconds since 1970 of every packet of a capture that `pcap.load` has loaded whole."""
    order, scale = _format(capture)
    at = (capture.starts - RECORD_BYTES)[:, None] + np.arange(8)
    seconds, fraction = capture.memory[at].view(f"{order}u4").astype(np.int64).T
    times: NDArray[np.int64] = seconds * 10**9 + fraction * scale
    return times


def time_ns(capture: Batch, index: int) -> int:
    """The time of one packet, in ns since 1970."""
    order, scale = _format(capture)
    at = int(capture.starts[index]) - RECORD_BYTES
    seconds, fraction = struct.unpack(f"{order}II", capture.memory[at : at + 8].tobytes())
    return int(seconds) * 10**9 + int(fraction) * scale


def _format(capture: Batch) -> tuple[str, int]:
    """The order of bytes, and how many nanoseconds the fraction of a second counts."""
    magic = capture.memory[:4].tobytes()
    return (
        ">" if magic[0] == _NANOSECONDS[0] else "<",
        1 if magic in (_NANOSECONDS, _NANOSECONDS[::-1]) else 1000,
    )
