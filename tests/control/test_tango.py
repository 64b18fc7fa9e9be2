"""A service as a Tango device, by Tango's own server without a database and its own client."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import tango

from framelane.control.names import COMMANDS, READINGS, SETTINGS, Look
from framelane.serve import Client
from live_recv import wait_until
from own_source import own_port
from served import Served, configuration, served

DEVICE = "test/framelane/1"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("served")) as found:
        yield found


@pytest.fixture(scope="module")
def device(service: Served, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    said, port = tmp_path_factory.mktemp("tango") / "said", own_port()
    command = [sys.executable, "-m", "framelane", "tango", service.url, "--device", DEVICE, "--port", str(port)]
    with said.open("w") as file, subprocess.Popen(command, stdout=file, stderr=file) as server:
        try:
            assert wait_until(lambda: "Ready to accept request" in said.read_text()), said.read_text()
            yield tango.DeviceProxy(f"tango://127.0.0.1:{port}/{DEVICE}#dbase=no")
            server.send_signal(signal.SIGTERM)
            assert server.wait(30) == 0, said.read_text()
        finally:
            server.kill()


def test_it_has_the_names_of_epics(device: Any) -> None:
    assert {each.name for each in READINGS} | {each.name for each in SETTINGS} <= set(device.get_attribute_list())
    assert set(COMMANDS) <= {each.cmd_name for each in device.command_list_query()}


def test_what_the_service_refuses_is_the_commands_error(device: Any) -> None:
    with pytest.raises(tango.DevFailed) as failed:
        device.command_inout("Start")
    assert failed.value.args[0].desc == "the service is idle, nothing can be started: arm it first"
    assert device.state() == tango.DevState.OFF


def test_a_run_is_armed_and_ended_and_read(service: Served, device: Any) -> None:
    with Client(service.url) as client:
        client.configure(configuration())
        device.command_inout("Arm")
        assert device.state() == tango.DevState.STANDBY
        service.send(6, impair="drop=0.02")
        assert wait_until(lambda: device.read_attribute("Sent").value == 6)
        client.wait_for("ended", 20)
        device.write_attribute("Threshold", 33)
        assert client.thresholds()["threshold"] == 33
        with pytest.raises(tango.DevFailed):
            device.write_attribute("Threshold", 0)
        look = Look.at(client)
    assert look.lost.startswith("frame ")
    for each in READINGS:
        assert device.read_attribute(each.name).value == each.value(look), each.name
    assert device.state() == tango.DevState.ON
    assert device.status().startswith("ended. 6 sent = ")
    device.command_inout("Abort")
    assert device.state() == tango.DevState.OFF


def test_a_service_that_has_gone_is_said(tmp_path: Path) -> None:
    nowhere, port = f"http://127.0.0.1:{own_port()}", own_port()
    command = [sys.executable, "-m", "framelane", "tango", nowhere, "--port", str(port), "--read-only"]
    with (tmp_path / "said").open("w") as file, subprocess.Popen(command, stdout=file, stderr=file) as server:
        try:
            assert wait_until(lambda: "Ready to accept request" in (tmp_path / "said").read_text())
            device = tango.DeviceProxy(f"tango://127.0.0.1:{port}/framelane/service/1#dbase=no")
            assert device.state() == tango.DevState.UNKNOWN
            assert "is the service running?" in device.status()
            with pytest.raises(tango.DevFailed):
                device.read_attribute("Sent")
            assert "Arm" not in {each.cmd_name for each in device.command_list_query()}
        finally:
            server.terminate()
