"""`framelane recv` when something fails: it ends in order, says what happened, and keeps all that it could process."""

import os
import re
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

import h5py
import numpy as np
import pytest

from framelane.files.reserving import SLACK_BYTES
from framelane.models.placement.slots import HOLE_WORD
from framelane.receiver.recovery.found_run import recover
from framelane.session.session_client import SessionClient
from live_recv import FRAMELANE, PROGRAM, SLOTS, Run, Source, receiving, wait_until, write_plan

IMAGE = {"rows": 256, "columns": 1024, "mtu": 4096}
IMAGE_BYTES = 256 * 1024 * 2
RESERVED = SLACK_BYTES + round(1.02 * (5 * IMAGE_BYTES + 8 * 257))
"""What is held back on the disk."""

FAILING = """
from framelane.receiver.live import prepared_pipeline
from framelane.receiver.pipeline.cpu_frame_pipeline import CpuFramePipeline
from framelane.receiver.pipeline.frame_pipeline import Processed

class Failing(CpuFramePipeline):
    "It fails with the fourth frame, for good, as a GPU does."

    def __init__(self, process):
        super().__init__(process)
        self.waiting, self.taken = [], 0

    pending = property(lambda self: len(self.waiting))

    def put(self, frame, keep=False, dark=False):
        self.waiting.append(frame)
        super().put(frame, keep, dark)

    def take(self, timeout_s):
        self.taken += bool(self.waiting)
        if self.taken < 4:
            done = super().take(timeout_s)
            del self.waiting[: len(done)]
            return done
        self.fault = "the GPU cannot go on: it was unplugged"
        frames, self.waiting = self.waiting, []
        return [Processed(frame, None, self.fault) for frame in frames]

prepared_pipeline.CpuFramePipeline = Failing
"""
REFUSING = """
from framelane.receiver.live import prepared_pipeline
from framelane.base.errors import InputError

words, calls = prepared_pipeline.RawWords(), []

def refusing(raw, /, keep=False):
    calls.append(0)
    if len(calls) == 4:
        raise InputError("this image cannot be processed")
    return words(raw, keep)

prepared_pipeline.RawWords = lambda: refusing
"""
RAISING = """
from framelane.receiver.live import prepared_pipeline

words, calls = prepared_pipeline.RawWords(), []

def raising(raw, /, keep=False):
    calls.append(0)
    if len(calls) == 4:
        raise ZeroDivisionError
    return words(raw, keep)

prepared_pipeline.RawWords = lambda: raising
"""
SLOW = """
import time
from framelane.receiver.sinks.hdf5 import Hdf5Sink

write = Hdf5Sink.write

def slowly(self, *arguments):
    time.sleep({seconds})
    write(self, *arguments)

Hdf5Sink.write = slowly
"""
SMALL_FILES = """
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, ({size}, {size}))
"""


@pytest.fixture
def port() -> int:
    """A UDP port that nobody uses now."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def has_credit(link: SessionClient, number: int) -> bool:
    """Wait for a frame's credit; False where the receiver goes."""
    return wait_until(lambda: link.closed or link.window_end > number) and not link.closed


def send_until_cut_off(run: Run, port: int, frames: int) -> Source:
    """Send as a source does, by the credit of the link, until the receiver is gone; it says that by the link."""
    with run.link() as link:
        source = Source(link.session, port)
        for number in range(frames):
            if not has_credit(link, number):
                break
            source.send(number)
        assert link.wait_closed(30)
    return source


def check_file(run: Run, source: Source) -> list[int]:
    """The numbers of the frames in the file, whose images are those that were sent; the last may have holes."""
    numbers: list[int] = run.dataset("frame_number").tolist()
    images, complete = run.dataset("data"), run.dataset("complete")
    for number, image in zip(numbers, images, strict=True):
        came = image != HOLE_WORD
        np.testing.assert_array_equal(image[came], source.image(number)[came])
    assert complete[:-1].all()
    assert (images[complete] != HOLE_WORD).all()
    return numbers


def identity(out: str) -> dict[str, int]:
    """The loss identity of a run, which holds."""
    words = "sent", "complete", "incomplete", "dropped at source", "dropped by host", "missing"
    found = {word: int(re.findall(rf"(\d+) {word}", out.split("loss identity: ")[1])[0]) for word in words}
    assert found["sent"] == sum(found.values()) - found["sent"]
    return found


def test_a_pipeline_that_fails_ends_the_run_with_a_sentence_and_all_frames_before_are_in_the_file(
    tmp_path: Path, port: int
) -> None:
    options = write_plan(tmp_path, port)
    with receiving(tmp_path, *options, program=FAILING + PROGRAM) as run:
        source = send_until_cut_off(run, port, 100)
        status, out, err = run.end()
    assert (status, err) == (1, "")
    assert "the run ended early: the GPU cannot go on: it was unplugged" in out
    assert check_file(run, source) == [0, 1, 2]
    unwritten = int(re.findall(r"(\d+) frames came that are not in the file", out)[0])
    found = identity(out)
    assert found["complete"] + found["incomplete"] == 3 + unwritten, "the source may be in the middle of one"
    assert unwritten >= 1
    came = found["complete"] + found["incomplete"]
    assert recover(tmp_path / "frames.h5").troubles == [
        f"{came} frames came to the receiver, {unwritten} of them are not in the file: it ended early"
    ]


def test_a_frame_that_cannot_be_processed_ends_the_run_and_those_that_had_come_by_then_are_in_the_file(
    tmp_path: Path, port: int
) -> None:
    options = write_plan(tmp_path, port)
    with receiving(tmp_path, *options, program=REFUSING + PROGRAM) as run:
        source = send_until_cut_off(run, port, 100)
        status, out, err = run.end()
    assert (status, err) == (1, "")
    assert "the run ended early: this image cannot be processed" in out
    assert "1 frames came that are not in the file" in out
    numbers = check_file(run, source)
    assert numbers[:3] == [0, 1, 2]
    found = identity(out)
    assert found["complete"] + found["incomplete"] == len(numbers) + 1, "the source may be in the middle of one"


def test_even_a_program_error_keeps_what_came_from_the_wire_before_it(tmp_path: Path, port: int) -> None:
    options = write_plan(tmp_path, port)
    with receiving(tmp_path, *options, program=RAISING + PROGRAM) as run:
        source = send_until_cut_off(run, port, 100)
        status, _, err = run.end()
    assert status == 1
    assert "ZeroDivisionError" in err
    assert check_file(run, source) == [0, 1, 2]


@pytest.mark.parametrize("program", [FAILING, REFUSING])
def test_a_failure_before_the_first_frame_is_written_leaves_no_file(tmp_path: Path, port: int, program: str) -> None:
    options = write_plan(tmp_path, port)
    at_once = program.replace("< 4", "< 1").replace("== 4", "> 0")
    with receiving(tmp_path, *options, program=at_once + PROGRAM) as run:
        send_until_cut_off(run, port, 100)
        status, out, err = run.end()
    assert (status, err) == (1, "")
    assert "the run ended early: " in out
    assert "nothing is written" in out
    assert {path.name for path in tmp_path.iterdir()} == {"plan.toml", "session.json"}


def test_a_full_disk_ends_the_run_with_a_sentence_and_the_frames_that_fitted_are_in_the_file(
    tmp_path: Path, port: int
) -> None:
    """The size of its files is limited: the file, and what is reserved beside it."""
    folder = tmp_path / "out"
    folder.mkdir()
    options = write_plan(tmp_path, port, **IMAGE)
    program = SMALL_FILES.format(size=RESERVED + 5 * IMAGE_BYTES) + PROGRAM
    with receiving(tmp_path, *options, program=program, output=folder / "frames.h5") as run:
        source = send_until_cut_off(run, port, 40)
        status, out, err = run.end()
    assert (status, err) == (1, "")
    assert f"the run ended early: cannot write {folder / 'frames.h5'}: File too large (files end at " in out
    assert [path.name for path in folder.iterdir()] == ["frames.h5"]
    (folder / "frames.h5").rename(tmp_path / "frames.h5")
    numbers = check_file(run, source)
    assert numbers == list(range(len(numbers)))
    assert 5 <= len(numbers) <= 9, "two wait in the cache of HDF5, one finds the disk full"
    found = identity(out)
    unwritten = found["complete"] + found["incomplete"] - len(numbers)
    assert unwritten >= 0, "the source may be in the middle of one"
    assert (f"{unwritten} frames came that are not in the file" in out) == (unwritten > 0)


def test_a_part_that_cannot_be_begun_ends_the_run_and_the_file_says_what_became_of_all_frames(
    tmp_path: Path, port: int
) -> None:
    options = write_plan(tmp_path, port, **IMAGE)
    program = "from framelane.receiver.sinks import judged_frames\njudged_frames.MOST_CHUNKS = 6\n" + PROGRAM
    with receiving(tmp_path, *options, program=program) as run:
        assert run.address
        (tmp_path / "frames_data_000002.h5").write_bytes(b"mine")
        source = send_until_cut_off(run, port, 40)
        status, out, err = run.end()
    assert (status, err) == (1, "")
    assert "the run ended early: cannot write " in out
    assert "frames_data_000002.h5: there is a file of this name: move it away" in " ".join(out.split())
    assert check_file(run, source) == list(range(6))
    with h5py.File(tmp_path / "frames.h5") as file:
        assert file["entry/loss"].attrs["complete"] == identity(out)["complete"]


def test_a_file_system_that_is_full_costs_no_frame_that_was_written(tmp_path: Path, port: int) -> None:
    """In a mount namespace of its own (mount_namespaces(7)), on a tmpfs; its file is copied out at the end."""
    disk = tmp_path / "disk"
    disk.mkdir()
    size = RESERVED + 8 * IMAGE_BYTES
    mount = f"mount -t tmpfs -o size={size} tmpfs {disk}"
    if subprocess.run(["unshare", "-rm", "sh", "-c", mount], capture_output=True, check=False).returncode:
        pytest.skip("no file system can be mounted here: unshare(1) needs user namespaces, or root")
    script = f'{mount} && "$@"; status=$?; ls -A {disk} > {tmp_path}/left; cp {disk}/frames.h5 {tmp_path}; exit $status'
    before = ("unshare", "-rm", "sh", "-c", script, "sh")
    options = write_plan(tmp_path, port, **IMAGE)
    with receiving(tmp_path, *options, before=before, output=disk / "frames.h5") as run:
        source = send_until_cut_off(run, port, 40)
        status, out, err = run.end()
    assert (status, err) == (1, "")
    assert f"cannot write {disk / 'frames.h5'}: No space left on device ({RESERVED / 1e6:.1f} MB are for the " in out
    assert (tmp_path / "left").read_text() == "frames.h5\n"
    numbers = check_file(run, source)
    assert numbers == list(range(len(numbers)))
    assert 8 <= len(numbers) <= 12


def test_a_disk_without_room_for_a_frame_is_said_before_anything_is_received(tmp_path: Path, port: int) -> None:
    options = write_plan(tmp_path, port, **IMAGE)
    with receiving(tmp_path, *options, program=SMALL_FILES.format(size=0) + PROGRAM) as run:
        status, _, err = run.end()
    assert status == 2
    assert f"File too large (files end at 0.0 MB, see `ulimit -f`, of which {RESERVED / 1e6:.1f} MB are" in err
    assert not (tmp_path / "frames.h5").exists()


def test_a_slow_sink_holds_the_credit_and_the_source_drops_whole_frames(tmp_path: Path, port: int) -> None:
    options = write_plan(tmp_path, port)
    with receiving(tmp_path, *options, program=SLOW.format(seconds=0.05) + PROGRAM) as run:
        host, tcp = run.address
        command = ["emulate", "--to", f"{host}:{tcp}", "--port", str(port), "--rate", "200", "--frames", "200"]
        sent = subprocess.run([*FRAMELANE, *command], capture_output=True, text=True, timeout=60, check=False)
        status, out, err = run.end()
    found = identity(out)
    assert (status, err) == (0, "")
    assert sent.returncode == 1
    assert "frames were dropped for want of credit" in " ".join(sent.stdout.split())
    assert found["sent"] == 200
    assert found["dropped at source"] > 100
    assert (found["incomplete"], found["dropped by host"], found["missing"]) == (0, 0, 0)
    numbers = run.dataset("frame_number")
    assert len(numbers) == found["complete"] >= SLOTS
    assert (np.diff(numbers.astype(int)) > 0).all()
    assert run.dataset("complete").all()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_with_frames_in_the_pipeline_ends_the_run_with_all_of_them_written(
    tmp_path: Path, port: int, number: int
) -> None:
    options = write_plan(tmp_path, port)
    with receiving(tmp_path, *options, program=SLOW.format(seconds=0.4) + PROGRAM) as run:
        source = Source(run.session, port)
        source.send(*range(SLOTS))
        time.sleep(0.6)
        status, out, err = run.end(number)
    assert (status, err) == (0, "")
    assert check_file(run, source) == list(range(SLOTS))
    assert identity(out)["complete"] == SLOTS


def test_a_source_that_dies_in_a_frame_costs_that_frame_only(tmp_path: Path, port: int) -> None:
    options = write_plan(tmp_path, port)
    with receiving(tmp_path, *options, "--idle", 0.5) as run:
        with run.link(0) as link:
            source = Source(link.session, port)
            source.send(0, 1)
            source.send_packets(source.packets(2)[:5])
            link.report(0, offered=2, dropped=0)
        status, out, err = run.end()
    assert (status, err) == (0, "")
    assert identity(out) == {
        **{"sent": 3, "complete": 2, "incomplete": 1},
        **{"dropped at source": 0, "dropped by host": 0, "missing": 0},
    }
    assert run.dataset("complete").tolist() == [True, True, False]
    partial = source.image(2).copy().reshape(-1)
    partial[5 * 128 :] = HOLE_WORD
    np.testing.assert_array_equal(run.dataset("data")[2].reshape(-1), partial)


def test_a_script_is_told_that_a_source_has_gone_though_all_that_came_is_complete(tmp_path: Path, port: int) -> None:
    options = write_plan(tmp_path, port)
    with receiving(tmp_path, *options, "--idle", 0.5, "--strict") as run:
        with run.link(0) as link:
            Source(link.session, port).send(0, 1)
            link.report(0, offered=2, dropped=0)
        status, out, err = run.end()
    assert (status, err) == (1, "")
    assert identity(out)["complete"] == identity(out)["sent"] == 2
    assert "--strict: a source has gone without telling the end: more may have been sent" in out


def test_a_source_that_is_killed_leaves_a_run_that_ends_when_nothing_comes(tmp_path: Path, port: int) -> None:
    options = write_plan(tmp_path, port, n_slots=16)
    with receiving(tmp_path, *options, "--idle", 12) as run:
        host, tcp = run.address
        command = ["emulate", "--to", f"{host}:{tcp}", "--port", str(port)]
        with run.link() as watch:
            with subprocess.Popen([*FRAMELANE, *command], stdout=subprocess.DEVNULL) as source:
                assert wait_until(lambda: watch.window_end > 60)
                source.kill()
            status, out, err = run.end()
    found = identity(out)
    assert (status, err) == (0, "")
    assert found["complete"] >= 44
    assert found["incomplete"] <= 1
    last = int(re.findall(r"source 0 has gone without telling its end: what it had sent after frame (\d+) is", out)[0])
    assert last >= run.dataset("frame_number")[-2]
    assert len(run.dataset("frame_number")) == found["complete"] + found["incomplete"]


def test_a_source_that_waits_for_credit_is_not_idle(tmp_path: Path, port: int) -> None:
    """Each frame takes longer to be written than the user wants to wait for one."""
    options = write_plan(tmp_path, port, n_slots=1)
    with (
        receiving(tmp_path, *options, "--idle", 0.3, program=SLOW.format(seconds=0.6) + PROGRAM) as run,
        run.link() as link,
    ):
        source = Source(link.session, port)
        for number in range(4):
            assert has_credit(link, number)
            source.send(number)
        _, out, _ = run.end()
    assert identity(out)["complete"] == 4


def test_the_files_of_a_run_belong_to_one_receiver_at_a_time(tmp_path: Path, port: int) -> None:
    options = write_plan(tmp_path, port)
    other = [*options[:-1], 0, "--idle", 0.1]
    with receiving(tmp_path, *options) as run:
        session = run.session
        with receiving(tmp_path, *other, output=tmp_path / "other.h5") as second:
            status, _, err = second.end()
        assert (status, err.count("\n")) == (2, 1)
        assert f"another receiver has published its session in {tmp_path}/session.json and still runs" in err
        assert run.session == session
        with receiving(tmp_path, *options[:2], "--port", 0, "--idle", 0.1, "--force") as second:
            status, _, err = second.end()
        assert (status, err.count("\n")) == (2, 1), "before the first frame, too"
        assert f"cannot write {tmp_path}/frames.h5: another run is writing it" in err
        run.end(signal.SIGINT)
    with receiving(tmp_path, *other, output=tmp_path / "other.h5") as second:
        assert second.end()[0] == 1, "nothing came, but it ran"
    assert run.session != session
    assert not any(path.name.startswith(".part") for path in tmp_path.iterdir())
    assert os.access(tmp_path / "session.json", os.R_OK)


def test_a_disk_that_is_taken_away_ends_the_run_which_is_summed_up(tmp_path: Path, port: int) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    options = write_plan(tmp_path, port)
    with receiving(tmp_path, *options, output=disk / "frames.h5") as run, run.link() as link:
        source = Source(link.session, port)
        source.send(*range(3))
        assert wait_until((disk / "frames.h5").exists)
        shutil.rmtree(disk)
        for number in range(3, 400):  # it is noticed with the next commit
            if not has_credit(link, number):
                break
            source.send(number)
            time.sleep(0.02)
        status, out, err = run.end()
    assert (status, err) == (1, "")
    assert f"the run ended early: cannot write {disk / 'frames.h5'}: it has gone while it was written" in out
    assert "nothing is written" in out
    assert identity(out)["sent"] < 400
