"""`framelane tap`: a command beside the simulated transmitter, in a network that ends with it."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from framelane.cli.tap import _beside
from framelane.cli.terminal import orderly_end
from framelane.driver.simulated.verilated_rc import SLOW_HZ, SimulatedRcBoard
from tap_wire import tool

RunCli = Callable[..., tuple[int, str, str]]
TAP = [sys.executable, "-c", "from framelane.cli import main; main()", "tap"]


@pytest.fixture
def can_make_networks() -> None:
    """Have what is needed; the simulation is compiled here, which takes minutes where much else runs."""
    own = ["unshare", "--net", *(["--map-root-user"] if os.geteuid() else [])]
    making = [*own, "ip", "tuntap", "add", "mode", "tap"]
    if not shutil.which("unshare") or subprocess.run(making, capture_output=True).returncode:
        pytest.skip("no network with a tap device can be made: unshare --net, or ip tuntap, is refused")
    SimulatedRcBoard(clock_hz=SLOW_HZ).close()


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*TAP, *arguments], capture_output=True, text=True, timeout=200, check=False)


@pytest.mark.usefixtures("can_make_networks")
def test_a_command_runs_beside_the_transmitter_and_its_counters_are_printed() -> None:
    done = run(
        "--address",
        "10.78.0.9",
        "--host",
        "10.78.0.1/24",
        tool("ping"),
        "-W",
        "10",
        "-c",
        "2",
        "-i",
        "0.2",
        "10.78.0.9",
    )
    assert done.returncode == 0, done.stderr
    assert "2 packets transmitted, 2 received" in done.stdout
    counters = json.loads(done.stdout.splitlines()[-1])
    assert (counters["echo_answered"], counters["arp_answered"]) == (2, 1)


@pytest.mark.usefixtures("can_make_networks")
def test_the_status_is_that_of_the_command() -> None:
    assert run("--", "sh", "-c", "exit 7").returncode == 7
    assert run("sh", "-c", "kill -9 $$").returncode == 128 + 9


@pytest.mark.usefixtures("can_make_networks")
def test_the_command_ends_with_the_program(tmp_path: Path) -> None:
    running = subprocess.Popen([*TAP, "sh", "-c", f"echo $$ > {tmp_path}/pid; exec sleep 1000"], stdout=subprocess.PIPE)
    with running:
        deadline = time.monotonic() + 100
        while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text().strip():
            assert time.monotonic() < deadline
            assert running.poll() is None
            time.sleep(0.05)
        running.send_signal(signal.SIGTERM)
        assert running.wait(20) == 128 + signal.SIGTERM
    assert not Path("/proc", (tmp_path / "pid").read_text().strip()).exists()


def test_a_signal_while_the_command_starts_ends_it_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    started = []

    class Told(subprocess.Popen[bytes]):
        """Somebody ends the program as soon as the command runs."""

        def __init__(self, command: list[str]) -> None:
            super().__init__(command)
            started.append(self)
            signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr(subprocess, "Popen", Told)
    with pytest.raises(SystemExit) as ended, orderly_end():
        _beside(["sleep", "1000"])
    assert ended.value.code == 128 + signal.SIGTERM
    assert started[0].returncode == -signal.SIGTERM


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--address", "10.77.0", "true"), "Expected 4 octets in '10.77.0': give --address as 10.77.0.2"),
        (("--host", "10.77.0.1/33", "true"), "'33' is not a valid netmask"),
        ((), "Missing argument 'command"),
    ],
)
def test_what_cannot_be_is_said_at_once(run_cli: RunCli, arguments: tuple[str, ...], sentence: str) -> None:
    status, out, err = run_cli("tap", *arguments)
    assert (status, out) == (2, "")
    assert sentence.lower() in err.lower()
