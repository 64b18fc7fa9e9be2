"""The page docs/measured/correction_speed.md."""

from typing import Any

from framelane.bench.page_template import page_parts
from framelane.bench.runner import Target

_PARTS = page_parts("correction_speed")


def page(rows: list[dict[str, Any]], gateware: list[dict[str, Any]], targets: list[Target]) -> str:
    """The page's text, from the rows and targets of the bench."""
    lines = [
        f"| {row['what']} | {row['output']} | {row['threads']} | {row['batch']} "
        f"| {row['cpu_ms']:.2f} | {row['least_wall_ms']:.2f} | {row['times_plain']:.2f} | {row['times_copy']:.2f} |\n"
        for row in rows
    ]
    promises = [
        f"- {target.what}: {target.value:.2f}, promised {target.limit:g} or more: {'met' if target.met else 'missed'}\n"
        for target in targets
    ]
    simulated = [
        _PARTS["gateware"].format(
            **row, ms=row["least_wall_ms"], a_clock=next(t.value for t in targets if "pixels" in t.what)
        )
        for row in gateware
    ]
    gains = _gains(rows)
    second = _PARTS["second"].format(**gains) if gains else ""
    return "".join([_PARTS["head"], *lines, "\n", *promises, second, _PARTS["tail"], *simulated])


def _gains(rows: list[dict[str, Any]]) -> dict[str, float]:
    """How many times as fast two threads copy as one, by the type of the result; none where there is one core."""
    copies = {(row["output"], row["threads"]): row["least_wall_ms"] for row in rows if row["what"].startswith("copy")}
    return {output: copies[output, 1] / copies[output, 2] for output, threads in copies if threads == 2}
