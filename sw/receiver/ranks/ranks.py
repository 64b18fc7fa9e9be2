"""The processes of one run under MPI: who is there, what they tell each other, and that none waits for ever.

Rank 0 hears the others and answers them; nobody else does. All messages are small and are looked for, never waited for:
while it works, every rank calls `beat` now and then, and a rank of which nothing has been heard for `PATIENCE_S`, or
whose process on the same host has gone, counts as lost. No collective call is made but at the start.
"""

import importlib
import os
import socket
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from framelane.base.errors import ConfigError

PATIENCE_S = 300.0
_LEAVING_S = 5.0
"""Seconds that a rank waits at the end for the others."""
_BEAT_S = 0.2
_NAP_S = 0.01
_BEAT, _VALUE, _ANSWER = 1, 2, 3
"""Tags."""
_SIZES = "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MPI_LOCALNRANKS", "SLURM_STEP_NUM_TASKS"
"""What launchers tell a process of how many it is one: Open MPI; MPICH and others with PMI; srun."""


def launched(environment: Mapping[str, str]) -> int:
    """How many processes the launcher has started: 1 where there is no launcher, as in a batch script itself."""
    sizes = (environment.get(name, "") for name in _SIZES)
    return max((int(size) for size in sizes if size.isascii() and size.isdecimal()), default=1)


@dataclass(frozen=True, slots=True)
class Lost:
    """Stands for a rank's report: a sentence that says why nothing more comes from it."""

    why: str


@dataclass(frozen=True, slots=True)
class _Process:
    host: str
    pid: int


@dataclass(slots=True)
class _Said:
    """What a rank has told, and when."""

    at: float
    note: Any = None
    stop: bool = False
    values: int = 0
    value: Any = None


class Ranks:
    """The ranks of `comm`, MPI's communicator of all; every rank makes one at the same time. Of one thread only.

    `rank` of `size`; `local_rank` counts the ranks of the same host.
    """

    def __init__(self, comm: Any, patience_s: float = PATIENCE_S) -> None:
        self.rank, self.size = int(comm.Get_rank()), int(comm.Get_size())
        self._comm, self._patience_s = comm, patience_s
        self._processes: list[_Process] = comm.allgather(_Process(socket.gethostname(), os.getpid()))
        self.host = self._processes[self.rank].host
        self.local_rank = [process.host for process in self._processes[: self.rank]].count(self.host)
        now = time.monotonic()
        self._said = [_Said(now) for _ in range(self.size)]
        self._lost: dict[int, Lost] = {}
        self._unsent: list[Any] = []
        self._beaten, self._stop = 0.0, False
        self.stops: Callable[[], bool] = lambda: False
        """Whether this rank wants all to stop."""
        self._round = 0

    @property
    def notes(self) -> list[Any]:
        """What each rank has noted last, on rank 0; None where that is nothing."""
        return [said.note for said in self._said]

    def beat(self, note: Any = None) -> bool:
        """Give a sign of life, with what rank 0 shall know; whether any rank wants all to stop. Call it often."""
        self._said[self.rank].note = note
        self._said[self.rank].stop |= self.stops()
        self._listen()
        now = time.monotonic()
        if now > self._beaten + _BEAT_S or self._stop != self._stops():
            self._beaten, self._stop = now, self._stops()
            for to in range(1, self.size) if self.rank == 0 else [0]:
                self._tell(to, _BEAT, (note if self.rank else None, self._stop))
        return self._stops()

    def gather(self, value: Any) -> list[Any] | None:
        """What each rank gives, in rank order, on rank 0, with `Lost` for those that are; None on the others.

        Rank 0 waits as long as the others live; they go on at once, and must call `answer` next.
        """
        self._round += 1
        if self.rank:
            self._tell(0, _VALUE, (self._round, value))
            return None
        own = self._said[0]
        own.values, own.value = self._round, value
        self._wait(lambda: all(self._has_told(rank) for rank in range(self.size)))
        return [self._lost.get(rank, said.value) for rank, said in enumerate(self._said)]

    def answer(self, value: Any = None) -> Any:
        """What rank 0 gives here, on all ranks: `Lost` where it gave nothing."""
        if self.rank == 0:
            for to in range(1, self.size):
                self._tell(to, _ANSWER, (self._round, value))
            return value
        self._wait(lambda: self._has_told(0))
        return self._lost.get(0, self._said[0].value)

    def close(self) -> None:
        """The last call. All leave together, so that none ends MPI while another reads what it was told last.

        Ranks that were lost would let the others wait: then rank 0 ends them all, unasked.
        """
        if not self._lost:
            self._unsent.append(self._comm.Ibarrier())
        end = time.monotonic() + _LEAVING_S
        while time.monotonic() < end and not all(request.test()[0] for request in self._unsent):
            time.sleep(_NAP_S)
        if self._lost:
            time.sleep(1.0 if self.rank == 0 else 2.0)
            self._comm.Abort(1)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _stops(self) -> bool:
        return any(said.stop for said in self._said)

    def _has_told(self, rank: int) -> bool:
        return rank in self._lost or self._said[rank].values >= self._round

    def _tell(self, to: int, tag: int, what: Any) -> None:
        self._unsent = [request for request in self._unsent if not request.test()[0]]
        if to not in self._lost:
            self._unsent.append(self._comm.isend(what, dest=to, tag=tag))

    def _wait(self, told: Callable[[], bool]) -> None:
        while not told():
            self.beat()
            self._find_lost()
            time.sleep(_NAP_S)

    def _listen(self) -> None:
        """Take what the others have sent."""
        for source in range(1, self.size) if self.rank == 0 else [0]:
            for tag in (_BEAT, _VALUE, _ANSWER):
                while source not in self._lost and self._comm.iprobe(source=source, tag=tag):
                    self._take(source, tag, self._comm.recv(source=source, tag=tag))

    def _take(self, source: int, tag: int, what: Any) -> None:
        said = self._said[source]
        said.at = time.monotonic()
        if tag == _BEAT:
            said.note, stop = what
            said.stop |= stop
        else:
            said.values, said.value = what

    def _find_lost(self) -> None:
        for rank in range(1, self.size) if self.rank == 0 else [0]:
            silent_s = time.monotonic() - self._said[rank].at
            if self._has_told(rank):
                continue
            if self._gone(rank):
                self._listen()  # what it has sent before
                if not self._has_told(rank):
                    self._lost[rank] = Lost("its process has ended without a word: was it killed?")
            elif silent_s > self._patience_s and self._processes[rank].host != self.host:
                self._lost[rank] = Lost(f"nothing was heard of it for {silent_s:.0f} s")

    def _gone(self, rank: int) -> bool:
        """Whether a process of this host is no more; of other hosts nobody knows."""
        process = self._processes[rank]
        return process.host == self.host and not _alive(process.pid)


def _alive(pid: int) -> bool:
    """Whether there is such a process, and not only its entry (proc(5): the state stands behind the name)."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in ("Z", "X")


def find_ranks(environment: Mapping[str, str] = os.environ) -> Ranks | None:
    """The ranks of this run, where a launcher has started several processes; else None, and MPI is not touched.

    ConfigError where MPI cannot be used: without it each process would take itself for the only one.
    """
    size = launched(environment)
    if size < 2:
        return None
    try:
        mpi = importlib.import_module("mpi4py.MPI")
    except (ImportError, RuntimeError, OSError) as error:
        raise ConfigError(
            f"a launcher has started {size} processes of this run, and without MPI they would all write the same file: "
            f"install framelane[mpi], with the MPI library of that launcher ({error})"
        ) from error
    comm = mpi.COMM_WORLD
    if comm.Get_size() != size:
        raise ConfigError(
            f"a launcher has started {size} processes of this run, but MPI knows of {comm.Get_size()}: mpi4py uses "
            f"another MPI library than the launcher ({mpi.Get_library_version().split(',')[0].strip()}); use the "
            "launcher of that library (see `srun --mpi=list`)"
        )
    return Ranks(comm)
