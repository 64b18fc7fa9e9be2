"""The geometry of the ring."""

import pytest

from framelane.base.errors import ConfigError
from framelane.models.placement.slots import SlotLayout


def test_the_smallest_slot_is_image_and_trailers_in_whole_pages() -> None:
    assert SlotLayout.needed(4096 - 64) == 4096
    assert SlotLayout.needed(4096 - 63) == 8192
    assert SlotLayout.needed(4096 - 128, sources=2) == 4096


def test_slots_follow_each_other_and_trailers_end_each() -> None:
    layout = SlotLayout(n_slots=3, slot_bytes=8192, image_bytes=4097, sources=2)
    assert layout.ring_bytes == 24576
    assert [layout.slot_offset(n) for n in (0, 1, 2, 3, 3 * 10**18 + 1)] == [0, 8192, 16384, 0, 8192]
    assert [layout.trailer_offset(source) for source in (0, 1)] == [8192 - 128, 8192 - 64]


@pytest.mark.parametrize(
    "fields",
    [
        {"slot_bytes": 4096},
        {"slot_bytes": 8191},
        {"image_bytes": 8192 - 127},
        {"n_slots": 0},
        {"sources": 0},
        {"sources": 257},
        {"image_bytes": 0},
    ],
)
def test_an_impossible_ring_is_refused(fields: dict[str, int]) -> None:
    good = {"n_slots": 3, "slot_bytes": 8192, "image_bytes": 4097, "sources": 2}
    SlotLayout(**good)
    with pytest.raises(ConfigError):
        SlotLayout(**good | fields)


def test_a_ring_too_small_says_what_would_do() -> None:
    with pytest.raises(ConfigError, match=r"ring too small: .* give at least 1052672"):
        SlotLayout(n_slots=4, slot_bytes=1 << 20, image_bytes=1 << 20)
