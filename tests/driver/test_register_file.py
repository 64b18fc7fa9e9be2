"""Registers by name: what is written where, what else stays, and what is refused."""

import pytest

from framelane.base.errors import ConfigError
from framelane.driver.registers._register_map import REGISTERS
from framelane.driver.registers.recording import Access, PaperRegisters, RecordingRegisters
from framelane.driver.registers.register_file import RegisterFile

EVERY = [
    (f"{register.name_of(index)}.{field.name}", field)
    for register in REGISTERS
    for index in {0, register.count - 1}
    for field in register.fields
]


@pytest.fixture
def board() -> RecordingRegisters:
    return RecordingRegisters(PaperRegisters())


@pytest.fixture
def registers(board: RecordingRegisters) -> RegisterFile:
    return RegisterFile(board)


def writes(board: RecordingRegisters) -> list[tuple[int, int]]:
    return [(access.offset, access.value) for access in board.accesses if access.op == "write"]


def test_every_field_that_may_be_written_keeps_its_largest_value_and_refuses_one_more(registers: RegisterFile) -> None:
    for name, field in EVERY:
        if field.access == "rw":
            registers[name] = field.highest
            assert registers[name] == field.highest, name
        if field.access != "r":
            with pytest.raises(ConfigError, match=rf"does not fit its {field.width} bits: give 0..{field.highest}$"):
                registers[name] = field.highest + 1


def test_every_field_that_is_read_only_says_so(board: RecordingRegisters, registers: RegisterFile) -> None:
    names = [name for name, field in EVERY if field.access == "r"]
    assert "identity.value" in names
    for name in names:
        with pytest.raises(ConfigError, match="is read only"):
            registers[name] = 0
    assert writes(board) == []


def test_fields_do_not_overlap_and_lie_in_their_registers() -> None:
    for register in REGISTERS:
        bits = [bit for field in register.fields for bit in range(field.lsb, field.lsb + field.width)]
        assert len(bits) == len(set(bits)), register.name
        assert max(bits) < register.width


def test_registers_do_not_overlap() -> None:
    words = [
        register.offset_of(index) + at
        for register in REGISTERS
        for index in range(register.count)
        for at in range(0, register.width // 8, 4)
    ]
    assert len(words) == len(set(words))


def test_a_field_is_changed_alone(board: RecordingRegisters, registers: RegisterFile) -> None:
    registers.write_register("flow[2].rectangle", {"width": 1024, "height": 512})
    registers["flow[2].rectangle.width"] = 5
    assert registers.read_register("flow[2].rectangle") == {"width": 5, "height": 512}
    assert writes(board) == [(0x10A4, 512 << 16 | 1024), (0x10A4, 512 << 16 | 5)]


def test_all_fields_of_a_register_take_one_write_and_no_read(
    board: RecordingRegisters, registers: RegisterFile
) -> None:
    registers.write_register("destination[3].control", {"enabled": 1, "qp": 7})
    assert board.accesses == [Access("write", 0x2060, 0x701)]


def test_64_bits_are_two_words_the_low_one_first(board: RecordingRegisters, registers: RegisterFile) -> None:
    registers["destination[1].window_end"] = 0x11_2233_4455
    assert registers["destination[1].window_end"] == 0x11_2233_4455
    assert board.accesses == [
        Access("write", 0x2038, 0x22334455),
        Access("write", 0x203C, 0x11),
        Access("read", 0x2038, 0x22334455),
        Access("read", 0x203C, 0x11),
    ]


def test_half_of_a_64_bit_register_is_changed_alone(registers: RegisterFile) -> None:
    registers.write_register("qp[1].ethernet", {"dst_mac": 0x020000000002, "tci": 0x6064})
    registers["qp[1].ethernet.dst_mac"] = 0xFFFF_FFFF_FFFF
    assert registers.read_register("qp[1].ethernet") == {"dst_mac": 0xFFFF_FFFF_FFFF, "tci": 0x6064}


def test_clearing_one_error_leaves_the_others(board: RecordingRegisters, registers: RegisterFile) -> None:
    paper = PaperRegisters()
    paper.words[0x48] = 0b111
    registers = RegisterFile(paper)
    registers["errors.skipped"] = 1
    assert paper.words[0x48] == 0b101


def test_a_command_leaves_the_board_armed_and_repeats_no_other_command(
    board: RecordingRegisters, registers: RegisterFile
) -> None:
    registers["control.arm"] = 1
    registers["command.snapshot"] = 1
    assert writes(board) == [(0x1C, 0b001), (0x24, 0b10)]


def test_a_register_of_one_field_goes_by_its_own_name(registers: RegisterFile) -> None:
    registers["local_ip"] = 0x0A000001
    assert registers["local_ip"] == registers["local_ip.value"] == 0x0A000001


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("identty", r"has the name 'identty': did you mean identity"),
        ("flow[1].rectangle.widht", r"did you mean flow\[\]\.rectangle\.width"),
        ("flow.rectangle.width", r"did you mean flow\[\]\.rectangle\.width"),
        ("flow[1]", r"there are \d+ behind it, such as flow\[1\]\.control"),
        ("flow[8].bunch", r"there is no flow\[8\]\.bunch: there are flow\[0\]\.bunch to flow\[7\]\.bunch$"),
        ("flow[8]", r"there is no flow\[8\]: there are flow\[0\]"),
        ("flow[].bunch", r"there is no flow\[\]\.bunch: there are flow\[0\]\.bunch"),
        ("local_ip[0]", r"has the name 'local_ip\[0\]': did you mean local_ip"),
        ("flow[1][2].bunch", r"did you mean flow\[\]\.bunch"),
        ("flow[-1].bunch", r"did you mean flow\[\]\.bunch"),
        ("zzzz", "see docs/reference/registers.md"),
        ("flow[1].rectangle", r"has the fields width, height: name one, as in flow\[1\]\.rectangle\.width"),
    ],
)
def test_a_name_that_is_none_gets_advice(
    board: RecordingRegisters, registers: RegisterFile, name: str, sentence: str
) -> None:
    for access in (lambda: registers[name], lambda: registers.__setitem__(name, 1)):
        with pytest.raises(ConfigError, match=sentence):
            access()
    assert board.accesses == []


def test_a_value_outside_its_field_is_named_with_field_and_range(registers: RegisterFile) -> None:
    with pytest.raises(
        ConfigError, match=r"^flow\[2\]\.rectangle\.width = 65536 does not fit its 16 bits: give 0..65535$"
    ):
        registers["flow[2].rectangle.width"] = 1 << 16
    with pytest.raises(ConfigError, match=r"^qp\[0\]\.rate = -1 does not fit its 24 bits: give 0..16777215$"):
        registers["qp[0].rate"] = -1


def test_a_field_that_the_register_has_not_is_refused_before_anything_is_written(
    board: RecordingRegisters, registers: RegisterFile
) -> None:
    with pytest.raises(ConfigError, match=r"register flow\[0\].rectangle has no field 'depth': it has width, height"):
        registers.write_register("flow[0].rectangle", {"width": 1, "depth": 2})
    assert board.accesses == []
