"""What a live `framelane recv` runs is compiled before anybody hears of its session."""

import socket
from pathlib import Path

import numpy as np
import pytest

from framelane.calibration.calibration_file import write_calibration
from framelane.models.jungfrau.jf_calibration import Calibration
from framelane.models.placement.flow import FrameEvent
from live_recv import COLUMNS, PROGRAM, ROWS, Source, receiving, wait_until, write_plan

WATCHING = """
import atexit, gc
from numba.core.dispatcher import Dispatcher
from framelane.session.session_server import SessionServer

def compiled():
    found = [each for each in gc.get_objects() if isinstance(each, Dispatcher)]
    return {(each.py_func.__module__, each.py_func.__name__, str(each.signatures)) for each in found}

init, before = SessionServer.__init__, set()

def serve(self, *arguments, **options):
    before.update(compiled())
    init(self, *arguments, **options)

SessionServer.__init__ = serve
atexit.register(lambda: print("compiled late:", sorted(compiled() - before)))
"""
JUDGING = ("--minimum-peaks", 0, "--sparse", 2)


@pytest.mark.parametrize(
    ("pixels", "options"),
    [
        ("raw", ()),
        ("raw", ("--calibration", "c.h5", *JUDGING)),
        ("raw", ("--calibration", "c.h5", "--dark-period", 1, "--peaks", "bragg", *JUDGING)),
        ("corrected", ("--peaks", "bragg", *JUDGING)),
    ],
)
def test_nothing_is_compiled_while_frames_come(tmp_path: Path, pixels: str, options: tuple[object, ...]) -> None:
    gain = np.ones((3, ROWS, COLUMNS)) * np.array([[[40.0]], [[-1.5]], [[-0.1]]])
    write_calibration(tmp_path / "c.h5", Calibration(np.full(gain.shape, 3000.0), gain, 12.4))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    plan = write_plan(tmp_path, port, pixels=pixels)
    given = [tmp_path / "c.h5" if option == "c.h5" else option for option in options]
    with receiving(tmp_path, *plan, *given, program=WATCHING + PROGRAM) as run, run.link(0) as link:
        source = Source(link.session, port)
        for number in range(6):
            assert wait_until(lambda number=number: link.window_end > number)  # type: ignore[misc]
            source.send_packets(source.tx.frame(FrameEvent(number, 10**18 + number * 10**7, 7, number % 5 << 32)))
        link.report(0, offered=6, dropped=0, ended=True)
        status, out, err = run.end()
    assert (status, err) == (0, "")
    assert "6 sent = 6 complete" in out
    if "--dark-period" in options:
        assert "module 0: 6 dark frames" in out
    assert out.endswith("compiled late: []")
