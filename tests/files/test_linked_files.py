"""Files that show others: none of these is missed in silence, whichever command reads them."""

from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest

from framelane.base.errors import InputError
from framelane.calibration.calibration_file import write_calibration
from framelane.calibration.raw_frames import RawFrames
from framelane.files.linked_files import with_linked
from framelane.files.series import link
from framelane.models.jungfrau.jf_detector import Detector, DetectorConfig

RunCli = Callable[..., tuple[int, str, str]]
ROWS, COLUMNS = 16, 96
PARTS = [f"rec_data_00000{number}.h5" for number in (1, 2, 3)]


@pytest.fixture(autouse=True)
def _series(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """rec.h5 of three parts with two frames each, and top.h5, which shows rec.h5."""
    monkeypatch.chdir(tmp_path)
    for number, name in enumerate(PARTS):
        with h5py.File(name, "w") as file:
            file.create_dataset("raw", data=np.full((2, ROWS, COLUMNS), number, np.uint16), maxshape=(None, None, None))
    link(Path("rec.h5"), [Path(name) for name in PARTS], growing=False)
    with h5py.File("top.h5", "w") as file:
        layout = h5py.VirtualLayout((6, ROWS, COLUMNS), np.uint16)
        layout[:] = h5py.VirtualSource("rec.h5", "raw", (6, ROWS, COLUMNS))
        file.create_virtual_dataset("raw", layout)


def lose() -> None:
    Path(PARTS[1]).unlink()


def cut() -> None:
    Path(PARTS[1]).write_bytes(Path(PARTS[1]).read_bytes()[:2000])


def empty() -> None:
    with h5py.File(PARTS[1], "w"):
        pass


@pytest.mark.parametrize("name", ["rec.h5", "top.h5"])
@pytest.mark.parametrize(
    ("damage", "why"), [(lose, "there is no such file"), (cut, ".*truncated file.*"), (empty, "it has no dataset /raw")]
)
def test_a_part_that_cannot_be_read_is_named(name: str, damage: Callable[[], None], why: str) -> None:
    with RawFrames(name) as frames:
        assert [words[0, 0, 0] for _, words in frames.batches()] == [0]
        assert frames.batch(0).words[:, 0, 0].tolist() == [0, 0, 1, 1, 2, 2]
    damage()
    with pytest.raises(InputError, match=rf"{name} shows frames of .*{PARTS[1]}, which cannot be read \({why}\): put"):
        RawFrames(name)
    with RawFrames(PARTS[2]) as frames:
        assert frames.n_frames == 2


def test_raw_frames_of_a_series_without_one_of_its_parts_are_refused(run_cli: RunCli) -> None:
    write_calibration("c.h5", Detector(DetectorConfig(modules=1, rows=ROWS, columns=COLUMNS)).calibration)
    Path("maps.bin").write_bytes(bytes(3 * 512 * 1024 * 8))
    lose()
    before = sorted(Path().iterdir())
    for command in (
        ("correct", "--input", "rec.h5", "--calibration", "c.h5"),
        ("calibration", "make", "--gain-maps", "maps.bin", "--dark-g0", "rec.h5", "--energy", 12),
    ):
        status, _, err = run_cli(*command, "--output", "new.h5")
        assert (status, err.count("\n")) == (2, 1)
        assert f"rec.h5 shows frames of {PARTS[1]}, which cannot be read (there is no such file): put" in err
    assert sorted(Path().iterdir()) == before


def test_files_that_show_each_other_are_found_once() -> None:
    for own, other in (("a.h5", "b.h5"), ("b.h5", "a.h5")):
        with h5py.File(own, "w") as file:
            layout = h5py.VirtualLayout((1, ROWS, COLUMNS), np.uint16)
            layout[:] = h5py.VirtualSource(other, "raw", (1, ROWS, COLUMNS))
            file.create_virtual_dataset("raw", layout)
    assert with_linked([Path("a.h5")]) == [Path("a.h5"), Path("b.h5")]
