"""How each kernel is compiled and launched: what was fastest on one H200 (`framelane bench gpu`)."""

from typing import NamedTuple

GROUP = 8
"""Pixels of a thread: GROUP of kernels/streams.cuh."""

MOST_FRAMES = 64
"""Frames that are counted, or made sparse, in one launch: MOST_FRAMES of kernels/counts.cuh and job.cuh."""


class Plan(NamedTuple):
    """The macros of kernels/streams.cuh, ring.cuh, job.cuh, found.cuh and rows.cuh, and how many blocks there are."""

    threads: int = 128
    resident: int = 8
    """Blocks that a multiprocessor holds at a time; the registers are enough for so many."""
    taken: int | None = None
    """So many of them are in one launch, if not all."""
    ahead: int = 1
    together: int = 1
    per_part: int = 0
    """Frames that a block takes, or of a single frame tiles in a row, 32 times `together` at most.

    0: as many as come to it, where there are as many blocks as the GPU holds.
    """
    units: int = 8
    """The most `together` items that a job of kernels/sparse.cu has: frames of a tile, or tiles of a single frame."""
    kept: int = 256
    """Pixels that each warp keeps of a job; items of which it does not keep all it reads again."""
    skew: int = 0
    """Percent that the last job has more than the mean, and the first less; from 8 units a job on. 75 at most."""
    staged: int = 1024
    """Pixels that a block puts into their order at once."""
    load: int = 0
    store: int = 0
    keep_g1: int = 0

    @property
    def macros(self) -> dict[str, int]:
        """The macros of this plan."""
        return {
            "THREADS": self.threads,
            "MIN_BLOCKS": self.resident,
            "AHEAD": self.ahead,
            "TOGETHER": self.together,
            "LOAD": self.load,
            "STORE": self.store,
            "KEEP_G1": self.keep_g1,
            "UNITS": self.units,
            "MOST_KEPT": self.kept,
            "STAGED": self.staged,
            "SKEW": self.skew,
        }

    def tiles(self, pixels: int) -> int:
        """Tiles of a frame."""
        return -(-pixels // (self.threads * GROUP))

    def blocks(self, pixels: int, frames: int, multiprocessors: int) -> int:
        """How many there are."""
        if self.per_part:
            tiles = self.tiles(pixels)
            return -(-tiles // self.per_part) if frames == 1 else tiles * -(-frames // self.per_part)
        return min(self.tiles(pixels) * frames, self.held(multiprocessors))

    def held(self, multiprocessors: int) -> int:
        """Blocks of one launch that the GPU holds."""
        return (self.taken or self.resident) * multiprocessors

    def jobs(self, pixels: int, frames: int, multiprocessors: int) -> int:
        """Those of kernels/sparse.cu: one for each block that the GPU holds, or several where these were too large."""
        tiles = self.tiles(pixels)
        units = -(-tiles // self.together) if frames == 1 else tiles * -(-frames // self.together)
        largest = (self.units - 2) * 100 // (100 + self.skew) if self.skew else self.units
        held = self.held(multiprocessors)
        return min(units, held * max(1, -(-units // (largest * held))))


SINGLE = {
    "correct_int16": Plan(resident=12),
    "correct_int16_counted": Plan(threads=512, resident=2, per_part=4),
    "correct_float32": Plan(threads=256, resident=4),
    "count": Plan(threads=256, resident=4, ahead=4, together=4, per_part=8),
    "holes": Plan(threads=512, resident=2, ahead=2, together=2, per_part=4),
    "sparse": Plan(threads=256, resident=3, taken=2, together=4, units=16),
}
"""For a single frame."""

OVERLAPPED = {"sparse": Plan(threads=128, resident=2, together=4, units=16, kept=512)}
"""For one whose launch overlaps the one before, where that should be another: it leaves room for several."""

BATCH = {
    "correct_int16": Plan(resident=6, ahead=8, together=4, per_part=20, load=3, store=1, keep_g1=1),
    "correct_int16_counted": Plan(resident=6, ahead=8, together=4, load=3, store=1, keep_g1=1),
    "correct_float32": Plan(resident=5, ahead=8, together=4, per_part=20, load=3, store=1, keep_g1=1),
    "count": Plan(threads=256, resident=4, ahead=4, together=4),
    "holes": Plan(threads=256, resident=6, ahead=2, together=2),
    "sparse": Plan(threads=256, resident=4, together=4, units=64, kept=2048, skew=25, staged=4096),
}
"""For more of them."""


def plan(name: str, frames: int, overlapped: bool = False) -> Plan:
    """For so many frames, `overlapped`: whose launch overlaps the one before."""
    if frames > 1:
        return BATCH[name]
    return OVERLAPPED.get(name, SINGLE[name]) if overlapped else SINGLE[name]
