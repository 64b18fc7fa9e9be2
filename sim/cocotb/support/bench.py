"""What every testbench shares: the runner, clock and reset, streams with stalls, packets laid on lanes.

A bench runs one loop a clock cycle: sources and sinks drive, all settle, all sample, then the clock rises. A handshake
is what both sides see before the edge, so no result depends on the simulator's order of events.
"""

import fcntl
import hashlib
import json
import os
import random
import re
import shutil
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sized
from enum import Enum
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, ClassVar

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.handle import Immediate
from cocotb.triggers import FallingEdge, First, ReadOnly, RisingEdge, Timer
from cocotb.utils import get_sim_time
from cocotb_tools.check_results import get_results
from cocotb_tools.runner import Verilator, VerilatorControlFile

from axi_ports import has_ports, watch_ports
from axi_rules import AxiRules
from files_read import note, note_python
from flat_ports import write_wrapper
from framelane.driver.simulated.toolchain import (
    COMPILED,
    IN_PIECES,
    compiler_flags,
    gateware_root,
    packages,
    source_folders,
    verilator_environment,
)
from framelane.models.cells import axis
from framelane.models.cells.axis import Beat
from signals import now, write_numbers_at_once
from starts import UNKNOWN, arguments, starts

ROOT = gateware_root()
AT_ONCE = {"COCOTB_TRUST_INERTIAL_WRITES": "1"}
"""Writes go to Verilator as they are made, not by a queue of cocotb's: a fifth of a bench's time."""
ALONE = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
"""In a simulation cocotb has pytest rewrite the assertions, and no more: its plugins take half a second to load."""

write_numbers_at_once()
note_python()

SEED = int(os.environ.get("FRAMELANE_SEED", "1"))
STALL_SHARE = 0.4
"""Share of the cycles in which a stalling side pauses."""


class Stalls(Enum):
    """Which sides of the block pause at random."""

    NONE = "none"
    SOURCE = "source"
    SINK = "sink"
    BOTH = "both"

    @property
    def source(self) -> bool:
        return self in (Stalls.SOURCE, Stalls.BOTH)

    @property
    def sink(self) -> bool:
        return self in (Stalls.SINK, Stalls.BOTH)


ALL_STALLS = list(Stalls)


class TopVisible(Verilator):
    """Verilator with the signals of the top module alone for the bench to see.

    cocotb would have every signal of the design public, so that none can be optimized away: large designs then take
    twice as long to compile, and to run. A design that has been built of the same files, by the same tools, in the same
    way is not built again.
    """

    def _build_command(self) -> list[list[str]]:
        verilate, *others = super()._build_command()
        commands = [[word for word in verilate if word != "--public-flat-rw"], *others]
        self._how = hashlib.sha256(repr((commands, os.environ["MAKEFLAGS"], _tools())).encode()).hexdigest()
        self._stamp = self.build_dir / "built.json"
        if self._is_built():
            return []
        shutil.rmtree(self.build_dir)  # make goes by times; what is the same comes from ccache
        self.build_dir.mkdir()
        return commands

    def _is_built(self) -> bool:
        try:
            built = json.loads(self._stamp.read_text())
            return (self.build_dir / str(self.hdl_toplevel)).is_file() and built == [self._how, digests(built[1])]
        except (OSError, ValueError, LookupError, TypeError, AttributeError):
            return False

    def note(self) -> list[str]:
        """Write down what the design was built of, when it has been built, and give the files that Verilator read."""
        listed = (self.build_dir / "Vtop__verFiles.dat").read_text()
        read = re.findall(r'^S +(?:\d+ +){4}(\d+) +\d+ ".*" "(/[^"]+)"$', listed, re.MULTILINE)
        names = [path for _, path in read]
        changed = any(int(Path(path).stat().st_mtime) != int(seconds) for seconds, path in read)
        if not changed and not self._stamp.exists():
            around = (path for path in (ROOT / "sim" / "dpi").rglob("*") if path.is_file())
            self._stamp.write_text(json.dumps([self._how, digests({*names, *map(str, around)})]))
        return names


def digests(names: Iterable[str]) -> dict[str, str]:
    """SHA-256 of each file's contents. Raises OSError where a file has gone."""
    return {name: hashlib.sha256(Path(name).read_bytes()).hexdigest() for name in sorted(names)}


@cache
def _tools() -> list[str]:
    """Versions of what builds a design, and which modules it could find by their names."""
    compiler = subprocess.run(["g++", "--version"], capture_output=True, text=True, check=True).stdout
    modules = sorted(str(path) for tree in ("hw", "sim") for path in (ROOT / tree).rglob("*.sv"))
    return [compiler, version("verilator"), version("cocotb"), *modules]


def run(
    block: str,
    *,
    top: str | None = None,
    flat: bool = False,
    build_args: Iterable[str] = (),
    folders: Iterable[Path] = (),
    **parameters: Any,
) -> None:
    """Build `block` (or the harness `top` around it) and run the cocotb tests of `test_<block>.py`: all must pass.

    `flat`: with flat signals where its AXI ports are structs. `folders`: where modules are besides those of `hw/`.
    """
    top = top or block
    values = [f"{key}{value}" for key, value in parameters.items()]
    build_dir = ROOT / "build" / "sim" / "_".join([top, *values])
    build_dir.parent.mkdir(parents=True, exist_ok=True)
    folders = [*source_folders(ROOT), *folders]
    source = next(path for folder in folders if (path := folder / f"{top}.sv").is_file())
    folder = next((path.parent for path in (ROOT / "sim").rglob(f"test_{block}.py")), None)
    if folder and str(folder) not in sys.path:  # cocotb imports the bench by its name
        sys.path.append(str(folder))
    if flat:
        package = next((ROOT / "hw").rglob("axi_pkg.sv"))
        source = write_wrapper(source, package, build_dir.parent)
        top = source.stem
    os.environ.update(verilator_environment() | AT_ONCE)
    os.environ["MAKEFLAGS"] += f" {COMPILED}"
    runner = TopVisible()
    visible = Path(f"{build_dir}.vlt")
    with Path(f"{build_dir}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # benches of one design, with the same parameters, take turns
        visible.write_text(f'`verilator_config\npublic_flat_rw -module "{top}" -var "*"\n')
        runner.build(
            sources=[VerilatorControlFile(visible), *packages(ROOT), source],
            hdl_toplevel=top,
            parameters=parameters,
            build_dir=build_dir,
            build_args=[
                *("--assert", "-Wno-fatal", "-CFLAGS", compiler_flags(), *IN_PIECES, *UNKNOWN),
                *(f"-I{folder}" for folder in folders),
                *build_args,
            ],
            log_file=build_dir.with_suffix(".build.log"),
            timescale=("1ns", "1ps"),
        )
        note(runner.note())
        log = build_dir.with_name("_".join([block, *values]) + ".log")
        modules = modules_of(f"test_{block}", source)
        for start in starts(block, SEED):
            try:
                results = runner.test(
                    hdl_toplevel=top,
                    test_module=modules,
                    build_dir=build_dir,
                    results_xml=f"{build_dir}.xml",
                    seed=SEED,
                    extra_env=ALONE,
                    plusargs=arguments(start),
                    log_file=log,
                )
            except SystemExit:
                pytest.fail(f"the simulation of {log.stem} (FRAMELANE_START={start}) failed: see {log}", pytrace=False)
            assert get_results(results)[0] >= least_tests(modules), f"no cocotb test ran in test_{block}.py"


def least_tests(modules: list[str]) -> int:
    """How many cocotb tests of these modules must run: one of each, unless somebody has asked for some."""
    return 1 if "COCOTB_TEST_FILTER" in os.environ else len(modules)


def modules_of(bench: str, source: Path) -> list[str]:
    """A bench of the design in `source`, and behind it the test that the bench looks at all AXI ports, if there are."""
    return [bench, *(["every_axi_port"] if has_ports(source.read_text()) else [])]


def _signals(dut: Any, name: str) -> dict[str, Any]:
    handles = {suffix: getattr(dut, f"{name}_{suffix}", None) for suffix in ("tdata", "tkeep", "tlast", "tuser")}
    return {suffix: handle for suffix, handle in handles.items() if handle is not None}


class Source:
    """Drives one stream, which never waits where it has no tready.

    Items are dicts of signal suffix to int, such as {"tdata": 1, "tlast": 1}.
    """

    def __init__(self, dut: Any, name: str, stall: Callable[[], bool]) -> None:
        self.items: deque[dict[str, int]] = deque()
        self._signals = _signals(dut, name)
        self._valid = getattr(dut, f"{name}_tvalid")
        self._ready = getattr(dut, f"{name}_tready", None)
        self._stall = stall
        self._offered = self._is_valid = False
        self.accepted: list[int] = []
        """Cycle of every handshake."""
        self.offered: list[int] = []
        """Cycle in which each item was offered first."""
        self.pauses = 0
        """Cycles in which there was an item to offer, and none was."""
        for handle in self._signals.values():
            handle.value = 0  # what no item names is low: an input that nobody drives starts anywhere
        self.clear()

    def clear(self) -> None:
        """Offer nothing and forget what was queued."""
        self.items.clear()
        self.accepted.clear()
        self.offered.clear()
        self._offered = self._is_valid = False
        self._valid.value = 0

    def send(self, packet: bytes, width: int, **user: int) -> None:
        """Queue the beats of one packet; `user` holds further signals, constant over the packet."""
        for beat in axis.beats(packet, width):
            self.items.append({"tdata": beat.data, "tkeep": beat.keep, "tlast": int(beat.last), **user})

    def is_ready(self) -> bool:
        """Whether tready is high."""
        return self._ready is None or bool(now(self._ready))

    def drive(self) -> None:
        if not self._offered and self.items and not self._stall():
            for suffix, value in self.items[0].items():
                self._signals[suffix].value = value
            if not self._is_valid:
                self._valid.value = 1
            self._offered = self._is_valid = True

    def sample(self, cycle: int) -> None:
        self.pauses += bool(self.items) and not self._offered
        if self._offered and len(self.offered) == len(self.accepted):
            self.offered.append(cycle)
        if self._offered and self.is_ready():
            self.items.popleft()
            self.accepted.append(cycle)
            self._offered = False

    def settle(self) -> None:
        """After the edge: withdraw tvalid unless the next item follows at once."""
        if self._is_valid and not self._offered:
            self._is_valid = False
            self._valid.value = 0


class Sink:
    """Takes one stream, keeps its items, checks that nothing changes while it stalls: never where it has no tready."""

    def __init__(self, dut: Any, name: str, stall: Callable[[], bool]) -> None:
        self.items: list[dict[str, int]] = []
        self.taken: list[int] = []
        """Cycle of every handshake."""
        self._name = name
        self._signals = _signals(dut, name)
        self._valid = getattr(dut, f"{name}_tvalid")
        self._ready = getattr(dut, f"{name}_tready", None)
        self._stall = stall
        self._is_ready = self._ready is None
        self._held: dict[str, int] | None = None
        if self._ready is not None:
            self._ready.value = 0

    def clear(self) -> None:
        self.items.clear()
        self.taken.clear()
        self._held = None

    def drive(self) -> None:
        if self._ready is None:
            return
        ready = not self._stall()
        if ready != self._is_ready:
            self._ready.value = int(ready)
            self._is_ready = ready

    def sample(self, cycle: int) -> None:
        if not now(self._valid):
            assert self._held is None, f"{self._name}: tvalid fell before tready, cycle {cycle}"
            return
        item = {suffix: now(handle) for suffix, handle in self._signals.items()}
        assert self._held in (None, item), f"{self._name}: changed while stalled, cycle {cycle}"
        self._held = None if self._is_ready else item
        if self._is_ready:
            self.items.append(item)
            self.taken.append(cycle)

    def beats(self) -> list[Beat]:
        """What was taken, as beats."""
        return [Beat(i["tdata"], i["tkeep"], bool(i["tlast"])) for i in self.items]

    def packets(self, width: int) -> list[bytes]:
        """What was taken, as packets; fails where a beat breaks the stream's contract."""
        return list(axis.packets(self.beats(), width))


class Bench:
    """One design under test: its clock, reset, streams, AXI ports, and a seeded source of chance."""

    axi_left_out: ClassVar[Mapping[str, str]] = {}
    """Prefixes of AXI ports, or names of their signals, that no rules are looked at for, and why."""
    clock_ns = 2
    """The clock's period."""

    def __init__(self, dut: Any, stalls: Stalls = Stalls.NONE, seed: int = SEED, *, side: str = "") -> None:
        """With `side`, one side of a design with several clocks: clock `<side>clk` and reset `<side>rst`."""
        self.dut = dut
        self.clk: Any = getattr(dut, f"{side}clk")
        self.rst: Any = getattr(dut, f"{side}rst", None)
        self._reset_on = (1 << len(self.rst)) - 1 if isinstance(self.rst, Sized) else 1
        """With all copies of it."""
        self.random = random.Random(seed)
        self.cycle = self.resets = 0
        self._stalls = stalls
        self._sources: list[Source] = []
        self._sinks: list[Sink] = []
        self._watchers: list[Callable[[], None]] = []
        self._answers: list[Callable[[], None]] = []
        self.rules: list[AxiRules] = watch_ports(self, side, self.axi_left_out)
        """Those of AXI, on each port that has this clock; what breaks one ends the test."""
        self._axi_looks = tuple(self._watchers)
        # What is in the registers is anything: so no edge before there is a reset.
        self.clk.set(Immediate(0))
        if self.rst is not None:
            self.rst.set(Immediate(self._reset_on))
        self.start_clock()

    def start_clock(self) -> None:
        """Let the clock run."""
        Clock(self.clk, self.clock_ns, "ns", impl="gpi").start(start_high=False)

    def _pauses(self, stalls: bool) -> Callable[[], bool]:
        chance = random.Random(self.random.random())
        return (lambda: chance.random() < STALL_SHARE) if stalls else (lambda: False)

    def source(self, name: str, stalls: bool | None = None) -> Source:
        """A driver of the stream `<name>_t*`, which stalls if `stalls` says so, else if this bench's sources do."""
        self._sources.append(Source(self.dut, name, self._pauses(self._stalls.source if stalls is None else stalls)))
        return self._sources[-1]

    def sink(self, name: str) -> Sink:
        """A taker of the stream `<name>_t*`, which stalls if this bench's sinks do."""
        self._sinks.append(Sink(self.dut, name, self._pauses(self._stalls.sink)))
        return self._sinks[-1]

    def _streams(self) -> list[Source | Sink]:
        return [*self._sources, *self._sinks]

    def watch(self, function: Callable[[], None]) -> None:
        """Call `function` once a cycle, when all signals have settled."""
        self._watchers.append(function)

    def answer(self, function: Callable[[], None]) -> None:
        """Call `function` once a cycle between driving and sampling: it may read outputs and drive inputs from them."""
        self._answers.append(function)

    async def reset(self, cycles: int = 2) -> None:
        """Some cycles of reset, with nothing offered."""
        self.resets += 1
        for stream in self._streams():
            stream.clear()
        if not self.cycle:  # before the clock's first edge: models of cocotbext-axi are in reset from an edge of rst on
            self.rst.value = 0
            await Timer(1, "ps")
        self.rst.value = self._reset_on
        for _ in range(cycles):
            await self.reset_cycle()
        self.rst.value = 0

    async def reset_cycle(self) -> None:
        """One cycle of a reset: streams rest, and the AXI ports of the design must."""
        await ReadOnly()
        for look in self._axi_looks:
            look()
        await RisingEdge(self.clk)

    async def step(self) -> None:
        """One clock cycle."""
        for source in self._sources:
            source.drive()
            source.settle()
        for sink in self._sinks:
            sink.drive()
        if self._answers:
            await Timer(1, "ps")
            for answer in self._answers:
                answer()
        await ReadOnly()
        for stream in self._streams():
            stream.sample(self.cycle)
        for watcher in self._watchers:
            watcher()
        await RisingEdge(self.clk)
        self.cycle += 1

    def keep_stepping(self) -> None:
        """Step without end, where what drives the design has a loop of its own."""

        async def steps() -> None:
            while True:
                await self.step()

        cocotb.start_soon(steps())

    def look_when_busy(self) -> None:
        """Look at AXI ports in cycles in which one is busy, for benches that do not step.

        In the middle of a cycle, where all has settled that follows the clock's rise.
        """

        async def looks() -> None:
            valids = [handle for rules in self.rules for handle in rules.valids]
            for rules in self.rules:
                rules.rest()
            while True:
                if not any(map(now, valids)):
                    await First(*map(RisingEdge, valids))
                is_busy = True
                while is_busy:
                    await FallingEdge(self.clk)
                    self.cycle = int(get_sim_time("ns") // self.clock_ns)
                    for watcher in self._watchers:
                        watcher()
                    is_busy = any(rules.is_busy() for rules in self.rules)

        cocotb.start_soon(looks())

    async def until(self, done: Callable[[], bool], limit: int = 100_000) -> None:
        """Run until `done`; fail after `limit` cycles."""
        start = self.cycle
        while not done():
            assert self.cycle - start < limit, f"not done after {limit} cycles"
            await self.step()

    async def hand_over(self, source: Source, limit: int = 100) -> None:
        """Run until `source` is empty and its stream is ready again."""
        await self.until(lambda: not source.items, limit)
        await self.step()
        await self.until(source.is_ready, limit)

    async def drain(self, sink: Sink, items: int, quiet: int = 20) -> None:
        """Run until `sink` has `items` and all sources are empty; see that nothing more comes in `quiet` cycles."""
        inputs = sum(len(s.items) for s in self._sources)
        await self.until(
            lambda: len(sink.items) >= items and not any(s.items for s in self._sources),
            limit=10_000 + 20 * (items + inputs),
        )
        for _ in range(quiet):
            await self.step()
        assert len(sink.items) == items, f"{len(sink.items) - items} items too many"


def assert_same_packets(got: list[bytes], expected: list[bytes]) -> None:
    """Fail with the first packet, and in it the first byte, that differs."""
    for index, (g, e) in enumerate(zip(got, expected, strict=False)):
        if g != e:
            at = next((k for k, (a, b) in enumerate(zip(g, e, strict=False)) if a != b), min(len(g), len(e)))
            raise AssertionError(
                f"packet {index} of {len(g)} bytes ({len(e)} expected) differs from byte {at} on: "
                f"{g[at : at + 16].hex(' ')}, expected {e[at : at + 16].hex(' ')}"
            )
    assert len(got) == len(expected), f"{len(got)} packets, {len(expected)} expected"


async def pass_through(dut: Any, stalls: Stalls, items: int = 300) -> tuple[Source, Sink]:
    """For cells that only pass a stream on: everything comes out once, unchanged, in order."""
    bench = Bench(dut, stalls)
    source, sink = bench.source("s_axis"), bench.sink("m_axis")
    await bench.reset()
    data = [bench.random.getrandbits(len(dut.s_axis_tdata)) for _ in range(items)]
    source.items.extend({"tdata": d} for d in data)
    await bench.drain(sink, len(data))
    assert [item["tdata"] for item in sink.items] == data
    return source, sink


async def stalled_intake(dut: Any, offered: int = 12) -> int:
    """How many items a cell takes while its sink is not ready; checks that its tready does not follow the sink's in the
    same cycle."""
    bench = Bench(dut)
    source = bench.source("s_axis")
    dut.m_axis_tready.value = 0
    await bench.reset()
    source.items.extend({"tdata": d} for d in range(offered))
    for _ in range(offered):
        await bench.step()
    intake = len(source.accepted)
    dut.m_axis_tready.value = 1
    await bench.step()
    assert len(source.accepted) == intake, "tready follows the sink's tready in the same cycle"
    await bench.step()
    assert len(source.accepted) == intake + 1
    return intake


async def forgets_at_reset(dut: Any, items: int = 20) -> None:
    """A cell that is reset for one cycle while it is full gives nothing of what it held."""
    bench = Bench(dut)
    source = bench.source("s_axis")
    dut.m_axis_tready.value = 0
    await bench.reset()
    source.items.extend({"tdata": items} for _ in range(items))
    for _ in range(items):
        await bench.step()
    await bench.reset(cycles=1)
    sink = bench.sink("m_axis")
    source.items.extend({"tdata": n} for n in range(items))
    await bench.drain(sink, items)
    assert [item["tdata"] for item in sink.items] == list(range(items))
