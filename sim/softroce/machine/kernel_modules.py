"""The modules of an unpacked Debian kernel, in the order in which they must be loaded: an initramfs has no modprobe."""

import lzma
import re
from collections.abc import Iterable
from pathlib import Path

from framelane.base.errors import ConfigError

_DEPENDS = re.compile(rb"\0depends=([^\0]*)\0")


def in_load_order(tree: Path, wanted: Iterable[str]) -> dict[str, bytes]:
    """The modules `wanted` and all that they depend on (modinfo's `depends`), by name: each after what it needs.

    `tree` is `lib/modules/VERSION` of the kernel. What is built in is left out. ConfigError for one that is not there.
    """
    built_in = {_name(Path(line)) for line in (tree / "modules.builtin").read_text().splitlines()}
    files = {_name(path): path for path in (tree / "kernel").rglob("*.ko*")}
    loaded: dict[str, bytes] = {}
    on_the_way: set[str] = set()

    def load(name: str) -> None:
        name = name.replace("-", "_")
        if name in built_in or name in on_the_way:
            return
        if name not in files:
            raise ConfigError(
                f"the kernel in {tree} has no module {name}: take a Debian kernel that is not a cloud flavour"
            )
        on_the_way.add(name)
        data = files[name].read_bytes()
        if files[name].suffix == ".xz":
            data = lzma.decompress(data)
        depends = _DEPENDS.search(data)
        for needed in depends[1].decode().split(",") if depends else ():
            if needed:
                load(needed)
        loaded[name] = data

    for name in wanted:
        load(name)
    return loaded


def _name(path: Path) -> str:
    return path.name.split(".")[0].replace("-", "_")
