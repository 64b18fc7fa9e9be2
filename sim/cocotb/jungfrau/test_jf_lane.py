"""jf_lane: raw words with the constants at their ends and with random ones, against exact integers."""

import itertools
from collections.abc import Callable
from typing import Any

import cocotb

from bench import Bench, run
from exact import exact
from signals import now

LATENCY = 7
ALL_WORDS = range(0x10000)

# Ends of the stages, the codes and their neighbours, and what rounds and clips in between
EDGES = sorted({w % 0x10000 for base in range(0, 0x10000, 0x4000) for w in range(base - 3, base + 4)} | {2400, 0x7523})

Constants = tuple[list[int], list[int], bool]
"""Pedestals and mantissas of the stages, and whether they count."""


class Lane:
    """The lane under test with its shifts; one word an enabled clock."""

    def __init__(self, dut: Any, shift: list[int], high_gain: bool = False) -> None:
        self.bench = Bench(dut)
        self.dut, self.shift, self.high_gain = dut, shift, high_gain
        dut.shift_i.value, dut.high_gain_i.value = _packed(shift, 5), int(high_gain)
        dut.en_i.value = 1
        self._words: list[int] = []
        self._expected: list[int | None] = []
        """The value due at each enabled clock; None: it is not checked."""
        self._left = 0
        self.bench.watch(self._sample)

    def _sample(self) -> None:
        """Before each enabled edge: what leaves is LATENCY words behind the one that enters."""
        if not now(self.dut.en_i):
            return
        self._left += 1
        k = self._left - 1 - LATENCY
        if 0 <= k < len(self._expected):
            bits = now(self.dut.value_o)
            got = bits - 0x10000 if bits & 0x8000 else bits
            assert self._expected[k] in (None, got), f"word {self._words[k]:#06x}: {got}, not {self._expected[k]}"

    async def feed(self, words: list[int] | range, constants: Callable[[], Constants]) -> None:
        """One word after the other, each with the next constants."""
        for word in words:
            pedestal, mantissa, calibrated = constants()
            self.dut.word_i.value, self.dut.calibrated_i.value = word, int(calibrated)
            self.dut.pedestal_i.value, self.dut.mantissa_i.value = _packed(pedestal, 16), _packed(mantissa, 16)
            self._words.append(word)
            used = mantissa if calibrated else [0, 0, 0]
            self._expected.append(exact(word, pedestal, used, self.shift, self.high_gain))
            await self.bench.step()

    async def shift_to(self, shift: int) -> None:
        """Another shift for all stages, when the words of before have left."""
        if self.shift != [shift] * 3:
            await self.finish()
            self.shift = [shift] * 3
            self.dut.shift_i.value = _packed(self.shift, 5)

    async def finish(self) -> None:
        """See the last words leave."""
        for _ in range(LATENCY):
            await self.bench.step()
            self._words.append(0)
            self._expected.append(None)
        assert self._left == len(self._expected)


def _packed(values: list[int], width: int) -> int:
    return sum(value << (width * k) for k, value in enumerate(values))


@cocotb.test()
@cocotb.parametrize(shift=[[26, 21, 18], [0, 31, 1]], high_gain=[False, True])
async def every_word_with_random_constants(dut: Any, shift: list[int], high_gain: bool) -> None:
    lane = Lane(dut, shift, high_gain)
    random = lane.bench.random

    def constants() -> Constants:
        mantissa = [random.randrange(0x10000) if random.random() < 0.95 else 0 for _ in range(3)]
        return [random.randrange(0x10000) for _ in range(3)], mantissa, True

    await lane.feed(ALL_WORDS, constants)
    await lane.finish()


@cocotb.test()
@cocotb.parametrize(shift=[0, 1, 16, 17, 31])
async def words_at_the_ends_with_constants_at_their_ends(dut: Any, shift: int) -> None:
    lane = Lane(dut, [shift] * 3)
    for pedestal, mantissa in itertools.product((0, 1, 9601, 0xFFFF), (0, 1, 0x7FFF, 0x8000, 0xFFFF)):
        await lane.feed(EDGES, lambda p=pedestal, m=mantissa: ([p] * 3, [m] * 3, True))  # type: ignore[misc]
    await lane.finish()


@cocotb.test()
async def values_around_powers_of_two_are_clipped_and_do_not_turn_with_any_shift(dut: Any) -> None:
    """Where rounding brings a value to 2^15, 2^16 or 2^17, from both sides."""
    lane = Lane(dut, [0, 0, 0])
    for shift, power, pedestal in itertools.product(range(32), (15, 16, 17), range(24)):
        mantissa = round((1 << power + shift) / (4 * 0x3FFF - pedestal))
        if 0 < mantissa < 0x10000:
            await lane.shift_to(shift)
            await lane.feed([0x3FFF], lambda p=pedestal, m=mantissa: ([p] * 3, [m] * 3, True))  # type: ignore[misc]
            await lane.feed([0x4001, 0xC001], lambda p=0x10000 - 1 - pedestal, m=mantissa: ([p] * 3, [m] * 3, True))  # type: ignore[misc]
    await lane.finish()


@cocotb.test()
async def a_pixel_without_constants_is_masked_but_keeps_its_own_codes(dut: Any) -> None:
    lane = Lane(dut, [20] * 3)
    await lane.feed(EDGES, lambda: ([9600] * 3, [0x9000] * 3, False))
    await lane.finish()


@cocotb.test()
async def a_lane_that_is_stopped_goes_on_where_it_was(dut: Any) -> None:
    lane = Lane(dut, [14, 14, 14])
    random = lane.bench.random
    for _ in range(300):
        await lane.feed([random.randrange(0x10000)], lambda: ([random.randrange(0x10000)] * 3, [0xC123] * 3, True))
        dut.en_i.value = 0
        for _ in range(random.randrange(3)):
            dut.word_i.value = random.randrange(0x10000)
            await lane.bench.step()
        dut.en_i.value = 1
    await lane.finish()


def test_jf_lane() -> None:
    run("jf_lane")
