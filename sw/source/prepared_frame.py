"""An image as packets that are ready but for what a frame's number decides."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from framelane.models.roce_tx import roce_icrc, wire
from framelane.models.roce_tx.packet_batch import Batch
from framelane.source._stamping import PACKET, change_tables

_WORD = wire.IP_BYTES + wire.UDP_BYTES + 8
"""From the IPv4 header to the word of AckReq and PSN, the last of the BTH."""


@dataclass(frozen=True, slots=True, eq=False)
class PreparedFrame:
    """The packets of an image and its trailer in `batch`; `packets` (`_stamping.PACKET`) are those of the image.

    `trailer_at` is where the word of AckReq and PSN of the trailer's packet lies in the batch's data, `trailer_crc` the
    CRC-32 of what its ICRC covers in front of that word.
    """

    batch: Batch
    packets: NDArray[Any]
    tables: NDArray[np.uint32]
    trailer_at: int
    trailer_crc: int

    @classmethod
    def of(cls, frames: list[bytes], ends: NDArray[np.intp]) -> Self:
        """Prepare frames with PSNs from 0 on and without AckReq, the trailer last; `ends` end a message."""
        batch = Batch.of(frames)
        starts = batch.starts.tolist()
        distances = [len(frame) - wire.ip_offset(frame) - _WORD - wire.ICRC_BYTES for frame in frames[:-1]]
        shapes = sorted(set(distances))
        packets = np.zeros(len(frames) - 1, PACKET)
        for row, frame, start, distance in zip(packets, frames, starts, distances, strict=False):
            icrc = len(frame) - wire.ICRC_BYTES
            row["word"], row["icrc"] = start + icrc - distance, start + icrc
            row["value"] = int.from_bytes(frame[icrc:], "little")
            row["shape"] = shapes.index(distance)
            reth = wire.parse(frame)[0].reth
            row["reth"], row["address"] = reth is not None, reth.address if reth else 0
        packets["ends"][ends] = True
        at = wire.ip_offset(frames[-1]) + _WORD
        return cls(
            Batch(batch.memory.copy(), batch.starts, batch.sizes),
            packets,
            np.stack([change_tables(distance) for distance in shapes]),
            starts[-1] + at,
            roce_icrc.icrc(frames[-1][:at]),
        )
