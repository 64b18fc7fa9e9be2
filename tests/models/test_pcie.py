"""The PCIe write path's models against rules of the specification, and a calculator that knows of no TLP."""

import random

import pytest

from framelane.base.errors import InputError
from framelane.models.pcie import page_map, pcie_wr, tlp_split
from framelane.models.pcie.page_map import PageMap
from framelane.models.pcie.pcie_wr import Engine
from framelane.models.pcie.tlp_join import Sent
from framelane.models.pcie.tlp_split import MPS, Status, Tlp, Write

PAGES = 6


def some_pages(chance: random.Random, page_log2: int, holes: int = 0) -> tuple[PageMap, list[int | None]]:
    """Pages anywhere below 2^55, none twice; `holes` of them are missing."""
    numbers = chance.sample(range(1 << 55 - page_log2), PAGES)
    addresses: list[int | None] = [number << page_log2 for number in numbers]
    for index in chance.sample(range(PAGES), holes):
        addresses[index] = None
    return page_map.of_pages(page_log2, addresses), addresses


def byte_by_byte(offset: int, payload: bytes, page_log2: int, addresses: list[int | None]) -> dict[int, int]:
    """Where each byte must be: no TLP, no boundary, no table of words."""
    memory = {}
    for k, value in enumerate(payload):
        base = addresses[(offset + k) >> page_log2]
        if base is not None:
            memory[base + ((offset + k) & (1 << page_log2) - 1)] = value
    return memory


def by_the_header(address: int, dwords: int, first_be: int, last_be: int) -> list[int]:
    """The addresses that a completer writes, of a request's header (PCI Express Base Specification 5.0, 2.2.5)."""
    found = []
    for index in range(dwords):
        enables = first_be if index == 0 else last_be if index == dwords - 1 else 0xF
        found += [address + 4 * index + k for k in range(4) if enables >> k & 1]
    return found


def keeps_the_rules(tlp: Tlp, mps: int) -> None:
    """What the specification asks of a memory write request with byte enables (2.2.2, 2.2.5, 2.2.7)."""
    assert tlp.dw_address % 4 == 0
    assert 1 <= tlp.dwords <= mps // 4
    assert tlp.dw_address // 4096 == (tlp.dw_address + 4 * tlp.dwords - 1) // 4096
    assert tlp.first_be != 0
    assert (tlp.last_be == 0) == (tlp.dwords == 1)
    if tlp.dwords > 1:  # enables are contiguous through the request
        assert tlp.first_be in (0b1111, 0b1110, 0b1100, 0b1000)
        assert tlp.last_be in (0b1111, 0b0111, 0b0011, 0b0001)
    written = by_the_header(tlp.dw_address, tlp.dwords, tlp.first_be, tlp.last_be)
    assert written == list(range(tlp.address, tlp.address + tlp.length))


def some_write(chance: random.Random, ring_bytes: int) -> Write:
    """A write of any alignment: short more often than long, sometimes around a page boundary."""
    length = chance.choice([chance.randrange(1, 9), chance.randrange(1, 600), chance.randrange(1, 9000)])
    offset = chance.randrange(ring_bytes - length)
    if chance.random() < 0.3:
        offset = max(0, min(offset // 4096 * 4096 - chance.randrange(70), ring_bytes - length))
    return Write(offset, length)


@pytest.mark.parametrize("mps", MPS)
@pytest.mark.parametrize("page_log2", [12, 13, 16, 21])
@pytest.mark.parametrize("holes", [0, 2])
def test_memory_is_what_a_calculator_says_byte_by_byte(mps: int, page_log2: int, holes: int) -> None:
    chance = random.Random(mps + page_log2 + holes)
    pages, addresses = some_pages(chance, page_log2, holes)
    engine = Engine(pages, mps)
    writes = [some_write(chance, pages.ring_bytes) for _ in range(60)]
    memory: dict[int, int] = {}
    expected: dict[int, int] = {}
    for write in writes:
        payload = chance.randbytes(write.length)
        found, sent = engine.write(write, payload)
        pcie_wr.store(sent, memory)
        expected |= byte_by_byte(write.offset, payload, page_log2, addresses)
        touched = addresses[write.offset >> page_log2 : (write.offset + write.length - 1 >> page_log2) + 1]
        assert found is (Status.NO_PAGE if None in touched else Status.OK)
        for each in sent:
            assert len(each.data) == each.tlp.length
            keeps_the_rules(each.tlp, mps)
    assert memory == expected


@pytest.mark.parametrize("mps", MPS)
def test_all_but_the_ends_of_a_write_are_full(mps: int) -> None:
    for offset in range(mps):
        inner = list(tlp_split.split(Write(offset, 3 * 4096), mps))[1:-1]
        assert all(tlp.length == mps and tlp.address % mps == 0 for tlp in inner)


def test_every_short_tlp_has_the_enables_of_its_bytes() -> None:
    for address in range(4080, 4096):
        for length in range(1, 17):
            for tlp in tlp_split.split(Write(address, length), 128):
                keeps_the_rules(tlp, 128)


def test_what_is_not_in_the_ring_is_refused_whole() -> None:
    pages = page_map.of_pages(12, [0x1000])
    engine = Engine(pages)
    assert engine.write(Write(0, 0), b"") == (Status.BAD_LENGTH, [])
    assert engine.write(Write(4095, 2), b"ab") == (Status.OUTSIDE, [])
    assert engine.write(Write(1 << 63, 1), b"a") == (Status.OUTSIDE, [])
    assert engine.write(Write(4095, 1), b"a") == (Status.OK, [Sent(Tlp(0x1FFF, 1), b"a")])
    assert pages.translate(4096) == (Status.OUTSIDE, 0)


@pytest.mark.parametrize("bit", range(page_map.ENTRY_W))
def test_a_changed_bit_of_an_entry_writes_nowhere(bit: int) -> None:
    good = page_map.entry(0x7F_1234_5000)
    pages = PageMap(12, [good, good ^ 1 << bit, good])
    found, sent = Engine(pages).write(Write(0, 3 * 4096), bytes(3 * 4096))
    assert found is Status.BAD_PARITY
    assert sum(each.tlp.length for each in sent) == 2 * 4096


def test_the_tlp_in_which_payload_ends_is_poisoned_and_those_behind_are_left_out() -> None:
    engine = Engine(page_map.of_pages(12, [0]), mps=128)
    found, sent = engine.write(Write(0, 512), bytes(200))
    assert (found, [each.poisoned for each in sent]) == (Status.SHORT, [False, True])
    found, sent = engine.write(Write(0, 512), bytes(600))
    assert (found, [each.poisoned for each in sent]) == (Status.LONG, [False] * 4)


def test_only_tlps_with_bytes_of_a_wrong_beat_are_poisoned() -> None:
    engine = Engine(page_map.of_pages(12, [0]), mps=128)
    found, sent = engine.write(Write(100, 400), bytes(400), wrong=[0])
    assert (found, [each.poisoned for each in sent]) == (Status.BAD_PAYLOAD, [True, True, False, False])
    memory: dict[int, int] = {}
    pcie_wr.store(sent, memory)
    assert sorted(memory) == list(range(256, 500))


@pytest.mark.parametrize(
    ("address", "page_log2", "part"),
    [
        (0x1001, 12, "multiple of its size, 4096"),
        (1 << 55, 12, "below"),
        (0x11000, 16, "multiple of its size, 65536"),
        (0, 11, "give 12"),
    ],
)
def test_a_page_that_cannot_be_is_named(address: int, page_log2: int, part: str) -> None:
    with pytest.raises(InputError, match=part):
        page_map.of_pages(page_log2, [address])
