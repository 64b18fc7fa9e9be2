"""An interface that is slower than what is sent on it."""

import shutil
import subprocess

import pytest


def slow_down(interface: str, how: str) -> None:
    """A token bucket in front of an interface (tc-tbf(8))."""
    if not shutil.which("tc"):
        pytest.skip("needs the command `tc`, to make an interface slow")
    if subprocess.run(f"tc qdisc add dev {interface} root tbf {how}".split(), capture_output=True).returncode:
        pytest.skip("this kernel has no token bucket filter")
