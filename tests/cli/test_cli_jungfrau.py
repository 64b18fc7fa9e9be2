"""`framelane jungfrau`: what comes is written and what does not is said, also when the recording ends early."""

import errno
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import h5py
import hdf5plugin  # noqa: F401  (so that h5py reads compressed datasets)
import numpy as np
import pytest

from framelane.calibration.calibration_file import CalibrationFile, write_calibration
from framelane.files.forgiving import ForgivingFile
from framelane.models.jungfrau.jf_detector import Detector, DetectorConfig
from framelane.receiver.jungfrau.detector_frame import DetectorFrame
from framelane.receiver.jungfrau.frame_file import FrameFile
from framelane.receiver.jungfrau.jungfrau_capture import JungfrauCapture
from framelane.receiver.jungfrau.recorder import Recorder
from framelane.receiver.recovery.found_run import recover
from jungfrau_packets import halves, raw, sent, write_capture

RunCli = Callable[..., tuple[int, str, str]]
FRAMELANE = [sys.executable, "-c", "from framelane.cli import main; main()"]


@pytest.fixture
def record(run_cli: RunCli, tmp_path: Path) -> RunCli:
    """Record a capture of these packets to out.h5."""

    def run(packets: list[tuple[int, bytes]], *options: object) -> tuple[int, str, str]:
        write_capture(tmp_path / "a.pcap", packets)
        (tmp_path / "out.h5").unlink(missing_ok=True)
        return run_cli("jungfrau", "record", "--pcap", tmp_path / "a.pcap", "--output", tmp_path / "out.h5", *options)

    return run


@pytest.fixture
def read(tmp_path: Path) -> Callable[..., Any]:
    """Read a dataset of out.h5."""

    def get(name: str) -> Any:
        with h5py.File(tmp_path / "out.h5") as file:
            return file[name][()]

    return get


@pytest.mark.parametrize("compress", [(), ("--compress",)])
def test_a_whole_capture_is_a_file_with_everything(record: RunCli, read: Any, compress: tuple[str, ...]) -> None:
    packets = [p for n in (7, 8, 9) for p in sent(n, 2, 2, bunch_id=1000 + n, exposure=20, daq_info=0x501)]
    status, out, err = record(packets, "--modules", 2, "--interfaces", 2, *compress)
    assert (status, err) == (0, "")
    assert "768 packets, 768 of them placed\nframes: 3 complete, 0 incomplete with 0 holes, 0 missing\nsee " in out
    assert (read("raw") == np.stack([raw(number, 2) for number in (7, 8, 9)])).all()
    assert read("frame_number").tolist() == [7, 8, 9]
    assert read("bunch_id").tolist() == [1007, 1008, 1009]
    assert read("timestamp_ns").tolist() == [7000, 8000, 9000]
    assert read("exposure_ns").tolist() == [2000] * 3
    assert read("packets").tolist() == [[128, 128]] * 3
    assert read("module_id").tolist() == [[100, 101]] * 3
    assert read("high_gain").all()
    assert read("storage_cell").tolist() == [[5, 5]] * 3


def test_packets_of_two_rows_are_recorded_as_those_of_four(record: RunCli, read: Any) -> None:
    packets = halves([p for n in (7, 8, 9) for p in sent(n, 2, 2)])
    status, out, err = record([p for index, p in enumerate(packets) if index != 600], "--modules", 2, "--interfaces", 2)
    assert (status, err) == (1, "")
    assert "1535 packets, 1535 of them placed\nframes: 2 complete, 1 incomplete with 2048 holes, 0 missing" in out
    expected = np.stack([raw(number, 2) for number in (7, 8, 9)])
    expected[1, 2 * 88 : 2 * 88 + 2] = 0x8000
    assert (read("raw") == expected).all()
    assert read("packets").tolist() == [[256, 256], [255, 256], [256, 256]]
    assert read("holes").tolist() == [0, 2048, 0]


def test_what_was_lost_is_said_and_the_file_tells_where(record: RunCli, read: Any) -> None:
    packets = [*sent(1, 2), *sent(2, 2)[:-3], *sent(4, 2)[128:]]
    status, out, _ = record([*packets, packets[-1]], "--modules", 2)
    assert status == 1
    assert "1 twice" in out
    assert f"frames: 1 complete, 2 incomplete with {131 * 4096} holes, 1 missing" in out
    assert read("packets").tolist() == [[128, 128], [128, 125], [0, 128]]
    assert read("holes").tolist() == [0, 3 * 4096, 128 * 4096]
    assert (read("raw")[1, -12:] == 0x8000).all()
    assert (read("raw")[1, :-12] == raw(2, 2)[:-12]).all()
    assert read("module_id").tolist() == [[100, 101], [100, 101], [0, 101]]


def test_every_refused_packet_is_counted_with_what_to_do(record: RunCli) -> None:
    wrong = bytearray(sent(1)[0][1])
    wrong[47] = 1
    foreign = [(0, bytes(8246)), (0, bytes(wrong)), (5, sent(1)[0][1])]
    status, out, _ = record([*foreign, *sent(1), *sent(0x999)[:1]])
    assert status == 1
    for line in ("1 neither 8240 nor 4144 bytes long", "1 another version of the header", "1 not UDP to these ports"):
        assert f"\n{line}" in out
    status, out, _ = record(sent(1, interfaces=1), "--interfaces", 2)
    assert "64 packet numbers out of range: check --interfaces" in out


def test_where_nothing_comes_nothing_is_written_and_the_page_with_help_is_named(record: RunCli, tmp_path: Path) -> None:
    status, out, err = record([(7, packet) for _, packet in sent(1)])
    assert status == 2
    assert "128 packets, 0 of them placed\n128 not UDP to these ports" in out
    assert err.startswith("framelane: no frame came, nothing is written: see ")
    assert [path.name for path in tmp_path.iterdir()] == ["a.pcap"]


def test_so_many_frames_and_no_more_are_recorded(record: RunCli, read: Any) -> None:
    assert record([p for n in (1, 2, 3) for p in sent(n)], "--frames", 2)[0] == 0
    assert read("frame_number").tolist() == [1, 2]


def test_ports_may_be_given_one_by_one(record: RunCli, read: Any) -> None:
    swapped = [(1 - stream, packet) for stream, packet in sent(1, 2)]
    assert record(swapped, "--modules", 2, "--port", 50002, "--port", 50001)[0] == 0
    assert (read("raw")[0] == raw(1, 2)).all()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            ("--modules", 2, "--port", 1, "--port", 2, "--port", 3),
            "3 ports for 2 modules with 1 interfaces",
        ),
        (("--modules", 2, "--port", 7, "--port", 7), "the ports are not all different"),
        (("--frames", 0), "--frames 0 is too few"),
        (("--output", "/nowhere/out.h5"), "cannot write /nowhere/out.h5"),
    ],
)
def test_options_that_cannot_be_are_one_sentence(record: RunCli, options: tuple[object, ...], sentence: str) -> None:
    status, out, err = record(sent(1), *options)
    assert (status, out) == (2, "")
    assert sentence in err
    assert err.count("\n") == 1


def test_the_output_is_never_the_capture(record: RunCli, tmp_path: Path) -> None:
    status, _, err = record(sent(1), "--output", tmp_path / "a.pcap")
    assert status == 2
    assert "it is an input of this run" in err


@pytest.mark.parametrize("compress", [(), ("--compress",)])
@pytest.mark.parametrize("room", [3 << 20, (3 << 20) + 12345])
def test_a_full_disk_ends_the_recording_and_keeps_what_came(
    record: RunCli, read: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, room: int, compress: tuple[str, ...]
) -> None:
    monkeypatch.setattr(ForgivingFile, "_put", small_disk(room, ForgivingFile._put))
    status, out, err = record([p for n in range(1, 13) for p in sent(n)], *compress)
    assert (status, err) == (1, "")
    numbers = read("frame_number").tolist()
    assert "\nNo space left on device (" in out
    assert f"): the recording ended early, frames up to {numbers[-1]} are in " in out
    assert numbers == list(range(1, len(numbers) + 1))
    assert 3 <= len(numbers) <= 5
    assert (read("raw") == np.stack([raw(number) for number in numbers])).all()
    assert {path.name for path in tmp_path.iterdir()} == {"a.pcap", "out.h5"}
    found = recover(tmp_path / "out.h5")
    assert found.ended
    (trouble,) = found.troubles
    assert trouble.startswith("out.h5 ended early: No space left on device")


def test_a_disk_without_room_for_a_few_frames_is_said_before_the_first(
    record: RunCli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def allocate(*arguments: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "posix_fallocate", allocate)
    status, out, err = record(sent(1))
    assert (status, out) == (2, "")
    assert "No space left on device (" in err
    assert "): make room there, or give another file" in err
    assert [path.name for path in tmp_path.iterdir()] == ["a.pcap"]


def small_disk(room: int, put: Callable[[Any, memoryview, int], int]) -> Callable[[Any, memoryview, int], int]:
    """A disk where a file that has reserved room finds so many bytes beside that."""

    def write(file: Any, view: memoryview, at: int) -> int:
        if at + len(view) > room + (32 << 20 if file._reserve.closed else 0):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return put(file, view, at)

    return write


def test_a_disk_that_is_taken_away_ends_the_recording_in_a_sentence(
    record: RunCli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = Recorder.write

    def write(self: Recorder, frame: DetectorFrame, captured_ns: int | None) -> None:
        written(self, frame, captured_ns)
        if frame.number == 2:
            self._files.current.commit()
            assert (tmp_path / "out.h5").is_file()
            (tmp_path / "out.h5").unlink()
        self._files.current.commit()

    monkeypatch.setattr(Recorder, "write", write)
    status, out, err = record([p for n in (1, 2, 3, 4) for p in sent(n)])
    said = " ".join(out.split())
    assert (status, err) == (1, "")
    assert "out.h5: it has gone while it was written, with its frames" in said
    assert "the recording ended early; what was readable by then stays" in said
    assert "see " not in said
    assert [path.name for path in tmp_path.iterdir()] == ["a.pcap"]


def test_an_error_in_the_middle_keeps_the_frames_before_it(
    record: RunCli, read: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: DetectorFrame) -> int:
        if self.number == 3:
            raise OverflowError
        return 0

    monkeypatch.setattr(DetectorFrame, "timestamp_ns", property(fail))
    with pytest.raises(OverflowError):
        record([p for n in (1, 2, 3, 4) for p in sent(n)])
    assert read("frame_number").tolist() == [1, 2]
    assert (read("raw") == np.stack([raw(1), raw(2)])).all()


def test_a_capture_says_when_its_frames_came_and_their_photons_still_know(
    run_cli: RunCli, read: Any, tmp_path: Path
) -> None:
    begun = 1_750_000_000_000_000_000  # 2025-06-15T15:06:40Z
    write_capture(tmp_path / "a.pcap", [*sent(1), *sent(2)[:-1], *sent(3)], first_ns=begun)
    files = "--pcap", tmp_path / "a.pcap", "--output", tmp_path / "out.h5"
    assert run_cli("jungfrau", "record", *files)[0] == 1, "a packet is lost"
    assert read("captured_ns").tolist() == [begun + 127_000, begun + 254_000, begun + 382_000]
    write_calibration(tmp_path / "c.h5", Detector(DetectorConfig(seed=2)).calibration)
    calibrated = "--input", tmp_path / "out.h5", "--calibration", tmp_path / "c.h5"
    assert run_cli("correct", *calibrated, "--output", tmp_path / "photons.h5")[0] == 0
    with h5py.File(tmp_path / "out.h5") as raw_file, h5py.File(tmp_path / "photons.h5") as photons:
        assert raw_file["captured_ns"].attrs["epoch"] == "1970-01-01T00:00:00"
        assert photons["entry/data/captured_ns"][()].tolist() == raw_file["captured_ns"][()].tolist()
        ends = "2025-06-15T15:06:40Z", "2025-06-15T15:06:40.000382Z"
        assert (raw_file.attrs["begun"], raw_file.attrs["ended"]) == ends
        entry = photons["entry"]
        assert tuple(entry[name].asstr()[()] for name in ("start_time", "end_time")) == ends


def test_datasets_that_cannot_be_made_leave_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: FrameFile, group: object, columns: object) -> None:
        raise MemoryError

    monkeypatch.setattr(FrameFile, "make_records", fail)
    with pytest.raises(MemoryError):
        Recorder(tmp_path / "raw.h5", 1)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["raw", "frame_number"])
def test_a_byte_that_flipped_on_the_disk_is_an_error_and_no_other_value(
    record: RunCli, tmp_path: Path, name: str
) -> None:
    assert record(sent(1), "--compress")[0] == 0
    path = tmp_path / "out.h5"
    with h5py.File(path) as file:
        offset = file[name].id.get_chunk_info(0).byte_offset
    data = bytearray(path.read_bytes())
    data[offset + 3] ^= 1
    path.write_bytes(data)
    with h5py.File(path) as file, pytest.raises(OSError, match=r"checksum|filter"):
        file[name][0]


def test_the_largest_numbers_a_header_can_have_are_recorded(tmp_path: Path, read: Any) -> None:
    fields = {"timestamp": 2**64 - 1, "bunch_id": 2**64 - 1, "exposure": 2**32 - 1, "daq_info": 2**32 - 1}
    short = dict.fromkeys(("module_id", "row", "column", "spec2", "spec4"), 2**16 - 1)
    with recording(tmp_path, "--frames", 1) as (process, port), socket.socket(type=socket.SOCK_DGRAM) as sender:
        for _, packet in sent(2**64 - 1, **fields, **short):
            sender.sendto(packet, ("127.0.0.1", port))
        out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, "")
    assert "frames: 1 complete" in out
    names = ("frame_number", "bunch_id", "timestamp_ns", "exposure_ns", "module_id", "storage_cell")
    assert [int(read(name).flat[0]) for name in names] == [
        2**64 - 1, 2**64 - 1, 2**64 - 1, (2**32 - 1) * 100, 2**16 - 1, 15,
    ]  # fmt: skip


def test_what_the_kernel_dropped_is_a_loss_even_where_every_frame_is_whole(
    record: RunCli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(JungfrauCapture, "queue_drops", 3)
    status, out, _ = record(sent(1))
    assert "3 dropped by the kernel" in out
    assert status == 1


@contextmanager
def recording(tmp_path: Path, *options: object) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A recorder in a process of its own, and its first port."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    arguments = ["jungfrau", "record", "--host", "127.0.0.1", "--port", port, "--output", tmp_path / "out.h5", *options]
    command = [*FRAMELANE, *map(str, arguments)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert select.select([process.stdout], [], [], 60)[0]
            assert process.stdout.readline().startswith(f"listening on UDP 127.0.0.1:{port}: Ctrl-C ends")
            yield process, port
        finally:
            process.kill()


def wait_until_read(port: int) -> None:
    """Wait until whoever listens on a UDP port has taken what came there (rx_queue in proc(5))."""
    end = time.monotonic() + 30
    while any(
        local.endswith(f":{port:04X}") and int(queues.split(":")[1], 16)
        for _, local, _, _, queues, *_ in map(str.split, Path("/proc/net/udp").read_text().splitlines()[1:])
    ):
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_recording_and_keeps_what_came(
    tmp_path: Path, run_cli: RunCli, read: Any, number: signal.Signals
) -> None:
    with recording(tmp_path) as (process, port):
        calibration = tmp_path / "calibration.h5"
        sender = ("jungfrau", "send", "127.0.0.1", "--port", port, "--frames", 10, "--rate", 200)
        assert run_cli(*sender, "--calibration", calibration)[0] == 0
        wait_until_read(port)
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, "")
    assert "frames: 10 complete, 0 incomplete with 0 holes, 0 missing" in out
    detector = Detector(DetectorConfig(modules=1, seed=1, period_ns=5_000_000))
    assert read("frame_number").tolist() == list(range(1, 11))
    assert read("timestamp_ns").tolist() == [5_000_000 * n for n in range(10)]
    for index in (0, 7, 9):  # after 8 frames the same come again
        assert (read("raw")[index] == detector.frame(index % 8).raw).all()
    with CalibrationFile(calibration) as file:
        assert (file.calibration.usable == detector.calibration.usable).all()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_that_go_on_do_not_interrupt_the_closing(tmp_path: Path, read: Any, number: signal.Signals) -> None:
    with recording(tmp_path) as (process, port), socket.socket(type=socket.SOCK_DGRAM) as sender:
        for n in (1, 2, 3):
            for _, packet in sent(n):
                sender.sendto(packet, ("127.0.0.1", port))
        deadline = time.monotonic() + 60
        while process.poll() is None and not (tmp_path / "out.h5").exists():
            assert time.monotonic() < deadline, f"{number.name} does not end the recording"
            process.send_signal(number)
            time.sleep(0.001)
        process.communicate(timeout=60)
    assert len(read("raw")) == 3


def test_a_frame_that_is_not_whole_is_written_after_a_while_of_silence(tmp_path: Path, read: Any) -> None:
    with recording(tmp_path, "--frames", 1) as (process, port), socket.socket(type=socket.SOCK_DGRAM) as sender:
        for _, packet in sent(1)[:50]:
            sender.sendto(packet, ("127.0.0.1", port))
        out, _ = process.communicate(timeout=60)
    assert process.returncode == 1
    assert f"1 incomplete with {78 * 4096} holes" in out
    assert read("packets").tolist() == [[50]]


def test_a_signal_before_the_first_frame_leaves_nothing_behind(tmp_path: Path) -> None:
    with recording(tmp_path) as (process, _):
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 2
    assert "no frame came, nothing is written" in err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--modules", 33), "--modules 33 cannot be simulated"),
        (("--rate", 0), "--rate 0 is not a frame rate"),
        (("--frames", 0), "--frames 0 is too few"),
        (("--port", 65535, "--modules", 2), "2 UDP ports from 65535 on cannot be"),
    ],
)
def test_a_sender_that_cannot_be_is_one_sentence(run_cli: RunCli, options: tuple[object, ...], sentence: str) -> None:
    status, out, err = run_cli("jungfrau", "send", "127.0.0.1", *options)
    assert (status, out) == (2, "")
    assert sentence in err


def test_recorded_frames_go_through_the_gateware(record: RunCli, run_cli: RunCli, tmp_path: Path) -> None:
    detector = Detector(DetectorConfig(seed=3))
    write_calibration(tmp_path / "c.h5", detector.calibration)
    packets = sent(1)
    assert record(packets[:-1])[0] == 1
    demo = ("demo", "--input", tmp_path / "out.h5", "--calibration", tmp_path / "c.h5", "--output", tmp_path / "demo")
    status, out, err = run_cli(*demo)
    assert (status, err) == (0, "")
    assert "1 sent = 1 complete + 0 incomplete" in out
    with h5py.File(tmp_path / "demo/frames.h5") as file:
        # What did not come to the recorder is sent as error words, and no hole of the receiver's.
        assert (file["entry/data/data"][0, -4:] == -32766).all()
        assert file["entry/data/timestamp_ns"][0] == 1000


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--calibration", "c.h5"), "--calibration is for the frames of a file: give --input as well"),
        (("--input", "c.h5", "--calibration", "c.h5"), "c.h5 has no dataset raw"),
        (("--input", "out.h5", "--calibration", "small.h5"), "small.h5 is for 8 x 8 pixels, the frames of"),
        (("--input", "out.h5", "--calibration", "c.h5", "--frames", 2), "holds 1 frames, 2 are asked for"),
    ],
)
def test_a_demo_of_recorded_frames_that_cannot_be_is_one_sentence(
    record: RunCli,
    run_cli: RunCli,
    tmp_path: Path,
    make_calibration: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
    options: tuple[object, ...],
    sentence: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    write_calibration(tmp_path / "c.h5", make_calibration((512, 1024)))
    write_calibration(tmp_path / "small.h5", make_calibration((8, 8)))
    assert record(sent(1))[0] == 0
    status, _, err = run_cli("demo", *options, "--output", tmp_path / "demo")
    assert status == 2
    assert sentence in err
    assert not (tmp_path / "demo").exists()
