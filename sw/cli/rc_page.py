"""The page `docs/rc_speed.md`: goodput of RC where packets are lost, and what it costs where none is."""

from itertools import groupby
from typing import Any

from framelane.cli.rc_run import BUS, CLOCK_HZ, LATENCY, LONG, MTU
from framelane.driver.verilated_rc import RC_AHEAD

_HEAD = """# RC where packets are lost

The whole transmitter, RTL simulated by Verilator at {bus} bits, with a network and receivers that are models. Cycles,
not seconds: they are the same on every machine; where the page says seconds, a cycle is 1/{clock:.0f} us. Written by
`make bench BENCH=rc`; all rows are in `build/bench/rc.json`.

"""
_GOODPUT = """## Goodput beside go-back-N's formula

One queue pair that always has work: messages of {message} packets of {mtu} bytes, and a short one at the end of every
frame. Packets and acknowledgements are lost at the same rate. Of the round trip, {own:.0f} cycles are the
transmitter's own: from an acknowledgement to the packet that it lets in, {latency} of them the memory's.

Goodput is the share of the line that arrives in order, once. In brackets: measured over predicted. The prediction:

    T        a packet on the line                     p   loss of packets, and of acknowledgements
    R        round trip                               O   time-out, doubled at every one in a row
    W        packets in the window, whole messages    m   packets of a message
    A        what leaves after a NAK has come, beyond the memory's time

    lossless, a packet    C = max(T, (R + m T) / W)
    go back by NAK        D = max(2 T + R, min(W T, 2 T + R + A)) + max(0, R + m T - W T) / W
    a time-out            X(k) = O 2^k (1 + n), n = W T / (O 2^k) rounded up, at least 1
    wait for time-outs    S(k) = p (X(k) + S(k + 1))
    a loss                L = (1 - p) (D + S(0)) + p (R - (m - 1) T / 2 + X(0) + S(1))
    goodput               T / (C + p L)

D is that of the textbooks: with N = D / T their (1 - p) / (1 - p + p N) follows, if every packet that is lost again is
asked for again. An RC receiver says NAK once, until the packet that it waits for has come; after that only the time-out
helps, and so it does where the NAK is lost. It counts double at least: it is started once more for as long as packets
of the window leave. The first terms of D: the packet behind the lost one causes the NAK; what was issued
before it comes leaves first: {ahead} beats of payload and half a message, which hide the memory's latency, or the
window where it is less. The last term: the last packet before a full window's pause is lost. Sources are in
`sw/cli/rc_formula.py`.

| round trip | window | {losses} |
|---|---|{rules}|
"""
_WINDOW = """
A window that holds more than the round trip costs little where packets are lost: of what it lets in, no more is
issued than is ahead. That leaves first when a NAK comes, and counts for nothing. On the shortest path here,
{small:.0f} packets long, at a loss of {loss:g}:

- {most} packets outstanding: {less:.3f}
- {least} packets outstanding: {more:.3f}
- by the formula, if nothing more left once the NAK has come: {bound:.3f}

So the window may be that of the longest path: its round trip at line rate, and half as much again.

"""
_COST = """## What RC costs where nothing is lost

The same frames by the transmitter that is built without RC, as UC, and by that with RC. Cycles a packet, from the first
frame's offer to the last packet's end.

| messages | cycles a packet | messages a second |
|---|---|---|
"""
_ACKS = """
The receive path takes an acknowledgement in 8 cycles, 64 bits each. More of them are dropped as whole frames, and
counted (`rx_full`): the next one says the same. Messages that are shorter than that on the line are sent faster where
receivers acknowledge several at once. Each ring holds 64 messages that are not acknowledged.

"""
_DEAD = """## Beside a dead queue pair

Three queue pairs that always have work, and a fourth whose receiver is silent: it retries until it gives up, which is
the second row. What the three lose then is the line that the retries take.

| | cycles a packet of the three | goodput over alone |
|---|---|---|
"""

Rows = list[dict[str, Any]]


def page(lossy: Rows, cost: Rows, dead: Rows, own: float) -> str:
    """The whole page. `own`: cycles of the transmitter's part of a round trip."""
    head = _HEAD.format(bus=BUS, clock=CLOCK_HZ / 1e6)
    return head + goodput(lossy, own) + window(lossy) + costs(cost) + _ACKS + dead_ones(dead)


def goodput(lossy: Rows, own: float) -> str:
    """The section on losses, up to the end of its table."""
    losses = sorted({row["loss"] for row in lossy})
    head = _GOODPUT.format(
        **{"message": max(LONG.messages), "mtu": MTU, "own": own, "latency": LATENCY, "ahead": RC_AHEAD},
        losses=" | ".join(f"loss {loss:g}" for loss in losses),
        rules="|".join("---" for _ in losses),
    )
    paths = groupby(lossy, lambda row: (row["round_trip"], row["window"]))
    return head + "".join(goodput_line(list(rows)) for _, rows in paths)


def goodput_line(rows: Rows) -> str:
    """Of one round trip and window, at each loss."""
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
    return _WINDOW.format(
        bound=bound,
        **{"small": shortest / packet, "loss": loss, "least": fits[0]["window"], "most": fits[-1]["window"]},
        more=fits[0]["goodput"],
        less=fits[-1]["goodput"],
    )


def costs(cost: Rows) -> str:
    """The table of what RC costs."""
    return _COST + "".join(cost_line(row) for row in cost)


def cost_line(row: dict[str, Any]) -> str:
    """Of one traffic."""
    return _line(row["case"], f"{row['cycles_per_packet']:.3f}", f"{row['messages_per_s'] / 1e6:.2f} million")


def dead_ones(dead: Rows) -> str:
    """The section on a dead queue pair."""
    alone = dead[0]["cycles_per_packet"]
    cells = ((row["case"], f"{row['cycles_per_packet']:.3f}", alone / row["cycles_per_packet"]) for row in dead)
    return _DEAD + "".join(_line(case, cycles, f"{ratio:.3f}") for case, cycles, ratio in cells)


def _line(*cells: object) -> str:
    return f"| {' | '.join(map(str, cells))} |\n"
