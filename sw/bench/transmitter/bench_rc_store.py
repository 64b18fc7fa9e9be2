"""RC behind a frame store: one silent, one slow and one dead receiver of 8, and what they cost the others."""

from math import inf
from typing import Any

from framelane.base.errors import SimulationError
from framelane.bench.page_template import page_parts
from framelane.bench.runner import Measurement, Target
from framelane.bench.transmitter.rc_run import BUS, CLOCK_HZ, IMAGES, MTU, RcRun, Traffic
from framelane.driver.board.network import gives_up_after_s, timeout_s
from framelane.driver.registers.register_file import RegisterFile
from framelane.models.rc.lossy_network import LinkImpairments
from framelane.models.rc.rc_protocol import RcLimits, RcReason, RcState

DEPTHS = (64, 128, 256, 512, 1024)
"""Slots of the frame store."""
QPS = 8
SILENT, SLOW, DEAD = 5, 6, 7
TROUBLED = (SILENT, SLOW, DEAD)
"""Queue pairs of which the receiver never answers; answers late; or stops answering after it has had frames.

The slow one answers after half a time-out, and gives credit for every fourth of its frames.
"""
SLOWNESS = 4
DIES = 0.2
"""When the third one stops: so many of the store's slots could have been filled by then."""
TRAFFIC = Traffic(MTU, 3)
PERIOD = 500
"""Cycles from one frame of the detector to the next: a little more than the place of a frame takes."""
WINDOW = 8
"""Packets: two frames."""
DELAY = 125
USED = 0.9
"""The share of the store's slots that may fill until the silent queue pair gives up."""
ROUNDS = 1.5
"""How often the detector would fill the store meanwhile."""
LIMIT = 0.98
_PARTS = page_parts("rc_store")


def limits_for(depth: int) -> RcLimits:
    """The longest patience that so many slots allow: until the silent queue pair gives up, USED of them fill.

    Its time-outs begin anew while frames leave for it, that is until its window is full.
    """
    before = WINDOW // sum(TRAFFIC.messages) * QPS
    room_s = (USED * depth - before) * PERIOD / CLOCK_HZ
    choices = [
        RcLimits(window=WINDOW, timeout=exponent, backoff=backoff, retries=retries)
        for exponent in range(5)
        for backoff in (0, 4)
        for retries in range(1, 16)
    ]
    return max((limits for limits in choices if gives_up_after_s(limits) <= room_s), key=gives_up_after_s)


def store_rows(depth: int) -> list[dict[str, Any]]:
    """Frames of the five others that have come when the store is fullest: alone by then, and beside the three."""
    beside = store_row(depth, beside=True)
    return [store_row(depth, beside=False, at=beside["at"]), beside]


def store_row(depth: int, *, beside: bool, at: float = inf) -> dict[str, Any]:
    """The five others `beside` the three, or alone, when those get no frame; counted where most is in the store.

    That is by the cycle `at`, behind the start: when the silent queue pair gives up, what had waited for it catches up.

    SimulationError where a receiver's memory is wrong, or the three are not what they should be.
    """
    limits = limits_for(depth)
    credit = {SLOW: 0} if beside else dict.fromkeys(TROUBLED, 0)
    impairments = LinkImpairments(delay=DELAY)
    with RcRun(limits, impairments, traffic=TRAFFIC, qps=QPS, in_turn=True, credit=credit, max_slots=depth) as run:
        registers = RegisterFile(run.board)
        numbers = sorted(run.remote.receivers)
        run.remote.silent.add(numbers[SILENT])
        run.remote.slowness[numbers[SLOW]] = round(timeout_s(limits.timeout) * CLOCK_HZ / 2)
        others = [k for k in range(QPS) if k not in TROUBLED]
        start, seen, lost, most, arrived = run.board.cycle, 0, 0, 0, 0
        while run.board.cycle < start + ROUNDS * depth * PERIOD:
            while seen * PERIOD <= run.board.cycle - start:
                if beside and seen % (QPS * SLOWNESS) == 0:
                    registers[f"destination[{SLOW}].window_end"] = seen // QPS + 1
                if seen >= DIES * depth:
                    run.remote.silent.add(numbers[DEAD])
                held = run.offered - run.board.released
                if (held >= most or not beside) and run.board.cycle - start <= at:
                    most, arrived = max(most, held), sum(run.frames(k) for k in others)
                    peak = run.board.cycle - start
                if held < depth:
                    image = seen // QPS % IMAGES
                    run.offer_image(seen, image)
                else:
                    lost += 1
                seen += 1
            run.step()
        if not lost:
            for k in others:
                run.check(k)
        if beside:
            _check_troubled(run)
        return {
            "case": "beside" if beside else "alone",
            "depth": depth,
            "gives_up": round(gives_up_after_s(limits) * CLOCK_HZ),
            "held": most,
            "lost": lost,
            "at": peak,
            "frames": arrived,
        }


def _check_troubled(run: RcRun) -> None:
    pairs = run.driver.queue_pairs()
    found = {k: (pairs[k].state, pairs[k].reason) for k in (SILENT, DEAD)}
    wanted = dict.fromkeys(found, (RcState.ERROR, RcReason.TIMEOUT))
    if found != wanted:
        raise SimulationError(f"the silent and the dead queue pair should be {wanted}, they are {found}")
    if not run.frames(SLOW) or pairs[SLOW].state is RcState.ERROR:
        raise SimulationError(f"the slow receiver got {run.frames(SLOW)} frames, its queue pair is {pairs[SLOW]}")
    if not run.frames(DEAD) or run.frames(SILENT):
        raise SimulationError(f"the dead receiver got {run.frames(DEAD)} frames, the silent one {run.frames(SILENT)}")


def measure() -> Measurement:
    """Two rows for each depth of the store."""
    pairs = [store_rows(depth) for depth in DEPTHS]
    targets = [
        Target(
            what=f"frames of 5 beside one silent, one slow, one dead receiver, over alone, {alone['depth']} slots",
            **{"value": beside["frames"] / alone["frames"], "unit": "", "limit": LIMIT, "better": "higher"},
        )
        for alone, beside in pairs
    ]
    return Measurement([row for pair in pairs for row in pair], targets, page=page(pairs))


def page(pairs: list[list[dict[str, Any]]]) -> str:
    """The whole page."""
    head = _PARTS["head"].format(
        **{"bus": BUS, "clock": CLOCK_HZ / 1e6, "qps": QPS, "rows": TRAFFIC.rows, "mtu": MTU, "slowness": SLOWNESS},
        **{"used": USED, "dies": DIES, "period": PERIOD / CLOCK_HZ * 1e6},
    )
    return head + "".join(line(alone, beside) for alone, beside in pairs)


def line(alone: dict[str, Any], beside: dict[str, Any]) -> str:
    """The line of one depth."""
    gives_up = f"{beside['gives_up'] / CLOCK_HZ * 1e6:,.0f}"
    ratio = f"{beside['frames'] / alone['frames']:.3f}"
    cells = (beside["depth"], gives_up, beside["held"], beside["lost"], alone["frames"], beside["frames"], ratio)
    return f"| {' | '.join(map(str, cells))} |\n"
