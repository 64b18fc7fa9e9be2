"""How each kernel is compiled and launched: what was fastest on one H200 (`framelane bench gpu`)."""

from typing import NamedTuple

GROUP = 8
"""Pixels of a thread: GROUP of kernels/streams.cuh."""

MOST_FRAMES = 64
"""Frames that are counted in one launch: MOST_FRAMES of kernels/counts.cuh."""


class Plan(NamedTuple):
    """The macros of kernels/streams.cuh, ring.cuh, found.cuh and sparse.cu, and how many blocks there are."""

    threads: int = 128
    resident: int = 8
    """Blocks that a multiprocessor holds at a time; the registers are enough for so many."""
    ahead: int = 1
    together: int = 1
    per_part: int = 0
    """Frames that a block takes; 0: as many as come to it, where there are as many blocks as the GPU holds."""
    per_job: int = 1
    """The same for the jobs of kernels/sparse.cu, 256 at most."""
    shared: int = 0
    """Bytes of its memory that a block has from the launch, where it needs more than 48 KB."""
    load: int = 0
    store: int = 0
    ringed: int = 0
    keep_g1: int = 0

    @property
    def macros(self) -> dict[str, int]:
        """Of this plan."""
        return {
            "THREADS": self.threads,
            "MIN_BLOCKS": self.resident,
            "AHEAD": self.ahead,
            "TOGETHER": self.together,
            "LOAD": self.load,
            "STORE": self.store,
            "RINGED": self.ringed,
            "KEEP_G1": self.keep_g1,
            "JOB_FRAMES": self.per_job,
            "DYNAMIC": self.shared,
        }

    def tiles(self, pixels: int) -> int:
        """Tiles of a frame."""
        return -(-pixels // (self.threads * GROUP))

    def blocks(self, pixels: int, frames: int, multiprocessors: int) -> int:
        """How many there are."""
        if self.per_part:
            return self.tiles(pixels) * -(-frames // self.per_part)
        return min(self.tiles(pixels) * frames, self.resident * multiprocessors)


SINGLE = {
    "correct_int16": Plan(resident=12),
    "correct_int16_counted": Plan(resident=10, load=3),
    "correct_float32": Plan(threads=256, resident=4),
    "count": Plan(ahead=2, load=1),
    "holes": Plan(threads=256, resident=5),
    "sparse": Plan(threads=256, resident=4),
}
"""For a single frame."""

BATCH = {
    "correct_int16": Plan(resident=6, ahead=8, together=4, per_part=20, load=3, store=1, keep_g1=1),
    "correct_int16_counted": Plan(resident=6, ahead=8, together=4, load=3, store=1, keep_g1=1),
    "correct_float32": Plan(resident=5, ahead=8, together=4, per_part=20, load=3, store=1, keep_g1=1),
    "count": Plan(threads=256, resident=4, ahead=4, together=4),
    "holes": Plan(threads=256, resident=6, ahead=2, together=2),
    "sparse": Plan(threads=256, resident=4, ahead=8, together=4, per_job=20, shared=54272, ringed=1),
}
"""For more of them."""


def plan(name: str, frames: int) -> Plan:
    """For so many frames."""
    return (SINGLE if frames == 1 else BATCH)[name]
