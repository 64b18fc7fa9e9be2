"""A network namespace of its own with a veth pair: traffic that no other program sees (network_namespaces(7))."""

import contextlib
import ctypes
import os
import shutil
import subprocess
import time
from collections.abc import Iterator

from framelane.base.errors import TransportError

_CLONE_NEWNET = 0x40000000
_PATIENCE_S = 10.0


@contextlib.contextmanager
def own_network(mtu: int = 9000) -> Iterator[tuple[str, str]]:
    """Move this thread, and what it starts from now on, to a new network: loopback, and the two ends of a veth pair.

    TransportError where it may not: root can, with the command `ip`.
    """
    if not shutil.which("ip"):
        raise TransportError("no network can be made without the command `ip`: install iproute2")
    library = ctypes.CDLL(None, use_errno=True)
    home = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    try:
        if library.unshare(_CLONE_NEWNET):
            raise TransportError(f"no network can be made: {os.strerror(ctypes.get_errno())}: run as root")
        try:
            _ip(f"link add veth0 mtu {mtu} type veth peer name veth1 mtu {mtu}")
            for name in ("lo", "veth0", "veth1"):
                _ip(f"link set {name} up")
            deadline = time.monotonic() + _PATIENCE_S
            while _ip("link show type veth").count("state UP") < 2 and time.monotonic() < deadline:
                time.sleep(0.01)  # until then packets are dropped
            yield "veth0", "veth1"
        finally:
            library.setns(home, _CLONE_NEWNET)
    finally:
        os.close(home)


def _ip(arguments: str) -> str:
    try:
        return subprocess.run(["ip", *arguments.split()], check=True, capture_output=True, text=True).stdout
    except subprocess.CalledProcessError as error:
        raise TransportError(f"`ip {arguments}`: {error.stderr.strip()}") from error
