"""The HDF5 sink: what a reader finds in the file, and that a failed run leaves no file."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from framelane.base.errors import InputError
from framelane.files.new_hdf5 import NewHdf5
from framelane.models.placement.trailer import Trailer
from framelane.receiver.pipeline.result import Counts, Result, SparseRows
from framelane.receiver.pipeline.veto import Reason, Verdict
from framelane.receiver.ring.receiver import ReceivedFrame
from framelane.receiver.sinks.hdf5 import Hdf5Sink
from framelane.session.session import Session

MakeSession = Callable[..., Session]
HOLE = -32768


def received(session: Session, number: int, holes: int = 0) -> ReceivedFrame:
    end = Trailer(0, 0, number, 10**18 + number, 77 + number, session.image_bytes, 4, 0)
    image = np.zeros((session.rows, session.columns), np.uint16)
    return ReceivedFrame(number, number % session.n_slots, image, holes, (end,))


def result(
    image: Any, reason: Reason = Reason.ENOUGH_PEAKS, holes: int = 0, sparse: SparseRows | None = None
) -> Result:
    return Result(image, Counts(holes, 5, 6, 7, 8), Verdict(8, 10, 1, reason), sparse)


def photons(session: Session, value: int) -> Any:
    return np.full((session.rows, session.columns), value, np.int16)


def test_images_and_records_are_read_back_as_they_were_written(tmp_path: Path, make_session: MakeSession) -> None:
    session = make_session()
    with Hdf5Sink(tmp_path / "frames.h5", session, photon_energy_kev=12.4) as sink:
        image = photons(session, 3)
        image[0, 0] = HOLE
        sink.write(received(session, 40), result(photons(session, 2)))
        sink.write(received(session, 41, holes=1), result(image, holes=1))
    assert [path.name for path in tmp_path.iterdir()] == ["frames.h5"]
    with h5py.File(tmp_path / "frames.h5") as file:
        data = file["entry/data"]
        assert data["data"].dtype == np.int16
        assert data["data"].chunks == (1, session.rows, session.columns)
        assert (data["data"][0] == 2).all()
        assert (data["data"][1] == image).all()
        assert data["frame_number"][:].tolist() == [40, 41]
        assert data["timestamp_ns"][:].tolist() == [10**18 + 40, 10**18 + 41]
        assert data["bunch_id"][:].tolist() == [117, 118]
        assert data["complete"][:].tolist() == [True, False]
        assert data["holes"][:].tolist() == [0, 1]
        assert [data[name][0] for name in ("saturated", "invalid", "masked", "peaks")] == [5, 6, 7, 8]
        assert data["accepted"][:].all()


def test_the_file_says_what_its_numbers_mean_and_keeps_no_rkey(tmp_path: Path, make_session: MakeSession) -> None:
    session = make_session()
    with Hdf5Sink(tmp_path / "frames.h5", session, photon_energy_kev=12.4) as sink:
        sink.write(received(session, 0), result(photons(session, 1)))
    with h5py.File(tmp_path / "frames.h5") as file:
        data = file["entry/data/data"]
        assert data.attrs["units"] == "photons"
        codes = {"hole": -32768, "masked": -32767, "invalid": -32766, "saturated": 32767}
        assert {name: data.attrs[f"code_{name}"] for name in codes} == codes
        assert file["entry/instrument/beam/incident_energy"][()] == 12.4
        assert file["entry/instrument/beam/incident_wavelength"][()] == pytest.approx(0.99987, abs=1e-5)
        assert dict(file["entry/data/peaks"].attrs) == {"threshold": 10, "threshold_units": "photons"}
        document = json.loads(file["entry/session"][()])
        assert document["n_slots"] == session.n_slots
        assert not {"rkey", "qpn", "psn", "base"} & document.keys(), "others may read the file while the run goes on"
    assert str(session.rkey).encode() not in (tmp_path / "frames.h5").read_bytes()


def test_a_rejected_frame_has_its_record_and_reads_as_holes(tmp_path: Path, make_session: MakeSession) -> None:
    session = make_session()
    with Hdf5Sink(tmp_path / "frames.h5", session, photon_energy_kev=12.4) as sink:
        sink.write(received(session, 0), result(photons(session, 1), Reason.TOO_FEW_PEAKS))
        sink.write(received(session, 1), result(photons(session, 2), Reason.HAS_HOLES))
    with h5py.File(tmp_path / "frames.h5") as file:
        data = file["entry/data"]
        assert data["accepted"][:].tolist() == [False, True]
        assert (data["data"][0] == HOLE).all()
        assert (data["data"][1] == 2).all()
        assert data["data"].id.get_num_chunks() == 1
        names = h5py.check_enum_dtype(data["reason"].dtype)
        assert data["reason"][:].tolist() == [names["TOO_FEW_PEAKS"], names["HAS_HOLES"]]


def test_sparse_rows_of_accepted_frames_are_found_by_their_pointers(tmp_path: Path, make_session: MakeSession) -> None:
    session = make_session()
    rows = SparseRows(
        np.array([0, 2] + [2] * 14 + [3], np.int64), np.array([3, 99, 0], np.int32), np.array([10, 11, 12], np.int16)
    )
    with Hdf5Sink(tmp_path / "frames.h5", session, photon_energy_kev=12.4) as sink:
        sink.write(received(session, 0), result(photons(session, 0), Reason.TOO_FEW_PEAKS))
        sink.write(received(session, 1), result(photons(session, 0), sparse=rows))
        sink.write(received(session, 2), result(photons(session, 0), Reason.TOO_FEW_PEAKS))
        sink.write(received(session, 3), result(photons(session, 0), sparse=rows))
    with h5py.File(tmp_path / "frames.h5") as file:
        sparse = file["entry/sparse"]
        assert sparse["pointers"].chunks == (1, session.rows + 1), "those of a frame are read alone"
        pointers, columns, values = (sparse[name][()] for name in ("pointers", "columns", "values"))
    assert pointers[:, 0].tolist() == [0, 0, 3, 3]
    assert pointers[:, -1].tolist() == [0, 3, 3, 6]
    again = SparseRows(pointers[3] - pointers[3, 0], columns[pointers[3, 0] :], values[pointers[3, 0] :])
    assert (again.dense(session.columns) == rows.dense(session.columns)).all()


def test_raw_words_keep_their_own_codes(tmp_path: Path, make_session: MakeSession) -> None:
    session = make_session()
    words = np.full((session.rows, session.columns), 0xC000, np.uint16)
    with Hdf5Sink(tmp_path / "frames.h5", session) as sink:
        sink.write(received(session, 0), result(words))
    with h5py.File(tmp_path / "frames.h5") as file:
        data = file["entry/data/data"]
        assert data.dtype == np.uint16
        assert (data[0] == 0xC000).all()
        assert (data.attrs["units"], data.attrs["code_hole"]) == ("ADU words", 0x8000)


def test_many_frames_have_a_record_each(tmp_path: Path, make_session: MakeSession) -> None:
    session = make_session()
    with Hdf5Sink(tmp_path / "frames.h5", session, photon_energy_kev=12.4) as sink:
        for number in range(600):
            sink.write(received(session, number), result(photons(session, number)))
    with h5py.File(tmp_path / "frames.h5") as file:
        assert (file["entry/data/frame_number"][:] == np.arange(600)).all()
        assert (file["entry/data/data"][:, 0, 0] == np.arange(600)).all()


def test_the_records_are_read_without_any_plugin(tmp_path: Path, make_session: MakeSession) -> None:
    session = make_session()
    with Hdf5Sink(tmp_path / "frames.h5", session, photon_energy_kev=12.4) as sink:
        sink.write(received(session, 40), result(photons(session, 2)))
    code = (
        "import sys, h5py\n"
        "data = h5py.File(sys.argv[1])['entry/data']\n"
        "print(*(value[0] for name, value in sorted(data.items()) if name != 'data'))"
    )
    run = subprocess.run(
        [sys.executable, "-c", code, tmp_path / "frames.h5"], capture_output=True, text=True, check=False
    )
    assert (run.stdout, run.stderr) == (f"True 117 True 0 40 0 6 7 1 8 0 5 10 0 {10**18 + 40}\n", "")


def test_two_sinks_with_the_same_file_do_not_meet(tmp_path: Path, make_session: MakeSession) -> None:
    path, session = tmp_path / "frames.h5", make_session()
    with Hdf5Sink(path, session, photon_energy_kev=12.4) as first:
        for number in (1, 3):
            first.write(received(session, number), result(photons(session, number)))
            with pytest.raises(InputError, match="another run is writing it: give another"):
                Hdf5Sink(path, session, photon_energy_kev=12.4, force=True)
    with h5py.File(path) as file:
        assert file["entry/data/frame_number"][:].tolist() == [1, 3]
    assert list(tmp_path.iterdir()) == [path]


def test_an_error_in_the_run_leaves_no_file_and_keeps_the_old_one(tmp_path: Path, make_session: MakeSession) -> None:
    session = make_session()
    path = tmp_path / "frames.h5"
    with h5py.File(path, "w") as file:
        file["of"] = "yesterday"
    before = path.read_bytes()
    with pytest.raises(TypeError), Hdf5Sink(path, session, photon_energy_kev=12.4, force=True) as sink:
        sink.write(received(session, 0), result(np.zeros((3, 5), np.int16)))
    assert [path.name for path in tmp_path.iterdir()] == ["frames.h5"]
    assert path.read_bytes() == before


def test_a_file_that_is_no_hdf5_file_is_not_replaced(tmp_path: Path, make_session: MakeSession) -> None:
    path = tmp_path / "README.md"
    path.write_text("to be read")
    with pytest.raises(
        InputError, match=r"cannot write .*README\.md: there is a file of this name that is not an HDF5 file"
    ):
        Hdf5Sink(path, make_session(), photon_energy_kev=12.4)
    assert path.read_text() == "to be read"
    assert [path.name for path in tmp_path.iterdir()] == ["README.md"]


def test_a_folder_that_is_missing_is_one_sentence(tmp_path: Path, make_session: MakeSession) -> None:
    path = tmp_path / "nowhere" / "frames.h5"
    with pytest.raises(InputError, match=r"cannot write .*nowhere/frames\.h5: No such file or directory"):
        Hdf5Sink(path, make_session(), photon_energy_kev=12.4)


@pytest.mark.usefixtures("unprivileged")
def test_a_folder_without_permission_is_one_sentence(make_session: MakeSession) -> None:
    with pytest.raises(InputError, match=r"cannot write /etc/frames\.h5: Permission denied"):
        Hdf5Sink(Path("/etc/frames.h5"), make_session(), photon_energy_kev=12.4)


FULL_DISK = """
import resource, signal, sys
from pathlib import Path
import numpy as np
from framelane.base.errors import InputError
from framelane.session.session import Session
from framelane.receiver.sinks.hdf5 import Hdf5Sink
from framelane.files.new_hdf5 import NewHdf5
from framelane.receiver.ring.receiver import ReceivedFrame
from framelane.receiver.pipeline.result import Counts, Result
from framelane.receiver.pipeline.veto import Reason, Verdict

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[3]), int(sys.argv[3])))
session = Session.load(Path(sys.argv[1]))
images = np.random.default_rng(1).integers(0, 30000, (8, session.rows, session.columns), np.int16)
try:
    with Hdf5Sink(Path(sys.argv[2]), session, photon_energy_kev=12.4) as sink:
        for number, image in enumerate(images):
            frame = ReceivedFrame(number, 0, image.view(np.uint16), 0, (None,))
            sink.write(frame, Result(image, Counts(0, 0, 0, 0, 0), Verdict(0, 10, 0, Reason.ENOUGH_PEAKS)))
except InputError as error:
    print(error)
    sys.exit(2)
"""


@pytest.mark.parametrize("room", [0, 3000, 100_000, 240_000])
def test_a_full_disk_is_one_sentence_and_leaves_nothing(tmp_path: Path, make_session: MakeSession, room: int) -> None:
    """In a process of its own, whose files may not grow over `room` bytes: the HDF5 library can crash here."""
    make_session(rows=64, columns=256).save(tmp_path / "session.json")
    folder = tmp_path / "out"
    folder.mkdir()
    run = subprocess.run(
        [sys.executable, "-c", FULL_DISK, tmp_path / "session.json", folder / "frames.h5", str(room)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (run.returncode, run.stderr) == (2, "")
    assert run.stdout.startswith(f"cannot write {folder / 'frames.h5'}: File too large")
    assert run.stdout.count("\n") == 1
    assert list(folder.iterdir()) == []


def test_the_unit_of_a_corrected_session_is_said(tmp_path: Path, make_session: MakeSession) -> None:
    session = make_session(pixels="corrected", unit="keV", fraction_bits=3)
    with Hdf5Sink(tmp_path / "frames.h5", session):
        pass
    with h5py.File(tmp_path / "frames.h5") as file:
        attributes = file["entry/data/data"].attrs
        assert (attributes["units"], attributes["scale_factor"]) == ("keV", 0.125)


def test_a_file_that_cannot_be_begun_leaves_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="Userblock"):
        NewHdf5(tmp_path / "x.h5", userblock_size=3)
    assert list(tmp_path.iterdir()) == []
