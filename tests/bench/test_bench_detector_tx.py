"""`framelane bench detector_tx`: the page says what the RTL does; `make nightly` takes as many packets as the bench."""

import os
from pathlib import Path

import pytest

from framelane.bench.transmitter import detector_tx_impaired, detector_tx_page
from framelane.bench.transmitter.bench_detector_tx import (
    CORRECTED_RESETS,
    LIMIT_LATENCY,
    MEMORY,
    impaired_row,
    latency_row,
    rate_row,
)
from framelane.bench.transmitter.bench_detector_tx import RESETS as RESETS_OF_THE_PAGE
from framelane.bench.transmitter.detector_tx_impaired import LINE_GAP, Memory, run_impaired
from framelane.models.detector.det_header import DetFate
from framelane.models.detector.det_place import DetPlace

PACKETS = int(os.environ.get("FRAMELANE_DETECTOR_PACKETS", "4000"))
RESETS = int(os.environ.get("FRAMELANE_DETECTOR_RESETS", "200"))
PAGE = Path(__file__).resolve().parents[2] / "docs" / "measured" / "detector_tx.md"


@pytest.mark.parametrize("memory", [None, MEMORY[-1]], ids=["raw", "corrected"])
def test_memory_and_masks_of_impaired_packets_are_the_models_and_nothing_is_placed_twice(
    memory: int | None,
) -> None:
    done = run_impaired(PACKETS, seed=2, memory=memory)
    row = impaired_row(done)
    assert (row["differences"], row["wrong_masks"], row["most_writes"]) == (0, 0, 1)
    assert done.memory.sums == done.expected.sums
    assert done.memory.masks
    assert done.memory.refused, "no packet was poisoned"
    came = {DetFate.PLACED, DetFate.SIZE, DetFate.BAD, DetFate.CREDIT, DetFate.DUPLICATE, DetFate.LATE}
    assert came <= set(done.fates)


@pytest.mark.parametrize("memory", [None, *MEMORY])
def test_the_first_pixel_leaves_after_the_same_time_behind_any_reset(memory: int | None) -> None:
    row = latency_row(RESETS if memory is None else RESETS // 10, memory)
    assert row["least"] == row["most"]
    assert memory is not None or row["most"] <= LIMIT_LATENCY
    resets = RESETS_OF_THE_PAGE if memory is None else CORRECTED_RESETS
    assert detector_tx_page.latency_line(row | {"resets": resets}) in PAGE.read_text(), (
        "run make bench BENCH=detector_tx"
    )


@pytest.mark.parametrize("memory", [None, MEMORY[-1]], ids=["raw", "corrected"])
def test_no_packet_of_a_line_of_100_gbit_is_lost_and_some_of_a_faster_one_are(memory: int | None) -> None:
    row = rate_row(LINE_GAP, memory)
    assert row["lost"] == 0
    assert detector_tx_page.rate_line(row) in PAGE.read_text(), "run make bench BENCH=detector_tx"
    assert rate_row(0, memory)["lost"] > 0


def test_with_a_memory_that_is_too_slow_packets_are_lost() -> None:
    rows = [
        line for line in PAGE.read_text().splitlines() if line.startswith("| corrected, memory") and "GB" not in line
    ]
    slowest, slower = (int(line.split()[3]) for line in rows[3:5])
    assert slower == slowest + 1
    lost = [rate_row(LINE_GAP, memory)["lost"] for memory in (slowest, slower)]
    assert lost[0] == 0 < lost[1]


def test_a_model_that_places_twice_or_forgets_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparison can fail: the memory of a model that takes late packets is another."""
    fate = DetPlace._fate

    def careless(place: DetPlace, *args: object) -> DetFate:
        found = fate(place, *args)  # type: ignore[arg-type]
        return DetFate.PLACED if found is DetFate.DUPLICATE else found

    monkeypatch.setattr(DetPlace, "_fate", careless)
    row = impaired_row(run_impaired(1500, seed=2))
    assert row["differences"] > 0


def test_a_second_write_of_pixels_is_counted_and_one_behind_holes_is_none() -> None:
    memory, base = Memory(), detector_tx_impaired.TARGET.base
    memory.put(base, bytes(4096))
    memory.put(base, b"\0\x80" * 2048)
    memory.put(base, bytes(4096))
    assert memory.most == 1
    memory.put(base, bytes(4096))
    assert memory.most == 2
