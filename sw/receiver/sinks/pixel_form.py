"""Pixels as a file has them: int16 with our codes, or other types for readers that know none of them."""

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from framelane.base.compiled import compiled
from framelane.base.errors import OptionError
from framelane.models.jungfrau.jf_correct import ERROR_WORD, G1_ZERO_WORD, MAX_VALUE, SATURATED_WORD, PixelCode
from framelane.models.placement.slots import HOLE_WORD

PhotonsAs = Literal["float32", "int32", "uint16"]


@dataclass(frozen=True, slots=True)
class PixelForm:
    """What stands in a file for the values of an int16 image, and for its codes."""

    dtype: np.dtype[Any]
    codes: dict[str, float]
    """What stands for each code, by its name in lower case; a hole's is that of an image that is not there, too."""
    lowest: float | None = None
    """Values below are raised to this one."""
    highest: float | None = None
    """No value is above. Both None: they are not values, but words."""
    scale: float = 1.0
    """What a value is multiplied by."""

    @property
    def empty(self) -> Any:
        """The value of a pixel that was never written."""
        return self.dtype.type(self.codes["hole"])

    def __call__(self, image: NDArray[Any]) -> NDArray[Any]:
        """An image of a pipeline in this form, itself where nothing is to be done."""
        if image.dtype == self.dtype:
            return image
        assert self.lowest is not None
        out = np.empty(image.shape, self.dtype)
        missing, saturated = self.dtype.type(self.codes["masked"]), self.dtype.type(self.codes["saturated"])
        kind = self.dtype.type
        # In the file's own type: numba would do it in float64, at half the speed.
        _convert(image.reshape(-1), out.reshape(-1), np.int16(self.lowest), kind(self.scale), missing, saturated)
        return out


_INT16 = PixelForm(
    np.dtype(np.int16), {code.name.lower(): int(code) for code in PixelCode}, lowest=-MAX_VALUE, highest=MAX_VALUE
)
RAW = PixelForm(
    np.dtype(np.uint16),
    {"hole": HOLE_WORD, "saturated": SATURATED_WORD, "invalid": ERROR_WORD, "invalid_g1_zero": G1_ZERO_WORD},
)
"""Words of the detector."""


def form_of(photons_as: PhotonsAs | None, fraction_bits: int = 0) -> PixelForm:
    """The form of int16 images with so many fraction bits. OptionError for a type that there is not.

    | type      | values                              | hole, masked, invalid | saturated   |
    |-----------|-------------------------------------|-----------------------|-------------|
    | (`int16`) | -32700 to 32700                     | -32768, -32767, -32766 | 32767      |
    | `float32` | the same, fraction bits taken off   | NaN                   | NaN         |
    | `int32`   | the same                            | -2147483648           | 2147483647  |
    | `uint16`  | negative ones are 0                 | 65535                 | 65534       |
    """
    if photons_as is None:
        return _INT16
    if photons_as not in get_args(PhotonsAs):
        raise OptionError("{photons_as} {0} is not known: choose float32, int32 or uint16", photons_as)
    if photons_as == "float32":
        codes = dict.fromkeys(_INT16.codes, float("nan"))
        return PixelForm(np.dtype(np.float32), codes, -MAX_VALUE, MAX_VALUE, 2.0**-fraction_bits)
    dtype: np.dtype[Any] = np.dtype(photons_as)
    whole = np.iinfo(dtype)
    missing, saturated = (whole.max, whole.max - 1) if photons_as == "uint16" else (whole.min, whole.max)
    codes = dict.fromkeys(_INT16.codes, float(missing)) | {"saturated": float(saturated)}
    return PixelForm(dtype, codes, 0 if photons_as == "uint16" else -MAX_VALUE, MAX_VALUE)


@compiled
def _convert(
    image: NDArray[np.int16],
    out: NDArray[Any],
    lowest: np.int16,
    scale: Any,
    missing: Any,
    saturated: Any,
) -> None:
    """One pass over a flat image; LLVM makes vectors of it."""
    for i in range(image.size):
        value = image[i]
        kept = scale * out.dtype.type(max(value, lowest))
        out[i] = missing if value < -MAX_VALUE else saturated if value > MAX_VALUE else kept
