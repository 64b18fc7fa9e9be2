"""The page docs/measured/detector.md."""

from typing import Any

from framelane.bench.page_template import page_parts
from framelane.bench.runner import Target

_PARTS = page_parts("detector")


def page(rows: list[dict[str, Any]], targets: list[Target], cores: int, rounds: int, seconds: float) -> str:
    """The page's text, from the rows and targets of the bench on so many `cores`."""
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
    return "".join([head, *measured, "\n", *(f"- {target}\n" for target in targets), tail])
