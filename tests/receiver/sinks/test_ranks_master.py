"""The master of several ranks' files: every frame of them once, in the detector's order, whatever was lost."""

import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from ipaddress import IPv4Address
from pathlib import Path

import h5py
import hdf5plugin  # noqa: F401
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from framelane.base.errors import InputError
from framelane.models.placement.trailer import Trailer
from framelane.receiver.pipeline.raw_words import RawWords
from framelane.receiver.ring.receiver import ReceivedFrame
from framelane.receiver.sinks.frame_order import order, pieces
from framelane.receiver.sinks.hdf5 import Hdf5Sink
from framelane.receiver.sinks.master_file import Part, write_master
from framelane.receiver.sinks.nxmx import UNKNOWN_FRAME
from framelane.session.session import Session
from framelane.session.session_plan import Node, SessionPlan

RunCli = Callable[..., tuple[int, str, str]]
NODE = Node(mac="02:00:00:00:00:01", ip=IPv4Address("127.0.0.1"))


def session(rows: int = 4) -> Session:
    return Session.random(SessionPlan(source=NODE, receiver=NODE, n_slots=2, rows=rows, columns=6))


def write(path: Path, numbers: Sequence[int | None], of: Session | None = None) -> Part:
    """The file of a rank: frames of these numbers of the detector, None for one without trailer."""
    of = of or session()
    with Hdf5Sink(path, of) as sink:
        for own, number in enumerate(numbers):
            trailer = None if number is None else Trailer(0, 0, own, 5, 6, 48, 1, 0, detector_frame=number)
            image = np.full((of.rows, of.columns), 999 if number is None else number, np.uint16)
            frame = ReceivedFrame(own, own % 2, image, 0, (trailer,))
            sink.write(frame, RawWords()(image))
    return Part(path, len(numbers), {"host": path.stem})


def read(path: Path) -> tuple[list[int], list[int], list[int]]:
    """Pixels, ranks, places: of all frames."""
    with h5py.File(path) as file:
        data = file["entry/data"]
        assert (data["data"][:] == data["data"][:, :1, :1]).all()
        return data["data"][:, 0, 0].tolist(), data["rank"][:].tolist(), data["rank_frame"][:].tolist()


def test_frames_of_bunches_come_in_the_order_of_the_detector(tmp_path: Path) -> None:
    parts = [write(tmp_path / f"run_{r}.h5", [n for n in range(100) if n // 10 % 3 == r]) for r in range(3)]
    master = write_master(tmp_path / "run.h5", parts)
    assert (master.frames, master.left_out) == (100, {})
    pixels, ranks, _ = read(tmp_path / "run.h5")
    assert pixels == list(range(100))
    assert ranks == [n // 10 % 3 for n in range(100)]
    with h5py.File(tmp_path / "run.h5") as file:
        assert len(file["entry/data/data"].virtual_sources()) == 3, "one mapping a rank"
        assert file["entry/ranks/2"].attrs["host"] == "run_2"
        assert "definition" not in file["entry"], "raw words are not NXmx"
        assert file["entry/data/data"].attrs["code_hole"] == 0x8000


def test_lost_frames_and_those_without_number_keep_the_order(tmp_path: Path) -> None:
    first = write(tmp_path / "run_0.h5", [0, None, 4, 6, None])
    second = write(tmp_path / "run_1.h5", [None, 1, 3, 5])
    write_master(tmp_path / "run.h5", [first, second])
    assert read(tmp_path / "run.h5") == (
        [0, 999, 999, 1, 3, 4, 5, 6, 999],
        [0, 0, 1, 1, 1, 0, 1, 0, 0],
        [0, 1, 0, 1, 2, 2, 3, 3, 4],
    )
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["entry/data/detector_frame"][1] == UNKNOWN_FRAME


def test_the_folder_can_be_moved_and_files_may_lie_in_others(tmp_path: Path) -> None:
    (tmp_path / "a" / "ranks").mkdir(parents=True)
    part = write(tmp_path / "a" / "ranks" / "run_0.h5", [3, 1, 2])
    write_master(tmp_path / "a" / "run.h5", [part])
    (tmp_path / "a").rename(tmp_path / "b")
    assert read(tmp_path / "b" / "run.h5") == ([1, 2, 3], [0, 0, 0], [1, 2, 0])
    with h5py.File(tmp_path / "b" / "run.h5") as file:
        assert len(file["entry/ranks/0/entry/data/data"]) == 3


def test_the_images_of_a_file_that_is_gone_read_as_holes(tmp_path: Path) -> None:
    parts = [write(tmp_path / f"run_{r}.h5", [r, r + 2]) for r in range(2)]
    write_master(tmp_path / "run.h5", parts)
    (tmp_path / "run_1.h5").unlink()
    assert read(tmp_path / "run.h5")[0] == [0, 0x8000, 2, 0x8000]


def test_a_rank_without_a_file_is_named_and_the_rest_is_there(tmp_path: Path) -> None:
    parts = [Part(None, about={"fault": "killed"}), write(tmp_path / "run_1.h5", [4, 5])]
    assert write_master(tmp_path / "run.h5", parts).frames == 2
    assert read(tmp_path / "run.h5") == ([4, 5], [1, 1], [0, 1])
    with h5py.File(tmp_path / "run.h5") as file:
        assert (file["entry/ranks/0"].attrs["fault"], file["entry/ranks/0"].attrs["frames"]) == ("killed", 0)
        assert "entry" not in file["entry/ranks/0"]


def test_a_file_that_does_not_belong_to_the_run_is_left_out(tmp_path: Path) -> None:
    good = write(tmp_path / "run_0.h5", [1, 2])
    older = write(tmp_path / "run_1.h5", [7, 8, 9])
    other = write(tmp_path / "run_2.h5", [3], session(rows=8))
    (tmp_path / "run_4.h5").write_bytes(b"\x89HDF\r\n\x1a\n and no more")
    parts = [good, Part(older.path, 2), other, Part(tmp_path / "run_3.h5", 1), Part(tmp_path / "run_4.h5", 1)]
    master = write_master(tmp_path / "run.h5", parts)
    assert master.frames == 2
    assert {rank: sentence.partition(" ")[2][:20] for rank, sentence in master.left_out.items()} == {
        1: "has 3 frames, its ra",
        2: "has other images tha",
        3: "is not to be seen fr",
        4: "is damaged or not an",
    }
    with h5py.File(tmp_path / "run.h5") as file:
        assert "another file" in file["entry/ranks/1"].attrs["left_out"]


def test_without_frames_an_older_master_stays(tmp_path: Path) -> None:
    (tmp_path / "run.h5").write_text("older")
    assert write_master(tmp_path / "run.h5", [Part(None), Part(None)]).frames == 0
    assert (tmp_path / "run.h5").read_text() == "older"


def test_a_master_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    part = write(tmp_path / "run_0.h5", [1])
    with pytest.raises(InputError, match="give a file in a folder that exists"):
        write_master(tmp_path / "nowhere" / "run.h5", [part])


def test_a_master_that_does_not_fit_the_disk_is_one_sentence_and_leaves_nothing(tmp_path: Path) -> None:
    part = write(tmp_path / "run_0.h5", range(300))
    program = (
        "import resource, sys; from pathlib import Path\n"
        "from framelane.receiver.sinks.master_file import Part, write_master\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))\n"
        "write_master(Path(sys.argv[2]), [Part(Path(sys.argv[1]))])\n"
    )
    master = tmp_path / "run.h5"
    run = subprocess.run([sys.executable, "-c", program, str(part.path), str(master)], capture_output=True, text=True)
    assert run.returncode == 1
    assert run.stderr.endswith(
        f"InputError: cannot write {master}: File too large: make room there, or give another file\n"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["run_0.h5"]


def test_names_with_percent_signs_are_names(tmp_path: Path) -> None:
    parts = [write(tmp_path / name, [n]) for n, name in enumerate(("a%b.h5", "a%%.h5", "a%d%.h5"))]
    assert write_master(tmp_path / "run%b.h5", parts).left_out == {}
    assert read(tmp_path / "run%b.h5")[0] == [0, 1, 2]


def test_a_file_that_is_not_the_one_that_its_rank_has_written_is_left_out(tmp_path: Path) -> None:
    parts = [write(tmp_path / f"run_{r}.h5", [r]) for r in range(2)]
    seen = (tmp_path / "run_0.h5").stat()
    stamped = [replace(parts[0], stamp=(seen.st_size, seen.st_mtime_ns)), replace(parts[1], stamp=(seen.st_size, 1))]
    master = write_master(tmp_path / "run.h5", stamped)
    assert list(master.left_out) == [1]
    assert "run_1.h5 as rank 0 sees it is not the file that its rank has written" in master.left_out[1]
    assert read(tmp_path / "run.h5")[0] == [0]


def test_files_of_receivers_without_mpi_are_linked_by_a_command(run_cli: RunCli, tmp_path: Path) -> None:
    paths = [write(tmp_path / name, numbers).path for name, numbers in (("a.h5", [0, 1, 4]), ("b.h5", [2, 3, 5]))]
    status, out, _ = run_cli("master", tmp_path / "run.h5", *paths)
    assert (status, out.splitlines()[-1]) == (0, f"see {tmp_path / 'run.h5'}, of 6 frames")
    assert read(tmp_path / "run.h5")[:2] == (list(range(6)), [0, 0, 1, 1, 0, 1])
    status, _, err = run_cli("master", tmp_path / "a.h5", *paths)
    assert (status, "it is an input of this run" in err) == (2, True)
    status, _, err = run_cli("master", tmp_path / "none.h5", tmp_path / "c.h5")
    assert (status, (tmp_path / "none.h5").exists()) == (2, False)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.lists(st.integers(0, 60), max_size=40), min_size=1, max_size=4))
def test_pieces_put_every_frame_to_its_place(numbers: list[list[int]]) -> None:
    columns: list[NDArray[np.uint64]] = [np.array(each, np.uint64) for each in numbers]
    files, places = order(columns, UNKNOWN_FRAME)
    sorted_numbers = [numbers[file][place] for file, place in zip(files, places, strict=True)]
    assert sorted_numbers == sorted(number for each in numbers for number in each)
    found: dict[int, tuple[int, int]] = {}
    for file in range(len(numbers)):
        at = np.flatnonzero(files == file)
        for piece in pieces(at, places[at]):
            for n in range(piece.count * piece.block):
                target = piece.start + n // piece.block * piece.stride + n % piece.block
                assert target not in found
                found[target] = file, piece.index + n
    assert [found[n] for n in range(len(files))] == list(zip(files.tolist(), places.tolist(), strict=True))
