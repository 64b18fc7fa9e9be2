"""Where a command finds an RDMA device: the NIC that the user names, this kernel's rxe, or else a virtual machine."""

from pathlib import Path
from typing import Literal, Protocol

from errors_of_runs import CannotStart
from machine import Machine
from own_kernel import OwnKernel
from own_nic import named_nic
from rdma_link import RdmaLink

Where = Literal["auto", "here", "machine"]


class RdmaTestbed(Protocol):
    """Runs the command that lies in SHARE/.guest, and leaves its output and exit status there."""

    @property
    def name(self) -> str:
        """In words."""

    @property
    def link(self) -> RdmaLink:
        """The wire that the command finds."""

    def prepare(self) -> None:
        """Get what is needed. CannotStart where that is impossible, with what is missing."""

    def process(self, share: Path) -> list[str]:
        """The process that ends when the command has ended; what it prints is the console."""

    def clean(self, share: Path) -> None:
        """Undo what is left after the process, however it ended."""


def choose(where: Where, machine: Machine) -> RdmaTestbed:
    """The testbed, prepared. CannotStart where there is none."""
    if where != "machine":
        nic = named_nic()
        own: RdmaTestbed = nic or OwnKernel()
        try:
            own.prepare()
            return own
        except CannotStart:
            if where == "here" or nic:
                raise
    machine.prepare()
    return machine
