"""Why a QP has died, in sentences: statuses of completions and asynchronous events.

InfiniBand vol. 1, 11.6.2 (completion return status) and 11.6.3 (asynchronous events); ibv_poll_cq(3),
ibv_get_async_event(3).
"""

from typing import Any

STATUSES = {
    "IBV_WC_LOC_LEN_ERR": ("length", "a message was longer than its place, or than its RETH has announced"),
    "IBV_WC_LOC_PROT_ERR": ("protection", "the region of the ring was no longer valid"),
    "IBV_WC_REM_ACCESS_ERR": ("access", "a packet had a wrong rkey, or an address outside the ring"),
    "IBV_WC_LOC_ACCESS_ERR": ("access", "a packet had a wrong rkey, or an address outside the ring"),
    "IBV_WC_REM_INV_REQ_ERR": ("request", "a packet was not RDMA WRITE, or broke into a message"),
    "IBV_WC_LOC_QP_OP_ERR": ("request", "the QP could not do what a packet asked"),
    "IBV_WC_WR_FLUSH_ERR": ("flushed", "the QP was closed by an error before"),
}
"""The word of a counter and what it means, by the status of a completion."""

EVENTS = {
    "IBV_EVENT_QP_FATAL": "the device met an error on the QP",
    "IBV_EVENT_QP_REQ_ERR": "a packet was not RDMA WRITE, or broke into a message",
    "IBV_EVENT_QP_ACCESS_ERR": "a packet had a wrong rkey, or an address outside the ring",
    "IBV_EVENT_CQ_ERR": "the completion queue has overflowed",
    "IBV_EVENT_DEVICE_FATAL": "the device has failed",
}
"""Asynchronous events after which nothing more is received."""

PASSING = {
    "IBV_EVENT_PORT_ERR": "the link went down",
    "IBV_EVENT_GID_CHANGE": "the addresses of the port have changed",
}
"""Those after which it may go on, and packets may have been lost."""


SILENT = {
    "RC": "the device does not say why; mostly a packet had a wrong rkey, or an address outside the ring (NAK 2)",
    "UC": "the device does not say why",
}
"""By the service: the specification ends a QP of RC at the first packet that it must not serve (9.7.4.1.5)."""


def status(enums: Any, code: int) -> tuple[str, str]:
    """The counter's word and the sentence for the status of a completion."""
    for name, known in STATUSES.items():
        if getattr(enums, name) == code:
            return known
    return f"status-{code}", f"a completion had status {code} (ibv_poll_cq(3))"


def event(enums: Any, code: int) -> tuple[str, bool]:
    """The sentence for an asynchronous event, and whether it is the end; an empty one for those that say nothing."""
    for names, fatal in ((EVENTS, True), (PASSING, False)):
        for name, sentence in names.items():
            if getattr(enums, name) == code:
                return sentence, fatal
    return "", False
