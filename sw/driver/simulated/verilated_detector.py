"""A detector's packets through the FPGA, `hw/rtl/detector_tx.sv` by Verilator: frames of its line in, WRITEs out."""

import ctypes
from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from framelane.base.errors import SimulationError
from framelane.driver.simulated.library import Design
from framelane.driver.simulated.neighbour_ports import NEIGHBOUR_CONFIG_T, NeighbourConfig
from framelane.driver.simulated.ports import TARGET_T, target_t
from framelane.driver.simulated.simulation import Simulation, qp_writes, split, words
from framelane.models.detector.det_header import DetFate, DetHeader
from framelane.models.detector.det_place import Target
from framelane.models.placement.slots import FREE_RUNNING
from framelane.models.roce_tx import wire
from framelane.models.roce_tx.roce_qp import QpContext

_U8, _U16, _U64, _POINTER = ctypes.c_uint8, ctypes.c_uint16, ctypes.c_uint64, ctypes.c_void_p
_BOOL = ctypes.c_bool

PATIENCE = 1_000_000
"""Cycles within which all that came must have left."""

_ANNOUNCED = 100
"""Cycles behind a reset within which the station's announcement has left."""

LEFT = np.dtype([(name, np.uint64) for name in ("first", "pixel", "last")])
"""Clock cycles in which a packet left: its first beat, the one with its first pixel, its last."""


@dataclass(frozen=True, slots=True)
class Sent:
    """What became of frames: `packets` are Ethernet frames without FCS, `left` an array of LEFT, one entry each.

    `begun` are the clock cycles in which the first beat of each frame came; `fates` what became of the detector's
    packets.
    """

    packets: list[bytes]
    left: NDArray[np.void]
    begun: NDArray[np.uint64]
    fates: Counter[DetFate]


def design(header: DetHeader) -> Design:
    """The gateware for the packets of this description, with room for so many modules."""
    return Design(
        "detector_tx",
        "detector_tx",
        ("detector_tx_library.cpp",),
        {
            "detector_tx_reset": (None, []),
            "detector_tx_configure": (None, [_POINTER, _POINTER, _U16, _BOOL, _U8]),
            "detector_tx_arm": (None, [_BOOL]),
            "detector_tx_credit": (None, [_U64]),
            "detector_tx_write_qp": (_BOOL, [_POINTER]),
            "detector_tx_receive": (None, [_POINTER, _U64, _BOOL, _U64]),
            "detector_tx_run": (_BOOL, [_U64]),
            "detector_tx_step": (None, [_U64]),
            "detector_tx_flush": (_BOOL, [_U64]),
            "detector_tx_counts": (None, [_POINTER]),
            "detector_tx_take": (None, [_POINTER] * 4),
        },
        header.parameters() | {"Modules": header.modules},
    )


class DetectorSimulator(Simulation):
    """One simulated FPGA between a detector and an RDMA device, armed; its arguments are those of the model.

    `qps` is the QP table. Not for use by several threads at once.
    """

    def __init__(
        self,
        header: DetHeader,
        target: Target,
        local: wire.Endpoint,
        first_port: int,
        qps: tuple[QpContext, ...],
        width: int = 512,
    ) -> None:
        writes = qp_writes(qps)
        super().__init__(design(header), width)
        self._qps = writes
        self._call(
            "detector_tx_configure",
            words(target_t(target), TARGET_T.width),
            words(NeighbourConfig(local).pack(), NEIGHBOUR_CONFIG_T.width),
            first_port,
            header.interfaces == 2,
            header.modules,
        )
        self.credit(FREE_RUNNING)
        self.reset()

    def reset(self) -> None:
        """Forget all frames and packets, write the QPs, arm, and let the station announce its address."""
        self._call("detector_tx_arm", False)
        self._call("detector_tx_reset")
        for write in self._qps:
            if not self._call("detector_tx_write_qp", write):
                raise SimulationError("the packetizer does not take its QPs")
        self._call("detector_tx_arm", True)
        self.step(_ANNOUNCED)
        self._take()

    def credit(self, window_end: int) -> None:
        """Let frames below this number of the ring begin."""
        self._call("detector_tx_credit", window_end)

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
        return self._take()

    def flush(self) -> Sent:
        """End all frames that are under way. SimulationError where one does not end."""
        if not self._call("detector_tx_flush", PATIENCE):
            raise SimulationError("a frame that was ended is still under way")
        return self._take()

    def _take(self) -> Sent:
        counts = np.empty(3 + len(DetFate), np.uint64)
        self._call("detector_tx_counts", counts.ctypes.data)
        n_frames, n_packets, n_bytes, *fates = counts.tolist()
        data, lengths = np.empty(n_bytes, np.uint8), np.empty(n_packets, np.uint32)
        left, begun = np.empty(n_packets, LEFT), np.empty(n_frames, np.uint64)
        self._call("detector_tx_take", *(array.ctypes.data for array in (data, lengths, left, begun)))
        became = Counter({fate: fates[fate] for fate in DetFate if fates[fate]})
        return Sent(split(data, lengths), left, begun, became)
