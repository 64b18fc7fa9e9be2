"""Where the sources of this process's tests send from: addresses and ports that no other process has."""

import itertools
import os

FIRST_PORT, PORTS = 61000, 4000
"""Above the ports that Linux gives to sockets which ask for none (ip(7), ip_local_port_range)."""
_number = itertools.count(os.getpid() * 97)


def own_address() -> str:
    """A loopback address of this process: tests run side by side."""
    return f"127.1.{os.getpid() >> 8 & 255}.{os.getpid() & 255}"


def own_port() -> int:
    """Another port with each call: a socket that a test has left open is in no other's way."""
    return FIRST_PORT + next(_number) % PORTS
