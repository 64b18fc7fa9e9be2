"""What docs/integrating/ says of parameters and bits is what the gateware has; its command for a simulator works."""

import re
import subprocess

from framelane.driver.simulated import ports
from framelane.driver.simulated.toolchain import verilator_environment
from sources import ROOT

PAGE = (ROOT / "docs" / "integrating" / "README.md").read_text()


def section(name: str) -> str:
    return PAGE.partition(f"\n## {name}\n")[2].partition("\n## ")[0]


def test_the_parameters_are_those_of_the_top_with_their_defaults() -> None:
    top = (ROOT / "hw" / "rtl" / "framelane_top.sv").read_text()
    declared = re.findall(r"^    parameter (?:int unsigned|bit) +(\w+) += (?:1'b)?([\d_]+),", top, re.MULTILINE)
    written = re.findall(r"^\| `(\w+)` \| (\d+) \|", section("Parameters"), re.MULTILINE)
    assert written == [(name, value.replace("_", "")) for name, value in declared]


def test_the_bits_of_a_frame_are_those_of_its_structs() -> None:
    for column, struct in enumerate((ports.FRAME_INFO_T, ports.FRAME_T)):
        for name in struct.fields:
            ones = struct.pack({each: (1 << width) - 1 if each == name else 0 for each, width in struct.fields.items()})
            bits = f"{ones.bit_length() - 1}:{(ones & -ones).bit_length() - 1}"
            line = rf"^\| `{name}` \|(?:[^|\n]*\|){{{column}}} {bits} \|"
            assert re.search(line, section("Pixels and frames"), re.MULTILINE), (name, bits)


def test_the_command_for_a_simulator_finds_nothing_in_the_whole_top() -> None:
    (command,) = re.findall(r"`(verilator [^`]*)`", section("Files"))
    done = subprocess.run(
        command.split(), cwd=ROOT, env=verilator_environment(), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "Warning" not in done.stderr
