"""The page docs/measured/detector.md."""

from typing import Any

from framelane.bench.page_template import page_parts
from framelane.bench.runner import Target
from framelane.models.jungfrau.jf_packet import PACKET_BYTES

_PARTS = page_parts("detector")


def page(
    rows: list[dict[str, Any]],
    spread: list[dict[str, Any]],
    targets: list[Target],
    cores: int,
    rounds: int,
    seconds: float,
) -> str:
    """The page's text, from the rows and targets of the bench on so many `cores`; `spread` are those of addresses."""
    first = rows[0]
    head = _PARTS["head"].format(
        seconds=seconds, rounds=rounds, cores=cores, receiving=first["receiving_cores"], many=len(rows)
    )
    measured = [
        f"| {row['modules']} | {row['what']} | {row['packets_per_s']:,.0f} | {row['frames_per_s']:,.0f} "
        f"| {row['gb_per_s']:.2f} | {row['of_thrown']:.2f} ({row['of_thrown_least']:.2f} to "
        f"{row['of_thrown_most']:.2f}) | {row['cpu_us']:.1f} | {row['sent_per_s']:,.0f} |\n"
        for row in rows
    ]
    limited = sum(row["packets_per_s"] >= row["sent_per_s"] for row in rows)
    tail = _PARTS["tail"].format(limited=limited, rows=len(rows))
    addresses = [
        f"| framelane, {row['what']} | {row['addresses']:,} | {row['gbit_per_s']:.1f} | {row['of_thrown']:.2f} "
        f"({row['of_thrown_least']:.2f} to {row['of_thrown_most']:.2f}) | {row['cpu_us']:.1f} "
        f"| {row['sent_per_s'] * 8 * PACKET_BYTES / 1e9:.1f} |\n"
        for row in spread
    ]
    parts = [head, *measured, "\n", *(f"- {target}\n" for target in targets), tail]
    return "".join([*parts, _PARTS["addresses"], *addresses, _PARTS["paper"]])
