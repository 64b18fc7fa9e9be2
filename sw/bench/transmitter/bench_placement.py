"""Placement: descriptors per clock, what the whole transmitter makes of them, and the same ones by software."""

import itertools
from statistics import median
from typing import Any

from framelane.base.errors import SimulationError
from framelane.bench.runner import Measurement, Target
from framelane.bench.transmitter import placement_cases, placement_page
from framelane.bench.transmitter.placement_cases import (
    FRAMES_MERGED,
    FRAMES_ROUND,
    FRAMES_SPLIT,
    RINGS,
    TRAFFIC,
    Plan,
    Traffic,
)
from framelane.bench.transmitter.placement_software import OPTIONS, RING, SoftwarePlacement
from framelane.driver.simulated.verilated_bd_gen import BdGenSimulator
from framelane.models.placement.bd_gen import BdGen
from framelane.models.roce_tx.roce_qp import Segmentation

WIDTHS = range(1, 1025)
FRAMES = 8
"""Frames in a row, in each repetition."""

LATENCIES = (0, 100, 300)
LIMIT_EFFICIENCY = 0.997
SOFTWARE_PLANS = (
    FRAMES_MERGED,
    FRAMES_ROUND,
    FRAMES_SPLIT,
    placement_cases.region(256, 64),
    placement_cases.region(256, 512),
)
SOFTWARE_DESCRIPTORS = 1 << 22
"""In one run of the program, about."""

SOFTWARE_FRAMES = 1 << 16
"""In one run at most."""

REPEATS = 21
KEYS = (
    *("block", "case", "width", "height", "frames", "segmentation", "latency"),
    *("descriptors", "inside", "over", "packets", "ideal_beats", "cycles", "efficiency"),
    *("per_second", "per_second_least", "per_second_greatest", "clock_hz"),
)
"""Columns of every row; what a block does not have is None."""


def measure() -> Measurement:
    """One row a plan for `bd_gen`, a traffic, segmentation and memory latency for `tx`, a plan for the software."""
    with BdGenSimulator() as simulator:
        given = [
            placement_cases.descriptor_row(simulator, plan, FRAMES) for plan in placement_cases.plans(list(WIDTHS))
        ]
        software = [software_row(simulator, plan) for plan in SOFTWARE_PLANS]
    sent = [placement_cases.efficiency_row(*case, FRAMES) for case in efficiency_cases()]
    targets = [
        Target(
            what="descriptors per clock inside a frame, worst",
            value=min(row["inside"] for row in given),
            unit="",
            limit=1.0,
            better="higher",
        )
    ]
    for traffic in TRAFFIC:
        if traffic.promised:
            worst = min(row["efficiency"] for row in sent if row["case"] == traffic.name)
            targets.append(
                Target(
                    what=f"efficiency, {traffic.name}, worst",
                    value=worst,
                    unit="",
                    limit=LIMIT_EFFICIENCY,
                    better="higher",
                )
            )
    page = placement_page.page(given, sent, software, " ".join(("g++", *OPTIONS)), RING, REPEATS)
    rows = [dict.fromkeys(KEYS) | row for row in (*given, *sent, *software)]
    return Measurement(rows, targets, _shown(rows), page)


def efficiency_cases() -> list[tuple[Traffic, Segmentation, int]]:
    """What is sent: that of which efficiency is promised with both segmentations."""
    kinds = [(traffic, each) for traffic in TRAFFIC for each in Segmentation if traffic.promised or not each]
    return [(*kind, latency) for kind, latency in itertools.product(kinds, LATENCIES)]


def software_row(simulator: BdGenSimulator, plan: Plan) -> dict[str, Any]:
    """Descriptors per second of the C program, and `over` all frames per clock of `bd_gen`, for the same plan.

    SimulationError where the program, `bd_gen` and the model do not give the same descriptors.
    """
    few, flows = plan.events(FRAMES), (plan.flow,)
    program, model = SoftwarePlacement(flows, RINGS), BdGen(flows, RINGS, (4096,) * len(RINGS))
    wanted = [descriptor for event in few for descriptors, _ in model.frame(event) for descriptor in descriptors]
    if program.descriptors(few) != wanted or simulator.run(flows, RINGS, few).descriptors() != wanted:
        raise SimulationError(f"{plan.name}: the descriptors of the program, of bd_gen and of the model differ")
    row = placement_cases.descriptor_row(simulator, plan, FRAMES)
    frames = min(SOFTWARE_FRAMES, SOFTWARE_DESCRIPTORS // row["descriptors"])
    rates = program.rates(plan.events(frames), REPEATS)
    return row | {
        "block": "software",
        "frames": frames,
        "cycles": None,
        "inside": None,
        "per_second": median(rates),
        "per_second_least": rates[0],
        "per_second_greatest": rates[-1],
        "clock_hz": placement_page.CLOCK_HZ,
    }


def _shown(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What a console can show: of each case the worst row."""
    units = {
        "bd_gen": ("inside", "descriptors a clock in a frame"),
        "tx": ("efficiency", "of the ideal, slowest memory"),
        "software": ("per_second", "descriptors a second by C"),
    }
    worst: dict[tuple[str, str], float] = {}
    for row in rows:
        kind, value = (row["case"], row["block"]), row[units[row["block"]][0]]
        worst[kind] = min(value, worst.get(kind, value))
    return [{"case": case, "worst": value, "": units[block][1]} for (case, block), value in worst.items()]
