"""Tracking of the G0 pedestal on the GPU: the integers of `models.jf_pedestal`."""

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from framelane.base.errors import InputError
from framelane.models.jungfrau.jf_correct import ADC_MASK
from framelane.models.jungfrau.jf_fixed import PEDESTAL_FRACTION_BITS
from framelane.models.pedestal.dark_frames import DarkClock
from framelane.models.pedestal.jf_pedestal import SHARE_BITS
from framelane.models.pedestal.jf_pedestal_settings import TrackerSettings, gains
from framelane.models.pedestal.jf_pedestal_state import LEVEL_BITS, TrackerState
from framelane.receiver.gpu._device import cupy, kernel
from framelane.receiver.gpu._frames import frames

THREADS = 256
CHIP_THREADS = 1024
"""Threads of a block: THREADS of kernels/pedestal.cu."""
LEVEL_SHIFT = LEVEL_BITS - PEDESTAL_FRACTION_BITS


class GpuPedestalTracker:
    """Follows the pedestal of plane 0 (G0, or HG0 where `high_gain`), with its state in GPU memory.

    `state` is copied. For one stream at a time, CuPy's current one; nothing waits.
    """

    def __init__(
        self, state: TrackerState, settings: TrackerSettings | None = None, *, high_gain: bool = False
    ) -> None:
        settings = settings or TrackerSettings()
        module = cupy()
        self.arrays: dict[str, Any] = {
            each.name: module.asarray(np.ascontiguousarray(getattr(state, each.name))) for each in fields(state)
        }
        self.clock = DarkClock(settings.dark_interval_ns)
        self.tick = 0
        """The tick of the newest dark frame."""
        self.shape: tuple[int, int] = (state.level.shape[0], state.level.shape[1])
        self._gains = tuple(module.asarray(table) for table in gains(settings))
        self._settings = (
            np.uint32(ADC_MASK if high_gain else ADC_MASK + 1),
            np.int64(round(settings.most_outliers * (1 << SHARE_BITS))),
            np.int32(settings.restart_blocks),
        )

    def take(self, raw: Any, timestamps_ns: Sequence[int | None]) -> None:
        """Learn from dark frames, uint16 (frames, rows, columns), with the time of each if it has one."""
        source = frames("the dark frames", raw, np.uint16, self.shape, len(timestamps_ns))
        ticks = np.array([self.clock.tick(time) for time in timestamps_ns], np.int64)
        self.tick = int(ticks[-1])
        on_gpu = cupy().asarray(ticks)
        arguments = self.taking(source.address, source.stride, np.uintp(on_gpu.data.ptr), source.n)
        kernel("pedestal", "take_dark", {})((len(self.arrays["chips"]),), (CHIP_THREADS,), arguments)

    def taking(self, address: np.uintp, stride: np.int64, ticks: np.uintp, count: int) -> tuple[Any, ...]:
        """The arguments of `take_dark` for so many frames from an address on, `stride` words apart."""
        return (
            *(address, stride, ticks, np.uint32(count), np.uint32(self.shape[0]), np.uint32(self.shape[1])),
            *(np.uintp(array.data.ptr) for array in (*self.arrays.values(), *self._gains)),
            *self._settings,
        )

    def write_quarters(self, plane: Any, tick: int) -> None:
        """Write the pedestal at `tick` to `plane`, CuPy uint16 (rows, columns), in quarters of an ADU."""
        rows, columns = self.shape
        if plane.dtype != np.uint16 or plane.shape != self.shape or not plane.flags.c_contiguous:
            raise InputError(f"the pedestal would go to {plane.dtype} {plane.shape}, needed is uint16 {self.shape}")
        arguments = (
            *(np.uintp(self.arrays[name].data.ptr) for name in ("level", "rate", "chips")),
            *(np.int64(tick), np.int32(LEVEL_SHIFT), np.uint32(rows), np.uint32(columns)),
            np.uintp(plane.data.ptr),
        )
        kernel("pedestal", "publish", {})((-(-rows * columns // THREADS),), (THREADS,), arguments)

    def state(self) -> TrackerState:
        """The state, copied to the host; waits for the current stream."""
        return TrackerState(**{name: array.get() for name, array in self.arrays.items()})
