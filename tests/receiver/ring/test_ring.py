"""The ring: holes, trailers, and credit that returns only for clean slots."""

from collections.abc import Callable

import numpy as np
import pytest

from framelane.base.errors import ConfigError
from framelane.models.placement.slots import FREE_RUNNING, HOLE_WORD
from framelane.models.placement.trailer import TRAILER_BYTES, Trailer
from framelane.receiver.ring.ring import Ring
from framelane.receiver.ring.window import Window
from framelane.session.session import Session

MakeSession = Callable[..., Session]


def write_trailer(ring: Ring, at_frame: int, place: int = 0, **says: int) -> None:
    """Write a trailer into the slot of `at_frame`, at the place of a source; right unless `says` tells otherwise."""
    slot = ring.layout.slot(at_frame)
    right = {"source": place, "slot": slot, "frame_number": at_frame, "payload_bytes": ring.share_bytes}
    rest = dict.fromkeys(("timestamp_ns", "bunch_id", "packets", "frames_dropped"), 0)
    start = ring.layout.slot_offset(at_frame) + ring.layout.trailer_offset(place)
    ring.memory[start : start + TRAILER_BYTES] = np.frombuffer(Trailer(**(right | says), **rest).pack(), np.uint8)


def test_a_new_ring_is_all_holes_on_whole_pages(make_session: MakeSession) -> None:
    session = make_session()
    ring = Ring(session)
    assert ring.memory.nbytes == session.layout.ring_bytes
    assert ring.memory.ctypes.data % 4096 == 0
    assert (ring.memory.view("<u2") == HOLE_WORD).all()
    assert ring.holes(2) == 1600


@pytest.mark.parametrize("pages", [-1, 1])
def test_memory_of_another_size_is_refused(make_session: MakeSession, pages: int) -> None:
    session = make_session()
    memory = np.zeros(session.layout.ring_bytes + 4096 * pages, np.uint8)
    with pytest.raises(ConfigError, match=rf"{session.layout.ring_bytes} bytes does not fit memory of {memory.size}"):
        Ring(session, memory)


def test_slots_in_use_are_those_that_are_read_and_those_that_a_trailer_has_named() -> None:
    window = Window(4, 6)
    assert (window.next, window.used) == (2, 0)
    window.newest = 3
    assert window.used == 2
    window.close(3, [2])
    assert window.used == 2
    window.release(2)
    assert window.used == 1
    window.newest = 90
    assert window.used == 4, "no more than there are"


def test_exactly_the_pixels_that_were_not_written_are_holes(make_session: MakeSession) -> None:
    ring = Ring(make_session())
    ring.image(1)[:] = 7
    ring.image(1)[3, 90:] = HOLE_WORD
    assert ring.holes(1) == 10
    assert np.argwhere(ring.hole_mask(1)).tolist() == [[3, column] for column in range(90, 100)]
    assert ring.holes(0) == ring.holes(2) == 1600


def test_a_frame_lies_in_the_slot_of_its_number_for_ever(make_session: MakeSession) -> None:
    ring = Ring(make_session())
    ring.image(2**40 + 3)[0, 0] = 7
    assert ring.memory[3 * ring.layout.slot_bytes] == 7


def test_credit_waits_for_the_oldest_frame_while_later_ones_are_released(make_session: MakeSession) -> None:
    ring = Ring(make_session())
    ring.window.close(4, range(4))
    ends = []
    for frame in (2, 1, 0, 3):
        ring.release(frame)
        ends.append(ring.window_end)
    assert ends == [4, 4, 7, 8]


def test_where_the_writer_fills_what_it_leaves_a_slot_without_a_trailer_is_blank_whatever_pixels_it_has(
    make_session: MakeSession,
) -> None:
    ring = Ring(make_session(), fills_itself=True)
    ring.window.close(4, range(4))
    assert ring.blank(1)
    ring.image(1)[:] = 7
    write_trailer(ring, 1)
    assert not ring.blank(1)
    assert ring.release(1)
    assert (ring.image(1) == 7).all(), "nothing needs to fill it"
    assert ring.trailer_at(1, 0) is None
    assert ring.blank(1 + 4)


def test_a_slot_is_clean_to_its_last_byte_before_its_credit_returns(make_session: MakeSession) -> None:
    ring = Ring(make_session())
    ring.memory.fill(0x55)
    ring.window.close(1, [0])
    assert ring.window_end == 4
    assert ring.release(0)
    assert ring.window_end == 5
    words = ring.memory.view("<u2").reshape(4, -1)
    assert (words[0] == HOLE_WORD).all()
    assert (words[1:] == 0x5555).all()


def test_a_frame_released_twice_is_the_callers_mistake(make_session: MakeSession) -> None:
    ring = Ring(make_session())
    ring.window.close(1, [0])
    ring.release(0)
    with pytest.raises(ValueError, match="frame 0 is not in use"):
        ring.release(0)
    assert ring.window_end == 5


@pytest.mark.parametrize("says", [{"frame_number": 9}, {"slot": 2}, {"source": 0}, {"payload_bytes": 3200}])
def test_the_trailer_of_another_frame_slot_source_or_size_is_not_taken(
    make_session: MakeSession, says: dict[str, int]
) -> None:
    ring = Ring(make_session(sources=2))
    write_trailer(ring, 5, place=1)
    assert ring.trailer(5, 1)
    write_trailer(ring, 5, place=1, **says)
    assert ring.trailer(5, 1) is None
    assert ring.trailer(5, 0) is None


def test_a_trailer_whose_number_belongs_to_another_slot_tells_nothing(make_session: MakeSession) -> None:
    ring = Ring(make_session())
    write_trailer(ring, 0, frame_number=5)
    assert not ring.overwritten(0)


def test_a_blank_slot_has_neither_pixel_nor_trailer(make_session: MakeSession) -> None:
    ring = Ring(make_session())
    assert ring.blank(5)
    write_trailer(ring, 1)
    assert ring.blank(5), "a stale trailer of frame 1 is nothing of frame 5"
    write_trailer(ring, 5)
    assert not ring.blank(5)
    ring.image(6)[15, 99] = 0
    assert not ring.blank(6)
    write_trailer(ring, 2)
    assert ring.blank(6), "the pixel is frame 2's, whose trailer is beside it"


def test_the_trailer_of_one_source_for_another_frame_makes_the_slot_blank_too(make_session: MakeSession) -> None:
    ring = Ring(make_session(sources=2))
    ring.image(1)[0, 0] = 0
    assert not ring.blank(5)
    write_trailer(ring, 1, place=1)
    assert ring.blank(5), "the pixel is frame 1's, of which one source has ended"
    write_trailer(ring, 5, place=0)
    assert not ring.blank(5)


def test_a_session_that_goes_on_at_a_later_frame_opens_there(make_session: MakeSession) -> None:
    ring = Ring(make_session(window_end=1002))
    assert ring.window.next == 998
    ring.window.close(999, [998])
    ring.release(998)
    assert ring.window_end == 1003


@pytest.mark.parametrize(
    ("stop", "live"), [(8, range(6, 8)), (12, range(8, 12)), (14, range(10, 14)), (15, range(11, 14)), (99, range(0))]
)
def test_running_free_a_slot_may_hold_what_is_at_most_a_ring_from_the_newest(
    make_session: MakeSession, stop: int, live: range
) -> None:
    ring = Ring(make_session(window_end=FREE_RUNNING))
    ring.window.newest = 9
    assert list(ring.window.live(stop)) == list(live)
    ring.window.close(11, [])
    assert list(ring.window.live(stop)) == [frame for frame in live if frame >= 11]


def test_with_credit_a_slot_may_hold_what_the_credit_allows(make_session: MakeSession) -> None:
    ring = Ring(make_session(window_end=104))
    assert list(ring.window.live(102)) == [100, 101]
    assert list(ring.window.live(109)) == [100, 101, 102, 103]
    ring.window.close(102, [])
    assert list(ring.window.live(109)) == [102, 103, 104, 105]


def test_credit_for_less_than_the_ring_is_refused(make_session: MakeSession) -> None:
    with pytest.raises(ConfigError, match="window_end 3 is below the ring's 4 slots"):
        Ring(make_session(window_end=3))


@pytest.mark.parametrize("n_slots", [1 << 25, (1 << 31) - 1])
def test_a_ring_larger_than_any_memory_is_refused(make_session: MakeSession, n_slots: int) -> None:
    with pytest.raises(ConfigError, match="no memory for a ring of"):
        Ring(make_session(n_slots=n_slots, slot_bytes=(1 << 31) - 4096, base=0))


def test_one_slot_cannot_run_free(make_session: MakeSession) -> None:
    with pytest.raises(ConfigError, match="give at least 2 slots"):
        Ring(make_session(n_slots=1, window_end=FREE_RUNNING))


def test_with_credit_only_a_source_that_ignores_it_overwrites(make_session: MakeSession) -> None:
    ring = Ring(make_session())
    ring.window.newest = 3
    assert not ring.overwritten(0)
    write_trailer(ring, 4)
    assert ring.overwritten(0)
    assert not ring.overwritten(1)


def test_running_free_the_slot_is_in_danger_once_the_frame_before_its_next_one_has_ended(
    make_session: MakeSession,
) -> None:
    ring = Ring(make_session(window_end=FREE_RUNNING))
    ring.window.newest = 2
    assert ring.sound(0)
    ring.window.newest = 3
    assert not ring.sound(0)
    assert ring.sound(1)


def test_running_free_a_trailer_in_memory_tells_before_any_completion(make_session: MakeSession) -> None:
    ring = Ring(make_session(window_end=FREE_RUNNING))
    write_trailer(ring, 3)
    assert not ring.sound(0)


def test_running_free_an_overwritten_slot_is_left_alone_and_its_next_frame_is_not_trusted(
    make_session: MakeSession,
) -> None:
    ring = Ring(make_session(window_end=FREE_RUNNING))
    ring.image(0)[:] = 7
    ring.window.newest = 3
    ring.window.close(1, [0])
    assert not ring.release(0)
    assert ring.holes(0) == 0, "frame 4 may be on its way into this slot"
    assert not ring.sound(4), "what frame 4 does not write shows frame 0"
    ring.window.newest = 4
    ring.window.close(5, [4])
    assert ring.release(4)
    assert ring.sound(8)
    assert ring.holes(8) == 1600
    assert ring.window_end == FREE_RUNNING
