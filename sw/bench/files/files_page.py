"""The page docs/measured/files.md."""

from typing import Any

from framelane.bench.files import file_writers, killed_writers, write_rate
from framelane.bench.page_template import page_parts
from framelane.bench.runner import Target
from framelane.files.growing_hdf5 import COMMIT_S

_PARTS = page_parts("files")

Rows = list[dict[str, Any]]


def page(rates: Rows, seen: Rows, left: Rows, targets: list[Target]) -> str:
    """The page's text, from the rows and targets of the bench."""
    kills = killed_writers.KILLS
    head = _PARTS["head"].format(commit=COMMIT_S, series=file_writers.SERIES_S, reads=killed_writers.READS, kills=kills)
    rate = _PARTS["rates"].format(rounds=write_rate.ROUNDS, others=write_rate.OTHER_ROUNDS)
    rows, columns = killed_writers.SHAPE
    read = _PARTS["read"].format(rate=killed_writers.RATE, rows=rows, columns=columns)
    killed = _PARTS["killed"].format(kills=kills)
    written = [
        f"| {row['way']} | {row['image']} | {row['frames_per_s']:.1f} | {row['mb_per_s']:.0f} | {row['time']:.3f} "
        f"| {row['cpu_time']:.3f} |\n"
        for row in rates
    ]
    waited = [f"| {row['way']} | {_s(row['median_s'])} | {_s(row['most_s'])} |\n" for row in seen]
    lost = [
        f"| {row['way']} | "
        + " | ".join(f"{n} of {kills}" for n in _of(row, "opened by"))
        + f" | {row['lost_median']:.0f} | {row['lost_most']} | {row[killed_writers.OLD_LOST]} |\n"
        for row in left
    ]
    promises = [
        f"- {target.what}: {target.value:.3g} {target.unit}".rstrip()
        + f", promised {target.limit:g} or less: {'met' if target.met else 'missed'}\n"
        for target in targets
    ]
    compared = _side_by_side(rates, seen, left)
    return "".join(
        [head, *compared, rate, *written, read, *waited, killed, *lost, "\n", *promises, _PARTS["tail"]],
    )


def _side_by_side(rates: Rows, seen: Rows, left: Rows) -> list[str]:
    """The table that decision 0017 has as well."""
    speed = {row["way"]: row["frames_per_s"] for row in rates if row["image"].endswith("noise")}
    return [
        f"| {reader['way']} | {speed[reader['way']]:.1f} | {_s(reader['median_s'])} | "
        + " | ".join(f"{share:.0f} %" for share in _of(reader, "read by"))
        + " | "
        + " | ".join(f"{n} of {row['kills']}" for n in _of(row, "opened by"))
        + f" | {row[killed_writers.OLD_LOST]} |\n"
        for reader, row in zip(seen, left, strict=True)
    ]


def _of(row: dict[str, Any], what: str) -> list[Any]:
    return [value for name, value in row.items() if name.startswith(what)]


def _s(seconds: float | None) -> str:
    return "never" if seconds is None else f"{seconds:.2f}"
