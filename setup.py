"""The packages of framelane: `sw/` is its root and `models/` is mapped into it (all else is in pyproject.toml)."""

from setuptools import find_packages, setup

roots = {"framelane": "sw", "framelane.models": "models"}
packages = [name for root, path in roots.items() for name in (root, *(f"{root}.{p}" for p in find_packages(path)))]
setup(packages=packages, package_dir=roots)
