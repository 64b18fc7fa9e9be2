"""A simulated diffraction image, corrected, described, and integrated by pyFAI.

One sees intensities over the scattering angle, none of them negative: the mask and the limits of good values are in the
file, nobody made a mask by hand.
"""

import h5py
import hdf5plugin  # noqa: F401  (so that h5py reads compressed images)
import numpy as np
import pyFAI

from framelane.calibration import write_calibration
from framelane.models.jungfrau.jf_detector import Detector, DetectorConfig
from framelane.receiver import FileOptions, Metadata, correct_file, export_geometry

detector = Detector(DetectorConfig(modules=1, seed=7))
with h5py.File("raw.h5", "w") as file:
    file["raw"] = detector.frame(0).raw[None]
write_calibration("calibration.h5", detector.calibration)

experiment = Metadata(
    distance_mm=100,
    beam_x=515,  # pixels of the assembled image, from its outer edges
    beam_y=257,
    energy_kev=detector.calibration.photon_energy_kev,
    material="Si",
    thickness_um=320,
)
options = FileOptions(metadata=experiment)
correct_file("raw.h5", "calibration.h5", "photons.h5", geometry="jungfrau_500k", double_pixels="split", options=options)
export_geometry("photons.poni", "jungfrau_500k", experiment)

with h5py.File("photons.h5") as file:
    photons, known = file["entry/data/data"][0], file["entry/instrument/detector"]
    bad = known["pixel_mask"][()] & 0xFFFF != 0
    good = (photons >= known["underload_value"][()]) & (photons <= known["saturation_value"][()])  # NaN is not
    bad |= ~good

integrator = pyFAI.load("photons.poni")
q, intensity = integrator.integrate1d(
    photons.astype(np.float32), 200, mask=bad, unit="q_A^-1", method=("no", "csr", "cython")
)
shown = intensity[np.linspace(0, len(q) - 1, 8).astype(int)]
print(f"{bad.sum()} of {bad.size} pixels left out; intensities from {intensity.min():.3f} to {intensity.max():.3f}")
print("along the angle:", " ".join(f"{value:.2f}" for value in shown))
print("none is negative" if intensity.min() >= 0 else "some are negative")
