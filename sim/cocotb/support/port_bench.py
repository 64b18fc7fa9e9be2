"""What the benches of a MAC port share: the core's side and the MAC's, packets both ways, and the rule of no gap."""

import random
from collections.abc import Iterable
from typing import Any

from bench import Sink, Source, Stalls, assert_same_packets
from clocks_bench import Side, start_all
from framelane.models.mac.mac_port import MacPort
from gap_rule import GapRule


class TxBench:
    """A core that sends at random, and a MAC that takes; `mac` is the name of its clock's side."""

    def __init__(self, dut: Any, periods: tuple[int, int], stalls: Stalls, mac: str, model: MacPort) -> None:
        self.dut, self.model = dut, model
        self.core, self.mac = Side(dut, "", periods[0], stalls), Side(dut, mac, periods[1], stalls)
        self.source: Source = self.core.source("s_axis")
        self.sink: Sink = self.mac.sink("m_axis")
        self.rule = GapRule(self.mac)
        self.random: random.Random = self.core.random
        self.sent: list[bytes] = []
        dut.threshold_i.value = 0

    async def start(self) -> None:
        await start_all(self.core, self.mac)

    def send(self, lengths: Iterable[int]) -> None:
        """Queue packets of so many random bytes."""
        for length in lengths:
            packet = self.random.randbytes(length)
            self.source.send(packet, self.model.width)
            self.sent.append(packet)

    def slowly(self) -> None:
        """Let the source pause for long, at any place: as a memory does that is slow to answer."""
        left = 0

        def stall() -> bool:
            nonlocal left
            if not left and self.random.random() < 0.03:
                left = self.random.randrange(300)
            left -= bool(left)
            return left > 0

        self.source._stall = stall

    def ends(self) -> list[int]:
        """For each packet at the MAC, whether it is marked as bad."""
        return [item["tuser"] for item in self.sink.items if item["tlast"]]

    def packets(self) -> list[bytes]:
        return self.sink.packets(self.model.mac_width)

    async def quiet(self, cycles: int = 150) -> None:
        """Wait until the source is empty and the MAC has got nothing for so many cycles."""
        beats = sum(len(packet) for packet in self.sent) * 8 // self.model.mac_width
        await self.core.wait_until(lambda: not self.source.items, 30_000 + 100 * beats)
        since = 0
        while since < cycles:
            before = len(self.sink.items)
            await self.mac.wait(1)
            since = since + 1 if len(self.sink.items) == before else 0

    async def finish(self) -> None:
        """Run until all is through: the MAC has got what the model says, and nothing is marked."""
        await self.quiet()
        assert_same_packets(self.packets(), list(self.model.sent(self.sent)))
        assert not any(self.ends())
