"""Frames from an emulated board to a receiver on the same machine, over UDP, some of the packets lost on the way.

The receiver is `framelane recv` in a process of its own. One sees what was sent, how many packets were lost, and that
the receiver counts the same: pixels that never came are holes in frames.h5.
"""

import subprocess
import sys
import time
from pathlib import Path

import h5py

from framelane.source import emulate, parse_impairments

Path("plan.toml").write_text("""
rows = 512
columns = 1024
n_slots = 16
source = { mac = "02:00:00:00:00:01", ip = "127.0.0.2" }
receiver = { mac = "02:00:00:00:00:02", ip = "127.0.0.1" }
""")
options = ["--transport", "udp", "--plan", "plan.toml", "--publish", "session.json", "--output", "frames.h5", "--force"]
receiver = subprocess.Popen([sys.executable, "-m", "framelane", "recv", *options])
while not Path("session.json").exists() and receiver.poll() is None:
    time.sleep(0.1)

losses = parse_impairments("drop=0.002", seed=1)
outcome = emulate(to="127.0.0.1", frames=20, impairment=losses)
status = receiver.wait()

print(f"sent: {outcome.sent} frames in {outcome.packets} packets, {losses.counts['drop']} of them lost on the way")
with h5py.File("frames.h5") as file:
    data = file["entry/data"]
    holes = data["holes"][:]
    print(f"received: {len(holes)} frames, {(holes > 0).sum()} of them with holes: {holes.sum()} pixels are missing")
sys.exit(status or bool(outcome.faults))
