"""The page `docs/measured/detector_tx.md`: a detector's packets through the gateware."""

from collections.abc import Iterable
from typing import Any

from framelane.bench.page_template import page_parts
from framelane.bench.runner import Target

_PARTS = page_parts("detector_tx")
_CLOCK_HZ = 250_000_000
_PIXEL_BYTES = 8192

Row = dict[str, Any]


def page(rates: Iterable[Row], latency: Iterable[Row], impaired: Row, corrected: Row, targets: Iterable[Target]) -> str:
    """The whole page; `corrected` is that of corrected pixels."""
    body = _PARTS["head"] + "".join(map(rate_line, rates))
    body += _PARTS["latency"] + "".join(map(latency_line, latency))
    body += _PARTS["impaired"].format(**impaired)
    body += _PARTS["corrected"].format(**corrected)
    both = zip(impaired["fates"].items(), corrected["fates"].values(), strict=True)
    body += "".join(f"| `{name}` | {count:,} | {of_corrected:,} |\n" for (name, count), of_corrected in both)
    return body + "\n" + "".join(f"- {target}\n" for target in targets)


def rate_line(row: Row) -> str:
    """The line of packets that come at one rate."""
    rate = _PIXEL_BYTES * _CLOCK_HZ / row["cycles"] / 1e9
    return f"| {_pixels(row)} | {row['cycles']} | {rate:.2f} | {row['packets']:,} | {row['lost']:,} |\n"


def latency_line(row: Row) -> str:
    """The line of one memory of constants, or of raw pixels."""
    return f"| {_pixels(row)} | {row['resets']:,} | {row['least']} | {row['most']} |\n"


def _pixels(row: Row) -> str:
    if row["memory"] is None:
        return "raw"
    return f"corrected, memory {row['memory']} cycle{'s' * (row['memory'] > 1)}"
