"""DCQCN as a control loop: QPs that share a link share its rate, and the queue stays short."""

import random

import pytest

from framelane.base.errors import ConfigError
from framelane.models.rc.dcqcn import ALPHA_ONE, Books, DcqcnSettings, visit, written

CYCLES_A_TICK = 250
CNP_INTERVAL = 50
"""Ticks between two notifications of a receiver, at least (SIGCOMM 2015, figure 6)."""
PACKET = 4194


class Bottleneck:
    """A switch that all QPs share: it marks as RED does, figure 5 with K_min 5 KB, K_max 200 KB, P_max 0.01."""

    def __init__(self, settings: DcqcnSettings, qps: int, seed: int = 1) -> None:
        self.settings = settings
        self.books = [written(0, settings, 0, 0) for _ in range(qps)]
        self.spent = [0] * qps
        self.rates: list[list[float]] = []
        self.queue, self.queues = 0.0, [0.0]
        self.draw = random.Random(seed)
        self._told = [-CNP_INTERVAL] * qps
        self._now = 0

    def run(self, ticks: int) -> None:
        for _ in range(ticks):
            self._now += 1
            sent = [books.current * CYCLES_A_TICK / 65536 for books in self.books]
            capacity = self.settings.line * CYCLES_A_TICK / 65536
            self.queue = max(0.0, self.queue + sum(sent) - capacity)
            mark = 1.0 if self.queue > 200e3 else max(0.0, (self.queue - 5e3) / 195e3 * 0.01)
            for qp, size in enumerate(sent):
                self.spent[qp] += int(size)
                marked = self.draw.random() < 1 - (1 - mark) ** (size / PACKET)
                told = marked and self._now - self._told[qp] >= CNP_INTERVAL
                self._told[qp] = self._now if told else self._told[qp]
                spent = self.spent[qp] % (1 << 32)
                self.books[qp] = visit(self.books[qp], self.settings, told, self._now % (1 << 16), spent)
            self.rates.append([books.current / self.settings.line for books in self.books])
            self.queues.append(self.queue)

    def mean(self, last: int) -> list[float]:
        return [sum(column) / last for column in zip(*self.rates[-last:], strict=True)]


@pytest.mark.parametrize("qps", [2, 4])
def test_qps_that_share_a_link_share_its_rate_and_the_queue_stays_short(qps: int) -> None:
    link = Bottleneck(DcqcnSettings(), qps)
    link.run(120_000)
    shares = link.mean(80_000)
    assert all(abs(share * qps - 1) < 0.15 for share in shares), shares
    assert 0.93 < sum(shares) <= 1.01
    assert max(link.queues[40_000:]) < 400e3, "bytes"


def test_a_qp_that_comes_later_gets_its_share() -> None:
    link = Bottleneck(DcqcnSettings(), 2)
    link.books[1] = Books(1, 1, 1)  # as good as silent
    link.run(20_000)
    assert link.mean(5_000)[0] > 0.95
    link.books[1] = written(0, link.settings, link._now % (1 << 16), link.spent[1] % (1 << 32))
    link.run(100_000)
    assert all(abs(share * 2 - 1) < 0.2 for share in link.mean(50_000))


def test_alpha_decays_while_nothing_is_heard_so_that_a_rare_notification_costs_little() -> None:
    settings = DcqcnSettings()
    books = written(0, settings, 0, 0)
    now = 0
    for _ in range(2000):
        now += settings.alpha_period
        books = visit(books, settings, False, now % (1 << 16), 0)
    assert books.alpha < ALPHA_ONE // 100
    cut = visit(books, settings, True, now % (1 << 16), 0)
    assert cut.current > 0.99 * settings.line


@pytest.mark.parametrize("wrong", [{"minimum": 0}, {"gain_log2": 16}, {"bytes_log2": 9}, {"fast_rounds": 15}])
def test_settings_that_cannot_be_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ConfigError, match=f"{next(iter(wrong))} = .*: give "):
        DcqcnSettings(**wrong)
