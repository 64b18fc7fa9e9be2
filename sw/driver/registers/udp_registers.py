"""A board behind a network: its registers by UDP datagrams (docs/integrating/udp_registers.md)."""

import random
import re
import socket
import time
from collections.abc import Sequence

from framelane.base.errors import BoardError, ConfigError, FramelaneError
from framelane.driver.registers.registers import MAP_BYTES, check_access
from framelane.models.remote.udp_registers import OKAY, PORT, Access, Datagram, Kind, Status, read, write

_TRIES = 5
_ANSWER_S = 0.4
"""Within this time a board answers; then the datagram, or the answer, was lost."""
_ADDRESS = re.compile(r"([^:\s]+)(?::(\d{1,5}))?")
_MOST = 2048


class UdpRegisters:
    """The registers of the board at `host`, which are reached by UDP `port`; see `Registers`.

    The board serves one host: the first to say hello since it was switched on. BoardError where it does not answer,
    serves another, or is not a board.
    """

    def __init__(self, host: str, port: int = PORT) -> None:
        self._name = f"{host}, UDP port {port}"
        self._number = random.getrandbits(32)
        self._token = 0
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
        try:
            self._socket.connect((host, port))
            self._token = self._ask(Kind.HELLO).token
        except OSError as error:
            self._socket.close()
            raise BoardError(f"no board at {host}: {error.strerror or error}") from error
        except BaseException:
            self._socket.close()
            raise

    def read(self, offset: int) -> int:
        """See `Registers`."""
        self._check_open()
        check_access(offset, MAP_BYTES)
        return self.do([read(offset)])[0].data

    def write(self, offset: int, value: int) -> None:
        """See `Registers`."""
        self._check_open()
        check_access(offset, MAP_BYTES, value)
        self.do([write(offset, value)])

    @property
    def token(self) -> int:
        """What the board has told: its writes must have it. It stays the same until the board is reset."""
        return self._token

    def close(self) -> None:
        """See `Registers`."""
        self._socket.close()

    def _check_open(self) -> None:
        if self._socket.fileno() < 0:
            raise FramelaneError("the board is closed")

    def do(self, accesses: Sequence[Access]) -> list[Access]:
        """Up to `MAX_ACCESSES` accesses in one datagram, in order; what was read. BoardError where one fails."""
        self._check_open()
        try:
            answer = self._ask(Kind.ACCESS, *accesses)
        except OSError as error:
            raise BoardError(f"the board at {self._name} cannot be reached: {error.strerror or error}") from error
        if len(answer.accesses) != len(accesses):
            asked = "one" if len(accesses) == 1 else len(accesses)
            raise BoardError(f"the board at {self._name} has answered {len(answer.accesses)} accesses, not {asked}")
        for access, done in zip(accesses, answer.accesses, strict=True):
            if done.operation != OKAY:
                verb = "write" if access.operation else "read"
                raise BoardError(
                    f"the board at {self._name} cannot {verb} offset {access.address:#x}: its bus says "
                    f"{done.operation} (2: an error, as behind a reset; 3: nothing there)"
                )
        return list(answer.accesses)

    def _ask(self, kind: Kind, *accesses: Access) -> Datagram:
        """The answer to a datagram, which is sent again where none comes: a write is done once all the same."""
        self._number = (self._number + 1) & 0xFFFFFFFF
        payload = Datagram(kind=kind, number=self._number, token=self._token, accesses=accesses).encode()
        for _ in range(_TRIES):
            try:
                self._socket.send(payload)
                answer = self._answer(kind)
            except ConnectionRefusedError as error:  # the host's ICMP
                raise BoardError(
                    f"no board at {self._name}: a host is there, and nothing listens at this port"
                ) from error
            if answer:
                return self._accepted(answer)
        raise BoardError(
            f"the board at {self._name} does not answer ({_TRIES} datagrams, {_TRIES * _ANSWER_S:g} s): is it on, its "
            "link up, and this host in its network? `ping` needs no registers"
        )

    def _answer(self, kind: Kind) -> Datagram | None:
        """The answer to the last datagram; None where none comes in time. What else comes is left out."""
        deadline = time.monotonic() + _ANSWER_S
        while (left := deadline - time.monotonic()) > 0:
            self._socket.settimeout(left)
            try:
                answer = Datagram.decode(self._socket.recv(_MOST))
            except TimeoutError:
                return None
            except ValueError:
                continue
            if answer.answer and (answer.kind, answer.number) == (kind, self._number):
                return answer
        return None

    def _accepted(self, answer: Datagram) -> Datagram:
        if answer.status is Status.NOT_PEER:
            raise BoardError(
                f"the board at {self._name} serves another host, the first that has opened it since it was switched "
                "on, or was switched on anew: open it again, from that host, or switch it off and on"
            )
        if answer.status is Status.NO_TOKEN:
            raise BoardError(
                f"the board at {self._name} does not know this program's token: it was switched on anew; open it again"
            )
        return answer


def open_udp(address: str) -> UdpRegisters:
    """The board at `HOST` or `HOST:PORT`. ConfigError for a text that is neither."""
    match = _ADDRESS.fullmatch(address)
    port = int(match[2] or PORT) if match else 0
    if not match or not 0 < port < 1 << 16:
        raise ConfigError(f"{address!r} is not a host: give HOST or HOST:PORT, as 192.168.1.50 or 192.168.1.50:{PORT}")
    return UdpRegisters(match[1], port)
