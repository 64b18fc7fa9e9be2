"""One command in a guest: started, watched, ended."""

import contextlib
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Self

import debian
from errors_of_runs import GuestEnded, TimedOut
from rdma_testbed import RdmaTestbed

_ROOT = Path(__file__).resolve().parents[3]
_FOLDERS = (
    *(f"sim/softroce/{name}" for name in ("machine", "guest", "rc_live")),
    *("tests/support", "tests/support/packets"),
)
PYTHONPATH = {"PYTHONPATH": os.pathsep.join(str(_ROOT / folder) for folder in _FOLDERS)}
"""Where a command's Python finds the modules beside it: the same as pytest's on the host."""

_POLL_S = 0.05
_LAST_WORDS = 12
_INHERITED = ("FRAMELANE_", "NUMBA_", "PYTEST_", "LANG", "LC_")
"""Variables of this process, or how their names begin, that the command gets too."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a command ended: its exit status, all that it printed, and the seconds from start to power-off."""

    status: int
    stdout: bytes
    stderr: bytes
    seconds: float


class Run:
    """`command`, started in `testbed` with the folder `share` (read-write; all else of the host is read-only there).

    Files go in and out through `share`, under the same path: written under another name and then renamed, the other
    side sees them whole. The command's working folder is this process's, its Python is the one that runs this, with
    pyverbs. `timeout_s` counts from the start. To be used in a `with` block: at its end the guest is gone.
    """

    def __init__(
        self,
        testbed: RdmaTestbed,
        command: list[str],
        share: Path,
        *,
        timeout_s: float = 300,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.share = share.resolve()
        self._testbed = testbed
        self._timeout_s = timeout_s
        self._folder = self.share / ".guest"
        self._process: subprocess.Popen[bytes] | None = None
        self._start = time.monotonic()
        try:
            self._begin(command, environment or {})
        except BaseException:  # a signal, too: nothing stays
            self.close()
            raise

    def _begin(self, command: list[str], environment: Mapping[str, str]) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder.mkdir()
        (self._folder / "command.sh").write_text(_script(command, self.share, environment))
        (self._folder / "link.env").write_text(_exports(self._testbed.link.variables()))
        for name in ("stdout", "stderr"):
            (self._folder / name).touch()
        process = self._testbed.process(self.share)
        self._start = time.monotonic()
        with (self._folder / "console").open("wb") as console:
            self._process = subprocess.Popen(
                process, stdin=subprocess.DEVNULL, stdout=console, stderr=console, start_new_session=True
            )

    def wait_for(self, name: str) -> Path:
        """The file `name` of the share, once the command has written it. GuestEnded, TimedOut where it never does."""
        path = self.share / name
        while not path.exists():
            if not self._alive() and not path.exists():
                raise GuestEnded(f"the command ended and did not write {name}: {self._last_words()}")
            time.sleep(_POLL_S)
        return path

    def wait(self, stdout: BinaryIO | None = None, stderr: BinaryIO | None = None) -> Outcome:
        """How the command ended. What it prints is copied to `stdout` and `stderr` as it comes.

        GuestEnded where the guest ended first, TimedOut where the command did not end in its time.
        """
        with contextlib.ExitStack() as stack:
            copies = [
                (stack.enter_context((self._folder / name).open("rb")), target)
                for name, target in (("stdout", stdout), ("stderr", stderr))
                if target
            ]
            alive = True
            while alive:
                try:
                    alive = self._alive()
                finally:
                    for source, target in copies:
                        target.write(source.read())
                        target.flush()
                time.sleep(_POLL_S if alive else 0)
        seconds = time.monotonic() - self._start
        try:
            status = int((self._folder / "status").read_text())
        except FileNotFoundError:
            raise GuestEnded(f"{self._testbed.name} ended before its command: {self._last_words()}") from None
        out, err = ((self._folder / name).read_bytes() for name in ("stdout", "stderr"))
        return Outcome(status, out, err, seconds)

    def close(self) -> None:
        """End the guest, if it has not ended. May be called twice."""
        if self._process is not None and self._process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        self._testbed.clean(self.share)
        shutil.rmtree(self._folder, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _alive(self) -> bool:
        """Whether the process runs. TimedOut when it has run too long."""
        if self._process is None or self._process.poll() is not None:
            return False
        if time.monotonic() - self._start > self._timeout_s:
            raise TimedOut(f"the command did not end within {self._timeout_s:g} s: {self._last_words()}")
        return True

    def _last_words(self) -> str:
        """What the guest has printed last, for a message."""
        texts = ((self._folder / name).read_text(errors="replace") for name in ("console", "stderr"))
        lines = [line.strip() for text in texts for line in text.splitlines() if line.strip()]
        return "its last words were\n    " + "\n    ".join(lines[-_LAST_WORDS:]) if lines else "it printed nothing"


def _script(command: list[str], share: Path, environment: Mapping[str, str]) -> str:
    """What the guest's shell runs."""
    inherited = {name: value for name, value in os.environ.items() if name.startswith(_INHERITED)}
    programs = os.pathsep.join((str(Path(sys.executable).parent), "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"))
    folders = str(debian.pyverbs_folder()), PYTHONPATH["PYTHONPATH"], os.environ.get("PYTHONPATH")
    variables = {
        **inherited,
        "PATH": programs,
        "PYTHONPATH": os.pathsep.join(filter(None, folders)),
        "PYTHONDONTWRITEBYTECODE": "1",
        **dict.fromkeys(("HOME", "TMPDIR", "XDG_CACHE_HOME", "MPLCONFIGDIR"), "/run"),
        "SHARE": str(share),
        **environment,
    }
    return f"{_exports(variables)}cd {shlex.quote(str(Path.cwd()))}\nexec {shlex.join(command)}\n"


def _exports(variables: Mapping[str, str]) -> str:
    return "".join(f"export {name}={shlex.quote(value)}\n" for name, value in variables.items())
