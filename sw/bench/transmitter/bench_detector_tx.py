"""A JUNGFRAU's packets through `detector_tx`: its rate and latency, 100,000 packets in bad weather, 10,000 resets."""

import random
from collections import Counter
from typing import Any

from framelane.bench.runner import Measurement, Target
from framelane.bench.transmitter import detector_tx_page
from framelane.bench.transmitter.detector_tx_weather import (
    BEATS,
    FIRST_PORT,
    HEADER,
    LINE_GAP,
    LOCAL,
    MODULES,
    QP,
    TARGET,
    WIDTH,
    Weathered,
    on_the_line,
    packet,
    weathered,
)
from framelane.driver.simulated.verilated_detector import DetectorSimulator
from framelane.models.detector.det_header import DetFate
from framelane.models.roce_tx import wire

PACKETS, RESETS, IN_A_ROW = 100_000, 10_000, 1024
LIMIT_LATENCY = 20
_LANES = WIDTH // 8
HEADER_BEAT = (wire.ETH_BYTES + wire.IP_BYTES + wire.UDP_BYTES + HEADER.of.header.bytes - 1) // _LANES
"""The beat with the last byte of the detector's header."""
_PHASES = 1 << 8


def latencies(resets: int, seed: int = 1) -> Counter[int]:
    """Clock cycles from the end of the header to the first pixel, each of a packet some time behind a reset."""
    rng, found = random.Random(seed), Counter[int]()
    with DetectorSimulator(HEADER, TARGET, LOCAL, FIRST_PORT, QP, WIDTH) as fpga:
        for _ in range(resets):
            fpga.reset()
            fpga.step(rng.randrange(_PHASES))
            module, words = rng.randrange(MODULES), rng.randbytes(HEADER.packet_bytes)
            fpga.receive(on_the_line(packet(1, rng.randrange(HEADER.packets), module, words), module))
            done = fpga.run()
            found[int(done.left["pixel"][0]) - int(done.begun[0]) - HEADER_BEAT] += 1
    return found


def in_a_row(gap: int) -> Counter[DetFate]:
    """What becomes of whole frames whose packets come with so many cycles between them."""
    words = bytes(HEADER.packet_bytes)
    with DetectorSimulator(HEADER, TARGET, LOCAL, FIRST_PORT, QP, WIDTH) as fpga:
        for at in range(IN_A_ROW):
            frame, module, index = at // MODULES // HEADER.packets, at % MODULES, at // MODULES % HEADER.packets
            fpga.receive(on_the_line(packet(frame + 1, index, module, words), module), gap=gap)
        fpga.run()
        return fpga.fates()


def rate_row(gap: int) -> dict[str, Any]:
    """Packets that come so many cycles apart."""
    fates = in_a_row(gap)
    return {"case": "rate", "cycles": BEATS + gap, "packets": fates.total(), "lost": fates[DetFate.FULL]}


def weather_row(done: Weathered) -> dict[str, Any]:
    """What came of bad weather, as numbers: `differences` to the model, and packets that were placed twice."""
    memory, expected = done.memory, done.expected
    differs = len(memory.sums.items() ^ expected.sums.items()) + len(memory.masks.items() ^ expected.masks.items())
    return {
        **{"case": "weather", "packets": done.sent, "masks": len(memory.masks), "wrong_masks": memory.wrong_masks()},
        **{"differences": differs + (done.fates != done.expected_fates), "most_writes": memory.most},
        "fates": {fate.name: done.fates[fate] for fate in DetFate},
    }


def measure() -> Measurement:
    """The rate, the weather, the resets."""
    least = next(gap for gap in range(LINE_GAP) if not in_a_row(gap)[DetFate.FULL])
    rates = [rate_row(LINE_GAP), rate_row(least)] + ([rate_row(least - 1)] if least else [])
    weather = weather_row(weathered(PACKETS, seed=1))
    found = latencies(RESETS)
    resets: dict[str, Any] = {"case": "resets", "resets": RESETS, "least": min(found), "most": max(found)}
    targets = [
        Target(
            what="packets lost of those that come at 100 Gb/s, core at 250 MHz",
            value=rates[0]["lost"],
            unit="",
            limit=0,
            better="lower",
        ),
        Target(
            what="header to first pixel out",
            value=resets["most"],
            unit="cycles",
            limit=LIMIT_LATENCY,
            better="lower",
        ),
        Target(
            what=f"its jitter in {RESETS:,} resets with random phase",
            value=resets["most"] - resets["least"],
            unit="cycles",
            limit=0,
            better="lower",
        ),
        Target(
            what=f"differences of memory, masks and counts to the model, of {PACKETS:,} packets in bad weather",
            value=weather["differences"],
            unit="",
            limit=0,
            better="lower",
        ),
        Target(
            what="writes of pixels to one address, without holes between, at most",
            value=weather["most_writes"],
            unit="",
            limit=1,
            better="lower",
        ),
        Target(
            what="masks that do not say of which packets there are pixels",
            value=weather["wrong_masks"],
            unit="",
            limit=0,
            better="lower",
        ),
    ]
    rows = [*rates, weather, resets]
    columns = dict.fromkeys(name for row in rows for name in row)
    return Measurement(
        [{name: row.get(name) for name in columns} for row in rows],
        targets,
        page=detector_tx_page.page(rates, weather, resets, targets),
    )
