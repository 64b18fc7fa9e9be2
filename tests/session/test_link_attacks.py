"""Attacks on the session's link: whoever has no token learns nothing and stops nothing; who has one cannot tell all."""

import contextlib
import json
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from framelane.base.errors import InputError, TransportError
from framelane.session import session_client, waiting_room
from framelane.session.attempts import Reason
from framelane.session.channel import Channel
from framelane.session.link_key import LinkKey, kept
from framelane.session.link_tls import server_context
from framelane.session.session import Session
from framelane.session.session_client import SessionClient
from framelane.session.session_link import MAX_HELLO, MAX_LINE, Hello, Report
from framelane.session.session_server import SessionServer
from framelane.session.waiting_room import Waiting, WaitingRoom
from unauthenticated import connected, entered, flood, heard, hello

MakeSession = Callable[..., Session]
WRONG = LinkKey.random()


@pytest.fixture
def server(make_session: MakeSession) -> Iterator[SessionServer]:
    with SessionServer(make_session(sources=2), "127.0.0.1", 0) as server:
        yield server


def eventually(true: Callable[[], Any], timeout_s: float = 10.0) -> bool:
    end = time.monotonic() + timeout_s
    while not true() and time.monotonic() < end:
        time.sleep(0.005)
    return bool(true())


@contextlib.contextmanager
def undisturbed(server: SessionServer) -> Iterator[None]:
    """A source hears the credit and is heard, before, in and behind the block; then another one comes."""
    with SessionClient(*server.address, 0) as source:
        source.report(0, 1, 0)
        assert eventually(lambda: server.reports)
        yield
        server.publish(5)
        assert eventually(lambda: source.window_end == 5)
        source.report(0, 2, 0)
        assert eventually(lambda: server.reports[0].offered == 2)
        assert not source.closed
    with SessionClient(*server.address, 1) as late:
        late.report(1, 1, 0)
        assert eventually(lambda: 1 in server.reports)


def tells_nothing(said: bytes, session: Session) -> bool:
    """Whether it has neither the session's numbers nor its addresses."""
    return not any(str(secret).encode() in said for secret in (session.rkey, session.base, session.qpn, "session-1"))


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (lambda asked: hello(WRONG, asked), Reason.WRONG_TOKEN),
        (lambda asked: hello(WRONG, asked, None, "reader"), Reason.WRONG_TOKEN),
        (lambda asked: Hello(role="source", source=0, nonce="0" * 64).pack(), Reason.NO_TOKEN),
        (lambda asked: b"GET / HTTP/1.1\r\n\r\n", Reason.NO_LINE),
        (lambda asked: b"\xff\x00\xfe\n", Reason.NO_LINE),
        (lambda asked: b"[" * 900 + b"\n", Reason.NO_LINE),
        (lambda asked: b'{"source": 0, "offered": 9223372036854775807, "dropped": 0, "ended": true}\n', Reason.NO_LINE),
        (lambda asked: b"x" * MAX_HELLO, Reason.NO_LINE),
        (lambda asked: b"x" * MAX_LINE * 20, Reason.NO_LINE),
        (lambda asked: b"\n" * MAX_HELLO * 2, Reason.NO_LINE),
        (lambda asked: hello(WRONG, asked, 0, "relay", "name").replace(b'"name"', b'"name\\n"'), Reason.NO_LINE),
    ],
    ids=["wrong", "reader", "none", "http", "binary", "brackets", "report", "long", "huge", "lines", "name"],
)
def test_an_unauthenticated_client_that_speaks_learns_nothing_and_is_counted(
    server: SessionServer, make_session: MakeSession, line: Callable[[str], bytes], reason: Reason
) -> None:
    with undisturbed(server):
        raw, asked = connected(server.address)
        with raw:
            with contextlib.suppress(ConnectionError):
                raw.sendall(line(asked))
            said = heard(raw)
        assert tells_nothing(said, make_session())
        assert eventually(lambda: server.attempts.counts == {reason: 1}), server.attempts.counts
    assert server.attempts.counts == {reason: 1}


def test_the_token_itself_is_never_said(server: SessionServer) -> None:
    raw, asked = connected(server.address)
    with raw:
        sent = hello(server.key, asked)
        raw.sendall(sent)
        said = raw.recv(1 << 12)
    assert b'"rkey"' in said
    for form in (server.key.token, server.key.token.hex().encode()):
        assert form not in sent + said
    assert server.key.token.hex() not in repr(server.key)


def test_a_handshake_that_was_overheard_opens_no_other_connection(server: SessionServer) -> None:
    with undisturbed(server):
        raw, asked = connected(server.address)
        with raw:
            overheard = hello(server.key, asked, None, "reader")
            raw.sendall(overheard)
            assert raw.recv(1 << 12).startswith(b'{"proof"')
        again, _ = connected(server.address)
        with again:
            again.sendall(overheard)
            assert b"session-1" not in heard(again)
        assert eventually(lambda: server.attempts.counts == {Reason.WRONG_TOKEN: 1})


def test_a_proof_is_for_the_role_and_the_source_that_it_names(server: SessionServer) -> None:
    with undisturbed(server):
        for changed in (b'"source":1', b'"source":null'):
            raw, asked = connected(server.address)
            with raw:
                raw.sendall(hello(server.key, asked, 0).replace(b'"source":0', changed))
                assert b"session-1" not in heard(raw)
    assert server.attempts.counts == {Reason.WRONG_TOKEN: 1, Reason.NO_LINE: 1}


@pytest.mark.parametrize("begun", [b"", b'{"role": "sou'], ids=["silent", "half open"])
def test_who_does_not_end_the_handshake_is_let_go(
    server: SessionServer, begun: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting_room, "DEADLINE_S", 0.3)
    with undisturbed(server), contextlib.ExitStack() as held:
        for _ in range(5):
            raw, _ = connected(server.address)
            held.enter_context(raw).sendall(begun)
        assert eventually(lambda: server.attempts.counts == {Reason.SILENT: 5}), server.attempts.counts
        assert heard(raw) == b""


def test_unauthenticated_clients_that_stay_do_not_keep_a_source_out(server: SessionServer) -> None:
    """More connections of one address than there is room for: the oldest go, and the source comes in."""
    many = waiting_room.MOST_OF_ONE + 60
    with undisturbed(server), contextlib.ExitStack() as held:
        raws = [held.enter_context(socket.create_connection(server.address, 5)) for _ in range(many)]
        assert eventually(lambda: server.attempts.counts[Reason.TOO_MANY] == 60), server.attempts.counts
        with SessionClient(*server.address, 1) as source:
            source.report(1, 1, 0)
            assert eventually(lambda: 1 in server.reports)
        assert heard(raws[0]).count(b"\n") == 1
        assert server.attempts.counts.keys() == {Reason.TOO_MANY}


def test_a_flood_keeps_no_source_out_and_does_not_fill_the_memory(server: SessionServer) -> None:
    with undisturbed(server), flood(server.address) as count:
        assert eventually(lambda: count[0] > 300)
        with SessionClient(*server.address, 1) as source:
            source.report(1, 1, 0)
            assert eventually(lambda: 1 in server.reports)
    assert server.attempts.counts.total() > 300
    lines = server.attempts.lines()
    assert len(lines) <= 3, lines
    assert max(map(len, lines)) < 400
    assert eventually(lambda: len(server._selector.get_map()) <= 4), "nobody is left"


def test_a_thousand_wrong_lines_are_one_sentence_with_their_number(server: SessionServer) -> None:
    for number in range(1000):
        server.attempts.note(Reason.NO_LINE, "192.0.2.1", f"line {number}" * 1000)
    (line,) = server.attempts.lines()
    assert line.startswith("the session's link turned 1000 away who sent no line of the link, the first from 192.0.2.1")
    assert len(line) < 400


@pytest.mark.parametrize("name", ["", "relay"])
def test_nobody_with_the_token_takes_the_place_of_a_source_that_is_there(server: SessionServer, name: str) -> None:
    with undisturbed(server):
        raw, asked = connected(server.address)
        with raw:
            raw.sendall(hello(server.key, asked, 0, "relay" if name else "source", name))
            said = heard(raw)
        assert b"somebody else reports for source 0" in said
        assert b"session-1" not in said
    assert server.attempts.counts == {Reason.TAKEN: 1}
    assert "source 0 from 127.0.0.1" in server.attempts.lines()[0]


@pytest.mark.parametrize(
    ("reports", "reason"),
    [
        ([{"source": 0, "offered": 3, "dropped": 0, "ended": True}], Reason.NOT_ITS_OWN),
        ([{"source": 1, "offered": 1 << 62, "dropped": 1 << 62}], Reason.IMPOSSIBLE),
        ([{"source": 1, "offered": 1 << 62, "dropped": (1 << 62) - 4}], Reason.IMPOSSIBLE),
        ([{"source": 1, "offered": 9, "dropped": 0}], Reason.IMPOSSIBLE),
        ([{"source": 1, "offered": 2, "dropped": 3}], Reason.IMPOSSIBLE),
        ([{"source": 1, "offered": 3, "dropped": 0}, {"source": 1, "offered": 2, "dropped": 0}], Reason.FEWER),
        ([{"source": 1, "offered": 9, "dropped": 8}, {"source": 1, "offered": 9, "dropped": 7}], Reason.FEWER),
        ([{"source": 2, "offered": 1, "dropped": 0}], Reason.NOT_ITS_OWN),
        ([{"source": 1, "offered": "1", "dropped": 0}], Reason.NO_LINE),
    ],
    ids=["other's", "credit", "sent", "beyond", "negative", "lowered", "fewer drops", "no source", "text"],
)
def test_a_report_that_cannot_be_is_refused_and_said(
    server: SessionServer, reports: list[dict[str, object]], reason: Reason
) -> None:
    with SessionClient(*server.address, 0) as source, entered(server.address, server.key, 1) as liar:
        source.report(0, 1, 0)
        liar.sendall(b"".join(json.dumps(report).encode() + b"\n" for report in reports))
        heard(liar)
        assert eventually(lambda: server.attempts.counts == {reason: 1}), server.attempts.counts
        assert eventually(lambda: 0 in server.reports)
        assert server.reports[0] == Report(source=0, offered=1, dropped=0)
        known = server.reports.get(1)
        assert known is None or known.model_dump() == {"ended": False, **reports[0]}


def test_a_reader_reports_nothing(server: SessionServer) -> None:
    with SessionClient(*server.address) as reader:
        reader.report(0, 1, 0)
        assert reader.wait_closed(5)
    assert server.reports == {}
    assert server.attempts.counts == {Reason.NOT_ITS_OWN: 1}


def test_a_source_without_a_place_is_refused(server: SessionServer) -> None:
    raw, asked = connected(server.address)
    with raw:
        raw.sendall(hello(server.key, asked, 2))
        assert b"there is no source 2 in a session of 2" in heard(raw)
    assert server.attempts.counts == {Reason.NO_SOURCE: 1}


def test_without_tls_nobody_hears_a_receiver_of_tls(make_session: MakeSession) -> None:
    tls, certificate = server_context()
    with SessionServer(make_session(), "127.0.0.1", 0, key=LinkKey.random(certificate), tls=tls) as server:
        with socket.create_connection(server.address, 5) as raw:
            raw.sendall(hello(server.key, "0" * 64))
            assert tells_nothing(heard(raw), make_session())
        assert eventually(lambda: server.attempts.counts == {Reason.NO_TLS: 1}), server.attempts.counts


def test_an_older_source_reads_what_to_do(server: SessionServer) -> None:
    """It shows 80 bytes of the first line, which it cannot read."""
    with socket.create_connection(server.address, 5) as raw:
        assert b"update framelane here" in raw.recv(80)


def test_who_has_no_token_is_heard_for_1_kib_and_costs_one_recv_at_a_time(server: SessionServer) -> None:
    with undisturbed(server):
        raw, _ = connected(server.address)
        with raw:
            with contextlib.suppress(ConnectionError):
                for _ in range(MAX_HELLO + 1):
                    raw.sendall(b" ")
            heard(raw)
        assert eventually(lambda: server.attempts.counts == {Reason.NO_LINE: 1})
    near, far = socket.socketpair()
    channel = Channel(near)
    WaitingRoom().admit(channel, "192.0.2.1")
    with near, far:
        far.sendall(b"\n" * MAX_HELLO + b"x")
        with pytest.raises(InputError, match="first line of the session's link is too long"):
            channel.receive()


def test_who_says_much_leaves_the_others_their_turn() -> None:
    near, far = socket.socketpair()
    channel = Channel(near)
    with near, far:
        far.setblocking(False)
        sent = 0
        with contextlib.suppress(BlockingIOError):
            while True:
                sent += far.send((b"x" * 999 + b"\n") * 16)
        assert sent > 2 << 16
        taken = [sum(len(line) + 1 for line in channel.receive()) for _ in range(2)]
    assert (1 << 16) - 1000 <= min(taken) <= max(taken) <= (1 << 16) + 1000


def test_a_fault_of_our_own_ends_one_connection_alone(server: SessionServer, monkeypatch: pytest.MonkeyPatch) -> None:
    real = server._book.note

    def note(report: Report, window_end: int, relayed: bool) -> None:
        if report.source == 1 and report.dropped == 0:
            raise OverflowError("cannot convert")
        real(report, window_end, relayed)

    with undisturbed(server), entered(server.address, server.key, 1) as unlucky:
        monkeypatch.setattr(server._book, "note", note)
        unlucky.sendall(Report(source=1, offered=3, dropped=0).pack())
        heard(unlucky)
        monkeypatch.undo()
    assert server.attempts.counts == {Reason.FAULT: 1}
    assert "OverflowError" in server.attempts.lines()[0]


def test_who_had_to_go_for_another_is_not_counted_twice(server: SessionServer) -> None:
    """The server waits for its lock until one more has come, and the oldest has spoken: both are of one batch."""
    with entered(server.address, server.key, 0) as source, contextlib.ExitStack() as held:
        raws = [held.enter_context(connected(server.address)[0]) for _ in range(waiting_room.MOST_OF_ONE)]
        with server._lock:
            source.sendall(Report(source=0, offered=1, dropped=0).pack())
            time.sleep(0.1)
            held.enter_context(socket.create_connection(server.address, 5))
            raws[0].sendall(b"x")
            time.sleep(0.05)
        assert eventually(lambda: server.attempts.counts)
        time.sleep(0.1)
        assert server.attempts.counts == {Reason.TOO_MANY: 1}


@pytest.mark.parametrize("piped", [json.dumps({"token": "5a" * 32}), "5a" * 32], ids=["file", "bare"])
def test_a_token_that_is_piped_into_the_port_is_not_in_the_summary(server: SessionServer, piped: str) -> None:
    raw, _ = connected(server.address)
    with raw:
        raw.sendall(piped.encode() + b"\n")
        heard(raw)
    assert eventually(server.attempts.lines)
    (line,) = server.attempts.lines()
    assert "5a" * 9 not in line, line


# Where the reset comes first, wrap_socket of CPython 3.11 leaves the socket to the garbage collector.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("encrypted", [False, True], ids=["plain", "TLS"])
def test_a_source_that_had_to_go_before_it_was_asked_comes_again(
    make_session: MakeSession, encrypted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its first connection is reset before the challenge; of TLS, a second one ends behind the handshake."""
    tls, certificate = server_context() if encrypted else (None, None)
    hear, seen = SessionServer._hear_waiting, []

    def evict(server: SessionServer, one: Waiting) -> None:
        if one.channel not in seen:
            seen.append(one.channel)
        if len(seen) == 1:
            one.channel.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            server._selector.unregister(one.channel.socket)
            one.channel.socket.close()
            server._turn_away(one, Reason.TOO_MANY)
        elif encrypted and len(seen) == 2:
            if one.channel.secured():
                server._turn_away(one, Reason.TOO_MANY)
        else:
            hear(server, one)

    monkeypatch.setattr(SessionServer, "_hear_waiting", evict)
    key = LinkKey.random(certificate)
    with (
        SessionServer(make_session(), "127.0.0.1", 0, key=key, tls=tls) as server,
        SessionClient(*server.address, 0) as source,
    ):
        assert source.session == make_session()
        assert server.attempts.counts[Reason.TOO_MANY] == len(seen) - 1 == 1 + encrypted


def test_what_ends_every_connection_is_said_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_client, "_PATIENCE_S", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as other, kept(LinkKey.random(), other.getsockname()):
        over = threading.Event()

        def end() -> None:
            other.settimeout(0.1)
            while not over.is_set():
                with contextlib.suppress(TimeoutError):
                    raw, _ = other.accept()
                    raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    raw.close()

        thread = threading.Thread(target=end)
        thread.start()
        try:
            with pytest.raises(TransportError, match=r"ends every connection: .* or it is not a receiver of framelane"):
                SessionClient(*other.getsockname())
        finally:
            over.set()
            thread.join()
