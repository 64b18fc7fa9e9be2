"""How fast the simulated gateware corrects: clocks for a 4M image, and from a pixel in to that pixel out."""

from typing import Any

import numpy as np

from framelane.base.errors import SimulationError
from framelane.bench.runner import Target
from framelane.bench.tiled_frames import tiled_frames
from framelane.driver.simulated.verilated_jf_correct import JfCorrectSimulator
from framelane.models.jungfrau.jf_correct import correct_int16
from framelane.models.jungfrau.jf_fixed import quantize

CLOCK_HZ = 250e6
WIDTH = 512
LANES = WIDTH // 16


def in_gateware() -> tuple[list[dict[str, Any]], list[Target]]:
    """A row with the keys of the CPU's rows, and what no CPU has: `clocks` an image and `latency_clocks`.

    SimulationError where the gateware's bits are not the model's.
    """
    images, calibration = tiled_frames(1)
    fixed = quantize(calibration)
    with JfCorrectSimulator(WIDTH) as simulator:
        found = simulator.correct(images[0], fixed)
    if not np.array_equal(found.images, correct_int16(images[0], fixed)):
        raise SimulationError("the gateware's photons are not the model's: `make sim` says more")
    row = {
        **{"what": f"gateware, {WIDTH} bits at {CLOCK_HZ / 1e6:g} MHz", "output": "int16", "threads": None},
        **{"cpu_ms": None, "least_wall_ms": found.cycles / CLOCK_HZ * 1e3, "times_copy": None, "times_plain": None},
        **{"batch": 1, "clocks": found.cycles, "latency_clocks": found.latency},
    }
    a_clock = images[0].size / found.cycles
    return [row], [Target(what="gateware: pixels a clock", value=a_clock, unit="", limit=LANES, better="higher")]
