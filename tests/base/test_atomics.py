"""Words that threads share: every change counts, and what was there before is told to one of them only."""

import threading
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from framelane.base.atomics import add, swap
from framelane.base.compiled import compiled

THREADS, TIMES = 4, 200_000


@compiled
def add_up(words: NDArray[np.int64], times: int) -> None:
    for _ in range(times):
        add(words, 3, 2)


@compiled
def swap_once(words: NDArray[np.int64], times: int) -> int:
    won = 0
    for at in range(times):
        won += swap(words, at, 1) == 0
    return won


def in_threads(work: Callable[[int], object]) -> None:
    threads = [threading.Thread(target=work, args=(index,)) for index in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_what_several_threads_add_is_all_there() -> None:
    words = np.zeros(8, np.int64)
    in_threads(lambda _: add_up(words, TIMES))
    assert words.tolist() == [0, 0, 0, 2 * THREADS * TIMES, 0, 0, 0, 0]


def test_of_several_threads_that_swap_a_word_one_gets_what_was_there() -> None:
    words, won = np.zeros(TIMES, np.int64), [0] * THREADS

    def work(index: int) -> None:
        won[index] = swap_once(words, TIMES)

    in_threads(work)
    assert sum(won) == TIMES
    assert (words == 1).all()
