"""A command in a guest: what comes out of it, and that it always ends."""

import io
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from errors_of_runs import GuestEnded, TimedOut
from machine import Machine
from rdma_testbed import RdmaTestbed
from run import Outcome, Run

VM = Path(__file__).with_name("machine") / "vm.py"
TALK = """
echo to stdout; echo to stderr >&2
cp "$SHARE/question" "$SHARE/.answer" && mv "$SHARE/.answer" "$SHARE/answer"
touch /usr/framelane-was-here 2>/dev/null && echo the host is not safe
pwd; test -d "/sys/class/infiniband/$RDMA_DEVICE" && echo there is a device; uname -r
python -c 'import pyverbs.device, framelane, sys; print(sys.prefix)'
exit 7
"""


@pytest.fixture(scope="module")
def talk(testbed: RdmaTestbed, tmp_path_factory: pytest.TempPathFactory) -> tuple[Outcome, bytes, Path]:
    """How `TALK` ended, what was printed while it ran, and its share."""
    share = tmp_path_factory.mktemp("share with blanks")
    (share / "question").write_bytes(bytes(range(256)) * 4096)
    printed = io.BytesIO()
    with Run(testbed, ["sh", "-c", TALK], share) as run:
        outcome = run.wait(printed)
    return outcome, printed.getvalue(), share


def test_exit_status_and_output_of_the_command_pass_through(talk: tuple[Outcome, bytes, Path]) -> None:
    outcome, printed, _ = talk
    assert outcome.status == 7
    assert outcome.stderr == b"to stderr\n"
    assert outcome.stdout.startswith(b"to stdout\n")
    assert printed == outcome.stdout


def test_the_command_finds_the_folder_the_python_and_the_device_of_the_host(talk: tuple[Outcome, bytes, Path]) -> None:
    lines = talk[0].stdout.decode().splitlines()
    assert lines[1:3] == [str(Path.cwd()), "there is a device"]
    assert lines[-1] == sys.prefix


def test_a_file_comes_through_the_share_whole_and_nothing_else_is_left(talk: tuple[Outcome, bytes, Path]) -> None:
    share = talk[2]
    assert (share / "answer").read_bytes() == (share / "question").read_bytes()
    assert sorted(path.name for path in share.iterdir()) == ["answer", "question"]


def test_in_a_machine_the_kernel_is_another_and_the_files_of_the_host_cannot_be_written(
    talk: tuple[Outcome, bytes, Path], testbed: RdmaTestbed
) -> None:
    if not isinstance(testbed, Machine):
        pytest.skip(f"commands run in {testbed.name}, no machine is started")
    assert os.uname().release not in talk[0].stdout.decode()
    assert not Path("/usr/framelane-was-here").exists()


def processes_with(share: Path) -> list[int]:
    """Processes of which the command line names this share."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if str(share).encode() in path.read_bytes() and int(path.parent.name) != os.getpid():
                found.append(int(path.parent.name))
        except OSError:  # it has just ended
            continue
    return found


def test_a_command_that_does_not_end_is_ended(machine: Machine, tmp_path: Path) -> None:
    start = time.monotonic()
    with Run(machine, ["sleep", "1000"], tmp_path, timeout_s=3) as run, pytest.raises(TimedOut, match="within 3 s"):
        run.wait()
    assert time.monotonic() - start < 10
    assert processes_with(tmp_path) == []


def test_a_command_that_kills_the_guest_is_told_from_one_that_ends(machine: Machine, tmp_path: Path) -> None:
    crash = "echo about to crash; echo c >/proc/sysrq-trigger; sleep 1000"
    with (
        Run(machine, ["sh", "-c", crash], tmp_path) as run,
        pytest.raises(GuestEnded, match="a virtual machine ended before its command: its last words were"),
    ):
        run.wait()


def test_a_file_that_never_comes_is_not_waited_for(testbed: RdmaTestbed, tmp_path: Path) -> None:
    with (
        Run(testbed, ["sh", "-c", "echo no such thing >&2"], tmp_path) as run,
        pytest.raises(GuestEnded, match=r"(?s)did not write session.json: .*no such thing"),
    ):
        run.wait_for("session.json")


def started(share: Path) -> subprocess.Popen[bytes]:
    """The tool on the command line, once its machine has started."""
    command = [sys.executable, str(VM), "--where", "machine", "--share", str(share), "--", "sleep", "1000"]
    tool = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    wait_until(lambda: len(processes_with(share)) > 1)
    return tool


def wait_until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + 30
    while not true():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_to_the_tool_ends_the_machine_too(
    machine: Machine, tmp_path: Path, number: signal.Signals, status: int
) -> None:
    tool = started(tmp_path)
    tool.send_signal(number)
    output, _ = tool.communicate(timeout=30)
    assert (tool.returncode, output) == (status, b"")
    assert processes_with(tmp_path) == []
    assert list(tmp_path.iterdir()) == []


def test_a_machine_does_not_outlive_a_tool_that_is_killed(machine: Machine, tmp_path: Path) -> None:
    tool = started(tmp_path)
    tool.kill()
    tool.communicate(timeout=30)
    wait_until(lambda: processes_with(tmp_path) == [])
