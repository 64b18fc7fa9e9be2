"""The picture: which peaks are circled, and that holes show however small they are."""

from pathlib import Path

import numpy as np
import pytest
from matplotlib import image as mpl_image

from framelane.demo.report import Exhibit, draw, spots
from framelane.models.jungfrau.jf_correct import PixelCode

HOLE_RGB = np.array([0xFF, 0x1F, 0xC7]) / 255


def test_spots_are_the_local_maxima_from_the_threshold_on_brightest_first() -> None:
    photons = np.zeros((9, 9), np.int16)
    photons[4, 4], photons[4, 5] = 50, 49
    photons[0, 0] = 60
    photons[8, 3] = 20
    photons[8, 8] = 19
    assert spots(photons, 20).tolist() == [[0, 0], [4, 4], [8, 3]]


def test_equal_neighbours_are_one_spot() -> None:
    photons = np.zeros((5, 5), np.int16)
    photons[1:3, 1:3] = 30
    assert len(spots(photons, 20)) == 1


@pytest.mark.parametrize("code", list(PixelCode))
def test_a_code_is_no_spot_and_hides_none(code: PixelCode) -> None:
    photons = np.zeros((5, 5), np.int16)
    photons[2, 2], photons[2, 3] = code, 30
    assert spots(photons, 20).tolist() == [[2, 3]]


@pytest.mark.parametrize("shape", [(64, 128), (512, 1024), (4096, 1024)])
@pytest.mark.parametrize("holes", [0, 1])
def test_a_hole_shows_even_one_pixel_of_a_4m_image(tmp_path: Path, shape: tuple[int, int], holes: int) -> None:
    rng = np.random.default_rng(1)
    raw = rng.integers(2000, 6000, shape, np.uint16)
    photons = rng.poisson(1, shape).astype(np.int16)
    raw.reshape(-1)[77 * shape[1] // 2 : 77 * shape[1] // 2 + holes] = 0x8000
    photons[raw == 0x8000] = PixelCode.HOLE
    draw(tmp_path / "report.png", "title", Exhibit(3, raw, photons, 20), [("frames", "1")])
    picture = mpl_image.imread(tmp_path / "report.png")[..., :3]
    marked = (np.abs(picture - HOLE_RGB) < 0.02).all(-1)
    assert bool(marked.any()) == bool(holes)


def test_an_image_of_holes_alone_can_be_drawn(tmp_path: Path) -> None:
    raw = np.full((32, 64), 0x8000, np.uint16)
    draw(tmp_path / "report.png", "t", Exhibit(0, raw, np.full((32, 64), PixelCode.HOLE, np.int16), 20), [])
    assert (tmp_path / "report.png").is_file()
