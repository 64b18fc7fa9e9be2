"""What strangers who connect to a session's link take from its receiver: processor time, and the credit's haste."""

import contextlib
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

from framelane.bench.receiver.softnic_packets import session
from framelane.bench.runner import Measurement, Target
from framelane.session.attempts import Reason
from framelane.session.session_client import SessionClient
from framelane.session.session_server import SessionServer

TRIAL_S = 5.0
WARM_S = 1.0
"""The first strangers, which are let in at once, are over then."""
LIMIT_SHARE = 0.05
_STEP_S = 0.005
_SLOTS = 8
_PATIENCE_S = 1.0

_STRANGER = """
import socket, sys, time
end = time.monotonic() + 60
while time.monotonic() < end:
    try:
        with socket.create_connection(("127.0.0.1", int(sys.argv[1])), 0.2) as stranger:
            stranger.sendall(b"{\\"source\\": 0, \\"offered\\": 99}\\n")
    except OSError:
        pass
    time.sleep(float(sys.argv[2]))
"""


def measure() -> Measurement:
    """One row for each number of processes that connect, and their pause between two connections."""
    rows = [_row(*flood) for flood in ((0, 0.0), (1, 0.01), (4, 0.0))]
    worst = max(row["share_of_a_core"] for row in rows)
    return Measurement(
        rows,
        [
            Target(
                what="share of a core that a flood of strangers takes",
                value=worst,
                unit="",
                limit=LIMIT_SHARE,
                better="lower",
            )
        ],
    )


def _row(processes: int, pause_s: float) -> dict[str, Any]:
    served = session(4096, _SLOTS).model_copy(update={"window_end": _SLOTS})
    with (
        SessionServer(served, "127.0.0.1", 0) as server,
        SessionClient(*server.address) as source,
        _strangers(server.address[1], processes, pause_s),
    ):
        time.sleep(WARM_S)
        counts, spent_s = server.attempts.counts.total(), server.spent_s
        begun = time.monotonic()
        delays_ms = []
        number = server.window_end
        while (seconds := time.monotonic() - begun) < TRIAL_S:
            number += 1
            delays_ms.append(_credit_ms(server, source, number))
            time.sleep(_STEP_S)
        turned = server.attempts.counts.total() - counts
        return {
            "strangers": processes,
            "pause_ms": 1000 * pause_s,
            "turned_away_per_s": turned / seconds,
            "share_of_a_core": (server.spent_s - spent_s) / seconds,
            "credit_median_ms": statistics.median(delays_ms),
            "credit_p99_ms": statistics.quantiles(delays_ms, n=100)[98],
            "sources_cut_off": int(source.closed) + server.attempts.counts[Reason.DEAF],
        }


def _credit_ms(server: SessionServer, source: SessionClient, number: int) -> float:
    """How long it takes until a source knows of new credit."""
    start = time.perf_counter()
    server.publish(number)
    while source.window_end < number and time.perf_counter() < start + _PATIENCE_S:
        time.sleep(0)
    return 1000 * (time.perf_counter() - start)


@contextlib.contextmanager
def _strangers(port: int, processes: int, pause_s: float) -> Iterator[None]:
    with contextlib.ExitStack() as stack:
        for _ in range(processes):
            process = subprocess.Popen([sys.executable, "-c", _STRANGER, str(port), str(pause_s)])
            stack.callback(process.wait)
            stack.callback(process.kill)
        yield
