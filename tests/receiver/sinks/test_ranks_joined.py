"""Files of ranks as users join them: what is of one run, what is refused, and how `framelane whatif` names frames."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import h5py
import hdf5plugin  # noqa: F401
import numpy as np
import pytest

from framelane.models.peaks.peak_settings import PeakSettings
from framelane.models.placement.trailer import Trailer
from framelane.receiver.pipeline.corrected import CorrectedImages
from framelane.receiver.pipeline.judging import Judging
from framelane.receiver.pipeline.random_share import RandomShare
from framelane.receiver.pipeline.veto import Veto
from framelane.receiver.ring.receiver import ReceivedFrame
from framelane.receiver.sinks.frame_order import twice
from framelane.receiver.sinks.hdf5 import Hdf5Sink
from framelane.receiver.sinks.master_file import Part, write_master
from framelane.receiver.sinks.nxmx import UNKNOWN_FRAME
from framelane.session.session import Session

RunCli = Callable[..., tuple[int, str, str]]
FIELDS = {
    "source": {"mac": "02:00:00:00:00:01", "ip": "127.0.0.2"},
    "receiver": {"mac": "02:00:00:00:00:02", "ip": "127.0.0.1"},
} | {"pixels": "corrected", "qpn": 1, "psn": 0, "rkey": 1, "base": 0, "n_slots": 1, "slot_bytes": 4096}


@dataclass(frozen=True)
class Given:
    """A receiver's options and session."""

    threshold: int = 10
    minimum: int = 20
    rungs: Sequence[int] = (1, 10, 100)
    share: RandomShare | None = None
    unit: str = "photons"
    rows: int = 8
    bragg: PeakSettings | None = None


AS_USUAL = Given()


def write(path: Path, numbers: Sequence[int | None], given: Given = AS_USUAL) -> Path:
    """A file: frame k has k bright pixels; these are the detector's numbers, None for a frame without trailer."""
    shape, share = (given.rows, 16), given.share
    session = Session.model_validate({**FIELDS, "rows": shape[0], "columns": shape[1], "unit": given.unit})
    judging = Judging(veto=Veto(given.threshold, given.minimum), rungs=tuple(given.rungs), bragg=given.bragg)
    process = CorrectedImages(shape, judging)
    with Hdf5Sink(path, session, judging=judging, share=share) as sink:
        for own, number in enumerate(numbers):
            words = np.zeros(shape, np.uint16)
            words.reshape(-1)[:own] = 1000
            trailer = None if number is None else Trailer(0, 0, own, 5, 6, 48, 1, 0, detector_frame=number)
            frame = ReceivedFrame(own, 0, words, 0, (trailer,))
            sink.write(frame, process(words, keep=share is not None and share.keeps(own)))
    return path


def run_of_two(folder: Path) -> list[Path]:
    """Files of two receivers, in bunches of 10 frames."""
    numbers = [[n for n in range(80) if n // 10 % 2 == rank] for rank in range(2)]
    return [write(folder / f"run_{rank}.h5", numbers[rank]) for rank in range(2)]


def gained(out: str) -> list[str]:
    line = next(line for line in out.splitlines() if "would be accepted" in line)
    return [name for name in line.partition(": ")[2].split(", ") if name]


def test_whatif_of_a_master_names_frames_by_the_number_of_the_detector(run_cli: RunCli, tmp_path: Path) -> None:
    files = run_of_two(tmp_path)
    assert run_cli("master", tmp_path / "run.h5", *files)[0] == 0
    status, out, _ = run_cli("whatif", tmp_path / "run.h5", "--minimum-peaks", 15)
    assert (status, gained(out)) == (0, [str(n) for n in (*range(25, 30), *range(35, 40))])
    assert "numbers:  detector_frame, the detector's own\n" in out
    _, out, _ = run_cli("whatif", files[0], "--minimum-peaks", 15)
    assert gained(out) == [str(n) for n in range(15, 20)]
    assert "numbers:  frame_number, the receiver's own\n" in out


def test_the_file_of_a_killed_rank_is_linked_with_the_frames_that_it_has(run_cli: RunCli, tmp_path: Path) -> None:
    killed, ended = run_of_two(tmp_path)
    with h5py.File(killed, "a") as file:  # as it is between two writes of its last commit
        del file["entry/end_time"]
        for name in ("detector_frame", "peaks", "reason"):
            file["entry/data"][name].resize(35, axis=0)
    assert run_cli("whatif", killed, "--minimum-peaks", 15)[0] == 0
    assert run_cli("master", tmp_path / "run.h5", killed, ended)[0] == 0
    assert run_cli("whatif", tmp_path / "run.h5", "--minimum-peaks", 15)[0] == 0
    with h5py.File(tmp_path / "run.h5") as file:
        data = file["entry/data"]
        assert "end_time" not in file["entry"]
        assert np.count_nonzero(data["rank"][()] == 0) == 35
        assert len(data["data"]) == len(data["holes"]) == 75
        assert data["detector_frame"][()].tolist() == sorted(
            [
                *range(10, 20),
                *range(30, 40),
                *range(50, 60),
                *range(70, 80),
                *range(10),
                *range(20, 30),
                *range(40, 50),
                *range(60, 65),
            ]
        )
        pixels = np.count_nonzero(data["data"][()] > 0, axis=(1, 2))
        accepted = data["accepted"][()]
        assert accepted.any()
        assert (pixels == np.where(accepted, data["frame_number"][()], 0)).all()


def test_whatif_of_a_master_names_frames_without_a_number_by_rank_and_frame(run_cli: RunCli, tmp_path: Path) -> None:
    files = [write(tmp_path / f"run_{r}.h5", numbers) for r, numbers in enumerate(([0, 2, None], [1, None, 5, 7]))]
    assert run_cli("master", tmp_path / "run.h5", *files)[0] == 0
    _, out, _ = run_cli("whatif", tmp_path / "run.h5", "--minimum-peaks", 1)
    assert gained(out) == ["1:1", "2", "0:2", "5", "7"]
    assert "numbers:  detector_frame, the detector's own, or rank:frame_number\n" in out


def test_whatif_names_no_two_frames_of_a_run_alike(run_cli: RunCli, tmp_path: Path) -> None:
    """Receivers of one MPI run whose sources count the same numbers: the run is linked all the same."""
    parts = [Part(write(tmp_path / f"run_{r}.h5", numbers)) for r, numbers in enumerate(([0, 1, 2], [0, 1, 3]))]
    assert write_master(tmp_path / "run.h5", parts).left_out == {}
    assert gained(run_cli("whatif", tmp_path / "run.h5", "--minimum-peaks", 1)[1]) == ["0:1", "1:1", "2", "3"]


def refused(run_cli: RunCli, folder: Path, *files: Path) -> str:
    """Why, and that an older master stays as it is."""
    master = folder / "run.h5"
    with h5py.File(master, "w") as file:
        file["of"] = "yesterday"
    older, before = master.read_bytes(), sorted(folder.iterdir())
    status, out, err = run_cli("master", master, *files)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert master.read_bytes() == older
    assert sorted(folder.iterdir()) == before
    return err


def test_a_file_that_is_missing_or_damaged_replaces_no_master(run_cli: RunCli, tmp_path: Path) -> None:
    files = run_of_two(tmp_path)
    assert f"{tmp_path / 'run_2.h5'}: no such file" in refused(run_cli, tmp_path, *files, tmp_path / "run_2.h5")
    assert f"{tmp_path}: it is not a file" in refused(run_cli, tmp_path, files[0], tmp_path)
    files[1].write_bytes(files[1].read_bytes()[:5000])
    assert "run_1.h5 is damaged" in refused(run_cli, tmp_path, *files)


@pytest.mark.parametrize(
    ("other", "sentence"),
    [
        (replace(AS_USUAL, threshold=100), "peaks.threshold is 100, there 10"),
        (replace(AS_USUAL, minimum=21), "accepted.minimum_peaks is 21, there 20"),
        (replace(AS_USUAL, rungs=(1, 10)), "ladder.thresholds is [1, 10], there [1, 10, 100]"),
        (
            replace(AS_USUAL, share=RandomShare(0.5, 3)),
            "accepted.kept_seed is 3, there not set; accepted.kept_share is 0.5, there not set",
        ),
        (replace(AS_USUAL, bragg=PeakSettings()), "accepted.judged_by is bragg_peaks, there not set; "),
        (replace(AS_USUAL, unit="keV"), "units is keV, there photons"),
        (replace(AS_USUAL, rows=16), "rows is 16, there 8"),
    ],
)
def test_files_of_other_settings_are_of_another_run(
    run_cli: RunCli, tmp_path: Path, other: Given, sentence: str
) -> None:
    files = [write(tmp_path / "a.h5", range(5)), write(tmp_path / "b.h5", range(5, 10), other)]
    why = refused(run_cli, tmp_path, *files)
    assert f"b.h5 was judged otherwise than {files[0]} (" in why or f"b.h5 has other images than {files[0]} (" in why
    assert sentence in why
    assert 1 in write_master(tmp_path / "run.h5", [Part(path) for path in files], force=True).left_out
    assert run_cli("whatif", tmp_path / "run.h5")[0] == 0, "the verdicts are what the counts give"


def test_raw_words_and_photons_are_not_joined(run_cli: RunCli, tmp_path: Path) -> None:
    files = run_of_two(tmp_path)
    with h5py.File(files[1], "r+") as file:
        data = file["entry/data/data"]
        shape, attributes = data.shape, dict(data.attrs)
        del file["entry/data/data"]
        file.create_dataset("entry/data/data", shape, np.uint16).attrs.update(attributes)
    assert "pixels is uint16, there int16" in refused(run_cli, tmp_path, *files)


def test_files_with_the_same_frame_are_of_two_runs(run_cli: RunCli, tmp_path: Path) -> None:
    first, second, third = (
        write(tmp_path / "0.h5", [0, 3, 4, None]),
        write(tmp_path / "1.h5", [1, 6]),
        tmp_path / "2.h5",
    )
    files = [first, second, write(third, [2, 6, 4, None])]
    assert f"{files[0]} and {files[2]} both have the detector's frame 4: " in refused(run_cli, tmp_path, *files)
    assert f"{files[1]} and {files[1]} both have" in refused(run_cli, tmp_path, files[1], files[1])
    numbers = [np.array(each, np.uint64) for each in ([7, 7, UNKNOWN_FRAME], [8, UNKNOWN_FRAME], [])]
    assert twice(numbers, UNKNOWN_FRAME) is None, "one file may have it twice"


def test_a_master_is_no_file_of_a_rank(run_cli: RunCli, tmp_path: Path) -> None:
    files = run_of_two(tmp_path)
    assert run_cli("master", tmp_path / "all.h5", *files)[0] == 0
    assert "all.h5 links the files of ranks itself" in refused(run_cli, tmp_path, tmp_path / "all.h5")


def test_the_master_says_how_many_frames_of_a_rank_came_and_are_not_in_its_file(tmp_path: Path) -> None:
    """The disk was full."""
    files = run_of_two(tmp_path)
    told = [{"complete": 40, "incomplete": 0}, {"complete": 38, "incomplete": 3, "missing": 2}]
    parts = [Part(path, 40, about) for path, about in zip(files, told, strict=True)]
    write_master(tmp_path / "run.h5", [*parts, Part(None, 0, {"complete": 2, "incomplete": 0}), Part(None)])
    with h5py.File(tmp_path / "run.h5") as file:
        ranks = [dict(file[f"entry/ranks/{rank}"].attrs) for rank in range(4)]
    assert [rank.get("unwritten") for rank in ranks] == [0, 1, 2, None]


def test_a_master_has_the_bragg_peaks_of_all_frames(run_cli: RunCli, tmp_path: Path) -> None:
    """Frame k of a rank has k bright pixels in a row, of which the finder sees one peak where their rings allow it."""
    given = replace(AS_USUAL, minimum=1, bragg=PeakSettings(min_pixels=1, max_pixels=8, limit=4))
    numbers = [[n for n in range(40) if n // 10 % 2 == rank] for rank in range(2)]
    files = [write(tmp_path / f"run_{rank}.h5", numbers[rank], given) for rank in range(2)]
    assert run_cli("master", tmp_path / "run.h5", *files)[0] == 0
    with h5py.File(tmp_path / "run.h5") as file:
        table, data = file["entry/result_1"], file["entry/data"]
        assert data["detector_frame"][()].tolist() == list(range(40))
        own, ranks = data["rank_frame"][()].tolist(), data["rank"][()].tolist()
        assert table["nPeaks"][()].tolist() == data["bragg_peaks"][()].tolist()
        assert 5 < table["nPeaks"][()].sum() < 40
        assert table["peakXPosRaw"].shape == (40, 4)
        assert table["peakXPosRaw"].attrs["units"] == "pixels"
        for name in ("nPeaks", "peakXPosRaw", "peakTotalIntensity", "peakNPixels"):
            for n in range(40):
                there = file[f"entry/ranks/{ranks[n]}/entry/result_1"][name][own[n]]
                assert np.array_equal(table[name][n], there, equal_nan=name != "nPeaks")
