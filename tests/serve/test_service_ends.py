"""A service that is killed, ended, or started anew: no run is lost, and it says what became of the last one."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import h5py
import hdf5plugin  # noqa: F401
import pytest

from framelane.base.errors import InputError
from framelane.receiver import recover
from framelane.serve import Client
from framelane.serve.configuration import Configuration, SourceSetting
from framelane.serve.running import simulated_plan
from framelane.serve.service import Service
from framelane.serve.service_state import State
from framelane.session.session import Session
from framelane.source import Stop, emulate
from framelane.source.emulate_images import images
from live_recv import FRAMELANE, heard
from own_source import own_address
from served import configuration, served


@contextlib.contextmanager
def process(folder: Path, *options: object) -> Iterator[tuple[subprocess.Popen[str], Client]]:
    command = [*FRAMELANE, "serve", folder, "--port", 0, *options]
    with subprocess.Popen(
        [*map(str, command)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as running:
        try:
            url = (
                "http"
                + heard(running, running.stdout, "serving http", "Ctrl-C").split("serving http")[1].split("/: ")[0]
            )
            with Client(url) as client:
                yield running, client
        finally:
            running.kill()


def test_a_service_that_is_killed_in_the_midst_of_a_run_says_where_its_frames_are(tmp_path: Path) -> None:
    port = configuration()["source"]["port"]
    with process(tmp_path) as (running, client):
        client.configure(configuration(port=port))
        armed = client.arm()
        stop = Stop()
        killed_after = 40

        def kill(outcome: object) -> None:
            if client.status()["loss"]["complete"] >= killed_after:
                running.kill()
                stop.wanted = True

        emulate(to=armed["address"], port=port, frames=2000, rate=25, stop=stop, progress=kill)
        assert running.wait(30) == -signal.SIGKILL
    expected = images(Session.load(tmp_path / "session.json"), None, None, 1)
    with process(tmp_path) as (_, client):
        status = client.status()
        assert (status["state"], status["run"], status["file"]) == ("error", 1, "run_000001.h5")
        found = recover(tmp_path / "run_000001.h5", check=True)
        assert (
            f"run 1 was cut off, as the service ended without closing it: run_000001.h5 has {found.frames}"
            in status["said"]
        )
        assert found.frames > 0
        assert not found.ended
        with h5py.File(tmp_path / "run_000001.h5") as file:
            data = file["entry/data"]
            numbers = data["frame_number"][: found.frames].tolist()
            assert all((data["data"][n] == expected[n % len(expected)]).all() for n in numbers)
        assert numbers == list(range(found.frames))
        assert client.arm()["file"] == "run_000002.h5", "it is still configured, and no file is replaced"
        client.stop()


def test_a_signal_ends_the_run_in_order_and_the_process_with_status_0(tmp_path: Path) -> None:
    ends = {"source": own_address(), "receiver": own_address().replace("127.1.", "127.2.")}
    nodes = "".join(f'{end} = {{ mac = "02:00:00:00:00:01", ip = "{ip}" }}\n' for end, ip in ends.items())
    plan = tmp_path / "plan.toml"
    plan.write_text(f'rows = 64\ncolumns = 128\nn_slots = 64\n{nodes}[metadata]\nsample = "lysozyme"\n')
    with process(tmp_path, "--log-json", "--plan", plan) as (running, client):
        assert client.status()["state"] == "armed"
        address = client.status()["address"]
        assert address == f"{ends['receiver']}:4790"

        def end(outcome: object) -> None:
            if client.status()["loss"]["complete"] >= 5:
                running.send_signal(signal.SIGTERM)
                stop.wanted = True

        stop = Stop()
        emulate(to=address, frames=2000, rate=25, stop=stop, progress=end)
        assert running.wait(30) == 0
    with h5py.File(tmp_path / "run_000001.h5") as file:
        assert file["entry/sample/name"][()] == b"lysozyme"
    assert recover(tmp_path / "run_000001.h5", check=True).sound
    with served(tmp_path) as again:
        status = again.service.status()
        assert (status["state"], status["run"]) == (State.ENDED, 1)
        left = recover(tmp_path / "run_000001.h5")
        assert status["said"].startswith(f"{left.frames} sent = {left.frames} complete + 0 incomplete")


def test_the_plan_of_the_tutorial_is_for_an_emulator_on_this_machine(tmp_path: Path) -> None:
    plan = simulated_plan()
    Configuration(source=SourceSetting(plan=plan)).check(tmp_path)
    assert (str(plan.receiver.ip), plan.pixels, plan.rows, plan.columns) == ("127.0.0.1", "corrected", 512, 1024)
    assert plan.source.ip.is_loopback
    assert plan.source.ip != plan.receiver.ip


def test_a_folder_belongs_to_one_service(tmp_path: Path) -> None:
    with served(tmp_path), pytest.raises(InputError, match="another run is writing it"):
        Service(tmp_path)
    Service(tmp_path).close()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("{", "there is a file of this name that is not a state of a service"),
        ('{"format": "framelane-serve-1", "state": "flying"}', "state: is 'flying'"),
        ('{"format": "framelane-serve-1", "state": "idle", "runs": 3}', "runs: is not a key here: did you mean run?"),
    ],
)
def test_a_damaged_state_is_a_sentence_and_is_left_as_it_is(tmp_path: Path, text: str, sentence: str) -> None:
    (tmp_path / "serve.json").write_text(text)
    with pytest.raises(InputError) as refused:
        Service(tmp_path)
    assert sentence in str(refused.value)
    assert (tmp_path / "serve.json").read_text() == text
    assert os.listdir(tmp_path) == ["serve.json"]  # noqa: PTH208


def test_the_state_is_whole_at_every_moment_and_of_mode_0600(tmp_path: Path) -> None:
    with served(tmp_path) as here, Client(here.url) as client:
        client.configure(configuration())
        kept = json.loads((tmp_path / "serve.json").read_text())
        assert kept["configuration"]["source"]["plan"]["rows"] == 64
        assert (tmp_path / "serve.json").stat().st_mode & 0o777 == 0o600
        client.arm()
        kept = json.loads((tmp_path / "serve.json").read_text())
        assert (kept["state"], kept["run"], kept["file"]) == ("armed", 1, "run_000001.h5")
        client.stop()


def test_without_its_extra_the_command_says_how_to_get_it(tmp_path: Path) -> None:
    code = "import sys; sys.modules['uvicorn'] = None\nfrom framelane.cli import main\nmain()"
    command = [sys.executable, "-c", code, "serve", str(tmp_path)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (run.returncode, run.stdout) == (2, "")
    assert 'uvicorn is not installed: pip install "framelane[serve]"' in run.stderr
