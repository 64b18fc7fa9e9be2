"""`framelane recv` under SIGKILL behind its last frame; while frames come: tests/receiver/recovery/test_kills.py."""

import socket
import time
from itertools import pairwise
from pathlib import Path

import h5py
import hdf5plugin  # noqa: F401
import numpy as np

from live_recv import PROGRAM, Source, receiving, wait_until, write_plan

SHORT_PARTS = "from framelane.receiver.sinks import judged_frames; judged_frames.MOST_CHUNKS = 60; "
SLOTS = 16
OLD_S = 2.0


def test_every_frame_is_there_when_the_receiver_is_killed_two_seconds_behind_the_last(tmp_path: Path) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = write_plan(tmp_path, port, n_slots=SLOTS)
    given_back: list[tuple[float, int]] = []
    """When so many frames had been written."""
    with receiving(tmp_path, *options, program=SHORT_PARTS + PROGRAM) as run, run.link() as link:
        source = Source(link.session, port)
        end, number = time.monotonic() + 2, 0
        while time.monotonic() < end:
            assert wait_until(lambda number=number: link.window_end > number)  # type: ignore[misc]
            source.send(number)
            given_back.append((time.monotonic(), link.window_end - SLOTS))
            number += 1
            time.sleep(0.004)
        assert wait_until(lambda: link.window_end - SLOTS >= number - 1)
        given_back.append((time.monotonic(), number - 1))
        time.sleep(OLD_S + 0.2)
        killed = time.monotonic()
        run.process.kill()
        run.process.wait(30)
    old = max(frames for at, frames in given_back if at < killed - OLD_S)
    assert old > 60
    assert old >= number - 1
    with h5py.File(tmp_path / "frames.h5") as file:
        assert "end_time" not in file["entry"]
        numbers, complete = file["entry/data/frame_number"][()], file["entry/data/complete"][()]
        images = file["entry/data/data"]
        assert all(a < b for a, b in pairwise(numbers.tolist()))
        assert set(range(old)) <= set(numbers.tolist())
        assert np.count_nonzero(complete) > 0.9 * len(numbers)
        for f in np.flatnonzero(complete):
            np.testing.assert_array_equal(images[f], source.image(int(numbers[f])), f"frame {numbers[f]}")
    parts = sorted(path.name for path in tmp_path.glob("frames_data_*.h5"))
    assert len(parts) >= 2, "the run went on in other files"
