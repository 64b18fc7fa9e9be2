"""The HDF5 sink with room reserved: whenever the disk is full, the file has every frame that was written."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest

from framelane.files.reserving import SLACK_BYTES
from framelane.session.session import Session

WRITE_UNTIL_FULL = """
import resource, sys
from pathlib import Path
import numpy as np
from framelane.session.session import Session
from framelane.receiver.sinks.hdf5 import Hdf5Sink
from framelane.receiver.ring.receiver import ReceivedFrame
from framelane.receiver.pipeline.judging import Judging
from framelane.receiver.pipeline.result import Counts, Result, SparseRows
from framelane.receiver.pipeline.veto import Reason, Verdict

session, output = Session.load(Path(sys.argv[1])), Path(sys.argv[2])
room, retracted = map(int, sys.argv[3:])
resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
rungs = tuple(1 << n for n in range(15))
rng = np.random.default_rng(1)
with Hdf5Sink(output, session, photon_energy_kev=12.4, judging=Judging(rungs=rungs), reserve=True) as sink:
    number = 0
    while not sink.full:
        image = rng.integers(1, 30000, (session.rows, session.columns), np.int16)
        columns = np.tile(np.arange(session.columns, dtype=np.int32), session.rows)
        rows = SparseRows(np.arange(session.rows + 1, dtype=np.int64) * session.columns, columns, image.reshape(-1))
        frame = ReceivedFrame(number, 0, image.view(np.uint16), 0, (None,))
        verdict = Verdict(number, 10, 0, Reason.ENOUGH_PEAKS)
        sink.write(frame, Result(image, Counts(0, 0, 0, 0, number), verdict, rows, np.full(15, number)))
        number += 1
    if retracted:
        sink.retract()
print(number, sink.full)
"""


def test_a_limit_that_leaves_no_room_for_a_frame_is_said_before_the_first(
    tmp_path: Path, make_session: Callable[..., Session]
) -> None:
    make_session().save(tmp_path / "session.json")
    arguments = (tmp_path / "session.json", tmp_path / "frames.h5", str(SLACK_BYTES), "0")
    run = subprocess.run(
        [sys.executable, "-c", WRITE_UNTIL_FULL, *arguments], capture_output=True, text=True, check=False
    )
    assert run.returncode == 1
    assert "frames.h5: File too large (files end at 33.6 MB, see `ulimit -f`, of which 33.6 MB are for" in run.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["session.json"]


@pytest.mark.parametrize(
    ("rows", "columns", "room", "retracted"),
    [(16, 96, 400_000, 0), (16, 96, 2_345_678, 1), (128, 1024, 2_345_678, 0), (512, 1024, 9_000_001, 1)],
)
def test_a_disk_that_is_full_keeps_all_that_was_written(
    tmp_path: Path, make_session: Callable[..., Session], rows: int, columns: int, room: int, retracted: int
) -> None:
    session = make_session(rows=rows, columns=columns)
    session.save(tmp_path / "session.json")
    reserved = SLACK_BYTES + round(1.02 * (5 * session.image_bytes + 8 * (rows + 1)))
    output = tmp_path / "frames.h5"
    arguments = (tmp_path / "session.json", output, str(reserved + room), str(retracted))
    run = subprocess.run(
        [sys.executable, "-c", WRITE_UNTIL_FULL, *arguments], capture_output=True, text=True, check=False
    )
    assert (run.returncode, run.stderr) == (0, "")
    number, why = run.stdout.rstrip().split(" ", 1)
    limit_mb, reserved_mb = (reserved + room) / 1e6, reserved / 1e6
    assert why.startswith(
        f"File too large (files end at {limit_mb:.1f} MB, see `ulimit -f`, of which {reserved_mb:.1f} MB"
    )
    n = int(number) - retracted
    assert {path.name for path in tmp_path.iterdir()} == {"session.json", "frames.h5"}
    rng = np.random.default_rng(1)
    with h5py.File(output) as file:
        data, sparse = file["entry/data"], file["entry/sparse"]
        assert data["frame_number"][:].tolist() == data["peaks"][:].tolist() == list(range(n))
        assert data["ladder"][:, 7].tolist() == list(range(n))
        assert sparse["pointers"].shape[0] == n
        assert sparse["columns"].shape == sparse["values"].shape == (n * rows * columns,)
        for at, image in enumerate(data["data"]):
            expected = rng.integers(1, 30000, (rows, columns), np.int16)
            np.testing.assert_array_equal(image, expected)
            part = slice(at * rows * columns, (at + 1) * rows * columns)
            np.testing.assert_array_equal(sparse["values"][part], expected.reshape(-1))
