"""`framelane demo`, the whole chain: gateware, wire, receiver, pipeline, files; and every way to spoil it."""

import json
import socket
import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from numpy.typing import NDArray
from scapy.contrib.roce import BTH
from scapy.layers.l2 import Ether

from framelane.calibration.calibration_file import CalibrationFile
from framelane.demo.chain import Chain
from framelane.demo.losses import Loss
from framelane.models.jungfrau.jf_correct import PixelCode, correct_int16
from framelane.models.jungfrau.jf_fixed import quantize
from framelane.models.memory.frame_store import FrameInfo
from framelane.packets import pcap
from framelane.receiver.jungfrau.jungfrau_file import JungfrauFile
from framelane.receiver.ring.receiver import ReceivedFrame
from framelane.session.session import Session
from nxmx_reader import read_nxmx

RunCli = Callable[..., tuple[int, str, str]]
RESULTS = {"calibration.h5", "frames.h5", "report.png", "session.json", "summary.json", "tx.pcap"}
RETH = 14 + 20 + 8 + 12
"""Offset of the RETH in an Ethernet frame."""


@dataclass(frozen=True)
class Run:
    """The results of one demo."""

    folder: Path
    status: int
    out: str

    @property
    def summary(self) -> dict[str, Any]:
        document: dict[str, Any] = json.loads((self.folder / "summary.json").read_text())
        return document

    def dataset(self, name: str) -> NDArray[Any]:
        with h5py.File(self.folder / "frames.h5") as file:
            return np.asarray(file["entry/data"][name][()])

    def memory(self, without: set[int]) -> NDArray[np.uint16]:
        """Every frame as the packets of the capture build it, without the packets `without`: no code of the receiver.

        A frame's packets come one after the other, the trailer (64 bytes behind the image) last.
        """
        session = Session.load(self.folder / "session.json")
        frames, image = [], np.full(session.image_bytes // 2, 0x8000, np.uint16)
        for index, packet in enumerate(pcap.read(self.folder / "tx.pcap")):
            address, _, length = struct.unpack_from(">QII", packet, RETH)
            offset = (address - session.base) % session.slot_bytes
            if offset == session.slot_bytes - 64:
                frames.append(image)
                image = np.full_like(image, 0x8000)
            elif index not in without:
                image.view(np.uint8)[offset : offset + length] = np.frombuffer(packet, np.uint8, length, RETH + 16)
        return np.stack(frames).reshape(-1, session.rows, session.columns)


def incomplete(run: Run) -> list[int]:
    return [
        int(n) for n, complete in zip(run.dataset("frame_number"), run.dataset("complete"), strict=True) if not complete
    ]


@pytest.fixture
def run_demo(run_cli: RunCli, tmp_path: Path, small_file: Path) -> Callable[..., Run]:
    """Run the demo on the small file, unless `--input` or `--modules` say otherwise; it must not complain."""

    def run(*arguments: object) -> Run:
        source = () if {"--input", "--modules"} & set(arguments) else ("--input", small_file)
        folder = tmp_path / "demo"
        status, out, err = run_cli("demo", "--output", folder, *source, *arguments)
        assert err == ""
        return Run(folder, status, out)

    return run


@pytest.mark.parametrize("drop", [0, 0.01])
def test_the_simulated_detector_goes_through_the_whole_chain(run_demo: Callable[..., Run], drop: float) -> None:
    run = run_demo("--modules", 1, "--frames", 3, "--drop", drop, "--seed", 7)
    summary = run.summary
    assert run.status == 0
    assert {path.name for path in run.folder.iterdir()} == RESULTS
    assert summary["frames_sent"] == 3 == summary["complete"] + summary["incomplete"] + summary["missing"]
    assert summary["packets"] == 3 * 257 == len(list(pcap.read(run.folder / "tx.pcap")))
    assert summary["payload_bytes"] == 3 * (512 * 1024 * 2 + 64)
    assert 3 * 16384 < summary["rtl_cycles"] < 3 * 17500
    assert 0 < summary["max_abs_error_photons"] <= summary["error_bound_photons"] < 2
    assert bool(summary["lost"]) == bool(drop)
    assert bool(summary["holes"]) == bool(drop)
    assert incomplete(run) == summary["incomplete_frames"]
    assert "loss identity: 3 sent = " in run.out
    read = read_nxmx(run.folder / "frames.h5")
    assert (read["shape"], read["distance"], len(read["panels"])) == ((3, 512, 1024), 100, 8)
    for number in summary["incomplete_frames"]:
        assert f"frame {number}: incomplete" in run.out
    assert (run.folder / "report.png").read_bytes().startswith(b"\x89PNG")

    raw = run.memory(without=set(summary["lost"]))
    with CalibrationFile(run.folder / "calibration.h5") as file:
        model = correct_int16(raw, quantize(file.calibration))
    photons = run.dataset("data")
    assert np.array_equal(photons == PixelCode.HOLE, raw == 0x8000)
    assert np.array_equal(photons, model)
    assert (raw == 0x8000).sum() == summary["holes"]


def test_with_every_seed_exactly_the_lost_pixels_are_holes(run_demo: Callable[..., Run], small_file: Path) -> None:
    with JungfrauFile(small_file) as file:
        sent = np.stack([file.image(n) for n in range(file.n_frames)])
    for seed in range(6):
        run = run_demo("--drop", 0.2, "--seed", seed, "--mtu", 256)
        summary = run.summary
        raw = run.memory(without=set(summary["lost"]))
        assert run.status == 0
        assert len(summary["lost"]) == summary["lost_packets"] > 0
        kept = run.dataset("frame_number").astype(int)
        assert np.array_equal(run.dataset("data") == PixelCode.HOLE, raw[kept] == 0x8000)
        assert run.dataset("holes").tolist() == (raw[kept] == 0x8000).sum((1, 2)).tolist()
        assert np.array_equal(run.memory(without=set()), sent)


def test_a_lost_trailer_makes_a_frame_incomplete_without_holes(run_demo: Callable[..., Run]) -> None:
    """32 x 256 pixels are 4 packets of 4096 bytes, and the trailer."""
    for seed in range(100):
        run = run_demo("--drop", 0.1, "--seed", seed, "--frames", 1)
        if run.summary["lost"] == [4]:
            break
    else:
        pytest.fail("no seed below 100 loses the trailer alone")
    assert run.summary["incomplete_frames"] == [0]
    assert run.summary["holes"] == 0
    assert not (run.dataset("data") == PixelCode.HOLE).any()
    assert run.dataset("timestamp_ns").tolist() == [0]


def test_a_lost_packet_of_a_message_takes_the_rest_of_the_message_with_it(run_demo: Callable[..., Run]) -> None:
    run = run_demo("--drop", 0.1, "--segmentation", "message", "--mtu", 256, "--frames", 1, "--seed", 3)
    first = min(run.summary["lost"])
    photons = run.dataset("data").reshape(-1)
    assert run.status == 0
    assert (photons[: first * 128] != PixelCode.HOLE).all()
    assert (photons[first * 128 :] == PixelCode.HOLE).all()


def test_when_all_is_lost_every_frame_is_missing_and_the_identity_holds(run_demo: Callable[..., Run]) -> None:
    run = run_demo("--drop", 1)
    summary = run.summary
    assert run.status == 0
    assert (summary["missing"], summary["complete"], summary["incomplete"]) == (3, 0, 0)
    assert summary["max_abs_error_photons"] is None
    assert run.dataset("data").shape == (0, 32, 256)
    assert "nothing arrived" in run.out


@pytest.mark.parametrize("options", [("--slots", 1), ("--width", 64), ("--mtu", 256), ("--segmentation", "message")])
def test_other_rings_buses_and_packets_give_the_same_images(
    run_demo: Callable[..., Run], small_file: Path, options: tuple[object, ...]
) -> None:
    run = run_demo(*options)
    with JungfrauFile(small_file) as file:
        raw = np.stack([file.image(n) for n in range(file.n_frames)])
        model = correct_int16(raw, quantize(file.calibration))
    assert run.status == 0
    assert run.summary["complete"] == 3
    assert np.array_equal(run.dataset("data"), model)


def test_scapy_finds_the_icrc_of_every_packet_right(run_demo: Callable[..., Run]) -> None:
    run = run_demo("--mtu", 1024)
    for frame in pcap.read(run.folder / "tx.pcap"):
        packet = Ether(frame)
        packet[BTH].icrc = None
        assert bytes(packet) == frame


def test_a_packet_socket_on_a_pair_of_interfaces_does_the_same(
    network: tuple[str, str], run_demo: Callable[..., Run]
) -> None:
    run = run_demo("--transport", "packet", "--send-interface", network[0], "--interface", network[1], "--drop", 0.1)
    assert run.status == 0
    raw = run.memory(without=set(run.summary["lost"]))[run.dataset("frame_number").astype(int)]
    assert np.array_equal(run.dataset("data") == PixelCode.HOLE, raw == 0x8000)


@pytest.mark.usefixtures("network")
def test_an_interface_that_hears_nothing_is_said_so(run_cli: RunCli, tmp_path: Path, small_file: Path) -> None:
    options = ("--transport", "packet", "--send-interface", "veth0", "--interface", "lo")
    status, _, err = run_cli("demo", "--output", tmp_path / "demo", "--input", small_file, *options)
    assert status == 2
    assert "packets did not come back" in err
    assert not (tmp_path / "demo").exists()


def test_real_frames_come_out_as_photons(run_demo: Callable[..., Run], real_file: JungfrauFile) -> None:
    run = run_demo("--input", real_file.path)
    photons, summary = run.dataset("data"), run.summary
    assert run.status == 0
    assert summary["complete"] == summary["frames_sent"] == real_file.n_frames
    assert summary["max_abs_error_photons"] <= summary["error_bound_photons"]
    for number in range(real_file.n_frames):
        raw, reference = real_file.image(number), real_file.reference(number)
        assert reference is not None
        assert (photons[number][raw == 0xC000] == PixelCode.SATURATED).all()
        g0 = (raw < 0x4000) & real_file.gain_known[0]
        assert np.abs(photons[number] - reference)[g0].max() <= 0.51


def with_raw(small_file: Path, path: Path, change: Callable[[NDArray[np.uint16]], None], **datasets: Any) -> Path:
    path.write_bytes(small_file.read_bytes())
    with h5py.File(path, "r+") as file:
        raw = file["raw"][()]
        change(raw)
        file["raw"][...] = raw
        for name, value in datasets.items():
            file.pop(name, None)
            file[name] = value
    return path


def test_words_that_no_detector_produces_are_replaced_counted_and_are_no_holes(
    run_demo: Callable[..., Run], tmp_path: Path, small_file: Path
) -> None:
    def spoil(raw: NDArray[np.uint16]) -> None:
        raw[1, 3, 4:7] = (0x8000, 0x9234, 0xBFFF)

    run = run_demo("--input", with_raw(small_file, tmp_path / "spoilt.h5", spoil))
    assert (run.status, run.summary["guarded_words"], run.summary["holes"]) == (0, 3, 0)
    assert (run.dataset("data")[1, 3, 4:7] == PixelCode.INVALID).all()


def test_photons_that_are_not_the_reference_end_with_status_1(
    run_demo: Callable[..., Run], tmp_path: Path, small_file: Path
) -> None:
    wrong = np.full((3, 32, 256), 1e4, np.float32)
    path = with_raw(small_file, tmp_path / "wrong.h5", lambda raw: None, photons_reference=wrong)
    run = run_demo("--input", path)
    assert run.status == 1
    assert "pixels are too far from their reference" in run.out
    assert run.summary["pixels_beyond_bound"] > 0


@pytest.mark.parametrize(
    "datasets",
    [
        {"photons_reference": np.full((3, 32, 256), np.nan, np.float32)},
        {"gain_known": np.zeros((3, 32, 256), np.bool_)},
    ],
    ids=["photons_reference", "gain_known"],
)
def test_a_run_that_compares_nothing_ends_with_status_1(
    run_demo: Callable[..., Run], tmp_path: Path, small_file: Path, datasets: dict[str, Any]
) -> None:
    path = with_raw(small_file, tmp_path / "unknown.h5", lambda raw: None, **datasets)
    run = run_demo("--input", path)
    assert run.status == 1
    assert "no pixel has a reference: nothing is proved" in run.out


def test_a_frame_that_gets_lost_in_the_receiver_ends_with_status_1(
    run_demo: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    send = Chain.send

    def lose(self: Chain, info: FrameInfo, image: NDArray[np.uint16]) -> tuple[Loss, list[ReceivedFrame]]:
        loss, frames = send(self, info, image)
        for frame in frames:
            self.receiver.release(frame)
        return loss, []

    monkeypatch.setattr(Chain, "send", lose)
    run = run_demo("--frames", 1)
    assert run.status == 1
    assert "the holes or trailers of these frames are not exactly what was lost: 0" in run.out


def test_the_output_is_never_an_input(run_cli: RunCli, tmp_path: Path, small_file: Path) -> None:
    own = tmp_path / "frames.h5"
    own.write_bytes(small_file.read_bytes())
    status, out, err = run_cli("demo", "--input", own, "--output", tmp_path)
    assert (status, out) == (2, "")
    assert err == f"framelane: cannot write {own}: it is an input of this run: give another --output\n"
    assert list(tmp_path.iterdir()) == [own]
    assert own.read_bytes() == small_file.read_bytes()


def test_two_runs_with_one_seed_lose_the_same_and_share_no_secret(run_demo: Callable[..., Run]) -> None:
    sessions, lost = [], []
    for _ in range(2):
        run = run_demo("--drop", 0.3)
        sessions.append(Session.load(run.folder / "session.json"))
        lost.append(run.summary["lost"])
    assert lost[0] == lost[1] != []
    for name in ("qpn", "psn", "rkey", "base"):
        assert getattr(sessions[0], name) != getattr(sessions[1], name), name


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--drop", 1.5), "--drop 1.5 is not a share"),
        (("--drop", -0.1), "--drop -0.1 is not a share"),
        (("--drop", "nan"), "--drop nan is not a share"),
        (("--mtu", 1500), "mtu: 1500 is impossible: choose one of 256, 512, 1024, 2048, 4096"),
        (("--slot-bytes", 4096), "ring too small: a slot of 4096 bytes does not hold an image of 16384 bytes"),
        (("--slot-bytes", 20_000), "whole pages"),
        (("--slot-bytes", 0), "ring too small: a slot of 0 bytes"),
        (("--slots", 0), "a ring of 0 slots"),
        (("--frames", 4), "holds 3 frames, 4 are asked for"),
        (("--frames", 0), "--frames 0 is too few"),
        (("--frames", 10**20), "is too many for a demo: give at most 1000000"),
        (("--modules", 2), "--modules is for the simulated detector"),
        (("--width", 100), "--width 100 is impossible"),
        (("--seed", -1), "--seed -1 is negative"),
        (("--threshold", 0), "a threshold of 1..32700"),
        (("--port", 70_000), "UDP port 70000 does not exist"),
        (("--transport", "packet", "--interface", "nosuch0"), "nosuch0"),
        (("--input", "/nowhere/frames.h5"), "there is no file /nowhere/frames.h5"),
    ],
)
def test_bad_options_are_one_sentence_and_leave_nothing(
    run_cli: RunCli, tmp_path: Path, small_file: Path, options: tuple[object, ...], sentence: str
) -> None:
    source = () if "--input" in options else ("--input", small_file)
    status, out, err = run_cli("demo", "--output", tmp_path / "demo", *source, *options)
    assert (status, out) == (2, "")
    assert err.startswith("framelane: ")
    assert sentence in err
    assert err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_truncated_file_is_one_sentence_and_leaves_nothing(run_cli: RunCli, tmp_path: Path, small_file: Path) -> None:
    cut = tmp_path / "cut.h5"
    cut.write_bytes(small_file.read_bytes()[:-1000])
    status, _, err = run_cli("demo", "--output", tmp_path / "demo", "--input", cut)
    assert status == 2
    assert f"{cut} is damaged" in err
    assert list(tmp_path.iterdir()) == [cut]


def test_a_frame_that_cannot_be_read_midway_leaves_nothing_and_keeps_the_old_results(
    run_cli: RunCli, run_demo: Callable[..., Run], tmp_path: Path, small_file: Path
) -> None:
    good = run_demo()
    before = {path.name: path.read_bytes() for path in good.folder.iterdir()}
    damaged = tmp_path / "damaged.h5"
    damaged.write_bytes(small_file.read_bytes())
    with h5py.File(damaged, "r+") as file:
        raw = file["raw"][()]
        del file["raw"]
        dataset = file.create_dataset("raw", data=raw, chunks=(1, 32, 256), fletcher32=True)
        offset = dataset.id.get_chunk_info(2).byte_offset
    data = bytearray(damaged.read_bytes())
    data[offset] ^= 1
    damaged.write_bytes(data)
    status, out, err = run_cli("demo", "--output", good.folder, "--input", damaged)
    assert status == 2
    assert "frame 1: complete" in out
    assert "cannot read frame 2 of raw" in err
    assert {path.name: path.read_bytes() for path in good.folder.iterdir()} == before


def test_a_port_in_use_is_one_sentence(run_cli: RunCli, tmp_path: Path, small_file: Path) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        other.bind(("127.0.0.1", 0))
        port = other.getsockname()[1]
        status, _, err = run_cli("demo", "--output", tmp_path / "demo", "--input", small_file, "--port", port)
    assert status == 2
    assert "the port is in use" in err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("unprivileged")
def test_an_output_folder_without_permission_is_one_sentence(run_cli: RunCli) -> None:
    status, _, err = run_cli("demo", "--output", "/etc/framelane", "--modules", 1)
    assert status == 2
    assert err == "framelane: cannot write to the folder /etc/framelane: Permission denied: give another --output\n"


def test_without_real_frames_the_detector_is_simulated(
    run_cli: RunCli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FRAMELANE_DATA", str(tmp_path))
    status, out, _ = run_cli("demo", "--output", tmp_path / "demo", "--frames", 1)
    assert status == 0
    assert "simulated detector, 1 module" in out
