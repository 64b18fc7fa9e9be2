"""A virtual machine with a Debian kernel that has rdma_rxe: the host's files, read-only, and one folder shared."""

from dataclasses import dataclass, field
from pathlib import Path

import debian
import kernel
from errors_of_runs import CannotStart
from rdma_link import RdmaLink

_HERE = Path(__file__).resolve().parent
_CONSOLE = ("console=ttyS0", "panic=-1", "quiet", "loglevel=3", "mitigations=off")
_VFIO_OPTIONS = ("intel_iommu=on", "vfio=1")
_VFIO_DEVICES = ("-device", "intel-iommu,intremap=on", "-device", f"edu,dma_mask={(1 << 48) - 1}")
"""QEMU, docs/specs/edu: the device's own limit is 28 bits of address."""
_SHORTEST = ("-nodefaults", "-no-user-config", "-no-reboot", "-display", "none", "-serial", "stdio")


@dataclass(frozen=True, slots=True)
class Machine:
    """See `RdmaTestbed`. Emulated (TCG): a nested KVM may open, and then not run this kernel."""

    memory_mib: int = 2048
    cpus: int = 1
    name: str = "a virtual machine"
    link: RdmaLink = field(default_factory=RdmaLink)
    vfio: bool = False
    """With an IOMMU, VFIO, and the device `edu` of QEMU, which reads and writes memory as it is told."""

    def prepare(self) -> None:
        """See `RdmaTestbed`."""
        debian.check("qemu-system-x86_64", "ip", "rdma", "setpriv")
        debian.check_pyverbs()
        kernel.prepare()

    def process(self, share: Path) -> list[str]:
        """See `RdmaTestbed`."""
        if any(character in str(share) for character in '",\n'):
            raise CannotStart(f"the share {share} cannot be named to the guest: take a path without commas and quotes")
        files = kernel.prepare()
        devices, options = (_VFIO_DEVICES, _VFIO_OPTIONS) if self.vfio else ((), ())
        append = (*_CONSOLE, *options, f'share="{share}"', f'guest="{_HERE / "guest.sh"}"')
        return [
            *("setpriv", "--pdeathsig", "KILL", "--"),  # it ends with this process, whatever ends that
            *("qemu-system-x86_64", "-accel", "tcg,thread=multi", "-cpu", "max", "-machine", "q35"),
            *("-m", str(self.memory_mib), "-smp", str(self.cpus), *_SHORTEST),
            *("-kernel", str(files.image), "-initrd", str(files.initramfs), "-append", " ".join(append)),
            *devices,
            *_folder("root", Path("/"), ",readonly=on"),
            *_folder("share", share),
        ]

    def clean(self, share: Path) -> None:
        """See `RdmaTestbed`."""


def _folder(tag: str, path: Path, options: str = "") -> tuple[str, ...]:
    """A folder of the host that the guest may mount by 9p under the name `tag`."""
    folder = f"local,id={tag},path={path},security_model=none,multidevs=remap{options}"
    return "-fsdev", folder, "-device", f"virtio-9p-pci,fsdev={tag},mount_tag={tag}"
