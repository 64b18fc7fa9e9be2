"""Public names of a package that are imported when somebody first asks for one: `import framelane` stays quick."""

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any


def lazily(package: str, places: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of `package` (PEP 562), for names that are defined elsewhere.

    `places` has the module of each name, with `:name` behind it where the name is another one there. For type checkers
    the package imports the same names under `TYPE_CHECKING`.
    """

    def find(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, _, other = places[name].partition(":")
        found = getattr(importlib.import_module(module), other or name)
        setattr(sys.modules[package], name, found)
        return found

    return find, lambda: sorted({*vars(sys.modules[package]), *places})
