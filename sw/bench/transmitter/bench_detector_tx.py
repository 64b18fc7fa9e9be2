"""A JUNGFRAU's packets through `detector_tx`: its rate and latency, 100,000 impaired packets, 10,000 resets.

Raw, and corrected on their way, with memory for the constants that answers after some cycles.
"""

import random
from collections import Counter
from typing import Any

from framelane.bench.runner import Measurement, Target
from framelane.bench.transmitter import detector_tx_page
from framelane.bench.transmitter.detector_tx_impaired import (
    BEATS,
    HEADER,
    LINE_GAP,
    MODULES,
    WIDTH,
    ImpairedRun,
    on_the_line,
    packet,
    run_impaired,
    simulated,
)
from framelane.models.detector.det_header import DetFate
from framelane.models.roce_tx import wire

PACKETS, RESETS, IN_A_ROW = 100_000, 10_000, 1024
CORRECTED_PACKETS, CORRECTED_RESETS = 10_000, 1000
MEMORY = 1, 20, 100
"""Cycles of 4 ns until memory answers."""
_SLOW_MEMORY = 1000
"""With which packets are lost."""
LIMIT_LATENCY = 20
"""Raw."""
_LANES = WIDTH // 8
HEADER_BEAT = (wire.ETH_BYTES + wire.IP_BYTES + wire.UDP_BYTES + HEADER.of.header.bytes - 1) // _LANES
"""The beat with the last byte of the detector's header."""
_PHASES = 1 << 8


def latencies(resets: int, seed: int = 1, memory: int | None = None) -> Counter[int]:
    """Clock cycles from the end of the header to the first pixel, each of a packet some time behind a reset.

    Corrected pixels where `memory` answers after so many cycles, else raw ones.
    """
    rng, found = random.Random(seed), Counter[int]()
    with simulated(memory) as fpga:
        for _ in range(resets):
            fpga.reset()
            fpga.step(rng.randrange(_PHASES))
            module, words = rng.randrange(MODULES), rng.randbytes(HEADER.packet_bytes)
            fpga.receive(on_the_line(packet(1, rng.randrange(HEADER.packets), module, words), module))
            done = fpga.run()
            found[int(done.left["pixel"][0]) - int(done.begun[0]) - HEADER_BEAT] += 1
    return found


def latency_row(resets: int, memory: int | None = None) -> dict[str, Any]:
    """See `latencies`."""
    found = latencies(resets, memory=memory)
    return {"case": "resets", "memory": memory, "resets": resets, "least": min(found), "most": max(found)}


def in_a_row(gap: int, memory: int | None = None) -> Counter[DetFate]:
    """What becomes of whole frames whose packets come with so many cycles between them."""
    words = bytes(HEADER.packet_bytes)
    with simulated(memory) as fpga:
        for at in range(IN_A_ROW):
            frame, module, index = at // MODULES // HEADER.packets, at % MODULES, at // MODULES % HEADER.packets
            fpga.receive(on_the_line(packet(frame + 1, index, module, words), module), gap=gap)
        fpga.run()
        return fpga.fates()


def rate_row(gap: int, memory: int | None = None) -> dict[str, Any]:
    """Packets that come so many cycles apart."""
    fates = in_a_row(gap, memory)
    counts = {"packets": fates.total(), "lost": fates[DetFate.FULL]}
    return {"case": "rate", "memory": memory, "cycles": BEATS + gap, **counts}


def rate_rows(memory: int | None = None) -> list[dict[str, Any]]:
    """At 100 Gb/s, at the shortest time without a loss, and one cycle less."""
    least = next(gap for gap in range(LINE_GAP) if not in_a_row(gap, memory)[DetFate.FULL])
    return [rate_row(gap, memory) for gap in (LINE_GAP, least, least - 1) if gap >= 0]


def longest_memory() -> int:
    """The longest time that memory can take so that nothing is lost of a line of 100 Gb/s."""
    good, bad = MEMORY[-1], _SLOW_MEMORY
    while bad - good > 1:
        middle = (good + bad) // 2
        good, bad = (good, middle) if in_a_row(LINE_GAP, middle)[DetFate.FULL] else (middle, bad)
    return good


def impaired_row(done: ImpairedRun, memory: int | None = None) -> dict[str, Any]:
    """What came of impaired packets, as numbers: `differences` to the model, and packets that were placed twice."""
    written, expected = done.memory, done.expected
    differs = len(written.sums.items() ^ expected.sums.items()) + len(written.masks.items() ^ expected.masks.items())
    return {
        **{"case": "impaired", "memory": memory, "packets": done.sent},
        **{"masks": len(written.masks), "wrong_masks": written.wrong_masks(), "most_writes": written.most},
        "differences": differs + (done.fates != done.expected_fates),
        "fates": {fate.name: done.fates[fate] for fate in DetFate},
    }


def measure() -> Measurement:
    """The rate, impaired packets, the resets."""
    rates, corrected_rates = rate_rows(), rate_rows(MEMORY[-1])
    impaired = impaired_row(run_impaired(PACKETS, seed=1))
    corrected_impaired = impaired_row(run_impaired(CORRECTED_PACKETS, seed=1, memory=MEMORY[-1]), MEMORY[-1])
    resets = latency_row(RESETS)
    corrected_resets = [latency_row(CORRECTED_RESETS, memory) for memory in MEMORY]
    targets = [
        none("packets lost of those that come at 100 Gb/s, core at 250 MHz", rates[0]["lost"]),
        none(f"of them corrected, with memory that takes {MEMORY[-1]} cycles", corrected_rates[0]["lost"]),
        Target(
            what="header to first pixel out, raw",
            value=resets["most"],
            unit="cycles",
            limit=LIMIT_LATENCY,
            better="lower",
        ),
        none(f"its jitter in {RESETS:,} resets with random phase", resets["most"] - resets["least"], "cycles"),
        none(
            f"the same of corrected pixels, in {CORRECTED_RESETS:,} resets for each memory",
            max(row["most"] - row["least"] for row in corrected_resets),
            "cycles",
        ),
        none(
            f"differences of memory, masks and counts to the model, of {PACKETS:,} impaired packets",
            impaired["differences"],
        ),
        none(f"the same of {CORRECTED_PACKETS:,} packets that are corrected", corrected_impaired["differences"]),
        Target(
            what="writes of pixels to one address, without holes between, at most",
            value=max(impaired["most_writes"], corrected_impaired["most_writes"]),
            unit="",
            limit=1,
            better="lower",
        ),
        none(
            "masks that do not say of which packets there are pixels",
            impaired["wrong_masks"] + corrected_impaired["wrong_masks"],
        ),
    ]
    longest = longest_memory()
    rates += corrected_rates + [rate_row(LINE_GAP, memory) for memory in (longest, longest + 1)]
    latency = [resets, *corrected_resets]
    rows = [*rates, impaired, corrected_impaired, *latency]
    columns = dict.fromkeys(name for row in rows for name in row)
    return Measurement(
        [{name: row.get(name) for name in columns} for row in rows],
        targets,
        page=detector_tx_page.page(rates, latency, impaired, corrected_impaired, targets),
    )


def none(what: str, value: float, unit: str = "") -> Target:
    """A promise that there is nothing of it."""
    return Target(what=what, value=value, unit=unit, limit=0, better="lower")
