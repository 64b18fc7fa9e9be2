"""Frames of a file that another process is still writing: `framelane recv` receives, this program looks on.

One sees each frame a moment after it was written, without asking the receiver for anything: any number of programs can
read the file. `follow` opens it again and again by h5py; the last lines show the same by h5py alone.
"""

import subprocess
import sys
import time
from pathlib import Path

import h5py
import hdf5plugin  # noqa: F401  (for the compressed images)

from framelane.receiver import follow

Path("plan.toml").write_text("""
rows = 512
columns = 1024
n_slots = 16
source = { mac = "02:00:00:00:00:01", ip = "127.0.0.2" }
receiver = { mac = "02:00:00:00:00:02", ip = "127.0.0.1" }
""")
options = ["--transport", "udp", "--plan", "plan.toml", "--publish", "session.json", "--output", "frames.h5", "--force"]
Path("session.json").unlink(missing_ok=True)  # that of an earlier run
receiver = subprocess.Popen([sys.executable, "-m", "framelane", "recv", *options])
while not Path("session.json").exists() and receiver.poll() is None:
    time.sleep(0.1)
code = "from framelane.source import emulate; emulate(to='127.0.0.1', frames=40, rate=10)"
source = subprocess.Popen([sys.executable, "-c", code])

live = 0
for frame in follow("frames.h5", idle=60):
    live += receiver.poll() is None
    print(f"frame {frame.number}: mean {frame.image.mean():.0f}, {frame.record['holes']} holes")
print(f"{live} frames were seen while the receiver was running")

with h5py.File("frames.h5") as file:
    images = file["entry/data/data"]
    print(f"{len(images)} frames, the newest has words up to {images[-1].max()}")
sys.exit(receiver.wait() or source.wait())
