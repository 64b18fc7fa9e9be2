"""Hostile lines on the session's link: either end refuses them with a sentence, in bounded memory, and the run goes on.

FRAMELANE_FUZZ_LINES is the number of lines for each end (300 if it is not set; `make nightly`: 10,000).
"""

import contextlib
import os
import random
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from framelane.base.errors import InputError, TransportError
from framelane.session import session_client, waiting_room
from framelane.session.attempts import Reason
from framelane.session.handshake import nonce, receiver_proof
from framelane.session.link_key import LinkKey, kept
from framelane.session.session import Session
from framelane.session.session_client import SessionClient
from framelane.session.session_link import Challenge, Credit, Hello, Line, Refusal, Report, Welcome
from framelane.session.session_server import SessionServer
from line_mutations import mutated
from unauthenticated import connected, entered, heard, hello

MakeSession = Callable[..., Session]
LINES = int(os.environ.get("FRAMELANE_FUZZ_LINES", "300"))
MOST_BYTES = 64 << 20
"""By which the memory of the process may grow in a whole test."""
MOST_S = 4.0
"""Nobody waits longer for an end of a connection."""
STEPS = 4
"""Lines that a receiver says: challenge, welcome, credit, and another one."""
REPORT = Report(source=1, offered=3, dropped=0).pack().rstrip()


def resident() -> int:
    """Bytes of memory (proc(5))."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def eventually(true: Callable[[], bool], timeout_s: float = 10.0) -> bool:
    end = time.monotonic() + timeout_s
    while not true() and time.monotonic() < end:
        time.sleep(0.001)
    return true()


@pytest.fixture(autouse=True)
def _sound(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Whatever ends a thread by an error fails the test, and so does memory or a thread that stays."""
    raised: list[threading.ExceptHookArgs] = []
    monkeypatch.setattr(threading, "excepthook", raised.append)
    bytes_before, threads_before = resident(), threading.active_count()
    yield
    assert not raised, raised[0]
    assert resident() - bytes_before < MOST_BYTES
    assert eventually(lambda: threading.active_count() <= threads_before)


def test_any_line_is_read_or_refused_in_a_short_sentence(make_session: MakeSession) -> None:
    chance, key, session = random.Random(1), LinkKey.random(), make_session()
    lines: list[Line] = [
        Challenge(nonce=nonce()),
        Hello.unpack(hello(key, nonce())),
        Hello.unpack(hello(key, nonce(), 1, "relay", "board")),
        Welcome(proof=nonce(), session=session),
        Refusal(refused="because"),
        Credit(window_end=12),
        Report(source=1, offered=3, dropped=0),
    ]
    read, refused = 0, []
    for number in range(LINES):
        line = lines[number % len(lines)]
        try:
            type(line).unpack(mutated(chance, line.pack().rstrip()))
            read += 1
        except InputError as error:
            refused.append(str(error))
    assert read > 0 < len(refused)
    for said in refused:
        assert said.startswith("not a line of a session's link: ")
        assert said.isprintable()
        assert len(said) < 1000


def test_hostile_lines_do_no_harm_to_a_receiver_and_its_source(
    make_session: MakeSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half of them have no token, half are of a source that has it. The real source has its credit all the while."""
    monkeypatch.setattr(waiting_room, "BURST", 1e9)  # or those without a token are slowed down
    chance, sent, tried = random.Random(2), 0, 0
    with SessionServer(make_session(sources=2), "127.0.0.1", 0) as server, SessionClient(*server.address, 0) as good:
        good.report(0, offered=1, dropped=0)
        assert eventually(lambda: 0 in server.reports)
        while sent < LINES:
            begun, tried = time.monotonic(), tried + 1
            has_no_token = tried % 2
            if has_no_token:
                raw, asked = connected(server.address)
                lines = [mutated(chance, hello(LinkKey.random(), asked, 1).rstrip())]
            else:
                raw = entered(server.address, server.key, 1)
                lines = [mutated(chance, REPORT) for _ in range(chance.randint(1, 3))]
            with raw, contextlib.suppress(OSError):
                for line in lines:
                    raw.sendall(line)
                raw.shutdown(socket.SHUT_WR)
                said = heard(raw)
                assert not (has_no_token and b"rkey" in said), lines
            sent += len(lines)
            assert time.monotonic() - begun < MOST_S, lines
            if tried % 20 == 0:
                good.report(0, offered=4 + tried, dropped=tried)
                server.publish(5 + tried)
                assert eventually(lambda tried=tried: good.window_end >= 5 + tried)  # type: ignore[misc]
                assert eventually(lambda tried=tried: server.reports[0].offered == 4 + tried)  # type: ignore[misc]
                for source, report in server.reports.items():
                    assert source < 2
                    assert 0 <= report.offered - report.dropped <= 5 + tried
        assert not good.closed
        counts = server.attempts.counts
        assert counts[Reason.NO_LINE] > 0 < counts[Reason.WRONG_TOKEN]
        assert sum(map(len, server.attempts.lines())) < 500 * len(Reason)


@contextlib.contextmanager
def spoiling(session: Session, key: LinkKey, chance: random.Random, step: int) -> Iterator[tuple[str, int]]:
    """A receiver that spoils its line number `step`; asked a second time it does all right."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        served = 0

        def serve() -> None:
            nonlocal served
            while True:
                try:
                    connection, _ = listening.accept()
                except OSError:
                    return
                with connection, contextlib.suppress(OSError, InputError):
                    talk(connection, step if served == 0 else STEPS)
                served += 1

        def talk(connection: socket.socket, spoiled: int) -> None:
            def say(number: int, line: bytes) -> None:
                connection.sendall(mutated(chance, line.rstrip()) if number == spoiled else line)

            connection.settimeout(MOST_S)
            asked = nonce()
            say(0, Challenge(nonce=asked).pack())
            if spoiled != 0:
                answer = Hello.unpack(connection.recv(1 << 12).rstrip())
                proof = receiver_proof(key.token, asked, answer, session)
                say(1, Welcome(proof=proof, session=session).pack())
                say(2, Credit(window_end=7).pack())
                say(3, Credit(window_end=9).pack())
            connection.shutdown(socket.SHUT_WR)
            heard(connection)

        thread = threading.Thread(target=serve)
        thread.start()
        address = listening.getsockname()
        try:
            with kept(key, address):
                yield address
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            thread.join(10)


def test_whatever_a_receiver_says_a_source_ends_with_a_sentence_or_has_the_session(
    make_session: MakeSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When a receiver begins to talk nonsense, the source keeps the credit that it had been given."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setattr(session_client, "_PATIENCE_S", 0.5)
    monkeypatch.setattr(session_client, "_PAUSE_S", 0.002)
    chance, session, key = random.Random(3), make_session(), LinkKey.random()
    heard_of, refused = 0, []
    for number in range(LINES):
        step, begun = number % STEPS, time.monotonic()
        with spoiling(session, key, chance, step) as address:
            try:
                with SessionClient(*address, 0) as client:
                    assert client.wait_closed(10)
                    assert client.session == session
                    assert (7 if step == 3 else 0) <= client.window_end < 1 << 64
                    heard_of += 1
            except TransportError as error:
                refused.append(str(error))
        assert time.monotonic() - begun < MOST_S
    assert heard_of > LINES // 8 < len(refused)
    for said in refused:
        assert "TCP 127.0.0.1:" in said
        assert len(said) < 1000
