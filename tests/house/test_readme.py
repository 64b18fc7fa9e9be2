"""Figures of docs/reference/blocks.md are those of the tables that programs write; the README's are from there."""

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from framelane.bench.transmitter import bench_tx
from synth_table import TABLE, Row, parse

ROOT = Path(__file__).resolve().parents[2]
IMAGE_BYTES = 8 * 512 * 1024 * 2


@cache
def page(name: str) -> str:
    """A page of docs/, or of docs/measured/."""
    (path,) = [path for path in (ROOT / "docs").rglob("*.md") if path.as_posix().endswith(f"/{name}.md")]
    return path.read_text()


@cache
def rows() -> dict[str, list[str]]:
    """The cells of the table of blocks, by the block's name."""
    table = page("blocks").partition("\n## What is there\n")[2].partition("\n## ")[0]
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines() if line[:1] == "|"]
    return {re.sub(r"\[([^]]+)\]\([^)]*\)", r"\1", cells[0]).replace("`", ""): cells for cells in lines[2:]}


def cells(name: str, start: str, heading: str = "") -> list[str]:
    """The cells of the one line of a page's tables that begins so; of those below a heading, where one is given."""
    text = page(name).partition(f"\n## {heading}\n")[2].partition("\n## ")[0] if heading else page(name)
    (line,) = [line for line in text.splitlines() if line.startswith(f"| {start} |")]
    return [cell.strip() for cell in line.strip("|").split("|")]


def number(name: str, pattern: str) -> float:
    """The one number that stands at a place of a page."""
    (found,) = set(re.findall(pattern, page(name)))
    return float(found.replace(",", ""))


@cache
def areas() -> dict[str, Row]:
    return parse(TABLE.read_text())


def area(block: str, *, flops: bool = True) -> str:
    """A row of docs/measured/area.md as the page writes it."""
    row = areas()[block]
    parts = [f"{row.luts / 1000:.1f}k LUT", *([f"{row.flops / 1000:.1f}k FF"] if flops else [])]
    parts += [f"{n} {unit}" for n, unit in ((row.brams, "BRAM"), (row.dsps, "DSP")) if n]
    return ", ".join(parts)


def correction() -> str:
    """What the page says of the correction's area."""
    lane, store = areas()["jf_lane"], areas()["image_writer"]
    pixel = f"{lane.luts} LUT and a DSP a pixel"
    assert (lane.dsps, store.dsps) == (1, areas()["jf_correct"].dsps)
    in_store = f"{store.luts / 1000:.1f}k LUT, {store.brams} BRAM"
    return f"{area('jf_correct')}: {pixel}; in the frame store, with its constants read ahead, {in_store}"


@pytest.mark.parametrize(
    ("name", "block"),
    [
        *((name, name) for name in ("roce_tx", "bd_gen", "mm2s", "frame_store", "registers", "tx", "framelane_top")),
        ("RC rc_requester, dcqcn", "tx_with_rc"),
    ],
)
def test_the_areas_are_those_of_the_table(name: str, block: str) -> None:
    assert rows()[name][3].removeprefix("`tx` with RC and station: ") == area(block)


def test_the_area_of_the_correction_is_that_of_its_parts() -> None:
    assert rows()["jf_correct"][3] == correction()


def cost(block: str, less: str = "") -> str:
    """What a block has in docs/measured/area.md, or has more than another one, as docs/integrating/ writes it."""
    row, other = areas()[block], areas()[less] if less else Row("", 0, 0, 0, 0, 0)
    luts, flops = row.luts - other.luts, row.flops - other.flops
    brams, dsps = row.brams - other.brams, row.dsps - other.dsps
    parts = [f"{luts / 1000:.1f}k LUT", f"{flops / 1000:.1f}k FF"]
    return ", ".join(parts + [f"{n} {unit}" for n, unit in ((brams, "block RAM"), (dsps, "DSP")) if n])


def test_what_each_parameter_costs_is_that_of_its_blocks() -> None:
    text = (ROOT / "docs" / "integrating" / "README.md").read_text()
    table = text.partition("\n## What each parameter costs\n")[2].partition("\n## ")[0]
    expected = {
        "`Rc` and `Station`": cost("tx_with_rc", "tx"),
        "`Store`": cost("guarded_store", "image_writer"),
        "`Correct`": cost("image_writer"),
        "`MacPort`": cost("mac_port"),
        "`PixelClock`": cost("cdc_axis"),
        "`RegisterClock`": cost("cdc_axil"),
        "`Time`": cost("time_unit"),
    }
    for parameter, figures in expected.items():
        assert re.search(rf"\n\| {parameter} \| {re.escape(figures)}(?:, with[^,]*)? \(", table), parameter
    for port in ("read", "write"):
        assert f"{cost(f'cdc_axi_{port}')} (`cdc_axi_{port}`)" in table
    assert f"block RAM for the rings of descriptors: {areas()['rc_ring'].brams} for 64 times 16 (" in table
    assert f"block RAM for the order of the slots: {areas()['slot_ring'].brams} at 1,024" in table
    assert f"two largest packets each way: {areas()['mac_port'].brams} |" in table


def test_no_area_is_written_that_no_table_has() -> None:
    blocks = {"roce_tx", "bd_gen", "mm2s", "frame_store", "registers", "tx", "framelane_top", "jf_correct"}
    compared = blocks | {"RC rc_requester, dcqcn"}
    assert {name for name, found in rows().items() if re.search(r"\d", found[3])} == compared


def packetizer() -> list[str]:
    assert number("roce_tx", r"the worst needs ([\d.]+) times the beats") == 1.0
    return [
        "a packet every `ceil(bytes / 64)` cycles",
        f"payload leaves {cells('roce_tx', '512', 'Latency')[3]} cycles after",
    ]


def placement() -> list[str]:
    _, _, _, cycles, inside, _ = cells("placement", "whole frames | 1024 x 512 | 2")
    assert float(inside) == 1.0
    return ["a descriptor a cycle", f"a frame placed in {cycles} cycles"]


def memory() -> list[str]:
    of_rows = [cells("placement", f"JUNGFRAU rows, 2048 bytes | {how}")[-1] for how in ("only", "message")]
    return [f"{min(float(cell.split()[0]) for cell in of_rows):.3f} of ideal at 300 cycles of memory latency"]


def corrected() -> list[str]:
    pixels = number("correction_speed", r"gateware: pixels a clock: ([\d.]+),")
    clocks = number("jf_correct", r"any FPGA: a beat a clock, (\d+) clocks of latency")
    return [f"{pixels:.0f} pixels a cycle, {clocks:.0f} cycles of latency"]


def reliable() -> list[str]:
    uc, rc = (float(cells("rc_speed", f"messages of 1024 bytes, {service}")[1]) for service in ("UC", "RC"))
    measured = re.findall(r"(\d\.\d{3}) \((\d\.\d\d)\)", page("rc_speed"))
    six_trips = cells("rc_speed", "1.6 us | 128")[5].split()[0]
    return [
        f"(+{100 * (rc / uc - 1):.2f} %;",
        f"at least {min(float(share) for _, share in measured):.2f} of [go-back-N's prediction]",
        f"{float(six_trips):.2f} of the line at 1 % with a window of six round trips",
    ]


def on_a_gpu() -> list[str]:
    copy = float(cells("gpu_pipeline", "copy to the GPU alone")[2])
    plain = "correction, veto, sparse rows; images and rows of 1 frame in 10 handed back"
    rate = max(float(cells("gpu_pipeline", f"{plain} | {way}")[2]) for way in ("launches", "graphs", "waits"))
    all_three = float(cells("gpu_pipeline", "so, 1 in 10, with all three")[2])
    frames = int(rate * 1e9 / IMAGE_BYTES / 100) * 100
    kernels = re.findall(
        r"^\| ([\w ]+) \| 40 \| 1(, overlapped|) \| 1? \| [\d.]+ \| [\d.]+ \| ([\d.]+) \|", page("gpu"), re.M
    )
    overlapped = [float(times) for kernel, how, times in kernels if how or kernel.startswith("holes")]
    assert len(overlapped) == 5
    return [
        f"at {rate / copy:.2f} of PCIe's copy rate ({frames:,} 4M frames/s)",
        f"with all the others at {all_three / copy:.2f};",
        f"in batches of 40 at {min(overlapped):.2f} to {max(overlapped):.2f} times what their bytes take",
    ]


def on_a_cpu() -> list[str]:
    (one,), (copy,) = (
        re.findall(rf"(?m)^\| {variant} \| ([\d.]+) \|", page("measured/pipeline"))
        for variant in ("numba, 1 thread", "copy of the raw words, 8.4 MB")
    )
    return [f"{float(one):.1f} ms a 4M image, one thread (copy: {float(copy):.1f} ms)"]


def ranks() -> list[str]:
    return [f"two H200: {cells('ranks', 'pipeline')[3]} times one"]


def over_pcie() -> list[str]:
    links = ("two gen4 x8, two engines", "gen3 x16")
    two, one = (number("measured/pcie", rf"(?m)^\| {link} \| 256 \| ([\d.]+) \|") for link in links)
    return [f"two gen4 x8 links: {two:.1f} GB/s", f"gen3 x16 {one:.2f} GB/s"]


@pytest.mark.parametrize(
    ("name", "figures"),
    [
        ("roce_tx", packetizer),
        ("bd_gen", placement),
        ("mm2s", memory),
        ("jf_correct", corrected),
        ("RC rc_requester, dcqcn", reliable),
        ("pipeline", on_a_cpu),
        ("GPU pipeline", on_a_gpu),
        ("several receivers", ranks),
        ("PCIe pcie_tx, behind the frame store pcie_stream", over_pcie),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_the_speeds_are_those_of_the_pages(name: str, figures: Callable[[], list[str]]) -> None:
    for sentence in figures():
        assert sentence in rows()[name][2], sentence


def test_the_cycles_of_an_image_are_those_that_the_transmitter_takes() -> None:
    only, message = bench_tx.measure().rows
    assert f"a 4M image ({only['ideal_beats']:,} beats) in {only['cycles']:,} cycles" in rows()["tx"][2]
    assert message["cycles"] - message["ideal_beats"] <= only["cycles"] - only["ideal_beats"]


def plain(text: str) -> str:
    """Text without links."""
    return re.sub(r"\[([^]]+)\]\([^)]*\)", r"\1", text)


README = (ROOT / "README.md").read_text()


def test_the_readme_is_short_and_has_a_picture_and_a_table_of_ten_lines() -> None:
    assert len(README.split()) <= 600
    (picture,) = re.findall(r"!\[[^]]+\]\(([^)]+)\)", README)
    assert (ROOT / picture).is_file()
    lines = re.findall(r"^\|.*\|$", README, re.MULTILINE)
    assert len(lines) == 2 + 10


def test_the_figures_of_the_readme_are_those_of_the_blocks() -> None:
    said = plain(page("blocks"))
    rows = [line.strip("|").split("|") for line in re.findall(r"^\|.*\|$", README, re.MULTILINE)[2:]]
    figures = [figure.strip() for row in rows for figure in plain(row[1]).split(";") if re.search(r"\d", figure)]
    assert len(figures) >= 8
    assert [figure for figure in figures if figure not in said] == []


def test_the_line_of_a_board_is_as_full_as_its_packets_let_it_be() -> None:
    around = 8 + 14 + 20 + 8 + 12 + 16 + 4 + 4 + 12  # preamble to gap (IEEE 802.3, RoCEv2), all but the payload
    most = 1000 * 4096 / (4096 + around)
    (row,) = [line for line in README.splitlines() if line.startswith("| [board designs]")]
    assert f"| {most:.1f} Mb/s of payload in WRITEs |" in row
    assert f"at most: {most:.2f} Mb/s with an MTU of 4096" in (ROOT / "boards/colorlight_5a_75b/README.md").read_text()


def test_what_was_never_run_is_said_in_the_readme_as_in_the_status() -> None:
    status = page("blocks").partition("\n## Status\n")[2]
    never = {
        "gateware on a board": "| gateware on a board | not run.",
        "an RNIC": "not on an RNIC",
        "GPUDirect RDMA": "| `recv --ring gpu` (GPUDirect RDMA) | written, not run",
        "a real detector": "nor with a real detector",
    }
    (said,) = re.findall(r"^Never run: (.*)\.", README.replace("\n", " ").replace(" Never run", "\nNever run"), re.M)
    for name, row in never.items():
        assert (name in said) == (row in status), name
