"""The QP of a session: a responder, brought to the state RTR and no further, so that it cannot send requests.

InfiniBand vol. 1, 10.3.1 (states) and 11.2.5.2 (what each transition needs); ibv_modify_qp(3).
"""

import errno
from dataclasses import dataclass
from ipaddress import IPv6Address
from typing import Any

from framelane.models.roce_tx import wire
from framelane.receiver.transport.verbs.gid import Gid
from framelane.receiver.transport.verbs.library import Pyverbs
from framelane.receiver.transport.verbs.region import Region
from framelane.session.session_plan import SessionPlan

_HOP_LIMIT = 64
_MIN_RNR_TIMER = 8
"""0.16 ms: how long a requester of RC waits after an RNR NAK (vol. 1, table 46)."""
_BATCHES = 8
"""The receive queue is filled up by this part of it: it always holds at least 7 of 8."""


@dataclass(frozen=True, slots=True)
class Receives:
    """How many messages WITH_IMM may come before the program has looked: each takes a receive request.

    A source with credit sends one trailer a slot. What comes to an empty queue is not even written (vol. 1, 9.7.7.2.4).
    """

    depth: int
    batch: int

    @classmethod
    def of(cls, plan: SessionPlan, wanted: int | None, most: int) -> "Receives":
        """Twice the trailers of a full ring and at least 512, or as many as are `wanted`; at most what the NIC has."""
        depth = min(wanted or max(512, 2 * plan.n_slots * plan.sources), most)
        return cls(depth, max(1, depth // _BATCHES))


class QueuePair:
    """A QP of UC or RC that takes the packets of `plan.source`, the first with PSN `psn` (RC), into `region`.

    TransportError, with the reason, where it cannot be had.
    """

    def __init__(
        self,
        library: Pyverbs,
        pd: Any,
        cq: Any,
        plan: SessionPlan,
        gid: Gid,
        psn: int,
        receives: Receives,
        region: Region,
    ) -> None:
        self._library, self._gid = library, gid
        enums, qp = library.enums, library.qp
        kind = enums.IBV_QPT_RC if plan.service == "RC" else enums.IBV_QPT_UC
        cap = qp.QPCap(max_send_wr=1, max_recv_wr=receives.depth, max_send_sge=1, max_recv_sge=1)
        with library.explaining(f"make a QP of {plan.service} on {gid.device}"):
            self._qp = qp.QP(pd, qp.QPInitAttr(qp_type=kind, scq=cq, rcq=cq, cap=cap))
        self.number = int(self._qp.qp_num)
        try:
            with library.explaining(f"open the QP to {plan.source.ip}", _advice(gid, plan)):
                self._qp.to_rtr(self._attributes(plan, psn))
            self._chain, self._batch = _chain(library, receives.batch, region), receives.batch
            self._used = 0
            for _ in range(receives.depth // receives.batch):
                self._post()
        except BaseException:
            self._qp.close()
            raise

    def used(self, receives: int) -> None:
        """So many receive requests were taken: fill the queue up when a batch is due. TransportError if that fails."""
        self._used += receives
        while self._used >= self._batch:
            self._used -= self._batch
            self._post()

    @property
    def alive(self) -> bool:
        """Whether it still takes packets."""
        return self.state == "RTR"

    @property
    def state(self) -> str:
        """Its state, by the specification's name."""
        enums = self._library.enums
        with self._library.explaining(f"ask {self._gid.device} for the QP's state"):
            attributes, _ = self._qp.query(enums.IBV_QP_STATE)
        names = ("RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR")
        return next((n for n in names if getattr(enums, f"IBV_QPS_{n}") == attributes.qp_state), "unknown")

    def close(self) -> None:
        """Nothing is received any more. May be called twice."""
        self._qp.close()

    def _post(self) -> None:
        with self._library.explaining(f"fill the receive queue of {self._gid.device}"):
            self._qp.post_recv(self._chain[0])

    def _attributes(self, plan: SessionPlan, psn: int) -> Any:
        addr, enums = self._library.addr, self._library.enums
        attributes = self._library.qp.QPAttr(port_num=self._gid.port)
        attributes.qp_access_flags = enums.IBV_ACCESS_REMOTE_WRITE
        attributes.dest_qp_num = plan.source_qpn
        attributes.rq_psn = psn
        attributes.path_mtu = 1 + wire.MTUS.index(plan.mtu)  # IBV_MTU_256 is 1
        attributes.max_dest_rd_atomic = 1
        attributes.min_rnr_timer = _MIN_RNR_TIMER
        remote = addr.GID(IPv6Address(f"::ffff:{plan.source.ip}").exploded)
        route = addr.GlobalRoute(dgid=remote, sgid_index=self._gid.index, hop_limit=_HOP_LIMIT)
        attributes.ah_attr = addr.AHAttr(gr=route, is_global=1, port_num=self._gid.port)
        return attributes


def _chain(library: Pyverbs, length: int, region: Region) -> list[Any]:
    """Receive requests that follow each other, made once: posting the first posts all.

    An RDMA WRITE needs no buffer of the request; pyverbs wants one. Of 0 bytes, it also takes nothing from a SEND.
    """
    buffer = library.wr.SGE(region.base, 0, region.lkey)
    chain: list[Any] = []
    for _ in range(length):
        chain.insert(0, library.wr.RecvWR(num_sge=1, sg=[buffer], next_wr=chain[0] if chain else None))
    return chain


def _advice(gid: Gid, plan: SessionPlan) -> dict[int, str]:
    neighbour = f"`ip neigh replace {plan.source.ip} lladdr {plan.source.mac} dev {gid.interface} nud permanent`"
    route = f"there is no way to {plan.source.ip}: give {gid.interface} an address of its network, or a route"
    return {
        errno.ETIMEDOUT: f"the kernel does not know the source's MAC address: {neighbour}",
        errno.EHOSTUNREACH: f"the kernel does not know the source's MAC address: {neighbour}",
        errno.ENETUNREACH: route,
        errno.EINVAL: "the device refuses one of path MTU, GID or service",
    }
