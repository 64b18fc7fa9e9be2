"""What clients without the token who connect to a session's link take from its receiver: frames, time, credit."""

import statistics
import time
from typing import Any

import numpy as np

from framelane.bench.page_template import page_parts
from framelane.bench.receiver import recv_attacked
from framelane.bench.receiver.recv_attacked import flooding, frame_rates
from framelane.bench.receiver.softnic_packets import session
from framelane.bench.runner import Measurement, Target
from framelane.session.attempts import Reason
from framelane.session.session_client import SessionClient
from framelane.session.session_server import SessionServer

TRIAL_S = 5.0
WARM_S = 1.0
"""The first clients, which are let in at once, are over then."""
LIMIT_SHARE = 0.05
LIMIT_RATE = 0.95
_STEP_S = 0.005
_SLOTS = 8
_PATIENCE_S = 1.0
_PARTS = page_parts("link")


def measure() -> Measurement:
    """Rows of `recv`, and of a link alone, with the keys of both; the page docs/measured/link.md."""
    link = [_row(*flood) for flood in ((0, 0.0), (1, 0.01), (4, 0.0))]
    received = frame_rates()
    worst = max(row["share_of_a_core"] for row in link)
    rate = received[-1]["rate"]
    targets = [
        Target(
            what="frame rate under a flood, over that without", value=rate, unit="", limit=LIMIT_RATE, better="higher"
        ),
        Target(what="share of a core that a flood takes", value=worst, unit="", limit=LIMIT_SHARE, better="lower"),
    ]
    keys = dict.fromkeys(key for row in (*received, *link) for key in row)
    rows: list[dict[str, Any]] = [{key: row.get(key, "") for key in keys} for row in (*received, *link)]
    return Measurement(rows, targets, page=_page(received, link, targets))


def _page(received: list[dict[str, Any]], link: list[dict[str, Any]], targets: list[Target]) -> str:
    rows, columns = recv_attacked.SHAPE
    head = _PARTS["head"].format(
        rows=rows, columns=columns, rounds=recv_attacked.ROUNDS, processes=recv_attacked.PROCESSES
    )
    rates = [
        f"| {row['clients']} | {row['frames_per_s']:.0f} | {row['rate']:.3f} | {row['cpu_time']:.3f} |\n"
        for row in received
    ]
    costs = [
        f"| {row['processes']} | {row['pause_ms']:.0f} | {row['turned_away_per_s']:.0f} | {row['share_of_a_core']:.3f} "
        f"| {row['credit_median_ms']:.2f} | {row['credit_p99_ms']:.2f} | {row['sources_cut_off']} |\n"
        for row in link
    ]
    return "".join([head, *rates, _PARTS["link"], *costs, "\n", *(f"- {target}\n" for target in targets)])


def _row(processes: int, pause_s: float) -> dict[str, Any]:
    served = session(4096, _SLOTS).model_copy(update={"window_end": _SLOTS})
    with (
        SessionServer(served, "127.0.0.1", 0) as server,
        SessionClient(*server.address) as source,
        flooding(server.address[1], processes, pause_s),
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
            "processes": processes,
            "pause_ms": 1000 * pause_s,
            "turned_away_per_s": turned / seconds,
            "share_of_a_core": (server.spent_s - spent_s) / seconds,
            "credit_median_ms": statistics.median(delays_ms),
            "credit_p99_ms": float(np.percentile(delays_ms, 99)),
            "sources_cut_off": int(source.closed) + server.attempts.counts[Reason.DEAF],
        }


def _credit_ms(server: SessionServer, source: SessionClient, number: int) -> float:
    """How long it takes until a source knows of new credit."""
    start = time.perf_counter()
    server.publish(number)
    while source.window_end < number and time.perf_counter() < start + _PATIENCE_S:
        time.sleep(0)
    return 1000 * (time.perf_counter() - start)
