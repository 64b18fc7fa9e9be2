"""framelane's kernel module, built for the guest's kernel with Debian's headers, which are never installed."""

import fcntl
import hashlib
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import debian
import kernel
from errors_of_runs import CannotStart

SOURCE = Path(__file__).resolve().parents[3] / "kernel"
_RELEASE_AT = 0x20E
"""The kernel's x86/boot.rst: where the text of the release begins, from 0x200 on."""


def release(image: Path) -> str:
    """The release of a kernel, as `uname -r` says it."""
    data = image.read_bytes()
    at = 0x200 + int.from_bytes(data[_RELEASE_AT : _RELEASE_AT + 2], "little")
    return data[at : at + 200].split(b" ")[0].decode()


def module(cache: Path = debian.CACHE) -> Path:
    """The module for `kernel.prepare`'s kernel. CannotStart where headers or compiler cannot be had.

    Warnings of the compiler are errors. Of several processes one builds it.
    """
    debian.check("make", "gcc")
    image = kernel.prepare(cache).image
    digest = hashlib.sha256(image.read_bytes())
    for path in (Path(__file__), *sorted(SOURCE.iterdir())):
        digest.update(path.name.encode() + path.read_bytes())
    target = cache / f"module-{digest.hexdigest()[:16]}.ko"
    with (cache / "module.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not target.is_file():
            _build(_headers(release(image), cache), target)
    return target


def _headers(name: str, cache: Path) -> Path:
    """The unpacked headers of a kernel. Their makefile says where they would be installed: here it is told where."""
    folder = cache / f"headers-{name}"
    if not folder.is_dir():
        with tempfile.TemporaryDirectory(prefix=".part-", dir=cache) as work:
            root = Path(work, "root")
            root.mkdir()
            common = re.sub(r"-amd64$", "-common", name)
            kbuild = re.sub(r"-amd64$", "", name)
            for package in (f"linux-headers-{name}", f"linux-headers-{common}", f"linux-kbuild-{kbuild}"):
                debian.unpack(package, root)
            makefile = root / "usr/src" / f"linux-headers-{name}" / "Makefile"
            makefile.write_text(makefile.read_text().replace("/usr/src/", f"{folder}/usr/src/"))
            root.rename(folder)
    return folder / "usr/src" / f"linux-headers-{name}"


def _build(headers: Path, target: Path) -> None:
    with tempfile.TemporaryDirectory(prefix=".part-", dir=target.parent) as work:
        for path in SOURCE.iterdir():
            if path.suffix in (".c", ".h") or path.name == "Kbuild":
                shutil.copy(path, work)
        # Its types (BTF) would need pahole.
        command = ["make", "-C", str(headers), f"M={work}", "W=1", "KCFLAGS=-Werror", "CONFIG_DEBUG_INFO_BTF_MODULES="]
        result = subprocess.run([*command, "modules"], capture_output=True, text=True, check=False)
        if result.returncode:
            raise CannotStart(f"the kernel module does not build: {result.stdout[-2000:]}{result.stderr[-2000:]}")
        Path(work, "framelane_pcie.ko").rename(target)
