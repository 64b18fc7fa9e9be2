"""Raw detector words to photons, and to keV.

With FRAMELANE_DATA the frames are those of a real JUNGFRAU module, without it those of a simulated one. One sees how
many pixels each frame has in each gain stage, its photons, and that keV are photons times their energy.
"""

import os
from pathlib import Path

import numpy as np

from framelane.calibration import read_calibration
from framelane.models.jungfrau.jf_detector import Detector, DetectorConfig
from framelane.receiver import RawFrames, correct

if folder := os.environ.get("FRAMELANE_DATA"):
    path = Path(folder) / "jungfrau_module.h5"
    with RawFrames(path) as file:
        raw = np.concatenate([batch.words for batch in file.batches()])
    calibration = read_calibration(path)
else:
    detector = Detector(DetectorConfig(modules=1))
    raw = np.stack([detector.frame(number).raw for number in range(3)])
    calibration = detector.calibration

photons = correct(raw, calibration)
energy = correct(raw, calibration, output="float32", unit="keV")

print(f"{len(raw)} frames of {raw.shape[1]} x {raw.shape[2]} pixels, {calibration.photon_energy_kev:g} keV a photon")
for number, (words, image, kev) in enumerate(zip(raw, photons, energy, strict=True)):
    stages = np.bincount(words.ravel() >> 14, minlength=4)  # gain code 0: G0, 1: G1, 3: G2
    value = np.abs(image) <= 32700  # others are codes: masked, saturated, ...
    print(
        f"frame {number}: {stages[0]} pixels in G0, {stages[1]} in G1, {stages[3]} in G2; {image[value].sum()} "
        f"photons, {np.nansum(kev):.0f} keV, {np.count_nonzero(~value)} pixels without a value"
    )
