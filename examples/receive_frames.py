"""Frames from the wire, one by one: an emulated board sends them, and this program receives and corrects them.

One sees each frame with its number, its time, its peaks and its holes, then the loss identity: every frame that was
sent is accounted for. Some packets are lost on the way, so that there are holes.
"""

from pathlib import Path

import numpy as np

from framelane.calibration import Calibration, write_calibration
from framelane.receiver import Live, Processing, receive
from framelane.source import emulate, parse_impairments

Path("plan.toml").write_text("""
rows = 512
columns = 1024
n_slots = 16
source = { mac = "02:00:00:00:00:01", ip = "127.0.0.2" }
receiver = { mac = "02:00:00:00:00:02", ip = "127.0.0.1" }
""")
stages = np.ones((3, 512, 1024))  # G0, G1, G2 of each pixel
pedestal = stages * np.array([[[2400.0]], [[13600.0]], [[14100.0]]])  # in ADU
gain = stages * np.array([[[41.0]], [[-1.44]], [[-0.1145]]])  # in ADU a keV
write_calibration("calibration.h5", Calibration(pedestal, gain, photon_energy_kev=12.4), force=True)

live = Live(transport="udp", plan=Path("plan.toml"))
losses = parse_impairments("drop=0.002", seed=1)
with (
    receive(live, Processing(calibration=Path("calibration.h5"), threshold=5)) as run,
    run.beside(emulate, to="127.0.0.1", frames=20, impairment=losses),  # in a thread; what it raises is raised here
):
    for frame in run:
        print(f"frame {frame.number} at {frame.timestamp_ns} ns: {frame.verdict.peaks} peaks, {frame.holes} holes")
print(f"{losses.counts['drop']} packets were lost on the way")
print(f"loss identity: {run.tally}")
