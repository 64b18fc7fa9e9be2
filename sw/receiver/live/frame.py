"""A received frame, as programs see it."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from framelane.models.jungfrau.jf_correct import PixelCode
from framelane.models.peaks.peak_finder import Peaks
from framelane.models.placement.slots import HOLE_WORD
from framelane.models.time.time_flags import TimeFlags, unpack
from framelane.receiver.pipeline.result import Counts, Result, SparseRows
from framelane.receiver.pipeline.veto import Verdict
from framelane.receiver.ring.receiver import ReceivedFrame


@dataclass(slots=True, eq=False)
class Frame:
    """One frame of a run. Its arrays are valid until it is given back, or until the next frame is requested.

    Use `copy` to keep it for longer.
    """

    received: ReceivedFrame
    """The frame in its slot, with its trailers."""
    result: Result
    """What the pipeline has made of it."""
    corrected: bool
    """True if the image is corrected, false if it has raw words."""
    _give_back: Callable[[], bool] = field(repr=False)
    _intact: bool | None = None

    @property
    def number(self) -> int:
        """Its number in the session, from 0."""
        return self.received.number

    @property
    def detector_frame(self) -> int | None:
        """The detector's own frame number; None if no trailer came."""
        return next((trailer.detector_frame for trailer in self.received.trailers if trailer), None)

    @property
    def timestamp_ns(self) -> int | None:
        """Time at which it was taken, in ns; None if no trailer came.

        Of TAI since 1970 if `time_flags.is_tai`, else of the detector's clock.
        """
        return self.received.timestamp_ns

    @property
    def time_flags(self) -> TimeFlags:
        """What `timestamp_ns` is worth: of which clock it is, and whether that was locked."""
        return unpack(self.received.time_flags)

    @property
    def utc_ns(self) -> int | None:
        """`timestamp_ns` as UTC, ns since 1970; None if it is not known to be TAI, or not how far TAI is from UTC."""
        stamp, flags = self.timestamp_ns, self.time_flags
        return stamp - flags.tai_utc * 10**9 if stamp is not None and flags.is_tai and flags.utc_known else None

    @property
    def captured_ns(self) -> int | None:
        """Capture time of the packet that ended the frame, ns since 1970; None if there is none."""
        return self.received.captured_ns

    @property
    def bunch_id(self) -> int | None:
        """The bunch ID from the trailer; None if no trailer came."""
        return self.received.bunch_id

    @property
    def complete(self) -> bool:
        """Every pixel and every trailer came."""
        return self.received.complete

    @property
    def holes(self) -> int:
        """Number of pixels that were never written."""
        return self.result.counts.holes

    @property
    def counts(self) -> Counts:
        """Number of pixels with each code, and of those that reach the threshold."""
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
        """The image (rows, columns): int16 photons or keV with codes, or uint16 raw words if nothing corrects them.

        A rejected frame's image has no rows.
        """
        return self.result.image

    @property
    def photons(self) -> NDArray[np.int16] | None:
        """The corrected image, int16 (rows, columns); None for a rejected frame and for raw words."""
        return self.image.view(np.int16) if self.corrected and self.accepted else None

    @property
    def sparse(self) -> SparseRows | None:
        """The sparse rows, if they were requested; None for a rejected frame."""
        return self.result.sparse

    def hole_mask(self) -> NDArray[np.bool_]:
        """Mask of the pixels that were never written, bool (rows, columns), as a copy. No rows for a rejected frame."""
        mask: NDArray[np.bool_] = self.image == (PixelCode.HOLE if self.image.dtype == np.int16 else HOLE_WORD)
        return mask

    def copy(self) -> "Frame":
        """A copy to keep: it has its own arrays and no slot."""
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
        """What `give_back` has returned; None if the frame was not given back yet."""
        return self._intact

    def give_back(self) -> bool:
        """Give the slot back. The credit is published when the next frame is requested, which also gives it back.

        Returns false if the slot may have been overwritten before; then discard the frame. This happens only with
        unlimited credit.
        """
        if self._intact is None:
            self._intact = self._give_back()
        return self._intact
