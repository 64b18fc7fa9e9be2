"""The picture of the live page in its documentation is what the page looks like now."""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

import page_picture
from framelane.bench.serve import browser

pytestmark = pytest.mark.skipif(
    browser.CHROMIUM is None, reason="there is no Chromium: the page is looked at where one is"
)
BLOCK = 20
"""Pixels of a side: what a font's outlines differ in from machine to machine is little of it."""
FAR, MOST_FAR = 24.0, 0.02
"""How far a block's mean may be off, out of 255, and the share of blocks that may be further off."""


def blocks(path: Path, varying: list[list[int]]) -> NDArray[np.float64]:
    """The mean colour of each block, (rows, columns, 3), without what depends on the clock."""
    with Image.open(path) as image:
        pixels = np.asarray(image.convert("RGB"), np.float64).copy()
    for left, top, right, bottom in varying:
        pixels[max(0, top) : bottom, max(0, left) : right] = 0
    height, width, _ = pixels.shape
    cut = pixels[: height // BLOCK * BLOCK, : width // BLOCK * BLOCK]
    means: NDArray[np.float64] = cut.reshape(height // BLOCK, BLOCK, width // BLOCK, BLOCK, 3).mean((1, 3))
    return means


def far(now: NDArray[np.float64], then: NDArray[np.float64]) -> float:
    """The share of blocks that differ."""
    return float((np.abs(now - then).max(2) > FAR).mean())


def test_the_picture_of_the_page_is_what_it_looks_like(tmp_path: Path) -> None:
    varying = page_picture.picture(tmp_path, tmp_path / "page.png")
    then = blocks(page_picture.PICTURE, varying)
    now = blocks(tmp_path / "page.png", varying)
    assert now.shape == then.shape
    assert far(now, then) <= MOST_FAR, "run scripts/page_picture.py, if the page is as it should be"
    image = now[7:40, :48]
    assert far(np.zeros_like(image), image) > 0.3, "a page without its image would differ"
    assert far(255 - now, then) > 0.5, "and so would one in the dark"
