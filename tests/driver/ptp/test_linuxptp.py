"""linuxptp as grandmaster, over a tap device, in a network of the test's own: the machine's clock is not touched."""

import contextlib
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from framelane.driver.ptp.frame_messages import FrameMessages
from framelane.driver.ptp.settings import PtpSettings
from framelane.driver.ptp.slave import PtpSlave
from framelane.driver.ptp.software_clock import SoftwareClock, TapFrames
from framelane.driver.ptp.status import PtpStatus
from framelane.driver.simulated.tap import Tap
from framelane.driver.simulated.tap_board import ip_command
from framelane.models.roce_tx.wire import Endpoint
from framelane.models.time.ptp_frame import Transport
from framelane.models.time.time_counter import NS
from tap_wire import TAP, skip_without_tap

PATIENCE_S = 60.0
MOST_URGENT = -20
DOMAIN = 7
LOCK_NS = 20e6
"""Busy cores give a process its turn when they like: ten milliseconds late and more."""
US = Endpoint(0x02_00_00_00_00_02, 0x0A_4D_00_02)
MASTER = "020000.fffe.000001-1"
CONFIG = """[global]
free_running 1
masterOnly 1
twoStepFlag 1
time_stamping software
network_transport {transport}
domainNumber {domain}
logSyncInterval -5
logMinDelayReqInterval -5
logAnnounceInterval -2
uds_address {socket}
"""


@pytest.fixture
def tap(network: tuple[str, str]) -> Iterator[Tap]:
    if not shutil.which("ptp4l") or not shutil.which("pmc"):
        pytest.skip("linuxptp is not installed: apt-get install linuxptp")
    with skip_without_tap() as tap:
        for command in (f"link set {TAP} address 02:00:00:00:00:01", f"address add 10.77.0.1/24 dev {TAP}"):
            ip_command(command)
        ip_command(f"link set {TAP} up")
        yield tap


@pytest.fixture
def before_others() -> Iterator[None]:
    """The processor when it is needed, for this process and what it starts: both clocks are read by programs."""
    own = os.getpriority(os.PRIO_PROCESS, 0)
    with contextlib.suppress(PermissionError):  # of root alone
        os.setpriority(os.PRIO_PROCESS, 0, MOST_URGENT)
    yield
    os.setpriority(os.PRIO_PROCESS, 0, own)


def follow(slave: PtpSlave, tap: Tap, ptp4l: "subprocess.Popen[bytes]", *, locked: bool) -> PtpStatus:
    """Until every request is answered, with a lock or on the way to it; the status of then."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        tap.wait(min(slave.steer(), 0.05))
        status = slave.status
        counted = status.counters
        if status.locked >= locked and counted["requests"] == counted["answered"] >= 20:
            return status
        assert ptp4l.poll() is None, "ptp4l has ended"
        assert time.monotonic() < deadline, status


def pmc(folder: Path) -> str:
    """What linuxptp's own client says of the master's port and clock."""
    command = ["pmc", "-u", "-b", "0", "-d", str(DOMAIN), "-s", str(folder / "socket"), "-i", str(folder / "pmc")]
    asked = [*command, "GET PORT_DATA_SET", "GET DEFAULT_DATA_SET"]
    return subprocess.run(asked, capture_output=True, text=True, timeout=PATIENCE_S, check=True).stdout


@pytest.mark.usefixtures("before_others")
@pytest.mark.parametrize(("transport", "locked"), [("ethernet", True), ("udp", False)])
def test_it_locks_to_linuxptp_and_no_request_is_left_unanswered(
    tap: Tap, transport: Transport, locked: bool, tmp_path: Path
) -> None:
    named = {"ethernet": "L2", "udp": "UDPv4"}[transport]
    config = CONFIG.format(transport=named, domain=DOMAIN, socket=tmp_path / "socket")
    (tmp_path / "config").write_text(config)
    clock = SoftwareClock()
    messages = FrameMessages(TapFrames(tap, clock), US, transport)
    slave = PtpSlave(clock, messages, PtpSettings(domain=DOMAIN, lock_ns=LOCK_NS))
    with (tmp_path / "log").open("wb") as log:
        command = ["ptp4l", "-f", str(tmp_path / "config"), "-i", TAP, "-m", "-q"]
        with subprocess.Popen(command, stdout=log, stderr=log) as ptp4l:
            try:
                status = follow(slave, tap, ptp4l, locked=locked)
                off_ns = clock.read() // NS - time.time_ns()
                said = pmc(tmp_path).split()
            finally:
                ptp4l.send_signal(signal.SIGTERM)
    assert said[said.index("portState") + 1] == "MASTER"
    assert said[said.index("domainNumber") + 1] == str(DOMAIN)
    assert (status.master, status.clock_class) == (MASTER, 248)
    assert not status.tai, "it says that its time is its own"
    assert (status.counters["unanswered"], status.fault) == (0, "")
    assert status.counters["sync"] > 20
    if locked:
        assert 1 <= status.steps <= 1 + status.counters["doubts"], "stepped again, though nothing was measured anew"
        assert abs(off_ns) < 3 * LOCK_NS, "a free-running ptp4l tells this machine's time"
