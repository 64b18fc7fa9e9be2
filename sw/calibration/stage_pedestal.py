"""The pedestals of one gain stage, and why a pixel of it is not used."""

from dataclasses import dataclass
from enum import IntFlag, StrEnum

import numpy as np
from numpy.typing import NDArray

from framelane.base.errors import InputError

ADC_HALF = 8192
"""Pedestals of G0 and HG0 lie below it (near 2,400 ADU), those of G1 and G2 above (near 13,600 and 14,100 ADU)."""


class Stage(StrEnum):
    """A gain stage. HG0 takes the place of G0 when the detector runs in high gain; the words do not tell them apart."""

    G0 = "G0"
    G1 = "G1"
    G2 = "G2"
    HG0 = "HG0"

    @property
    def code(self) -> int:
        """Its gain code, bits 15..14 of a raw word."""
        return {"G0": 0b00, "G1": 0b01, "G2": 0b11, "HG0": 0b00}[self]


NORMAL = (Stage.G0, Stage.G1, Stage.G2)
HIGH_GAIN = (Stage.HG0, Stage.G1, Stage.G2)
"""The stages of the two gain modes, in the order of the planes of a calibration."""


class Reason(IntFlag):
    """Why a pixel is masked in a stage: bits, any number of them."""

    WRONG_STAGE = 1
    """Dark run: its words were too often of another stage, or error words."""
    FEW_FRAMES = 2
    """Dark run: too few words to tell."""
    NOISY = 4
    """Dark run: the rms is too far above that of its module."""
    DEAD = 8
    """Dark run: always the same word."""
    OUT_OF_RANGE = 16
    """Dark run: the mean is too far from that of its module."""
    BAD_GAIN = 32
    """Gain map: not finite, 0, or of the wrong sign."""
    GIVEN = 64
    """Masked in the pedestal file, or of a module that was given as bad."""
    BAD_FIRST_STAGE = 128
    """In G1 and G2: the pixel is bad in G0 (HG0), where every exposure begins, so that its other words mean nothing."""
    UNUSABLE = 256
    """The fixed-point form cannot hold it: a gain more than 4 times off the median, a pedestal outside the ADC."""

    @property
    def bit(self) -> np.uint32:
        """For arrays."""
        return np.uint32(self.value)

    @property
    def words(self) -> str:
        """The reason as a user reads it."""
        return (self.name or "").lower().replace("_", " ")


@dataclass(frozen=True, eq=False, slots=True)
class StagePedestal:
    """Pedestals of a stage, each array (rows, columns). A pixel without any has NaN as its mean, and a reason."""

    stage: Stage
    mean: NDArray[np.float32]
    """ADU."""
    rms: NDArray[np.float32]
    """Noise, ADU; NaN where it is not known."""
    count: NDArray[np.uint32]
    """Words that were averaged; 0 where it is not known."""
    reasons: NDArray[np.uint32]
    """Bits of `Reason`."""

    def check(self, source: object) -> None:
        """Raise InputError, which names `source`, where these are the pedestals of another stage."""
        good = self.mean[self.reasons == 0]
        if not good.size:
            raise InputError(f"{source}: every pixel is masked in {self.stage}: give another file")
        median, low = float(np.median(good)), self.stage.code == 0
        if (median < ADC_HALF) != low:
            raise InputError(
                f"{source}: the pedestals of {self.stage} have a median of {median:.0f} ADU, as in another stage: "
                f"they lie {'below' if low else 'above'} {ADC_HALF} ADU; give the stages in their order"
            )
