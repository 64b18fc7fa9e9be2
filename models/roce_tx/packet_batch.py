"""Packets side by side in one buffer: as they go to the kernel, or come from it, in one call."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Ethernet frames without FCS, in their order: `sizes[n]` bytes of `memory` from `starts[n]` on.

    `memory` is uint8, C-contiguous; the other two int64. A port may use the memory again for its next batch.
    """

    memory: NDArray[np.uint8]
    starts: NDArray[np.int64]
    sizes: NDArray[np.int64]

    @classmethod
    def of(cls, frames: Sequence[bytes]) -> Self:
        """A batch of these frames, copied into new, writable memory."""
        sizes = np.array([len(frame) for frame in frames], np.int64)
        return cls(np.frombuffer(bytearray(b"".join(frames)), np.uint8), np.cumsum(sizes) - sizes, sizes)

    def __len__(self) -> int:
        return len(self.starts)

    def __getitem__(self, index: int) -> bytes:
        start = self.starts[index]
        return self.memory[start : start + self.sizes[index]].tobytes()

    def __iter__(self) -> Iterator[bytes]:
        return (self[index] for index in range(len(self)))


EMPTY = Batch.of([])
