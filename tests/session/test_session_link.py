"""The session link: what a receiver publishes its sources hear, and what they report it knows."""

import contextlib
import hashlib
import hmac
import json
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from framelane.base.errors import InputError, TransportError
from framelane.session.attempts import Reason
from framelane.session.handshake import client_proof, receiver_proof
from framelane.session.link_key import LinkKey, kept
from framelane.session.session import Session
from framelane.session.session_client import SessionClient
from framelane.session.session_link import MAX_LINE, NOTICED_S, Challenge, Credit, Hello, Refusal, Report, Welcome
from framelane.session.session_server import SessionServer
from unauthenticated import entered

MakeSession = Callable[..., Session]


@pytest.fixture
def server(make_session: MakeSession) -> Iterator[SessionServer]:
    with SessionServer(make_session(sources=2), "127.0.0.1", 0) as server:
        yield server


def eventually(true: Callable[[], Any], timeout_s: float = 5.0) -> bool:
    end = time.monotonic() + timeout_s
    while not true() and time.monotonic() < end:
        time.sleep(0.005)
    return bool(true())


def test_a_source_hears_the_session_and_the_credit_as_it_grows(
    server: SessionServer, make_session: MakeSession
) -> None:
    with SessionClient(*server.address) as client:
        assert client.session == make_session(sources=2)
        assert client.window_end == 4
        server.publish(7)
        assert eventually(lambda: client.window_end == 7)
        server.publish(6)
        server.publish(9)
        assert eventually(lambda: client.window_end == 9)


def test_proofs_are_what_the_page_says_of_them(make_session: MakeSession) -> None:
    """docs/reference/session_link.md, worked out from the lines as they are on the wire."""
    key, asked, session = LinkKey.random(), "a" * 64, make_session()
    mine = Hello(role="source", source=3, nonce="b" * 64)

    def expected(*said: object) -> str:
        text = json.dumps(said, sort_keys=True)
        return hmac.new(key.token, text.encode(), hashlib.sha256).hexdigest()

    without = {name: value for name, value in json.loads(mine.pack()).items() if name != "proof"}
    proof = client_proof(key.token, asked, mine)
    assert proof == expected("client", asked, without)
    hello = mine.model_copy(update={"proof": proof})
    told = json.loads(Welcome(proof="c" * 64, session=session).pack())["session"]
    assert receiver_proof(key.token, asked, hello, session) == expected(
        "receiver", asked, json.loads(hello.pack()), told
    )


def test_a_source_that_comes_late_hears_the_newest_credit(server: SessionServer) -> None:
    server.publish(50)
    with SessionClient(*server.address) as client:
        assert client.window_end == 50
        assert client.session.window_end == 4


def test_the_receiver_knows_the_newest_report_of_each_source(server: SessionServer) -> None:
    with SessionClient(*server.address, 0) as first, SessionClient(*server.address, 1) as second:
        first.report(0, offered=10, dropped=7)
        second.report(1, offered=4, dropped=0)
        first.report(0, offered=12, dropped=8, ended=True)
        assert eventually(lambda: len(server.reports) == 2 and server.reports[0].ended)
        assert server.reports[0] == Report(source=0, offered=12, dropped=8, ended=True)
        assert server.reports[1] == Report(source=1, offered=4, dropped=0)


def test_a_report_in_pieces_is_one(server: SessionServer) -> None:
    line = Report(source=1, offered=5000, dropped=4999).pack()
    with entered(server.address, server.key, 1) as raw:
        for at in range(0, len(line), 7):
            raw.sendall(line[at : at + 7])
            time.sleep(0.002)
        assert eventually(lambda: server.reports)
    assert server.reports[1].offered == 5000


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        (b"hello\n", "not a line of a session's link"),
        (b'{"source": 0, "offered": -1, "dropped": 0}\n', "offered: is -1: give 0 or more"),
        (b'{"source": 1, "offered": 1, "dropped": 0}\n', "source 0 has reported for source 1"),
        (b'{"window_end": 3}\n', "source: is missing"),
        (b'{"source": 0, "offered": 1099511627776, "dropped": 0}\n', "1099511627776, with credit for 4"),
        (
            b'{"source": 0, "offered": 18446744073709551614, "dropped": 0}\n',
            "offered: is 18446744073709551614: give less than",
        ),
        (b'{"source": 0, "offered": 2, "dropped": 3}\n', "has sent -1 frames of 2"),
        (b'{"source": 0, "offered": 3, "dropped": 0}\n{"source": 0, "offered": 2, "dropped": 0}\n', "has begun anew"),
        (b"[" * 5000 + b"\n", "not a line"),
        (b"x" * (MAX_LINE + 1), "is longer than"),
    ],
)
def test_a_source_that_says_nonsense_is_cut_off_and_the_others_go_on(
    server: SessionServer, line: bytes, sentence: str
) -> None:
    with SessionClient(*server.address, 1) as good, entered(server.address, server.key, 0) as bad:
        bad.sendall(line)
        with contextlib.suppress(ConnectionResetError):
            while bad.recv(1 << 16):
                pass
        assert eventually(server.attempts.lines)
        assert sentence in server.attempts.lines()[0]
        server.publish(33)
        assert eventually(lambda: good.window_end == 33)
        assert not good.closed
    assert not server.reports or "anew" in sentence


def test_nobody_else_speaks_for_a_source_while_it_is_connected(server: SessionServer) -> None:
    with SessionClient(*server.address, 0) as first:
        first.report(0, offered=3, dropped=0)
        assert eventually(lambda: server.reports)
        for relay in ("", "a relay"):
            with pytest.raises(TransportError, match=r"refuses: somebody else reports for source 0, source 0 from 127"):
                SessionClient(*server.address, 0, relay=relay)
        assert server.attempts.counts == {Reason.TAKEN: 2}
        assert server.reports[0] == Report(source=0, offered=3, dropped=0)
        first.report(0, offered=4, dropped=0)
        assert eventually(lambda: server.reports[0].offered == 4)


def test_a_source_that_goes_without_its_end_is_known_until_it_comes_back(server: SessionServer) -> None:
    def tell(source: int, offered: int, ended: bool = False) -> None:
        with SessionClient(*server.address, source) as client:
            client.report(source, offered, offered, ended)
            assert eventually(lambda: source in server.reports and server.reports[source].offered == offered)

    tell(0, 3)
    tell(1, 3, ended=True)
    with SessionClient(*server.address):
        pass
    assert eventually(lambda: server.gone == [0])
    tell(0, 4, ended=True)
    assert eventually(lambda: server.gone == [])
    with SessionClient(*server.address, 0) as client:
        client.report(0, 5, 5)
        assert eventually(lambda: server.reports[0].offered == 5)
        server.close()
        assert client.wait_closed(5)
    time.sleep(0.1)
    assert server.gone == [], "the receiver has ended it"


def test_a_source_that_never_reads_does_not_hold_the_receiver_up(server: SessionServer) -> None:
    with entered(server.address, server.key, 0) as deaf, SessionClient(*server.address) as client:
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
        longest = 0.0
        for end in range(10, 60_000):
            start = time.monotonic()
            server.publish(end)
            longest = max(longest, time.monotonic() - start)
        assert longest < 0.9, "a second would be a wait for it"
        assert eventually(lambda: client.window_end == 59_999)


def test_a_source_that_leaves_while_credit_is_said_has_done_nothing_wrong(server: SessionServer) -> None:
    for end in range(100, 300, 4):
        with SessionClient(*server.address):
            server.publish(end)
        for more in range(1, 4):
            server.publish(end + more)
        time.sleep(0.01)
    assert server.attempts.counts.total() == 0


def test_a_source_knows_that_the_receiver_has_gone(server: SessionServer) -> None:
    client = SessionClient(*server.address, 0)
    assert not client.closed
    server.close()
    server.close()
    assert client.wait_closed(5)
    with pytest.raises(TransportError, match="has closed the session's link"):
        eventually(lambda: client.report(0, 1, 0))
    client.close()
    client.close()


def test_where_nobody_listens_the_source_says_what_to_start() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = probe.getsockname()
    with pytest.raises(TransportError, match=rf"no receiver at TCP 127.0.0.1:{address[1]}: .*refused: start"):
        SessionClient(*address)


def test_a_port_in_use_is_one_sentence(server: SessionServer, make_session: MakeSession) -> None:
    with pytest.raises(TransportError, match="the port is in use: another receiver holds it"):
        SessionServer(make_session(), *server.address)


def test_an_address_of_no_interface_is_one_sentence(make_session: MakeSession) -> None:
    with pytest.raises(TransportError, match="no interface of this machine has that address"):
        SessionServer(make_session(), "192.0.2.1", 0)


@pytest.mark.parametrize("answer", [b"", b"SSH-2.0-OpenSSH_9.2\r\n", b'{"window_end": 4}\n'])
def test_something_else_than_a_receiver_is_called_so(answer: bytes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        other.settimeout(5)
        with pytest.raises(TransportError, match="is not a receiver of framelane"):
            _serve_once(other, answer)


def test_what_refuses_is_nobody_known_and_writes_nothing_to_the_terminal() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other, kept(LinkKey.random(), other.getsockname()):

        def refuse() -> None:
            connection, _ = other.accept()
            with connection:
                connection.sendall(Challenge(nonce="0" * 64).pack())
                connection.recv(1 << 12)
                connection.sendall(Refusal(refused="\x1b[2J\u202e" + "x" * 300).pack())

        thread = threading.Thread(target=refuse)
        thread.start()
        with pytest.raises(TransportError) as raised:
            SessionClient(*other.getsockname())
        thread.join()
    assert str(raised.value).isascii()
    assert str(raised.value).isprintable()
    assert str(raised.value).endswith("refuses: ?[2J?" + "x" * 195 + "...")


def test_a_receiver_of_an_older_framelane_is_called_so(make_session: MakeSession) -> None:
    older = b'{"session": ' + make_session().model_dump_json().encode() + b'}\n{"window_end": 4}\n'
    with (
        socket.create_server(("127.0.0.1", 0)) as other,
        pytest.raises(TransportError, match=r"older framelane.*update"),
    ):
        _serve_once(other, older)


def _serve_once(other: socket.socket, answer: bytes) -> None:
    def serve() -> None:
        connection, _ = other.accept()
        with connection:
            connection.sendall(answer)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        SessionClient(*other.getsockname())
    finally:
        thread.join()


def test_lines_are_read_as_they_were_written(make_session: MakeSession) -> None:
    lines = [
        Challenge(nonce="0" * 64),
        Hello(role="relay", source=255, name="board", nonce="1" * 64, proof="2" * 64),
        Welcome(proof="3" * 64, session=make_session()),
        Refusal(refused="no"),
        Credit(window_end=(1 << 64) - 1),
        Report(source=255, offered=0, dropped=0),
    ]
    for line in lines:
        assert type(line).unpack(line.pack()) == line
        assert line.pack().count(b"\n") == 1
    with pytest.raises(InputError, match="window_end"):
        Credit.unpack(b'{"window_end": "4"}')


@pytest.mark.parametrize("reporting", [True, False], ids=["reporting", "silent"])
def test_a_machine_that_falls_silent_is_noticed_by_the_other_one(
    network: tuple[str, str], make_session: MakeSession, reporting: bool
) -> None:
    """Loopback is taken away: nothing is answered any more, and nobody closes anything, as when power is lost."""
    with SessionServer(make_session(), "127.0.0.1", 0) as server, SessionClient(*server.address, 0) as client:
        client.report(0, offered=1, dropped=0)
        assert eventually(lambda: server.reports)
        subprocess.run(["ip", "link", "set", "lo", "down"], check=True)
        start = time.monotonic()
        if reporting:
            client.report(0, offered=2, dropped=0)
            server.publish(9)
        assert not client.wait_closed(NOTICED_S / 2), "a short silence ends nothing"
        assert server.gone == []
        assert client.wait_closed(2 * NOTICED_S)
        assert client.ended.startswith("is silent")
        assert eventually(lambda: server.gone == [0], NOTICED_S)
        assert time.monotonic() - start < 2 * NOTICED_S + 1


def test_a_link_outlives_a_short_silence_and_brings_what_was_said_meanwhile(
    network: tuple[str, str], make_session: MakeSession
) -> None:
    with SessionServer(make_session(), "127.0.0.1", 0) as server, SessionClient(*server.address) as client:
        subprocess.run(["ip", "link", "set", "lo", "down"], check=True)
        server.publish(9)
        time.sleep(NOTICED_S / 2)
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
        assert eventually(lambda: client.window_end == 9, NOTICED_S)
        assert not client.closed
