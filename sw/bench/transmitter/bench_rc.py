"""RC: goodput where packets are lost, beside go-back-N's formula; what it costs where none is; a dead queue pair."""

import itertools
from dataclasses import dataclass, replace
from statistics import mean
from typing import Any

from framelane.base.errors import SimulationError
from framelane.bench.runner import Measurement, Target
from framelane.bench.transmitter import rc_formula, rc_page
from framelane.bench.transmitter.rc_formula import Path
from framelane.bench.transmitter.rc_run import BUS, CLOCK_HZ, IMAGES, LATENCY, LONG, MTU, SHORT, SINGLE, RcRun, Traffic
from framelane.driver.simulated.verilated import TxSimulator
from framelane.driver.simulated.verilated_rc import RC_AHEAD
from framelane.models.cells import axis
from framelane.models.placement.flow import FrameEvent
from framelane.models.rc.lossy_network import LinkImpairments
from framelane.models.rc.rc_protocol import RcLimits, RcState
from framelane.models.rc.rc_responder import Manner
from framelane.models.rc.rc_timer import TICK_NS, timeout_ticks
from framelane.models.roce_tx import wire
from framelane.models.roce_tx.roce_qp import Service

LOSSES = (0.0, 1e-4, 1e-3, 1e-2, 5e-2)
DELAYS = (125, 500, 2000)
"""Cycles of the network, one way."""
WINDOWS = (16, 64, 128)
TIMEOUTS = {125: 0, 500: 2, 2000: 3}
"""Exponent of the time-out by delay: 1.5 to 3 round trips."""
BACKOFF, RETRIES = 2, 15
LENGTHS = {0.0: 100_000, 1e-4: 400_000, 1e-3: 400_000, 1e-2: 800_000, 5e-2: 1_600_000}
"""Cycles that are measured, by loss."""
PACKET_BYTES = MTU + sum(
    (wire.ETH_BYTES, wire.IP_BYTES, wire.UDP_BYTES, wire.BTH_BYTES, wire.RETH_BYTES, wire.ICRC_BYTES)
)
"""A full packet."""
WARM_UP = 10
"""Frames before that."""
COST_FRAMES = 48
DEAD_FRAMES = 125
"""Frames of each queue pair beside a dead one: more than it takes to spend its retries."""
DEAD_LIMITS = RcLimits(window=64, timeout=0, backoff=4, retries=7)
LIMIT_FORMULA, LIMIT_COST, LIMIT_RETRYING, LIMIT_DEAD = 0.92, 1.001, 0.95, 0.999


@dataclass(frozen=True, slots=True)
class Cost:
    """Traffic of which nothing is lost, to so many queue pairs; `manner` of their receivers, None for UC."""

    name: str
    traffic: Traffic
    qps: int
    manner: Manner | None

    @property
    def case(self) -> str:
        """Its name in the rows."""
        kind = {None: "UC", Manner.IBA: "RC", Manner.COALESCING: "RC, acknowledged by fours"}[self.manner]
        return f"{self.name}, {kind}"


COST = (
    *(Cost("messages of 4096 bytes", LONG, 1, manner) for manner in (None, Manner.IBA)),
    *(Cost("messages of 1024 bytes", SINGLE, 1, manner) for manner in (None, Manner.IBA)),
    *(Cost("messages of 32 bytes, 4 QPs", SHORT, 4, manner) for manner in (None, Manner.IBA, Manner.COALESCING)),
)
PROMISED = ("messages of 4096 bytes, RC", "messages of 1024 bytes, RC")
KEYS = (
    *("case", "delay", "round_trip", "window", "loss", "lost", "acks_lost", "packets", "cycles"),
    *("cycles_per_packet", "predicted", "textbook", "goodput", "measured_over_predicted", "messages_per_s", "clock_hz"),
)
"""Columns of every row; what a case does not have is None."""


def measure() -> Measurement:
    """One row for each loss, delay and window; for each traffic of which nothing is lost; for QPs beside a dead one."""
    own = own_round_trip()
    lossy = [
        goodput_row(delay, window, loss, own, LENGTHS[loss])
        for delay in DELAYS
        for window in WINDOWS
        for loss in LOSSES
    ]
    cost = [cost_row(case) for case in COST]
    dead = dead_rows(DEAD_FRAMES)
    worst = min(row["measured_over_predicted"] for row in lossy)
    targets = [
        Target(
            what="goodput over go-back-N's formula with time-outs, worst",
            value=worst,
            unit="",
            limit=LIMIT_FORMULA,
            better="higher",
        )
    ]
    for uc, rc in itertools.pairwise(cost):
        if rc["case"] in PROMISED:
            ratio = rc["cycles_per_packet"] / uc["cycles_per_packet"]
            targets.append(
                Target(
                    what=f"cycles per packet over UC, {rc['case']}",
                    value=ratio,
                    unit="",
                    limit=LIMIT_COST,
                    better="lower",
                )
            )
    alone, *beside = (row["cycles_per_packet"] for row in dead)
    for row, cycles, limit in zip(dead[1:], beside, (LIMIT_RETRYING, LIMIT_DEAD), strict=True):
        targets.append(
            Target(
                what=f"goodput, {row['case']}, over alone", value=alone / cycles, unit="", limit=limit, better="higher"
            )
        )
    rows = [dict.fromkeys(KEYS) | row | {"clock_hz": CLOCK_HZ} for row in (*lossy, *cost, *dead)]
    return Measurement(rows, targets, _shown(rows), rc_page.page(lossy, cost, dead, own), "rc_speed")


def timeout_cycles(exponent: int) -> float:
    """A time-out in clock cycles."""
    return timeout_ticks(exponent) * TICK_NS * 1e-9 * CLOCK_HZ


def own_round_trip(delay: int = DELAYS[0]) -> float:
    """Cycles of the transmitter's own part of a round trip: from an acknowledgement to the packet that it lets in.

    Measured with one message outstanding, nothing lost: each takes its packets, the round trip of the network, and
    this. What frames with more messages take longer is theirs; trailers come from no memory.
    """
    few, many = (one_by_one(replace(LONG, rows=rows), delay) for rows in (1, LONG.rows))
    full = max(LONG.messages) * axis.n_beats(PACKET_BYTES, BUS)
    return (many - few) / (LONG.rows - 1) - 2 * delay - full


def one_by_one(traffic: Traffic, delay: int) -> float:
    """Cycles of a frame of which each message waits for the acknowledgement of the one before."""
    limits = RcLimits(window=max(traffic.messages), timeout=TIMEOUTS[delay], backoff=0)
    with RcRun(limits, LinkImpairments(delay=delay), traffic=traffic) as run:
        run.until(lambda: run.frames() >= WARM_UP, run.room)
        return run.until(lambda: run.frames() >= 2 * WARM_UP, run.room) / WARM_UP


def packet_cycles(traffic: Traffic) -> float:
    """Cycles of a packet on the line, on average."""
    with TxSimulator(traffic.configuration(Service.UC), BUS) as simulator:
        simulator.write_memory(0, bytes(traffic.image_bytes))
        simulator.offer(FrameEvent(0, 0, 0, 0))
        return mean(axis.n_beats(len(packet), BUS) for packet in simulator.run())


def ahead_cycles(packet: float) -> float:
    """What is issued ahead, half a message more on average, takes so much longer on the line than the memory."""
    packets = RC_AHEAD / axis.n_beats(MTU, BUS) + max(LONG.messages) / 2
    return packets * packet - LATENCY


def goodput_row(delay: int, window: int, loss: float, own: float, length: int) -> dict[str, Any]:
    """One queue pair that always has work, for `length` cycles. SimulationError where what arrived is wrong."""
    limits = RcLimits(window=window, timeout=TIMEOUTS[delay], backoff=BACKOFF, retries=RETRIES)
    with RcRun(limits, LinkImpairments(loss=loss, delay=delay)) as run:
        run.until(lambda: run.frames() >= WARM_UP, run.room)
        start, before = run.board.cycle, run.placed()
        cycles = run.until(lambda: run.board.cycle - start >= length, run.room)
        packets = run.placed() - before
        run.check()
        state = run.driver.queue_pairs()[0].state
        if state is RcState.ERROR:
            raise SimulationError(f"the queue pair is in error at a loss of {loss} with a delay of {delay} cycles")
        there, back = run.remote.there.counts, run.remote.back.counts
    packet = packet_cycles(LONG)
    path = Path(
        packet, 2 * delay + own, LONG.messages, window, timeout_cycles(TIMEOUTS[delay]), BACKOFF, ahead_cycles(packet)
    )
    each, predicted = cycles / packets, rc_formula.cycles(path, loss, loss)
    return {
        "case": "goodput",
        "delay": delay,
        "round_trip": path.round_trip,
        "window": window,
        "loss": loss,
        "lost": there["lost"],
        "acks_lost": back["lost"],
        "packets": packets,
        "cycles": cycles,
        "cycles_per_packet": each,
        "predicted": predicted,
        "textbook": rc_formula.textbook(path, loss),
        "goodput": path.packet / each,
        "measured_over_predicted": predicted / each,
        "messages_per_s": packets / cycles * CLOCK_HZ * len(LONG.messages) / sum(LONG.messages),
    }


def cost_row(cost: Cost) -> dict[str, Any]:
    """Cycles per packet from the first frame's offer to the last packet's end; UC by the transmitter built without RC.

    Frames are offered as soon as the transmitter has room for them.
    """
    traffic, qps = cost.traffic, cost.qps
    total = COST_FRAMES * qps * sum(traffic.messages)
    if cost.manner:
        limits = RcLimits(window=128, timeout=4, backoff=0)
        with RcRun(limits, LinkImpairments(delay=1), traffic=traffic, qps=qps, manner=cost.manner) as run:
            cycles = run.until(lambda: run.placed() >= total, lambda: min(run.room(), COST_FRAMES - run.offered)) - 1
    else:
        with TxSimulator(traffic.configuration(Service.UC, qps), BUS, latency=LATENCY) as simulator:
            simulator.write_memory(0, bytes(IMAGES * traffic.image_bytes))
            for n in range(COST_FRAMES):
                simulator.offer(FrameEvent(n, 0, 0, n % IMAGES * traffic.image_bytes))
            simulator.run()
            cycles = simulator.cycles
    return {
        "case": cost.case,
        "packets": total,
        "cycles": cycles,
        "cycles_per_packet": cycles / total,
        "messages_per_s": COST_FRAMES * qps * len(traffic.messages) / cycles * CLOCK_HZ,
    }


def dead_rows(frames: int) -> list[dict[str, Any]]:
    """Three queue pairs that always have work: alone, while a fourth retries in vain, and when that one is in error.

    Registers are looked at in the end only: no packet travels meanwhile.
    """
    with RcRun(DEAD_LIMITS, LinkImpairments(delay=DELAYS[0]), qps=3) as run:
        found = [_live_row("three queue pairs alone", run, frames)]
    with RcRun(DEAD_LIMITS, LinkImpairments(delay=DELAYS[0]), qps=4) as run:
        run.remote.silent.add(max(run.remote.receivers))
        found.append(_live_row("beside one that retries", run, frames))
        found.append(_live_row("beside one in error", run, frames))
        if run.driver.queue_pairs()[3].state is not RcState.ERROR:
            raise SimulationError("the dead queue pair is not in error though its retries should be spent")
    return found


def _live_row(case: str, run: RcRun, frames: int) -> dict[str, Any]:
    begun, offered, before = [run.frames(k) for k in range(3)], run.offered, run.placed()

    def done() -> int:
        return min(run.frames(k) - n for k, n in enumerate(begun))

    cycles = run.until(
        lambda: done() >= frames,
        lambda: min(frames + offered - run.offered, done() + run.traffic.in_flight // 2 - run.offered + offered),
    )
    packets = run.placed() - before
    return {"case": case, "packets": packets, "cycles": cycles, "cycles_per_packet": cycles / packets}


def _shown(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What a console can show: the columns that say most."""
    kept = ("case", "delay", "window", "loss", "cycles_per_packet", "predicted", "measured_over_predicted")
    return [{key: "" if row[key] is None else row[key] for key in kept} for row in rows]
