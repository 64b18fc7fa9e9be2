"""The packages of framelane: `sw/` is its root and `models/` is mapped into it (all else is in pyproject.toml).

A wheel has the gateware too, below `framelane/gateware`: what the Verilated transmitter is made of, and the lists of
files by which other projects take it.
"""

import shutil
from pathlib import Path

from setuptools import find_packages, setup
from setuptools.command.build_py import build_py

GATEWARE = (
    *("hw/**/*.sv", "hw/**/*.v", "hw/*.f", "sim/dpi/**/*.sv", "sim/dpi/**/*.cpp", "sim/dpi/**/*.hpp"),
    *("boards/common/**/*.sv", "boards/ecp5/**/*.sv", "boards/colorlight_5a_75b/*.sv"),  # as simulated by their pins
)


class BuildWithGateware(build_py):
    """Copies the gateware into the package that is built; an editable install uses the checkout's own."""

    def run(self) -> None:
        """See `build_py`."""
        super().run()
        if self.editable_mode:
            return
        root = Path(__file__).parent
        for path in sorted(path for pattern in GATEWARE for path in root.glob(pattern)):
            target = Path(self.build_lib) / "framelane" / "gateware" / path.relative_to(root)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)


roots = {"framelane": "sw", "framelane.models": "models"}
packages = [name for root, path in roots.items() for name in (root, *(f"{root}.{p}" for p in find_packages(path)))]
setup(packages=packages, package_dir=roots, cmdclass={"build_py": BuildWithGateware})
