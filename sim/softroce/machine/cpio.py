"""An initramfs: a cpio archive in the `newc` format (Linux, Documentation/driver-api/early-userspace/buffer-format)."""

import stat
from pathlib import PurePosixPath

_MAGIC = b"070701"
_TRAILER = "TRAILER!!!"
_ALIGN = 4


class Cpio:
    """Collects entries, owned by root; `archive` is the whole. The folders above an entry are added by themselves."""

    def __init__(self) -> None:
        self._records: list[bytes] = []
        self._folders = {PurePosixPath(".")}

    def folder(self, path: str) -> None:
        """Add a folder, mode 755; one that is there already stays."""
        self._add_folders(PurePosixPath(path))

    def file(self, path: str, data: bytes, mode: int = 0o644) -> None:
        """Add a regular file."""
        self._add_folders(PurePosixPath(path).parent)
        self._record(path, stat.S_IFREG | mode, data)

    def device(self, path: str, major: int, minor: int) -> None:
        """Add a character device, mode 600."""
        self._add_folders(PurePosixPath(path).parent)
        self._record(path, stat.S_IFCHR | 0o600, device=(major, minor))

    def archive(self) -> bytes:
        """The archive so far, with its trailer."""
        records = len(self._records)
        self._record(_TRAILER, 0)
        data = b"".join(self._records)
        del self._records[records:]
        return data

    def _add_folders(self, path: PurePosixPath) -> None:
        for folder in (*reversed(path.parents), path):
            if folder not in self._folders:
                self._folders.add(folder)
                self._record(str(folder), stat.S_IFDIR | 0o755)

    def _record(self, path: str, mode: int, data: bytes = b"", device: tuple[int, int] = (0, 0)) -> None:
        name = path.encode() + b"\0"
        number, owner, links, time, device_of_file, checksum = len(self._records) + 1, (0, 0), 1, 0, (0, 0), 0
        fields = (number, mode, *owner, links, time, len(data), *device_of_file, *device, len(name), checksum)
        header = _MAGIC + b"".join(b"%08X" % field for field in fields)
        self._records.append(_padded(header + name) + _padded(data))


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % _ALIGN)
