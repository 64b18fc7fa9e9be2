"""The simulated PCIe endpoint: `pcie_engine` with placement and memory reader before it, by Verilator, a root complex behind it.

The root complex (`sim/dpi/root_complex.hpp`) writes into memory of this process, as a device does through an IOMMU.
"""

import ctypes
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from framelane.base.errors import BoardError, ConfigError, SimulationError
from framelane.driver.registers.registers import check_access
from framelane.driver.simulated import ports
from framelane.driver.simulated.library import Design
from framelane.driver.simulated.simulation import Simulation, stall_share, words
from framelane.driver.simulated.verilated_board import MAP_BYTES, POINTER, U8, U32, U64
from framelane.models.memory.frame_store import KINDS, FrameInfo
from framelane.models.pcie.tlp_split import MPS
from framelane.models.placement.bd_rows import Descriptor
from framelane.models.placement.flow import FrameEvent
from framelane.models.placement.slots import FREE_RUNNING, SLOT_ALIGN
from framelane.models.placement.trailer import Trailer
from framelane.models.tx import TxConfig

_BOOL = ctypes.c_bool
DESIGN = Design(
    "pcie",
    "pcie_board",
    ("board.cpp", "pcie_library.cpp"),
    {
        "pcie_select": (None, []),
        "pcie_reset": (None, []),
        "pcie_run": (_BOOL, [U64]),
        "pcie_step": (None, [U64]),
        "pcie_window": (None, [U64, U64, POINTER]),
        "pcie_unmap": (None, []),
        "pcie_mute": (None, [_BOOL]),
        "pcie_write": (_BOOL, [U32, U32]),
        "pcie_read": (_BOOL, [U32, POINTER]),
        "pcie_link": (None, [U8]),
        "pcie_write_flow": (None, [U8, POINTER]),
        "pcie_write_destination": (None, [U8, POINTER]),
        "pcie_offer": (None, [POINTER]),
        "pcie_give": (None, [POINTER, POINTER]),
        "pcie_counts": (None, [POINTER]),
        "pcie_frame_counts": (None, [POINTER]),
        "board_configure": (None, [U32, U8, U8, U64]),
        "board_write": (None, [U64, POINTER, U64]),
        "board_last_activity": (U64, []),
        "board_cycle": (U64, []),
    },
)
WIDTHS = (128, 256, 512)
"""Bus widths of an engine, in bits."""
REGISTERS_AT = 0xC000
"""Where the registers of the engine lie in a board's map."""
_REGISTERS_BYTES = 0x80
_PATIENCE = 100_000
_PLACES = 4
"""Frames that its memory has at once."""
_COUNTS = ("tlps", "payload_bytes", "nullified", "malformed", "faults", "first_fault", "lost", "unanswered", "refused")
_DESTINATIONS_FIRST, _PER_DESTINATION = 64, 4
"""`tx_counters_pkg`: where the counters of destinations begin: sent, dropped, skipped, failed."""


@dataclass(frozen=True, slots=True)
class LinkCounts:
    """What the root complex has seen, and what the engine has said, since power-up.

    `tlps` memory writes with `payload_bytes` have arrived; those against the specification are `malformed`, to no
    page `faults`, the first at bus address `first_fault`; `nullified` had wrong bytes. Events were `lost` for want of
    room, fences `unanswered`, frames `refused` by the placement.
    """

    tlps: int
    payload_bytes: int
    nullified: int
    malformed: int
    faults: int
    first_fault: int
    lost: int
    unanswered: int
    refused: int


@dataclass(frozen=True, slots=True)
class FrameCounts:
    """Frames of one destination: sent, dropped for want of credit, never seen, sent with something missing."""

    sent: int
    dropped: int
    skipped: int
    failed: int


class PcieSimulator(Simulation):
    """One simulated endpoint from power-up on, with its registers (see `Registers`).

    Its link has Max_Payload_Size `mps`. `latency` of its frame memory in cycles; `memory_stall` and `link_stall` are
    the shares of cycles (0..1) in which memory and link pause, drawn with `seed`. The clock runs in an access, in `run`
    and in `step`. Not for use by several threads at once.
    """

    pause_s = 0.0

    def __init__(
        self,
        width: int = 512,
        *,
        mps: int = 256,
        latency: int = 0,
        memory_stall: float = 0.0,
        link_stall: float = 0.0,
        seed: int = 1,
    ) -> None:
        if width not in WIDTHS:
            raise ConfigError(f"a PCIe engine of {width} bits cannot be: choose one of {', '.join(map(str, WIDTHS))}")
        if mps not in MPS:
            raise ConfigError(f"Max_Payload_Size {mps} cannot be: choose one of {', '.join(map(str, MPS))}")
        stalls = stall_share(memory_stall), stall_share(link_stall)
        super().__init__(DESIGN, width)
        self._windows: list[NDArray[np.uint8]] = []
        self._frames = [0] * KINDS
        self._config: TxConfig | None = None
        self.cycles = 0
        """Clock cycles from the first frame's offer to the last beat, summed over the runs."""
        self._call("board_configure", latency, *stalls, seed)
        self._call("pcie_link", MPS.index(mps))
        self._call("pcie_reset")

    def _call(self, function: str, *arguments: Any) -> Any:
        super()._call("pcie_select")
        return super()._call(function, *arguments)

    def read(self, offset: int) -> int:
        """See `Registers`. What lies outside the engine's registers reads 0."""
        check_access(offset, MAP_BYTES)
        at, value = offset - REGISTERS_AT, ctypes.c_uint32()
        if 0 <= at < _REGISTERS_BYTES and not self._call("pcie_read", at, ctypes.addressof(value)):
            raise BoardError(f"the simulated endpoint does not answer a read of {offset:#x}")
        return value.value

    def write(self, offset: int, value: int) -> None:
        """See `Registers`."""
        check_access(offset, MAP_BYTES, value)
        at = offset - REGISTERS_AT
        if 0 <= at < _REGISTERS_BYTES and not self._call("pcie_write", at, value):
            raise BoardError(f"the simulated endpoint does not answer a write to {offset:#x}")

    def map(self, memory: NDArray[np.uint8], address: int) -> None:
        """Let the device write `memory` (uint8, C-contiguous) at bus address `address`, until `unmap`."""
        if not (memory.flags.c_contiguous and memory.flags.writeable):
            raise ConfigError("this memory cannot be mapped: it is read-only, or has gaps")
        self._windows.append(memory)
        self._call("pcie_window", address, memory.nbytes, memory.ctypes.data)

    def unmap(self) -> None:
        """Take all memory away from the device: what it writes from now on is lost, and counted as faults."""
        self._call("pcie_unmap")
        self._windows.clear()

    def mute(self, muted: bool = True) -> None:
        """From now on, whether no read is answered."""
        self._call("pcie_mute", muted)

    def close(self) -> None:
        """See `Simulation`."""
        if self._handle is not None:
            self.unmap()
        super().close()

    def configure(self, config: TxConfig, window_end: int = FREE_RUNNING) -> None:
        """Set flows and destinations, whose bases are offsets in the ring; credit up to `window_end`."""
        self._config = config
        for index, flow in enumerate(config.flows):
            self._call("pcie_write_flow", index, words(ports.flow_t(flow), ports.FLOW_T.width))
        for index in range(len(config.destinations)):
            self.publish_credit(index, window_end)

    def publish_credit(self, destination: int, window_end: int) -> None:
        """Let a destination have the frames below `window_end`."""
        if self._config is None:
            raise ConfigError("this endpoint has no destinations yet: configure it first")
        bits = ports.destination_t(self._config.destinations[destination], window_end)
        self._call("pcie_write_destination", destination, words(bits, ports.DESTINATION_T.width))

    def frame(self, info: FrameInfo, image: NDArray[np.uint16]) -> None:
        """Put a raw image, uint16 of any shape, into its memory, not where the three before lie, and queue it."""
        address = sum(self._frames) % _PLACES * -(-image.nbytes // SLOT_ALIGN) * SLOT_ALIGN
        self._store(address, image)
        before = self._frames[info.kind]
        self._frames[info.kind] += 1
        event = FrameEvent(info.number, info.timestamp_ns, info.bunch_id, address, info.kind, before)
        self._call("pcie_offer", words(ports.frame_t(event), ports.FRAME_T.width))

    def give(self, offset: int, payload: bytes, trailer: Trailer | None = None) -> None:
        """Write some bytes to the ring, and wait until they are there; `trailer`: they are one, and end a frame.

        Use either this or `frame` with one endpoint: frames are followed by counting their descriptors.
        """
        self._store(0, np.frombuffer(payload, np.uint8))
        descriptor = Descriptor(0, offset, len(payload), 0, 0, trailer is not None, 0)
        named = {name: int(getattr(descriptor, name)) for name in ports.BD_T.fields}
        ends = None
        if trailer:
            fields = {name: getattr(trailer, name) for name in ports.TRAILER_T.fields}
            ends = words(ports.TRAILER_T.pack(fields), ports.TRAILER_T.width)
        self._call("pcie_give", words(ports.BD_T.pack(named), ports.BD_T.width), ends)
        self.run()

    def run(self) -> None:
        """Run until all frames are sent or dropped, and their bytes have arrived.

        SimulationError where work is left and nothing moves, or a TLP was against the specification.
        """
        start = self._call("board_cycle")
        if not self._call("pcie_run", _PATIENCE):
            raise SimulationError(f"the endpoint is stuck: nothing moved for {_PATIENCE} cycles")
        self.cycles += max(0, self._call("board_last_activity") - start)
        if malformed := self.counts.malformed:
            raise SimulationError(f"{malformed} TLPs were against the specification: a fault of the gateware")

    def step(self, cycles: int) -> None:
        """Run for some clock cycles, whatever is under way."""
        self._call("pcie_step", cycles)

    @property
    def counts(self) -> LinkCounts:
        """What has arrived."""
        found = np.zeros(len(_COUNTS), np.uint64)
        self._call("pcie_counts", found.ctypes.data)
        return LinkCounts(**dict(zip(_COUNTS, found.tolist(), strict=True)))

    def frame_counts(self, destination: int) -> FrameCounts:
        """The frames of a destination since power-up."""
        found = np.zeros(256, np.uint64)
        self._call("pcie_frame_counts", found.ctypes.data)
        first = _DESTINATIONS_FIRST + _PER_DESTINATION * destination
        return FrameCounts(*found[first : first + _PER_DESTINATION].tolist())

    def _store(self, address: int, data: NDArray[Any]) -> None:
        array = np.ascontiguousarray(data)
        self._call("board_write", address, array.ctypes.data, array.nbytes)
