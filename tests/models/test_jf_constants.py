"""The correction's constants in the memory of a board."""

import numpy as np
import pytest

from framelane.base.errors import ConfigError
from framelane.models.jungfrau import jf_constants
from framelane.models.jungfrau.jf_fixed import FixedCalibration

SHAPE = (2, 1100)
"""2200 words: more than a page of 4096 bytes."""

COUNTED = np.arange(6 * 2200, dtype=np.uint16).reshape(2, 3, *SHAPE)


def test_each_plane_begins_at_its_multiple_of_the_pitch() -> None:
    packed = jf_constants.pack(FixedCalibration(COUNTED[0], COUNTED[1], (1, 2, 3)), 8192)
    assert len(packed) == 6 * 8192
    for plane in range(6):
        for pixel in (0, 1, 1099, 1100, 2199):
            at = plane * 8192 + 2 * pixel
            assert int.from_bytes(packed[at : at + 2], "little") == plane * 2200 + pixel
        assert not any(packed[plane * 8192 + 4400 : (plane + 1) * 8192])


@pytest.mark.parametrize(("image_bytes", "pitch"), [(1, 4096), (4096, 4096), (4098, 8192), (1 << 20, 1 << 20)])
def test_planes_begin_on_pages(image_bytes: int, pitch: int) -> None:
    assert jf_constants.needed_pitch(image_bytes) == pitch


@pytest.mark.parametrize("pitch", [0, 4096, 8000])
def test_planes_that_would_overlap_or_begin_within_a_page_are_refused(pitch: int) -> None:
    with pytest.raises(ConfigError, match=f"4400 bytes do not lie at a pitch of {pitch}: .*, 8192 or more"):
        jf_constants.pack(FixedCalibration(COUNTED[0], COUNTED[1], (1, 2, 3)), pitch)
