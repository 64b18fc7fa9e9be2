"""An HDF5 file that a user gave: whatever is wrong with it is one sentence, which names the file and the dataset."""

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, Self

import h5py
import hdf5plugin  # noqa: F401  (so that h5py reads compressed datasets)
import numpy as np
from numpy.typing import NDArray

from framelane.base.any_path import AnyPath
from framelane.base.errors import InputError
from framelane.files.linked_files import missing_source
from framelane.files.unended import Unended, unended

_KINDS = {"u2": "uint16", "f": "a floating type", "b": "bool", "u": "unsigned integers", "i": "integers"}


class CheckedFile:
    """An open file, whose datasets a subclass checks and reads in `_load`. InputError where that fails, or no file is.

    h5py raises any of half a dozen errors for a damaged file: `_try` makes each of them an InputError. Of a file of
    ours that was not ended, datasets of frames are as long as the shortest of them. A dataset that other files are
    shown in, as that of a series, is refused where one of these is gone or cannot be read.
    """

    whole: ClassVar[bool] = True
    """Whether it is refused then: HDF5 would have frames of fill values for them."""

    needed: ClassVar[str] = ""
    """What such a file holds, in words: the end of the sentence about a dataset that is not there."""

    def __init__(self, path: AnyPath) -> None:
        self.path = path = Path(path)
        if not path.is_file():
            what = f"{path} is a folder, a device or a pipe" if path.exists() else f"there is no file {path}"
            raise InputError(f"{what}: give an HDF5 file")
        self._unended: Unended | None = None
        self._file = self._try("open it", lambda: h5py.File(path, "r"))
        try:
            with contextlib.suppress(InputError):  # `_load` says what is wrong with it
                self._unended = self._try("count its frames", lambda: unended(self._file))
            self._load()
        except BaseException:
            self._file.close()
            raise

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _load(self) -> None:
        """Check the datasets, and read those that are small."""
        raise NotImplementedError

    def _read(
        self, name: str, shape: tuple[int | None, ...], kind: str | tuple[str, ...], dtype: type[np.generic]
    ) -> NDArray[Any]:
        dataset = self._dataset(name, shape, kind)
        array: NDArray[Any] = self._try(f"read {name}", lambda: np.asarray(self._values(dataset), dtype))
        return array

    def _has(self, name: str) -> bool:
        """Whether there is anything of that name, a link that leads nowhere included."""
        return self._try(f"look for {name}", lambda: self._file.get(name, getlink=True)) is not None

    def _find(self, name: str) -> Any:
        """The dataset of that name; its shape and dtype can be had."""
        dataset = self._try(f"find {name}", lambda: self._file.get(name))
        if dataset is None:
            raise InputError(f"{self.path} has no dataset {name}: {self.needed}")
        if not isinstance(dataset, h5py.Dataset):
            raise InputError(f"{self.path}: {name} is not a dataset: {type(dataset).__name__}")
        shape, _ = self._try(f"tell the type of {name}", lambda: (dataset.shape, dataset.dtype))
        if shape is None:
            raise InputError(f"{self.path}: dataset {name} is empty: it has no shape")
        if self.whole:
            self._check_sources(name, dataset)
        return dataset

    def _check_sources(self, name: str, dataset: Any) -> None:
        missing = self._try(f"list the files behind {name}", lambda: missing_source(dataset))
        if missing is not None:
            source, why = missing
            raise InputError(
                f"{self.path} shows frames of {source}, which cannot be read ({why}): put that file back in its "
                "place, or give the files that are left one by one"
            )

    def _dataset(self, name: str, shape: tuple[int | None, ...], kind: str | tuple[str, ...]) -> Any:
        """The dataset, whose shape must be `shape` (None: any size but 0) and whose dtype of `kind`."""
        dataset = self._find(name)
        found = self._shape(dataset)
        if len(found) != len(shape) or any(n != (wanted or n or 1) for n, wanted in zip(found, shape, strict=True)):
            sizes = ", ".join("any" if n is None else str(n) for n in shape)
            raise InputError(f"{self.path}: dataset {name} has the shape {found}, needed is ({sizes})")
        kinds = (kind,) if isinstance(kind, str) else kind
        if not dataset.dtype.str[1:].startswith(kinds):
            wanted_kinds = " or ".join(_KINDS[each] for each in kinds)
            raise InputError(f"{self.path}: dataset {name} has the dtype {dataset.dtype}, needed is {wanted_kinds}")
        return dataset

    def _shape(self, dataset: Any) -> tuple[int, ...]:
        """The shape of a dataset, with no more frames than all have that are beside it."""
        shape: tuple[int, ...] = dataset.shape
        if self._unended and self._unended.has(dataset):
            return (min(shape[0], self._unended.frames), *shape[1:])
        return shape

    def _values(self, dataset: Any) -> NDArray[Any]:
        """All of a dataset, with no more frames than that."""
        return np.asarray(dataset[: self._shape(dataset)[0]] if dataset.shape else dataset[()])

    def _try(self, what: str, action: Callable[[], Any]) -> Any:
        """What the HDF5 library makes of it: each of these is how it says that it cannot."""
        try:
            return action()
        except MemoryError as error:
            raise InputError(f"{self.path} is too large: cannot {what} ({_reason(error)})") from error
        except (OSError, RuntimeError, ValueError, TypeError, KeyError) as error:
            reason = _reason(error)
            raise InputError(f"{self.path} is damaged or not an HDF5 file: cannot {what} ({reason})") from error


def _reason(error: Exception) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)
