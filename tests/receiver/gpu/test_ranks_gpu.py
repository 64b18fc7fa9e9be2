"""Two ranks with a GPU each: what they write is the golden model's, from whichever GPU."""

import re
from pathlib import Path

import h5py
import hdf5plugin  # noqa: F401
import numpy as np
import pytest

from framelane.base.errors import ConfigError
from framelane.models.jungfrau.jf_calibration import Calibration
from framelane.models.jungfrau.jf_correct import correct_int16
from framelane.models.jungfrau.jf_fixed import quantize
from framelane.receiver.gpu._device import cupy
from mpi_run import Run, RunCli, needs_mpi, sent

SHAPE = 32, 64
ENERGY_KEV = 9.0
"""As in the plan of the run."""


@needs_mpi
def test_images_of_two_gpus_are_those_of_the_model(run_cli: RunCli, tmp_path: Path) -> None:
    try:
        gpus = cupy().cuda.runtime.getDeviceCount()
    except ConfigError as reason:
        pytest.skip(str(reason))
    rng = np.random.default_rng(7)
    pedestal = rng.uniform(1000, 3000, (3, *SHAPE))
    gain = np.array([40.0, -1.4, -0.1]).reshape(3, 1, 1) * rng.uniform(0.9, 1.1, (3, *SHAPE))
    with h5py.File(tmp_path / "calibration.h5", "w") as file:
        file["pedestal_adu"], file["gain_adu_per_kev"] = pedestal, gain
        file.attrs["photon_energy_kev"] = ENERGY_KEV
    with Run(tmp_path, "--gpu", "--calibration", "calibration.h5") as run:
        run.wait_ready()
        pictures = sent(tmp_path)
        run.emulate(run_cli, "--bunch", 3, "--frames", 50, "--rate", 200)
        text = run.end()
    assert run.status == 0, text
    assert len(set(re.findall(r" at (\S+), see \S+run_\d.h5", text))) == min(gpus, 2), text
    fixed = quantize(Calibration(pedestal, gain, ENERGY_KEV))
    with h5py.File(tmp_path / "run.h5") as master:
        data = master["entry/data"]
        assert data["detector_frame"][:].tolist() == list(range(50))
        for number in range(50):
            wanted = correct_int16(pictures[number % len(pictures)], fixed)
            np.testing.assert_array_equal(data["data"][number], wanted, f"frame {number}")
