"""The rules of AXI on a port, looked at in every cycle: what breaks one ends the test with the rule's place.

Numbers are sections of AMBA AXI and ACE Protocol Specification, ARM IHI 0022 H.c. Both sides are looked at: the design,
and the model that the bench puts there. Whether a signal is x is no question here: Verilator has two states.
"""

import re
from collections import deque
from typing import Any

from bench import Bench
from signals import now

PAGE = 4096
EXCLUSIVE_OKAY = 0b01
ADDRESS = ("addr", "len", "size", "burst", "cache", "prot", "id", "lock", "qos")
DATA = ("data", "strb", "last", "id", "resp", "user")
FIXED, INCR, WRAP, RESERVED = range(4)


class Broken(AssertionError):
    """A rule of AXI is broken."""


class _Channel:
    """One channel: its signals, of element `at` where they are packed arrays, and what is held until its handshake."""

    def __init__(self, port: "AxiRules", name: str, payload: tuple[str, ...], from_manager: bool) -> None:
        prefix = f"{port.prefix}_{name}" if port.prefix else name
        dut: Any = port.dut
        found = {each: getattr(dut, f"{prefix}{each}", None) for each in ("valid", "ready", *payload)}
        self.signals = {each: handle for each, handle in found.items() if handle is not None}
        self.widths = {each: len(handle) // port.several for each, handle in self.signals.items()}
        self.name, self.from_manager = name, from_manager
        self._port = port
        self.offered: dict[str, int] | None = None
        """What is offered in this cycle, whether it passes or not."""
        self._held: dict[str, int] | None = None

    def get(self, name: str) -> int:
        """The value of a signal now."""
        width = self.widths[name]
        value = now(self.signals[name])
        return value if self._port.several == 1 else value >> self._port.at * width & (1 << width) - 1

    def take(self) -> dict[str, int] | None:
        """What passes in this cycle."""
        self.offered = None
        if not self.get("valid"):
            self._port.check(self._held is None, f"{self.name}valid fell before {self.name}ready", "A3.2.1")
            return None
        offered = {name: self.get(name) for name in self.signals if name not in ("valid", "ready")}
        held, ready = self._held, self.get("ready")
        self._port.check(held in (None, offered), f"{self.name}: changed before {self.name}ready", "A3.2.1")
        self.offered, self._held = offered, None if ready else offered
        return offered if ready else None

    def is_waiting(self) -> bool:
        return self._held is not None

    def forget(self) -> None:
        self._held = None


class AxiRules:
    """The channels `<prefix>_aw*` to `<prefix>_r*` of a bench's design, those that there are.

    AXI4-Lite is known by a port without `len`.
    """

    def __init__(self, bench: Bench, prefix: str, *, at: int = 0, several: int = 1) -> None:
        """Watch port number `at` of `several` in packed arrays. `bench` must have the port's clock."""
        self.dut, self.prefix, self.at, self.several = bench.dut, prefix, at, several
        self._bench = bench
        names = (
            ("aw", ADDRESS, True),
            ("w", DATA, True),
            ("b", DATA, False),
            ("ar", ADDRESS, True),
            ("r", DATA, False),
        )
        there = (_Channel(self, *each) for each in names)
        self.channels = {channel.name: channel for channel in there if "valid" in channel.signals}
        self.is_lite = not any("len" in channel.signals for channel in self.channels.values())
        self._lanes = next(c.widths["data"] for c in self.channels.values() if "data" in c.signals) // 8
        burst = getattr(self.dut, "MaxBurst", None)
        self._most = 256 if burst is None or prefix.startswith("s_") else int(burst.value)
        """Beats of the longest burst that the design may ask for."""
        self._was_reset, self._resets = False, bench.resets
        self._writes: deque[dict[str, int]] = deque()
        """Addresses whose data are not over."""
        self._written: deque[dict[str, int]] = deque()
        """Last beats of data; their address may come later."""
        self._due: dict[int, int] = {}
        """Answers to writes that may come, by ID."""
        self._reads: dict[int, deque[int]] = {}
        """Beats that are left of each read, by ID."""
        self._beats: list[dict[str, int]] = []
        """Beats of the write under way."""
        self.bursts = {"aw": 0, "ar": 0}
        """Addresses that passed."""
        self.longest = {"aw": 0, "ar": 0}
        """Beats of the longest burst among them."""

    def check(self, holds: bool, says: str, section: str) -> None:
        """Raise Broken unless the rule holds."""
        if not holds:
            port = f"{self.prefix}[{self.at}]" if self.several > 1 else self.prefix or "AXI"
            raise Broken(f"{port}: {says} (IHI 0022, {section}), cycle {self._bench.cycle}")

    def is_waiting(self) -> bool:
        """Whether something was offered and not taken."""
        return any(channel.is_waiting() for channel in self.channels.values())

    def rest(self) -> None:
        """A cycle, not of a reset, in which nothing is offered, nor was before."""
        if self._resets != self._bench.resets:
            self._forget()
        self._was_reset, self._resets = False, self._bench.resets

    def look(self) -> None:
        """A cycle."""
        if self._bench.rst is not None and now(self._bench.rst):
            self._reset()
            return
        self.rest()
        passed = {name: channel.take() for name, channel in self.channels.items()}
        # Answers first: what they answer passed in an earlier cycle.
        for name, see in (("r", self._read), ("b", self._answer)):
            if name in self.channels and (answer := self.channels[name].offered) is not None:
                see(answer, passed[name] is not None)
        for name in ("aw", "ar"):
            if (address := passed.get(name)) is not None:
                self._address(name, address)
        if (beat := passed.get("w")) is not None:
            self._beat(beat)
        self._match()

    def _reset(self) -> None:
        """All that was under way is forgotten; from the second cycle on nothing may be offered."""
        for channel in self.channels.values():
            wrong = self._was_reset and channel.from_manager and channel.get("valid")
            self.check(not wrong, f"{channel.name}valid in reset", "A3.1.2")
        self._was_reset = True
        self._forget()

    def _forget(self) -> None:
        for channel in self.channels.values():
            channel.forget()
        self._writes.clear()
        self._written.clear()
        self._due.clear()
        self._reads.clear()
        self._beats.clear()

    def _address(self, name: str, address: dict[str, int]) -> None:
        self.bursts[name] += 1
        beats, size = address.get("len", 0) + 1, 1 << address.get("size", (self._lanes - 1).bit_length())
        burst, at = address.get("burst", INCR), address["addr"]
        self.longest[name] = max(self.longest[name], beats)
        self.check(beats <= self._most, f"{name}len of {beats} beats, MaxBurst is {self._most}", "A3.4.1")
        self.check(size <= self._lanes, f"{name}size is wider than the bus", "A3.4.1")
        self.check(burst != RESERVED, f"{name}burst is reserved", "A3.4.1")
        self.check(burst == INCR or beats <= 16, f"{name}len of {beats} beats, not INCR", "A3.4.1")
        if burst == WRAP:
            self.check(beats in (2, 4, 8, 16), f"{name}len of {beats} beats that wrap", "A3.4.1")
            self.check(at % size == 0, f"{name}addr {at:#x} wraps and is not aligned", "A3.4.1")
        end = at // size * size + beats * size - 1
        self.check(burst != INCR or at // PAGE == end // PAGE, f"{name}: {at:#x} to {end:#x} crosses 4 KiB", "A3.4.1")
        cache = address.get("cache", 0)
        self.check(cache & 2 != 0 or cache & 0b1100 == 0, f"{name}cache {cache:#06b} is reserved", "A4.4")
        if name == "aw":
            self._writes.append(address)
        else:
            self._reads.setdefault(address.get("id", 0), deque()).append(beats)

    def _beat(self, beat: dict[str, int]) -> None:
        self._beats.append(beat)
        if self.is_lite or beat["last"]:
            self._written.append({"beats": len(self._beats)})
            self._check_strobes(final=True)
            self._beats.clear()
        else:
            self._check_strobes(final=False)

    def _check_strobes(self, *, final: bool) -> None:
        """Check the strobes of the beat just taken if its address is known: data may precede their address (A3.3)."""
        if len(self._writes) < len(self._written) + (not final) or self.is_lite:
            return
        address = self._writes[len(self._written) - final]
        beat = len(self._beats)
        beats = address.get("len", 0) + 1
        self.check(beat < beats or final, f"wlast is not with beat {beats}", "A3.2.2")
        if address.get("burst", INCR) != INCR:
            return
        size = 1 << address.get("size", (self._lanes - 1).bit_length())
        aligned = address["addr"] // size * size
        first = address["addr"] if beat == 1 else aligned + (beat - 1) * size
        upto = aligned + beat * size
        low, high = first % self._lanes, (upto - 1) % self._lanes
        lanes = (1 << high + 1) - (1 << low)
        strobes = self._beats[-1]["strb"]
        self.check(strobes & ~lanes == 0, f"wstrb {strobes:#x} in lanes outside {lanes:#x}", "A3.4.3")

    def _match(self) -> None:
        """Addresses and data that are both over: their answer is due."""
        while self._writes and self._written:
            address, data = self._writes.popleft(), self._written.popleft()
            beats = address.get("len", 0) + 1
            self.check(data["beats"] == beats, f"wlast with beat {data['beats']} of {beats}", "A3.2.2")
            of = address.get("id", 0)
            self._due[of] = self._due.get(of, 0) + 1

    def _answer(self, answer: dict[str, int], passes: bool) -> None:
        of = answer.get("id", 0)
        self.check(self._due.get(of, 0) > 0, f"bvalid with ID {of}, of which no write is over", "A3.3.1")
        self._due[of] -= passes
        self._check_response("b", answer)

    def _read(self, answer: dict[str, int], passes: bool) -> None:
        of = answer.get("id", 0)
        waiting = self._reads.get(of)
        self.check(bool(waiting), f"rvalid with ID {of}, which asked for nothing", "A3.3.1")
        assert waiting is not None
        over = waiting[0] == 1
        if not self.is_lite:
            self.check(bool(answer["last"]) == over, f"rlast {answer['last']}, {waiting[0]} beats are due", "A3.2.2")
        if passes:
            waiting[0] -= 1
        if passes and over:
            waiting.popleft()
        self._check_response("r", answer)

    def _check_response(self, name: str, answer: dict[str, int]) -> None:
        exclusive = answer.get("resp", 0) == EXCLUSIVE_OKAY
        self.check(
            not exclusive, f"{name}resp EXOKAY, to no exclusive access", "A7.2.5" if not self.is_lite else "B1.1.1"
        )

    @property
    def outstanding(self) -> int:
        """Reads and writes that have no last answer yet."""
        return sum(map(len, self._reads.values())) + len(self._writes) + sum(self._due.values())


def watch(bench: Bench, prefix: str, several: int = 1) -> list[AxiRules]:
    """The rules on the ports `<prefix>_*` of a bench's design, from now on in every cycle.

    Most cycles of most ports are idle: those cost a look at each valid.
    """
    rules = [AxiRules(bench, prefix, at=k, several=several) for k in range(several)]
    valids = [channel.signals["valid"] for channel in rules[0].channels.values()]

    def look() -> None:
        in_reset = bench.rst is not None and now(bench.rst)
        if in_reset or any(map(now, valids)) or any(each.is_waiting() for each in rules):
            for each in rules:
                each.look()
        else:
            for each in rules:
                each.rest()

    bench.watch(look)
    return rules


def watch_axi(bench: Bench, names: str = r"[sm]_axi\w*") -> list[AxiRules]:
    """The same on every AXI port whose prefix is as the expression `names` says."""
    found = {}
    for handle in bench.dut:
        port = re.fullmatch(rf"({names}?)_(aw|ar)valid", handle._name)
        if port:
            found[port[1]] = len(handle)
    assert found, f"no AXI port is called {names}"
    return [each for name, several in sorted(found.items()) for each in watch(bench, name, several)]
