"""A board behind the service: configured with the session of its run, armed by `start`, given credit, disarmed."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from framelane.driver.registers.recording import RecordingRegisters
from framelane.driver.registers.register_file import RegisterFile
from framelane.serve import Client, ServiceError
from framelane.session.session import Session
from framelane.source import emulate
from live_recv import wait_until
from serve_board import serving
from served import configuration, served


class Transmitter(RecordingRegisters):
    """Registers alone: with room for the example of docs/howto/board.md, and a memory that keeps nothing."""

    def write_memory(self, address: int, data: bytes) -> None:
        """Take it."""

    def interrupt(self) -> bool:
        return False


@pytest.fixture
def transmitter(make_transmitter: Callable[..., Any], tmp_path: Path) -> Iterator[Transmitter]:
    board = Transmitter(make_transmitter(sizes=16 | 4 << 12 | 16 << 16))
    with serving(tmp_path / "board.sock", board):
        yield board


def with_board(folder: Path, **changes: Any) -> dict[str, Any]:
    configured = configuration()
    configured["source"]["plan"]["pixels"] = "raw"
    source = configured["source"]["plan"]["source"]
    document = {
        "transmitter": source,
        "receiver": [{"name": "disk", "session": "session.json"}],
        "flow": [{"name": "all", "receivers": ["disk"]}],
    }
    board = {"address": f"sim:{folder / 'board.sock'}", "document": document | changes}
    return configured | {"board": board}


def test_a_board_is_armed_with_the_receiver_gets_its_credit_and_is_disarmed_with_it(
    tmp_path: Path, transmitter: Transmitter
) -> None:
    registers = RegisterFile(transmitter)

    def armed() -> bool:
        return bool(registers["control.arm"])

    with served(tmp_path) as here, Client(here.url) as client:
        client.configure(with_board(tmp_path))
        client.arm()
        session = Session.load(tmp_path / "session.json")
        assert registers["destination[0].base"] == session.base
        assert registers["qp[0].rkey"] == session.rkey
        assert not armed()
        assert client.start()["state"] == "running"
        assert armed()
        assert registers["destination[0].window_end"] == 64
        port = client._http.get("/api/configuration").json()["source"]["port"]
        emulate(session=tmp_path / "session.json", port=port, frames=10)
        assert wait_until(lambda: registers["destination[0].window_end"] == 74)
        status = client.stop()
        assert not armed()
        assert (status["state"], status["loss"]["complete"]) == ("ended", 10)
    assert json.loads((tmp_path / "board.json").read_text())["transmitter"]["mac"] == "02:00:00:00:00:01"


def test_a_board_that_is_not_there_or_expects_another_source_is_a_sentence_and_the_run_is_not_armed(
    tmp_path: Path, transmitter: Transmitter
) -> None:
    with served(tmp_path) as here, Client(here.url) as client:
        other = {"transmitter": {"mac": "02:00:00:00:00:01", "ip": "192.0.2.1"}}
        client.configure(with_board(tmp_path, **other))
        with pytest.raises(ServiceError, match=r"the ip of \[transmitter\] is 192\.0\.2\.1: correct one of them"):
            client.arm()
        assert client.status()["state"] == "error"
        configured = with_board(tmp_path)
        configured["board"]["address"] = f"sim:{tmp_path / 'nobody.sock'}"
        client.configure(configured)
        with pytest.raises(ServiceError, match=r"nobody\.sock") as refused:
            client.arm()
        assert refused.value.status == 503
        configured["board"]["document"]["receiver"][0]["session"] = "other.json"
        with pytest.raises(ServiceError, match=r'no receiver has session = "session\.json"'):
            client.configure(configured)
        client.configure(with_board(tmp_path))
        assert client.arm()["state"] == "armed", "it can be armed again"
        client.stop()
