"""`framelane bench mac_port`: the page says what the RTL does, and a source that is too slow is seen."""

from pathlib import Path

from framelane.bench.transmitter import mac_port_page
from framelane.bench.transmitter.bench_mac_port import (
    ALONE,
    BUS_FS,
    CORE_FS,
    LINE_FS,
    efficiency_row,
    latency_row,
    line_row,
    packet_bytes,
)
from framelane.driver.simulated.verilated_mac_port import MacPortSimulator
from framelane.models.cells import axis
from framelane.models.roce_tx import wire

PAGE = Path(__file__).resolve().parents[2] / "docs" / "measured" / "mac_port.md"


def test_the_figures_in_docs_are_those_of_the_rtl() -> None:
    page = PAGE.read_text()
    for payload in (64, 1500, 4096):
        row = efficiency_row(payload)
        assert row["efficiency"] == 1, "a cycle of the line is lost"
        assert row["gaps"] == 0
        assert mac_port_page.efficiency_line(row) in page, "run make bench BENCH=mac_port"
    rows = [latency_row(payload, 8) for payload in mac_port_page.ALONE]
    assert not any(row["underruns"] for row in rows)
    assert mac_port_page.latency_line(rows) in page, "run make bench BENCH=mac_port"


def test_a_core_at_250_mhz_fills_a_line_of_100_gbps_and_underruns_with_a_threshold() -> None:
    for payload in (64, 4096):
        row = line_row(payload)
        assert row["of_line"] > 1
        assert row["gaps"] == row["underruns"] == 0
        assert mac_port_page.line_line(row) in PAGE.read_text(), "run make bench BENCH=mac_port"
    length = packet_bytes(4096)
    floor = (length + wire.LINE_BYTES) * 8 / 100 / (axis.n_beats(length, 512) * BUS_FS / 1e6)
    assert abs(line_row(4096)["of_line"] - floor) < 0.001
    assert [latency_row(4096, threshold, BUS_FS)["underruns"] for threshold in (8, 16)] == [ALONE, 0]


def test_an_underrun_in_the_last_beats_of_a_packet_is_counted() -> None:
    """Its pulse comes to the core when the packet is at the MAC already."""
    with MacPortSimulator(BUS_FS, LINE_FS, threshold=12) as port:
        underruns = [port.run([length]).underruns for length in range(64 * 12 + 1, 4200, 64)]
    assert set(underruns) == {0, 1}
    assert underruns == sorted(underruns), "a longer packet can only be cut more easily"


def test_a_core_that_is_slower_than_the_line_makes_no_gap_but_underruns_with_a_threshold() -> None:
    length, packets = packet_bytes(4096), 20
    beats = packets * axis.n_beats(length, 512)
    with MacPortSimulator(2 * LINE_FS, LINE_FS) as port:
        passage = port.run([length] * packets)
    span = int(passage.packets["out_last"][-1] - passage.packets["out_first"][0])
    assert span > 1.8 * beats * LINE_FS
    assert (passage.gaps, passage.underruns) == (0, 0)
    with MacPortSimulator(2 * LINE_FS, LINE_FS, threshold=4) as port:
        passage = port.run([length] * packets)
    assert (passage.gaps, passage.underruns) == (0, packets)


def test_packets_of_any_length_pass_whole() -> None:
    with MacPortSimulator(CORE_FS, LINE_FS) as port:
        assert port.run([*range(60, 400, 7), 4200]).gaps == 0
