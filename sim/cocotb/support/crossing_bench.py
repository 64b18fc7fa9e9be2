"""What the benches of the crossings of streams share: packets in on one side, what came out on the other."""

import random
from typing import Any

from bench import Sink, Source, Stalls
from clocks_bench import Side, start_all
from framelane.models.clocks.cdc import Received, match


class Crossing:
    """A stream from the side `s` to the side `m`. Packets begin with a beat that no other one has."""

    def __init__(self, dut: Any, periods: tuple[int, int], stalls: Stalls = Stalls.NONE) -> None:
        self.dut = dut
        self.s, self.m = Side(dut, "s", periods[0], stalls), Side(dut, "m", periods[1], stalls)
        self.source: Source = self.s.source("s_axis")
        self.sink: Sink = self.m.sink("m_axis")
        self.random: random.Random = self.s.random
        self.sent: list[tuple[int, ...]] = []
        self.received: list[Received] = []

    async def start(self) -> None:
        await start_all(self.s, self.m)

    def send(self, beats: int) -> None:
        """Queue a packet."""
        width = len(self.dut.s_axis_tdata)
        rest = (self.random.getrandbits(width - 1) for _ in range(beats - 1))
        packet = (1 << (width - 1) | len(self.sent), *rest)
        self.sent.append(packet)
        self.source.items.extend({"tdata": d, "tlast": int(k == beats - 1)} for k, d in enumerate(packet))

    def collect(self) -> list[Received]:
        """Whole and cut packets since the last time; of one that is under way nothing stays in the sink."""
        beats: list[int] = []
        for item in self.sink.items:
            beats.append(item["tdata"])
            if item["tlast"]:
                self.received.append(Received(tuple(beats), bool(item["tuser"])))
                beats.clear()
        self.sink.items.clear()
        return self.received

    async def reset(self, side: Side) -> None:
        """Reset one side. What the source has not yet sent is not sent; what the sink got stays collected."""
        if side is self.m:
            self.collect()
        await side.reset(self.random.randint(1, 6))

    async def finish(self, limit: int = 50_000) -> list[int]:
        """Run until all is through; the numbers of the packets that came, which are checked."""
        await self.s.wait_until(lambda: not self.source.items, limit)
        quiet = 0
        while quiet < 100:
            before = len(self.sink.items)
            await self.m.wait(1)
            quiet = quiet + 1 if len(self.sink.items) == before else 0
        return match(self.sent, self.collect())
