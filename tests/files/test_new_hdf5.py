"""HDF5 files that appear whole: an older one is not replaced in silence, nor by one that the disk did not take."""

import errno
import os
from pathlib import Path

import pytest

from framelane.base.errors import ConfigError, InputError
from framelane.files import new_hdf5
from framelane.files.forgiving import ForgivingFile
from framelane.files.new_hdf5 import NewHdf5


class FullDisk(ForgivingFile):
    """A file on a full disk."""

    def _put(self, view: memoryview, at: int) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def write(path: Path, value: int, *, force: bool = False) -> None:
    with NewHdf5(path, force=force) as new:
        new.file["value"] = value


def test_an_older_file_is_replaced_only_by_force(tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    write(path, 1)
    older = path.read_bytes()
    with pytest.raises(InputError, match=r"a\.h5"):
        NewHdf5(path)
    assert path.read_bytes() == older
    write(path, 2, force=True)
    assert path.read_bytes() != older
    assert list(tmp_path.iterdir()) == [path]


def test_what_the_disk_did_not_take_is_said_while_it_is_written_and_leaves_the_older_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.h5"
    write(path, 1)
    older = path.read_bytes()
    monkeypatch.setattr(new_hdf5, "ForgivingFile", FullDisk)
    with pytest.raises(InputError, match=r"cannot write .*a\.h5: No space left on device: make room there"):
        write(path, 2, force=True)
    new = NewHdf5(path, force=True)
    new.file["value"] = 3
    new.file.flush()
    with pytest.raises(InputError, match="No space left on device"):
        new.check()
    new.discard()
    assert path.read_bytes() == older
    assert list(tmp_path.iterdir()) == [path]


def test_an_error_of_ours_is_not_taken_for_one_of_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(new_hdf5, "ForgivingFile", FullDisk)

    def failing(error: BaseException) -> None:
        with NewHdf5(tmp_path / "a.h5") as new:
            new.file["value"] = 3
            new.file.flush()
            raise error

    for error in (ConfigError("the options do not fit"), KeyboardInterrupt()):
        with pytest.raises(type(error)) as raised:
            failing(error)
        assert raised.value is error
    with pytest.raises(InputError, match="No space left on device"):
        failing(RuntimeError("bad heap index"))
    assert list(tmp_path.iterdir()) == []
