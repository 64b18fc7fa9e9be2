"""Boards of this machine: what stands in the way of their registers is said, and what to do."""

import errno
from collections.abc import Callable
from pathlib import Path
from unittest.mock import Mock

import pytest

from framelane.base.errors import BoardError, ConfigError
from framelane.driver.board.board_address import open_registers
from framelane.driver.registers.mmap_registers import open_pci, open_uio

MakeUio = Callable[..., Path]
MakePci = Callable[..., Path]
DEVICE = "sys/bus/pci/devices/0000:03:00.0"


def test_words_are_little_endian_at_their_offsets(make_pci: MakePci) -> None:
    root = make_pci({0: 4096})
    registers = open_pci("0000:03:00.0", 0, root)
    registers.write(0x18, 0x11223344)
    registers.close()
    assert (root / DEVICE / "resource0").read_bytes()[0x18:0x1C] == bytes.fromhex("44332211")


def test_a_big_endian_machine_is_refused(make_pci: MakePci, monkeypatch: pytest.MonkeyPatch) -> None:
    root = make_pci({0: 4096})
    monkeypatch.setattr("sys.byteorder", "big")
    with pytest.raises(BoardError, match="little-endian"):
        open_pci("0000:03:00.0", 0, root)


def test_a_uio_map_may_begin_within_a_page(make_uio: MakeUio) -> None:
    root = make_uio(0x100, offset=0x40)
    registers = open_uio("uio0", root)
    registers.write(0, 0xAABBCCDD)
    with pytest.raises(ConfigError, match="outside the map of 0x100 bytes"):
        registers.read(0x100)
    registers.close()
    assert (root / "dev/uio0").read_bytes()[0x40:0x44] == bytes.fromhex("ddccbbaa")


def test_a_device_that_has_gone_is_not_taken_for_values_of_all_ones(make_pci: MakePci) -> None:
    root = make_pci({0: 4096})
    registers = open_pci("0000:03:00.0", 0, root)
    registers.write(0x40, 0xFFFFFFFF)
    assert registers.read(0x40) == 0xFFFFFFFF, "one register may read so"
    (root / DEVICE / "resource0").write_bytes(b"\xff" * 4096)
    with pytest.raises(BoardError, match=r"no device answers behind .*resource0, every read gives all ones"):
        registers.read(0x40)
    registers.close()


def test_a_uio_device_that_is_not_there_is_told_from_those_that_are(make_uio: MakeUio, tmp_path: Path) -> None:
    with pytest.raises(BoardError, match="there is no UIO device uio3: there is none, a driver must make one"):
        open_uio("uio3", tmp_path)
    make_uio(4096)
    with pytest.raises(BoardError, match=r"there is no UIO device uio3: there are uio0$"):
        open_uio("uio3", tmp_path)


def test_a_uio_device_without_a_map_says_so(make_uio: MakeUio) -> None:
    root = make_uio(4096)
    (root / "sys/class/uio/uio0/maps/map0/size").unlink()
    with pytest.raises(BoardError, match=r"cannot read .*map0/size: No such file"):
        open_uio("uio0", root)


def test_a_pci_device_that_is_not_there_is_told_from_those_that_are(make_pci: MakePci) -> None:
    with pytest.raises(BoardError, match=r"there is no PCI device 0000:04:00.0: there are 0000:03:00.0$"):
        open_pci("0000:04:00.0", 0, make_pci({0: 4096}))


@pytest.mark.parametrize(
    ("bar", "sentence"), [(1, "has no memory BAR 1: it has 0, 2$"), (5, "has no memory BAR 5: it has 0, 2$")]
)
def test_a_bar_that_is_no_memory_is_refused(make_pci: MakePci, bar: int, sentence: str) -> None:
    with pytest.raises(BoardError, match=sentence):
        open_pci("0000:03:00.0", bar, make_pci({0: 4096, 2: 8192}))


def test_another_bar_may_be_chosen(make_pci: MakePci) -> None:
    registers = open_registers("pci:0000:03:00.0:2", make_pci({0: 4096, 2: 8192}))
    assert registers.read(8188) == 0
    registers.close()


def test_memory_accesses_that_are_not_enabled_are_said_with_the_remedy(make_pci: MakePci) -> None:
    with pytest.raises(BoardError, match=r"`echo 1 > /sys/bus/pci/devices/0000:03:00.0/enable`"):
        open_pci("0000:03:00.0", 0, make_pci({0: 4096}, command=0x0404))


def test_a_device_whose_configuration_space_does_not_answer_is_said(make_pci: MakePci) -> None:
    with pytest.raises(BoardError, match="does not answer: its link is down, or it has no power"):
        open_pci("0000:03:00.0", 0, make_pci({0: 4096}, command=0xFFFF))


def test_registers_that_may_not_be_opened_are_said_with_the_remedy(
    make_uio: MakeUio, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = make_uio(4096)
    monkeypatch.setattr("os.open", Mock(side_effect=PermissionError(errno.EACCES, "Permission denied")))
    with pytest.raises(BoardError, match=r"cannot open the registers .*dev/uio0: Permission denied: run as root"):
        open_uio("uio0", root)


def test_a_file_that_is_shorter_than_its_map_is_refused(make_uio: MakeUio) -> None:
    root = make_uio(4096)
    (root / "dev/uio0").write_bytes(bytes(100))
    with pytest.raises(BoardError, match=r"cannot map 4096 bytes of .*dev/uio0"):
        open_uio("uio0", root)


@pytest.mark.parametrize("address", ["uio:/dev/uio0", "uio:uio0"])
def test_a_uio_board_is_opened_by_its_address(make_uio: MakeUio, address: str) -> None:
    open_registers(address, make_uio(4096)).close()


@pytest.mark.parametrize("address", ["pci:0000:03:00.0", "pci:03:00.0", "pci:0000:03:00.0:0"])
def test_a_pci_board_is_opened_by_its_address(make_pci: MakePci, address: str) -> None:
    open_registers(address, make_pci({0: 4096})).close()


@pytest.mark.parametrize("address", ["", "uio0", "uio:/dev/mem", "pci:", "pci:0000:03:00.8", "pci:0000:03:00.0:6", "x"])
def test_an_address_that_names_no_board_is_refused_with_examples(tmp_path: Path, address: str) -> None:
    with pytest.raises(ConfigError, match=r"names no board: give uio:/dev/uio0, pci:0000:03:00.0"):
        open_registers(address, tmp_path)
