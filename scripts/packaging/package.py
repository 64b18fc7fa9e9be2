"""Generate what other build systems read of the gateware: lists of its files, wrappers for Vivado, from the files.

Writes `hw/<top>.f` and `.ys`, `Bender.yml`, `framelane.core` and `hw/vivado/<top>/`. Run by `make package`; with
`--check`, exit status 1 names the files that are not current.
"""

import argparse
import sys
import tomllib
from pathlib import Path

import file_lists
import ipxact
import wrapper
from ports import read_top
from sources import ROOT, in_order

TOPS = (
    *("roce_tx", "mac_port", "tx", "tx_stream", "framelane_top"),
    *("detector_tx", "detector_links", "detector_pcie"),
)
"""What other designs instantiate."""
WHOLE = "framelane_top"
"""That with all inside."""
IP = ("framelane_top",)
"""Those that Vivado's block designs may hold: with a wrapper."""


def generated() -> dict[Path, str]:
    """Every generated file, by its path in the repository."""
    lists = {top: in_order([top]) for top in TOPS}
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    packaged: dict[Path, str] = {}
    for top in (read_top(name, ROOT) for name in IP):
        folder = Path("hw", "vivado", top.name)
        packaged[folder / f"{wrapper.name_of(top)}.v"] = wrapper.wrapper(top, file_lists.NOTE)
        packaged[folder / "component.xml"] = ipxact.component(top, lists[top.name], folder, version)
    return packaged | {
        **{Path("hw", f"{top}.f"): file_lists.file_list(files) for top, files in lists.items()},
        **{Path("hw", f"{top}.ys"): file_lists.yosys(top) for top in TOPS},
        Path("Bender.yml"): file_lists.bender(in_order(TOPS)),
        Path("framelane.core"): file_lists.core(lists, Path("hw", "vivado", WHOLE, f"{WHOLE}_ip.v"), version),
    }


def outdated(root: Path, files: dict[Path, str]) -> list[str]:
    """The files of `root` that are not what they should be."""
    return [
        str(path) for path, text in files.items() if not (root / path).is_file() or (root / path).read_text() != text
    ]


def main() -> int:
    """Write the files, or say which are not current."""
    parser = argparse.ArgumentParser(description="Generates lists of the gateware's files for other build systems.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit status 1 where a file is not current")
    files = generated()
    if parser.parse_args().check:
        old = outdated(ROOT, files)
        for path in old:
            print(f"{path} is not what hw/ holds: run make package")
        return int(bool(old))
    for name, text in files.items():
        (ROOT / name).parent.mkdir(parents=True, exist_ok=True)
        (ROOT / name).write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
