"""The registers' one source and all that comes from it: files, descriptions, the structs that lie as registers do."""

import re
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

import regs
from framelane.driver.registers._detector_register_map import REGISTERS as DETECTOR_REGISTERS
from framelane.driver.registers._pcie_register_map import REGISTERS as PCIE_REGISTERS
from framelane.driver.registers._register_map import REGISTERS
from framelane.driver.registers._time_register_map import REGISTERS as TIME_REGISTERS
from framelane.driver.registers.register import Field, Register
from framelane.driver.simulated import ports
from framelane.driver.simulated.ports import DESTINATION_T, FLOW_T, Struct
from framelane.models.pcie import page_map
from framelane.models.placement.flow import Destination, Flow
from framelane.models.rc.rc_protocol import RcLimits
from framelane.models.registers import registers as models
from framelane.models.roce_tx.roce_qp import AckPolicy, QpContext, Segmentation, Service
from framelane.models.roce_tx.wire import Endpoint
from regs import MOST, WIDE, bits, spread
from regs_counters import counters_package
from regs_text import Group
from regs_tree import VALUE, groups_of

_FLOW: dict[str, Any] = {
    **{"source": 0x81, "first_destination": 0x82, "destinations": 0x83, "bunch": 0x8000_0004, "kind": 5, "wide": True},
    **{"first": 0x8000_0000_0000_0005, "period": 0x8000_0006, "burst": 0x4000_0007, "count": 0x8000_0000_0000_0008},
    **{"x0": 0x8009, "y0": 0x800A, "width": 0x100B, "height": 0x100C, "x1": 0x800D, "y1": 0x800E},
    **{"source_pitch": 0x8000_000F, "source_offset": 0x8000_0010, "destination_pitch": 0x8000_0011},
    "max_length": 0x7000_0012,
}
_QP: dict[str, Any] = {
    **{"dest_qpn": 0x80_0003, "rkey": 0x8000_0004, "psn": 0x80_0005, "mtu": 2048, "src_port": 0x8006, "pkey": 0x8007},
    **{"tos": 0x88, "ttl": 0x89, "rate": 0x80_000A, "burst": 0x80_000B, "ack_log2": 9, "vlan": 0x800C, "entropy": True},
    **{"service": Service.RC, "segmentation": Segmentation.MESSAGE, "ack_policy": AckPolicy.INTERVAL},
}
FLOW = Flow(**_FLOW)
DESTINATION = Destination(0x81, 0x8000_0000_0000_1000, 0x8000_0002, 0x8000_0003, 0x8000_0004)
QP = QpContext(Endpoint(0x8000_0000_0001, 0x8000_0002), **_QP)

SMALL = """
addrmap tx_regs {{
  name = "Small";
  desc = "One register.";
  default regwidth = 32;
  reg {{ {register} field {{ {field} }} {name}[3:0]; }} one @0x0;
}};
"""


def small(tmp_path: Path, register: str, field: str, name: str = "part") -> tuple[Group, ...]:
    """What an RDL source with one register gives."""
    source = tmp_path / "small.rdl"
    source.write_text(SMALL.format(register=register, field=field, name=name))
    return groups_of(regs.elaborate(source))


def test_all_generated_files_are_current() -> None:
    assert regs.outdated(regs.ROOT, regs.generated()) == [], "run make regs"


def test_a_file_that_is_not_current_or_not_there_is_named(tmp_path: Path) -> None:
    files = {Path("one.sv"): "1", Path("docs/two.md"): "2", Path("three.py"): "3"}
    (tmp_path / "one.sv").write_text("1")
    (tmp_path / "three.py").write_text("4")
    assert regs.outdated(tmp_path, files) == ["docs/two.md", "three.py"]


def test_the_check_says_which_file_to_renew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(regs, "ROOT", tmp_path)
    monkeypatch.setattr(regs, "generated", lambda: {Path("one.sv"): "1"})
    monkeypatch.setattr("sys.argv", ["regs.py", "--check"])
    assert regs.main() == 1
    assert capsys.readouterr().out == "one.sv is not what hw/rtl/registers/tx_regs.rdl says: run make regs\n"
    monkeypatch.setattr("sys.argv", ["regs.py"])
    assert regs.main() == 0
    monkeypatch.setattr("sys.argv", ["regs.py", "--check"])
    assert regs.main() == 0


def test_each_copy_of_the_reset_drives_a_few_wide_fields_and_narrow_ones_have_the_reset_itself() -> None:
    text = regs.rtl(regs.elaborate(regs.ROOT / regs.SOURCE))[Path("hw/rtl/registers/tx_regs.sv")]
    blocks = re.findall(r"if\((rst\S*?)\) begin\n(.*?)\n +end else", text, re.DOTALL)
    driven = Counter[str]()
    for reset, assignments in blocks:
        driven[reset] += bits(assignments)
        assert (bits(assignments) >= WIDE) == (reset != "rst")
    assert len(driven) > 3
    assert max(driven.values()) <= MOST
    assert sum(driven.values()) > 1000


def test_a_module_of_narrow_fields_has_no_copies_of_the_reset() -> None:
    text = "module small (\n    );\nif(rst) begin\n    field_storage.one.part.value <= 4'h0;\nend else begin\n"
    assert spread(text) == text


def test_every_register_and_field_says_what_it_is() -> None:
    every = (*REGISTERS, *PCIE_REGISTERS, *TIME_REGISTERS)
    named = [(register.name, register.description) for register in every]
    named += [(f"{r.name}.{field.name}", field.description) for r in every for field in r.fields]
    assert len(named) > 150
    assert [name for name, text in named if len(text) < 4 or text[-1] != "."] == []


@pytest.mark.parametrize(
    ("register", "field", "name", "lacks"),
    [
        ("", 'desc = "Part.";', "part", "tx_regs.one"),
        ('desc = "One.";', "", "part", "tx_regs.one.part"),
        ("", 'desc = "Part.";', VALUE, "tx_regs.one"),
    ],
)
def test_a_description_that_is_missing_is_asked_for(
    tmp_path: Path, register: str, field: str, name: str, lacks: str
) -> None:
    with pytest.raises(ValueError, match=rf"^{lacks} has no desc: "):
        small(tmp_path, register, field, name)


def test_the_field_that_is_all_of_a_register_is_described_with_it(tmp_path: Path) -> None:
    (group,) = small(tmp_path, 'desc = "One.";', "", VALUE)
    assert [field.description for field in group.registers[0].fields] == ["One."]


def test_no_two_registers_share_an_address_and_no_two_fields_a_bit() -> None:
    used: dict[int, str] = {}
    for register in (*REGISTERS, *PCIE_REGISTERS, *TIME_REGISTERS):
        for index in range(register.count):
            for byte in range(register.offset_of(index), register.offset_of(index) + register.width // 8):
                assert used.setdefault(byte, register.name_of(index)) == register.name_of(index), hex(byte)
        masks = [field.highest << field.lsb for field in register.fields]
        assert sum(masks).bit_count() == sum(mask.bit_count() for mask in masks), register.name
        assert max(masks) < 1 << register.width, register.name
    assert max(used) < 1 << 16


def misplaced(struct: Struct, table: str, registers: tuple[Register, ...]) -> list[str]:
    """Fields of `struct` that are not where `table` has them, or that only one of the two has."""
    entry = [register for register in registers if register.name.startswith(f"{table}[].")]
    start = entry[0].offset
    mapped = {}
    for register in entry:
        for field in register.fields:
            name = register.name.partition("].")[2] if field.name == VALUE else field.name
            mapped[name] = (8 * (register.offset - start) + field.lsb, field.width)
    packed, lsb = {}, 0
    for name, width in reversed(struct.fields.items()):
        if not name.startswith("reserved"):
            packed[name] = (lsb, width)
        lsb += width
    names = {*mapped, *packed}
    return sorted(name for name in names if mapped.get(name) != packed.get(name))


@pytest.mark.parametrize(("struct", "table"), [(FLOW_T, "flow"), (DESTINATION_T, "destination")])
def test_structs_lie_as_their_registers_do(struct: Struct, table: str) -> None:
    assert struct.width % 32 == 0
    assert misplaced(struct, table, REGISTERS) == []


def test_a_field_that_moved_is_found() -> None:
    fields = dict(FLOW_T.fields)
    assert misplaced(Struct(**fields | {"kind": 2, "reserved0": 3}), "flow", REGISTERS) == ["kind", "wide"]
    assert misplaced(Struct(**{"new": 32} | fields), "flow", REGISTERS) == ["new"]
    del fields["max_length"]
    assert misplaced(Struct(**fields), "flow", REGISTERS) == ["descriptors", "max_length"]


def words_of(table: str, values: dict[str, int]) -> tuple[int, ...]:
    """An entry of `table` by the map, with these values in its fields."""
    entry = [register for register in REGISTERS if register.name.startswith(f"{table}[].")]
    entry = [register for register in entry if not register.name.startswith(("qp[].limits", "qp[].rc_"))]
    bits = 0
    for register in entry:
        for field in register.fields:
            name = register.name.partition("].")[2] if field.name == VALUE else field.name
            assert 0 <= values[name] <= field.highest, name
            bits |= values[name] << 8 * (register.offset - entry[0].offset) + field.lsb
    end = entry[-1].offset + entry[-1].width // 8 - entry[0].offset
    return tuple(bits >> 8 * byte & 0xFFFF_FFFF for byte in range(0, end, 4))


def test_the_words_of_an_entry_lie_as_the_map_says() -> None:
    on = {"enabled": 1}
    assert models.flow_words(FLOW) == words_of(
        "flow", asdict(FLOW) | on | {"by_kind": 1, "descriptors": FLOW.descriptors}
    )
    destination = asdict(DESTINATION) | on | {"window_end": 5 << 32 | 7}
    assert models.destination_words(DESTINATION, 5 << 32 | 7) == words_of("destination", destination)
    qp = asdict(QP) | {"dst_mac": QP.dst.mac, "dst_ip": QP.dst.ip, "mtu_log2": 11, "has_vlan": 1, "tci": 0x800C}
    for set_psn in (False, True):
        assert models.qp_words(QP, set_psn) == words_of("qp", qp | {"set_psn": set_psn})


def test_the_limits_of_an_rc_queue_pair_lie_as_the_map_says() -> None:
    limits = RcLimits(window=0x1234, timeout=17, backoff=9, retries=13, rnr_retries=5)
    (register,) = [register for register in REGISTERS if register.name == "qp[].limits"]
    assert {field.name: field.of(models.limits_word(limits)) for field in register.fields} == asdict(limits)


def test_the_words_of_an_entry_are_the_struct_of_the_core() -> None:
    def joined(words: tuple[int, ...]) -> int:
        return sum(word << 32 * index for index, word in enumerate(words))

    assert joined(models.flow_words(FLOW)) == ports.flow_t(FLOW)
    assert joined(models.destination_words(DESTINATION, 5 << 32)) == ports.destination_t(DESTINATION, 5 << 32)


def test_counters_are_numbered_as_they_lie_and_the_package_follows_the_map() -> None:
    def counter(name: str, offset: int, **array: int) -> Register:
        return Register(name, offset, 64, (Field("value", 0, 64, "r", 0, "Count."),), description="Count.", **array)

    events = (counter("counters.cycles", 0x100), counter("counters.frames", 0x108))
    table = counter("flow_counters[].selected", 0x140, count=2, stride=0x10)
    package = counters_package((*events, table))
    assert "    logic frames;\n    logic cycles;\n  } pulses_t;\n" in package
    assert "FLOW_COUNTERS_FIRST = 8;\n  localparam int unsigned FLOW_COUNTERS = 2;\n" in package
    assert "    FLOW_SELECTED = 1'd0\n  } flow_counter_e;\n" in package
    with pytest.raises(ValueError, match=r"^counters\.late does not follow counters\.frames: leave no gap"):
        counters_package((*events, counter("counters.late", 0x118)))


def test_an_entry_of_the_page_map_lies_as_its_register_does() -> None:
    (register,) = [register for register in PCIE_REGISTERS if register.name == "pcie[].map_entry"]
    word = page_map.entry(0x7_0000_1000)
    assert {field.name: field.of(word) for field in register.fields} == {"page": 0x70_0001, "present": 1, "parity": 1}


@pytest.mark.parametrize(
    ("name", "registers"),
    [
        ("docs/reference/registers.md", REGISTERS),
        ("docs/integrating/pcie_registers.md", PCIE_REGISTERS),
        ("docs/integrating/time_registers.md", TIME_REGISTERS),
        ("docs/integrating/detector_registers.md", DETECTOR_REGISTERS),
    ],
)
def test_the_page_has_a_line_for_every_field(name: str, registers: tuple[Register, ...]) -> None:
    page = (regs.ROOT / name).read_text()
    rows = [line for line in page.splitlines() if line.count("|") == 8 and any(c in line for c in ("0x", "`"))]
    several = [register for register in registers if [field.name for field in register.fields] != ["value"]]
    assert len(rows) == len(registers) + sum(len(register.fields) for register in several)
    assert [r.name for r in registers if f"| `{r.offset:#06x}` | `{r.name}` |" not in page] == []
