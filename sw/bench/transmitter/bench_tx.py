"""How long a 4M image takes through the Verilated transmitter: in clock cycles, and in seconds."""

import time
from typing import Any

import numpy as np

from framelane.bench.runner import Measurement, Target
from framelane.demo import link
from framelane.demo.link import LinkOptions
from framelane.driver.simulated.verilated import TxSimulator
from framelane.models.cells import axis
from framelane.models.placement.flow import FrameEvent

ROWS, COLUMNS = 4096, 1024
"""Eight JUNGFRAU modules, one above the other."""

WIDTH = 512
LIMIT_S = 3.0
LIMIT_RATIO = 1.001


def measure() -> Measurement:
    """One row for each segmentation: cycles, the bus beats of its packets, and seconds of this machine."""
    image = np.random.default_rng(1).integers(0, 0x4000, (ROWS, COLUMNS), np.uint16)
    rows: list[dict[str, Any]] = []
    for segmentation in ("only", "message"):
        session = link.make_session(
            LinkOptions(transport="packet"),
            segmentation=segmentation,
            n_slots=1,
            slot_bytes=None,
            rows=ROWS,
            columns=COLUMNS,
        )
        with TxSimulator(session.tx_config(), WIDTH) as simulator:
            start = time.perf_counter()
            simulator.write_memory(0, image)
            simulator.offer(FrameEvent(0, 0, 0, 0))
            packets = simulator.run()
            wall_s = time.perf_counter() - start
            ideal = sum(axis.n_beats(len(packet), WIDTH) for packet in packets)
            rows.append(
                {
                    "width": WIDTH,
                    "segmentation": segmentation,
                    "image_bytes": image.nbytes,
                    "packets": len(packets),
                    "cycles": simulator.cycles,
                    "ideal_beats": ideal,
                    "ratio": simulator.cycles / ideal,
                    "wall_s": wall_s,
                }
            )
    slowest, widest = max(row["wall_s"] for row in rows), max(row["ratio"] for row in rows)
    return Measurement(
        rows,
        [
            Target(
                what="a 4M image through the Verilated transmitter",
                value=slowest,
                unit="s",
                limit=LIMIT_S,
                better="lower",
            ),
            Target(
                what="cycles over the beats of the packets", value=widest, unit="", limit=LIMIT_RATIO, better="lower"
            ),
        ],
    )
