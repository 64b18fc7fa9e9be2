"""Geometries: what the 4M is, and one clear sentence for each that cannot be."""

from pathlib import Path

import numpy as np
import pytest

from framelane.base.errors import InputError
from framelane.models.jungfrau.jf_geometry import own_places, second_places
from framelane.receiver.geometry import geometry_file

MODULE = "\n[[module]]\nx = 0\ny = 0\n"
HEAD = 'name = "mine"\nrows = 514\ncolumns = 1030\n'


def write(tmp_path: Path, text: str) -> str:
    path = tmp_path / "mine.toml"
    path.write_text(text)
    return str(path)


@pytest.mark.parametrize("size", [512, 1024])
def test_places_are_where_pixels_of_double_width_at_chip_borders_put_them(size: int) -> None:
    inner = [n for border in range(256, size, 256) for n in (border - 1, border)]
    width = np.ones(size, int)
    width[inner] = 2
    end = np.cumsum(width)
    for pixel, places in enumerate(zip(own_places(size).tolist(), second_places(size).tolist(), strict=True)):
        assert set(places) == set(range(end[pixel] - width[pixel], end[pixel]))
    # A pixel's own place is on the chip's even grid, away from the border.
    assert own_places(size)[inner[:2]].tolist() == [255, 258]


def test_the_4m_is_2_by_4_modules_with_gaps_of_8_and_36() -> None:
    geometry = geometry_file.load("jungfrau_4m")
    assert (geometry.rows, geometry.columns, len(geometry.module)) == (2164, 2068, 8)
    assert (2 * 1030 + 8, 4 * 514 + 3 * 36) == (2068, 2164)
    places = [(module.x, module.y) for module in geometry.module]
    # From the bottom left to the top right.
    assert places == [(x, y) for y in (1650, 1100, 550, 0) for x in (0, 1038)]
    assert {module.flip for module in geometry.module} == {"rows"}


def test_every_geometry_of_the_package_is_usable() -> None:
    sizes = {name: len(geometry_file.load(name).module) for name in geometry_file.names()}
    assert sizes == {
        **{"jungfrau_1500k": 3, "jungfrau_16m_alvra": 32, "jungfrau_16m_bernina": 32},
        **{"jungfrau_4m": 8, "jungfrau_500k": 1},
    }


ALVRA = (
    [
        *(68, 0, 618, 618, 550, 550, 1168, 1168, 1100, 1100, 1718, 1718, 1650, 1650, 2268, 2268),
        *(2200, 2200, 2818, 2818, 2750, 2750, 3368, 3368, 3300, 3300, 3918, 3918, 3850, 3850, 4468, 4400),
    ],
    [
        *(972, 2011, 0, 1039, 2078, 3117, 0, 1039, 2078, 3117, 0, 1039, 2078, 3117),
        *(*(66, 1106, 2145, 3184) * 4, 1106, 2145),
    ],
)
"""First rows and first columns of JF06T32V01, as PSI has published them (jungfrau_utils, geometry.py)."""


def test_the_16m_of_alvra_is_turned_as_a_whole_after_its_modules_were_laid_down() -> None:
    geometry = geometry_file.load("jungfrau_16m_alvra")
    drawn = np.zeros((max(ALVRA[0]) + 514, max(ALVRA[1]) + 1030), np.uint16)
    image = np.zeros((geometry.rows, geometry.columns), np.uint16)
    for number, (y, x, place) in enumerate(zip(*ALVRA, geometry.module, strict=True)):
        module = (np.arange(514 * 1030) % 2000 + 1 + 2000 * number).astype(np.uint16).reshape(514, 1030)
        drawn[y : y + 514, x : x + 1030] = module
        rows, columns = place.shape
        image[place.y : place.y + rows, place.x : place.x + columns] = place.turn(module)
    np.testing.assert_array_equal(image, np.rot90(drawn))


def test_the_modules_of_the_16m_of_bernina_leave_the_beam_a_hole() -> None:
    places = [(module.y, module.x) for module in geometry_file.load("jungfrau_16m_bernina").module]
    upper, lower = places[:16], places[16:]
    assert [x for _, x in upper] == [68 + 1039 * column for column in range(4)] * 4
    assert [x for _, x in lower] == [1039 * column for column in range(4)] * 4
    assert [y for y, _ in places] == [550 * (n // 4) + (68 if n % 4 > 1 else 0) for n in range(32)]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (HEAD, r"\[\[module\]\]: is missing"),
        (HEAD + "module = []", r"\[\[module\]\]: there is none: write"),
        (HEAD + "module = 5", r"\[\[module\]\]: is not a list of tables: write .* above each module \(line 4\)$"),
        (HEAD + "module = [5]", r"\[\[module\]\] 0: is not a table: write"),
        (HEAD.replace('"mine"', "1") + MODULE, "name: is 1: give a text, in quotes"),
        (HEAD.replace("rows = 514", "rows = 0") + MODULE, "rows: is 0: give 1 or more"),
        (HEAD + MODULE + "turn = 90", r"\[\[module\]\] 0: turn: is not a key here: remove it, or give one of flip"),
        (HEAD + MODULE + "rotate = 45", r"\[\[module\]\] 0: rotate: is 45: give 0, 90, 180 or 270"),
        (HEAD + MODULE + 'flip = "both"', r"\[\[module\]\] 0: flip: "),
        (HEAD + MODULE + "masked = 1", r"\[\[module\]\] 0: masked: is 1: give true or false"),
        (HEAD + "[[module]]\nx = 0.5\ny = 0", r"\[\[module\]\] 0: x: is 0.5: give a whole number"),
        (HEAD + "[[module]]\nx = -1\ny = 0", r"\[\[module\]\] 0: x: is -1: give 0 or more"),
        (HEAD + "[[module]]\nx = 0", r"\[\[module\]\] 0: y: is missing"),
        (
            HEAD + "[[module]]\nx = 1\ny = 0",
            "module 0 at x = 1, y = 0 takes 514 rows and 1030 columns and lies out",
        ),
        (HEAD + MODULE + "rotate = 90", "module 0 at x = 0, y = 0 takes 1030 rows and 514 columns and lies outside"),
        (
            HEAD.replace("514", "600") + MODULE + "[[module]]\nx = 0\ny = 86",
            "module 1 at x = 0, y = 86 overlaps module 0",
        ),
        (HEAD.replace("514", "514000000") + MODULE, "an image of 514000000 x 1030 is too large"),
        ("rows = ", "is not TOML"),
        ("rows = " + "9" * 5000, "is not TOML"),
        ("rows = " + "[" * 5000 + "]" * 5000, "is nested too deeply"),
    ],
)
def test_a_geometry_that_cannot_be_is_one_sentence_with_the_name_of_the_file(
    tmp_path: Path, text: str, sentence: str
) -> None:
    path = write(tmp_path, text)
    with pytest.raises(InputError, match=sentence) as caught:
        geometry_file.load(path)
    assert path in str(caught.value)
    assert "\n" not in str(caught.value)


def test_modules_that_touch_do_not_overlap(tmp_path: Path) -> None:
    text = HEAD.replace("514", "1028") + MODULE + "[[module]]\nx = 0\ny = 514\n"
    assert len(geometry_file.load(write(tmp_path, text)).module) == 2


def test_a_name_that_is_no_geometry_and_no_file_names_those_that_there_are(tmp_path: Path) -> None:
    for name in ("jungfrau_5m", str(tmp_path)):
        with pytest.raises(InputError, match=r"cannot read the geometry .*: give a file, or one of jungfrau_1500k, "):
            geometry_file.load(name)


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="is not text in UTF-8"):
        geometry_file.load(str(tmp_path / "a.toml"))
