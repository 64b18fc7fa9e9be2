"""The constants of the fixed-point correction as they lie in the memory of a board: `jf_constants.sv` reads them.

Six planes of u16, little endian, each with one word a pixel in the order of the raw frame: the pedestals of G0, G1, G2,
then the mantissas of G0, G1, G2. Plane k begins at `base + k * pitch`; shifts and gain mode are registers.
"""

import numpy as np
from numpy.typing import NDArray

from framelane.base.errors import ConfigError
from framelane.models.jungfrau.jf_fixed import FixedCalibration

PLANES = 6
PITCH_UNIT = 4096
"""Planes begin at multiples of it: no burst crosses 4 KiB."""


def needed_pitch(image_bytes: int) -> int:
    """Smallest pitch, in bytes, of planes for raw images of `image_bytes`."""
    return -(-image_bytes // PITCH_UNIT) * PITCH_UNIT


def check_pitch(image_bytes: int, pitch: int) -> None:
    """Raise ConfigError where planes for raw images of `image_bytes` do not fit their pitch."""
    needed = needed_pitch(image_bytes)
    if pitch % PITCH_UNIT or pitch < needed:
        raise ConfigError(
            f"planes of {image_bytes} bytes do not lie at a pitch of {pitch}: give a multiple of {PITCH_UNIT}, "
            f"{needed} or more"
        )


def planes(fixed: FixedCalibration) -> NDArray[np.uint16]:
    """The planes in their order, u16 (6, rows, columns)."""
    return np.concatenate([fixed.pedestal, fixed.mantissa])


def pack(fixed: FixedCalibration, pitch: int) -> bytes:
    """What to write to the memory from its base on, `6 * pitch` bytes. ConfigError where the planes do not fit."""
    words = planes(fixed)
    check_pitch(words[0].nbytes, pitch)
    image = np.zeros((PLANES, pitch // 2), "<u2")
    image[:, : words[0].size] = words.reshape(PLANES, -1)
    return image.tobytes()
