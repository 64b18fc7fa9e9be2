"""`framelane recv` on two ranks, started by the launcher of a real MPI, and a source of both."""

import contextlib
import importlib.util
import os
import secrets
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from numpy.typing import NDArray

from framelane.session.session import Session
from framelane.session.session_client import SessionClient
from framelane.source.emulate_images import images

RunCli = Callable[..., tuple[int, str, str]]
FRAMELANE = "from framelane.cli import main; main()"
_BESIDE = shutil.which("mpiexec", path=str(Path(sys.executable).parent))
MPIEXEC = _BESIDE or shutil.which("mpiexec")
PATIENCE_S = 60
ROWS, COLUMNS, SLOTS = 32, 64, 64

needs_mpi = pytest.mark.skipif(
    MPIEXEC is None or importlib.util.find_spec("mpi4py") is None,
    reason="several ranks need mpi4py and an MPI library: pip install framelane[mpi] mpich",
)


def plan(folder: Path, pixels: str = "raw") -> Path:
    path = folder / "plan.toml"
    path.write_text(
        f'rows = {ROWS}\ncolumns = {COLUMNS}\nn_slots = {SLOTS}\npixels = "{pixels}"\n'
        f"src_port = {49152 + secrets.randbelow(16000)}\n"  # others run at the same time
        'source = { mac = "02:00:00:00:00:01", ip = "127.0.0.2" }\n'
        'receiver = { mac = "02:00:00:00:00:02", ip = "127.0.0.1" }\n'
        "[metadata]\ndistance_mm = 150\nbeam_x = 30\nbeam_y = 20\nenergy_kev = 9\n"
        'material = "CdTe"\nthickness_um = 1000\n'
    )
    return path


def free_ports() -> int:
    """The first of two ports that are free, for UDP and for TCP."""
    while True:
        base = 20000 + secrets.randbelow(20000)
        with contextlib.ExitStack() as stack:
            for kind, port in ((k, base + n) for k in (socket.SOCK_DGRAM, socket.SOCK_STREAM) for n in range(2)):
                try:
                    stack.enter_context(socket.socket(type=kind)).bind(("127.0.0.1", port))
                except OSError:
                    break
            else:
                return base


class Run:
    """`framelane recv` on two ranks, which write to `folder`; what they say is `text` when it has ended."""

    def __init__(
        self, folder: Path, *options: str, recovery: bool = False, pixels: str = "raw", program: str = FRAMELANE
    ) -> None:
        assert MPIEXEC
        self.folder, self.port, self._token = folder, free_ports(), secrets.token_hex(8)
        self.text, self.status = "", -1
        version = subprocess.run([MPIEXEC, "--version"], capture_output=True, text=True, check=False).stdout
        self.open_mpi = "HYDRA" not in version
        usual = ["--oversubscribe", "--bind-to", "none"] if self.open_mpi else []
        usual += ["--enable-recovery"] if self.open_mpi and recovery else []
        root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        self._out = (folder / "out").open("w+")
        self.process = subprocess.Popen(
            [
                *(MPIEXEC, *usual, "-n", "2", sys.executable, "-c", program, "recv", "--transport", "udp"),
                *("--plan", plan(folder, pixels), "--output", "run.h5", "--publish", "session.json"),
                *("--link-port", str(self.port), "--port", str(self.port), *options),
            ],
            cwd=folder,
            env=os.environ | root | {"FRAMELANE_TEST_RUN": self._token},
            stdout=self._out,
            stderr=subprocess.STDOUT,
        )

    def wait_ready(self) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while (text := self.said()).count("waiting for 127.0.0.2") < 2:
            assert time.monotonic() < deadline, text
            assert self.process.poll() is None, text
            time.sleep(0.05)

    def emulate(self, run_cli: RunCli, *options: object) -> tuple[int, str, str]:
        to = [f"127.0.0.1:{self.port + rank}" for rank in range(2)]
        return run_cli("emulate", "--to", to[0], "--to", to[1], "--port", self.port, *options)

    def said(self) -> str:
        return (self.folder / "out").read_text()

    def pid(self, rank: int) -> int:
        """Process ID of a rank."""
        for path in Path("/proc").glob("[0-9]*/environ"):
            with contextlib.suppress(OSError):
                variables = path.read_bytes().split(b"\0")
                ranks = {f"{name}={rank}".encode() for name in ("OMPI_COMM_WORLD_RANK", "PMI_RANK")}
                if f"FRAMELANE_TEST_RUN={self._token}".encode() in variables and ranks & set(variables):
                    return int(path.parent.name)
        pytest.fail(f"there is no rank {rank}")

    def end(self) -> str:
        self.status = self.process.wait(PATIENCE_S)
        self.text = self.said()
        return self.text

    def __enter__(self) -> "Run":
        return self

    def __exit__(self, *error: object) -> None:
        if self.process.poll() is None:
            self.process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(10)
            self.process.kill()
            self.process.wait()
        self._out.close()


def sent(folder: Path) -> list[NDArray[Any]]:
    """The images of an emulated source, which come in turn."""
    return [*images(Session.load(folder / "session_0.json"), None, None, 1)]


@contextlib.contextmanager
def emulating(run: Run, *options: str) -> Iterator[None]:
    """A source of both ranks, beside the test; within the block both have received some 20 frames and more."""
    command = [sys.executable, "-c", FRAMELANE, "emulate", "--port", str(run.port), "--rate", "100", *options]
    to = [word for rank in range(2) for word in ("--to", f"127.0.0.1:{run.port + rank}")]
    with subprocess.Popen([*command, *to], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as source:
        try:
            for rank in range(2):
                with SessionClient("127.0.0.1", run.port + rank) as client:
                    deadline = time.monotonic() + PATIENCE_S
                    while client.window_end < SLOTS + 20:
                        assert time.monotonic() < deadline, run.said()
                        time.sleep(0.02)
            yield
        finally:
            source.terminate()
