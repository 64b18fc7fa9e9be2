"""The model of a cache of translations: what it must reach is known by counting, without the model."""

import pytest

from framelane.models.pcie.translation_cache import Cache, of_ring, round_and_round, run

TLP, WIRE = 256, 14.4


def test_a_ring_within_reach_is_as_fast_as_the_wire() -> None:
    found = of_ring(Cache(64), 64 << 12, 1 << 12, TLP, WIRE)
    assert found.hit_share == 1
    assert found.gb_s == pytest.approx(WIRE)


@pytest.mark.parametrize("page_log2", [12, 16])
def test_a_ring_one_page_beyond_it_misses_each_page(page_log2: int) -> None:
    """With a lookup at a time: a read, then the page's time on the wire."""
    page = 1 << page_log2
    found = of_ring(Cache(64, ahead=1), 65 * page, page, TLP, WIRE, most=page // TLP * 200)
    assert found.hit_share == pytest.approx(1 - TLP / page)
    assert found.gb_s == pytest.approx(page / (1000 + page / WIRE))


def test_reads_that_are_far_enough_ahead_hide_their_time_and_one_short_do_not() -> None:
    page, ring = 1 << 12, 1 << 24
    assert of_ring(Cache(64, tags=4, ahead=128), ring, page, TLP, WIRE).gb_s == pytest.approx(WIRE, rel=0.01)
    found = of_ring(Cache(64, tags=3, ahead=128), ring, page, TLP, WIRE)
    assert found.gb_s == pytest.approx(3 * page / 1000, rel=0.01)


def test_the_least_recently_used_page_is_forgotten() -> None:
    pages = [1, 2, 1, 3, 1, 2]
    assert run(Cache(2), pages, TLP, 1.0).hit_share == 2 / 6
    assert [page for page, _ in zip(round_and_round(1024, 512, 256), range(6), strict=False)] == [0, 0, 1, 1, 0, 0]
