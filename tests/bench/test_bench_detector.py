"""The bench of a detector's own packets: what it sends, what it counts as lost, how it searches."""

import math
import os
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest
from numpy.typing import NDArray

from framelane.bench.receiver import bench_detector, detector_receivers
from framelane.bench.receiver.detector_receivers import HOST, Taken
from framelane.bench.receiver.detector_sender import Share, senders
from framelane.bench.receiver.lossless import highest
from framelane.models.jungfrau.jf_packet import PACKETS
from framelane.receiver.detector.detector_port import DetectorPort
from framelane.receiver.transport._recvmmsg import Datagrams

CORE = min(os.sched_getaffinity(0))


@pytest.fixture
def ports() -> list[int]:
    with DetectorPort(HOST, [0, 0]) as port:
        return [number for _, number in port.addresses]


@pytest.mark.parametrize("addresses", [1, 129, 400])
def test_packets_are_thrown_away_at_so_many_addresses(
    addresses: int, ports: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As many as were asked for, in calls of at most 128 packets: 129 need two."""
    monkeypatch.setattr(bench_detector, "_QUIET_S", 60.0)
    places: set[int] = set()
    calls: set[int] = set()

    class Seen(Datagrams):
        def __init__(self, memory: NDArray[np.uint8], starts: NDArray[np.int64], size: int) -> None:
            super().__init__(memory, starts, size)
            places.update(map(int, starts))
            calls.add(len(starts))

    monkeypatch.setattr(detector_receivers, "Datagrams", Seen)
    with (
        detector_receivers.throwing_away(ports[:1], addresses) as taken,
        senders([Share(0, CORE, (ports[0],))]) as sender,
    ):
        _, lost = bench_detector.Packets(taken, sender, 1).trial(5 * PACKETS, 5000.0)
        assert (lost, taken()) == (0, 5 * PACKETS)
    assert len(places) == addresses
    assert max(calls) <= 128


@pytest.mark.parametrize("what", bench_detector.RECEIVERS)
def test_each_receiver_takes_all_that_two_senders_send_in_step(
    what: str, ports: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Patiently: with the first packet what places them may have to be compiled."""
    monkeypatch.setattr(bench_detector, "_QUIET_S", 60.0)
    shares = [Share(index, CORE, (port,)) for index, port in enumerate(ports)]
    with bench_detector.RECEIVERS[what](ports) as taken, senders(shares) as sender:
        packets = bench_detector.Packets(taken, sender, 2)
        reached, lost = packets.trial(5 * 2 * PACKETS, 5000.0)
        assert (lost, taken()) == (0, 5 * 2 * PACKETS)
        assert reached < 5600.0, "the last of 10 calls takes no time"
        packets.trial(2 * PACKETS, math.inf)
        assert taken() == 6 * 2 * PACKETS, "frame numbers go on from one trial to the next"
    assert packets.cpu_us > 0


def test_what_a_receiver_does_not_take_is_lost(ports: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench_detector, "_QUIET_S", 0.05)
    with senders([Share(0, CORE, (ports[0],))]) as sender, detector_receivers.throwing_away(ports[1:]) as taken:
        _, lost = bench_detector.Packets(taken, sender, 1).trial(3 * PACKETS, math.inf)
    assert lost == 3 * PACKETS


def test_the_search_finds_the_rate_above_which_packets_are_lost() -> None:
    def trial(count: int, rate: float) -> tuple[float, int]:
        sent = min(rate, 300e3)
        return sent, int(max(0.0, sent - 200e3) * count / sent)

    best, fastest = highest(trial, 1.0, 8, 2)
    assert fastest == 300e3
    assert best == pytest.approx(200e3, rel=0.01)
    assert best <= 200e3


def test_a_receiver_that_is_slower_misses_its_promise_and_the_page_says_on_how_many_cores(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The receiver that places packets loses every tenth at any rate above the lowest."""

    @contextmanager
    def slow(ports: list[int]) -> Iterator[Taken]:
        with detector_receivers.throwing_away(ports) as taken:
            yield lambda: taken() * 9 // 10

    receivers = bench_detector.RECEIVERS | {bench_detector.PLACED: slow}
    monkeypatch.setattr(bench_detector, "RECEIVERS", receivers)
    for constant, little in (("MODULES", (1,)), ("ROUNDS", 1), ("TRIAL_S", 0.02), ("STEPS", 1), ("TRIES", 1)):
        monkeypatch.setattr(bench_detector, constant, little)
    before = os.sched_getaffinity(0)
    measurement = bench_detector.measure()
    assert os.sched_getaffinity(0) == before
    (target,) = measurement.targets
    assert not target.met
    assert measurement.page is not None
    assert f"This machine had {len(before)} cores" in measurement.page
    assert "promised >= 0.85: MISSED" in measurement.page
    assert measurement.page.count("| 1 | placed in the ring |") == 1
    assert "| framelane, placed in the ring | 100,096 |" in measurement.page
    assert [row["addresses"] for row in measurement.rows] == [128, 4096, 4096, 1, 100_096, 100_096]


def test_more_modules_than_a_machine_has_cores_for_are_not_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    measured: list[int] = []

    def rows(modules: int, receiving: int, sending: list[int], receivers: object) -> list[dict[str, object]]:
        if receivers is not bench_detector.ADDRESSES:
            measured.append(modules)
        return []

    monkeypatch.setattr(bench_detector, "_rows", rows)
    monkeypatch.setattr(bench_detector, "page", lambda *of: "")
    monkeypatch.setattr(os, "sched_setaffinity", lambda pid, cores: None)
    for cores, expected in ((2, [1, 2, 4]), (8, [1, 2, 4, 8])):
        measured.clear()
        monkeypatch.setattr(os, "sched_getaffinity", lambda pid, cores=cores: set(range(cores)))
        bench_detector.measure()
        assert measured == expected
