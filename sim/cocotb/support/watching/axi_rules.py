"""The rules of AXI on a port, looked at in every cycle: what breaks one ends the test with the rule's place.

Numbers are sections of AMBA AXI and ACE Protocol Specification, ARM IHI 0022 H.c. Both sides are looked at: the design,
and the model that the bench puts there. Whether a signal is x is no question here: Verilator has two states.
"""

from collections import deque
from collections.abc import Callable, Collection
from typing import Any, NoReturn, Protocol

from signals import reader

PAGE = 4096
EXCLUSIVE_OKAY = 0b01
ADDRESS = ("addr", "len", "size", "burst", "cache", "prot", "id", "lock", "qos")
DATA = ("data", "strb", "last", "id", "resp", "user")
WIDE = ("data", "user")
"""What no rule reads, but that it stays while it waits."""
LAZY = (*WIDE, "strb")
"""What need not be read of each transfer."""
ALL_CHANNELS = ("r", "b", "aw", "ar", "w")
FIXED, INCR, WRAP, RESERVED = range(4)
RESET_CYCLES = 2
"""Cycles of a reset after which all are reset: large blocks have copies of it, a cycle late."""
BUFFERABLE = 0b0011
"""Normal memory, not cacheable, bufferable."""
CACHES = (0b0000, 0b0001, 0b0010, 0b0011, 0b0110, 0b0111, 0b1010, 0b1011, 0b1110, 0b1111)
"""Those that are not reserved (A4.4)."""
PROMISE = "docs/integrating/README.md#memory"
RULES: list["AxiRules"] = []
"""Those of all ports that benches of this simulation have, or had in an earlier test."""


class Watched(Protocol):
    """What the rules want of a bench (`bench.Bench`): the design, its clock's cycles, and its resets."""

    dut: Any
    rst: Any
    cycle: int
    resets: int

    def watch(self, function: Callable[[], None], /) -> None: ...


class Broken(AssertionError):
    """A rule of AXI is broken."""


def _part(whole: Callable[[], int], at: int, width: int) -> Callable[[], int]:
    """Some bits of a packed array."""
    return lambda: whole() >> at & (1 << width) - 1


class _Channel:
    """One channel: its signals, of element `at` where they are packed arrays, and what is held until its handshake."""

    def __init__(self, port: "AxiRules", name: str, payload: tuple[str, ...], from_manager: bool) -> None:
        prefix = port.name_of(name)
        dut: Any = port.dut
        found = {each: getattr(dut, f"{prefix}{each}", None) for each in ("valid", "ready", *payload)}
        there = {k: handle for k, handle in found.items() if handle is not None and f"{prefix}{k}" not in port.left_out}
        assert not any(len(handle) % port.several for handle in there.values()), f"{prefix}: not {port.several} ports"
        self.widths = {each: len(handle) // port.several for each, handle in there.items()}
        self.get = {each: reader(handle) for each, handle in there.items()}
        """What gives the value of each signal now."""
        self.valid: Any = there.get("valid")
        self.all_valid = self.get.get("valid", lambda: 0)
        """The valid signals of all elements, as one number."""
        if port.several > 1:
            self.get = {k: _part(whole, port.at * self.widths[k], self.widths[k]) for k, whole in self.get.items()}
        self._ready = self.get.get("ready", lambda: 1)
        self._payload = [(each, self.get[each]) for each in there if each not in ("valid", "ready")]
        self._short = [(name, get) for name, get in self._payload if name not in LAZY]
        self.name, self.from_manager = name, from_manager
        self._port = port
        self.passes = False
        """Whether there is a handshake in this cycle."""
        self.held: dict[str, int] | None = None

    def take(self) -> dict[str, int]:
        """What is offered in this cycle; without what is wide where it has not waited."""
        held = self.held
        self.passes = bool(self._ready())
        if self.passes and held is None:
            return {name: get() for name, get in self._short}
        offered = {name: get() for name, get in self._payload}
        if held is not None and held != offered:
            self._port.broken(f"{self.name}: changed before {self.name}ready", "A3.2.1")
        self.held = None if self.passes else offered
        return offered


class AxiRules:
    """The channels `<prefix>_aw*` to `<prefix>_r*` of a bench's design, those that there are.

    AXI4-Lite is known by a port without `len`.
    """

    def __init__(
        self,
        bench: Watched,
        prefix: str,
        *,
        at: int = 0,
        several: int = 1,
        left_out: Collection[str] = (),
        own: bool = False,
        channels: Collection[str] = ALL_CHANNELS,
    ) -> None:
        """Watch port number `at` of `several` in packed arrays, but signals named in `left_out`.

        `bench` must have the port's clock. `own`: the design makes the bursts itself, those that its memory
        is promised (`PROMISE`).
        """
        self.dut, self.prefix, self.at, self.several, self.left_out = bench.dut, prefix, at, several, left_out
        self.is_looked_at = False
        """Whether anybody has, outside of resets."""
        self._bench, self._own = bench, own
        # Answers first: what they answer passed in an earlier cycle.
        names: tuple[tuple[str, tuple[str, ...], bool, Callable[[_Channel], None]], ...] = (
            ("r", DATA, False, self._read),
            ("b", DATA, False, self._answer),
            ("aw", ADDRESS, True, self._address),
            ("ar", ADDRESS, True, self._address),
            ("w", DATA, True, self._beat),
        )
        there = [
            (_Channel(self, name, payload, of_manager), see)
            for name, payload, of_manager, see in names
            if name in channels
        ]
        self._looks = [(channel, channel.get["valid"], see) for channel, see in there if "valid" in channel.get]
        self.channels = {channel.name: channel for channel, _, _ in self._looks}
        self.is_lite = not any("len" in channel.get for channel in self.channels.values())
        if not self.is_lite:
            self._check_lasts()
        self._lanes = next(c.widths["data"] for c in self.channels.values() if "data" in c.get) // 8
        burst = getattr(self.dut, "MaxBurst", None)
        self._most = 256 if burst is None or prefix.startswith("s_") else int(burst.value)
        """Beats of the longest burst that the design may ask for."""
        self._in_reset, self._resets = 0, -1
        """Cycles of the reset that there is, or was just before; resets of the bench that are known."""
        self._writes: deque[dict[str, int]] = deque()
        """Addresses whose data are not over."""
        self._early: list[tuple[int, int]] = []
        """The beats of the write under way that came before its address, and their strobes."""
        self._written: deque[tuple[int, list[tuple[int, int]]]] = deque()
        """Beats of data whose address may come later, and those that are early."""
        self._due: dict[int, int] = {}
        """Answers to writes that may come, by ID."""
        self._reads: dict[int, deque[int]] = {}
        """Beats that are left of each read, by ID."""
        self._beats = 0
        """Those that have passed of the write under way."""
        self.bursts = {"aw": 0, "ar": 0}
        """Addresses that passed."""
        self.longest = {"aw": 0, "ar": 0}
        """Beats of the longest burst among them."""

    def name_of(self, signal: str) -> str:
        """The name in the design of a signal of the port, or the start of a channel's."""
        return f"{self.prefix}_{signal}" if self.prefix else signal

    def _check_lasts(self) -> None:
        """Who sends data says which beat is the last. A manager need not look at what it is told of a read."""
        write, read, is_subordinate = self.channels.get("w"), self.channels.get("r"), self.prefix.startswith("s_")
        if write and "last" not in write.get:
            left_out = self.name_of("wlast") in self.left_out
            self.broken("wlast ends each write: leave out the whole port" if left_out else "there is no wlast", "A2.3")
        if read and is_subordinate and "last" not in read.get and self.name_of("rlast") not in self.left_out:
            self.broken("there is no rlast", "A2.6")

    def broken(self, says: str, section: str) -> NoReturn:
        """Raise Broken, with the place in the specification."""
        self._raise(says, f"IHI 0022, {section}")

    def _raise(self, says: str, where: str) -> NoReturn:
        port = f"{self.prefix}[{self.at}]" if self.several > 1 else self.prefix or "AXI"
        raise Broken(f"{port}: {says} ({where}), cycle {self._bench.cycle}")

    def is_waiting(self) -> bool:
        """Whether something was offered and not taken."""
        return any(channel.held is not None for channel in self.channels.values())

    @property
    def valids(self) -> list[Any]:
        """The signals valid of all channels."""
        return [channel.valid for channel in self.channels.values()]

    def is_busy(self) -> bool:
        """Whether anything was offered or is due."""
        return self.is_waiting() or bool(self._beats or self._written or self.outstanding)

    def rest(self) -> None:
        """A cycle, not of a reset, in which nothing is offered, nor was before."""
        self._in_reset = 0
        if self._resets != self._bench.resets:
            self._resets = self._bench.resets
            self._forget()
            self.is_looked_at = True

    def look(self) -> None:
        """A cycle that is not of a reset."""
        self._check_reset("in the first cycle after a reset")
        self.rest()
        for channel, valid, see in self._looks:
            if valid():
                see(channel)
            elif channel.held is not None:
                self.broken(f"{channel.name}valid fell before {channel.name}ready", "A3.2.1")

    def look_in_reset(self) -> None:
        """All that was under way is forgotten; the design may offer nothing, but in the first cycles."""
        self._check_reset("in reset")
        self._in_reset += 1
        self._forget()

    def _check_reset(self, when: str) -> None:
        """After `RESET_CYCLES` of reset the design is still; a model of the bench's may have another reset, or none."""
        if self._in_reset < RESET_CYCLES:
            return
        is_manager = not self.prefix.startswith("s_")
        for channel in self.channels.values():
            if channel.from_manager == is_manager and channel.get["valid"]():
                self.broken(f"{channel.name}valid {when}", "A3.1.2")

    def _forget(self) -> None:
        for channel in self.channels.values():
            channel.held = None
        self._writes.clear()
        self._early = []
        self._written.clear()
        self._due.clear()
        self._reads.clear()
        self._beats = 0

    def _address(self, channel: _Channel) -> None:
        address = channel.take()
        if not channel.passes:
            return
        name = channel.name
        self.bursts[name] += 1
        beats, size = address.get("len", 0) + 1, 1 << address.get("size", (self._lanes - 1).bit_length())
        burst, at = address.get("burst", INCR), address["addr"]
        self.longest[name] = max(self.longest[name], beats)
        end = at // size * size + beats * size - 1
        cache = address.get("cache", 0)
        if beats > self._most:
            self.broken(f"{name}len of {beats} beats, MaxBurst is {self._most}", "A3.4.1")
        if size > self._lanes:
            self.broken(f"{name}size is wider than the bus", "A3.4.1")
        if burst == RESERVED:
            self.broken(f"{name}burst is reserved", "A3.4.1")
        if burst != INCR and beats > 16:
            self.broken(f"{name}len of {beats} beats, not INCR", "A3.4.1")
        if burst == WRAP and beats not in (2, 4, 8, 16):
            self.broken(f"{name}len of {beats} beats that wrap", "A3.4.1")
        if burst == WRAP and at % size:
            self.broken(f"{name}addr {at:#x} wraps and is not aligned", "A3.4.1")
        if burst == INCR and at // PAGE != end // PAGE:
            self.broken(f"{name}: {at:#x} to {end:#x} crosses 4 KiB", "A3.4.1")
        if cache not in CACHES:
            self.broken(f"{name}cache {cache:#06b} is reserved", "A4.4")
        if address.get("lock", 0):
            self.broken(f"{name}lock: no design here has exclusive accesses", "A7.2")
        if self._own and not self.is_lite:
            made = (burst, size, address.get("id", 0), address.get("cache", BUFFERABLE))
            if made != (INCR, self._lanes, 0, BUFFERABLE):
                self._raise(f"{name}: burst, bytes of a beat, ID and cache are {made}", PROMISE)
        if name == "aw":
            self._writes.append(address)
            self._match()
        else:
            self._reads.setdefault(address.get("id", 0), deque()).append(beats)

    def _beat(self, channel: _Channel) -> None:
        beat = channel.take()
        if not channel.passes:
            return
        self._beats += 1
        final = self.is_lite or bool(beat["last"])
        if not self.is_lite and len(self._writes) > len(self._written):
            address = self._writes[len(self._written)]
            if self._beats > address.get("len", 0) and not final:
                self.broken(f"wlast is not with beat {self._beats}", "A3.2.2")
            if not self._may_have_all(address, self._beats):
                self._check_strobes(address, self._beats, self._strobes(channel))
        elif not self.is_lite:
            self._early.append((self._beats, self._strobes(channel)))
        if final:
            self._written.append((self._beats, self._early))
            self._beats, self._early = 0, []
            self._match()

    def _strobes(self, channel: _Channel) -> int:
        """Those of a beat: all where there are none (A10.3), as none where no rule is to hold for them."""
        if "strb" in channel.get:
            return channel.get["strb"]()
        return 0 if self.name_of("wstrb") in self.left_out else (1 << self._lanes) - 1

    def _size(self, address: dict[str, int]) -> int:
        return 1 << address.get("size", (self._lanes - 1).bit_length())

    def _may_have_all(self, address: dict[str, int], beat: int) -> bool:
        """Whether a beat has all lanes, so that its strobes may be any: they need not be read."""
        return beat > 1 and self._size(address) == self._lanes and address.get("burst", INCR) != FIXED

    def _check_strobes(self, address: dict[str, int], beat: int, strobes: int) -> None:
        """Lanes of a beat, counted from 1 (A3.4.1, formulas of Lower_Byte_Lane and Upper_Byte_Lane)."""
        at, size, burst = address["addr"], self._size(address), address.get("burst", INCR)
        first = aligned = at // size * size
        if burst == INCR:
            first += (beat - 1) * size
        elif burst == WRAP:
            total = size * (address.get("len", 0) + 1)
            first = at // total * total + (at % total + (beat - 1) * size) % total
        low = (at if first == aligned else first) % self._lanes
        high = (first + size - 1) % self._lanes
        lanes = (1 << high + 1) - (1 << low)
        if strobes & ~lanes:
            self.broken(f"wstrb {strobes:#x} in lanes outside {lanes:#x}", "A3.4.3")

    def _match(self) -> None:
        """Addresses and data that are both over: their answer is due."""
        while self._writes and self._written:
            address, (data, early) = self._writes.popleft(), self._written.popleft()
            beats = address.get("len", 0) + 1
            if data != beats:
                self.broken(f"wlast with beat {data} of {beats}", "A3.2.2")
            for beat, strobes in early:
                self._check_strobes(address, beat, strobes)
            of = address.get("id", 0)
            self._due[of] = self._due.get(of, 0) + 1

    def _answer(self, channel: _Channel) -> None:
        answer = channel.take()
        of = answer.get("id", 0)
        due = self._due.get(of, 0)
        if not due:
            self.broken(f"bvalid with ID {of}, of which no write is over", "A3.3.1")
        self._due[of] = due - channel.passes
        self._check_response("b", answer)

    def _read(self, channel: _Channel) -> None:
        answer = channel.take()
        of = answer.get("id", 0)
        waiting = self._reads.get(of)
        if not waiting:
            self.broken(f"rvalid with ID {of}, which asked for nothing", "A3.3.1")
        left = waiting[0]
        if "last" in answer and bool(answer["last"]) != (left == 1):
            self.broken(f"rlast {answer['last']}, {left} beats are due", "A3.2.2")
        if channel.passes and left == 1:
            waiting.popleft()
        elif channel.passes:
            waiting[0] = left - 1
        self._check_response("r", answer)

    def _check_response(self, name: str, answer: dict[str, int]) -> None:
        if answer.get("resp", 0) == EXCLUSIVE_OKAY:
            self.broken(f"{name}resp EXOKAY, to no exclusive access", "B1.1.1" if self.is_lite else "A7.2.5")

    @property
    def outstanding(self) -> int:
        """Reads and writes that have no last answer yet."""
        return sum(map(len, self._reads.values())) + len(self._writes) + sum(self._due.values())


def watch(
    bench: Watched,
    prefix: str,
    several: int = 1,
    left_out: Collection[str] = (),
    *,
    own: bool = False,
    channels: Collection[str] = ALL_CHANNELS,
) -> list[AxiRules]:
    """The rules on the ports `<prefix>_*` of a bench's design, from now on in every cycle; `left_out`: not on those.

    Most cycles of most ports are idle: those cost a look at each valid.
    """
    rules = [
        AxiRules(bench, prefix, at=k, several=several, left_out=left_out, own=own, channels=channels)
        for k in range(several)
    ]
    RULES.extend(rules)
    valids = [channel.all_valid for channel in rules[0].channels.values()]
    in_reset = reader(bench.rst) if bench.rst is not None else lambda: 0

    def look() -> None:
        if in_reset():
            for each in rules:
                each.look_in_reset()
        elif several == 1 or any(valid() for valid in valids) or any(each.is_waiting() for each in rules):
            for each in rules:
                each.look()
        else:
            for each in rules:
                each.rest()

    bench.watch(look)
    return rules
