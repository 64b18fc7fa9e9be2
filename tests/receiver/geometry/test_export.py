"""Geometries for other programs, read by them: each pixel is where the assembly of images puts it."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyFAI
import pytest
from numpy.typing import NDArray

from framelane.base.errors import InputError
from framelane.models.jungfrau.jf_geometry import Geometry, ModulePlace
from framelane.receiver import Metadata, export_geometry
from framelane.receiver.geometry.assembly import Assembly

RunCli = Callable[..., tuple[int, str, str]]
EXPERIMENT = Metadata(distance_mm=120, beam_x=500.25, beam_y=700.5, energy_kev=12.4)
TURNED = Geometry(
    name="turned",
    rows=1030,
    columns=1600,
    module=(
        ModulePlace(x=3, y=514, flip="rows"),
        ModulePlace(x=1050, y=0, rotate=90),
        ModulePlace(x=2, y=0, rotate=180, flip="columns"),
    ),
)
ASSEMBLY = Assembly(TURNED)
SHAPE = (3 * 512, 1024)
CHOSEN = [
    (0, 0),
    (0, 1023),
    (511, 0),
    (300, 700),
    (512, 0),
    (512 + 100, 900),
    (1023, 1023),
    (1024 + 257, 3),
    (1535, 513),
]
"""Pixels (row, column) of the raw frame that are not double."""


def place(pixel: tuple[int, int]) -> tuple[float, float]:
    """The centre of a pixel in the assembled image, x and y in pixels: looked up in an image that has it alone."""
    frame = np.zeros(SHAPE, np.int16)
    frame[pixel] = 1
    row, column = np.argwhere(ASSEMBLY(frame) == 1)[0]
    return float(column) + 0.5, float(row) + 0.5


def crystfel(path: Path) -> tuple[dict[str, str], dict[str, dict[str, str]]]:
    """What a .geom says of all, and of each panel, by the rules of crystfel_geometry(5)."""
    shared: dict[str, str] = {}
    panels: dict[str, dict[str, str]] = {}
    for line in path.read_text().splitlines():
        key, _, value = (part.strip() for part in line.partition(";")[0].partition("="))
        panel, _, name = key.rpartition("/")
        if key:
            (panels.setdefault(panel, {}) if panel else shared)[name] = value
    return shared, panels


def crystfel_corner(panels: dict[str, dict[str, str]], row: float, column: float) -> tuple[float, float]:
    """Where a point of the file's image is, x and y in pixels of the plane, from CrystFEL's axes: left, and up."""
    (panel,) = (
        panel
        for panel in panels.values()
        if int(panel["min_ss"]) <= int(row) <= int(panel["max_ss"])
        and int(panel["min_fs"]) <= int(column) <= int(panel["max_fs"])
    )
    fast, slow = column - int(panel["min_fs"]), row - int(panel["min_ss"])
    at = []
    for axis in "xy":
        (fs,), (ss,) = (re.findall(rf"([+-][0-9.]+){axis}", panel[name]) for name in ("fs", "ss"))
        at.append(float(panel[f"corner_{axis}"]) + fast * float(fs) + slow * float(ss))
    return 500.25 - at[0], 700.5 - at[1]


def test_crystfel_finds_the_pixels_of_frames_as_they_come(tmp_path: Path) -> None:
    export_geometry(tmp_path / "a.geom", TURNED, EXPERIMENT, images="stacked")
    shared, panels = crystfel(tmp_path / "a.geom")
    for row, column in CHOSEN:
        assert crystfel_corner(panels, row + 0.5, column + 0.5) == pytest.approx(place((row, column)))
    said = [(shared[name], kind) for name, kind in (("photon_energy", 12400), ("clen", 0.12), ("res", 1 / 75e-6))]
    assert [float(value) for value, _ in said] == pytest.approx([wanted for _, wanted in said])
    assert (shared["data"], shared["mask"]) == ("/entry/data/data", "/entry/instrument/detector/pixel_mask")


def test_crystfel_is_told_what_a_value_is(run_cli: RunCli, tmp_path: Path) -> None:
    given = ("--geometry", "jungfrau_500k", "--distance", 100, "--beam-x", 500, "--beam-y", 200, "--energy", 9)
    for unit, said in (((), ("adu_per_photon", "1")), (("--unit", "keV"), ("adu_per_eV", "0.001"))):
        assert run_cli("geometry", "export", tmp_path / "a.geom", *given, *unit, "--force")[0] == 0
        shared, _ = crystfel(tmp_path / "a.geom")
        assert [(name, value) for name, value in shared.items() if name.startswith("adu_per")] == [said]


def test_crystfel_finds_the_pixels_of_assembled_images(tmp_path: Path) -> None:
    export_geometry(tmp_path / "a.geom", TURNED, EXPERIMENT)
    _, panels = crystfel(tmp_path / "a.geom")
    assert len(panels) == 3
    for row, column in [(514, 3), (1027, 1032), (0, 1050), (1029, 1563), (0, 2), (513, 1031)]:
        assert crystfel_corner(panels, row, column) == pytest.approx((column, row))


def corners(path: Path) -> NDArray[Any]:
    """z, y and x of each pixel's corners as pyFAI has them, (rows, columns, 4, 3), in pixels from the beam's image."""
    made: NDArray[Any] = pyFAI.load(str(path)).detector.get_pixel_corners() / 75e-6
    return made


def test_pyfai_finds_the_pixels_of_frames_as_they_come_and_double_ones_are_large(tmp_path: Path) -> None:
    written = export_geometry(tmp_path / "a.poni", TURNED, EXPERIMENT, images="stacked")
    assert [path.name for path in written] == ["a.poni", "a.detector.h5"]
    made = corners(tmp_path / "a.poni")
    for pixel in CHOSEN:
        _, y, x = made[pixel].mean(axis=0)
        assert (x, y) == pytest.approx(place(pixel), abs=1e-3)
    sides = np.ptp(made[..., 1:], axis=2)
    area = sides.prod(axis=-1)
    assert [round(float(area[at])) for at in [(10, 10), (10, 255), (255, 10), (255, 255), (256, 256), (0, 0)]] == [
        *(1, 2, 2, 4, 4, 1)
    ]
    assert area.sum() == pytest.approx(3 * 514 * 1030, rel=1e-4), "together they are the whole of three modules"


def test_pyfai_has_distance_wavelength_and_the_foot_of_the_beam(tmp_path: Path) -> None:
    export_geometry(tmp_path / "a.poni", "jungfrau_4m", EXPERIMENT)
    read = pyFAI.load(str(tmp_path / "a.poni"))
    assert read.detector.shape == (2164, 2068)
    assert read.wavelength == pytest.approx(12.398419843320026 / 12.4 * 1e-10)
    beam = read.getFit2D()
    assert (beam["directDist"], beam["centerX"], beam["centerY"], beam["tilt"]) == pytest.approx(
        (120, 500.25, 700.5, 0)
    )


def test_the_command_writes_them_and_says_what_is_missing(run_cli: RunCli, tmp_path: Path) -> None:
    where = ("--beam-x", 500.25, "--beam-y", 700.5, "--wavelength", 1.0)
    status, out, _ = run_cli(
        "geometry", "export", tmp_path / "a.geom", "--geometry", "jungfrau_4m", "--distance", 120, *where
    )
    assert (status, "a.geom" in out) == (0, True)
    assert len(crystfel(tmp_path / "a.geom")[1]) == 8
    status, _, err = run_cli("geometry", "export", tmp_path / "b.geom", "--geometry", "jungfrau_4m", *where)
    assert (status, err) == (2, "framelane: a geometry needs --distance: give what is missing\n")
    status, _, err = run_cli("geometry", "export", tmp_path / "b.geom", "--distance", 120, *where)
    assert (status, err) == (2, "framelane: nothing says where the modules are: give --geometry\n")
    with pytest.raises(InputError, match=r"give a name that ends with \.geom or \.poni"):
        export_geometry(tmp_path / "b.txt", TURNED, EXPERIMENT)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.geom"]
