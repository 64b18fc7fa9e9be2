"""The page docs/measured/gpu_pipeline.md."""

import datetime
from typing import Any

from framelane.bench.gpu.gpu_page import machine
from framelane.bench.page_template import page_parts
from framelane.bench.runner import Target

_PARTS = page_parts("gpu_pipeline")


def page(rows: list[dict[str, Any]], targets: list[Target], sizes: dict[str, int]) -> str:
    """The page's text, from the rows and targets of the bench; `sizes` are its "frames", "single" ones, and "lanes"."""
    name, versions = machine()
    head = _PARTS["head"].format(name=name, date=datetime.datetime.now(datetime.UTC).date(), versions=versions, **sizes)
    lines = [
        f"| {row['what']} | {row['way']} | {_number(row['median'])} | {_number(row['p99'])} | {row['unit']} |\n"
        for row in rows
    ]
    promises = [
        f"- {target.what}: {_number(target.value)} {target.unit}".rstrip()
        + f", promised {_number(target.limit)} or {'less' if target.better == 'lower' else 'more'}: "
        + f"{'met' if target.met else 'missed'}\n"
        for target in targets
    ]
    return "".join([head, *lines, "\n", *promises, _PARTS["tail"].format(**sizes)])


def _number(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:.3g}" if value < 1000 else f"{value:.0f}"
