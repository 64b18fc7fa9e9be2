"""A frame as whoever receives it sees it."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from framelane.models.jungfrau.jf_correct import PixelCode
from framelane.models.peaks.peak_finder import Peaks
from framelane.models.placement.slots import HOLE_WORD
from framelane.receiver.pipeline.result import Counts, Result, SparseRows
from framelane.receiver.pipeline.veto import Verdict
from framelane.receiver.ring.receiver import ReceivedFrame


@dataclass(slots=True, eq=False)
class Frame:
    """One frame of a run. Its arrays are valid until it is given back, at the latest when the next one is asked for.

    `copy` keeps it for longer.
    """

    received: ReceivedFrame
    """With its slot and trailers."""
    result: Result
    """What the pipeline has made of it."""
    corrected: bool
    """Whether its image is of photons; else of raw words."""
    _give_back: Callable[[], bool] = field(repr=False)
    _intact: bool | None = None

    @property
    def number(self) -> int:
        """Its number in the session, from 0."""
        return self.received.number

    @property
    def detector_frame(self) -> int | None:
        """The detector's own number; None where no trailer came."""
        return next((trailer.detector_frame for trailer in self.received.trailers if trailer), None)

    @property
    def timestamp_ns(self) -> int | None:
        """When it was taken, in nanoseconds of the detector's clock; None where no trailer came."""
        return self.received.timestamp_ns

    @property
    def captured_ns(self) -> int | None:
        """When the packet was captured with which it was over, ns since 1970; None of a live run, or without times."""
        return self.received.captured_ns

    @property
    def bunch_id(self) -> int | None:
        """None where no trailer came."""
        return self.received.bunch_id

    @property
    def complete(self) -> bool:
        """Every pixel and every trailer came."""
        return self.received.complete

    @property
    def holes(self) -> int:
        """How many pixels were never written."""
        return self.result.counts.holes

    @property
    def counts(self) -> Counts:
        """Pixels that carry a code, by code, and those that reach the threshold."""
        return self.result.counts

    @property
    def verdict(self) -> Verdict:
        """The verdict of the veto, with the number of peaks."""
        return self.result.verdict

    @property
    def accepted(self) -> bool:
        """Whether the veto keeps it. A rejected frame has no image."""
        return self.result.verdict.accepted

    @property
    def image(self) -> NDArray[np.integer[Any]]:
        """(rows, columns): int16 photons or keV with their codes, or uint16 raw words where nothing corrects them.

        Of a rejected frame it has no rows.
        """
        return self.result.image

    @property
    def photons(self) -> NDArray[np.int16] | None:
        """The corrected image, int16 (rows, columns); None of a rejected frame, and of raw words."""
        return self.image.view(np.int16) if self.corrected and self.accepted else None

    @property
    def sparse(self) -> SparseRows | None:
        """The pixels that reach the threshold of sparse rows, where these are asked for; None of a rejected frame."""
        return self.result.sparse

    def hole_mask(self) -> NDArray[np.bool_]:
        """Which pixels were never written, bool (rows, columns): a copy. Of a rejected frame it has no rows."""
        mask: NDArray[np.bool_] = self.image == (PixelCode.HOLE if self.image.dtype == np.int16 else HOLE_WORD)
        return mask

    def copy(self) -> "Frame":
        """The same with arrays of its own, and with no slot: to keep."""
        result, rows = self.result, self.result.sparse
        held = replace(
            result,
            image=result.image.copy(),
            sparse=rows and SparseRows(rows.pointers.copy(), rows.columns.copy(), rows.values.copy()),
            ladder=None if result.ladder is None else result.ladder.copy(),
            bragg=result.bragg and Peaks(result.bragg.sums.copy(), result.bragg.found.copy()),
        )
        received = replace(self.received, image=self.received.image[:0], known_holes=self.holes)
        return Frame(received, held, self.corrected, lambda: True, True)

    @property
    def intact(self) -> bool | None:
        """What `give_back` has said: whether its slot was read before it could be overwritten; None: not given back."""
        return self._intact

    def give_back(self) -> bool:
        """Give its slot back; its credit is said when the next frame is asked for.

        False if it may have been overwritten before: then it is void.

        Only where credit is given for ever is it ever overwritten. Whoever does not call this has it called.
        """
        if self._intact is None:
            self._intact = self._give_back()
        return self._intact
