"""The page docs/measured/softnic_speed.md."""

from typing import Any

from framelane.base.crc32_library import crc32_library
from framelane.bench.page_template import page_parts
from framelane.bench.runner import Target

_PARTS = page_parts("softnic_speed")


def page(memory: list[dict[str, Any]], wire: list[dict[str, Any]], targets: list[Target], seconds: float) -> str:
    """The page's text, from the rows and targets of the bench; trials took so many `seconds`."""
    rates = {(row["what"], row["payload_bytes"]): row["packets_per_s"] for row in memory}
    loops, floors = ({size: rate for (what, size), rate in rates.items() if word in what} for word in ("Python", "CRC"))
    lines = [
        f"| {row['payload_bytes']} | {row['what']} | {row['packets_per_s']:,.0f} | {row['gb_per_s']:.2f} "
        f"| {row['packets_per_s'] / loops[row['payload_bytes']]:.1f} "
        f"| {row['packets_per_s'] / floors[row['payload_bytes']]:.0%} |\n"
        for row in memory
    ]
    promises = [
        f"- {target.what}: {target.value:,.0f} {target.unit}".rstrip()
        + f", promised {target.limit:,g} or more: {'met' if target.met else 'missed'}\n"
        for target in targets
    ]
    measured = [
        f"| {row['payload_bytes']} | {row['what']} | {row['path']} | {row['packets_per_s']:,.0f} "
        f"| {row['gb_per_s']:.2f} | {row['sent_per_s']:,.0f} |\n"
        for row in wire
    ]
    network = [_PARTS["wire"].format(seconds=seconds), *measured] if measured else []
    return "".join(
        [_PARTS["head"], *lines, "\n", *promises, *network, _PARTS["tail"].format(library=crc32_library().name)]
    )
