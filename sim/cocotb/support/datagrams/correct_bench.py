"""The correction of a detector's packets in benches: any constants, and the memory in which they lie."""

import numpy as np

from bench import Bench
from framelane.driver.simulated.ports import CORRECTION_T
from framelane.models.detector.det_correct import DetCorrect
from framelane.models.detector.det_header import DetHeader
from framelane.models.jungfrau import jf_constants
from framelane.models.jungfrau.jf_fixed import FixedCalibration
from plane_memory import PlaneMemory

BASE = (5 << 32) - 2 * 4096
"""The first plane crosses a boundary of 4 GiB."""


def any_correction(bench: Bench, header: DetHeader, high_gain: bool = False) -> DetCorrect:
    """Random constants; some are masked in a stage."""
    rng = np.random.default_rng(bench.random.getrandbits(32))
    shape = 3, header.modules * header.of.module.rows, header.of.module.columns
    pedestal, mantissa = (rng.integers(0, 0x10000, shape, np.uint16) for _ in range(2))
    mantissa[rng.random(shape) < 0.05] = 0
    fixed = FixedCalibration(pedestal, mantissa, (17, 25, 14), high_gain=high_gain)
    return DetCorrect(header, fixed, BASE, jf_constants.needed_pitch(pedestal[0].nbytes) + 4096)


def constants_of(bench: Bench, correct: DetCorrect, width: int, stalls: bool) -> PlaneMemory:
    """The memory with the constants."""
    return PlaneMemory(bench, "m_axi_constant", width, BASE, jf_constants.pack(correct.fixed, correct.pitch), stalls)


def settings(correct: DetCorrect, enabled: int = 1) -> int:
    """The bits of correction_t."""
    shift = sum(s << 5 * k for k, s in enumerate(correct.fixed.shift))
    numbers = {"offset": 0, "image_bytes": 0, "guard": 0, "pitch": correct.pitch, "base": correct.base, "shift": shift}
    return CORRECTION_T.pack(numbers | {"high_gain": int(correct.fixed.high_gain), "enabled": enabled})


def break_beat(memory: PlaneMemory, correct: DetCorrect, index: int, beat: int, width: int) -> DetCorrect:
    """Let the memory answer that beat of a packet's constants with an error: the correction that there is then."""
    lanes = width // 8
    packet_bytes = correct.header.packet_bytes
    memory.broken.add(correct.base + 3 * correct.pitch + index * packet_bytes + beat * lanes)
    mantissa = correct.fixed.mantissa.copy()
    first = (index * packet_bytes + beat * lanes) // 2
    mantissa.reshape(3, -1)[:, first : first + lanes // 2] = 0
    fixed = FixedCalibration(correct.fixed.pedestal, mantissa, correct.fixed.shift, high_gain=correct.fixed.high_gain)
    return DetCorrect(correct.header, fixed, correct.base, correct.pitch)
