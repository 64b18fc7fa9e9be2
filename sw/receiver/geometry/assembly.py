"""Corrected frames of many modules as images of the detector."""

import concurrent.futures
import os
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from framelane.base.errors import ConfigError, InputError
from framelane.models.jungfrau.jf_correct import PixelCode
from framelane.models.jungfrau.jf_geometry import Geometry
from framelane.models.jungfrau.jf_packet import MODULE_COLUMNS, MODULE_ROWS
from framelane.receiver.geometry import _assembly_kernels
from framelane.receiver.geometry.assembly_map import DoublePixels, make_map
from framelane.receiver.sinks.mask_bits import DEAD, GAP, USER, VIRTUAL


class Assembly:
    """Puts images together by `geometry`. A place that gets no value is -32767 (masked), or NaN in float32.

    `double_pixels`, those at the borders of chips: `keep`: the whole charge stays at the pixel's own place, and the
    other places that it covers get no value; `mask`: none of these places does; `split`: the charge is divided among
    them, and in int16 too its sum stays exactly the same. `threads` at most, each with frames of its own; None: one a
    core.
    """

    def __init__(self, geometry: Geometry, double_pixels: DoublePixels = "keep", threads: int | None = None) -> None:
        if double_pixels not in get_args(DoublePixels):
            known = ", ".join(get_args(DoublePixels))
            raise ConfigError(f"double pixels cannot be treated as {double_pixels!r}: choose one of {known}")
        self.shape = (geometry.rows, geometry.columns)
        self._name, self._modules = geometry.name, len(geometry.module)
        self._map = make_map(geometry, double_pixels)
        self._pool = concurrent.futures.ThreadPoolExecutor(threads or len(os.sched_getaffinity(0)))

    def __call__(self, modules: NDArray[Any], out: NDArray[Any] | None = None) -> NDArray[Any]:
        """Images (frames, rows, columns) of frames (frames, modules * 512, 1024), int16 or float32, or of a single one.

        `out` is memory for them, C-contiguous. InputError where the modules are not those of the geometry.
        """
        self.check(modules.shape[-2:])
        if modules.ndim not in (2, 3) or modules.dtype not in (np.int16, np.float32):
            raise InputError(f"frames are {modules.dtype} {modules.shape}, needed are int16 or float32 in 2 or 3 axes")
        shape = (*modules.shape[:-2], *self.shape)
        images = np.empty(shape, modules.dtype) if out is None else out
        if images.shape != shape or images.dtype != modules.dtype or not images.flags.c_contiguous:
            raise InputError(
                f"the memory for images is {images.dtype} {images.shape}, needed is {modules.dtype} {shape}"
            )
        frames = np.ascontiguousarray(modules).reshape(-1, self._modules * MODULE_ROWS * MODULE_COLUMNS)
        list(self._pool.map(self._assemble, frames, images.reshape(len(frames), -1)))
        return images

    def check(self, shape: tuple[int, ...]) -> None:
        """Raise InputError unless frames of this shape, (rows, columns), are the geometry's modules."""
        if shape != (needed := (self._modules * MODULE_ROWS, MODULE_COLUMNS)):
            raise InputError(
                f"frames of {' x '.join(map(str, shape))} pixels do not fit the geometry {self._name!r}, whose "
                f"{self._modules} modules have {needed[0]} x {needed[1]}"
            )

    def pixel_mask(self, usable: NDArray[np.bool_] | None = None) -> NDArray[np.uint32]:
        """The bits of NXmx for each place, uint32 (rows, columns).

        `usable`, bool (modules * 512, 1024), tells of each pixel whether it can be corrected.
        """
        pixels, masked = self._map.pixels, self._map.masked
        mask = np.where(masked, np.uint32(USER), np.where(pixels < 0, np.uint32(GAP), np.uint32(0)))
        places = self._map.places
        mask.reshape(-1)[places] |= np.uint32(VIRTUAL)
        if usable is not None:
            dead = (pixels >= 0) & ~usable.reshape(-1)[pixels]
            mask[dead] |= np.uint32(DEAD)
        return mask

    def _assemble(self, modules: NDArray[Any], image: NDArray[Any]) -> None:
        split = self._map.doubles, self._map.places, self._map.shares
        if modules.dtype == np.int16:
            _assembly_kernels.copy(modules, image, self._map.runs, self._map.gaps, np.int16(PixelCode.MASKED))
            _assembly_kernels.split_int16(modules, image, *split)
        else:
            _assembly_kernels.copy(modules, image, self._map.runs, self._map.gaps, np.float32(np.nan))
            _assembly_kernels.split_float32(modules, image, *split)
