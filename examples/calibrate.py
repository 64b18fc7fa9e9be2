"""A calibration from dark runs and a gain map: made, written, and read again.

The dark runs are simulated: 20 frames without light in each gain stage, with a dead pixel and a noisy one. One sees how
close the pedestals are to the true ones, and which pixels are masked.
"""

import h5py
import numpy as np

from framelane.calibration import DarkLimits, make_calibration, read_calibration
from framelane.models.jungfrau.jf_detector import Detector, DetectorConfig

truth = Detector(DetectorConfig(modules=1, stuck_in_g1=0, stuck_saturated=0)).calibration
rng = np.random.default_rng(1)
for stage, code, noise_adu, pedestal in zip(("G0", "G1", "G2"), (0, 1, 3), (24, 3, 3), truth.pedestal, strict=True):
    noise = np.full(pedestal.shape, noise_adu)
    noise[100, 200] = 0  # a dead pixel
    noise[300, 400] *= 20  # a noisy one
    frames = [np.rint(rng.normal(pedestal, noise)).clip(1, 16382).astype(np.uint16) | code << 14 for _ in range(20)]
    with h5py.File(f"dark_{stage}.h5", "w") as file:
        file["raw"] = np.stack(frames).astype(np.uint16)
truth.gain.astype("<f8").tofile("gainMaps_M001.bin")  # as PSI writes them: planes of float64, ADU/keV

made = make_calibration(
    ["gainMaps_M001.bin"],
    energy_kev=12.4,
    darks={"G0": "dark_G0.h5", "G1": "dark_G1.h5", "G2": "dark_G2.h5"},
    limits=DarkLimits(min_frames=20),
    progress=lambda what, done, total: print(what),
)
made.write("calibration.h5", force=True)

calibration = read_calibration("calibration.h5")
for stage, found, expected, usable in zip(
    made.stages, calibration.pedestal, truth.pedestal, calibration.usable, strict=True
):
    error = np.sqrt(np.mean((found - expected)[usable] ** 2))
    masked = [(int(row), int(column)) for row, column in np.argwhere(~usable)]
    print(f"{stage}: pedestals right to {error:.2f} ADU (rms), masked pixels (row, column): {masked}")
