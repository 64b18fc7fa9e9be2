"""The board: it is recognised, configured from scratch, armed and read; what it cannot do is said."""

import dataclasses
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from framelane.base.errors import BoardError, ConfigError
from framelane.driver.board.board import Board
from framelane.driver.board.board_readings import ADVICE, RefusedFrame
from framelane.driver.registers.entries import FrameRing
from framelane.driver.registers.recording import PaperRegisters, RecordingRegisters
from framelane.driver.registers.register_file import RegisterFile
from framelane.models.placement.flow import Flow, Refusal
from framelane.models.roce_tx.roce_qp import AckPolicy, QpContext, Segmentation, Service
from framelane.models.roce_tx.wire import Endpoint
from framelane.models.tx import TxConfig
from framelane.session.session import Session

MakeSession = Callable[..., Session]
MakeTransmitter = Callable[..., Any]
FREE_RUNNING = (1 << 64) - 1
ENDPOINT = Endpoint(0x020000000002, 0x0A000002)


@pytest.fixture
def transmitter(make_transmitter: MakeTransmitter) -> Any:
    return make_transmitter()


@pytest.fixture
def recording(transmitter: PaperRegisters) -> RecordingRegisters:
    return RecordingRegisters(transmitter)


@pytest.fixture
def board(recording: RecordingRegisters) -> Board:
    return Board(recording, timeout_s=0.3)


@pytest.fixture
def config(make_session: MakeSession) -> TxConfig:
    return make_session().tx_config()


def written(recording: RecordingRegisters) -> list[int]:
    return [access.offset for access in recording.accesses if access.op == "write"]


def put(transmitter: PaperRegisters, name: str, bits: int) -> None:
    element = RegisterFile(transmitter).find(name)
    for word in range(element.register.width // 32):
        transmitter.words[element.offset + 4 * word] = bits >> 32 * word & 0xFFFFFFFF


def test_a_transmitter_says_what_it_can_do(board: Board) -> None:
    found = board.probe()
    assert (found.version, found.build, found.clock_hz) == ((1, 3, 0), 7, 322_265_625)
    assert (found.data_width, found.frame_store, found.correction) == (512, False, False)
    assert (found.qps, found.flows, found.destinations) == (2, 2, 3)


@pytest.mark.parametrize(
    ("identity", "sentence"),
    [
        (0xFFFFFFFF, "identity reads 0xffffffff for 0x58544c46: no device answers: has the board power"),
        (0, "identity reads 0x00000000 for 0x58544c46: nothing is there: is the design loaded"),
        (0x464C5458, "identity reads 0x464c5458 for 0x58544c46: another design is loaded"),
    ],
)
def test_what_is_no_transmitter_is_refused(make_transmitter: MakeTransmitter, identity: int, sentence: str) -> None:
    with pytest.raises(BoardError, match=sentence):
        Board(make_transmitter(identity=identity)).probe()


@pytest.mark.parametrize(
    ("version", "sentence"),
    [
        (0x02030004, r"registers are of version 2.3.4, but this software knows version 1: update framelane"),
        (0x00090000, r"registers are of version 0.9.0, but this software knows version 1: load a newer design"),
    ],
)
def test_a_register_map_of_another_major_version_is_refused(
    make_transmitter: MakeTransmitter, version: int, sentence: str
) -> None:
    with pytest.raises(BoardError, match=sentence):
        Board(make_transmitter(version=version)).probe()


def test_a_register_map_with_additions_is_taken(make_transmitter: MakeTransmitter) -> None:
    assert Board(make_transmitter(version=0x01050002)).probe().version == (1, 5, 2)


def test_the_configuration_is_in_the_registers(board: Board, config: TxConfig) -> None:
    board.configure(config)
    read = board.registers.read_register
    assert (board.registers["local_mac"], board.registers["local_ip"]) == (config.local.mac, config.local.ip)
    (destination,) = config.destinations
    for name in ("slot_bytes", "base", "n_slots", "trailer_offset"):
        assert board.registers[f"destination[0].{name}"] == getattr(destination, name)
    assert read("destination[0].control") == {"enabled": 1, "qp": 0}
    assert read("flow[0].rectangle") == {"width": 100, "height": 16}
    assert read("qp[0].peer") == {"dest_qpn": 0x12345, "tos": 0}


def test_every_field_of_a_flow_has_its_register(board: Board, config: TxConfig) -> None:
    values: dict[str, Any] = {
        **{"source": 3, "first_destination": 0, "destinations": 1, "bunch": 5, "first": 1 << 40, "period": 10},
        **{"burst": 7, "count": 1 << 33, "kind": 6, "x0": 11, "y0": 12, "width": 13, "height": 14, "x1": 15, "y1": 16},
        **{"source_pitch": 4096, "source_offset": 64, "wide": True, "destination_pitch": 8192, "max_length": 1 << 20},
    }
    flow = Flow(**values)
    board.configure(dataclasses.replace(config, flows=(flow,)))
    registers = ("control", "origin", "rectangle", "place")
    found = {
        key: value for name in registers for key, value in board.registers.read_register(f"flow[0].{name}").items()
    }
    single = ("bunch", "first", "period", "burst", "count", "source_pitch", "source_offset", "destination_pitch")
    found |= {name: board.registers[f"flow[0].{name}"] for name in (*single, "max_length")}
    assert found == dataclasses.asdict(flow) | {"enabled": 1, "by_kind": 1, "wide": 1}


def test_every_field_of_a_queue_pair_has_its_register(make_transmitter: MakeTransmitter, config: TxConfig) -> None:
    board = Board(make_transmitter(capabilities=3 << 18 | 512, rc_sizes=64 << 16 | 2))
    values: dict[str, Any] = {
        **{"dst": ENDPOINT, "dest_qpn": 0x123456, "rkey": 0x89ABCDEF, "psn": 0xFEDCBA, "mtu": 1024, "vlan": 0x6064},
        **{"service": Service.RC, "segmentation": Segmentation.MESSAGE, "ack_policy": AckPolicy.INTERVAL},
        **{"ack_log2": 5, "src_port": 0xC123, "entropy": True, "pkey": 0x7FFF, "tos": 0x68, "ttl": 9},
        **{"rate": 0x10203, "burst": 0x40506},
    }
    qp = QpContext(**values)
    board.configure(dataclasses.replace(config, qps=(qp,)))
    read = board.registers.read_register
    assert read("qp[0].control") | {"set_psn": 1} == {
        **{"enabled": 1, "service": 1, "segmentation": 1, "mtu_log2": 10, "ack_policy": 2, "ack_log2": 5},
        **{"entropy": 1, "has_vlan": 1, "set_psn": 1},
    }
    assert read("qp[0].ethernet") == {"dst_mac": ENDPOINT.mac, "tci": 0x6064}
    assert read("qp[0].port") == {"src_port": 0xC123, "pkey": 0x7FFF}
    assert read("qp[0].peer") == {"dest_qpn": 0x123456, "tos": 0x68}
    assert read("qp[0].start") == {"psn": 0xFEDCBA, "ttl": 9}
    assert [board.registers[f"qp[0].{name}"] for name in ("dst_ip", "rkey", "rate", "burst")] == [
        *(ENDPOINT.ip, 0x89ABCDEF, 0x10203, 0x40506)
    ]


def test_entries_of_an_earlier_configuration_are_disabled(
    board: Board, config: TxConfig, transmitter: PaperRegisters
) -> None:
    for name in ("flow[1].control", "destination[2].control", "qp[1].control"):
        put(transmitter, name, 1)
    board.configure(config)
    for table, size in (("flow", 2), ("destination", 3), ("qp", 2)):
        enabled = [board.registers[f"{table}[{index}].control.enabled"] for index in range(size)]
        assert enabled == [1] + [0] * (size - 1)


def test_a_queue_pair_is_put_into_force_by_the_last_write_to_it(
    board: Board, config: TxConfig, recording: RecordingRegisters
) -> None:
    board.configure(config)
    own = [offset for offset in written(recording) if 0x4000 <= offset < 0x4040]
    assert set(own) == set(range(0x4000, 0x4028, 4))
    assert own.count(0x4000) == 1
    assert own[-1] == 0x4000


def test_the_board_is_disarmed_and_reset_before_the_first_change(
    board: Board, config: TxConfig, recording: RecordingRegisters
) -> None:
    board.configure(config)
    writes = [(access.offset, access.value) for access in recording.accesses if access.op == "write"]
    assert writes[:2] == [(0x1C, 0), (0x24, 1)]
    assert all(offset != 0x1C for offset, _ in writes[2:]), "and it stays disarmed"


def test_a_configuration_that_breaks_off_cannot_be_armed(
    board: Board, config: TxConfig, transmitter: PaperRegisters, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever it does: half of it beside what was there before would write to a wrong place."""
    write = transmitter.write
    done = 0

    def count(offset: int, value: int) -> None:
        nonlocal done
        done += 1
        if done == broken:
            raise BoardError("gone")
        write(offset, value)

    broken = 0
    monkeypatch.setattr(transmitter, "write", count)
    board.configure(config)
    writes = done
    assert writes > 30
    for broken in range(5, writes - 2):  # behind the last flow that is disabled, before the first that is enabled
        done = 0
        with pytest.raises(BoardError, match="gone"):
            board.configure(config)
        with pytest.raises(BoardError, match="no flow is enabled"):
            board.arm()
        done, broken = 0, 0
        board.configure(config)


def test_no_credit_outlives_a_configuration(board: Board, config: TxConfig) -> None:
    board.configure(config)
    board.publish_credit(0, FREE_RUNNING)
    board.configure(config)
    assert board.registers["destination[0].window_end"] == 0


def test_a_client_that_died_while_armed_leaves_nothing_to_the_next(
    config: TxConfig, transmitter: PaperRegisters
) -> None:
    dead = Board(transmitter)
    dead.configure(config)
    dead.publish_credit(0, 100)
    dead.arm()
    put(transmitter, "errors", 0b11)
    board = Board(transmitter)
    board.configure(config)
    assert not board.state().armed
    assert board.errors().names == ()
    board.publish_credit(0, 4)
    board.arm()
    assert board.state().armed


def test_a_frame_that_does_not_leave_is_said_and_nothing_is_configured(
    board: Board, config: TxConfig, transmitter: Any, recording: RecordingRegisters
) -> None:
    transmitter.stuck = True
    with pytest.raises(BoardError, match=r"after 0.3 s a frame is still under way .*is the Ethernet link down"):
        board.configure(config)
    assert written(recording) == [0x1C, 0x24], "disarmed, to be reset when it has left, nothing else"


def test_the_reset_of_a_client_that_died_in_it_is_waited_for(board: Board) -> None:
    board.registers["command.reset"] = 1
    board.wait_idle()
    assert not board.state().resetting


@pytest.mark.parametrize(
    ("command", "sentence"),
    [("configure", "a frame is still under way"), ("counters", "the counters are not copied")],
)
def test_a_command_that_never_ends_is_said_with_the_status(
    board: Board, config: TxConfig, transmitter: Any, command: str, sentence: str
) -> None:
    transmitter.delay = 1 << 40
    with pytest.raises(BoardError, match=rf"the transmitter hangs: after 0.3 s {sentence} .*status: idle, "):
        board.configure(config) if command == "configure" else board.counters()


def test_a_register_that_does_not_keep_its_value_is_named(config: TxConfig, make_transmitter: MakeTransmitter) -> None:
    transmitter = make_transmitter()
    write = transmitter.write
    transmitter.write = lambda offset, value: write(offset, value & ~0x20 if offset == 0x1024 else value)
    with pytest.raises(BoardError, match=r"flow\[0\].rectangle, field width, reads 0x44 after 0x64 was written"):
        Board(transmitter).configure(config)


@pytest.mark.parametrize(
    ("what", "sentence"),
    [
        ("qps", "has 3 qps, but this build of the transmitter only 2"),
        ("destinations", "has 4 destinations, but this build of the transmitter only 3"),
        ("flows", "has 3 flows, but this build of the transmitter only 2"),
    ],
)
def test_more_than_a_build_has_is_refused_before_anything_is_written(
    board: Board, config: TxConfig, recording: RecordingRegisters, what: str, sentence: str
) -> None:
    flows = tuple(dataclasses.replace(config.flows[0], first_destination=k) for k in range(3))
    many: dict[str, Any] = {"qps": config.qps * 3, "destinations": config.destinations * 4}
    larger = dataclasses.replace(config, **many, flows=flows)
    limits = {"qps": 2, "destinations": 3, "flows": 2}
    fitting = {name: getattr(larger, name)[:limit] for name, limit in limits.items() if name != what}
    if what == "destinations":
        fitting["flows"] = flows[:1]
    with pytest.raises(ConfigError, match=sentence):
        board.configure(dataclasses.replace(larger, **fitting))
    assert written(recording) == []


def test_the_memory_of_the_frame_store_is_told_to_a_board_that_has_one(
    config: TxConfig, make_transmitter: MakeTransmitter
) -> None:
    board = Board(make_transmitter(capabilities=1 << 16 | 512))
    board.configure(config, FrameRing(1 << 33, 1 << 20, 300))
    assert board.registers["store_base"] == 1 << 33
    assert (board.registers["store_slot_bytes"], board.registers["store_slots"]) == (1 << 20, 300)


@pytest.mark.parametrize(
    ("capabilities", "ring", "sentence"),
    [
        (512, FrameRing(0, 4096, 2), r"has none: remove \[store\]"),
        (1 << 16 | 512, None, r"needs one: say in \[store\]"),
        (1 << 16 | 512, FrameRing(32, 4096, 2), "slots of 4096 bytes at 0x20: give multiples of 64 bytes"),
        (1 << 16 | 512, FrameRing(0, 4100, 2), "slots of 4100 bytes at 0x0: give multiples of 64 bytes"),
    ],
)
def test_a_frame_store_that_the_board_cannot_have_is_refused(
    config: TxConfig, make_transmitter: MakeTransmitter, capabilities: int, ring: FrameRing | None, sentence: str
) -> None:
    recording = RecordingRegisters(make_transmitter(capabilities=capabilities))
    with pytest.raises(ConfigError, match=sentence):
        Board(recording).configure(config, ring)
    assert written(recording) == []


def test_a_board_without_a_flow_is_not_armed(board: Board, recording: RecordingRegisters) -> None:
    with pytest.raises(BoardError, match="no flow is enabled: configure the board first"):
        board.arm()
    assert written(recording) == []


def test_arm_and_disarm_may_be_repeated(board: Board, config: TxConfig) -> None:
    board.disarm()
    board.configure(config)
    for _ in range(2):
        board.arm()
        assert board.state().armed
    for _ in range(2):
        board.disarm()
        assert not board.state().armed


def test_a_board_that_does_not_arm_says_so(board: Board, config: TxConfig, transmitter: Any) -> None:
    board.configure(config)
    write = transmitter.write
    transmitter.write = lambda offset, value: None if offset == 0x1C else write(offset, value)
    with pytest.raises(BoardError, match=r"it is not armed .*a reset was under way: configure it again"):
        board.arm()


def test_a_board_that_refuses_its_addresses_says_that(board: Board, config: TxConfig, transmitter: Any) -> None:
    board.configure(config)
    write, errors = transmitter.write, RegisterFile(transmitter).find("errors").offset

    def arming(offset: int, value: int) -> None:
        if offset == 0x1C:
            transmitter.words[errors] = 1 << 15
        else:
            write(offset, value)

    transmitter.write = arming
    with pytest.raises(BoardError, match=r"does not arm: bad_address: .* beyond .* mend \[store\] or \[correction\]"):
        board.arm()


@pytest.mark.parametrize(
    ("words", "end"),
    [
        ({"store_slots": 17}, 0x4_0001_0000),
        ({"store_base": 0xFFFF_FFFF_FFFF_0000}, 0x1_0000_0000_000F_0000),
        ({"constants_pitch": 0xB000}, 0x4_0000_2000),
    ],
)
def test_memory_that_the_board_does_not_have_is_not_armed(
    make_transmitter: MakeTransmitter, config: TxConfig, words: dict[str, int], end: int
) -> None:
    """Though its base is there: addresses would begin at 0 again, and frames come to where constants are."""
    transmitter = make_transmitter(capabilities=3 << 16 | 512, sizes=2 | 2 << 12 | 3 << 16 | 34 << 25)
    recording = RecordingRegisters(transmitter)
    board = Board(recording, timeout_s=0.3)
    board.configure(config, FrameRing(0x3_FFF0_0000, 0x1_0000, 16))
    put(transmitter, "correction", 1)
    put(transmitter, "constants_base", 0x3_FFFC_0000)
    put(transmitter, "constants_pitch", 0xA000)
    board.arm()
    board.disarm()
    for name, value in words.items():
        put(transmitter, name, value)
    recording.accesses.clear()
    with pytest.raises(BoardError, match=f"is not armed: .* end at {end:#x}, but addresses .* have 34 bits"):
        board.arm()
    assert written(recording) == []


def test_a_host_that_stood_still_does_not_take_it_for_a_board_that_hangs(
    make_transmitter: MakeTransmitter, config: TxConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    hours = iter(range(0, 10**7, 3600))
    clock = SimpleNamespace(monotonic=lambda: next(hours), sleep=time.sleep)
    monkeypatch.setattr("framelane.driver.board.board.time", clock)
    Board(RecordingRegisters(make_transmitter(delay=2)), timeout_s=0.3).configure(config)


def test_credit_is_written_low_word_first(board: Board, config: TxConfig, recording: RecordingRegisters) -> None:
    board.configure(config)
    recording.accesses.clear()
    board.publish_credit(0, 0x5_0000_0003)
    assert [access for access in recording.accesses if access.op == "write"] == [
        *(("write", 0x2018, 3), ("write", 0x201C, 5))
    ]


def test_credit_grows_but_never_falls_while_armed(board: Board, config: TxConfig) -> None:
    board.configure(config)
    board.publish_credit(0, 10)
    board.arm()
    board.publish_credit(0, 12)
    board.publish_credit(0, 12)
    with pytest.raises(ConfigError, match=r"the credit of destination\[0\] cannot fall from 12 to 11 while"):
        board.publish_credit(0, 11)
    assert board.registers["destination[0].window_end"] == 12
    board.disarm()
    board.publish_credit(0, 4)
    assert board.registers["destination[0].window_end"] == 4


@pytest.mark.parametrize("window_end", [-1, 1 << 64])
def test_credit_of_more_than_64_bits_is_refused(board: Board, config: TxConfig, window_end: int) -> None:
    board.configure(config)
    with pytest.raises(ConfigError, match=r"destination\[0\].window_end = -?\d+ does not fit its 64 bits"):
        board.publish_credit(0, window_end)


def test_credit_for_a_destination_that_nobody_configured_is_refused(board: Board, config: TxConfig) -> None:
    board.configure(config)
    with pytest.raises(ConfigError, match=r"no credit for destination\[1\], it is not enabled: configure"):
        board.publish_credit(1, 4)


def test_counters_are_those_of_the_snapshot_for_the_entries_of_the_build(
    board: Board, transmitter: PaperRegisters, recording: RecordingRegisters
) -> None:
    put(transmitter, "counters.cycles", 1 << 40 | 3)
    put(transmitter, "counters.read_errors", 9)
    put(transmitter, "counters.mismatches", 1 << 33)
    put(transmitter, "counters.constant_errors", 6)
    put(transmitter, "flow_counters[1].refused", 5)
    put(transmitter, "destination_counters[2].failed", 1 << 32)
    found = board.counters()
    assert (found.cycles, found.read_errors, found.frames) == (1 << 40 | 3, 9, 0)
    assert (found.mismatches, found.constant_errors) == (1 << 33, 6)
    assert [flow.refused for flow in found.flows] == [0, 5]
    assert [destination.failed for destination in found.destinations] == [0, 0, 1 << 32]
    first_counter = next(k for k, access in enumerate(recording.accesses) if access.offset >= 0x8000)
    assert ("write", 0x24, 2) in recording.accesses[:first_counter]


def test_reading_counters_does_not_disarm(board: Board, config: TxConfig) -> None:
    board.configure(config)
    board.arm()
    board.counters()
    assert board.state().armed


def test_every_error_says_what_happened_and_what_to_do(board: Board, transmitter: PaperRegisters) -> None:
    put(transmitter, "errors", 0xFFFF)
    found = board.errors()
    assert set(found.names) == set(ADVICE)
    assert all(sentence.startswith(f"{name}: ") for name, sentence in zip(found.names, found.sentences(), strict=False))


def test_the_first_refused_frame_is_named(board: Board, transmitter: PaperRegisters) -> None:
    put(transmitter, "errors", 0b100)
    put(transmitter, "refusal", Refusal.OUTSIDE | 1 << 8 | 2 << 16)
    put(transmitter, "refusal_frame", 1 << 35)
    errors = board.errors()
    assert errors.refusal == RefusedFrame(Refusal.OUTSIDE, flow=1, destination=2, frame=1 << 35)
    assert errors.sentences()[-1] == (
        "the first refused: frame 34359738368 of flow 1 to destination 2: the rectangle or the trailer does not fit "
        "the destination's slot"
    )


@pytest.mark.parametrize("reason", [*Refusal, 200])
def test_every_reason_of_a_refusal_has_words(reason: int) -> None:
    assert str(RefusedFrame(reason, 0, 0, 7)).startswith("frame 7 of flow 0 to destination 0: ")


def test_errors_stay_until_they_are_cleared(board: Board, transmitter: PaperRegisters) -> None:
    put(transmitter, "errors", 0b1001)
    assert board.errors().names == board.errors().names == ("no_credit", "frame_lost")
    assert board.errors().refusal is None
    board.clear_errors()
    assert board.errors().names == ()
