"""Verdicts with a record: the random share, the ladder of counts, and the replay of the veto on both."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from numpy.typing import NDArray

from framelane.base.errors import ConfigError, InputError
from framelane.models.jungfrau.jf_correct import PixelCode
from framelane.receiver import replay_veto
from framelane.receiver.pipeline.corrected import CorrectedImages
from framelane.receiver.pipeline.judging import Judging
from framelane.receiver.pipeline.ladder import powers_of_two
from framelane.receiver.pipeline.random_share import RandomShare
from framelane.receiver.pipeline.veto import Reason, Veto
from framelane.receiver.ring.receiver import ReceivedFrame
from framelane.receiver.sinks.hdf5 import Hdf5Sink
from framelane.receiver.sinks.verdict_file import VerdictFile
from framelane.receiver.sinks.what_if import disagreements, judge_again
from framelane.session.session import Session

RunCli = Callable[..., tuple[int, str, str]]
SHAPE = (16, 100)
RUNGS = (1, 5, 10, 20, 50)
FIRST = 1000


def image(number: int) -> NDArray[np.int16]:
    """Between 0 and some 100 bright pixels; every 7th has holes, and all have codes."""
    rng = np.random.default_rng(number)
    pixels = rng.poisson(1.0, SHAPE)
    bright = rng.random(SHAPE) < 0.06 * rng.random()
    pixels[bright] = rng.integers(1, 100, int(bright.sum()))
    pixels.reshape(-1)[:3] = PixelCode.SATURATED, PixelCode.MASKED, PixelCode.INVALID
    if not number % 7:
        pixels[5, :9] = PixelCode.HOLE
    return pixels.astype(np.int16)


def write(
    path: Path, session: Session, veto: Veto, frames: int = 300, rungs: Any = RUNGS, share: RandomShare | None = None
) -> None:
    judging = Judging(veto=veto, rungs=rungs)
    process = CorrectedImages(SHAPE, judging)
    with Hdf5Sink(path, session, judging=judging, share=share, force=True) as sink:
        for number in range(FIRST, FIRST + frames):
            words = image(number).view(np.uint16)
            result = process(words, keep=share is not None and share.keeps(number))
            sink.write(ReceivedFrame(number, 0, words, result.counts.holes, (None,)), result)


@pytest.fixture(scope="module")
def sessions() -> Session:
    """A session of corrected images."""
    fields = {
        "source": {"mac": "02:00:00:00:00:01", "ip": "127.0.0.2"},
        "receiver": {"mac": "02:00:00:00:00:02", "ip": "127.0.0.1"},
        "pixels": "corrected",
    } | {"qpn": 1, "psn": 0, "rkey": 1, "base": 0, "n_slots": 1, "slot_bytes": 4096, "rows": 16, "columns": 100}
    return Session.model_validate(fields)


@pytest.fixture
def file(tmp_path: Path, sessions: Session) -> Path:
    """300 frames judged by 20 pixels of 10 photons, a quarter of the rejected ones kept."""
    write(tmp_path / "frames.h5", sessions, Veto(10, 20), share=RandomShare(0.25, 5))
    return tmp_path / "frames.h5"


def reasons(path: Path) -> list[int]:
    with h5py.File(path) as opened:
        values: list[int] = opened["entry/data/reason"][:].tolist()
    return values


@pytest.mark.parametrize("share", [0.0, 0.01, 0.25, 0.5, 1.0])
def test_the_share_that_is_kept_is_the_share_that_was_asked_for(share: float) -> None:
    kept = sum(RandomShare(share, 3).keeps(number) for number in range(20_000))
    assert abs(kept - 20_000 * share) <= 5 * (20_000 * share * (1 - share)) ** 0.5


def test_every_second_frame_is_not_drawn_more_often_than_the_others() -> None:
    """Nor is every 100th, nor any bit of the number: samples come at such periods."""
    for period in (2, 3, 64, 100):
        drawn = np.bincount([n % period for n in range(100_000) if RandomShare(0.3).keeps(n)], minlength=period)
        frames = 100_000 / period
        assert (abs(drawn - 0.3 * frames) <= 5 * (0.21 * frames) ** 0.5).all(), period


def test_a_draw_is_the_same_for_ever_and_another_with_another_seed() -> None:
    """The numbers are of splitmix64 as its authors published it: first output 0xE220A8397B1DCDAF for seed 0."""
    drawn = [n for n in range(60) if RandomShare(0.1).keeps(n)]
    assert drawn == [n for n in range(60) if _published(_published(0) + n) < 0.1 * 2**64]
    assert _published(0) == 0xE220A8397B1DCDAF
    assert drawn != [n for n in range(60) if RandomShare(0.1, 1).keeps(n)]
    assert RandomShare(1.0).keeps((1 << 64) - 1)


def _published(seed: int) -> int:
    with np.errstate(over="ignore"):
        z = np.uint64(seed % 2**64) + np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return int(z ^ (z >> np.uint64(31)))


@pytest.mark.parametrize(("share", "seed"), [(-0.1, 0), (1.1, 0), (float("nan"), 0), (0.5, -1), (0.5, 1 << 64)])
def test_a_share_or_a_seed_that_cannot_be_is_refused(share: float, seed: int) -> None:
    with pytest.raises(ConfigError, match="give 0 to"):
        RandomShare(share, seed)


@pytest.mark.parametrize("bits", [0, 3])
@pytest.mark.parametrize("threads", [1, 3])
def test_the_ladder_counts_pixels_of_each_threshold_and_no_codes(bits: int, threads: int) -> None:
    shape = (1100, 1027)
    values = np.random.default_rng(1).integers(-(1 << 15), 1 << 15, shape, np.int16)
    values[100:] //= 512
    rungs = powers_of_two(bits)
    ladder = CorrectedImages(shape, Judging(rungs=rungs), threads=threads, fraction_bits=bits)(
        values.view(np.uint16)
    ).ladder
    assert ladder is not None
    assert rungs[-1] << bits <= 32700 < rungs[-1] << bits + 1
    assert ladder.tolist() == [int(((values >= t << bits) & (values <= 32700)).sum()) for t in rungs]
    assert ladder[-1] > 0


def test_a_tile_of_saturated_pixels_alone_is_on_no_rung() -> None:
    values = np.full((1, 1024), PixelCode.SATURATED, np.int16)
    values[0, 700:] = 7
    ladder = CorrectedImages((1, 1024), Judging(rungs=(1, 7, 8)))(values.view(np.uint16)).ladder
    assert ladder is not None
    assert ladder.tolist() == [324, 324, 0]


def test_the_ladder_of_one_frame_has_nothing_of_the_frame_before() -> None:
    process = CorrectedImages(SHAPE, Judging(rungs=(5,)))
    for value in (9, 0, 5):
        ladder = process(np.full(SHAPE, value, np.uint16)).ladder
        assert ladder is not None
        assert ladder.tolist() == [1600 if value >= 5 else 0]


@pytest.mark.parametrize("rungs", [(0,), (5, 5), (10, 5), (-1, 3), (32701,)])
def test_thresholds_that_are_no_ladder_are_refused(rungs: tuple[int, ...]) -> None:
    with pytest.raises(ConfigError, match="not a ladder: give whole numbers that rise"):
        CorrectedImages(SHAPE, Judging(rungs=rungs))


def test_a_frame_of_the_random_share_is_kept_with_image_and_rows_and_says_why(
    tmp_path: Path, sessions: Session
) -> None:
    share, path = RandomShare(0.5, 2), tmp_path / "frames.h5"
    write(path, sessions, Veto(10, 1600), 40, share=share)
    with h5py.File(path) as opened:
        data = opened["entry/data"]
        for n, number in enumerate(range(FIRST, FIRST + 40)):
            kept = share.keeps(number) and number % 7 > 0
            reason = Reason.KEPT_AT_RANDOM if kept else Reason.TOO_FEW_PEAKS if number % 7 else Reason.HAS_HOLES
            assert data["reason"][n] == reason
            assert data["accepted"][n] == (reason != Reason.TOO_FEW_PEAKS)
            assert np.array_equal(data["data"][n], image(number)) == data["accepted"][n]
        assert {*data["reason"][:]} == {1, 2, 3}
        assert data["accepted"].attrs["kept_share"] == 0.5
        assert data["accepted"].attrs["kept_seed"] == 2
        assert h5py.check_enum_dtype(data["reason"].dtype)["KEPT_AT_RANDOM"] == 3
    sparse = CorrectedImages(SHAPE, Judging(veto=Veto(10, 1600), sparse=10))
    assert sparse(image(1).view(np.uint16), keep=True).sparse is not None
    assert sparse(image(1).view(np.uint16)).sparse is None


def test_the_ladder_of_every_frame_is_in_the_file_past_the_first_chunk(file: Path) -> None:
    with h5py.File(file) as opened:
        ladder = opened["entry/data/ladder"]
        assert ladder.attrs["thresholds"].tolist() == list(RUNGS)
        assert ladder.attrs["threshold_units"] == "photons"
        expected = [
            [int(((image(FIRST + n) >= t) & (image(FIRST + n) <= 32700)).sum()) for t in RUNGS] for n in range(300)
        ]
        assert ladder[:].tolist() == expected
        assert (ladder[:, 2] == opened["entry/data/peaks"][:]).all()


@pytest.mark.parametrize("at", [0, 100, 255, 256])
def test_a_frame_that_was_overwritten_while_it_was_read_is_not_in_the_record(
    tmp_path: Path, sessions: Session, at: int
) -> None:
    judging = Judging(veto=Veto(10, 20), rungs=RUNGS)
    process = CorrectedImages(SHAPE, judging)
    with Hdf5Sink(tmp_path / "frames.h5", sessions, judging=judging) as sink:
        for n in range(300):
            words = image(n).view(np.uint16)
            result = process(words)
            sink.write(ReceivedFrame(n, 0, words, result.counts.holes, (None,)), result)
            if n == at:
                sink.retract()
    with VerdictFile(tmp_path / "frames.h5") as record:
        assert record.numbers.tolist() == [n for n in range(300) if n != at]
        assert np.array_equal(record.counts[10], [(image(int(n)) >= 10).sum() - 1 for n in record.numbers])
        assert disagreements(record) == 0


@pytest.mark.parametrize("threshold", [5, 10, 50])
@pytest.mark.parametrize("minimum", [0, 20, 60])
@pytest.mark.parametrize("share", [None, RandomShare(0.1, 9)])
def test_the_replay_is_the_run_with_that_veto(
    tmp_path: Path, sessions: Session, file: Path, threshold: int, minimum: int, share: RandomShare | None
) -> None:
    write(tmp_path / "other.h5", sessions, Veto(threshold, minimum), share=share)
    with VerdictFile(file) as record:
        again = judge_again(record, Veto(threshold, minimum), share)
    assert again.known.all()
    assert again.exact
    assert again.reasons.tolist() == reasons(tmp_path / "other.h5")


@pytest.mark.parametrize("threshold", [2, 7, 15, 40, 70, 32700])
def test_between_two_thresholds_what_is_known_is_right_and_what_is_not_is_said(
    tmp_path: Path, sessions: Session, file: Path, threshold: int
) -> None:
    for minimum in (1, 12, 30):
        write(tmp_path / "other.h5", sessions, Veto(threshold, minimum))
        with VerdictFile(file) as record:
            again = judge_again(record, Veto(threshold, minimum), None)
        truth = np.array(reasons(tmp_path / "other.h5"))
        assert not again.exact
        assert (again.below, again.above) == (
            max(t for t in RUNGS if t <= threshold),
            min((t for t in RUNGS if t > threshold), default=None),
        )
        assert (again.reasons[again.known] == truth[again.known]).all()
        if threshold == 15 and minimum == 12:
            assert 100 < again.known.sum() < 300


def test_whatif_counts_and_names_the_frames_that_change(run_cli: RunCli, file: Path) -> None:
    was = np.array(reasons(file))
    status, out, err = run_cli("whatif", file, "--minimum-peaks", 30, "--threshold", 5)
    counts = np.array([int(((image(FIRST + n) >= 5) & (image(FIRST + n) <= 32700)).sum()) for n in range(300)])
    holes = np.arange(FIRST, FIRST + 300) % 7 == 0
    drawn = np.array([RandomShare(0.25, 5).keeps(FIRST + n) for n in range(300)])
    rejected = (counts < 30) & ~holes & ~drawn
    gained, lost = (was == 1) & ~rejected, (was != 1) & rejected
    assert (status, err) == (0, "")
    assert "recorded: at least 20 pixels of at least 10 photons, 0.25 of the others kept (seed 5)" in out
    assert "what if:  at least 30 pixels of at least 5 photons, 0.25 of the others kept (seed 5)" in out
    assert out.split("rejected: too few peaks")[1].split()[:2] == [str((was == 1).sum()), str(rejected.sum())]
    assert out.split("kept at random")[-1].split()[:2] == [
        str((was == 3).sum()),
        str(((counts < 30) & ~holes & drawn).sum()),
    ]
    for change, verb, mask in (("be accepted that were rejected", "gained", gained), ("be rejected", "lost", lost)):
        line = next(line for line in out.splitlines() if change in line)
        assert line.startswith(f"{mask.sum()} frames would"), verb
        named = [int(n) for n in line.partition(": ")[2].replace(", ...", "").split(", ") if n]
        assert named == (np.nonzero(mask)[0] + FIRST)[:20].tolist()


def test_whatif_without_options_changes_nothing(run_cli: RunCli, file: Path) -> None:
    status, out, _ = run_cli("whatif", file)
    assert status == 0
    assert "0 frames would be accepted" in out
    assert "0 frames would be rejected" in out


def test_whatif_of_a_threshold_that_was_not_recorded_is_a_sentence_and_status_1(run_cli: RunCli, file: Path) -> None:
    status, out, _ = run_cli("whatif", file, "--threshold", 15)
    assert status == 1
    assert "pixels of at least 15 photons were not counted, but of 1, 5, 10, 20, 50" in out
    assert "the counts from 10 on and from 20 on tell" in out
    assert "frames that they do not tell: " in out
    assert run_cli("whatif", file, "--threshold", 15, "--minimum-peaks", 0)[0] == 0


def test_a_file_without_a_ladder_tells_its_own_threshold(tmp_path: Path, sessions: Session, run_cli: RunCli) -> None:
    write(tmp_path / "frames.h5", sessions, Veto(10, 20), rungs=())
    with h5py.File(tmp_path / "frames.h5") as opened:
        assert "ladder" not in opened["entry/data"]
    assert run_cli("whatif", tmp_path / "frames.h5", "--minimum-peaks", 5)[0] == 0
    assert run_cli("whatif", tmp_path / "frames.h5", "--threshold", 11)[0] == 1


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--threshold", 0), "a threshold of 1..32700"),
        (("--minimum-peaks", -1), "0 peaks or more"),
        (("--keep-rejected", 2), "give 0 to 1"),
        (("--keep-seed", -2), "does not fit 64 bits"),
    ],
)
def test_what_cannot_be_asked_is_one_sentence(
    run_cli: RunCli, file: Path, arguments: tuple[object, ...], sentence: str
) -> None:
    status, out, err = run_cli("whatif", file, *arguments)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert sentence in err


def _without(name: str) -> Callable[[Any], None]:
    def damage(data: Any) -> None:
        del data[name]

    return damage


def _with(name: str, values: Any) -> Callable[[Any], None]:
    def damage(data: Any) -> None:
        attributes = dict(data[name].attrs)
        del data[name]
        data[name] = values
        data[name].attrs.update(attributes)

    return damage


def test_a_file_of_before_each_frame_said_its_threshold_is_judged_again_as_well(file: Path) -> None:
    with h5py.File(file, "r+") as opened:
        for name in ("threshold", "minimum_peaks"):
            del opened["entry/data"][name]
    with VerdictFile(file) as record:
        assert disagreements(record) == 0
        assert record.threshold in record.counts


def _attribute(dataset: str, name: str, value: Any) -> Callable[[Any], None]:
    def damage(data: Any) -> None:
        data[dataset].attrs[name] = value

    return damage


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (_without("reason"), "has no dataset entry/data/reason: give a file of frames that framelane"),
        (_without("peaks"), "has no dataset entry/data/peaks"),
        (_with("holes", np.zeros(299, np.uint32)), "has the shape"),
        (_with("ladder", np.zeros((300, 4), np.uint32)), "has the shape"),
        (_with("ladder", np.zeros((300, 5), np.float32)), "needed is unsigned integers"),
        (_with("reason", np.full(300, 9, np.uint8)), "values that mean nothing: [9]"),
        (_attribute("peaks", "threshold", 0), "raw words, no peaks were counted"),
        (_attribute("peaks", "threshold", "ten"), "take threshold of peaks as one value"),
        (_attribute("peaks", "threshold", [1, 2]), "take threshold of peaks as one value"),
        (_attribute("accepted", "minimum_peaks", 21), "contradicts itself"),
        (_attribute("accepted", "kept_seed", 6), "contradicts itself"),
        (_attribute("accepted", "kept_share", 7.0), "give 0 to 1"),
        (_attribute("ladder", "thresholds", "a"), "take thresholds of ladder as numbers"),
    ],
)
def test_a_damaged_record_is_one_sentence(
    run_cli: RunCli, file: Path, damage: Callable[[Any], None], sentence: str
) -> None:
    with h5py.File(file, "r+") as opened:
        damage(opened["entry/data"])
    status, out, err = run_cli("whatif", file, "--minimum-peaks", 3)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert sentence in err


def test_a_file_that_is_none_is_one_sentence(run_cli: RunCli, file: Path, tmp_path: Path) -> None:
    assert "there is no file" in run_cli("whatif", tmp_path / "nothing.h5")[2]
    (tmp_path / "text.h5").write_text("photons")
    assert "damaged or not an HDF5 file" in run_cli("whatif", tmp_path / "text.h5")[2]
    shutil.copy(file, tmp_path / "short.h5")
    with (tmp_path / "short.h5").open("r+b") as short:
        short.truncate(3000)
    assert "damaged or not an HDF5 file" in run_cli("whatif", tmp_path / "short.h5")[2]


def test_the_record_is_checked_against_itself(file: Path) -> None:
    with VerdictFile(file) as record:
        assert disagreements(record) == 0
    enough = reasons(file).index(Reason.ENOUGH_PEAKS)
    with h5py.File(file, "r+") as opened:
        opened["entry/data/peaks"][enough] = 0
    with VerdictFile(file) as record:
        assert disagreements(record) == 1


def test_a_program_replays_the_veto_as_the_command_does(file: Path) -> None:
    same = replay_veto(str(file))
    assert (same.veto, same.share) == (Veto(10, 20), RandomShare(0.25, 5))
    assert same.known.all()
    assert not (same.gained | same.lost).any()
    recorded = np.array(reasons(file)) != Reason.TOO_FEW_PEAKS
    np.testing.assert_array_equal(same.accepted, recorded)
    stricter = replay_veto(file, minimum_peaks=60, keep_rejected=0.0)
    peaks, holes = stricter.record.counts[10], stricter.record.holes
    np.testing.assert_array_equal(stricter.accepted, (peaks >= 60) | (holes > 0))
    assert stricter.lost.any()
    np.testing.assert_array_equal(stricter.lost, recorded & ~stricter.accepted)
    looser = replay_veto(file, minimum_peaks=5)
    np.testing.assert_array_equal(looser.gained, ~recorded & looser.accepted)
    assert looser.gained.any()


def test_a_program_hears_what_the_record_does_not_tell(file: Path) -> None:
    between = replay_veto(file, threshold=15)
    assert not between.known.all()
    assert not (between.accepted & ~between.known).any()
    assert not ((between.gained | between.lost) & ~between.known).any()
    with pytest.raises(ConfigError, match=r"give a threshold of 1\.\.32700"):
        replay_veto(file, threshold=0)
    with h5py.File(file, "r+") as opened:
        opened["entry/data/reason"][0] ^= 1
    with pytest.raises(InputError, match="contradicts itself: 1 of 300 verdicts"):
        replay_veto(file)
