"""The interrupt of a UIO device: it is allowed, waited for until a deadline, and a device without one is said."""

import os
import sys
import time
import tty
from collections.abc import Iterator
from pathlib import Path

import pytest

from framelane.base.errors import BoardError
from framelane.driver.registers.uio import UioInterrupt

LIMIT_S = 5.0


@pytest.fixture
def device() -> Iterator[tuple[int, Path]]:
    """What the kernel's end reads and writes, and the device: a terminal, which passes bytes on both ways."""
    kernel, user = os.openpty()
    tty.setraw(user)
    yield kernel, Path(os.ttyname(user))
    os.close(kernel)
    os.close(user)


def test_an_interrupt_is_allowed_and_then_waited_for(device: tuple[int, Path]) -> None:
    kernel, path = device
    interrupt = UioInterrupt(path)
    os.write(kernel, (7).to_bytes(4, sys.byteorder))
    assert interrupt.wait(LIMIT_S)
    assert os.read(kernel, 4) == (1).to_bytes(4, sys.byteorder)
    interrupt.close()
    interrupt.close()


def test_where_none_comes_the_wait_ends_at_its_deadline(device: tuple[int, Path]) -> None:
    interrupt = UioInterrupt(device[1])
    start = time.monotonic()
    assert not interrupt.wait(0.05)
    assert 0.04 < time.monotonic() - start < LIMIT_S
    interrupt.close()


def test_a_device_without_interrupt_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BoardError, match=r"^cannot open .*uio9: No such file or directory$"):
        UioInterrupt(tmp_path / "uio9")
    path = tmp_path / "uio0"
    path.write_bytes(b"")
    interrupt = UioInterrupt(path)

    def refuse(descriptor: int, data: bytes) -> int:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "write", refuse)
    with pytest.raises(BoardError, match=r"^no interrupt comes from .*uio0: Input/output error: has its driver one\?$"):
        interrupt.wait(LIMIT_S)
    interrupt.close()
