"""Small documents that people and programs hand us, read whole: plans, sessions, configurations."""

import os
import stat
from io import BufferedReader
from pathlib import Path

from framelane.base.errors import InputError

MOST_BYTES = 1 << 20
"""The most bytes of a document that a person writes, or a program for one run; ours have some kilobytes."""


def read_bytes(path: Path, what: str, most_bytes: int = MOST_BYTES) -> bytes:
    """The content of a regular file, `what` in words. InputError where it is none, too large, or cannot be read.

    Nothing is waited for, and not more than `most_bytes` are ever held.
    """
    try:
        with open_regular(path, what) as file:
            data = file.read(most_bytes + 1)
    except OSError as error:
        raise InputError(f"cannot read the {what} {path}: {error.strerror}") from error
    except ValueError as error:  # a NUL in its name
        raise InputError(f"cannot read the {what} {str(path)!r}: {error}") from error
    if len(data) > most_bytes:
        raise InputError(f"cannot read the {what} {path}: it has more than {most_bytes} bytes: it is another file")
    return data


def read_text(path: Path, what: str, most_bytes: int = MOST_BYTES) -> str:
    """The same as text in UTF-8. InputError where it is none."""
    data = read_bytes(path, what, most_bytes)
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"the {what} {path} is not text in UTF-8: line {line} has the byte {data[error.start]:#04x}: "
            "save it as UTF-8, or give another file"
        ) from error


def open_regular(path: Path, what: str) -> BufferedReader:
    """The file, for reading. InputError where it is a folder, a device or a pipe: these may have no end. OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return os.fdopen(descriptor, "rb")
    os.close(descriptor)
    raise InputError(f"cannot read the {what} {path}: it is a folder, a device or a pipe: give a file")
