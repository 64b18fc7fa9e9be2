"""RC through the simulated transmitter: frames as fast as their memory becomes free, to receivers behind a network."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from framelane.base.errors import SimulationError
from framelane.driver.board.board import Board
from framelane.driver.board.network import Network
from framelane.driver.simulated.verilated_rc import RC_DEPTH, RC_SLOTS, SimulatedRcBoard
from framelane.models.placement.flow import Destination, Flow, FrameEvent
from framelane.models.placement.slots import FREE_RUNNING
from framelane.models.rc.lossy_network import LinkImpairments
from framelane.models.rc.rc_protocol import RcLimits
from framelane.models.rc.rc_remote import RcRemote
from framelane.models.rc.rc_responder import Manner, RcResponder, Region
from framelane.models.roce_tx.roce_qp import AckPolicy, QpContext, Service
from framelane.models.roce_tx.wire import Endpoint
from framelane.models.tx import TxConfig

LOCAL, PEER = Endpoint(0x020000000001, 0x0A000001), Endpoint(0x020000000002, 0x0A000002)
CLOCK_HZ = 250_000_000
BUS = 512
MTU = 1024
DEPTH = RC_DEPTH
IMAGES = 16
"""Different frames; they are sent over and over again."""
SLOT = 1 << 16
TRAILER_AT = SLOT - 64
QPN = 0x100
BASE = 0x7F00_0000_0000
PATIENCE_S = 120.0
"""Patience of the driver, which waits in seconds for what takes cycles."""
BETWEEN = 200
"""Cycles from one access to the registers to the next: 1 us is a fast one over PCIe."""
LATENCY = 100
"""Cycles of the memory."""
PATIENCE = 4_000_000
"""Cycles without a frame's arrival after which the simulation has failed."""


@dataclass(frozen=True, slots=True)
class Traffic:
    """Frames of `rows` messages of `row_bytes` (even) each, and a trailer of one short packet."""

    row_bytes: int
    rows: int

    @property
    def image_bytes(self) -> int:
        """Bytes of a frame."""
        return self.row_bytes * self.rows

    @property
    def messages(self) -> tuple[int, ...]:
        """Packets of each message of a frame."""
        return (-(-self.row_bytes // MTU),) * self.rows + (1,)

    @property
    def in_flight(self) -> int:
        """Frames of which the descriptors fit the ring of a queue pair."""
        return DEPTH // len(self.messages)

    def configuration(self, service: Service = Service.RC, qps: int = 1, *, in_turn: bool = False) -> TxConfig:
        """All frames to each of so many queue pairs, up to 4; `in_turn`: each frame to one of them."""
        policy = AckPolicy.LAST if service is Service.RC else AckPolicy.NEVER
        contexts = [QpContext(PEER, QPN + k, 7 + k, mtu=MTU, service=service, ack_policy=policy) for k in range(qps)]
        ring = Destination(qp=0, base=BASE, slot_bytes=SLOT, n_slots=IMAGES, trailer_offset=TRAILER_AT)
        flow = Flow(
            source=0, first_destination=0, width=self.row_bytes // 2, height=self.rows, source_pitch=self.row_bytes,
            destination_pitch=self.row_bytes, max_length=self.row_bytes,
        )  # fmt: skip
        rings = [replace(ring, qp=k) for k in range(qps)]
        flows = [replace(flow, source=k, first_destination=k) for k in range(qps)]
        if in_turn:
            flows = [replace(flow, destinations=qps)]
        return TxConfig(LOCAL, tuple(contexts), tuple(rings), tuple(flows))


LONG = Traffic(4 * MTU, 7)
"""Messages of 4 full packets."""
SINGLE = Traffic(MTU, 15)
"""Messages of one full packet."""
SHORT = Traffic(32, 31)
"""Messages of 32 bytes: packets of 2 beats."""


class _Hastened:
    """The registers of a simulated board, whose clock goes on between two accesses as that of a real one does."""

    def __init__(self, board: SimulatedRcBoard) -> None:
        self._board = board

    def read(self, offset: int) -> int:
        self._board.step(BETWEEN)
        return self._board.read(offset)

    def write(self, offset: int, value: int) -> None:
        self._board.write(offset, value)

    def close(self) -> None:
        self._board.close()


class RcRun:
    """`qps` queue pairs, each to a receiver of its own behind one network, `delay` cycles away either way.

    Each gets all frames; `in_turn`: one after the other gets one. `credit`: of queue pairs that have a limit.
    `max_slots`: frames that the gateware can hold.
    """

    def __init__(
        self,
        limits: RcLimits,
        impairments: LinkImpairments,
        *,
        traffic: Traffic = LONG,
        qps: int = 1,
        manner: Manner = Manner.IBA,
        in_turn: bool = False,
        credit: Mapping[int, int] | None = None,
        max_slots: int = RC_SLOTS,
    ) -> None:
        self.traffic = traffic
        self.board = SimulatedRcBoard(BUS, clock_hz=CLOCK_HZ, max_slots=max_slots, latency=LATENCY)
        driver = Board(_Hastened(self.board), timeout_s=PATIENCE_S)
        config = traffic.configuration(qps=qps, in_turn=in_turn)
        driver.configure(config, None, None, Network(limits=(limits,) * qps))
        for k in range(qps):
            driver.publish_credit(k, (credit or {}).get(k, FREE_RUNNING))
        driver.arm()
        self.driver = driver
        self.images = np.random.default_rng(1).integers(0, 256, (IMAGES, traffic.image_bytes), np.uint8)
        self.board.write_memory(0, self.images)
        regions = [Region(BASE, 7 + k, bytearray(IMAGES * SLOT)) for k in range(qps)]
        self.memories = [region.memory for region in regions]
        self.receivers = [RcResponder(0, MTU, region, qp=k, manner=manner) for k, region in enumerate(regions)]
        self.remote = RcRemote({QPN + k: each for k, each in enumerate(self.receivers)}, impairments, seed=1)
        self.offered = 0

    def __enter__(self) -> "RcRun":
        return self

    def __exit__(self, *error: object) -> None:
        self.board.close()

    def step(self) -> None:
        """Go on to the next arrival anywhere, exact to the cycle."""
        remote, board = self.remote, self.board
        nearest = remote.next_arrival()
        delay = remote.there.impairments.delay
        cycles = delay if nearest is None else min(delay, nearest - board.cycle)
        board.step_until(max(1, cycles), 1 << 62)
        for stamp, packet in board.take_stamped():
            remote.send(stamp, (packet,))
        for frame in remote.due(board.cycle):
            board.receive(frame)

    def offer(self) -> None:
        """Offer the next frame."""
        self.offer_image(self.offered, self.offered % IMAGES)

    def offer_image(self, number: int, image: int) -> None:
        """Offer the frame with that number of the detector, as one of the images."""
        self.board.offer(FrameEvent(number, 0, 0, image * self.traffic.image_bytes))
        self.offered += 1

    def frames(self, qp: int = 0) -> int:
        """Frames that have arrived whole."""
        return len(self.receivers[qp].immediates)

    def placed(self) -> int:
        """Packets that have arrived in order, of all queue pairs."""
        return sum(receiver.counts["placed"] for receiver in self.receivers)

    def room(self) -> int:
        """Frames that may be offered while all queue pairs are well."""
        return self.traffic.in_flight - (self.offered - self.board.released)

    def until(self, done: Callable[[], bool], room: Callable[[], int]) -> int:
        """Offer frames as long as there is `room` for more, until `done`; how many cycles that took.

        SimulationError where nothing arrives for long.
        """
        start, last, seen = self.board.cycle, self.board.cycle, -1
        while not done():
            while room() > 0:
                self.offer()
            self.step()
            if self.placed() != seen:
                seen, last = self.placed(), self.board.cycle
            if self.board.cycle - last > PATIENCE:
                raise SimulationError(f"no packet has arrived in order for {PATIENCE} cycles, {seen} before")
        return self.board.cycle - start

    def check(self, qp: int = 0) -> None:
        """SimulationError where a receiver's memory does not hold the last frames that it has, or any byte of another.

        As slots are written over and over again, what is in a slot is the image of its number whichever frame it was.
        """
        memory = np.frombuffer(self.memories[qp], np.uint8).reshape(IMAGES, SLOT)[:, : self.traffic.image_bytes]
        whole = min(self.frames(qp), IMAGES)
        if not np.array_equal(memory[:whole], self.images[:whole]):
            raise SimulationError(f"the memory of receiver {qp} is not what was sent to it")
