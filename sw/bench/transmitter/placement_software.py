"""The descriptors of `bd_gen` by a C program on one core of this machine: the same ones, and how long they take."""

import ctypes
import subprocess
import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from framelane.base.errors import SimulationError
from framelane.driver.simulated.toolchain import gateware_root, verilator_environment
from framelane.models.placement.bd_rows import Descriptor
from framelane.models.placement.flow import Destination, Flow, FrameEvent
from framelane.models.placement.slots import FREE_RUNNING

OPTIONS = ("-O3", "-march=native")
RING = 4096
"""Descriptors that are kept while time is taken: 128 KiB, written again and again, as a device's ring would be."""


def _struct(**fields: type) -> np.dtype[Any]:
    """The layout that C gives such a struct."""
    return np.dtype(list(fields.items()), align=True)


_FLOW = _struct(
    **dict.fromkeys(("first", "count"), np.uint64),
    **dict.fromkeys(("bunch", "period", "burst"), np.uint32),
    **dict.fromkeys(("source_pitch", "source_offset", "destination_pitch", "max_length"), np.uint32),
    **dict.fromkeys(("x0", "y0", "width", "height", "x1", "y1"), np.uint16),
    **dict.fromkeys(("source", "first_destination", "destinations", "wide", "by_kind", "kind"), np.uint8),
)
_DESTINATION = _struct(
    **dict.fromkeys(("base", "window_end"), np.uint64),
    **dict.fromkeys(("slot_bytes", "n_slots", "trailer_offset"), np.uint32),
    qp=np.uint8,
)
_FRAME = _struct(**dict.fromkeys(("number", "address", "kind_index"), np.uint64), kind=np.uint8)
_DESCRIPTOR = _struct(
    **dict.fromkeys(("source", "destination"), np.uint64),
    **dict.fromkeys(("length", "imm"), np.uint32),
    **dict.fromkeys(("qp", "destination_index", "last"), np.uint8),
)


class SoftwarePlacement:
    """`sim/software/placement.c`, compiled for this machine, with one plan of flows and all the credit.

    SimulationError where there is no compiler, or it fails.
    """

    def __init__(self, flows: Sequence[Flow], destinations: Sequence[Destination]) -> None:
        self._run = _compiled(OPTIONS)
        self._flows = _array(_FLOW, [_fields(flow) | _kind(flow) for flow in flows])
        self._destinations = _array(_DESTINATION, [_fields(to) | {"window_end": FREE_RUNNING} for to in destinations])

    def _place(self, frames: NDArray[np.void], ring: NDArray[np.void]) -> int:
        flows, destinations = self._flows, self._destinations
        plan = flows.ctypes.data, len(flows), destinations.ctypes.data
        count: int = self._run(*plan, frames.ctypes.data, len(frames), ring.ctypes.data, len(ring) - 1)
        return count

    def descriptors(self, events: Iterable[FrameEvent], most: int = 1 << 16) -> list[Descriptor]:
        """The descriptors of some frames; `most`, a power of two, is how many there may be."""
        ring = np.zeros(most, _DESCRIPTOR)
        count = self._place(_array(_FRAME, [_fields(event) for event in events]), ring)
        if count > most:
            raise SimulationError(f"{count} descriptors do not fit {most}: give fewer frames")
        names = _DESCRIPTOR.names or ()
        rows = (dict(zip(names, row, strict=True)) for row in ring[:count].tolist())
        return [Descriptor(**row | {"last": bool(row["last"])}) for row in rows]

    def rates(self, events: Iterable[FrameEvent], repeats: int) -> list[float]:
        """Descriptors per second of CPU time, of `repeats` runs over the same frames, in rising order.

        A run before is not counted.
        Descriptors go round in memory of RING of them: in the caches, and read by nobody.
        """
        frames, ring = _array(_FRAME, [_fields(event) for event in events]), np.zeros(RING, _DESCRIPTOR)
        self._place(frames, ring)
        found = []
        for _ in range(repeats):
            start = time.thread_time()
            count = self._place(frames, ring)
            found.append(count / (time.thread_time() - start))
        return sorted(found)


def _fields(record: Flow | Destination | FrameEvent) -> dict[str, Any]:
    return {field.name: getattr(record, field.name) for field in fields(record)}


def _kind(flow: Flow) -> dict[str, int]:
    return {"by_kind": flow.kind is not None, "kind": flow.kind or 0}


def _array(dtype: np.dtype[Any], records: list[dict[str, Any]]) -> NDArray[np.void]:
    names = dtype.names or ()
    return np.array([tuple(record[name] for name in names) for record in records], dtype)


@cache
def _compiled(options: tuple[str, ...]) -> Any:
    source = gateware_root() / "sim" / "software" / "placement.c"
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder, "placement.so")
        command = ["g++", "-x", "c", "-std=c11", *options, "-shared", "-fPIC", "-o", str(library), str(source)]
        result = subprocess.run(command, env=verilator_environment(), capture_output=True, text=True, check=False)
        if result.returncode:
            raise SimulationError(f"g++ could not compile {source}: {result.stderr.strip()}")
        function = ctypes.CDLL(str(library)).placement_run
    function.restype = ctypes.c_uint64
    pointer, number = ctypes.c_void_p, ctypes.c_uint64
    function.argtypes = [pointer, number, pointer, pointer, number, pointer, number]
    return function
