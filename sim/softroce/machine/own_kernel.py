"""This computer's own kernel, where it has rdma_rxe: no machine is started."""

import os
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import debian
from errors_of_runs import CannotStart
from rdma_link import RdmaLink

_HERE = Path(__file__).resolve().parent


@dataclass(frozen=True, slots=True)
class OwnKernel:
    """See `RdmaTestbed`. The link is made for the command, and removed after it."""

    name: str = "this kernel"
    link: RdmaLink = field(default_factory=RdmaLink)

    def prepare(self) -> None:
        """See `RdmaTestbed`."""
        if os.geteuid():
            raise CannotStart("an rxe device is for root to make: run as root")
        debian.check("ip", "rdma", "setpriv")
        debian.check_pyverbs()
        if not _has_rxe():
            raise CannotStart("this kernel has no module rdma_rxe: leave out --where, and a virtual machine is started")

    def process(self, share: Path) -> list[str]:
        """See `RdmaTestbed`."""
        return ["setpriv", "--pdeathsig", "TERM", "--", "sh", str(_HERE / "own_kernel.sh"), str(share)]

    def clean(self, share: Path) -> None:
        """See `RdmaTestbed`."""
        if not (share / ".guest/link_made").exists():  # somebody else's is left alone
            return
        environment = os.environ | self.link.variables()
        subprocess.run(["sh", str(_HERE / "link.sh"), "down"], env=environment, capture_output=True, check=False)


def _has_rxe() -> bool:
    if Path("/sys/module/rdma_rxe").is_dir():
        return True
    modprobe = shutil.which("modprobe", path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin")
    return (
        modprobe is not None
        and not subprocess.run([modprobe, "--quiet", "rdma_rxe"], capture_output=True, check=False).returncode
    )
