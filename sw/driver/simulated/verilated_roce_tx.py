"""The packetizer alone, `hw/roce_tx/roce_tx.sv` by Verilator: messages and payload in, packets and cycles out."""

import ctypes
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from framelane.base.errors import InputError, SimulationError
from framelane.driver.simulated import ports
from framelane.driver.simulated.library import Design
from framelane.driver.simulated.simulation import Simulation, qp_writes, split, stall_share, words
from framelane.models.roce_tx import roce_segment, wire
from framelane.models.roce_tx.roce_qp import QpContext
from framelane.models.roce_tx.roce_segment import Message, Status

_U8, _U32, _U64, _POINTER = ctypes.c_uint8, ctypes.c_uint32, ctypes.c_uint64, ctypes.c_void_p

DESIGN = Design(
    "roce_tx",
    "roce_tx_board",
    ("roce_tx_library.cpp",),
    {
        "roce_tx_reset": (None, [_U64, _U32]),
        "roce_tx_set_stalls": (None, [_U8, _U8, _U8, _U64]),
        "roce_tx_write_qp": (None, [_POINTER]),
        "roce_tx_send": (None, [_POINTER, _U64, _U32, _POINTER, _U64]),
        "roce_tx_run": (ctypes.c_bool, [_U64]),
        "roce_tx_sizes": (None, [_POINTER]),
        "roce_tx_take": (None, [_POINTER] * 4),
    },
)

PATIENCE = 1_000_000
"""Cycles without a beat after which the packetizer counts as stuck; a QP's rate limit must not ask for more."""

CYCLES = np.dtype([(name, np.uint64) for name in ("message", "payload", "first", "last")])
"""A packet, in clock cycles since the simulator was made: when its message was accepted, when the first beat of
its own payload was, and when its first and its last beat left."""


@dataclass(frozen=True, slots=True)
class Traffic:
    """What left the packetizer in one run.

    `packets` are Ethernet frames without FCS, `cycles` an array of CYCLES with one entry each, `statuses` the status
    and the QP index of each message.

    `bubbles` are the cycles between the first beat and the last in which the sink was ready and no beat came. Each
    needs its own pause of a source before it: a cycle in which that had something and offered nothing. While both
    sources offer what is not taken, nothing is lacking: all but 8 pauses (the pipeline's cycles) are then forgotten.
    `unexplained_bubbles` had no pause. Neither a rate limit nor a message that is not served whole explains a bubble.
    """

    packets: list[bytes]
    cycles: NDArray[np.void]
    statuses: list[tuple[Status, int]]
    bubbles: int
    unexplained_bubbles: int


@dataclass(frozen=True, slots=True)
class Stalls:
    """Shares of cycles, 0 to less than 1, in which the source of messages, that of payload, and the sink pause."""

    message: float = 0.0
    payload: float = 0.0
    sink: float = 0.0


class RoceTxSimulator(Simulation):
    """One simulated packetizer with its QP table, from reset on; `stalls` are drawn with `seed`.

    Not for use by several threads at once.
    """

    def __init__(
        self,
        local: wire.Endpoint,
        qps: tuple[QpContext, ...],
        width: int = 512,
        stalls: Stalls = Stalls(),
        seed: int = 1,
    ) -> None:
        shares = [stall_share(share) for share in (stalls.message, stalls.payload, stalls.sink)]
        writes = qp_writes(qps)
        super().__init__(DESIGN, width)
        self._qps = qps
        self._call("roce_tx_reset", local.mac, local.ip)
        for write in writes:
            self._call("roce_tx_write_qp", write)
        self._call("roce_tx_set_stalls", *shares, seed)

    def send(self, message: Message, payload: bytes) -> None:
        """Queue a message and its packet on the payload stream, of any length but 0.

        A message of length 0 has none; InputError where it does, or another has none: the streams would part.
        """
        if bool(message.length) != bool(payload):
            raise InputError(
                f"a message of {message.length} bytes cannot have {len(payload)} bytes on the payload stream"
            )
        served = roce_segment.status(message, self._qps) is Status.OK
        mtu = self._qps[message.qp].mtu if served else 0
        bits = words(ports.message_t(message), ports.MESSAGE_T.width)
        self._call("roce_tx_send", bits, message.length, mtu, payload, len(payload))

    def run(self) -> Traffic:
        """Run until all that was sent is out. SimulationError where work is left and nothing moves any more."""
        if not self._call("roce_tx_run", PATIENCE):
            raise SimulationError(f"the packetizer is stuck: nothing moved for {PATIENCE} cycles")
        sizes = np.empty(5, np.uint64)
        self._call("roce_tx_sizes", sizes.ctypes.data)
        n_packets, n_bytes, n_statuses, bubbles, unexplained = sizes.tolist()
        data, lengths = np.empty(n_bytes, np.uint8), np.empty(n_packets, np.uint32)
        cycles, statuses = np.empty(n_packets, CYCLES), np.empty((n_statuses, 2), np.uint8)
        self._call("roce_tx_take", *(array.ctypes.data for array in (data, lengths, cycles, statuses)))
        ended = [(Status(status), qp) for status, qp in statuses.tolist()]
        return Traffic(split(data, lengths), cycles, ended, bubbles, unexplained)
