"""One PCIe engine by its registers (docs/integrating/pcie_registers.md): pages, events, credit."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, fields

from framelane.base.errors import BoardError, ConfigError
from framelane.driver.pcie.page_plan import PagePlan
from framelane.driver.registers._pcie_register_map import REGISTERS
from framelane.driver.registers.register_file import RegisterFile
from framelane.driver.registers.registers import WORD, Registers
from framelane.models.pcie.page_map import of_pages
from framelane.models.pcie.tlp_split import MPS

_IDENTITY = int.from_bytes(b"FLPC", "little")
_MAJOR = 1
_PATIENCE_S = 2.0
_USUAL_HZ = 250_000_000
"""The clock of a board that does not say its own."""
_WATCHDOG_S = 1.0
"""So long the endpoint may take no TLP; then the link counts as lost."""
_WATCHDOG_CYCLES = 1 << 16
"""Unit of that register."""

ERRORS = {
    "bad_length": "a descriptor had no bytes: correct the flow",
    "outside": "a descriptor reached behind the ring: the board's destination is not of this session",
    "no_page": "a page of the ring is not in the table: load the table again",
    "bad_parity": "an entry of the page table has a bit changed: load the table again",
    "too_short": "memory of the board gave less than a descriptor wanted: a fault of the board",
    "too_long": "memory of the board gave more than a descriptor wanted: a fault of the board",
    "bad_payload": "memory of the board gave bytes with errors: look at its memory controller",
    "link_down": "the PCIe link was down, or took nothing for the watchdog's time: look at the slot, then restart",
    "unanswered": "a read that should push the data ahead of their event had no answer: raise the fence's limit",
    "fence_refused": "a read of the ring was refused: the IOMMU does not know the page",
    "unexpected": "an answer came that nobody waited for: another device uses this requester's tags",
    "event_lost": "the event queue was full: read it sooner, or make it longer",
    "packet_lost": "packets came faster than the link took them: send fewer, or give the build more PacketBeats",
    "packet_unposted": "packets came while no buffer was posted: read them sooner, or post more buffers",
    "packet_too_long": "packets were longer than a buffer has room: give larger buffers",
    "packet_wrong": "packets were called wrong by their source, or were cut by a restart: look at the source's link",
}
"""What the engine's error bits mean, and what to do."""


@dataclass(frozen=True, slots=True)
class EngineSizes:
    """What a build has: places in the page table, engines, bits of the port of TLPs."""

    entries: int
    engines: int
    data_width: int


@dataclass(frozen=True, slots=True)
class EngineCounters:
    """What docs/integrating/pcie_registers.md says of each, since the board's last reset."""

    tlps: int
    beats: int
    stall_cycles: int
    poisoned: int
    dropped: int
    descriptors: int
    bad_length: int
    outside: int
    no_page: int
    bad_parity: int
    too_short: int
    too_long: int
    bad_payload: int
    link_down: int
    events: int
    events_lost: int
    unanswered: int
    fences_refused: int
    unexpected: int
    interrupts: int
    packets: int
    packets_lost: int
    packets_unposted: int
    packets_too_long: int
    packets_wrong: int


class PcieEngine:
    """Engine `index` behind `registers`. BoardError where there is none, or it is of another version."""

    def __init__(self, registers: Registers, index: int = 0) -> None:
        self._board = registers
        self._registers = RegisterFile(registers, REGISTERS)
        self._name = f"pcie[{index}]"
        self._consumed, self._posted = self._at("event_consumed"), self._at("buffers_posted")
        self._clock_hz = RegisterFile(registers)["clock_hz"] or _USUAL_HZ
        if self._get("identity") != _IDENTITY:
            raise BoardError(
                f"this board has no PCIe engine {index}: load a design that has, see docs/integrating/pcie.md"
            )
        if (major := self._get("version.major")) != _MAJOR:
            raise BoardError(
                f"PCIe engine {index} is of version {major}, this software knows {_MAJOR}: update one of them"
            )
        log2, engines, width = (self._get(f"sizes.{name}") for name in ("entries_log2", "engines", "data_width"))
        self.sizes = EngineSizes(1 << log2, engines, width)

    def open(self, plan: PagePlan, addresses: Sequence[int], *, fence_s: float | None = None) -> None:
        """Let the engine write to the pages of `plan`, at these bus addresses, from its first event on.

        What it did before is over: nothing may be under way, and the memory of the event queue must be zeros. With
        `fence_s` an event waits until its frame's last byte has been answered, so long at most. ConfigError for a table
        that the engine cannot hold; BoardError where the engine does not come to rest, or has lost its link.
        """
        self._check(plan, addresses)
        limit = 0 if fence_s is None else int(fence_s * self._clock_hz)
        self._registers.check(f"{self._name}.fence_limit", limit)
        self.stop()
        if not self._get("status.link"):
            raise BoardError("the PCIe link of this engine is down: look at the slot, then `lspci -vv`")
        self.load(addresses, plan)
        self._set("event_base", plan.event_offset)
        self._set("event_log2", plan.event_log2)
        self._set("event_consumed", 0)
        self._set("watchdog", -(-int(_WATCHDOG_S * self._clock_hz) // _WATCHDOG_CYCLES))
        if fence_s is not None:
            self._set("fence_limit", limit)
        self._clear_errors()
        self._registers.write_register(
            f"{self._name}.control", {"events": 1, "fence": int(fence_s is not None), "interrupts": 0, "packets": 0}
        )

    def _check(self, plan: PagePlan, addresses: Sequence[int | None]) -> None:
        if len(addresses) != plan.pages:
            raise ConfigError(f"a ring of {plan.pages} pages needs as many addresses, not {len(addresses)}")
        if plan.pages > self.sizes.entries:
            raise ConfigError(
                f"the ring has {plan.pages} pages of {plan.page_bytes >> 10} KiB, this engine's table "
                f"{self.sizes.entries}: "
                "give larger pages (huge ones), or fewer slots"
            )

    def load(self, addresses: Sequence[int | None], plan: PagePlan) -> None:
        """Load the table again, of the pages that `open` was given; None: no such page. ConfigError as there."""
        self._check(plan, addresses)
        self._set("page_log2", plan.page_log2)
        self._set("pages", 0)
        self._load(of_pages(plan.page_log2, addresses).entries)
        self._set("pages", plan.pages)

    def _load(self, entries: Sequence[int]) -> None:
        """Write the table. The index moves on by itself; the low word goes first, each time."""
        low, high = self._at("map_entry"), self._at("map_entry") + 4
        self._set("map_index", 0)
        for word in entries:
            self._board.write(low, word & WORD)
            self._board.write(high, word >> 32)
        written = self._get("map_index")
        if written != len(entries) % (1 << 17):
            raise BoardError(f"the page table took {written} of {len(entries)} entries: is another program loading it?")

    def stop(self) -> None:
        """Write nothing more: the table has no pages, and the queue begins anew. BoardError where it does not rest."""
        self._registers.write_register(
            f"{self._name}.control", {"events": 0, "fence": 0, "interrupts": 0, "packets": 0}
        )
        self._set("pages", 0)
        self._registers.write_register(f"{self._name}.command", {"restart": 1})
        self._wait(
            "restarting", "does not come to rest: stop the frames first (disarm the board), and look at the link"
        )

    def interrupts(self, events: int | None, delay_cycles: int = 0) -> None:
        """An interrupt behind so many events, or `delay_cycles` behind the first; None: none, software polls."""
        if events is not None:
            self._registers.write_register(
                f"{self._name}.moderation", {"events": events, "delay": -(-delay_cycles // 256)}
            )
        self._registers.write_register(f"{self._name}.control", {"interrupts": int(events is not None)})

    def take_packets(self, size_log2: int, count_log2: int, source: int) -> None:
        """Let packets go into 2^`count_log2` buffers of 2^`size_log2` bytes, from the ring's first byte on, as posted.

        Since `open` nothing may have come. BoardError where this build takes no packets, or a reset goes on.
        """
        if not self._get("sizes.packets"):
            raise BoardError("this board's engines take no packets: load a build of pcie_tx with PacketBeats")
        sizes = {"size_log2": size_log2, "count_log2": count_log2, "source": source}
        self._registers.write_register(f"{self._name}.buffers", sizes)
        self._set("buffers_base", 0)
        self.post(0)
        self._registers.write_register(f"{self._name}.control", {"packets": 1})
        if not self.takes_packets():
            raise BoardError("the PCIe engine takes no packets: wait until the board's reset has ended")

    def post(self, count: int) -> None:
        """So many buffers have been posted since `open`, modulo 2^32. One access."""
        self._board.write(self._posted, count & WORD)

    def takes_packets(self) -> bool:
        """Whether it does: not from a reset or a restart on."""
        return bool(self._get("status.packets"))

    @property
    def mps(self) -> int:
        """Max_Payload_Size in force, in bytes."""
        return MPS[self._get("status.mps")]

    @property
    def produced(self) -> int:
        """Events that were written since `open`, modulo 2^32."""
        return self._get("event_produced")

    def consumed(self, count: int) -> None:
        """Give entries of the queue back: so many have been read since `open`. One access."""
        self._board.write(self._consumed, count & WORD)

    def faults(self) -> dict[str, str]:
        """The errors since they were asked for last, by name, each with what to do; they are cleared."""
        bits = self._registers.read_register(f"{self._name}.errors")
        seen = {name: ERRORS[name] for name, bit in bits.items() if bit}
        if seen:
            self._registers.write_register(f"{self._name}.errors", dict.fromkeys(seen, 1))
        return seen

    def counters(self) -> EngineCounters:
        """All counters of this moment, since the board's last reset. BoardError where the copy does not come."""
        self._registers.write_register(f"{self._name}.command", {"snapshot": 1})
        self._wait("snapshot_busy", "has no copy of its counters: is its clock there?")
        where = self._name.replace("pcie", "pcie_counters")
        return EngineCounters(
            **{field.name: self._registers[f"{where}.{field.name}"] for field in fields(EngineCounters)}
        )

    def _wait(self, bit: str, otherwise: str) -> None:
        """Until a bit of its status is 0."""
        deadline = time.monotonic() + _PATIENCE_S
        while self._get(f"status.{bit}"):
            if time.monotonic() > deadline:
                raise BoardError(f"the PCIe engine {otherwise} ({_PATIENCE_S:g} s)")
            time.sleep(getattr(self._board, "pause_s", 0.001))

    def failed(self) -> bool:
        """Whether the link was lost, so that nothing is sent until `open`."""
        return bool(self._get("status.failed"))

    def _clear_errors(self) -> None:
        self._registers.write_register(f"{self._name}.errors", dict.fromkeys(ERRORS, 1))

    def _get(self, name: str) -> int:
        return self._registers[f"{self._name}.{name}"]

    def _set(self, name: str, value: int) -> None:
        self._registers[f"{self._name}.{name}"] = value

    def _at(self, name: str) -> int:
        return self._registers.find(f"{self._name}.{name}").offset
