"""Options are given by name, and errors below the command line call them as Python does."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
OPTIONS = (
    "Demand",
    "Judging",
    "Limits",
    "Live",
    "Options",
    "PeakSettings",
    "Processing",
    "Schedule",
    "Target",
    "TrackerSettings",
)
"""How their names end."""
NOT_OPTIONS = {
    "sw/doctor/target.py",  # what the packets of a session must look like
    "models/rc/rc_protocol.py",  # a row of the queue pairs' table, in its order
}


@pytest.fixture(scope="module")
def modules() -> dict[str, ast.Module]:
    paths = [path for folder in ("sw", "models") for path in (ROOT / folder).rglob("*.py")]
    return {str(path.relative_to(ROOT)): ast.parse(path.read_text()) for path in paths}


@pytest.fixture(scope="module")
def options(modules: dict[str, ast.Module]) -> dict[str, ast.ClassDef]:
    """Each dataclass of options, by `file:name`."""
    return {
        f"{path}:{node.name}": node
        for path, tree in modules.items()
        if path not in NOT_OPTIONS
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and node.name.endswith(OPTIONS) and node.decorator_list
    }


def test_the_options_of_the_commands_are_among_them(options: dict[str, ast.ClassDef]) -> None:
    names = {name.rpartition(":")[2] for name in options}
    assert {"DemoOptions", "DoctorOptions", "Live", "Processing", "RecordOptions", "RecvOptions", "SendOptions"} < names


def test_options_are_keyword_only(options: dict[str, ast.ClassDef]) -> None:
    decorators = {name: [ast.unparse(each) for each in node.decorator_list] for name, node in options.items()}
    assert [name for name, those in decorators.items() if not any("kw_only=True" in each for each in those)] == []


COMMANDS = ("sw/cli/", "sw/demo/", "sw/doctor/", "sw/bench/")
OF_OTHERS = {
    "sw/driver/simulated/library.py",  # verilator
    "sw/driver/simulated/pins/verilated_pins.py",  # verilator
    "sw/driver/simulated/toolchain.py",  # verilator
    "sw/receiver/gpu/_source.py",  # NVRTC
    "sw/receiver/transport/verbs/host_checks.py",  # Docker
}
"""Options of other programs."""


def test_below_the_commands_no_message_has_an_option_of_the_command_line(modules: dict[str, ast.Module]) -> None:
    """What an error says is for programs, too: `OptionError` and `InputOptionError` spell options for both."""
    found = []
    for path, tree in modules.items():
        if path.startswith(COMMANDS) or path in OF_OTHERS:
            continue
        docstrings = {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in docstrings:
                said = re.sub(r"`[^`]*`", "", node.value)  # a whole command
                if re.search(r"(?<![\w-])--[a-z]", said):
                    found.append(f"{path}:{node.lineno}")
    assert found == []
