"""The seam between the wire and the ring: what places RDMA WRITEs in the ring's memory and tells when a frame ends."""

import collections
from dataclasses import dataclass, field
from typing import Protocol, Self


@dataclass(frozen=True, slots=True)
class Completion:
    """A message WITH_IMM has ended: its immediate. On UC it proves nothing about the messages before.

    An `empty` message has no bytes: it needs no rkey, so that it proves nothing at all.
    """

    imm: int
    empty: bool = False


@dataclass(slots=True)
class Counters:
    """What a transport has seen. A transport that leaves the packets to a NIC knows completions only.

    `packets` came in; `placed` of them were written, with `payload_bytes`; the others are in `refused`, by one word
    (see `refusals`), with the first packet's sentence in `examples`. `skipped` PSNs were jumped over and `behind`
    packets came with a PSN that was passed before (late or twice). `queue_drops` were lost because the queue of the
    socket was full.
    """

    packets: int = 0
    placed: int = 0
    payload_bytes: int = 0
    completions: int = 0
    skipped: int = 0
    behind: int = 0
    queue_drops: int = 0
    refused: collections.Counter[str] = field(default_factory=collections.Counter)
    examples: dict[str, str] = field(default_factory=dict)

    @property
    def lost(self) -> int:
        """Estimate of the packets lost on the way, from the PSNs: exact unless some came twice."""
        return max(0, self.skipped - self.behind)


class Transport(Protocol):
    """One session on one wire. It is open once it is made, with the ring's memory, and closed by `close` or `with`."""

    refuses_late: bool
    """Nothing is placed from before the last trailer of a single source; a NIC places whatever comes."""

    @property
    def ended(self) -> bool:
        """Nothing more can come: the end of a capture. A live wire never ends."""

    @property
    def counters(self) -> Counters:
        """A snapshot of the counters."""

    def poll(self, timeout_s: float) -> list[Completion]:
        """Wait at most `timeout_s` seconds for something to come; place it, and return the completions in their order.

        A transport that is not asynchronous stops at the first, so that no slot is written while its frame is read.
        TransportError when the wire can no longer be used.
        """

    def close(self) -> None:
        """Stop writing to the memory, and free the wire. May be called twice."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *error: object) -> None: ...
