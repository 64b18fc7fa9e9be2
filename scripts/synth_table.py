"""The table `docs/measured/area.md`: its rows, the limits they keep, what may change."""

from dataclasses import astuple, dataclass, fields
from pathlib import Path

TABLE = Path(__file__).resolve().parents[1] / "docs" / "measured" / "area.md"

LEVELS = 8
"""Most levels of logic, so that 322 MHz is plausible."""
FANOUT = 256
"""Most inputs of cells that a net other than a clock may drive: beyond, an enable or a reset has to be made twice."""
MOST = {"roce_tx": {"luts": 9_000, "flops": 9_000, "dsps": 0, "brams": 0}}
"""Most of a block with all that it contains; LUTs used as memory are LUTs."""
UNITS = {"luts": "LUTs in all", "flops": "flip-flops", "dsps": "DSPs", "brams": "block RAMs"}
ALLOWED_PERCENT = {"logic": 5, "memory": 5, "flops": 5, "carries": 5, "fanout": 5}
"""Most that a column may differ from the table when a block has changed; the others may not at all."""

WIDE_CARRIES: dict[str, str] = {
    "serial_scale": "the sum of 64 bits, which is also taken over or not",
    "jf_constants": "where a plane begins, from the pitch of planes",
    "jf_correct": "that of `jf_lane`, and the choice of its stage",
    "image_writer": "that of `jf_correct`",
    "jf_lane": "the product, whose multiplier is made of LUTs here",
    "frame_store": "the beats of a frame that are left, one less",
    "slot_ring": "the next slot's number, compared with that of slots",
    "bd_select": "a frame's number less the flow's first, 64 bits, and the choice of the number before it",
    "bd_place": "frames dropped, 64 bits, one more where there is no room for this one",
    "bd_rows": "the rest of a row, compared with the longest transfer, and the choice that depends on it",
    "bd_gen": "that of `bd_select`",
    "det_constants": "where a plane begins, from the pitch of planes",
    "det_correct": "that of `jf_correct`",
    "det_place": "a frame's number less the first, or that of the first packet, 64 bits",
    "det_send": "the offset of trailers less that of masks",
    "dcqcn": "the bytes that a QP has spent, one packet more; its target, a step more, compared with the line's rate",
    "rc_protocol": "the difference of two PSNs, and the sum in the time of a timer",
    "rc_requester": "packets of a descriptor, one more where the last is short",
    "counters": "the sum of 64 bits, from 0 where a counter is cleared",
    "registers": "that of `counters`",
    "edge_stamp": "a time less a latency, 80 bits",
    "time_servo": "the negation of an offset, 47 bits",
    "time_cross": "the sum of the cycles from a measurement to its use, 64 bits",
    "time_counter": "the sum of a period and its adjustment, 43 bits, and those of 64 bits of which one is chosen",
    "pcie_engine": "length and place of the descriptor or event that is next, summed up in `tlp_split`",
    "time_unit": "that of `time_counter`",
    "detector_core": "a packet's port less the first, in `udp_match`",
    "tx_core": "that of `bd_select`",
    "pcie_lane": "the address of the next burst, in `mm2s`",
    "pcie_core": "that of `bd_select`",
    "pcie_tx": "that of `counters`",
    "pcie_stream": "that of `guarded_store`",
    "detector_tx": "that of `counters`",
    "detector_links": "the words of a whole frame, compared with those that were read, in `axis_frame_fifo`",
    "detector_pcie": "that of `detector_core`",
    "tx_stream": "that of `guarded_store`",
    "framelane_top": "that of `rc_protocol`",
    "guarded_store": "the beats that memory owes, in `read_guard`",
    "tx": "that of `counters`",
    "tx_rc": "that of `rc_protocol`",
    "tx_with_rc": "that of `rc_protocol`",
}
"""Blocks that have more levels when adders are made of LUTs: the carry chain that is on that path."""

WITHOUT_EXCEPTION = {
    "fanout": ("inputs on one net", FANOUT),
    "levels_with_carries": ("levels with carry chains as one each", LEVELS),
}
"""Columns whose limit holds for every block without exception: what they count, the limit."""

HEAD = Path(__file__).parent / "templates" / "area.md"
"""The prose of the page, to be filled by `str.format`; the rows follow."""


@dataclass(frozen=True)
class Row:
    """One block, in the order of the table. Fan-out and levels are None where not measured."""

    block: str
    logic: int
    memory: int
    flops: int
    carries: int
    dsps: int
    brams: int = 0
    fanout: int | None = None
    levels: int | None = None
    levels_with_carries: int | None = None

    @property
    def luts(self) -> int:
        """LUTs of all kinds."""
        return self.logic + self.memory


def text(rows: list[Row], yosys: str, carries: dict[str, str]) -> str:
    """Write the table; `carries` are the exceptions by name, as WIDE_CARRIES."""
    lines = []
    for block, *values in map(astuple, rows):
        cells = ("" if value is None else f"{value:,}" for value in values)
        lines.append(f"| {' | '.join((f'`{block}`', *cells))} |\n")
    named = [f"- `{block}`: {carry}\n" for block, carry in carries.items()]
    limits = {"levels": LEVELS, "fanout": FANOUT, "apart": max(ALLOWED_PERCENT.values()), **MOST["roce_tx"]}
    head = HEAD.read_text().format(yosys=yosys, **limits)
    return head + "".join(lines) + ("\nWide carries:\n\n" + "".join(named) if named else "")


def parse(table: str) -> dict[str, Row]:
    """Read the rows of a table back, by block."""
    rows = {}
    for line in table.splitlines():
        if not line.startswith("| `"):
            continue
        block, *cells = (cell.strip() for cell in line.strip("|").split("|"))
        try:
            values = [int(cell.replace(",", "")) if cell else None for cell in cells]
            rows[block.strip("`")] = Row(block.strip("`"), *values)  # type: ignore[arg-type]
        except (TypeError, ValueError):
            raise SystemExit(f"docs/measured/area.md: not a row of this table, run make synth: {line}") from None
    return rows


def beyond_limits(row: Row, carries: dict[str, str]) -> list[str]:
    """Say which limits a block breaks: `carries` are the exceptions by name, as WIDE_CARRIES."""
    limits = MOST.get(row.block, {}).items()
    has = {name: getattr(row, name) for name, _ in limits}
    found = [f"{has[name]:,} {UNITS[name]}, the limit is {most:,}" for name, most in limits if has[name] > most]
    if (row.levels or 0) > LEVELS and row.block not in carries:
        found.append(f"{row.levels} levels, the limit is {LEVELS}, and no wide carry is named in WIDE_CARRIES")
    if row.levels is not None and row.levels <= LEVELS and row.block in carries:
        found.append("keeps the limit of levels, so it has to leave WIDE_CARRIES")
    for column, (unit, limit) in WITHOUT_EXCEPTION.items():
        if (has_now := getattr(row, column)) is not None and has_now > limit:
            found.append(f"{has_now} {unit}, the limit is {limit}")
    return [f"{row.block}: {sentence}" for sentence in found]


def differences(old: dict[str, Row], names: list[str], measured: dict[str, Row], exact: set[str]) -> list[str]:
    """Say where a row of the table `old` is not what is `measured`, and which blocks only one of both sides has.

    The blocks are `names`. Those of `exact` must be the same in every column, of the others ALLOWED_PERCENT is let
    through.
    """
    found = []
    for block, row in measured.items():
        if block not in old:
            continue
        for field in fields(Row):
            before, now = getattr(old[block], field.name), getattr(row, field.name)
            allowed = 0 if block in exact else ALLOWED_PERCENT.get(field.name, 0)
            if before != now and (before is None or now is None or abs(now - before) * 100 > before * allowed):
                more = f", more than {allowed} % apart" if allowed else ""
                found.append(
                    f"{block}: {field.name} is {now}, docs/measured/area.md has {before}{more}: run make synth"
                )
    found += [f"{block}: not in docs/measured/area.md, run make synth" for block in names if block not in old]
    return found + [
        f"{block}: in docs/measured/area.md but not in hw/, run make synth" for block in sorted(old.keys() - set(names))
    ]
