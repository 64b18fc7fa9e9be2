"""The transport of a session on an RDMA device: the NIC places the packets, and tells when a trailer has come."""

import collections
import errno
import secrets
import socket
import time
from contextlib import ExitStack
from typing import Self

import numpy as np
from numpy.typing import NDArray

from framelane.base.errors import TransportError
from framelane.models.placement.slots import FREE_RUNNING
from framelane.models.roce_tx import wire
from framelane.receiver.transport.transport import Completion, Counters
from framelane.receiver.transport.verbs import faults, host_checks, library
from framelane.receiver.transport.verbs.completions import CompletionQueue, Waiting, with_event_file
from framelane.receiver.transport.verbs.gid import find_gid
from framelane.receiver.transport.verbs.gpu_memory import GpuArray, GpuRegion, gpu_bytes
from framelane.receiver.transport.verbs.nic_counters import NicCounters
from framelane.receiver.transport.verbs.queue_pair import QueuePair, Receives
from framelane.receiver.transport.verbs.region import register
from framelane.session.session import Session
from framelane.session.session_plan import SessionPlan

_CHECK_S = 0.5
"""A QP that says nothing is asked for its state so often."""
_OPENING = dict.fromkeys((-1, errno.ENOENT), "libibverbs does not know it: install the package ibverbs-providers")
"""What to do where a device cannot be opened, by errno; -1: the library gives none."""


class VerbsTransport:
    """A QP for `plan` on the RDMA device that has the receiver's address, with `memory` as its one region.

    The memory is on the host, or on a GPU: any array with `__cuda_array_interface__`.
    `session` is what the sources are to be told. `device` and `gid_index` choose where several have the address. The
    NIC has `receives` requests for trailers waiting, refilled in time. `psn` is the first of RC (None: a random one).
    TransportError, with what to do, where any piece is missing.
    """

    refuses_late = False
    ended = False

    def __init__(
        self,
        memory: NDArray[np.uint8] | GpuArray,
        plan: SessionPlan,
        *,
        device: str | None = None,
        gid_index: int | None = None,
        completions: Waiting = "events",
        receives: int | None = None,
        window_end: int = FREE_RUNNING,
        psn: int | None = None,
    ) -> None:
        size = plan.layout.ring_bytes
        given = memory.nbytes if isinstance(memory, np.ndarray) else gpu_bytes(memory)
        if given != size:
            raise TransportError(f"memory of {given} bytes is not the ring of {size}: give exactly that")
        self._gid = gid = find_gid(plan.receiver.ip, device, gid_index)
        host_checks.check_character_device(gid)
        host_checks.check_link(gid)
        host_checks.check_mac(gid, plan.receiver)
        host_checks.check_neighbour(gid, plan.source)
        if isinstance(memory, np.ndarray):
            host_checks.check_locked_memory(size)
        self._library = lib = library.load()
        self._closing = ExitStack()
        try:
            with lib.explaining(f"open {gid.device}", _OPENING):
                self._context, self._async_file = with_event_file(lambda: lib.device.Context(name=gid.device))
            self._closing.callback(self._context.close)
            self._check_limits(plan)
            receiving = Receives.of(plan, receives, self._most_receives())
            with lib.explaining(f"make a protection domain on {gid.device}"):
                pd = lib.pd.PD(self._context)
            self._closing.callback(pd.close)
            region = self._region = (
                register(lib, self._context, pd, memory)
                if isinstance(memory, np.ndarray)
                else GpuRegion(lib, pd, memory, size)
            )
            self._closing.callback(region.close)
            self._queue = CompletionQueue(lib, self._context, receiving.depth, completions)
            self._closing.callback(self._queue.close)
            psn = secrets.randbits(24) if psn is None else psn
            self.nic = NicCounters(gid)
            self._qp = QueuePair(lib, pd, self._queue.cq, plan, gid, psn, receiving, region)
            self._closing.callback(self._qp.close)
            self.session = Session.of(
                plan, qpn=self._qp.number, psn=psn, rkey=region.rkey, base=region.base, window_end=window_end
            )
        except BaseException:
            self._closing.close()
            raise
        self._counters = Counters()
        self._dead, self._closed = "", False
        self._checked = time.monotonic()

    @property
    def counters(self) -> Counters:
        """See `Transport`. Packets are counted by the NIC alone, see `nic`; `refused` are completions with an error."""
        now = self._counters
        return Counters(
            completions=now.completions, refused=collections.Counter(now.refused), examples=dict(now.examples)
        )

    def poll(self, timeout_s: float) -> list[Completion]:
        """See `Transport`. TransportError, with its reason, once the QP is dead and all that it has placed was told."""
        deadline = time.monotonic() + timeout_s
        if self._closed:
            raise TransportError(f"the transport on {self._gid.device} is closed: open another one")
        while True:
            found = self._take()
            if found:
                return found
            if self._dead:
                raise TransportError(self._dead)
            if time.monotonic() >= deadline:
                self._check_alive()
                return []
            if self._queue.wait(min(deadline, time.monotonic() + _CHECK_S), self._async_file):
                self._hear()
            self._check_alive()

    def close(self) -> None:
        """See `Transport`. The QP goes first, then the region: from then on nothing is written."""
        self._closed = True
        with self._library.explaining(f"close {self._gid.device}"):
            self._closing.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _take(self) -> list[Completion]:
        enums = self._library.enums
        found = []
        with self._library.explaining(f"look for completions of {self._gid.device}"):
            completions = self._queue.take()
        for each in completions:
            if each.status != enums.IBV_WC_SUCCESS:
                self._refuse(*faults.status(enums, each.status))
            elif each.opcode != enums.IBV_WC_RECV_RDMA_WITH_IMM:
                self._refuse("send", "somebody sends messages that are not RDMA WRITE: nothing of them was written")
            else:
                found.append(Completion(socket.ntohl(each.imm_data), empty=not each.byte_len))
        if found:
            self._region.flush()
        self._counters.completions += len(found)
        if completions and not self._dead:
            self._qp.used(len(completions))
        return found

    def _refuse(self, word: str, sentence: str) -> None:
        self._counters.refused[word] += 1
        self._counters.examples.setdefault(word, sentence)
        self._checked = 0.0

    def _hear(self) -> None:
        """Take one asynchronous event."""
        with self._library.explaining(f"hear {self._gid.device}"):
            event = self._context.get_async_event()
            sentence, fatal = faults.event(self._library.enums, event.event_type)
            event.ack()
        if fatal:
            self._die(sentence)
        elif sentence:
            self._refuse("link", sentence)

    def _check_alive(self) -> None:
        now = time.monotonic()
        if self._dead or now - self._checked < _CHECK_S:
            return
        self._checked = now
        if not self._qp.alive:
            reasons = [sentence for word, sentence in self._counters.examples.items() if word != "flushed"]
            self._die("; ".join(reasons) or faults.SILENT[self.session.service])

    def _die(self, reason: str) -> None:
        self._dead = (
            f"the QP {self._qp.number:#x} of {self._gid.device} receives no more (state {self._qp.state}): {reason}: "
            "correct the source, start this receiver again, and give the source its new session"
        )

    def _check_limits(self, plan: SessionPlan) -> None:
        """What only the open device tells."""
        with self._library.explaining(f"ask {self._gid.device} for its port"):
            active = int(self._context.query_port(self._gid.port).active_mtu)
        host_checks.check_mtu(self._gid, plan.mtu, wire.MTUS[active - 1])

    def _most_receives(self) -> int:
        """How many receive requests and completions the device has for a QP."""
        with self._library.explaining(f"ask {self._gid.device} for its limits"):
            limits = self._context.query_device()
        return min(int(limits.max_qp_wr), int(limits.max_cqe))
