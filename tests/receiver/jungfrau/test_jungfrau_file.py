"""A user's HDF5 file: what is wrong with it is said in one sentence, before anything is sent."""

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from framelane.base.errors import InputError
from framelane.calibration.calibration_file import CalibrationFile, write_calibration
from framelane.files import new_hdf5
from framelane.files.forgiving import ForgivingFile
from framelane.models.jungfrau.jf_calibration import Calibration
from framelane.receiver.jungfrau.jungfrau_file import JungfrauFile

SHAPE = (2, 4, 6)
PLANES = (3, 4, 6)

Make = Callable[..., Path]


@pytest.fixture
def make_file(tmp_path: Path) -> Make:
    """Write a good file of 2 frames of 4 x 6 pixels, with datasets replaced, or left out where they are None."""

    def make(energy: Any = 12.4, **changes: Any) -> Path:
        data: dict[str, Any] = {
            "raw": np.arange(48, dtype=np.uint16).reshape(SHAPE),
            "pedestal_adu": np.full(PLANES, 2400, np.float32),
            "gain_adu_per_kev": np.multiply.outer([41, -1.44, -0.1145], np.ones((4, 6))).astype(np.float32),
            "gain_known": np.tri(4, 6, dtype=np.bool_)[None].repeat(3, 0),
            "photons_reference": np.full(SHAPE, 0.5, np.float32),
        } | changes
        path = tmp_path / "frames.h5"
        with h5py.File(path, "w") as file:
            for name, value in data.items():
                if value is not None:
                    file[name] = value
            if energy is not None:
                file.attrs["photon_energy_kev"] = energy
        return path

    return make


def test_a_good_file_gives_its_frames_and_calibration(make_file: Make) -> None:
    with JungfrauFile(make_file()) as file:
        assert (file.n_frames, file.rows, file.columns, file.photon_energy_kev) == (*SHAPE, 12.4)
        assert file.image(1).dtype == np.uint16
        assert file.image(1)[3, 5] == 47
        assert not file.gain_known[0, 0, 5]
        reference = file.reference(0)
        assert reference is not None
        assert reference[0, 0] == 0.5
        assert file.calibration.usable.all()


def test_without_the_optional_datasets_every_gain_counts_as_known_and_there_is_no_reference(make_file: Make) -> None:
    with JungfrauFile(make_file(gain_known=None, photons_reference=None)) as file:
        assert file.gain_known.all()
        assert file.reference(0) is None


def test_big_endian_words_and_calibration_in_float64_are_read_as_what_they_are(make_file: Make) -> None:
    raw = np.arange(48, dtype=">u2").reshape(SHAPE)
    with JungfrauFile(make_file(raw=raw, pedestal_adu=np.full(PLANES, 0.5))) as file:
        assert file.image(0)[0, 1] == 1
        assert file.pedestal_adu.dtype == np.float32


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"raw": None}, "no dataset raw"),
        ({"pedestal_adu": None}, "no dataset pedestal_adu"),
        ({"gain_adu_per_kev": None}, "no dataset gain_adu_per_kev"),
        ({"raw": np.zeros(SHAPE[1:], np.uint16)}, r"raw has the shape \(4, 6\), needed is \(any, 4, 6\)"),
        ({"raw": np.zeros((0, 4, 6), np.uint16)}, r"raw has the shape \(0, 4, 6\)"),
        ({"raw": np.zeros((2, 6, 4), np.uint16)}, r"raw has the shape .* needed is \(any, 4, 6\)"),
        ({"raw": np.zeros(SHAPE, np.int16)}, "raw has the dtype int16, needed is uint16"),
        ({"raw": np.zeros(SHAPE, np.float32)}, "raw has the dtype float32"),
        ({"pedestal_adu": np.zeros((2, 4, 6), np.float32)}, r"pedestal_adu has the shape .* needed is \(3, any, any\)"),
        ({"pedestal_adu": np.zeros((3, 0, 6), np.float32)}, r"pedestal_adu has the shape \(3, 0, 6\)"),
        ({"mask": np.zeros((6, 4), np.bool_)}, r"mask has the shape \(6, 4\), needed is \(4, 6\)"),
        ({"gain_adu_per_kev": np.zeros((1, 4, 6), np.float32)}, "gain_adu_per_kev has the shape"),
        ({"gain_known": np.zeros(PLANES, np.uint8)}, "gain_known has the dtype uint8, needed is bool"),
        ({"photons_reference": np.zeros((1, 4, 6), np.float32)}, "photons_reference has the shape"),
        ({"energy": None}, "photon_energy_kev is missing or not a positive number"),
        ({"energy": -1.0}, "photon_energy_kev"),
        ({"energy": "bright"}, "photon_energy_kev"),
        ({"energy": [12.4, 12.5]}, "photon_energy_kev"),
    ],
)
def test_a_wrong_file_is_refused_with_the_name_of_what_is_wrong(
    make_file: Make, changes: dict[str, Any], sentence: str
) -> None:
    path = make_file(**changes)
    with pytest.raises(InputError, match=sentence) as caught:
        JungfrauFile(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


class FullDisk(ForgivingFile):
    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.error = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_calibration_for_which_there_is_no_room_leaves_the_old_one(
    tmp_path: Path, make_calibration: Callable[..., Calibration], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "calibration.h5"
    write_calibration(path, make_calibration((4, 6)))
    monkeypatch.setattr(new_hdf5, "ForgivingFile", FullDisk)
    with pytest.raises(InputError, match=r"cannot write .*calibration.h5: No space left on device: make room there"):
        write_calibration(path, make_calibration((5, 7)), force=True)
    with CalibrationFile(path) as file:
        assert (file.rows, file.columns) == (4, 6)
    assert list(tmp_path.iterdir()) == [path]


def self_pointing(file: h5py.File, name: str) -> None:
    file[name] = h5py.SoftLink(f"/{name}")


def dangling(file: h5py.File, name: str) -> None:
    file[name] = h5py.SoftLink("/nowhere")


def group(file: h5py.File, name: str) -> None:
    file.create_group(name)


def null(file: h5py.File, name: str) -> None:
    file[name] = h5py.Empty("f4")


def huge(file: h5py.File, name: str) -> None:
    file.create_dataset(name, (3, 1 << 24, 1 << 24), "f4", chunks=(1, 1024, 1024))


def exotic_float(file: h5py.File, name: str) -> None:
    kind = h5py.h5t.IEEE_F32LE.copy()
    kind.set_fields(31, 1, 30, 0, 1)  # an exponent of 30 bits
    h5py.h5d.create(file.id, name.encode(), kind, h5py.h5s.create_simple(PLANES))


def time(file: h5py.File, name: str) -> None:
    h5py.h5d.create(file.id, name.encode(), h5py.h5t.UNIX_D32LE, h5py.h5s.create_simple(PLANES))


@pytest.mark.parametrize("name", ["raw", "pedestal_adu", "gain_adu_per_kev", "gain_known", "mask", "photons_reference"])
@pytest.mark.parametrize("make", [self_pointing, dangling, group, null, huge, exotic_float, time])
def test_what_hdf5_allows_for_a_dataset_and_nobody_expects_is_one_sentence(
    make_file: Make, name: str, make: Callable[[h5py.File, str], None]
) -> None:
    path = make_file(**{name: None})
    with h5py.File(path, "r+") as file:
        make(file, name)
    with pytest.raises(InputError, match=name) as caught:
        JungfrauFile(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("shape", [(4, 6), PLANES])
def test_masked_pixels_are_not_usable(make_file: Make, shape: tuple[int, ...]) -> None:
    mask = np.zeros(shape, np.bool_)
    mask[..., 2, 3] = True
    with JungfrauFile(make_file(mask=mask)) as file:
        assert np.argwhere(~file.calibration.usable).tolist() == [[stage, 2, 3] for stage in range(3)]


def test_numbers_that_are_no_calibration_are_refused_with_the_name_of_the_file(make_file: Make) -> None:
    path = make_file(pedestal_adu=np.full(PLANES, np.nan, np.float32))
    with JungfrauFile(path) as file, pytest.raises(InputError, match="the pedestal is not a finite number") as caught:
        _ = file.calibration
    assert str(path) in str(caught.value)


def test_a_file_that_is_missing_or_a_folder_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path / "nowhere.h5", tmp_path):
        with pytest.raises(InputError, match=r"there is no file|is a folder, a device or a pipe: give an HDF5 file"):
            JungfrauFile(path)


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.99])
def test_a_truncated_file_is_refused(make_file: Make, share: float) -> None:
    path = make_file()
    path.write_bytes(path.read_bytes()[: int(path.stat().st_size * share)])
    with pytest.raises(InputError, match="damaged or not an HDF5 file") as caught:
        JungfrauFile(path)
    assert "\n" not in str(caught.value)


def test_a_frame_whose_bytes_are_damaged_is_refused_when_it_is_read(tmp_path: Path, make_file: Make) -> None:
    path = make_file()
    with h5py.File(path, "r+") as file:
        raw = file["raw"][()]
        del file["raw"]
        dataset = file.create_dataset("raw", data=raw, chunks=(1, 4, 6), fletcher32=True)
        offset = dataset.id.get_chunk_info(1).byte_offset
    data = bytearray(path.read_bytes())
    data[offset] ^= 1
    path.write_bytes(data)
    with JungfrauFile(path) as file:
        file.image(0)
        with pytest.raises(InputError, match="cannot read frame 1 of raw"):
            file.image(1)
