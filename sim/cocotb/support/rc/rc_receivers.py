"""Receivers of RC, one on each of some queue pairs, behind one network; the registers of these queue pairs."""

from collections.abc import Sequence

from axi_lite import AxiLite
from framelane.models.placement.flow import Destination
from framelane.models.rc.lossy_network import LinkImpairments
from framelane.models.rc.rc_protocol import RcLimits, RcReason, RcState
from framelane.models.rc.rc_remote import RcRemote
from framelane.models.rc.rc_responder import Manner, RcResponder, Region
from framelane.models.registers import registers
from framelane.models.roce_tx.roce_qp import QpContext
from tx_registers import MAP


class RcReceivers:
    """Receiver k has the memory of destination k, and the queue pair that this one names. Part of a bench."""

    registers: AxiLite

    def __init__(
        self,
        qps: Sequence[QpContext],
        rings: Sequence[Destination],
        impairments: LinkImpairments,
        manners: Sequence[Manner],
    ) -> None:
        """`qps` is the whole table of them; there is a manner for each of the `rings`."""
        self.qps, self.rings, self.manners = qps, rings, manners
        self.remote = RcRemote({}, impairments, 7)
        self.memories = [bytearray(ring.n_slots * ring.slot_bytes) for ring in rings]
        for k, ring in enumerate(rings):
            self.receiver(k, qps[ring.qp].psn)

    def number(self, k: int) -> int:
        """The receiver's own number of its queue pair, which packets for it name."""
        return self.qps[self.rings[k].qp].dest_qpn

    def receiver(self, k: int, psn: int) -> None:
        """A new receiver, in the memory of the one before."""
        ring = self.rings[k]
        qp = self.qps[ring.qp]
        region = Region(ring.base, qp.rkey, self.memories[k])
        new = RcResponder(psn, qp.mtu, region, qp=ring.qp, manner=self.manners[k])
        if qp.dest_qpn in self.remote.receivers:
            old = self.of(k)
            new.writes, new.immediates = old.writes, old.immediates
        self.remote.receivers[qp.dest_qpn] = new

    def of(self, k: int) -> RcResponder:
        """The receiver of a destination."""
        return self.remote.receivers[self.number(k)]

    async def put_register(self, name: str, value: int, index: int = 0) -> None:
        """Write a register of one word."""
        await self.registers.write(MAP[name].offset_of(index), value)

    async def get_register(self, name: str, index: int = 0) -> int:
        """Read a register of one word."""
        return await self.registers.read(MAP[name].offset_of(index))

    async def state(self, k: int) -> tuple[RcState, RcReason]:
        """What the queue pair of a receiver does; the reason counts in error."""
        state = await self.get_register("qp[].rc_state", self.rings[k].qp)
        return RcState(state & 3), RcReason(state >> 4)

    async def rest(self) -> None:
        """Some cycles between two looks at a state."""

    async def begin(self, k: int, psn: int) -> None:
        """Start a queue pair: it settles then."""
        await self.put_register("rc_start", psn | self.rings[k].qp << 24)
        await self.put_register("rc_command", 1)
        while status := await self.get_register("rc_status"):
            assert not status & 2, "refused"

    async def arm(self, k: int, psn: int) -> None:
        """Start a queue pair, and let it settle."""
        await self.begin(k, psn)
        while (await self.state(k))[0] is not RcState.RUN:
            await self.rest()

    async def arm_all(self, limits: RcLimits) -> None:
        """Start all queue pairs, as their entries in the table say."""
        for k, ring in enumerate(self.rings):
            await self.put_register("qp[].limits", registers.limits_word(limits), ring.qp)
            await self.begin(k, self.qps[ring.qp].psn)
        for k in range(len(self.rings)):
            while (await self.state(k))[0] is not RcState.RUN:
                await self.rest()
