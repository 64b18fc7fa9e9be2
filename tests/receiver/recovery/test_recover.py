"""`framelane recover`: what a killed run has left, in every state that its files can be in."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import h5py
import hdf5plugin  # noqa: F401
import numpy as np
import pytest

from framelane.base.claim import Claim
from framelane.base.errors import InputError
from framelane.files.series import Series
from framelane.models.jungfrau.jf_packet import JfHeader
from framelane.models.placement.trailer import Trailer
from framelane.receiver import link_run, recover, replay_veto
from framelane.receiver.jungfrau.detector_frame import DetectorFrame
from framelane.receiver.jungfrau.recorder import RawFile
from framelane.receiver.pipeline.judging import Judging
from framelane.receiver.pipeline.result import Counts, Result
from framelane.receiver.pipeline.veto import Reason, Verdict
from framelane.receiver.ring.receiver import ReceivedFrame
from framelane.receiver.sinks import judged_frames
from framelane.receiver.sinks.hdf5 import Hdf5Sink
from framelane.receiver.sinks.master_file import Part, write_master
from framelane.session.session import Session

RunCli = Callable[..., tuple[int, str, str]]
MOST = 5
EPOCH_NS = 1_700_000_000_000_000_000


@pytest.fixture
def session(make_session: Callable[..., Session]) -> Session:
    return make_session(rows=4, columns=32)


@pytest.fixture
def left(tmp_path: Path, session: Session, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Path]]:
    """Writes frames, and ends as a killed process does, behind a commit: all that is open stays open until the end."""
    monkeypatch.setattr(judged_frames, "MOST_CHUNKS", MOST)
    open_files: list[Series[Hdf5Sink]] = []

    def write(
        n: int, *, name: str = "frames.h5", ended: bool = False, gone: bool = False, numbers: range | None = None
    ) -> Path:
        def make(path: Path | Claim, before: Hdf5Sink | None) -> Hdf5Sink:
            return Hdf5Sink(path, session, photon_energy_kev=12.4, judging=Judging(), before=before)

        series = Series(tmp_path / name, make)
        for number in numbers or range(n):
            pixels = np.full((4, 32), number, np.int16)
            trailer = Trailer(0, 0, number, EPOCH_NS + number, 6, 48, 1, 0, detector_frame=number)
            holes = int(number % 3 == 1)
            frame = ReceivedFrame(number, 0, pixels.view(np.uint16), holes, (trailer,))
            verdict = Verdict(20, 10, 0, Reason.ENOUGH_PEAKS)
            with series.changing() as file:
                file.write(frame, Result(pixels, Counts(holes, 0, 0, 0, 20), verdict, None, None))
        if ended:
            series.close()
        else:
            series.current.commit()
        if gone:  # the kernel takes the lock of a process that is killed
            series._claim.release()
        open_files.append(series)
        return tmp_path / name

    yield write
    for series in open_files:
        series.leave()


def test_a_run_that_was_ended_is_sound(left: Callable[..., Path], run_cli: RunCli) -> None:
    path = left(4, ended=True)
    found = recover(path)
    assert (found.sound, found.kind, found.frames, found.complete) == (True, "received frames", 4, 3)
    assert (found.first, found.last, found.gaps, found.last_ns, found.parts) == (0, 3, [], EPOCH_NS + 3, [])
    status, out, _ = run_cli("recover", path)
    assert status == 0
    assert "received frames, ended" in out
    assert "last frame: at 2023-11-14 22:13:20" in out


def test_of_many_gaps_five_are_named(left: Callable[..., Path], run_cli: RunCli) -> None:
    path = left(0, numbers=range(0, 15, 2))
    _, out, _ = run_cli("recover", path)
    assert "7 numbers between are not there: 1, 3, 5, 7, 9, ...\n" in out


def test_a_killed_run_is_told_with_its_gaps_and_nothing_is_to_be_done(
    left: Callable[..., Path], run_cli: RunCli
) -> None:
    path = left(0, numbers=range(0, 9, 2))
    before = path.read_bytes()
    found = recover(path, check=True)
    assert (found.sound, found.ended, found.frames, found.troubles) == (False, False, 5, [])
    assert found.gaps == [(1, 1), (3, 3), (5, 5), (7, 7)]
    status, out, err = run_cli("recover", path)
    assert (status, err) == (1, "")
    assert "received frames, being written" in out
    assert "4 numbers between are not there: 1, 3, 5, 7" in out
    assert "next: it can be read as it is" in out
    assert path.read_bytes() == before
    copied = path.with_name("copy.h5")
    copied.write_bytes(before)
    assert "received frames, not ended: it was killed" in run_cli("recover", copied)[1]


def test_a_killed_series_is_counted_in_all_its_files(left: Callable[..., Path], run_cli: RunCli) -> None:
    path = left(2 * MOST + 2)
    found = recover(path)
    assert [(part.path.name, part.frames, part.ended, part.linked) for part in found.parts] == [
        ("frames_data_000001.h5", MOST, False, True),
        ("frames_data_000002.h5", MOST, False, True),
        ("frames_data_000003.h5", 2, False, True),
    ]
    assert (found.frames, found.last, found.troubles, found.advice) == (12, 11, [], [])
    assert "files: 3" in run_cli("recover", path)[1]


def test_parts_that_the_file_does_not_show_are_linked_in_a_new_one(left: Callable[..., Path], run_cli: RunCli) -> None:
    """It was killed between the new name of the first part and the file that links both."""
    path = left(MOST + 2)
    path.unlink()
    os.link(path.with_name("frames_data_000001.h5"), path)
    before = path.read_bytes()
    found = recover(path)
    assert [part.linked for part in found.parts] == [False, False]
    assert found.frames == MOST + 2
    assert "frames.h5 does not show the frames of frames_data_000001.h5, frames_data_000002.h5" in found.troubles[0]
    new = path.with_name("frames_whole.h5")
    assert found.link_to == new
    assert f"--link {new} " in "".join(run_cli("recover", path)[1].splitlines())
    status, out, _ = run_cli("recover", path, "--link", new)
    assert status == 1
    assert f"see {new}, which shows 2 files as one" in " ".join(out.split())
    assert path.read_bytes() == before
    with h5py.File(new) as file:
        assert file["entry/data/data"][:, 0, 0].tolist() == list(range(MOST + 2))
    assert len(replay_veto(new).record.numbers) == MOST + 2
    with pytest.raises(InputError, match=r"frames_whole\.h5: there is a file of this name"):
        link_run(path, new)


def test_a_series_without_its_first_name_is_linked_under_that(left: Callable[..., Path]) -> None:
    path = left(MOST + 1, gone=True)
    path.unlink()
    found = recover(path)
    assert found.frames == MOST + 1
    assert found.link_to == path
    assert link_run(path, path) == 2
    assert recover(path).troubles == []


def test_a_part_that_is_gone_is_named(left: Callable[..., Path]) -> None:
    path = left(3 * MOST)
    path.with_name("frames_data_000002.h5").unlink()
    found = recover(path)
    assert (found.frames, found.gaps) == (2 * MOST, [(MOST, 2 * MOST - 1)])
    assert found.troubles[0].startswith("frames_data_000002.h5: its frames are lost: there is no file")
    assert not found.sound


def test_frames_of_a_series_without_one_of_its_parts_are_not_judged_nor_linked(
    left: Callable[..., Path], run_cli: RunCli
) -> None:
    path = left(2 * MOST, ended=True)
    assert run_cli("whatif", path, "--minimum-peaks", 1)[0] == 0
    path.with_name("frames_data_000002.h5").unlink()
    before = sorted(path.parent.iterdir())
    for command in (("whatif", path, "--minimum-peaks", 1), ("master", path.with_name("run.h5"), path)):
        status, _, err = run_cli(*command)
        assert (status, err.count("\n")) == (2, 1)
        assert "frames_data_000002.h5, which cannot be read (there is no such file): put" in err
    assert sorted(path.parent.iterdir()) == before


def test_a_percent_sign_in_a_name_is_no_pattern(left: Callable[..., Path]) -> None:
    path = left(MOST + 1, name="100%b.h5", ended=True)
    assert recover(path).sound
    with h5py.File(path) as file:
        assert file["entry/data/data"][:, 0, 0].tolist() == list(range(MOST + 1))


def test_files_of_another_run_are_not_taken_for_parts(left: Callable[..., Path]) -> None:
    left(MOST + 1).unlink()
    path = left(2, name="other.h5", ended=True).rename(left(0, numbers=range(1), name="x.h5").with_name("frames.h5"))
    found = recover(path)
    assert (found.frames, found.parts) == (2, [])
    assert "are of another run" in found.advice[0]


def test_a_damaged_image_is_found_where_it_is_asked_for(left: Callable[..., Path], run_cli: RunCli) -> None:
    path = left(4, ended=True)
    with h5py.File(path) as file:
        chunk = file["entry/data/data"].id.get_chunk_info(2)
    with path.open("r+b") as raw:
        raw.seek(chunk.byte_offset + chunk.size // 2)
        raw.write(b"\xff\x00\xff")
    assert recover(path).sound
    assert run_cli("recover", path, "--check")[0] == 1
    assert "1 of 4 images cannot be read" in recover(path, check=True).troubles[0]


def test_a_raw_recording_is_told_too(tmp_path: Path, run_cli: RunCli) -> None:
    file = RawFile(tmp_path / "raw.h5", modules=1)
    for number in (3, 4):
        packets = np.array([128 if number == 3 else 127], np.uint16)
        image = np.zeros((512, 1024), np.uint16)
        if number == 4:
            image[0] = 0x8000
        file.write(DetectorFrame(number, image, packets, (JfHeader(frame_number=number),), 0))
    file.commit()
    found = recover(tmp_path / "raw.h5")
    assert (found.kind, found.ended, found.frames, found.complete) == ("raw recording", False, 2, 1)
    assert "2 can be read, 1 complete, 1 with holes" in run_cli("recover", tmp_path / "raw.h5")[1]
    file.close()
    assert recover(tmp_path / "raw.h5").ended


def test_frames_without_numbers_are_counted_by_their_images(tmp_path: Path, run_cli: RunCli, small_file: Path) -> None:
    path = tmp_path / "corrected.h5"
    assert run_cli("correct", "--input", small_file, "--calibration", small_file, "--output", path)[0] == 0
    with h5py.File(path, "r+") as file:
        del file["entry/data/frame_number"]
    assert recover(path).frames == 3


def test_a_master_knows_what_has_become_of_the_files_of_its_ranks(left: Callable[..., Path], run_cli: RunCli) -> None:
    ranks = [left(0, name=f"run_{rank}.h5", numbers=range(rank, 4, 2)) for rank in range(2)]
    run = ranks[0].with_name("run.h5")
    with pytest.raises(
        InputError, match=r"files of its ranks: link them with `framelane master .*run_0\.h5 .*run_1\.h5"
    ):
        recover(run)
    write_master(run, [Part(path, 2) for path in ranks])
    found = recover(run)
    assert (found.kind, found.frames, found.last, found.ended) == ("frames of several receivers", 4, 3, False)
    assert found.troubles == []
    ranks[1].unlink()
    (trouble,) = recover(run).troubles
    assert trouble.startswith("rank 1: its 2 images read as holes: there is no file")


def test_a_master_older_than_the_last_frames_of_its_ranks_is_written_anew(left: Callable[..., Path]) -> None:
    old, path = left(2, name="run_0.h5"), left(3, name="new.h5")
    run = old.with_name("run.h5")
    write_master(run, [Part(old, 2)])
    path.rename(old)
    found = recover(run)
    assert found.troubles == ["run_0.h5 has 3 frames, of which the master shows 2"]
    assert found.advice[0].startswith(f"framelane master {old.with_name('run_whole.h5')} {old} ")


def test_what_holds_no_frames_is_a_sentence(tmp_path: Path, run_cli: RunCli, small_file: Path) -> None:
    (tmp_path / "text.h5").write_text("no")
    status, out, err = run_cli("recover", tmp_path / "text.h5", tmp_path / "nosuch.h5", small_file, "/dev/zero")
    said = " ".join(out.split())
    assert (status, err) == (1, "")
    assert "text.h5 is damaged or not an HDF5 file" in said
    assert "/dev/zero is a folder, a device or a pipe: give an HDF5 file" in said
    assert "none of its series: a run that was killed before its first frames were readable leaves none" in said
    assert "holds no frames" in said
    assert run_cli("recover", "a", "b", "--link", "c")[0] == 2
