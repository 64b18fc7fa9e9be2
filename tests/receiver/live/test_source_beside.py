"""A source beside a run, in a thread of its own: what goes wrong with it ends the run, and is raised."""

import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NoReturn

import pytest

from framelane.base.errors import ConfigError, InputError, TransportError
from framelane.receiver.live import reception
from framelane.receiver.live.packet_source import Capture, Live
from framelane.receiver.live.reception import Reception, receive
from framelane.session.session import Session
from framelane.session.session_plan import SessionPlan
from framelane.source import Outcome, emulate
from own_source import own_address, own_port

pytestmark = pytest.mark.timeout(60)


@pytest.fixture
def port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def run(port: int) -> Iterator[Reception]:
    """A run that ends when its sources say so, and not by itself."""
    ends = {"source": own_address(), "receiver": "127.0.0.1"}
    nodes: dict[str, object] = {end: {"mac": "02:00:00:00:00:01", "ip": ip} for end, ip in ends.items()}
    fields = {"rows": 16, "columns": 128, "n_slots": 3, "mtu": 1024, "src_port": own_port()}
    plan = SessionPlan.model_validate(fields | nodes)
    with receive(Live(transport="udp", plan=plan, port=port, link_port=0)) as opened:
        yield opened


@pytest.fixture
def to(run: Reception) -> str:
    host, link = run.serve()
    return f"{host}:{link}"


def test_all_that_is_sent_is_received_and_what_the_source_returns_can_be_had(
    run: Reception, to: str, port: int
) -> None:
    with run.beside(emulate, to=to, port=port, frames=8) as sent:
        numbers = [frame.number for frame in run]
    assert numbers == list(range(8))
    assert (sent.result().sent, sent.result().faults) == (8, [])
    assert (str(run.tally).split(" + ")[0], run.fault) == ("8 sent = 8 complete", "")


def stops(outcome: Outcome) -> NoReturn:
    raise RuntimeError(f"planted after {outcome.sent}")


def test_a_source_that_does_not_find_the_receiver_ends_the_run(run: Reception) -> None:
    with pytest.raises(TransportError, match="no receiver at TCP"), run.beside(emulate, to="127.0.0.1:1", frames=8):
        assert list(run) == []
    assert run.fault.startswith("the run ended early: its source has failed: no receiver at TCP 127.0.0.1:1")


def test_a_source_that_fails_before_its_first_frame_ends_the_run(run: Reception, to: str, port: int) -> None:
    missing = pytest.raises(InputError, match=r"there is no file none\.h5")
    with missing, run.beside(emulate, to=to, port=port, frames=8, input="none.h5"):
        assert list(run) == []
    assert "its source has failed: there is no file none.h5" in run.fault


def test_a_source_that_fails_between_frames_ends_the_run_with_those_that_came(
    run: Reception, to: str, port: int
) -> None:
    planted = pytest.raises(RuntimeError, match="planted after 1")
    with planted, run.beside(emulate, to=to, port=port, rate=10, frames=100, progress=stops):
        assert len(list(run)) == 1
    assert run.fault == "the run ended early: its source has failed: planted after 1"
    assert run.tally.holds


def test_who_breaks_off_ends_the_source(run: Reception, to: str, port: int) -> None:
    with run.beside(emulate, to=to, port=port) as sent:
        for frame in run:
            if frame.number == 4:
                break
    assert sent.result().sent >= 5
    assert run.tally.holds


def test_what_the_block_raises_is_raised(run: Reception, to: str, port: int) -> None:
    with pytest.raises(KeyError, match="mine"), run.beside(emulate, to=to, port=port):
        raise KeyError("mine")


def test_a_source_that_goes_on_without_its_receiver_is_an_error(
    run: Reception, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reception, "_SOURCE_S", 0.1)
    end = threading.Event()
    with pytest.raises(TransportError, match=r"the source goes on 0\.1 s after"), run.beside(end.wait):
        pass
    end.set()


def test_a_capture_has_no_source_beside_it(make_session: Callable[..., Session], tmp_path: Path) -> None:
    make_session().save(tmp_path / "session.json")
    (tmp_path / "tx.pcap").write_bytes(bytes.fromhex("d4c3b2a1020004000000000000000000ffff000001000000"))
    capture = Capture(tmp_path / "tx.pcap", tmp_path / "session.json")
    refused = pytest.raises(ConfigError, match="the packets are of a capture")
    with refused, receive(capture) as run, run.beside(print):
        pass
