"""The Verilated transmitter as a board: `hw/rtl/tx.sv` compiled by Verilator and driven from Python, no hardware."""

import ctypes
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from framelane.driver import ports
from framelane.driver.library import Design
from framelane.driver.simulation import Simulation, qp_writes, split, stall_share, words
from framelane.models.bd_gen import FrameEvent
from framelane.models.errors import SimulationError
from framelane.models.slots import FREE_RUNNING
from framelane.models.tx import TxConfig


@dataclass(frozen=True, slots=True)
class TxCounters:
    """The transmitter's counters since its reset; `packets` counts those that left, trailers included.

    From `bad_qp` to `too_long`: messages that ended with each error (see `framelane.models.roce_segment.Status`).
    """

    frames_sent: int
    frames_dropped: int
    frames_refused: int
    packets: int
    bad_qp: int
    bad_length: int
    too_short: int
    too_long: int
    read_errors: int

    @property
    def messages_failed(self) -> int:
        """Messages that ended with an error."""
        return self.bad_qp + self.bad_length + self.too_short + self.too_long


_U8, _U32, _U64, _POINTER = ctypes.c_uint8, ctypes.c_uint32, ctypes.c_uint64, ctypes.c_void_p

DESIGN = Design(
    "tx",
    "tx_board",
    ("board.cpp", "tx_library.cpp"),
    {
        "tx_select": (None, []),
        "tx_reset": (None, [_U64, _U32, _POINTER]),
        "tx_write_qp": (None, [_POINTER]),
        "tx_set_window_end": (None, [_U64]),
        "tx_offer": (None, [_POINTER]),
        "tx_run": (ctypes.c_bool, [_U64]),
        "tx_counters": (None, [_POINTER]),
        "board_configure": (None, [_U32, _U8, _U8, _U64]),
        "board_write": (None, [_U64, _POINTER, _U64]),
        "board_packet_count": (_U64, []),
        "board_packet_bytes": (_U64, []),
        "board_take": (None, [_POINTER, _POINTER]),
        "board_last_activity": (_U64, []),
        "board_cycle": (_U64, []),
    },
)


class TxSimulator(Simulation):
    """One simulated transmitter with its frame memory, from reset on. Not for use by several threads at once.

    `latency` of the memory in cycles; `memory_stall` and `sink_stall` are the shares of cycles (0..1) in which each
    side pauses, drawn with `seed`.
    """

    def __init__(
        self,
        config: TxConfig,
        width: int = 512,
        *,
        latency: int = 0,
        memory_stall: float = 0.0,
        sink_stall: float = 0.0,
        seed: int = 1,
    ) -> None:
        stalls = stall_share(memory_stall), stall_share(sink_stall)
        writes = qp_writes(config.qps)
        super().__init__(DESIGN, width)
        self._patience = 100_000 + 2 * latency
        self._window_end = FREE_RUNNING
        self.cycles = 0
        """Clock cycles from the first frame's offer to the last beat, summed over the runs."""
        self._call("board_configure", latency, *stalls, seed)
        self._call("tx_reset", config.local.mac, config.local.ip, words(ports.flow_t(config.flow), ports.FLOW_T.width))
        for write in writes:
            self._call("tx_write_qp", write)

    def _call(self, function: str, *arguments: Any) -> Any:
        super()._call("tx_select")
        return super()._call(function, *arguments)

    def write_memory(self, address: int, data: NDArray[Any] | bytes) -> None:
        """Put `data` (any dtype, C order, little endian) at `address` of the frame memory, which grows as needed."""
        array = np.ascontiguousarray(np.frombuffer(data, np.uint8) if isinstance(data, bytes) else data)
        self._call("board_write", address, array.ctypes.data, array.nbytes)

    @property
    def window_end(self) -> int:
        """The credit: a frame is sent only if its number is less."""
        return self._window_end

    @window_end.setter
    def window_end(self, value: int) -> None:
        self._call("tx_set_window_end", value)
        self._window_end = value

    def offer(self, event: FrameEvent) -> None:
        """Queue a frame that lies in the frame memory."""
        self._call("tx_offer", words(ports.frame_t(event), ports.FRAME_T.width))

    def run(self) -> list[bytes]:
        """Run until all offered frames are sent or dropped; the packets that left, as Ethernet frames without FCS.

        Raises SimulationError where work is left and nothing moves any more.
        """
        start = self._call("board_cycle")
        if not self._call("tx_run", self._patience):
            raise SimulationError(
                f"the transmitter is stuck: nothing moved for {self._patience} cycles, {self.counters()}"
            )
        self.cycles += self._call("board_last_activity") - start
        lengths = np.empty(self._call("board_packet_count"), np.uint32)
        data = np.empty(self._call("board_packet_bytes"), np.uint8)
        self._call("board_take", data.ctypes.data, lengths.ctypes.data)
        return split(data, lengths)

    def counters(self) -> TxCounters:
        """Read the counters."""
        values = (ctypes.c_uint64 * len(fields(TxCounters)))()
        self._call("tx_counters", ctypes.addressof(values))
        return TxCounters(*values)
