"""A source's end of the session link: it hears the receiver's session and its credit, and says what it has offered."""

import contextlib
import errno
import os
import socket
import ssl
import threading
from pathlib import Path
from time import monotonic, sleep
from typing import NoReturn, Self

from framelane.base.errors import InputError, TransportError
from framelane.session.channel import Channel
from framelane.session.handshake import client_proof, nonce, receiver_proof, same
from framelane.session.link_key import find_keys
from framelane.session.link_tls import client_context, is_of
from framelane.session.session import Session
from framelane.session.session_link import (
    NOTICED_S,
    PORT,
    WATCHED,
    WRONG_TOKEN,
    Challenge,
    Credit,
    Hello,
    Refusal,
    Report,
    Role,
    Welcome,
)

_PATIENCE_S = 5.0
_ATTEMPT_S = 1.0
"""If many connect at a time, the receiver's kernel drops some. Ask again before the local kernel would."""
_PAUSE_S = 0.1
"""Before it is asked anew."""
_NO_TIME = "has no time, so many connect to it: see `ss -tn` there"
_ENDS_ALL = (
    "ends every connection: so many connect to it that it has no time (see `ss -tn` there), or it is not a receiver of "
    "framelane"
)
_LOST = {
    errno.ECONNRESET: "was cut off: its process was killed, or its machine has started anew",
    errno.ETIMEDOUT: f"is silent: its machine, or the network to it, has not answered for {NOTICED_S:g} s",
    errno.EHOSTUNREACH: "cannot be reached any more: its machine, or the network to it, is down",
}
"""What has become of a connection, by its error (tcp(7))."""
_MOST_SHOWN = 200
"""Characters of a refusal."""


class _TurnedAway(Exception):
    """The receiver let this one go for somebody else: it may be asked again. What it does, if it goes on so."""


class WrongToken(TransportError):
    """No token that is here is that of the receiver, or what listens there is none."""


class SessionClient:
    """Connects to the receiver at TCP `host` and `port` as its source number `source`, and waits for its session.

    Without `source` it only reads; with a name, `relay`, it speaks for the source in its place. Its token is in
    `token_file`, or else where `link_key.find_keys` looks, at last in the session's document `beside`.

    TransportError where nobody answers, or something else than a receiver does, or it refuses; InputError where there
    is no token.
    """

    def __init__(
        self,
        host: str,
        port: int = PORT,
        source: int | None = None,
        *,
        relay: str = "",
        token_file: Path | None = None,
        beside: Path | None = None,
    ) -> None:
        self.address = host, port
        """The host and port to which it has connected."""
        self._where = f"{host}:{port}"
        role: Role = "reader" if source is None else "relay" if relay else "source"
        self._hello = Hello(role=role, source=source, name=relay, nonce=nonce())
        self._files = token_file, beside
        self._keys = 0
        self._lines: list[bytes]
        self._channel = self._connect(host, port, monotonic() + _PATIENCE_S)
        self._closed = threading.Event()
        self._ended = ""
        self._thread = threading.Thread(target=self._listen, name="session client", daemon=True)
        self._thread.start()

    @property
    def window_end(self) -> int:
        """The newest credit: send frame n only if n < `window_end`."""
        return self._credit

    @property
    def closed(self) -> bool:
        """The receiver has gone, or its machine is silent for `NOTICED_S`: the credit grows no more."""
        return self._closed.is_set()

    @property
    def ended(self) -> str:
        """Why it is `closed`, as what follows "the receiver"; empty where it is not."""
        return self._ended if self.closed else ""

    def wait_closed(self, timeout_s: float) -> bool:
        """Wait at most so many seconds for the receiver to go; whether it has."""
        return self._closed.wait(timeout_s)

    def report(self, source: int, offered: int, dropped: int, ended: bool = False) -> None:
        """Say what this source has done since frame 0. TransportError where the receiver has gone."""
        try:
            self._channel.send_whole(Report(source=source, offered=offered, dropped=dropped, ended=ended).pack())
        except OSError as error:
            reason = os.strerror(error.errno or 0)
            raise TransportError(
                f"the receiver at TCP {self._where} has closed the session's link: {reason}"
            ) from error

    def close(self) -> None:
        """Let go of the receiver. May be called twice."""
        self._channel.shut()
        self._thread.join(_PATIENCE_S)
        self._channel.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _connect(self, host: str, port: int, deadline: float) -> Channel:
        """Connect and show the token, again where the receiver has no time for this one, or there is another token."""
        tried = 0
        while True:
            self._lines = []
            channel = Channel(self._reach(host, port, deadline))
            try:
                return self._let_in(channel, deadline, tried)
            except WrongToken:
                channel.close()
                tried += 1
                if tried >= self._keys:
                    raise
            except _TurnedAway as turned:
                channel.close()
                if monotonic() + _PAUSE_S >= deadline:
                    raise TransportError(f"the receiver at TCP {self._where} {turned}") from turned
                sleep(_PAUSE_S)
            except BaseException:
                channel.close()
                raise

    def _reach(self, host: str, port: int, deadline: float) -> socket.socket:
        while True:
            left_s = deadline - monotonic()
            try:
                return socket.create_connection((host, port), max(0.01, min(left_s, _ATTEMPT_S)))
            except UnicodeError as error:  # of a name with an empty label, say, or with bytes that are not text
                raise TransportError(f"no receiver at TCP {self._where}: {host!r} is not a name of a host") from error
            except OSError as error:
                if isinstance(error, TimeoutError) and left_s > _ATTEMPT_S:
                    continue
                if isinstance(error, ConnectionResetError):  # at once
                    if left_s > _PAUSE_S:
                        sleep(_PAUSE_S)
                        continue
                    raise TransportError(f"the receiver at TCP {self._where} {_ENDS_ALL}") from error
                reason = error.strerror or str(error)
                raise TransportError(
                    f"no receiver at TCP {self._where}: {reason}: start `framelane recv --plan` there first, or arm "
                    "`framelane serve` there, or give the port that it prints"
                ) from error

    def _let_in(self, channel: Channel, deadline: float, tried: int) -> Channel:
        """Show the token on a new connection, behind those that were `tried`, and take the session."""
        try:
            address = channel.socket.getpeername()[:2]
            keys = find_keys(address, *self._files)
        except InputError:  # what is not to be believed of something else than a receiver
            with contextlib.suppress(TimeoutError, _TurnedAway):
                self._challenge(channel, monotonic() + _ATTEMPT_S)
            find_keys(address, *self._files)  # a receiver that has just begun keeps its token, and then says something
            raise _TurnedAway(_NO_TIME) from None
        except OSError as error:  # it has gone already
            raise _TurnedAway(_ENDS_ALL) from error
        self._keys = len(keys)
        key = keys[min(tried, len(keys) - 1)]
        if key.certificate is not None:
            self._secure(channel, key.certificate, deadline)
        try:
            asked = self._challenge(channel, deadline)
        except TimeoutError as error:
            raise self._no_receiver(error) from error
        try:
            hello = self._hello.model_copy(update={"proof": client_proof(key.token, asked, self._hello)})
            channel.send_whole(hello.pack())
            line = self._line(channel, deadline)
            if line.startswith(b'{"refused"'):
                self._refused(Refusal.unpack(line))
            welcome = Welcome.unpack(line)
            credit = Credit.unpack(self._line(channel, deadline))
        except (EOFError, OSError) as error:
            raise _TurnedAway(_NO_TIME) from error
        except InputError as error:
            raise self._no_receiver(error) from error
        if not same(welcome.proof, receiver_proof(key.token, asked, hello, welcome.session)):
            raise WrongToken(f"TCP {self._where} is not the receiver whose token is here: it does not have it")
        self.session: Session = welcome.session
        self._credit = credit.window_end
        for option in WATCHED:
            channel.socket.setsockopt(*option)
        return channel

    def _challenge(self, channel: Channel, deadline: float) -> str:
        try:
            line = self._line(channel, deadline)
            if line.startswith(b'{"session"'):
                raise TransportError(
                    f"the receiver at TCP {self._where} is of an older framelane, whose link has no token: update it"
                )
            return Challenge.unpack(line).nonce
        except TimeoutError:
            raise
        except EOFError as error:
            if isinstance(channel.socket, ssl.SSLSocket):  # a receiver, as its certificate has shown
                raise _TurnedAway(_NO_TIME) from error
            raise self._no_receiver(error) from error
        except OSError as error:
            raise _TurnedAway(_ENDS_ALL) from error
        except InputError as error:
            raise self._no_receiver(error) from error

    def _secure(self, channel: Channel, certificate: str, deadline: float) -> None:
        """The same connection by TLS, to the receiver with that certificate."""
        try:
            connection = client_context().wrap_socket(channel.socket, do_handshake_on_connect=False)
            channel.socket = connection
            while not channel.secured():
                if not channel.wait(deadline - monotonic()):
                    raise TimeoutError("it does not answer by TLS")
        except (ConnectionError, ssl.SSLEOFError, ssl.SSLZeroReturnError) as error:
            raise _TurnedAway(_ENDS_ALL) from error
        except (OSError, ValueError) as error:
            raise self._no_receiver(error) from error
        if not is_of(connection, certificate):
            raise WrongToken(
                f"TCP {self._where} is not the receiver whose token is here: its certificate is another one"
            )

    def _refused(self, refusal: Refusal) -> NoReturn:
        other = WrongToken if refusal.refused == WRONG_TOKEN else TransportError
        raise other(f"the receiver at TCP {self._where} refuses: {_shown(refusal.refused)}")

    def _no_receiver(self, error: Exception) -> TransportError:
        why = (
            str(error)
            or "the connection ended before a line did: one that wants TLS goes by a token file with its certificate"
        )
        return WrongToken(f"TCP {self._where} is not a receiver of framelane: {why}")

    def _line(self, channel: Channel, deadline: float) -> bytes:
        """The next line while the handshake lasts."""
        while not self._lines:
            if not channel.wait(deadline - monotonic()):
                raise TimeoutError("it says nothing")
            self._lines = channel.receive()
        return self._lines.pop(0)

    def _listen(self) -> None:
        """Take the credit until the receiver goes, or says what it may not."""
        try:
            while True:
                for line in self._lines:
                    self._credit = max(self._credit, Credit.unpack(line).window_end)
                self._channel.wait(None)
                self._lines = self._channel.receive()
        except EOFError:
            self._ended = "has closed the session's link: its run is over, or was ended there"
        except InputError as error:
            self._ended = f"has said what no receiver says, and was left: {error}"
        except (OSError, ValueError) as error:  # ValueError: it was closed here
            self._ended = _LOST.get(getattr(error, "errno", None) or 0, f"cannot be heard any more: {error}")
        self._closed.set()


def _shown(text: str) -> str:
    """What is not authenticated, as a terminal may have it: printable characters, and not many."""
    short = text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}..."
    return "".join(each if " " <= each <= "~" else "?" for each in short)
