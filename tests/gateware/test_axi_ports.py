"""Every bench looks at the AXI ports of its design, each in the port's clock, whatever the bench itself does."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest

import every_axi_port
from axi_ports import LEFT_OUT, ports, side_of, unseen
from axi_rules import RULES, Broken
from bench import Bench, modules_of
from clocks_bench import Side

READ = {"arvalid": 1, "arready": 1, "araddr": 32, "arlen": 8, "rvalid": 1, "rready": 1, "rdata": 64, "rlast": 1}


class Signal:
    """A signal as benches read it, and a parameter."""

    def __init__(self, name: str, width: int = 1, value: int = 0) -> None:
        self._name, self.width, self.value, self._handle = name, width, value, self

    def __len__(self) -> int:
        return self.width

    def set(self, value: Any) -> None:
        """A clock or a reset, before there are cycles."""

    def get_signal_val_long(self) -> int:
        return self.value

    def get_signal_val_binstr(self) -> str:
        return f"{self.value:b}"


class Design:
    """What a bench sees at the top."""

    def __init__(self, *clocks: str, several: int = 1, **parameters: int) -> None:
        self.signals = [Signal(f"{side}{name}") for side in clocks for name in ("clk", "rst")]
        self.signals += [Signal(f"m_axi_{name}", several * width) for name, width in READ.items()]
        self.signals += [Signal(f"s_axil_{name}", READ[name]) for name in READ if name not in ("arlen", "rlast")]
        self.signals += [Signal("m_axi_arid", several), Signal("m_axi_arburst", 2 * several, (1 << 2 * several) // 3)]
        self.signals += [Signal(name, 32, value) for name, value in parameters.items()]
        for signal in self.signals:
            setattr(self, signal._name, signal)

    def __iter__(self) -> Iterator[Signal]:
        return iter(self.signals)


class OrdinaryBench(Bench):
    """A bench that says nothing of AXI; its cycles are those that a test makes."""

    def start_clock(self) -> None:
        """None: there is no simulator."""

    def cycle_of(self, **values: int) -> None:
        for name, value in values.items():
            getattr(self.dut, name).value = value
        for watcher in self._watchers:
            watcher()
        self.cycle += 1


@pytest.fixture(autouse=True)
def nothing_looked_at() -> None:
    RULES.clear()
    LEFT_OUT.clear()


def test_a_bench_that_says_nothing_of_axi_is_red_where_its_port_breaks_a_rule() -> None:
    bench = OrdinaryBench(Design(""))
    bench.cycle_of(m_axi_arvalid=1)
    with pytest.raises(Broken, match="m_axi: arvalid fell before arready"):
        bench.cycle_of(m_axi_arvalid=0)


def test_so_it_is_with_any_of_several_ports() -> None:
    bench = OrdinaryBench(Design("", several=6))
    assert len(bench.rules) == 7
    bench.cycle_of(m_axi_arvalid=0b010000)
    with pytest.raises(Broken, match=re.escape("m_axi[4]: arvalid fell")):
        bench.cycle_of(m_axi_arvalid=0b000001)


def test_one_that_writes_beside_several_that_read_has_its_own_widths() -> None:
    design = Design("", several=2)
    write = {"awvalid": 1, "awready": 1, "awaddr": 32, "awlen": 8, "wvalid": 1, "wready": 1, "wdata": 64, "wlast": 1}
    design.signals += [Signal(f"m_axi_{name}", width) for name, width in write.items()]
    design.signals += [Signal(f"m_axi_{name}") for name in ("bvalid", "bready")]
    for signal in design.signals:
        setattr(design, signal._name, signal)
    bench = OrdinaryBench(design)
    bench.cycle_of(m_axi_awvalid=1, m_axi_awready=1, m_axi_awaddr=0xFFC0, m_axi_awlen=7, m_axi_arvalid=0b10)
    with pytest.raises(Broken, match=re.escape("m_axi: aw: 0xffc8 to 0x10007 crosses 4 KiB")):
        bench.cycle_of(m_axi_awaddr=0xFFC8)


def test_each_side_of_a_design_looks_at_the_ports_of_its_clock() -> None:
    design = Design("", "register_", "memory_", MemoryClock=1)
    found = {side: [r.prefix for r in OrdinaryBench(design, side=side).rules] for side in ("", "register_", "memory_")}
    assert found == {"": [], "register_": ["s_axil"], "memory_": ["m_axi"]}
    assert [side_of(Design("s_", "m_"), prefix) for prefix in ports(design)] == ["m_", "s_"]
    assert side_of(Design("", "memory_", MemoryClock=0), "m_axi") == ""


def test_a_port_at_which_nobody_looked_is_named() -> None:
    design = Design("register_", "memory_")
    registers, memory = OrdinaryBench(design, side="register_"), OrdinaryBench(design, side="memory_")
    assert unseen(design) == ["m_axi", "s_axil"]
    registers.cycle_of()
    memory.cycle_of(memory_rst=1)
    assert unseen(design) == ["m_axi"]
    memory.cycle_of(memory_rst=0)
    assert unseen(design) == []
    OrdinaryBench(design, side="memory_")  # of a later test, which does not step
    assert unseen(design) == ["m_axi"]


def test_the_last_test_of_a_bench_fails_where_a_port_was_not_looked_at() -> None:
    design = Design("")
    with pytest.raises(AssertionError, match=r"nobody has looked at \['m_axi', 's_axil'\]"):
        every_axi_port.the_rules_of_axi_were_looked_at_on_every_port.func(design).send(None)
    OrdinaryBench(design).cycle_of()
    with pytest.raises(StopIteration):
        every_axi_port.the_rules_of_axi_were_looked_at_on_every_port.func(design).send(None)


def test_a_side_with_a_port_that_nobody_has_started_does_not_wait() -> None:
    class Standing(Side):
        def start_clock(self) -> None:
            """None: there is no simulator."""

    design = Design("register_", "memory_")
    with pytest.raises(AssertionError, match="nobody looks at the AXI ports of memory_clk: start it"):
        Standing(design, "memory", 2000).wait(1).send(None)


def test_a_bench_that_resets_its_design_looks_at_the_ports_in_each_cycle(monkeypatch: pytest.MonkeyPatch) -> None:
    class Trigger:
        def __init__(self, *_: Any) -> None:
            """There is no simulator: it comes at once."""

        def __await__(self) -> Iterator[None]:
            yield

    for name in ("ReadOnly", "RisingEdge"):
        monkeypatch.setattr(f"bench.{name}", Trigger)
    ordinary = OrdinaryBench(Design(""))
    ordinary.dut.rst.value = ordinary.dut.m_axi_arvalid.value = 1
    for _ in range(2):
        list(ordinary.reset_cycle().__await__())
    with pytest.raises(Broken, match="m_axi: arvalid in reset"):
        list(ordinary.reset_cycle().__await__())


def test_a_memory_gets_the_bursts_it_was_promised_and_a_crossing_passes_on_any() -> None:
    bursts: dict[str, int] = {"m_axi_arvalid": 1, "m_axi_arready": 1}
    bench = OrdinaryBench(Design(""))
    bench.cycle_of(**bursts)
    with pytest.raises(Broken, match=re.escape("are (1, 8, 1, 3) (docs/integrating/README.md#memory)")):
        bench.cycle_of(m_axi_arid=1)
    crossing = Design("")
    crossing.signals += [Signal(f"s_axi_{name}", width) for name, width in READ.items()]
    for signal in crossing.signals:
        setattr(crossing, signal._name, signal)
    OrdinaryBench(crossing).cycle_of(**bursts, m_axi_arid=1, m_axi_arburst=0)


def test_what_a_bench_leaves_out_may_break_rules_and_nothing_else_may() -> None:
    class Careless(OrdinaryBench):
        axi_left_out: ClassVar = {"s_axil": "a reason", "m_axi_rlast": "another"}

    design = Design("")
    bench = Careless(design)
    assert [rules.prefix for rules in bench.rules] == ["m_axi"]
    bench.cycle_of(m_axi_arvalid=1, m_axi_arready=1, s_axil_rvalid=1)
    bench.cycle_of(m_axi_arvalid=0, m_axi_rvalid=1, m_axi_rready=1)
    with pytest.raises(Broken, match="rvalid with ID 0, which asked for nothing"):
        bench.cycle_of()
    assert unseen(design) == []
    assert Careless.axi_left_out == LEFT_OUT

    class Mistaken(OrdinaryBench):
        axi_left_out: ClassVar = {"m_axi_rlasts": "a reason"}

    with pytest.raises(AssertionError, match="m_axi_rlasts is left out, and the design has nothing of that name"):
        Mistaken(design)


def test_a_run_asks_at_its_end_whether_all_ports_were_looked_at(tmp_path: Path) -> None:
    source = tmp_path / "design.sv"
    for text, modules in (
        ("output logic m_axi_arvalid,", ["test_design", "every_axi_port"]),
        ("input logic awvalid,", ["test_design", "every_axi_port"]),
        ("input logic s_axis_tvalid,", ["test_design"]),
    ):
        source.write_text(text)
        assert modules_of("test_design", source) == modules
