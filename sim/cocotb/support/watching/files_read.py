"""Which files of the tree a bench read: those of its design, and those that Python imported or opened in simulation.

Written to the file that the variable FRAMELANE_FILES_READ names, a path a line, for `recorded_benches.py`.
"""

import os
import sys
from collections.abc import Iterable
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).resolve().parents[4]
VARIABLE = "FRAMELANE_FILES_READ"
STAMPING = (str(ROOT / "sw" / "base" / "compiled.py"), "_sources")
"""The function that reads all sources to know whether numba's cache is of them: a bench does not depend on those."""
MADE = (ROOT / "build", ROOT / ".venv")
"""What is made of the tree, and of other people's sources."""


def note(paths: Iterable[str]) -> None:
    """Write down those of the paths that are of the tree; nothing where nobody has asked."""
    if target := os.environ.get(VARIABLE):
        found = [path for path in map(_source, paths) if _is_of_the_tree(path)]
        with Path(target).open("a") as file:
            file.writelines(f"{path}\n" for path in found)


def note_python() -> None:
    """In a simulation: write down what Python has imported, and from now on whatever it opens."""
    if VARIABLE not in os.environ or "COCOTB_TEST_MODULES" not in os.environ:
        return
    files = (getattr(module, "__file__", None) for module in list(sys.modules.values()))
    note(path for path in files if path)
    seen: set[str] = set()

    def look(event: str, arguments: tuple[Any, ...]) -> None:
        if event != "open" or not isinstance(arguments[0], str) or arguments[0] in seen or _is_for_a_stamp():
            return
        seen.add(arguments[0])
        if arguments[0] != os.environ[VARIABLE]:
            note([arguments[0]])

    sys.addaudithook(look)


def _is_for_a_stamp() -> bool:
    frame: FrameType | None = sys._getframe(1)
    while frame and (frame.f_code.co_filename, frame.f_code.co_name) != STAMPING:
        frame = frame.f_back
    return frame is not None


def read(path: Path) -> set[Path]:
    """What was written down."""
    return set(map(Path, path.read_text().splitlines())) if path.exists() else set()


def _source(path: str) -> Path:
    """The source of a file, which may be bytecode."""
    found = Path(path).absolute()
    return found.parents[1] / f"{found.name.partition('.')[0]}.py" if found.parent.name == "__pycache__" else found


def _is_of_the_tree(path: Path) -> bool:
    return path.is_relative_to(ROOT) and not any(map(path.is_relative_to, MADE)) and path.is_file()
