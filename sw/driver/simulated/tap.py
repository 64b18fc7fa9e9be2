"""A tap device: an Ethernet interface of Linux whose other end is this process (Linux, networking/tuntap)."""

import errno
import fcntl
import os
import select
import struct
from pathlib import Path
from types import TracebackType
from typing import Self

from framelane.base.errors import TransportError

_DEVICE = Path("/dev/net/tun")
_TUNSETIFF = 0x400454CA
_IFF_TAP, _IFF_NO_PI = 0x0002, 0x1000
_FRAME_BYTES_MAX = 1 << 16


class Tap:
    """The interface `name`, made here and gone when this is closed; it is down until somebody sets it up.

    Frames are without FCS. TransportError where none can be made: root can, also of a user namespace of one's own.
    """

    def __init__(self, name: str = "tap0") -> None:
        self.name = name
        request = struct.pack("16sH22x", name.encode(), _IFF_TAP | _IFF_NO_PI)
        try:
            self._file = os.open(_DEVICE, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            advice = "`modprobe tun` as root" if error.errno == errno.ENOENT else "run as root"
            raise TransportError(f"no tap device can be made: {_DEVICE}: {error.strerror}: {advice}") from error
        try:
            fcntl.ioctl(self._file, _TUNSETIFF, request)
        except OSError as error:
            os.close(self._file)
            busy = f"another process has it: end that, or `ip link delete {name}`"
            advice = busy if error.errno == errno.EBUSY else "run as root"
            raise TransportError(f"no tap device {name} can be made: {error.strerror}: {advice}") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Give the interface up."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def wait(self, timeout_s: float) -> bool:
        """Whether a frame is there, within that time."""
        return bool(select.select([self._file], [], [], timeout_s)[0])

    def receive(self) -> bytes | None:
        """A frame that Linux has sent; None where there is none."""
        try:
            return os.read(self._file, _FRAME_BYTES_MAX)
        except BlockingIOError:
            return None

    def send(self, frame: bytes) -> bool:
        """Give Linux a frame; False while the interface is down."""
        try:
            os.write(self._file, frame)
        except OSError:
            return False
        return True
