"""The guest's kernel and initramfs, out of Debian packages that are downloaded once and never installed."""

import fcntl
import hashlib
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

import debian
from cpio import Cpio
from kernel_modules import in_load_order

_KERNELS = ("linux-image-6.12-amd64", "linux-image-amd64")
"""Those with rdma_rxe and 9p: the cloud flavours have neither."""
_MODULES = ("virtio_pci", "9pnet_virtio", "9p", "veth", "crc32_generic", "ib_uverbs", "rdma_rxe")
"""The guest cannot load any by itself. rxe takes its CRC by name, so that nothing says it depends on crc32_generic."""

_VFIO_MODULES = ("vfio_pci", "vfio_iommu_type1")
"""Loaded too where the kernel's command line has `vfio=1`: devices in the hands of a program."""

_HERE = Path(__file__).resolve().parent


@dataclass(frozen=True, slots=True)
class Kernel:
    """What a machine boots: files."""

    image: Path
    initramfs: Path


def prepare(cache: Path = debian.CACHE) -> Kernel:
    """The kernel in `cache`; the first time 100 MB are downloaded for it. CannotStart where that is impossible.

    Of several processes one prepares it. Remove the folder to get a newer kernel.
    """
    digest = hashlib.sha256()
    for name in ("kernel.py", "kernel_modules.py", "cpio.py", "init.sh"):
        digest.update((_HERE / name).read_bytes())
    folder = cache / f"kernel-{digest.hexdigest()[:16]}"
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / "kernel.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.is_dir():
            _make(folder)
            for other in cache.glob("kernel-*"):
                if other != folder:
                    shutil.rmtree(other)
    return Kernel(folder / "vmlinuz", folder / "initramfs")


def _make(target: Path) -> None:
    """Fill `target`, which appears whole or not at all."""
    with tempfile.TemporaryDirectory(prefix=".part-", dir=target.parent) as part:
        work = Path(part)
        unpacked, made = work / "unpacked", work / "made"
        unpacked.mkdir()
        made.mkdir()
        debian.unpack(debian.newest_of(_KERNELS, work), unpacked)
        debian.unpack("busybox-static", unpacked)
        (image,) = (unpacked / "boot").glob("vmlinuz-*")
        (tree,) = next(
            path for path in (unpacked / "lib/modules", unpacked / "usr/lib/modules") if path.is_dir()
        ).iterdir()
        image.rename(made / "vmlinuz")
        busybox = next(path for path in (unpacked / "bin/busybox", unpacked / "usr/bin/busybox") if path.is_file())
        (made / "initramfs").write_bytes(_initramfs(tree, busybox.read_bytes()))
        made.rename(target)


def _initramfs(tree: Path, busybox: bytes) -> bytes:
    cpio = Cpio()
    for folder in ("proc", "sys", "root"):
        cpio.folder(folder)
    cpio.device("dev/console", 5, 1)
    cpio.device("dev/null", 1, 3)
    cpio.file("bin/busybox", busybox, 0o755)
    modules = in_load_order(tree, _MODULES)
    more = {name: data for name, data in in_load_order(tree, _VFIO_MODULES).items() if name not in modules}
    for name, data in (modules | more).items():
        cpio.file(f"modules/{name}.ko", data)
    for order, names in (("order", modules), ("vfio", more)):
        cpio.file(f"modules/{order}", "".join(f"{name}\n" for name in names).encode())
    cpio.file("init", (_HERE / "init.sh").read_bytes(), 0o755)
    return cpio.archive()
