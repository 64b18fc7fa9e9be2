"""Bragg peaks in a simulated diffraction image of a JUNGFRAU module.

One sees how many peaks were found, and place, intensity and signal to noise of the brightest ones.
"""

import numpy as np

from framelane.models.jungfrau.jf_detector import Detector, DetectorConfig
from framelane.receiver import Panel, PeakSettings, correct, find_peaks

detector = Detector(DetectorConfig(modules=1, seed=7))
calibration = detector.calibration
photons = correct(detector.frame(0).raw, calibration)

# A module is 2 x 4 chips of 256 x 256 pixels: no peak crosses the wide pixels between two of them.
peaks = find_peaks(
    photons, PeakSettings(snr=6, minimum=5), panels=Panel.grid((512, 1024), 256, 256), usable=calibration.usable[0]
)

print(f"{len(peaks)} peaks")
for peak in np.sort(peaks, order="intensity")[:-6:-1]:
    ratio = (peak["max_value"] - peak["background"]) / peak["sigma"]
    print(
        f"row {peak['row']:6.1f} column {peak['column']:6.1f}: {peak['intensity']:8.1f} photons in {peak['pixels']} "
        f"pixels, the brightest {ratio:.0f} sigma above the background" + (", saturated" * bool(peak["saturated"]))
    )
