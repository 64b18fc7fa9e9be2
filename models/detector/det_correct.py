"""Corrects a detector's packets on their way to their places, each with the constants of its own pixels."""

from dataclasses import dataclass

import numpy as np

from framelane.base.errors import ConfigError
from framelane.models.detector.det_header import DetHeader, Head
from framelane.models.detector.detector_packets import PIXEL_BYTES
from framelane.models.jungfrau import jf_constants
from framelane.models.jungfrau.jf_correct import correct_int16
from framelane.models.jungfrau.jf_fixed import FixedCalibration


@dataclass(frozen=True, slots=True)
class DetCorrect:
    """The block `det_correct`: `fixed` is for all modules of `header`, one below the other.

    The planes of constants lie from `base` on, a multiple of 4096, with `pitch` from plane to plane
    (`jf_constants.pack`): those of a packet where its pixels are in the slot. ConfigError where that cannot be.
    """

    header: DetHeader
    fixed: FixedCalibration
    base: int
    pitch: int

    def __post_init__(self) -> None:
        header = self.header
        shape = header.modules * header.of.module.rows, header.of.module.columns
        if header.of.pixels.guard != "gain_code":
            raise ConfigError(f"{header.of.name}: only pixels with a gain code are corrected, as those of a JUNGFRAU")
        if self.fixed.pedestal.shape[1:] != shape:
            raise ConfigError(
                f"the calibration is for {self.fixed.pedestal.shape[1:]} pixels, {header.modules} modules of "
                f"{header.of.name} one below the other have {shape}: give theirs"
            )
        if self.base % jf_constants.PITCH_UNIT:
            raise ConfigError(
                f"constants cannot lie at {self.base:#x}: give an address that is a multiple of "
                f"{jf_constants.PITCH_UNIT}"
            )
        jf_constants.check_pitch(self.fixed.pedestal[0].nbytes, self.pitch)

    def pixels(self, head: Head, raw: bytes) -> bytes:
        """The words of a packet corrected, int16, little endian; of one that was cut, as many as have come."""
        words = np.frombuffer(raw, "<u2")
        first = (head.module_number * self.header.packets + head.packet) * self.header.packet_bytes // PIXEL_BYTES
        pedestal, mantissa = (
            plane.reshape(len(plane), 1, -1)[:, :, first : first + words.size]
            for plane in (self.fixed.pedestal, self.fixed.mantissa)
        )
        fixed = FixedCalibration(pedestal, mantissa, self.fixed.shift, self.fixed.fraction_bits, self.fixed.high_gain)
        return correct_int16(words[None], fixed).astype("<i2").tobytes()
