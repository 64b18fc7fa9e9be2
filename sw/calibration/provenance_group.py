"""The provenance of a calibration in its HDF5 file: a group with attributes, and a table of the files that went in.

| attribute | is                                             |
|-----------|------------------------------------------------|
| `command` | the command line that made the file            |
| `version` | of framelane                                   |
| `created` | UTC, ISO 8601                                  |

`sources` is one row a file, with the fields of `Source`.
"""

from dataclasses import astuple, fields
from typing import Any

import h5py
import numpy as np

from framelane.calibration.provenance import Provenance, Source

_TEXTS = ("command", "version", "created")
_ROW = np.dtype([(field.name, np.int64 if field.type is int else h5py.string_dtype()) for field in fields(Source)])


def write_provenance(group: Any, provenance: Provenance) -> None:
    """Fill an empty group."""
    for name in _TEXTS:
        group.attrs[name] = getattr(provenance, name)
    group.create_dataset("sources", data=np.array([astuple(source) for source in provenance.sources], _ROW))


def read_provenance(group: Any) -> Provenance:
    """The provenance in a group that `write_provenance` has filled; KeyError, ValueError or TypeError for another."""
    table = group["sources"][()]
    names = [field.name for field in fields(Source)]
    if table.dtype.names != tuple(names):
        raise ValueError(f"sources has the columns {table.dtype.names}")
    columns = [[value.decode() if isinstance(value, bytes) else int(value) for value in table[name]] for name in names]
    sources = tuple(Source(**dict(zip(names, row, strict=True))) for row in zip(*columns, strict=True))
    command, version, created = (str(group.attrs[name]) for name in _TEXTS)
    return Provenance(command, version, created, sources)
