"""The page docs/measured/files.md."""

from typing import Any

from framelane.bench.files import file_writers, killed_writers, write_rate
from framelane.bench.page_template import page_parts
from framelane.bench.runner import Target
from framelane.files.growing_hdf5 import COMMIT_S

_PARTS = page_parts("files")


def page(
    rates: list[dict[str, Any]], seen: list[dict[str, Any]], left: list[dict[str, Any]], targets: list[Target]
) -> str:
    """The page's text, from the rows and targets of the bench."""
    head = _PARTS["head"].format(commit=COMMIT_S, series=file_writers.SERIES_S, rounds=write_rate.ROUNDS)
    rows, columns = killed_writers.SHAPE
    read = _PARTS["read"].format(rate=killed_writers.RATE, rows=rows, columns=columns)
    killed = _PARTS["killed"].format(kills=killed_writers.KILLS)
    written = [
        f"| {row['way']} | {row['image']} | {row['frames_per_s']:.1f} | {row['mb_per_s']:.0f} | {row['time']:.3f} "
        f"| {row['cpu_time']:.3f} |\n"
        for row in rates
    ]
    waited = [f"| {row['way']} | {row['median_s']:.2f} | {row['most_s']:.2f} |\n" for row in seen]
    lost = [
        f"| {row['way']} | "
        + " | ".join(f"{n} of {row['kills']}" for name, n in row.items() if name.startswith("opened by"))
        + f" | {row['lost_median']:.0f} | {row['lost_most']} | {row['lost_older_than_2_s']} |\n"
        for row in left
    ]
    promises = [
        f"- {target.what}: {target.value:.3g} {target.unit}".rstrip()
        + f", promised {target.limit:g} or less: {'met' if target.met else 'missed'}\n"
        for target in targets
    ]
    return "".join([head, *written, read, *waited, killed, *lost, "\n", *promises, _PARTS["tail"]])
