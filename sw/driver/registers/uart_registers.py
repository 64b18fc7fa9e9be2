"""A board on a serial line: its registers by lines of text (docs/integrating/uart_registers.md)."""

import os
import re
import select
import termios
import time
import tty

from framelane.base.errors import BoardError, ConfigError, FramelaneError
from framelane.driver.registers.registers import MAP_BYTES, check_access

_TRIES = 3
_ANSWER_S = 1.0
"""Within this time a line is answered: at 115,200 baud that takes 3 ms."""
_QUIET_S = 0.05
_MOST = 256
_ANSWER = re.compile(rb"=([0-9a-f]{16}|[0-9a-f]{8})|!([0-9a-f])|\?")


class UartRegisters:
    """The registers of the board at the serial port `device`, 115,200 baud, 8N1; see `Registers`.

    The line is not protected: a bit that is wrong on the way to the board is written. BoardError where it does not
    answer, or is not a board.
    """

    def __init__(self, device: str) -> None:
        self._name = device
        try:
            self._file = os.open(device, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            raise BoardError(f"no board at {device}: {error.strerror}") from error
        try:
            self._set_up()
            self._ask(b"")  # ends what somebody has begun
            self._forget()
        except termios.error as error:
            os.close(self._file)
            raise BoardError(f"{device} is not a serial port: {error.args[-1]}") from error

    def read(self, offset: int) -> int:
        """See `Registers`."""
        self._check_open()
        check_access(offset, MAP_BYTES)
        return self._access(b"r%04x" % offset, f"read offset {offset:#x}")

    def write(self, offset: int, value: int) -> None:
        """See `Registers`."""
        self._check_open()
        check_access(offset, MAP_BYTES, value)
        done = self._access(b"w%04x%08x" % (offset, value), f"write offset {offset:#x}")
        if done != value:
            raise BoardError(
                f"the board at {self._name} has written {done:#x} to offset {offset:#x}, not {value:#x}: there is "
                "noise on the line; write it again"
            )

    @property
    def token(self) -> int:
        """The token of the board's registers over UDP, 64 bits: it stays the same until the board is reset."""
        self._check_open()
        return self._access(b"t", "show its token", digits=16)

    def close(self) -> None:
        """See `Registers`."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _check_open(self) -> None:
        if self._file < 0:
            raise FramelaneError("the board is closed")

    def _set_up(self) -> None:
        tty.setraw(self._file, termios.TCSANOW)
        settings = termios.tcgetattr(self._file)
        settings[2] = settings[2] & ~(termios.CSTOPB | termios.PARENB | termios.CRTSCTS) | termios.CLOCAL
        settings[4] = settings[5] = termios.B115200
        termios.tcsetattr(self._file, termios.TCSANOW, settings)

    def _access(self, line: bytes, what: str, digits: int = 8) -> int:
        """The number that a line is answered with. It is said again where the board has not heard it right.

        A line without an answer is said again where it reads: a write may have been done.
        """
        for _ in range(_TRIES):
            answer = self._ask(line)
            if answer is None and line.startswith(b"w"):
                break
            match = _ANSWER.fullmatch(answer or b"")
            if match and match[2]:
                raise BoardError(
                    f"the board at {self._name} cannot {what}: its bus says {int(match[2], 16)} (2: an error, as "
                    "behind a reset; 3: nothing there)"
                )
            if match and match[1] and len(match[1]) == digits:
                return int(match[1], 16)
            self._forget()
        raise BoardError(
            f"the board at {self._name} does not {what}: it gives no answer, or not one of a board. Is it on, are both "
            "lines connected, each to the other's, and is the port free?"
        )

    def _ask(self, line: bytes) -> bytes | None:
        """The line that comes back, without its end; None where none does. An empty one is not answered."""
        deadline = time.monotonic() + (_ANSWER_S if line else _QUIET_S)
        heard = b""
        try:
            os.write(self._file, line + b"\n")
            while (left := deadline - time.monotonic()) > 0:
                if select.select([self._file], [], [], left)[0]:
                    heard += os.read(self._file, _MOST)
                    if heard.endswith(b"\n"):
                        return heard[:-1]
        except OSError as error:
            raise BoardError(f"the board at {self._name} cannot be reached: {error.strerror}") from error
        return None

    def _forget(self) -> None:
        """Let go of what is still on its way."""
        self._ask(b"")
        termios.tcflush(self._file, termios.TCIFLUSH)


def open_uart(device: str) -> UartRegisters:
    """The board at the serial port of that name, as /dev/ttyUSB0. ConfigError for an empty one."""
    if not device:
        raise ConfigError("'uart:' names no serial port: give one, as uart:/dev/ttyUSB0")
    return UartRegisters(device)
