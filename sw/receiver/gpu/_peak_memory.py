"""What the kernels of the peak finder share, and how they are launched: kernels/candidates.cuh, `Finder`."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from framelane.base.errors import ConfigError
from framelane.models.peaks.peak_finder import PEAK_FIELDS
from framelane.models.peaks.peak_settings import Panel, PeakSettings, check_layout

_NO_PANEL = 0xFFFFFFFF
_COUNTERS = 3
_GROUP_WORDS = 8
_GROUP, _VECTORS = 8, 4
"""GROUP and VECTORS of kernels/tile.cuh."""
_WORD = 32


class PeakLaunch(NamedTuple):
    """A kernel, the first argument of which is the address of the images."""

    name: str
    function: str
    macros: dict[str, int]
    blocks: int
    threads: int
    arguments: tuple[Any, ...]


class PeakPlan(NamedTuple):
    """How many threads a block has, of the kernel that reads the frames, and of the next ones."""

    lanes: int = 32
    """Threads of a warp."""
    candidates: int = 256
    rounds: int = 256
    resident: int = 4
    """Blocks of the first kernel that a multiprocessor holds at a time."""
    in_tile: int = 16
    """Candidates of a tile from which on it is kept in shared memory."""
    blocks: int = 1056
    """Blocks of a kernel after the first one, for all frames."""


PLAN = PeakPlan()
"""For a GPU."""


class PeakMemory:
    """Memory for up to `frames` images of `shape`, arrays of the module `xp`; `address` is that of an array.

    `table` is int64 (frames, limit, 14), in the order of `PEAK_FIELDS`; `found` is uint32 (frames,). ConfigError for
    what the reference refuses.
    """

    def __init__(
        self,
        xp: Any,
        address: Callable[[Any], int],
        shape: tuple[int, int],
        settings: PeakSettings,
        panels: Sequence[Panel] | None,
        usable: NDArray[np.bool_] | None,
        fraction_bits: int,
        frames: int,
        plan: PeakPlan = PLAN,
    ) -> None:
        panels, allowed = check_layout(shape, panels, usable)
        if frames < 1:
            raise ConfigError(f"peaks of {frames} frames cannot be: give 1 frame or more")
        least = settings.least_value(fraction_bits)
        self.shape, self.frames, self._plan = shape, frames, plan
        self._rounds = settings.rounds
        self._masked = usable is not None and not usable.all()
        self._ring = {"OUTER": settings.outer, "INNER": settings.inner, "WITH_MASK": int(self._masked)}
        rows, columns = shape
        pixels, panel_rows = rows * columns, sum(panel.rows for panel in panels)
        self.limit = min(settings.limit, sum(-(-panel.rows // 2) * -(-panel.columns // 2) for panel in panels))
        """Most peaks of a frame that there can be in the table."""
        n_counters = _COUNTERS + 2 * settings.rounds
        arrays = {
            "panel_of": xp.asarray(_panel_of(shape, panels, allowed)),
            "panels": xp.asarray(_panels(panels)),
            "usable": xp.asarray(_bits(allowed)),
            "counters": xp.zeros((frames, n_counters), np.uint32),
            "index": xp.empty((frames, pixels), np.uint32),
            "candidates": xp.empty((frames, pixels, 2), np.uint32),
            "sums": xp.empty((frames, pixels, 2), np.int64),
            "groups": xp.empty((frames, pixels, _GROUP_WORDS), np.int64),
            "bright": xp.empty((frames, pixels), np.uint32),
            "touched": xp.empty((frames, pixels), np.uint32),
            "changed": xp.empty((frames, pixels), np.uint32),
            "firsts": xp.zeros((frames, rows, -(-columns // _WORD)), np.uint32),
            "peaks_before": xp.zeros((frames, max(1, panel_rows)), np.uint32),
            "table": xp.zeros((frames, max(1, self.limit), len(PEAK_FIELDS)), np.int64),
            "found": xp.zeros(frames, np.uint32),
        }
        self.table, self.found = arrays["table"], arrays["found"]
        numbers = (rows, columns, panel_rows, n_counters, least, settings.snr_steps, settings.min_ring)
        sizes = (settings.min_pixels, settings.max_pixels, self.limit, settings.rounds)
        words = [*numbers, *sizes, *(address(array) for array in arrays.values())]
        self._finder = xp.asarray(np.array(words, np.uint64))
        self._arrays = arrays
        self._address = np.uintp(address(self._finder))

    @property
    def nbytes(self) -> int:
        """All memory, in bytes."""
        return sum(int(array.nbytes) for array in self._arrays.values())

    def launches(self, images: int, stride: int, frames: int, aligned: bool) -> Iterator[PeakLaunch]:
        """The kernels for images at an address, `stride` values from frame to frame."""
        plan, before = self._plan, (np.uintp(images), np.int64(stride))
        rows, columns = plan.candidates // plan.lanes * _VECTORS, plan.lanes * _GROUP
        tiles = -(-self.shape[0] // rows) * -(-self.shape[1] // columns)
        macros = self._ring | {"THREADS": plan.candidates, "MIN_BLOCKS": plan.resident, "IN_TILE": plan.in_tile}
        given = (*before, np.uint32(aligned and self.shape[1] % _GROUP == 0), self._address)
        yield PeakLaunch("peak_candidates", "peak_candidates", macros, tiles * frames, plan.candidates, given)
        macros, blocks = self._ring | {"THREADS": plan.rounds}, -(-plan.blocks // frames)
        for turn in range(1, self._rounds):
            turns = (*before, np.uint32(blocks), np.uint32(turn), self._address)
            for function in ("peak_spread", "peak_renew"):
                yield PeakLaunch("peak_rounds", function, macros, blocks * frames, plan.rounds, turns)
        given = (*before, np.uint32(blocks), self._address)
        for function in ("peak_connect", "peak_sum", "peak_weigh", "peak_write"):
            yield PeakLaunch("peak_groups", function, macros, blocks * frames, plan.rounds, given)


def _panel_of(shape: tuple[int, int], panels: Sequence[Panel], allowed: NDArray[np.bool_]) -> NDArray[np.uint32]:
    numbers = np.full(shape, _NO_PANEL, np.uint32)
    for number, panel in enumerate(panels):
        numbers[panel.part] = number
    numbers[~allowed] = _NO_PANEL
    return numbers


def _panels(panels: Sequence[Panel]) -> NDArray[np.uint32]:
    """First and last place of each, and how many rows the panels before it have."""
    table = np.zeros((max(1, len(panels)), 4), np.uint32)
    before = 0
    for entry, panel in zip(table, panels, strict=False):
        last = (panel.row + panel.rows - 1) << 16 | (panel.column + panel.columns - 1)
        entry[:3] = panel.row << 16 | panel.column, last, before
        before += panel.rows
    return table


def _bits(plane: NDArray[np.bool_]) -> NDArray[np.uint32]:
    """A bit a pixel, the first one the lowest."""
    packed = np.packbits(plane.ravel(), bitorder="little")
    return np.pad(packed, (0, -len(packed) % 4)).view("<u4").astype(np.uint32)
