"""The rules of AXI that benches look at: each is broken once, and what keeps them all passes."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from axi_rules import Broken, watch

WIDTHS = {
    **dict.fromkeys(("awvalid", "awready", "wvalid", "wready", "wlast", "bvalid", "bready"), 1),
    **dict.fromkeys(("arvalid", "arready", "rvalid", "rready", "rlast"), 1),
    **dict.fromkeys(("awaddr", "araddr"), 32),
    **dict.fromkeys(("awlen", "arlen", "wstrb"), 8),
    **dict.fromkeys(("awsize", "arsize"), 3),
    **dict.fromkeys(("awburst", "arburst", "bresp", "rresp"), 2),
    **dict.fromkeys(("awcache", "arcache", "awid", "arid", "bid", "rid"), 4),
    **dict.fromkeys(("awlock", "arlock"), 1),
    **dict.fromkeys(("wdata", "rdata"), 64),
}
LITE = "len|size|burst|cache|id|last|lock"
"""What AXI4-Lite does not have."""
ONE: dict[str, int] = {"addr": 0x1000, "len": 0, "size": 3, "burst": 1, "cache": 3}
"""An address of a single beat."""


class Signal:
    """A signal as `signals.now` reads it."""

    def __init__(self, width: int) -> None:
        self.width, self.value, self._handle = width, 0, self

    def __len__(self) -> int:
        return self.width

    def get_signal_val_long(self) -> int:
        return self.value

    def get_signal_val_binstr(self) -> str:
        return f"{self.value:b}"


class Port:
    """A port and the bench that looks at it, a cycle a call."""

    def __init__(
        self,
        *,
        lite: bool = False,
        several: int = 1,
        prefix: str = "m_axi",
        without: str = "",
        left_out: str = "",
        own: bool = False,
    ) -> None:
        self.several, self.at, self.prefix = several, 0, prefix
        self.cycle = self.resets = 0
        self.rst = Signal(1)
        names = (n for n in WIDTHS if not (lite and re.fullmatch(rf"(aw|w|b|ar|r)({LITE})", n)))
        for name in names:
            if name != without:
                setattr(self, f"{prefix}_{name}" if prefix else name, Signal(several * WIDTHS[name]))
        self.dut = self
        self._watchers: list[Callable[[], None]] = []
        self.rules = watch(self, prefix, several, {left_out}, own=own)

    def watch(self, function: Callable[[], None]) -> None:
        self._watchers.append(function)

    def __call__(self, **channels: dict[str, int]) -> None:
        """One cycle of port `at`: what each channel offers, and passes on unless `ready` says 0."""
        for channel in ("aw", "w", "b", "ar", "r"):
            fields = channels.get(channel)
            given = {"ready": 1} | fields | {"valid": 1} if fields is not None else {"valid": 0, "ready": 0}
            for name, value in given.items():
                name_of_port = f"{self.prefix}_" if self.prefix else ""
                signal: Any = getattr(self, f"{name_of_port}{channel}{name}", None)
                if signal is not None:
                    signal.value = value << self.at * (len(signal) // self.several)
        self.cycle += 1
        for function in self._watchers:
            function()


def write(port: Port, beats: int = 1, **address: int) -> None:
    """A write whose rules are kept."""
    port(aw=ONE | {"len": beats - 1} | address)
    for k in range(beats):
        port(w={"data": k, "strb": 0xFF, "last": int(k == beats - 1)})
    port(b={"id": address.get("id", 0)})


def read(port: Port, beats: int = 1, **address: int) -> None:
    port(ar=ONE | {"len": beats - 1} | address)
    for k in range(beats):
        port(r={"data": k, "last": int(k == beats - 1), "id": address.get("id", 0)})


def test_what_keeps_the_rules_passes() -> None:
    port = Port()
    write(port, 256)
    read(port, 256, addr=0x1800)
    write(port, 4, burst=2, addr=0x1FF8, len=3)
    for at, strobes in ((0x1004, 0xF0), (0x1000, 0x0F)):  # 4 lanes of 8, from 0x1004 to 0x1007 and then from 0x1000 on
        port(w={"data": 1, "strb": strobes, "last": int(at == 0x1000)})
    port(aw=ONE | {"addr": 0x1004, "len": 1, "size": 2, "burst": 2})
    port(b={})
    write(port, 2, burst=0)
    port(w={"data": 1, "strb": 0xF0, "last": 1})
    port(aw=ONE | {"addr": 0x1004}, ar=ONE | {"id": 2})
    port(b={"ready": 0}, r={"id": 2, "last": 1, "ready": 0})
    port(b={}, r={"id": 2, "last": 1}, ar=ONE)
    port(r={"last": 1})
    assert port.rules[0].outstanding == 0
    assert port.rules[0].bursts == {"aw": 5, "ar": 3}


def test_reads_of_several_ids_may_pass_each_other() -> None:
    port = Port()
    port(ar=ONE | {"id": 1, "len": 1})
    port(ar=ONE | {"id": 2})
    port(r={"id": 1})
    port(r={"id": 2, "last": 1})
    port(r={"id": 1, "last": 1})
    assert port.rules[0].outstanding == 0


def test_a_burst_that_is_longer_than_the_designs_is_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Port, "MaxBurst", Signal(32), raising=False)
    Port.MaxBurst.value = 16  # type: ignore[attr-defined]
    port = Port()
    read(port, 16)
    write(port, 3)
    assert port.rules[0].longest == {"aw": 3, "ar": 16}
    with pytest.raises(Broken, match="awlen of 17 beats, MaxBurst is 16"):
        write(port, 17)


Steps = list[dict[str, dict[str, int]]]
BROKEN: list[tuple[str, str, Steps]] = [
    ("awvalid fell before awready", "A3.2.1", [{"aw": ONE | {"ready": 0}}, {}]),
    ("ar: changed before arready", "A3.2.1", [{"ar": ONE | {"ready": 0}}, {"ar": ONE | {"addr": 0x2000}}]),
    (
        "r: changed before rready",
        "A3.2.1",
        [{"ar": ONE}, {"r": {"last": 1, "ready": 0}}, {"r": {"last": 1, "data": 1}}],
    ),
    ("arsize is wider than the bus", "A3.4.1", [{"ar": ONE | {"size": 4}}]),
    ("arburst is reserved", "A3.4.1", [{"ar": ONE | {"burst": 3}}]),
    ("arlen of 17 beats, not INCR", "A3.4.1", [{"ar": ONE | {"burst": 0, "len": 16}}]),
    ("arlen of 3 beats that wrap", "A3.4.1", [{"ar": ONE | {"burst": 2, "len": 2}}]),
    ("araddr 0x1004 wraps and is not aligned", "A3.4.1", [{"ar": ONE | {"burst": 2, "len": 1, "addr": 0x1004}}]),
    ("aw: 0x1ff8 to 0x2007 crosses 4 KiB", "A3.4.1", [{"aw": ONE | {"addr": 0x1FF8, "len": 1}}]),
    ("awcache 0b1000 is reserved", "A4.4", [{"aw": ONE | {"cache": 8}}]),
    ("wlast is not with beat 1", "A3.2.2", [{"aw": ONE}, {"w": {"strb": 0xFF, "last": 0}}]),
    ("wlast with beat 1 of 2", "A3.2.2", [{"aw": ONE | {"len": 1}}, {"w": {"strb": 0xFF, "last": 1}}]),
    ("wlast with beat 1 of 2", "A3.2.2", [{"w": {"strb": 0xFF, "last": 1}}, {"aw": ONE | {"len": 1}}]),
    ("wstrb 0xff in lanes outside 0xf0", "A3.4.3", [{"aw": ONE | {"addr": 0x1004}}, {"w": {"strb": 0xFF, "last": 1}}]),
    ("wstrb 0x10 in lanes outside 0xf", "A3.4.3", [{"aw": ONE | {"size": 2}}, {"w": {"strb": 0x10, "last": 1}}]),
    ("wstrb 0xff in lanes outside 0xf0", "A3.4.3", [{"w": {"strb": 0xFF, "last": 1}}, {"aw": ONE | {"addr": 0x1004}}]),
    (
        "wstrb 0xff in lanes outside 0xf",
        "A3.4.3",
        [
            {"aw": ONE | {"addr": 0x1004, "len": 1, "size": 2, "burst": 2}},
            {"w": {"strb": 0xF0}},
            {"w": {"strb": 0xFF, "last": 1}},
        ],
    ),
    (
        "wstrb 0xff in lanes outside 0xf0",
        "A3.4.3",
        [{"aw": ONE | {"addr": 0x1004, "len": 1, "burst": 0}}, {"w": {"strb": 0xF0}}, {"w": {"strb": 0xFF, "last": 1}}],
    ),
    ("arlock: no design here has exclusive accesses", "A7.2", [{"ar": ONE | {"lock": 1}}]),
    ("bvalid with ID 0, of which no write is over", "A3.3.1", [{"aw": ONE}, {"b": {"ready": 0}}]),
    ("bvalid with ID 0, of which no write is over", "A3.3.1", [{"aw": ONE}, {"w": {"last": 1}, "b": {}}]),
    ("bvalid with ID 3, of which no write is over", "A3.3.1", [{"aw": ONE}, {"w": {"last": 1}}, {"b": {"id": 3}}]),
    ("rvalid with ID 0, which asked for nothing", "A3.3.1", [{"ar": ONE, "r": {"last": 1}}]),
    ("rvalid with ID 1, which asked for nothing", "A3.3.1", [{"ar": ONE}, {"r": {"id": 1, "last": 1}}]),
    ("rlast 0, 1 beats are due", "A3.2.2", [{"ar": ONE}, {"r": {}}]),
    ("rlast 1, 2 beats are due", "A3.2.2", [{"ar": ONE | {"len": 1}}, {"r": {"last": 1}}]),
    ("rresp EXOKAY, to no exclusive access", "A7.2.5", [{"ar": ONE}, {"r": {"last": 1, "resp": 1}}]),
]


@pytest.mark.parametrize(("says", "section", "steps"), BROKEN)
def test_a_rule_that_is_broken_is_named_with_its_section(says: str, section: str, steps: Steps) -> None:
    port = Port()
    for step in steps[:-1]:
        port(**step)
    with pytest.raises(Broken) as broken:
        port(**steps[-1])
    assert str(broken.value) == f"m_axi: {says} (IHI 0022, {section}), cycle {len(steps)}"


def test_axi4_lite_has_one_beat_an_access() -> None:
    port = Port(lite=True)
    assert port.rules[0].is_lite
    port(w={"data": 1, "strb": 1})
    port(aw={"addr": 4}, ar={"addr": 8})
    port(b={}, r={"data": 3})
    assert port.rules[0].outstanding == 0
    with pytest.raises(Broken, match=r"rvalid with ID 0, which asked for nothing"):
        port(r={})
    port = Port(lite=True)
    port(aw={"addr": 4}, w={})
    with pytest.raises(Broken, match=r"bresp EXOKAY, to no exclusive access \(IHI 0022, B1\.1\.1\)"):
        port(b={"resp": 1})


def test_a_reset_forgets_what_is_under_way_and_offers_nothing() -> None:
    port = Port()
    port(ar=ONE, aw=ONE | {"ready": 0})
    port.rst.value = 1
    for _ in range(3):
        port(r={"ready": 0})  # of a model, which may have another reset
    port.rst.value = 0
    port()
    port(aw=ONE | {"ready": 0})
    port.rst.value = 1
    port(aw=ONE | {"ready": 0})
    port(aw=ONE | {"ready": 0})  # where the reset comes a cycle late
    with pytest.raises(Broken, match=r"awvalid in reset \(IHI 0022, A3\.1\.2\)"):
        port(aw=ONE | {"ready": 0})
    port.rst.value = 0
    assert port.rules[0].outstanding == 0
    port()
    read(port)
    port(ar=ONE | {"ready": 0})
    port.resets += 1  # of which the bench shows no cycle
    port()
    write(port)


def test_ports_of_an_array_are_looked_at_each_for_itself() -> None:
    port = Port(several=3)
    port.at = 1
    port(ar=ONE)
    assert [rules.outstanding for rules in port.rules] == [0, 1, 0]
    port(r={"last": 1})
    port.at = 2
    port()
    with pytest.raises(Broken, match=r"^m_axi\[2\]: rvalid with ID 0, which asked for nothing"):
        port(r={"last": 1})


def test_registers_answer_nothing_in_reset() -> None:
    port = Port(lite=True, prefix="s_axil")
    port.rst.value = 1
    for _ in range(3):
        port(ar={"addr": 8, "ready": 0})
    with pytest.raises(Broken, match=r"s_axil: rvalid in reset \(IHI 0022, A3\.1\.2\)"):
        port(r={"ready": 0})
    port.rst.value = 0
    with pytest.raises(Broken, match=r"s_axil: rvalid in the first cycle after a reset \(IHI 0022, A3\.1\.2\)"):
        port(r={"ready": 0})


@pytest.mark.parametrize(
    ("prefix", "without", "section"),
    [("m_axi", "wlast", "A2.3"), ("s_axi", "wlast", "A2.3"), ("", "wlast", "A2.3"), ("s_axi", "rlast", "A2.6")],
)
def test_a_port_without_the_last_beat_s_signal_is_none_of_axi4(prefix: str, without: str, section: str) -> None:
    with pytest.raises(Broken, match=rf"{prefix or 'AXI'}: there is no {without} \(IHI 0022, {section}\)"):
        Port(prefix=prefix, without=without)


def test_a_manager_need_not_look_at_rlast() -> None:
    port = Port(without="rlast")
    read(port, 2)
    assert port.rules[0].outstanding == 0


def test_wlast_cannot_be_left_out_alone() -> None:
    with pytest.raises(Broken, match="AXI: wlast ends each write: leave out the whole port"):
        Port(prefix="", left_out="wlast")


@pytest.mark.parametrize("is_early", [False, True])
def test_without_wstrb_a_beat_has_all_lanes_and_where_it_is_left_out_any(is_early: bool) -> None:
    def write_four_bytes(port: Port) -> None:
        steps: list[dict[str, dict[str, int]]] = [{"aw": ONE | {"size": 2}}, {"w": {"last": 1}}]
        for step in reversed(steps) if is_early else steps:
            port(**step)

    for prefix, left_out in (("m_axi", "m_axi_wstrb"), ("", "wstrb")):
        write(Port(prefix=prefix, without="wstrb"), 2)
        write_four_bytes(Port(prefix=prefix, left_out=left_out))
    with pytest.raises(Broken, match="wstrb 0xff in lanes outside 0xf"):
        write_four_bytes(Port(without="wstrb"))


@pytest.mark.parametrize("other", [{"burst": 0}, {"size": 2}, {"id": 1}, {"cache": 0}])
def test_a_memory_is_promised_whole_beats_of_one_id(other: dict[str, int]) -> None:
    port = Port(own=True)
    read(port, 4)
    write(port, 4)
    with pytest.raises(Broken, match=r"aw: burst, bytes of a beat, ID and cache are .* \(docs/integrating/README\.md"):
        write(port, **other)
