"""Debian packages: what is missing, and files out of packages that are never installed."""

import contextlib
import os
import platform
import shutil
import subprocess
import sysconfig
from pathlib import Path

from errors_of_runs import CannotStart

PYVERBS = Path("/usr/lib/python3/dist-packages/pyverbs")
CACHE = Path(__file__).resolve().parents[3] / "build" / "cache" / "softroce"
"""What is downloaded and unpacked."""
_PROGRAMS = {
    "qemu-system-x86_64": "qemu-system-x86",
    "ip": "iproute2",
    "rdma": "iproute2",
    "apt-get": "apt",
    "dpkg-deb": "dpkg",
}
_PATH = os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"))


def has_apt() -> bool:
    """Whether this is a system with apt."""
    return shutil.which("apt-get", path=_PATH) is not None


def check(*programs: str) -> None:
    """CannotStart for the first of `programs` that is not there, with the package that has it."""
    for program in programs:
        if shutil.which(program, path=_PATH) is None:
            package = _PROGRAMS.get(program, program)
            raise CannotStart(f"{program} is missing: apt-get install {package} (or make softroce as root, which does)")


def check_pyverbs() -> None:
    """CannotStart where this Python cannot load Debian's pyverbs."""
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    if not PYVERBS.is_dir():
        raise CannotStart("pyverbs is missing: apt-get install python3-pyverbs ibverbs-providers")
    if not (PYVERBS / f"device{suffix}").is_file():
        raise CannotStart(
            f"Debian's pyverbs is not for this Python {platform.python_version()}: make a virtual environment with the "
            "python3 of this system"
        )


def pyverbs_folder() -> Path:
    """A folder for PYTHONPATH that holds pyverbs alone, of all the Python packages of this system."""
    folder = CACHE / "python"
    folder.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(FileExistsError):
        (folder / "pyverbs").symlink_to(PYVERBS)
    return folder


def unpack(package: str, folder: Path) -> None:
    """Download `package`, the newest that apt knows, and unpack it into `folder`; nothing is installed.

    CannotStart where apt has no such package, or cannot download it.
    """
    check("apt-get", "dpkg-deb")
    result = _download(package, folder)
    if result.returncode and os.geteuid() == 0:  # the lists are missing, or older than the mirror
        _apt("apt-get", "update", cwd=folder)
        result = _download(package, folder)
    if result.returncode:
        reason = result.stderr.strip().splitlines()[-1:] or ["no reason given"]
        raise CannotStart(f"the package {package} cannot be downloaded ({reason[0]}): try apt-get update as root")
    for archive in folder.glob("*.deb"):
        subprocess.run(["dpkg-deb", "--extract", str(archive), str(folder)], check=True)
        archive.unlink()


def newest_of(packages: tuple[str, ...], folder: Path) -> str:
    """What the first meta package of `packages` that apt knows depends on: the name of the real one."""
    check("apt-get")
    for attempt in range(2):
        for package in packages:
            lines = _apt("apt-cache", "depends", package, cwd=folder).stdout.splitlines()
            depends = [line.split()[-1] for line in lines if line.strip().startswith("Depends:")]
            if depends:
                return depends[0]
        if attempt == 0 and os.geteuid() == 0:
            _apt("apt-get", "update", cwd=folder)
    raise CannotStart(
        f"apt knows none of {', '.join(packages)}: this is not Debian on amd64, or run apt-get update as root"
    )


def _download(package: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return _apt("apt-get", "-o", "APT::Sandbox::User=", "download", package, cwd=folder)


def _apt(program: str, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"LC_ALL": "C"}
    command = [program, "--quiet=2", *arguments] if program == "apt-get" else [program, *arguments]
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
