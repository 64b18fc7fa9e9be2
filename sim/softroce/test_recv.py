"""`framelane recv --transport verbs` and `framelane emulate`, as a user runs them: the credit goes round 5 times."""

import json
import os
import subprocess
import sys
from pathlib import Path

import h5py
import hdf5plugin  # noqa: F401  (its filters)
import numpy as np

from rdma_testbed import RdmaTestbed
from run import PYTHONPATH, Run

HERE = Path(__file__).with_name("guest")
PLAN = """rows = 64
columns = 256
n_slots = 4
mtu = 1024
source = {{ mac = "{source_mac}", ip = "{source_ip}" }}
receiver = {{ mac = "{receiver_mac}", ip = "{receiver_ip}" }}
"""
PATIENCE_S = 720
"""An emulated processor takes 330 s on a machine that does nothing else."""
FRAMES, HOLES = 20, 512
"""A packet has 512 pixels; the emulator loses two, of frames 0 and 3: a frame has 32 and a trailer."""


def test_frames_on_credit_reach_the_file_and_lost_packets_are_holes(testbed: RdmaTestbed, tmp_path: Path) -> None:
    link = testbed.link
    names = ("source_mac", "source_ip", "receiver_mac", "receiver_ip")
    (tmp_path / "plan.toml").write_text(PLAN.format(**{name: getattr(link, name) for name in names}))
    compiled = {"NUMBA_CACHE_DIR": str(tmp_path / "numba"), "NUMBA_CPU_NAME": "generic"}
    command = [sys.executable, str(HERE / "compile_loops.py")]
    subprocess.run(command, env=os.environ | PYTHONPATH | compiled, check=True, timeout=120)
    framelane = [sys.executable, "-c", "from framelane.cli import main; main()"]
    command = ["sh", str(HERE / "recv_and_emulate.sh"), *framelane]
    with Run(testbed, command, tmp_path, timeout_s=PATIENCE_S, environment=compiled) as run:
        outcome = run.wait()
    said = (tmp_path / "recv.txt").read_text()
    assert outcome.status == 0, said + (tmp_path / "emulate.txt").read_text()
    words = " ".join(said.split())
    assert "20 sent = 18 complete + 2 incomplete + 0 dropped at source + 0 dropped by host + 0 missing" in words
    assert "658 packets came to the device, 660 were sent with the trailers that came" in words
    with h5py.File(tmp_path / "frames.h5") as file:
        data = file["entry/data"]
        np.testing.assert_array_equal(data["frame_number"], range(FRAMES))
        holes = np.asarray(data["holes"])
        assert {n: holes[n] for n in np.flatnonzero(holes)} == {0: HOLES, 3: HOLES}
        assert (data["data"][0].reshape(-1)[8 * HOLES : 9 * HOLES] == 0x8000).all()
    assert json.loads((tmp_path / "emulate.json").read_text())["sent"] == FRAMES
