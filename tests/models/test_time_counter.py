"""The clock's model: exact for any number of cycles, and the same cycle by cycle."""

from fractions import Fraction
from random import Random

import pytest

from framelane.models.time import time_counter as model
from framelane.models.time.time_counter import END, NS, SECOND, SLEW_CYCLES, Clock, Rate


def random_rate(random: Random) -> Rate:
    denominator = random.randrange(1, 60)
    return Rate(
        random.choice([4 * NS, random.randrange(1 << 40)]),
        random.randrange(denominator),
        denominator,
        random.randrange(-1 << 31, 1 << 31),
        random.randrange(1 << 32),
    )


def test_many_cycles_at_once_are_as_many_one_by_one() -> None:
    random = Random(1)
    for _ in range(500):
        rate = random_rate(random)
        start = Clock(
            random.randrange(END),
            random.randrange(-90, 90),
            random.randrange(-1 << 33, 1 << 33),
        )
        cycles = random.randrange(100)
        one_by_one = start
        for _ in range(cycles):
            one_by_one = model.advance(one_by_one, rate)
        assert model.advance(start, rate, cycles) == one_by_one


@pytest.mark.parametrize("hertz", [125_000_000, 156_250_000, 250_000_000, 322_265_625, 390_625_000])
def test_an_hour_of_cycles_is_an_hour(hertz: int) -> None:
    clock = model.advance(Clock(), model.rate_of(hertz), 3600 * hertz)
    assert abs(clock.time - 3600 * SECOND) <= 1


def test_time_never_goes_back_however_its_registers_are() -> None:
    random = Random(2)
    for _ in range(200):
        rate, clock = random_rate(random), model.slewing(Clock(), random.randrange(-1 << 40, 1 << 40))
        for _ in range(40):
            after = model.advance(clock, rate)
            assert after.time >= clock.time
            clock = after


def test_a_slew_moves_by_its_amount_and_no_faster_than_its_rate() -> None:
    rate = Rate(slew_rate=NS // 8)
    plain = Clock()
    for amount in (5 * NS + 3, -5 * NS - 3):
        clock = model.slewing(plain, amount)
        turns = -(-abs(amount) // rate.slew_rate)
        almost = model.advance(clock, rate, (turns - 1) * SLEW_CYCLES)
        assert abs(almost.slew) == abs(amount) % rate.slew_rate
        after = model.advance(almost, rate, SLEW_CYCLES)
        assert after.slew == 0
        assert (after.time - model.advance(plain, rate, turns * SLEW_CYCLES).time - amount) % END == 0


def test_an_adjustment_is_its_parts_per_billion() -> None:
    rate = model.rate_of(250_000_000, -100_000.0)
    second = model.advance(Clock(), rate, 250_000_000).time
    assert abs(Fraction(second - SECOND, SECOND) + Fraction(1, 10_000)) < Fraction(1, 10**10)


def test_a_step_is_signed_and_a_set_is_absolute() -> None:
    clock = model.set_to(Clock(), 7 * SECOND + 5 * NS)
    assert model.stepped(clock, -6 * NS).time == 7 * SECOND - NS
    assert model.seconds_and_rest(-5 * NS) == (-1, 999_999_995, 0)
    assert model.tai_ns(clock.time) == 7_000_000_005


@pytest.mark.parametrize(
    "wrong", [{"period": 1 << 40}, {"adjust": 1 << 31}, {"numerator": 3, "denominator": 3}, {"slew_rate": -1}]
)
def test_what_no_register_holds_is_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=r"has more than|is not below 1"):
        Rate(**wrong)
