"""Files that can be read while they are written: what that costs, how soon, and what a killed writer leaves."""

import math
from typing import Any

from framelane.bench.files import files_page, killed_writers
from framelane.bench.files.killed_writers import killed, latencies
from framelane.bench.files.write_rate import write_rates
from framelane.bench.runner import Measurement, Target

SOON_S = 2.0


def measure() -> Measurement:
    """Rows of three kinds with the keys of all, and the page docs/measured/files.md."""
    rates, targets = write_rates()
    seen, left = latencies(), killed()
    ours = next(row for row in seen if row["way"] == "commits")
    targets.append(
        Target(
            what="a frame is seen by a reader", value=ours["most_s"] or math.inf, unit="s", limit=SOON_S, better="lower"
        )
    )
    kept = next(row for row in left if row["way"] == "commits")
    lost = kept[killed_writers.OLD_LOST]
    targets.append(Target(what="frames older than 2 s lost by a kill", value=lost, unit="", limit=0, better="lower"))
    rows = [*rates, *seen, *left]
    keys = list(dict.fromkeys(key for row in rows for key in row))
    filled: list[dict[str, Any]] = [{key: row.get(key, "") for key in keys} for row in rows]
    return Measurement(filled, targets, page=files_page.page(rates, seen, left, targets), page_name="files")
