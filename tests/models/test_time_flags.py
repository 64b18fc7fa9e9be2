"""time_flags: the bits on the wire are those of the architecture's table, and nothing else is read into them."""

from dataclasses import replace

import pytest

from framelane.models.placement import trailer
from framelane.models.placement.trailer import Trailer
from framelane.models.time.time_flags import MASKS, TimeFlags, TimeSource, unpack

LOCKED = TimeFlags(stamped=True, locked=True, source=TimeSource.PTP, utc_known=True, tai_utc=37, accuracy=0x21)


@pytest.mark.parametrize(
    ("flags", "word"),
    [
        (TimeFlags(), 0),
        (LOCKED, 0x0025_2117),
        (TimeFlags(stamped=True, source=TimeSource.PPS, of_trigger=True, accuracy=0xFE), 0x0000_FE49),
        (TimeFlags(stamped=True, holdover=True, utc_known=True, tai_utc=-1), 0xFFFF_0031),
    ],
)
def test_a_word_has_its_bits_where_the_architecture_says(flags: TimeFlags, word: int) -> None:
    assert flags.pack() == word
    assert unpack(word) == flags
    assert unpack(word | 0x80) == flags, "a bit that nobody knows"


def test_each_mask_covers_its_field_alone() -> None:
    most = TimeFlags(True, True, True, TimeSource.RESERVED, True, True, -1, 0xFF)
    for name, mask in MASKS.items():
        assert replace(most, **{name: type(getattr(most, name))(0)}).pack() == most.pack() & ~mask


def test_a_trailer_has_them_at_byte_12_and_an_older_one_has_none() -> None:
    end = Trailer(3, 7, 5, 10**18, 1, 2, 3, 4, 6, LOCKED.pack())
    data = end.pack()
    assert data[12:16] == bytes.fromhex("17212500")
    assert trailer.unpack(data) == end
    assert trailer.unpack(data[:12] + bytes(4) + data[16:]) == replace(end, time_flags=0)


@pytest.mark.parametrize(
    ("flags", "tai"),
    [
        (LOCKED, True),
        (replace(LOCKED, locked=False, holdover=True), True),
        (replace(LOCKED, locked=False), False),
        (replace(LOCKED, stamped=False), False),
    ],
)
def test_a_time_is_tai_while_the_clock_that_stamped_it_was_held(flags: TimeFlags, tai: bool) -> None:
    assert flags.is_tai == tai


def test_an_accuracy_that_says_nothing_is_none() -> None:
    assert LOCKED.accuracy_ns == 100
    assert replace(LOCKED, accuracy=0xFE).accuracy_ns is None
