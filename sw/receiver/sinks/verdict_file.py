"""The record of verdicts in a file of received frames: all that is needed to judge its frames again."""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from framelane.base.errors import InputError
from framelane.files.checked_file import CheckedFile
from framelane.receiver.pipeline.random_share import RandomShare
from framelane.receiver.pipeline.veto import Reason
from framelane.receiver.sinks.nxmx import UNKNOWN_FRAME

_DATA = "entry/data"


class VerdictFile(CheckedFile):
    """The record of `JudgedFrames`, one element a frame, as it is read when the file is opened.

    `counts` has the pixels of a frame that reach a threshold, int64 (frames,), for every threshold that was recorded.
    InputError for a file without such a record, or without a frame.
    """

    needed: ClassVar[str] = "give a file of frames that framelane recv, correct or demo has judged"

    numbers: NDArray[np.uint64]
    """The receiver's own: in a file of several receivers each has its own."""
    holes: NDArray[np.int64]
    reasons: NDArray[np.uint8]
    """Values of `Reason`."""
    peaks: NDArray[np.int64]
    """What was counted, on which the verdicts are."""
    threshold: int
    """The threshold of the first frame, as `minimum`."""
    unit: str
    """The unit of thresholds: photons or keV."""
    minimum: int
    thresholds: NDArray[np.int64]
    """The threshold of each frame, as `minimums`: both may have been changed while the run went on."""
    minimums: NDArray[np.int64]
    share: RandomShare | None
    counts: dict[int, NDArray[np.int64]]
    linked: bool
    """It is a master, of the files of several receivers."""
    unnamed: NDArray[np.bool_]
    """In a master: frames whose detector's number is not known, or is that of another frame, too."""
    judged_by: str
    """What was counted: "peaks" (pixels), or "bragg_peaks", of which only those of the run's own settings are known."""

    def _load(self) -> None:
        numbers = self._find(f"{_DATA}/frame_number")
        if numbers.shape == (0,):
            raise InputError(f"{self.path} has no frames: nothing was judged")
        self.numbers = self._read(f"{_DATA}/frame_number", (None,), "u", np.uint64)
        n = len(self.numbers)
        self._number(n)
        self.holes = self._read(f"{_DATA}/holes", (n,), "u", np.int64)
        self.reasons = self._read(f"{_DATA}/reason", (n,), "u", np.uint8)
        if unknown := set(self.reasons.tolist()) - set(Reason):
            raise InputError(f"{self.path}: {_DATA}/reason has values that mean nothing: {sorted(unknown)}")
        self.judged_by = str(self._attribute("accepted", "judged_by", "peaks"))
        if self.judged_by not in ("peaks", "bragg_peaks"):
            raise InputError(f"{self.path}: the verdicts are on {self.judged_by}, which this version does not know")
        self.peaks = self._read(f"{_DATA}/{self.judged_by}", (n,), "u", np.int64)
        self.threshold = int(self._attribute("peaks", "threshold", 0))
        self.unit = str(self._attribute("peaks", "threshold_units", "photons"))
        self.minimum = int(self._attribute("accepted", "minimum_peaks", 0))
        share = float(self._attribute("accepted", "kept_share", -1.0))
        self.share = None
        if share >= 0:
            self.share = RandomShare(share, int(self._attribute("accepted", "kept_seed", 0)))
        if not self.threshold:
            raise InputError(
                f"{self.path} holds raw words, no peaks were counted: give a file of photons, received with a "
                "calibration"
            )
        self.thresholds = self._of_each("threshold", n, self.threshold)
        self.minimums = self._of_each("minimum_peaks", n, self.minimum)
        if self.threshold not in self.thresholds or self.minimum not in self.minimums:
            raise InputError(
                f"{self.path} contradicts itself: no frame was judged by {self.minimum} peaks of {self.threshold}: it "
                "was changed after the run"
            )
        self.counts = {} if self.judged_by == "bragg_peaks" else self._ladder(n)
        if (self.thresholds == self.threshold).all():  # else a count is of one threshold here, of another there
            self.counts[self.threshold] = self.peaks

    def name(self, frame: int) -> str:
        """What the user calls a frame: its number; in a master the detector's, `rank:number` where it has no name."""
        if not self.linked:
            return str(self.numbers[frame])
        if self.unnamed[frame]:
            return f"{self._ranks[frame]}:{self.numbers[frame]}"
        return str(self._detector[frame])

    def _number(self, n: int) -> None:
        self.linked = self._has(f"{_DATA}/rank")
        self.unnamed = np.zeros(n, np.bool_)
        if self.linked:
            self._ranks = self._read(f"{_DATA}/rank", (n,), "u", np.int64)
            self._detector = self._read(f"{_DATA}/detector_frame", (n,), "u", np.uint64)
            _, of, times = np.unique(self._detector, return_inverse=True, return_counts=True)
            self.unnamed = (times[of] > 1) | (self._detector == UNKNOWN_FRAME)

    def _of_each(self, name: str, n: int, first: int) -> NDArray[np.int64]:
        """One value a frame; in files of before there was such a record all have the `first`."""
        if not self._has(f"{_DATA}/{name}"):
            return np.full(n, first, np.int64)
        return self._read(f"{_DATA}/{name}", (n,), "u", np.int64)

    def _ladder(self, n: int) -> dict[int, NDArray[np.int64]]:
        if not self._has(f"{_DATA}/ladder"):
            return {}
        thresholds = np.atleast_1d(self._attribute("ladder", "thresholds", []))
        ladder = self._read(f"{_DATA}/ladder", (n, thresholds.size), "u", np.int64)
        return {int(threshold): ladder[:, k] for k, threshold in enumerate(thresholds)}

    def _attribute(self, dataset: str, name: str, default: Any) -> Any:
        found = self._find(f"{_DATA}/{dataset}")
        value = self._try(f"read the attribute {name} of {dataset}", lambda: found.attrs.get(name, default))
        kind = type(default)
        if kind is list:
            return self._try(f"take {name} of {dataset} as numbers", lambda: np.asarray(value, np.int64))
        return self._try(f"take {name} of {dataset} as one value", lambda: kind(value))
