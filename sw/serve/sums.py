"""Sum and maximum of the newest pictures of a run, made only while somebody looks at them, by a thread of their own."""

import collections
import threading
import time
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from framelane.models.jungfrau.jf_correct import MAX_VALUE
from framelane.models.placement.slots import HOLE_WORD
from framelane.serve._level_loop import EXACT, STEPS, add_up, levels_of_sums
from framelane.serve.pictures import ADU, CODED_LEVELS, LEVEL_COUNT, SATURATED, Picture, grey_levels

Show = Literal["newest", "sum", "maximum"]
OVER = (10, 100, 1000)
"""Pictures that a sum may be over."""
_ASKED_S = 30.0
"""So long after the last question the sums are forgotten."""
_BEHIND = 4
"""Pictures that wait to be added; older ones are left out."""
_HOLE = np.int16(-32768)


def _level_values() -> NDArray[np.int64]:
    """The least sum of each level (`levels_of_sums`)."""
    above = [(STEPS + step) << (4 + doubling) for doubling in range(16) for step in range(STEPS)]
    return np.array([*range(EXACT), *above][:LEVEL_COUNT])


SUM_LEVELS = _level_values()


class _Half:
    """Sums over at most half of the pictures that are wanted."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.count = 0
        self.sums = np.zeros(shape, np.int32)
        self.greatest = np.full(shape, _HOLE)

    def add(self, values: NDArray[np.int16]) -> None:
        self.count += 1
        add_up(values.reshape(-1), np.int16(-MAX_VALUE), self.sums.reshape(-1), self.greatest.reshape(-1))


class Sum:
    """The last pictures: those of more than half of `over`, at most `over`, as two halves take turns."""

    def __init__(self, over: int) -> None:
        self.over, self.asked = over, time.monotonic()
        self._halves: list[_Half] = []
        self._raw, self._last = False, -1
        self._coded: dict[tuple[Show, int], bytes] = {}
        self._lock = threading.Lock()

    def add(self, picture: Picture) -> None:
        """Add a picture, once; one of another size or kind than those before begins anew."""
        image = picture.image
        raw = image.dtype != np.int16
        values = np.where(image == HOLE_WORD, _HOLE, (image & ADU).view(np.int16)) if raw else image
        with self._lock:
            if picture.sequence <= self._last:
                return
            self._last = picture.sequence
            self._coded.clear()
            if self._halves and (self._halves[-1].sums.shape != image.shape or raw != self._raw):
                self._halves = []
            self._raw = raw
            if not self._halves or self._halves[-1].count >= max(1, self.over // 2):
                self._halves = [*self._halves[-1:], _Half(image.shape)]
            self._halves[-1].add(values)

    def coded(self, picture: Picture, show: Show, reduce: int) -> bytes:
        """For viewers, as `Picture.coded`; the sum is of the newest pictures, `picture` at least."""
        self.add(picture)
        with self._lock:
            if (show, reduce) not in self._coded:
                levels, values = self._levels(show)
                over = sum(half.count for half in self._halves)
                self._coded[show, reduce] = picture.packed(levels, values, reduce, show=show, over=over, bragg=[])
            return self._coded[show, reduce]

    def _levels(self, show: Show) -> tuple[NDArray[np.uint8], list[int]]:
        greatest = np.maximum.reduce([half.greatest for half in self._halves])
        sums = np.add.reduce([half.sums for half in self._halves])
        raw = self._raw
        if show == "maximum":
            levels, values = grey_levels(greatest.view(np.uint16) & ADU if raw else greatest)
        elif raw:
            levels, values = grey_levels(sums)
        else:
            levels, values = np.empty(sums.shape, np.uint8), SUM_LEVELS.tolist()
            levels_of_sums(sums.reshape(-1), LEVEL_COUNT - 1, levels.reshape(-1))
        if not raw:
            levels[greatest > MAX_VALUE] = SATURATED
        for code, level in CODED_LEVELS.items():
            levels[greatest == code] = level
        return levels, values


class Sums:
    """The sums that somebody looks at. `follow` is for the thread of the run, and costs it nothing; else any thread."""

    def __init__(self) -> None:
        self._sums: dict[int, Sum] = {}
        self._new: collections.deque[Picture] = collections.deque(maxlen=_BEHIND)
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    def follow(self, picture: Picture) -> None:
        """There is a new picture."""
        if self._sums:
            with self._changed:
                self._new.append(picture)
                self._changed.notify()

    def over(self, wanted: int) -> Sum:
        """The sum over so many, or the next more that there is; it begins when it is first asked for."""
        over = next((each for each in OVER if each >= wanted), OVER[-1])
        with self._changed:
            found = self._sums.setdefault(over, Sum(over))
            found.asked = time.monotonic()
            if self._thread is None:
                self._thread = threading.Thread(target=self._add_all, name="sums", daemon=True)
                self._thread.start()
        return found

    def forget(self) -> None:
        """Begin anew: another run does."""
        with self._changed:
            self._sums.clear()
            self._new.clear()

    def _add_all(self) -> None:
        while True:
            with self._changed:
                if not self._new:
                    self._changed.wait(_ASKED_S)
                late = time.monotonic() - _ASKED_S
                self._sums = {over: each for over, each in self._sums.items() if each.asked > late}
                if not self._sums:
                    self._new.clear()
                    self._thread = None
                    return
                picture = self._new.popleft() if self._new else None
                sums = list(self._sums.values())
            if picture is not None:
                for each in sums:
                    each.add(picture)
