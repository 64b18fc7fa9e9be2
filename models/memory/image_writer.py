"""The images of a frame in its slot: the raw one, and the corrected one behind it. `image_writer.sv` writes them.

Both are guarded: words of gain code 10, which would pass for pixels that never came, are error words there.
"""

from dataclasses import dataclass

import numpy as np

from framelane.base.errors import ConfigError
from framelane.models.jungfrau import jf_constants
from framelane.models.jungfrau.jf_correct import correct_int16, guard
from framelane.models.jungfrau.jf_fixed import FixedCalibration


@dataclass(frozen=True, slots=True)
class Correction:
    """How frames are corrected on their way to the frame store. Bytes.

    Each slot has the corrected image at `offset`. The constants, which the board's owner has put there, lie at `base`
    with `pitch` from plane to plane (`jf_constants.pack`). ConfigError where that cannot be.
    """

    fixed: FixedCalibration
    offset: int
    base: int
    pitch: int

    def __post_init__(self) -> None:
        if self.offset < self.image_bytes:
            raise ConfigError(
                f"the corrected image cannot lie at {self.offset} of a slot: the raw one has {self.image_bytes} bytes"
            )
        if self.base % jf_constants.PITCH_UNIT:
            raise ConfigError(
                f"constants cannot lie at {self.base:#x}: give an address that is a multiple of "
                f"{jf_constants.PITCH_UNIT}"
            )
        jf_constants.check_pitch(self.image_bytes, self.pitch)

    @property
    def image_bytes(self) -> int:
        """Bytes of a raw image, as of a corrected one."""
        return int(self.fixed.pedestal[0].size) * 2

    def images(self, pixels: bytes) -> tuple[bytes, bytes]:
        """The raw and the corrected image of a frame, little endian; a shorter frame is corrected as far as it goes."""
        words, _ = guard(np.frombuffer(pixels, "<u2"))
        n = words.size
        fixed = FixedCalibration(
            self.fixed.pedestal.reshape(3, 1, -1)[:, :, :n],
            self.fixed.mantissa.reshape(3, 1, -1)[:, :, :n],
            self.fixed.shift,
            self.fixed.fraction_bits,
            self.fixed.high_gain,
        )
        return words.astype("<u2").tobytes(), correct_int16(words[None], fixed).astype("<i2").tobytes()
