"""The highest rate of a JUNGFRAU's own packets without loss: the live receiver, beside one that throws them away."""

import contextlib
import functools
import os
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from statistics import median
from typing import Any

from framelane.bench.receiver import detector_receivers
from framelane.bench.receiver.detector_page import page
from framelane.bench.receiver.detector_receivers import HOST, SLOTS, Taken
from framelane.bench.receiver.detector_sender import Senders, Share, senders
from framelane.bench.receiver.lossless import highest
from framelane.bench.runner import Measurement, Target
from framelane.models.jungfrau.jf_packet import PACKET_BYTES, PACKET_WORDS, PACKETS
from framelane.receiver.detector.detector_port import DetectorPort
from framelane.receiver.detector.packet_batch import BATCH

MODULES = (1, 2, 4, 8)
MANY_CORES = 8
"""From so many cores on the last of them is measured."""
ROUNDS = 5
TRIAL_S = 0.5
STEPS = 4
"""Steps of the search, each of which halves what is uncertain."""
TRIES = 2
LIMIT_RATIO = 0.85
_QUIET_S = 0.2
"""So long nothing comes before the rest is called lost."""
_STEP_S = 0.005

THROWN, PLACED, HANDED = "thrown away", "placed in the ring", "handed out by `recv`"
Receiver = Callable[[list[int]], AbstractContextManager[Taken]]
RECEIVERS: dict[str, Receiver] = {
    THROWN: detector_receivers.throwing_away,
    PLACED: detector_receivers.placing,
    HANDED: detector_receivers.handing_out,
}
MANY = 782
"""Slots of the largest ring: one module's packets have 100,096 addresses in it, the JSR 2020 paper's 100,000."""
ADDRESSES: dict[tuple[str, int], Receiver] = {
    (THROWN, 1): functools.partial(detector_receivers.throwing_away, addresses=1),
    (THROWN, MANY * PACKETS): functools.partial(detector_receivers.throwing_away, addresses=MANY * PACKETS),
    (PLACED, MANY * PACKETS): functools.partial(detector_receivers.placing, slots=MANY),
}
"""The bench of one module: what becomes of its packets, and to how many addresses they come by turns."""


def measure() -> Measurement:
    """One row a receiver and number of modules, and the page docs/measured/detector.md."""
    cores = sorted(os.sched_getaffinity(0))
    receiving, sending = cores[: (len(cores) + 1) // 2], cores[len(cores) // 2 :]
    rows: list[dict[str, Any]] = []
    try:
        os.sched_setaffinity(0, receiving)
        for modules in MODULES:
            if modules < MANY_CORES or len(cores) >= MANY_CORES:
                addresses = {THROWN: BATCH, PLACED: SLOTS * PACKETS * modules, HANDED: SLOTS * PACKETS * modules}
                receivers = {(what, addresses[what]): receiver for what, receiver in RECEIVERS.items()}
                rows += _rows(modules, len(receiving), sending, receivers)
        spread = _rows(1, len(receiving), sending, ADDRESSES)
    finally:
        os.sched_setaffinity(0, cores)
    targets = [
        Target(
            what=f"rate without loss of {row['modules']} modules placed, over that of a receiver that throws away",
            value=row["of_thrown"],
            unit="",
            limit=LIMIT_RATIO,
            better="higher",
        )
        for row in rows
        if row["what"] == PLACED
    ]
    return Measurement(rows + spread, targets, page=page(rows, spread, targets, len(cores), ROUNDS, TRIAL_S))


def _rows(
    modules: int, receiving: int, sending: list[int], receivers: Mapping[tuple[str, int], Receiver]
) -> list[dict[str, Any]]:
    """Each round measures all receivers one after the other, every other round in the other order.

    The first of them throws away, and the others are compared with it.
    """
    ports = _free_ports(modules)
    used = sending[:modules]
    shares = [Share(index, core, tuple(ports[index :: len(used)])) for index, core in enumerate(used)]
    found: dict[tuple[str, int], list[tuple[float, float, float]]] = {each: [] for each in receivers}
    with senders(shares) as sender:
        for turn in range(ROUNDS):
            for each in list(receivers)[:: -1 if turn % 2 else 1]:
                with receivers[each](ports) as taken:
                    packets = Packets(taken, sender, modules)
                    found[each].append((*highest(packets.trial, TRIAL_S, STEPS, TRIES), packets.cpu_us))
    thrown = [rate for rate, _, _ in next(iter(found.values()))]
    rows = []
    for (what, addresses), of in found.items():
        rate = median(rate for rate, _, _ in of)
        ratios = [reached / beside for (reached, _, _), beside in zip(of, thrown, strict=True)]
        rows.append(
            {
                "what": what,
                "modules": modules,
                "addresses": addresses,
                "receiving_cores": receiving,
                "sending_cores": len(used),
                "packets_per_s": rate,
                "frames_per_s": rate / modules / PACKETS,
                "gbit_per_s": rate * 8 * PACKET_BYTES / 1e9,
                "gb_per_s": rate * 2 * PACKET_WORDS / 1e9,
                "of_thrown": median(ratios),
                "of_thrown_least": min(ratios),
                "of_thrown_most": max(ratios),
                "cpu_us": median(cpu for _, _, cpu in of),
                "sent_per_s": median(sent for _, sent, _ in of),
            }
        )
    return rows


class Packets:
    """Trials of one receiver; packets are sent by whole frames."""

    def __init__(self, taken: Taken, sender: Senders, modules: int) -> None:
        self._taken, self._sender, self._of_frame = taken, sender, modules * PACKETS
        self._cpu_s, self._count = 0.0, 0

    @property
    def cpu_us(self) -> float:
        """Processor time of the receiver, for each packet that was sent in the trials."""
        return 1e6 * self._cpu_s / self._count

    def trial(self, count: int, rate: float) -> tuple[float, int]:
        """See `lossless.Trial`: the rate is over the time in which all were sent, and taken."""
        frames = max(1, count // self._of_frame)
        count = frames * self._of_frame
        before = came = self._taken()
        cpu, begun = time.process_time(), time.perf_counter()
        self._sender.start(frames, rate / self._of_frame)
        last = begun
        while came - before < count:
            time.sleep(_STEP_S)
            if (now := self._taken()) != came:
                came, last = now, time.perf_counter()
            elif self._sender.done and time.perf_counter() - last > _QUIET_S:
                break
        seconds = max(self._sender.seconds(), last - begun)
        self._cpu_s, self._count = self._cpu_s + time.process_time() - cpu, self._count + count
        return count / seconds, count - (came - before)


def _free_ports(count: int) -> list[int]:
    with contextlib.closing(DetectorPort(HOST, [0] * count)) as port:
        return [number for _, number in port.addresses]
