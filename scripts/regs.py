"""Generate all that says where registers are from hw/rtl/registers/tx_regs.rdl.

Those of PCIe engines are in pcie_regs.rdl, those of the time unit in hw/rtl/time/time_regs.rdl, those of `detector_tx`
in hw/rtl/detector/det_regs.rdl. Writes the RTL that decodes them (PeakRDL-regblock), the gateware's names of the
counters, the driver's names and the pages docs/reference/registers.md and docs/integrating/*_registers.md. Run by
`make regs`; with `--check`, exit status 1 names the files that are not current.
"""

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from peakrdl_regblock.cpuif.passthrough import PassthroughCpuif
from peakrdl_regblock.exporter import RegblockExporter
from peakrdl_regblock.udps import ALL_UDPS
from systemrdl.compiler import RDLCompiler
from systemrdl.node import AddrmapNode

from framelane.driver.registers.register import Register
from regs_counters import counters_package
from regs_text import Group, driver_module, page
from regs_tree import groups_of, held

ROOT = Path(__file__).resolve().parents[1]
SOURCE = Path("hw/rtl/registers/tx_regs.rdl")
COUNTERS = Path("hw/rtl/registers/tx_counters_pkg.sv")
PCIE = Path("hw/rtl/registers/pcie_regs.rdl")
PCIE_COUNTERS = Path("hw/rtl/registers/pcie_counters_pkg.sv")
TIME = Path("hw/rtl/time/time_regs.rdl")
DETECTOR = Path("hw/rtl/detector/det_regs.rdl")
DETECTOR_COUNTERS = Path("hw/rtl/detector/det_counters_pkg.sv")

COPIES = 4
"""Copies of the flag that says whether a request is a write."""
MOST = 224
"""Flip-flops that a copy drives at most."""
WIDE = 8
"""Bits from which a field, or a buffer of a write, is reset by a copy: a cycle later, which no one sees of a value."""

_BLOCK = re.compile(r"if\(rst\) begin\n((?: +\S+ <= (?:\d+'h[0-9a-fA-F]+|'0);\n)+)")
_FIELD = re.compile(r"field_storage\.\S+ <= (\d+)'h")
_BUFFER = re.compile(r"wbuf_storage\.\w+\.(?:data|biten) <= '0")
_BUFFER_BITS = 64
_PORTS_END = "    );\n"
_WRITE = re.compile(r"(decoded_reg_strb\.(\w+)\S* && )decoded_req_is_wr\b")
_DECLARED = re.compile(r"\b(input wire|logic) (\w+_req_is_wr)\b")
_ADDRESS = re.compile(r"( +input wire \[\d+:0\] s_cpuif_)(addr,\n)")
_READBACK = re.compile(
    r"    always_comb begin\n +automatic logic \[31:0\] readback_data_var;\n.*?\n    end\n", re.DOTALL
)
_READ = re.compile(r"\(rd_mux_addr == (\w+'h\w+)\)")
_STROBE = re.compile(r"(?<=cpuif_req_masked & )\(cpuif_addr == (\w+'h\w+)\)")
_DECODE = "    logic cpuif_req_masked;\n"
_READ_BLOCK = re.compile(r" +if\(rd_mux_addr == (\w+'h\w+)\) begin\n((?: +readback_data_var.*;\n)+) +end\n")
_READ_FIELD = re.compile(r"( +)(readback_data_var(?:\[(\d+)(?::(\d+))?\])?) = (.*);")
_ANSWERED = re.compile(r" +readback_(?:done|err) = .*\n")
_DATA = "assign cpuif_rd_data = readback_data;"
_HALVES = "assign cpuif_rd_data = {readback_high[31:16], readback_data[15:0]};"
_ASKED = re.compile(r"(?<!\] )(?<!assign )(?<!= )\b(?:cpuif|decoded)_req_is_wr\b(?!\[)")
_COPIES = """
    // The reset a cycle later, for wide fields: each copy drives a few of them. All are always equal.
    (* keep, dont_merge *)logic [{last}:0] rst_q;
    always_ff @(posedge clk) begin
        for (int k = 0; k < {copies}; k++) if (rst || rst_q[k]) rst_q[k] <= rst;
    end
"""


def bits(assignments: str) -> int:
    """Flip-flops that a block of assignments resets."""
    return sum(map(int, _FIELD.findall(assignments))) + _BUFFER_BITS * len(_BUFFER.findall(assignments))


def spread(module: str) -> str:
    """Reset the wide fields of a module by copies of `rst`."""
    filled: list[int] = []

    def reset(block: re.Match[str]) -> str:
        count = bits(block[1])
        if count < WIDE:
            return block[0]
        if not filled or filled[-1] + count > MOST:
            filled.append(0)
        filled[-1] += count
        return f"if(rst_q[{len(filled) - 1}]) begin\n{block[1]}"

    head, end, rest = module.partition(_PORTS_END)
    rest = _BLOCK.sub(reset, rest)
    copies = _COPIES.format(last=len(filled) - 1, copies=len(filled)) if filled else ""
    return head + end + copies + rest


def spread_kind(module: str) -> str:
    """Let registers by turns ask `COPIES` copies of whether a request is a write, which whoever asks it keeps."""
    names: list[str] = []

    def asked(write: re.Match[str]) -> str:
        if write[2] not in names:
            names.append(write[2])
        return f"{write[1]}decoded_req_is_wr[{names.index(write[2]) % COPIES}]"

    module = _WRITE.sub(asked, _DECLARED.sub(rf"\1 [{COPIES - 1}:0] \2", module))
    return _ASKED.sub(r"\g<0>[0]", module)


def spread_address(module: str) -> str:
    """Choose the upper half of what is read by a copy of the address, which whoever asks keeps equal.

    ValueError where the generator writes the choice in another way.
    """
    apart, ports = _ADDRESS.subn(r"\g<0>\1high_\2", module)
    found = _READBACK.findall(apart)
    if ports != 1 or len(found) != 1 or apart.count(_DATA) != 1:
        raise ValueError("what is read is not found in what PeakRDL-regblock writes: mend scripts/regs.py")
    high = _ANSWERED.sub("", found[0]).replace("rd_mux_addr", "s_cpuif_high_addr")
    high = "    logic [31:0] readback_high;\n" + high.replace("readback_data = ", "readback_high = ")
    return apart.replace(found[0], found[0] + "\n" + high).replace(_DATA, _HALVES)


def decode_before(module: str) -> str:
    """Choose what is accessed by registers: whoever asks gives the address a cycle before the request, and keeps it.

    ValueError where the generator writes the choice in another way.
    """
    found = _READBACK.findall(module)
    if len(found) != 1 or not (reads := _READ.findall(found[0])) or module.count(_DECODE) != 1:
        raise ValueError("what is read is not found in what PeakRDL-regblock writes: mend scripts/regs.py")
    addresses = dict.fromkeys([*_STROBE.findall(module), *reads])
    index = {address: k for k, address in enumerate(addresses)}
    decode = f"    logic [{len(addresses) - 1}:0] chosen_q;\n    always_ff @(posedge clk) begin\n"
    decode += "".join(f"        chosen_q[{k}] <= cpuif_addr == {address};\n" for address, k in index.items())
    masked, blocks = _READ_BLOCK.subn(lambda read: _masked(read[2], f"chosen_q[{index[read[1]]}]"), found[0])
    if blocks != len(reads):
        raise ValueError(f"{blocks} of {len(reads)} registers are read as expected: mend scripts/regs.py")
    module = module.replace(found[0], masked).replace(_DECODE, f"{decode}    end\n\n{_DECODE}")
    return _STROBE.sub(lambda strobe: f"chosen_q[{index[strobe[1]]}]", module)


def _masked(assignments: str, chosen: str) -> str:
    """Add what is read where `chosen` is 1 to the rest: one at most is."""

    def masked(field: re.Match[str]) -> str:
        bits = int(field[3]) - int(field[4] or field[3]) + 1 if field[3] else 32
        return f"{field[1][4:]}{field[2]} |= {{{bits}{{{chosen}}}}} & {field[5]};"

    return _READ_FIELD.sub(masked, assignments)


def note(source: Path) -> str:
    """The first line of generated gateware."""
    return f"// Generated by scripts/regs.py from {source}: do not edit.\n"


def elaborate(source: Path, top: str | None = None) -> AddrmapNode:
    """The elaborated map of an RDL file: its last addrmap, or that named `top`.

    The compiler prints what is wrong with it and raises RDLCompileError.
    """
    compiler = RDLCompiler()
    for udp in ALL_UDPS:
        compiler.register_udp(udp, soft=False)
    compiler.compile_file(str(source))
    return compiler.elaborate(top).top


def rtl(top: AddrmapNode, source: Path = SOURCE) -> dict[Path, str]:
    """The module that holds the registers, but no tables, and its package."""
    with tempfile.TemporaryDirectory() as folder:
        RegblockExporter().export(held(top), folder, cpuif_cls=PassthroughCpuif)
        return {
            source.with_name(path.name): note(source) + spread(spread_kind(path.read_text()))
            for path in sorted(Path(folder).glob("*.sv"))
        }


def formatted(python: str) -> str:
    """A Python module as the repository's formatter writes it."""
    command = [str(Path(sys.executable).with_name("ruff")), "format", "--stdin-filename", "generated.py", "-"]
    return subprocess.run(command, cwd=ROOT, input=python, stdout=subprocess.PIPE, text=True, check=True).stdout


def registers_of(groups: tuple[Group, ...]) -> tuple[Register, ...]:
    """All registers, in the order of their addresses."""
    return tuple(register for group in groups for register in group.registers)


def generated() -> dict[Path, str]:
    """Every generated file, by its path in the repository."""
    top = elaborate(ROOT / SOURCE)
    groups = groups_of(top)
    gateware = rtl(top)
    module = SOURCE.with_suffix(".sv")
    return (
        gateware
        | {module: decode_before(gateware[module])}
        | {
            COUNTERS: note(SOURCE) + counters_package(registers_of(groups)),
            Path("sw/driver/registers/_register_map.py"): formatted(driver_module(registers_of(groups), SOURCE)),
            Path("docs/reference/registers.md"): page(groups, SOURCE),
        }
        | of_pcie()
        | of_time()
        | of_detector()
    )


def of_pcie() -> dict[Path, str]:
    """Those of the PCIe engines."""
    groups = groups_of(elaborate(ROOT / PCIE))
    registers = registers_of(groups)
    return rtl(elaborate(ROOT / PCIE, PCIE.stem), PCIE) | {
        PCIE_COUNTERS: note(PCIE) + counters_package(registers, "pcie_counters_pkg", "The PCIe engines'"),
        Path("sw/driver/registers/_pcie_register_map.py"): formatted(
            driver_module(registers, PCIE, "The PCIe engines'")
        ),
        Path("docs/integrating/pcie_registers.md"): page(groups, PCIE, "pcie_registers.md"),
    }


def of_time() -> dict[Path, str]:
    """Those of the time unit."""
    groups = groups_of(elaborate(ROOT / TIME), "time.")
    registers = registers_of(groups)
    gateware = rtl(elaborate(ROOT / TIME, TIME.stem), TIME)
    module = TIME.with_suffix(".sv")
    return gateware | {
        module: spread_address(gateware[module]),
        Path("sw/driver/registers/_time_register_map.py"): formatted(driver_module(registers, TIME, "The time unit's")),
        Path("docs/integrating/time_registers.md"): page(groups, TIME, "time_registers.md"),
    }


def of_detector() -> dict[Path, str]:
    """Those of `detector_tx`."""
    groups = groups_of(elaborate(ROOT / DETECTOR))
    registers = registers_of(groups)
    return rtl(elaborate(ROOT / DETECTOR, DETECTOR.stem), DETECTOR) | {
        DETECTOR_COUNTERS: note(DETECTOR) + counters_package(registers, "det_counters_pkg", "The detector's"),
        Path("sw/driver/registers/_detector_register_map.py"): formatted(
            driver_module(registers, DETECTOR, "The detector's")
        ),
        Path("docs/integrating/detector_registers.md"): page(groups, DETECTOR, "detector_registers.md"),
    }


def source_of(path: str) -> Path:
    """The RDL file that a generated file is written of."""
    name = Path(path).name
    sources = {"pcie": PCIE, "time": TIME, "det": DETECTOR}
    return next((source for key, source in sources.items() if key in name), SOURCE)


def outdated(root: Path, files: dict[Path, str]) -> list[str]:
    """The files of `root` that are not what they should be."""
    return [
        str(path) for path, text in files.items() if not (root / path).is_file() or (root / path).read_text() != text
    ]


def main() -> int:
    """Write the files, or say which are not current."""
    parser = argparse.ArgumentParser(description="Generates RTL, driver and page of the registers.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit status 1 where a file is not current")
    files = generated()
    if parser.parse_args().check:
        old = outdated(ROOT, files)
        for path in old:
            print(f"{path} is not what {source_of(path)} says: run make regs")
        return int(bool(old))
    for name, text in files.items():
        (ROOT / name).write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
