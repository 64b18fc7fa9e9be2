"""Whether those who look, or take a stream, cost frames at the highest rate that is received without a loss."""

import contextlib
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from framelane.base.errors import ConfigError
from framelane.bench.serve.service_process import Running, running, wait
from framelane.bench.serve.viewers import programs

RATES_HZ = (10.0, 14.0, 20.0, 28.0, 40.0, 56.0, 80.0)
TRIAL_S = 6.0
ROUNDS = 3
VIEWERS = 5
_HELD = 0.97
"""A rate that the source does not reach by more than that is not held."""
_ADDRESS = "tcp://127.0.0.1:31001"
_STALLS = "a stream2 consumer that stalls"
Beside = Callable[[Running], AbstractContextManager[object]]


def measure(shape: tuple[int, int]) -> tuple[float, list[dict[str, Any]]]:
    """The highest lossless rate with nobody there, Hz, and a row for each who is there at this rate, by turns."""
    rate = highest(shape)
    kinds: dict[str, Beside] = {
        "nobody": lambda service: contextlib.nullcontext(),
        f"{VIEWERS} programs": _viewers,
        "a stream2 consumer": lambda service: _consumer(reads=True),
        _STALLS: lambda service: _consumer(reads=False),
    }
    rounds: dict[str, list[dict[str, float]]] = {kind: [] for kind in kinds}
    with running(shape, rate, [{"address": _ADDRESS}]) as service:
        for _ in range(ROUNDS):
            for kind, beside in kinds.items():
                with beside(service):
                    rounds[kind].append(trial(service, TRIAL_S))
    return rate, [_row(kind, rate, found) for kind, found in rounds.items()]


def stalled(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The row of the consumer that takes nothing."""
    return next(row for row in rows if row["who looks"] == _STALLS)


def trial(service: Running, seconds: float) -> dict[str, float]:
    """Frames that were sent in so many seconds, those of them that are not complete, cores, and frames to streams."""
    before, spent_s, streamed, begun = service.loss(), service.spent_s(), _streamed(service), time.monotonic()
    time.sleep(seconds)
    after, passed_s = service.loss(), time.monotonic() - begun
    lost = [loss["sent"] - loss["complete"] for loss in (before, after)]
    return {
        "frames": after["sent"] - before["sent"],
        "lost": lost[1] - lost[0],
        "cores": (service.spent_s() - spent_s) / passed_s,
        "streamed_per_s": (_streamed(service) - streamed) / passed_s,
        "rate_hz": (after["sent"] - before["sent"]) / passed_s,
    }


def highest(shape: tuple[int, int]) -> float:
    """The highest rate at which nothing is lost, Hz, with nobody there; the lowest one where even that loses some.

    Each is tried as often and as long, and with the same stream, as it is measured then.
    """
    best = RATES_HZ[0]
    for rate in RATES_HZ:
        with running(shape, rate, [{"address": _ADDRESS}]) as service:
            found = [trial(service, TRIAL_S) for _ in range(ROUNDS)]
        if any(each["lost"] or each["rate_hz"] < _HELD * rate for each in found):
            break
        best = rate
    return best


def _streamed(service: Running) -> float:
    """Frames that were handed to consumers of streams."""
    return sum(service.streamed().values())


def _row(kind: str, rate: float, rounds: list[dict[str, float]]) -> dict[str, Any]:
    row: dict[str, Any] = {"who looks": kind, "rate_hz": rate}
    row |= {key: int(sum(found[key] for found in rounds)) for key in ("frames", "lost")}
    for key in ("cores", "streamed_per_s"):
        values = [found[key] for found in rounds]
        row |= {key: statistics.median(values), f"{key}_least": min(values), f"{key}_most": max(values)}
    return row


@contextlib.contextmanager
def _viewers(service: Running) -> Iterator[None]:
    with programs(service.port, VIEWERS, Path()) as seen:
        wait(lambda: all(len(ages) >= 2 for ages in seen.ages_ms), "a viewer sees nothing")
        yield


@contextlib.contextmanager
def _consumer(*, reads: bool) -> Iterator[None]:
    """One that is connected; it takes every message, and does nothing with it, or takes none."""
    try:
        import zmq
    except ModuleNotFoundError as error:
        raise ConfigError('pyzmq is not installed: pip install "framelane[stream]"') from error
    over = threading.Event()
    with zmq.Context() as context, context.socket(zmq.PULL) as socket:
        if not reads:
            socket.set(zmq.RCVHWM, 1)
        socket.connect(_ADDRESS)

        def take() -> None:
            while not over.is_set():
                if socket.poll(100):
                    socket.recv(copy=False)

        thread = threading.Thread(target=take if reads else over.wait)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()
            socket.close(0)
