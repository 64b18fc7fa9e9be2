"""detector_links in a bench: MACs of three links and of the line, each with clocks of its own, around a core."""

from collections import Counter
from typing import Any

import cocotb

from axi_lite import AxiLite
from axi_ports import nobody_behind
from bench import Stalls
from clocks_bench import Side
from core_bench import BYTES, MODULES, PACKETS
from correct_bench import any_correction, constants_of
from det_packets import FIRST_PORT, frame_of
from detector_tx_bench import HEADER, OWN_TARGET, QP, Configured
from framelane.models.detector_tx import DetectorTx
from framelane.models.roce_tx import roce_icrc, wire
from gap_rule import GapRule
from receive_bench import LOCAL, line
from signals import now

LINKS = 3
LINE = LINKS
"""Where the line is among them: behind the last."""
NAMES = (*(f"link{k}" for k in range(LINKS)), "line")
LINE_SHARE = 0.1
"""How many of a frame's packets come by the line."""
SETTLED = 400
"""Cycles in which nothing comes behind the last."""


class MacBench:
    """A MAC: what it sends to the FPGA, `gaps` between beats or none, and what it gets."""

    def __init__(self, dut: Any, name: str, periods: tuple[int, int], gaps: bool) -> None:
        stalls = Stalls.SOURCE if gaps else Stalls.NONE
        self.rx, self.tx = Side(dut, f"{name}_rx", periods[0], stalls), Side(dut, f"{name}_tx", periods[1])
        self.line, self.out = line(self.rx, stalls, f"s_axis_{name}"), self.tx.sink(f"m_axis_{name}")
        self.width = len(getattr(dut, f"s_axis_{name}_tdata"))
        self.rule = GapRule(self.tx, f"m_axis_{name}")

    def send(self, frame: bytes, bad: bool = False) -> None:
        """Queue a frame without FCS; `bad`: the MAC says that its FCS is wrong."""
        self.line.send(frame, self.width, tuser=0)
        self.line.items[-1]["tuser"] = int(bad)

    def got(self) -> list[bytes]:
        """The frames that the FPGA sent to it."""
        return self.out.packets(self.width)


class LinksBench(Configured, Side):
    """The core with its MACs; the core's clock runs as this bench steps, theirs beside it."""

    def __init__(self, dut: Any, period: int, link_period: int, gaps: bool = False) -> None:
        """Periods of the core's clock and of those of the links' MACs, in ps; the line's are the core's own."""
        super().__init__(dut, "", period)
        self.width = len(dut.m_axi_constant_rdata) // 6
        self.macs = [
            MacBench(dut, name, (each, each), gaps)
            for name, each in zip(NAMES, (link_period, link_period + 7, link_period + 40, period), strict=True)
        ]
        self.registers = AxiLite(self)
        self.correct = None
        if int(dut.Correct.value):
            self.correct = any_correction(self, HEADER)
            self.constants = constants_of(self, self.correct, self.width, stalls=False)
        else:
            nobody_behind(dut, "m_axi_constant")
        dut.link_up_i.value, dut.line_up_i.value = 0b101, 1

    async def begin(self) -> None:
        """Reset all sides, configure and arm; what the stations have announced is forgotten."""
        sides = [side for mac in self.macs for side in (mac.rx, mac.tx)]
        tasks = [cocotb.start_soon(side.reset(side.random.randint(2, 9))) for side in sides]
        await self.reset(4)
        for task in tasks:
            await task
        for side in sides:
            side.start()
        self.model = DetectorTx(HEADER, OWN_TARGET, LOCAL, FIRST_PORT, (QP,), self.correct)
        self.expected: list[bytes] = []
        self.sent: list[list[bytes]] = [[] for _ in NAMES]
        await self.start_core(self.correct)
        await self.quiet()
        for mac in self.macs:
            mac.out.clear()

    def packet(self, frame: int, packet: int, module: int) -> bytes:
        """A packet of the detector as an Ethernet frame, with any pixels."""
        numbers = {"frame_number": frame, "packet_number": packet, "module_id": module}
        return frame_of(HEADER.of.written(numbers) + self.random.randbytes(BYTES), module)

    def send(self, link: int, frame: bytes) -> None:
        """Let a link's MAC send it: the model takes it as well."""
        self.macs[link].send(frame)
        self.sent[link].append(frame)
        self.expected += self.model.take(frame)

    async def send_frame(self, number: int) -> None:
        """A frame of all modules, its packets in any order on any link, and on the line; wait until all have left."""
        packets = [(packet, module) for packet in range(PACKETS) for module in range(MODULES)]
        for packet, module in self.random.sample(packets, len(packets)):
            link = LINE if self.random.random() < LINE_SHARE else self.random.randrange(LINKS)
            self.send(link, self.packet(number, packet, module))
        await self.left()

    async def left(self) -> None:
        """Run until all MACs have sent what they have to send."""
        await self.until(lambda: not any(mac.line.items for mac in self.macs), 200_000)

    async def quiet(self) -> None:
        """Run until nothing has come out for a while."""
        await self.left()
        still, seen, limit = 0, -1, self.cycle + 100_000
        while still < SETTLED:
            assert self.cycle < limit, "packets go on leaving"
            await self.step()
            count = sum(len(mac.out.items) for mac in self.macs)
            still, seen = (still + 1 if count == seen else 0), count

    async def link_counters(self) -> list[dict[str, int]]:
        """The counters of each link and of the line."""
        await self.put("command", snapshot=1)
        while await self.get("status.snapshot_busy"):
            pass
        names = ("frames", "bad", "lost")
        return [{name: await self.get(f"link_counters[{k}].{name}") for name in names} for k in range(LINKS + 1)]

    def idle(self) -> bool:
        return bool(now(self.dut.idle_o))


def memory_of(packets: list[bytes]) -> tuple[dict[int, bytes], Counter[int]]:
    """What lies at each address that a receiver has been written to, and how often it was written.

    Packets with a wrong ICRC are dropped, as a receiver does.
    """
    memory: dict[int, bytes] = {}
    times: Counter[int] = Counter()
    for packet in filter(roce_icrc.check, packets):
        headers, payload = wire.parse(packet)
        assert headers.reth
        memory[headers.reth.address] = payload
        times[headers.reth.address] += 1
    return memory, times
