"""A board behind a local socket: the simulated one that `framelane board serve` keeps."""

import errno
import os
import socket
import time
from pathlib import Path

from framelane.base.errors import BoardError, InputError
from framelane.driver.registers.registers import MAP_BYTES, check_access
from framelane.driver.registers.socket_lines import (
    CHUNK,
    DONE,
    GREETING,
    MAX_LINE,
    REFUSED,
    Interrupt,
    Read,
    Request,
    Write,
    WriteMemory,
)

_ANSWER_S = 30.0
"""Within this time every request is answered."""
_LOOK_S = 0.02
"""Between two questions of one who waits for the interrupt."""
_ADVICE = {
    errno.ENOENT: "there is none: start it by `framelane board serve --socket {0}`",
    errno.ECONNREFUSED: "the process that served it has gone: start it anew by `framelane board serve --socket {0}`",
    errno.EACCES: "it is another user's: only who has started it may use it",
    errno.ENOTSOCK: "it is not a socket: give the one that `framelane board serve` has made",
    errno.EAGAIN: "its process does not answer, though it is there: is it stopped?",
}


class SocketRegisters:
    """The registers of the board that is served at the socket `path` (see `Registers`), and its memory.

    BoardError where none is served there, or it does not answer.
    """

    patience_s = _ANSWER_S
    """How long a command may take: the clock of a simulated board is some thousand times slower than a real one."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._left = b""
        self._why = ""
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
        self._socket.settimeout(_ANSWER_S)
        try:
            self._socket.connect(os.fspath(path))
            greeting = self._line()
            if greeting != GREETING:
                raise BoardError(
                    f"what listens at {path} is not a board that this software knows: it says {greeting[:40]!r}, not "
                    f"{GREETING!r}"
                )
        except TimeoutError as error:
            self._socket.close()
            raise BoardError(
                f"the board at the socket {path} does not answer: it is still building its simulator, or is stopped"
            ) from error
        except OSError as error:
            self._socket.close()
            advice = _ADVICE.get(error.errno or 0, error.strerror or str(error)).format(path)
            raise BoardError(f"no board at the socket {path}: {advice}") from error
        except BaseException:
            self._socket.close()
            raise

    def read(self, offset: int) -> int:
        """See `Registers`."""
        self._check_open()
        check_access(offset, MAP_BYTES)
        return self._word(Read(offset))

    def _word(self, request: Read | Interrupt) -> int:
        answer = self._ask(request)
        try:
            return int(answer, 16)
        except ValueError:
            raise BoardError(f"the board at {self._path} has answered {answer[:40]!r}, which is not a word") from None

    def write(self, offset: int, value: int) -> None:
        """See `Registers`."""
        self._check_open()
        check_access(offset, MAP_BYTES, value)
        self._ask(Write(offset, value))

    def wait_interrupt(self, timeout_s: float) -> bool:
        """Wait until the board's interrupt is up, so long at most; whether it is. See `Interruptible`."""
        self._check_open()
        deadline = time.monotonic() + timeout_s
        while not (up := self._word(Interrupt())) and (left := deadline - time.monotonic()) > 0:
            time.sleep(min(_LOOK_S, left))
        return bool(up)

    def write_memory(self, address: int, data: bytes) -> None:
        """Put `data` at `address` of the board's memory. BoardError where it has no such address."""
        self._check_open()
        for start in range(0, len(data), CHUNK):
            self._ask(WriteMemory(address + start, data[start : start + CHUNK]))

    def close(self) -> None:
        """See `Registers`."""
        self._socket.close()

    def _check_open(self) -> None:
        if self._why:
            raise BoardError(self._why)
        if self._socket.fileno() < 0:
            raise BoardError(f"the registers at {self._path} are closed")

    def _ask(self, request: Request) -> str:
        try:
            self._socket.sendall(request.line().encode() + b"\n")
            answer = self._line()
        except TimeoutError as error:
            # An answer that comes late would be taken for the next one's.
            why = f"the board at {self._path} has not answered for {_ANSWER_S:g} s: is its process stopped?"
            raise self._over(why) from error
        except OSError as error:
            raise self._gone() from error
        if answer.startswith(REFUSED):
            raise BoardError(f"the board at {self._path} refuses: {answer.removeprefix(REFUSED)}")
        if not isinstance(request, Read | Interrupt) and answer != DONE:
            raise BoardError(f"the board at {self._path} has answered {answer[:40]!r}, not {DONE!r}")
        return answer

    def _line(self) -> str:
        """The next line. TimeoutError and OSError as of a socket, BoardError where the board has gone."""
        while b"\n" not in self._left:
            data = self._socket.recv(MAX_LINE)
            if not data:
                raise self._gone()
            self._left += data
            if len(self._left) > MAX_LINE:
                raise BoardError(f"what listens at {self._path} says more than a board does")
        line, _, self._left = self._left.partition(b"\n")
        return line.decode("ascii", "backslashreplace")

    def _gone(self) -> BoardError:
        return self._over(
            f"the board at {self._path} has gone: its `framelane board serve` was ended, and its state with it"
        )

    def _over(self, why: str) -> BoardError:
        """There is no board any more; whoever asks again is told the same."""
        self.close()
        self._why = why
        return BoardError(why)


def open_socket(path: str) -> SocketRegisters:
    """The board served at the socket `path`. InputError for a name that no socket can have."""
    if not 0 < len(os.fsencode(path)) <= MOST_PATH_BYTES or "\0" in path:
        raise InputError(f"{path!r} can be no socket: give a name of 1 to {MOST_PATH_BYTES} bytes")
    return SocketRegisters(Path(path))


MOST_PATH_BYTES = 107
"""The longest name of a local socket (unix(7))."""
