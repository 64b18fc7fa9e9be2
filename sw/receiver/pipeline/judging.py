"""What is asked of a pipeline beside photons: the veto, sparse rows, the ladder, Bragg peaks."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from framelane.base.errors import ConfigError
from framelane.models.jungfrau.jf_correct import MAX_VALUE
from framelane.models.peaks.peak_settings import Panel, PeakSettings
from framelane.receiver.pipeline.ladder import check_thresholds
from framelane.receiver.pipeline.veto import Veto


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Judging:
    """How images are judged, and what is recorded of them, on the CPU and on a GPU alike.

    All thresholds are in the unit of the images, photons or keV. ConfigError for what no image could have; whoever
    takes the settings raises it where its own values, that have fraction bits, end below a threshold, and ConfigError
    or InputError where `panels` or `usable` do not fit its images.
    """

    veto: Veto = field(default_factory=lambda: Veto(20, 0))
    """Which images are rejected; by default none is, and pixels of at least 20 are counted."""
    sparse: int | None = None
    """Pixels of at least so much leave as sparse rows as well, 1 to 32700; None: there are no rows."""
    rungs: tuple[int, ...] = ()
    """The pixels that reach each of these thresholds are counted for the record, see `ladder`; they rise, from 1."""
    bragg: PeakSettings | None = None
    """The veto counts the Bragg peaks of these settings; None: it counts pixels that reach its threshold."""
    panels: Sequence[Panel] | None = None
    """Rectangles of the image that no Bragg peak crosses; None: the image is one."""
    usable: NDArray[np.bool_] | None = None
    """Pixels in which Bragg peaks are looked for, bool (rows, columns); None: all of the panels."""

    def __post_init__(self) -> None:
        if self.sparse is not None and not 1 <= self.sparse <= MAX_VALUE:
            raise ConfigError(
                f"sparse rows of pixels of at least {self.sparse} photons or keV cannot be: give 1 to {MAX_VALUE}"
            )
        check_thresholds(self.rungs)
