"""A group of a growing HDF5 file to which links can be added after the first commit."""

import ctypes
from typing import Any

import h5py

_MOST_LINKS, _NAME_BYTES = 32, 16

_HDF5 = ctypes.CDLL(h5py.h5p.__file__)
"""The library that h5py calls; h5py has no names for the two functions below."""


def compact_group(parent: Any, name: str) -> Any:
    """A new group whose links are in its object header, which has room for `_MOST_LINKS` of them.

    By default HDF5 does so up to eight links. More have an index of several structures, all of which change with each
    link: between these writes a file could not be read.
    """
    how = h5py.h5p.create(h5py.h5p.GROUP_CREATE)
    hid = ctypes.c_int64(how.id)
    if _HDF5.H5Pset_link_phase_change(hid, _MOST_LINKS, 0) < 0:
        raise RuntimeError("HDF5 takes no limit of the links in a header")
    if _HDF5.H5Pset_est_link_info(hid, _MOST_LINKS, _NAME_BYTES) < 0:
        raise RuntimeError("HDF5 takes no estimate of links")
    return h5py.Group(h5py.h5g.create(parent.id, name.encode(), gcpl=how))
