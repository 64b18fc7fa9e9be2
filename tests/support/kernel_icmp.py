"""ICMP of this machine's kernel: tests of a port where nobody listens wait for it."""

import contextlib
import os
import socket
from collections.abc import Iterator

import pytest


def refuses_on(processor: int) -> bool:
    """Whether the kernel tells a sender on that processor that nobody listens; this thread stays there.

    Linux has a socket for ICMP a processor. One that is full sends nothing more until the machine starts anew.
    """
    os.sched_setaffinity(0, {processor})
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("127.0.0.1", 9))
        try:
            probe.send(b"")
            probe.send(b"")
        except ConnectionRefusedError:
            return True
    return False


@contextlib.contextmanager
def processor_with_icmp() -> Iterator[None]:
    """Stay on a processor that sends it; skip the test where there is none."""
    usual = os.sched_getaffinity(0)
    try:
        if not any(refuses_on(processor) for processor in usual):
            pytest.skip("this kernel sends no ICMP on any processor")
        yield
    finally:
        os.sched_setaffinity(0, usual)
