"""`framelane recv` with a veto: what is kept at random, what is recorded for `framelane whatif`, what is refused."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from numpy.typing import NDArray

from framelane.models.tx import tx
from framelane.packets.pcap import PcapWriter
from framelane.receiver.pipeline.random_share import RandomShare
from framelane.receiver.pipeline.veto import Reason
from framelane.session.session import Session

RunCli = Callable[..., tuple[int, str, str]]
FRAMES = 40


@pytest.fixture
def images() -> NDArray[np.int16]:
    """40 images of 16 x 100 photons; number n has n pixels of 30 photons or more, the rest 0 to 3."""
    rng = np.random.default_rng(2)
    made = rng.integers(0, 4, (FRAMES, 16, 100)).astype(np.int16)
    for n, image in enumerate(made):
        image.reshape(-1)[rng.choice(1600, n, replace=False)] = rng.integers(30, 90, n)
    return made


@pytest.fixture
def recv(
    run_cli: RunCli, tmp_path: Path, make_session: Callable[..., Session], images: NDArray[np.int16]
) -> Callable[..., tuple[int, str, str]]:
    """Receive the images from a capture into frames.h5, with these options; keywords are fields of the session."""

    def run(*arguments: object, **changes: Any) -> tuple[int, str, str]:
        session = make_session(n_slots=FRAMES, **{"pixels": "corrected"} | changes)
        session.save(tmp_path / "session.json")
        (tmp_path / "frames.h5").unlink(missing_ok=True)
        with PcapWriter(tmp_path / "tx.pcap", force=True) as capture:
            for packet in tx([image.tobytes() for image in images], session.tx_config()):
                capture.write(packet)
        inputs = "--pcap", tmp_path / "tx.pcap", "--session", tmp_path / "session.json"
        return run_cli("recv", *inputs, "--output", tmp_path / "frames.h5", *arguments)

    return run


def test_a_share_of_the_rejected_frames_is_kept_and_said(
    recv: RunCli, tmp_path: Path, images: NDArray[np.int16]
) -> None:
    status, out, err = recv("--minimum-peaks", 30, "--keep-rejected", 0.3, "--keep-seed", 4)
    kept = [n for n in range(30) if RandomShare(0.3, 4).keeps(n)]
    assert (status, err) == (0, "")
    assert 3 < len(kept) < 20
    assert f"10 frames with enough peaks, {30 - len(kept)} rejected, {len(kept)} kept at random, 0 kept" in out
    with h5py.File(tmp_path / "frames.h5") as file:
        data = file["entry/data"]
        assert np.nonzero(data["reason"][:] == Reason.KEPT_AT_RANDOM)[0].tolist() == kept
        assert np.nonzero(data["accepted"][:])[0].tolist() == [*kept, *range(30, 40)]
        assert all(np.array_equal(data["data"][n], images[n]) for n in (*kept, *range(30, 40)))
        assert data["accepted"].attrs["kept_seed"] == 4


def test_what_was_received_can_be_asked_for_other_vetoes(recv: RunCli, run_cli: RunCli, tmp_path: Path) -> None:
    assert recv("--minimum-peaks", 30, "--keep-rejected", 0.3)[0] == 0
    status, out, _ = run_cli("whatif", tmp_path / "frames.h5", "--minimum-peaks", 35, "--threshold", 16)
    lost = [n for n in range(30, 35) if not RandomShare(0.3).keeps(n)]
    assert status == 0
    assert "0 frames would be accepted that were rejected\n" in out
    assert f"{len(lost)} frames would be rejected that were accepted: {', '.join(map(str, lost))}\n" in out
    _, out, _ = run_cli("whatif", tmp_path / "frames.h5", "--minimum-peaks", 0)
    rejected = [n for n in range(30) if not RandomShare(0.3).keeps(n)]
    assert f"{len(rejected)} frames would be accepted that were rejected: {', '.join(map(str, rejected[:20]))}" in out


def test_the_ladder_is_powers_of_two_as_far_as_values_reach(recv: RunCli, tmp_path: Path) -> None:
    assert recv(fraction_bits=3)[0] == 0
    with h5py.File(tmp_path / "frames.h5") as file:
        ladder = file["entry/data/ladder"]
        assert ladder.attrs["thresholds"].tolist() == [1 << n for n in range(12)]
        assert (ladder[:, 0] >= ladder[:, 1]).all()
        assert ladder[39, 0] == 39


def test_the_ladder_can_be_chosen_and_left_out(recv: RunCli, tmp_path: Path) -> None:
    assert recv("--ladder", "1,30,91")[0] == 0
    with h5py.File(tmp_path / "frames.h5") as file:
        ladder = file["entry/data/ladder"]
        assert ladder.attrs["thresholds"].tolist() == [1, 30, 91]
        assert ladder[:, 1:].tolist() == [[n, 0] for n in range(FRAMES)]
    assert recv("--ladder", "")[0] == 0
    with h5py.File(tmp_path / "frames.h5") as file:
        assert "ladder" not in file["entry/data"]


def test_frames_can_be_judged_by_their_bragg_peaks(
    recv: RunCli, run_cli: RunCli, tmp_path: Path, images: NDArray[np.int16]
) -> None:
    """Single bright pixels are not peaks; every third image has five spots of 2 x 2 pixels, the last one of them 9."""
    spots = [(2, 10), (2, 40), (2, 70), (10, 20), (10, 60)]
    images[:] = np.minimum(images, 3)
    images[1, 5, ::9] = 500
    for image in images[::3]:
        for row, column in spots:
            image[row : row + 2, column : column + 2] = 60
    for row, column in [(6, 30), (6, 50), (6, 80), (12, 90)]:
        images[39, row : row + 2, column : column + 2] = 60
    status, out, _ = recv("--peaks", "bragg", "--minimum-peaks", 4, "--snr", 7.5)
    assert status == 0
    assert "a peak is of the peak finder, snr 7.5, of pixels of at least 5 photons" in out
    with h5py.File(tmp_path / "frames.h5") as file:
        data = file["entry/data"]
        assert data["bragg_peaks"][:].tolist() == [0 if n % 3 else 5 if n < 39 else 9 for n in range(FRAMES)]
        assert data["accepted"][:].tolist() == [n % 3 == 0 for n in range(FRAMES)]
        assert data["peaks"][1] == 12, "pixels, as ever"
        assert (data["bragg_peaks"].attrs["snr"], data["bragg_peaks"].attrs["outer"]) == (7.5, 6)
    status, out, _ = run_cli("whatif", tmp_path / "frames.h5", "--minimum-peaks", 6)
    assert status == 0
    assert "what if:  at least 6 Bragg peaks with pixels of at least 5 photons" in out
    assert "13 frames would be rejected that were accepted: 0, 3, 6" in out
    status, _, err = run_cli("whatif", tmp_path / "frames.h5", "--threshold", 8)
    assert (status, err.count("\n")) == (2, 1)
    assert "nothing is known of 8: leave out --threshold" in err


@pytest.mark.parametrize(("columns", "found"), [(1024, 2), (1025, 1)])
def test_bragg_peaks_end_at_the_modules_where_an_image_is_made_of_such(
    run_cli: RunCli, tmp_path: Path, make_session: Callable[..., Session], columns: int, found: int
) -> None:
    """A spot of 4 x 2 pixels, half of them in the lower module; an image of another size is one piece."""
    session = make_session(pixels="corrected", rows=1024, columns=columns, mtu=4096)
    session.save(tmp_path / "session.json")
    image = np.ones((1024, columns), np.int16)
    image[510:514, 100:102] = 80
    with PcapWriter(tmp_path / "tx.pcap") as capture:
        for packet in tx([image.tobytes()], session.tx_config()):
            capture.write(packet)
    inputs = "--pcap", tmp_path / "tx.pcap", "--session", tmp_path / "session.json"
    assert run_cli("recv", *inputs, "--output", tmp_path / "frames.h5", "--peaks", "bragg")[0] == 0
    with h5py.File(tmp_path / "frames.h5") as file:
        assert file["entry/data/bragg_peaks"][:].tolist() == [found]


def test_raw_words_have_no_ladder(recv: RunCli, run_cli: RunCli, tmp_path: Path) -> None:
    assert recv(pixels="raw")[0] == 0
    with h5py.File(tmp_path / "frames.h5") as file:
        assert "ladder" not in file["entry/data"]
    assert "holds raw words, no peaks were counted" in run_cli("whatif", tmp_path / "frames.h5")[2]


@pytest.mark.parametrize(
    ("arguments", "changes", "sentence"),
    [
        (("--keep-rejected", 0.1), {}, "give --minimum-peaks as well"),
        (("--keep-rejected", 0.1, "--minimum-peaks", 0), {}, "give --minimum-peaks as well"),
        (("--minimum-peaks", 3, "--keep-seed", 1), {}, "give --keep-rejected as well"),
        (("--minimum-peaks", 3, "--keep-rejected", 1.5), {}, "a share of 1.5 of the rejected frames cannot be"),
        (("--minimum-peaks", 3, "--keep-rejected", 1, "--keep-seed", -1), {}, "does not fit 64 bits"),
        (("--ladder", "5,a"), {}, "--ladder 5,a is not a list of thresholds"),
        (("--ladder", "5,,6"), {}, "is not a list of thresholds"),
        (("--ladder", "6,5"), {}, "not a ladder: give whole numbers that rise, from 1 to 32700"),
        (("--ladder", "5000"), {"fraction_bits": 3}, "from 1 to 4087"),
        (("--ladder", "5"), {"pixels": "raw"}, "--ladder counts photons, raw words have none"),
        (("--peaks", "bragg"), {"pixels": "raw"}, "--peaks counts photons, raw words have none"),
        (("--snr", 5), {}, "--snr is of the peak finder: give --peaks bragg as well"),
        (("--snr", 5.3, "--peaks", "bragg"), {}, "a multiple of 1/8"),
        (("--threshold", 0, "--peaks", "bragg"), {}, "a minimum of 0 photons"),
        (("--threshold", 5000, "--peaks", "bragg"), {"fraction_bits": 3}, "no pixel reaches 5000 photons"),
    ],
)
def test_options_that_cannot_be_are_one_sentence(
    recv: RunCli, tmp_path: Path, arguments: tuple[object, ...], changes: dict[str, Any], sentence: str
) -> None:
    status, out, err = recv(*arguments, **changes)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert sentence in err
    assert not (tmp_path / "frames.h5").exists()
