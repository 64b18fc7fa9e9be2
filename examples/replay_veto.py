"""The veto once more, on frames that were received: which would another one have kept?

`framelane recv` judges frames of an emulated board, and rejects those with fewer than 1,025 pixels of at least 10
photons. One sees how many it accepted, and what a lower and a higher minimum would have changed. The images of rejected
frames are not needed for that.
"""

import subprocess
import sys
import time
from pathlib import Path

from framelane.calibration import write_calibration
from framelane.models.jungfrau.jf_detector import Detector, DetectorConfig
from framelane.receiver import replay_veto
from framelane.source import emulate

SEED, MINIMUM = 5, 1025
Path("plan.toml").write_text("""
rows = 512
columns = 1024
n_slots = 16
source = { mac = "02:00:00:00:00:01", ip = "127.0.0.2" }
receiver = { mac = "02:00:00:00:00:02", ip = "127.0.0.1" }
""")
write_calibration("calibration.h5", Detector(DetectorConfig(seed=SEED)).calibration, force=True)
options = ["--transport", "udp", "--plan", "plan.toml", "--publish", "session.json", "--output", "frames.h5", "--force"]
options += ["--calibration", "calibration.h5", "--threshold", "10", "--minimum-peaks", str(MINIMUM)]
Path("session.json").unlink(missing_ok=True)  # that of an earlier run
receiver = subprocess.Popen([sys.executable, "-m", "framelane", "recv", *options])
while not Path("session.json").exists() and receiver.poll() is None:
    time.sleep(0.1)
emulate(to="127.0.0.1", frames=24, seed=SEED)
if status := receiver.wait():
    sys.exit(status)

recorded = replay_veto("frames.h5")
print(f"recorded, at least {MINIMUM} pixels: {recorded.accepted.sum()} of {len(recorded.known)} frames accepted")
for minimum in (1000, 1060):
    replay = replay_veto("frames.h5", minimum_peaks=minimum)
    print(
        f"at least {minimum} pixels: {replay.accepted.sum()} would be accepted, {replay.gained.sum()} more and "
        f"{replay.lost.sum()} fewer"
    )
