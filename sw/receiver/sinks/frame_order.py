"""The order of one run's frames that lie in several files, and that order as few regular pieces."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Piece:
    """`count` blocks of `block` frames each, every `stride` from `start` on: those of a file from `index` on."""

    start: int
    stride: int
    count: int
    block: int
    index: int


def order(numbers: Sequence[NDArray[np.uint64]], unknown: int) -> tuple[Integers, Integers]:
    """The file and the place there of each frame, by number.

    `numbers` are those of each file's frames, in their order; one that is `unknown` stays behind the frame before it.
    Frames of the same number are in the order of the files.
    """
    known = np.concatenate([_as_before(column, unknown) for column in numbers])
    files = np.repeat(np.arange(len(numbers)), [len(column) for column in numbers])
    places = np.concatenate([np.arange(len(column)) for column in numbers])
    by_number = np.argsort(known, kind="stable")
    return files[by_number], places[by_number]


def _as_before(numbers: NDArray[np.uint64], unknown: int) -> NDArray[np.uint64]:
    """The numbers, each unknown one replaced by the last before it; 0 where there is none."""
    known = numbers != unknown
    last = np.maximum.accumulate(np.where(known, np.arange(1, len(numbers) + 1), 0))
    return np.concatenate([np.zeros(1, np.uint64), numbers])[last]


def twice(numbers: Sequence[NDArray[np.uint64]], unknown: int) -> tuple[int, int, int] | None:
    """The first number that two files have, and which two; None where each that is known is in one file."""
    known = [np.unique(column[column != unknown]) for column in numbers]
    files = np.repeat(np.arange(len(known)), [len(column) for column in known])
    every = np.concatenate(known)
    by_number = np.argsort(every, kind="stable")
    same = np.flatnonzero(np.diff(every[by_number]) == 0)
    if not len(same):
        return None
    one, other = by_number[same[0]], by_number[same[0] + 1]
    return int(every[one]), int(files[one]), int(files[other])


def pieces(at: Integers, places: Integers) -> Iterator[Piece]:
    """The frames of one file: at `at`, which rises, are those from `places`.

    Bunches that come in turn are one piece, until a frame is missing.
    """
    if not len(at):
        return
    breaks = 1 + np.flatnonzero((np.diff(at) != 1) | (np.diff(places) != 1))
    starts = np.concatenate([[0], breaks]).astype(np.intp)
    lengths = np.diff(np.concatenate([starts, [len(at)]])).tolist()
    targets, sources = at[starts].tolist(), places[starts].tolist()
    first = 0
    while first < len(targets):
        block, last = lengths[first], first + 1
        stride = targets[last] - targets[first] if last < len(targets) else block
        while (
            last < len(targets)
            and lengths[last] == block
            and targets[last] - targets[last - 1] == stride
            and sources[last] - sources[last - 1] == block
        ):
            last += 1
        yield Piece(targets[first], max(stride, block), last - first, block, sources[first])
        first = last
