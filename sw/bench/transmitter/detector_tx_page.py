"""The page `docs/measured/detector_tx.md`: a detector's packets through the gateware."""

from collections.abc import Iterable
from typing import Any

from framelane.bench.page_template import page_parts
from framelane.bench.runner import Target

_PARTS = page_parts("detector_tx")
_CLOCK_HZ = 250_000_000
_PIXEL_BYTES = 8192

Row = dict[str, Any]


def page(rates: Iterable[Row], weather: Row, resets: Row, targets: Iterable[Target]) -> str:
    """The whole page."""
    body = _PARTS["head"] + "".join(map(rate_line, rates))
    body += _PARTS["latency"].format(**resets)
    body += _PARTS["weather"].format(**weather)
    body += "".join(f"| `{name}` | {count:,} |\n" for name, count in weather["fates"].items())
    return body + "\n" + "".join(f"- {target}\n" for target in targets)


def rate_line(row: Row) -> str:
    """The line of packets that come at one rate."""
    rate = _PIXEL_BYTES * _CLOCK_HZ / row["cycles"] / 1e9
    return f"| {row['cycles']} | {rate:.2f} | {row['packets']:,} | {row['lost']:,} |\n"
