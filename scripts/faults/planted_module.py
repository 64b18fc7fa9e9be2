"""Another source for one module of this process and of each Python that it starts: the module on disk stays."""

import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from types import CodeType, ModuleType

VARIABLE = "FRAMELANE_PLANTED"
"""Names the file that tells a Python of its fault."""


class _Changed(importlib.machinery.SourceFileLoader):
    """A module of another source than its file has."""

    def __init__(self, name: str, path: str, source: str) -> None:
        super().__init__(name, path)
        self._source = source

    def get_code(self, fullname: str) -> CodeType:
        code: CodeType = compile(self._source, self.path, "exec")
        return code


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self, name: str, path: str, source: str) -> None:
        self._name, self._path, self._source = name, path, source

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != self._name:
            return None
        loader = _Changed(fullname, self._path, self._source)
        return importlib.util.spec_from_file_location(fullname, self._path, loader=loader)


def plant(name: str, path: Path, source: str, folder: Path) -> None:
    """The module `name`, whose file is `path`, has `source` from now on; children learn of it by a file in `folder`."""
    told = folder / "planted.json"
    told.write_text(json.dumps([name, str(path), source]))
    os.environ[VARIABLE] = str(told)
    folders = str(Path(__file__).parent / "planted"), os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, folders))
    here()


def here() -> None:
    """Take the fault that the environment tells of."""
    sys.meta_path.insert(0, _Finder(*json.loads(Path(os.environ[VARIABLE]).read_text())))
