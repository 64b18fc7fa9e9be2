"""Records of a service, read and written by independent clients: EPICS' own of Channel Access, and p4p of PVAccess."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from framelane.control.names import READINGS
from framelane.serve import Client
from live_recv import wait_until
from own_source import own_port
from served import Served, configuration, served

PREFIX = "TEST:FL:"
CLIENTS = Path(__file__).parent / "epics_clients.py"


def environment() -> dict[str, str]:
    """Everything on loopback, on ports of this test's own."""
    server, repeater, pva, broadcast = (own_port() for _ in range(4))
    ports = {
        "EPICS_CA_SERVER_PORT": server,
        "EPICS_CA_REPEATER_PORT": repeater,
        "EPICS_PVA_SERVER_PORT": pva,
        "EPICS_PVAS_SERVER_PORT": pva,
        "EPICS_PVA_BROADCAST_PORT": broadcast,
        "EPICS_PVAS_BROADCAST_PORT": broadcast,
    }
    lists = ("CA_ADDR_LIST", "CAS_INTF_ADDR_LIST", "CAS_BEACON_ADDR_LIST", "PVA_ADDR_LIST", "PVAS_INTF_ADDR_LIST")
    found = {name: str(port) for name, port in ports.items()}
    found |= {f"EPICS_{name}": "127.0.0.1" for name in (*lists, "PVAS_BEACON_ADDR_LIST")}
    automatic = ("CA_AUTO_ADDR_LIST", "CAS_AUTO_BEACON_ADDR_LIST", "PVA_AUTO_ADDR_LIST", "PVAS_AUTO_BEACON_ADDR_LIST")
    return os.environ | found | {f"EPICS_{name}": "NO" for name in automatic}


class Clients:
    """Both clients, in a process that lives on."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def ask(self, **wanted: Any) -> dict[str, Any]:
        """What was asked for, by its name without the prefix."""
        asked = {
            kind: {f"{PREFIX}{name}": value for name, value in names.items()}
            if isinstance(names, dict)
            else [f"{PREFIX}{name}" for name in names]
            for kind, names in wanted.items()
        }
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, "the clients have ended"
        return {name.removeprefix(PREFIX): value for name, value in json.loads(line).items()}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("served")) as found:
        yield found


@pytest.fixture(scope="module")
def clients(service: Served, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clients]:
    said = tmp_path_factory.mktemp("ioc") / "said"
    ioc = [sys.executable, "-m", "framelane", "epics", service.url, "--prefix", PREFIX]
    pipe, known = subprocess.PIPE, environment()
    with ExitStack() as stack:
        file = stack.enter_context(said.open("w"))
        server = stack.enter_context(subprocess.Popen(ioc, env=known, stdin=pipe, stdout=file, stderr=file))
        stack.callback(server.kill)
        assert wait_until(lambda: "iocRun: All initialization complete" in said.read_text()), said.read_text()
        command = [sys.executable, str(CLIENTS)]
        asked = stack.enter_context(subprocess.Popen(command, env=known, stdin=pipe, stdout=pipe, text=True))
        stack.callback(asked.kill)
        yield Clients(asked)
        server.send_signal(signal.SIGTERM)
        assert server.wait(30) == 0


def test_what_the_service_refuses_is_said_in_a_record(clients: Clients) -> None:
    clients.ask(put={"Start": 1})
    assert clients.ask(ca=["CommandError"]) == {
        "CommandError": "the service is idle, nothing can be started: arm it first"
    }


def test_a_run_is_armed_and_ended_and_its_first_lost_frame_named(service: Served, clients: Clients) -> None:
    with Client(service.url) as client:
        client.configure(configuration())
        clients.ask(put={"Arm": 1})
        assert clients.ask(ca=["CommandError"]) == {"CommandError": ""}
        assert client.status()["state"] == "armed"
        service.send(6, impair="drop=0.02")
        assert wait_until(lambda: client.status()["loss"]["sent"] == 6)
        assert client.wait_for("ended", 20)["loss"]["incomplete"] > 0
        numbers = {"Threshold": 33, "MinimumPeaks": 4}
        clients.ask(put=numbers)
        assert client.thresholds() == {"threshold": 33, "minimum_peaks": 4}
        status, statistics = client.status(), client.statistics()
        first = next(each for each in client.frames() if not each["complete"])
    assert wait_until(lambda: clients.ask(ca=["RunState"]) == {"RunState": "ended"})
    names = [reading.name for reading in READINGS]
    by_ca, by_pva = clients.ask(ca=[*names, *numbers]), clients.ask(pva=[*names, *numbers])
    assert by_ca == by_pva
    fates = {"Complete": "complete", "Incomplete": "incomplete", "Missing": "missing", "Sent": "sent"}
    assert {name: by_ca[name] for name in fates} == {name: status["loss"][fate] for name, fate in fates.items()}
    assert by_ca["Written"] == statistics["written"]
    assert by_ca["File"] == status["file"]
    named = f"frame {first['number']} (the detector's {first['detector_frame']})"
    assert by_ca["LostFrame"] == f"{named} came without {first['holes']} of its pixels"
    assert {name: by_ca[name] for name in numbers} == numbers
    clients.ask(put={"Abort": 1})
    assert wait_until(lambda: clients.ask(pva=["RunState"]) == {"RunState": "idle"})
