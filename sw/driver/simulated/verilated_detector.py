"""A detector's packets through the FPGA, `hw/rtl/detector_tx.sv` by Verilator: frames of its line in, WRITEs out."""

import ctypes
from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from framelane.base.errors import BoardError, ConfigError, SimulationError
from framelane.driver.board.detector_board import DetectorBoard
from framelane.driver.registers.registers import check_access
from framelane.driver.simulated.library import Design
from framelane.driver.simulated.simulation import Simulation, split
from framelane.models.detector.det_correct import DetCorrect
from framelane.models.detector.det_header import DetFate, DetHeader
from framelane.models.detector.det_place import Target
from framelane.models.jungfrau import jf_constants
from framelane.models.placement.slots import FREE_RUNNING
from framelane.models.roce_tx import wire
from framelane.models.roce_tx.roce_qp import QpContext

_U32, _U64, _POINTER = ctypes.c_uint32, ctypes.c_uint64, ctypes.c_void_p
_BOOL = ctypes.c_bool

PATIENCE = 1_000_000
"""Cycles within which all that came must have left."""

_MAP_BYTES = 1 << 16
_COUNTED = {"MODULE": "module_number", "NUMBER": "ahead"}
"""Counters that are not named as what they count."""
_ANNOUNCED = 100
"""Cycles behind a reset within which the station's announcement has left."""

LEFT = np.dtype([(name, np.uint64) for name in ("first", "pixel", "last")])
"""Clock cycles in which a packet left: its first beat, the one with its first pixel, its last."""


@dataclass(frozen=True, slots=True)
class Sent:
    """What became of frames: `packets` are Ethernet frames without FCS, `left` an array of LEFT, one entry each.

    `begun` are the clock cycles in which the first beat of each frame came.
    """

    packets: list[bytes]
    left: NDArray[np.void]
    begun: NDArray[np.uint64]


def design(header: DetHeader, correct: bool = False) -> Design:
    """The gateware for the packets of this description, with room for so many modules, and with the correction."""
    parameters = header.parameters() | {"Modules": header.modules, "ClockHz": 250_000_000}
    return Design(
        "detector_tx",
        "detector_tx",
        ("mac/detector_tx_library.cpp",),
        {
            "detector_tx_reset": (None, []),
            "detector_tx_constants": (None, [_U64, _POINTER, _U64, _U64]),
            "detector_tx_write": (_BOOL, [_U32, _U32]),
            "detector_tx_read": (_BOOL, [_U32, _POINTER]),
            "detector_tx_receive": (None, [_POINTER, _U64, _BOOL, _U64]),
            "detector_tx_run": (_BOOL, [_U64]),
            "detector_tx_step": (None, [_U64]),
            "detector_tx_counts": (None, [_POINTER]),
            "detector_tx_take": (None, [_POINTER] * 4),
        },
        parameters | ({"Correct": 1} if correct else {}),
    )


class DetectorRegisters(Simulation):
    """One simulated FPGA as after power-up, with its registers (see `Registers`).

    With `correct` it is built with the correction, and its memory holds these constants; the first of a burst come
    `memory_cycles` behind the request, 1 unless told otherwise; without `correct` a ConfigError. Its clock runs in an
    access, in `run` and in `step`, and stands still between. Not for use by several threads at once.
    """

    pause_s = 0.0
    """Whoever waits for it looks again at once: between accesses no time passes."""

    def __init__(
        self, header: DetHeader, width: int = 512, correct: DetCorrect | None = None, memory_cycles: int | None = None
    ) -> None:
        if memory_cycles is not None and correct is None:
            raise ConfigError("memory_cycles is of the memory for a correction's constants: give correct, too")
        cycles = 1 if memory_cycles is None else memory_cycles
        if cycles < 1:
            raise ConfigError(f"a memory cannot answer within {cycles} cycles: give 1 or more")
        super().__init__(design(header, correct is not None), width)
        if correct:
            constants = jf_constants.pack(correct.fixed, correct.pitch)
            self._call("detector_tx_constants", correct.base, constants, len(constants), cycles)
        self._call("detector_tx_reset")

    def read(self, offset: int) -> int:
        """The register at byte `offset`."""
        check_access(offset, _MAP_BYTES)
        value = ctypes.c_uint32()
        if not self._call("detector_tx_read", offset, ctypes.addressof(value)):
            raise BoardError(f"the simulated detector_tx does not answer a read of {offset:#x}")
        return value.value

    def write(self, offset: int, value: int) -> None:
        """Write the register at byte `offset`."""
        check_access(offset, _MAP_BYTES, value)
        if not self._call("detector_tx_write", offset, value):
            raise BoardError(f"the simulated detector_tx does not answer a write to {offset:#x}")

    def step(self, cycles: int) -> None:
        """Run for so many clock cycles."""
        self._call("detector_tx_step", cycles)

    def receive(self, frame: bytes, *, bad: bool = False, gap: int = 0) -> None:
        """Queue a frame without FCS at the MAC, `gap` cycles behind the one before; `bad`: its FCS is wrong."""
        self._call("detector_tx_receive", frame, len(frame), bad, gap)

    def run(self) -> Sent:
        """Run until all that was queued has come, and what is sent for it has left. SimulationError where not."""
        if not self._call("detector_tx_run", PATIENCE):
            raise SimulationError(f"packets still leave {PATIENCE} cycles after the last frame came")
        return self.take()

    def take(self) -> Sent:
        """What has come and left since the last time."""
        counts = np.empty(3, np.uint64)
        self._call("detector_tx_counts", counts.ctypes.data)
        n_frames, n_packets, n_bytes = counts.tolist()
        data, lengths = np.empty(n_bytes, np.uint8), np.empty(n_packets, np.uint32)
        left, begun = np.empty(n_packets, LEFT), np.empty(n_frames, np.uint64)
        self._call("detector_tx_take", *(array.ctypes.data for array in (data, lengths, left, begun)))
        return Sent(split(data, lengths), left, begun)


class DetectorSimulator(DetectorRegisters):
    """One that is configured by its registers, and armed, with credit without limit; `board` drives it.

    With `correct` it sends photons; see `DetectorRegisters`.
    """

    def __init__(
        self,
        header: DetHeader,
        target: Target,
        local: wire.Endpoint,
        first_port: int,
        qp: QpContext,
        width: int = 512,
        *,
        correct: DetCorrect | None = None,
        memory_cycles: int | None = None,
    ) -> None:
        super().__init__(header, width, correct, memory_cycles)
        self.board = DetectorBoard(self)
        self._settings = header, target, local, first_port, qp, correct
        self._start()

    def reset(self) -> None:
        """Reset by register, then configure and arm again."""
        self.board.reset()
        self._start()

    def credit(self, window_end: int) -> None:
        """Let frames below this number of the ring begin."""
        self.board.publish_credit(window_end)

    def flush(self) -> Sent:
        """End all frames that are under way, and arm again."""
        self.board.disarm()
        done = self.run()
        self.board.wait_idle()
        self.board.arm()
        return done

    def fates(self) -> Counter[DetFate]:
        """What became of the detector's packets, by the counters."""
        counters = self.board.counters()
        named = {fate: counters[_COUNTED.get(fate.name, fate.name.lower())] for fate in DetFate}
        return Counter({fate: count for fate, count in named.items() if count})

    def _start(self) -> None:
        self.board.configure(*self._settings)
        self.credit(FREE_RUNNING)
        self.board.arm()
        self.step(_ANNOUNCED)
        self.take()
