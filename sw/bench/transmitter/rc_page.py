"""The page `docs/measured/rc_speed.md`: goodput of RC where packets are lost, and what it costs where none is."""

from itertools import groupby
from typing import Any

from framelane.bench.page_template import page_parts
from framelane.bench.transmitter.rc_run import BUS, CLOCK_HZ, LATENCY, LONG, MTU
from framelane.driver.simulated.verilated_rc import RC_AHEAD

_PARTS = page_parts("rc_speed")

Rows = list[dict[str, Any]]


def page(lossy: Rows, cost: Rows, dead: Rows, own: float) -> str:
    """The whole page. `own`: cycles of the transmitter's part of a round trip."""
    head = _PARTS["head"].format(bus=BUS, clock=CLOCK_HZ / 1e6)
    return head + goodput(lossy, own) + window(lossy) + costs(cost) + _PARTS["acks"] + dead_ones(dead)


def goodput(lossy: Rows, own: float) -> str:
    """The section on losses, up to the end of its table."""
    losses = sorted({row["loss"] for row in lossy})
    head = _PARTS["goodput"].format(
        **{"message": max(LONG.messages), "mtu": MTU, "own": own, "latency": LATENCY, "ahead": RC_AHEAD},
        losses=" | ".join(f"loss {loss:g}" for loss in losses),
        rules="|".join("---" for _ in losses),
    )
    paths = groupby(lossy, lambda row: (row["round_trip"], row["window"]))
    return head + "".join(goodput_line(list(rows)) for _, rows in paths)


def goodput_line(rows: Rows) -> str:
    """The line of one round trip and window, at each loss."""
    first = rows[0]
    cells = (f"{row['goodput']:.3f} ({row['measured_over_predicted']:.2f})" for row in rows)
    return _line(f"{first['round_trip'] / CLOCK_HZ * 1e6:.1f} us", first["window"], *cells)


def window(lossy: Rows) -> str:
    """What a window costs that is larger than the round trip."""
    shortest = min(row["round_trip"] for row in lossy)
    loss = max(row["loss"] for row in lossy if row["loss"] < 0.05)
    rows = [row for row in lossy if row["round_trip"] == shortest and row["loss"] == loss]
    packet = rows[0]["cycles_per_packet"] * rows[0]["goodput"]
    fits = [row for row in rows if row["window"] * packet >= shortest]
    bound = packet / (packet + loss * (2 * packet + shortest))
    return _PARTS["window"].format(
        bound=bound,
        **{"small": shortest / packet, "loss": loss, "least": fits[0]["window"], "most": fits[-1]["window"]},
        more=fits[0]["goodput"],
        less=fits[-1]["goodput"],
    )


def costs(cost: Rows) -> str:
    """The table of what RC costs."""
    return _PARTS["cost"] + "".join(cost_line(row) for row in cost)


def cost_line(row: dict[str, Any]) -> str:
    """The line of one traffic."""
    return _line(row["case"], f"{row['cycles_per_packet']:.3f}", f"{row['messages_per_s'] / 1e6:.2f} million")


def dead_ones(dead: Rows) -> str:
    """The section on a dead queue pair."""
    alone = dead[0]["cycles_per_packet"]
    cells = ((row["case"], f"{row['cycles_per_packet']:.3f}", alone / row["cycles_per_packet"]) for row in dead)
    return _PARTS["dead"] + "".join(_line(case, cycles, f"{ratio:.3f}") for case, cycles, ratio in cells)


def _line(*cells: object) -> str:
    return f"| {' | '.join(map(str, cells))} |\n"
