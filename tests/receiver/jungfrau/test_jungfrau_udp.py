"""Frames from packets: with impairments too, a pixel is what was sent or a hole, and every packet is accounted for."""

import random
import struct
from collections import Counter

import numpy as np
import pytest

from framelane.base.errors import ConfigError, PacketError
from framelane.models.jungfrau.jf_packet import HEADER, parse
from framelane.packets.detector_file import JUNGFRAU, shipped
from framelane.receiver.detector.detector_transport import REACH
from framelane.receiver.detector.packet_batch import PacketBatch
from framelane.receiver.detector.packet_fate import Fate
from framelane.receiver.jungfrau.jungfrau_udp import FrameAssembler
from jungfrau_packets import Sent, halves, raw, receive, sent

HOLE = 0x8000


def fates(assembler: FrameAssembler) -> dict[str, int]:
    """Return the fates of packets that are not placed, as far as there are any."""
    return {fate.name: n for fate, n in assembler.counts.fates.items() if n and fate is not Fate.PLACED}


def edited(packet: Sent, offset: int, form: str, value: int) -> Sent:
    data = bytearray(packet[1])
    struct.pack_into(form, data, offset, value)
    return packet[0], bytes(data)


@pytest.mark.parametrize(("modules", "interfaces"), [(1, 1), (1, 2), (3, 1), (2, 2)])
def test_packets_in_any_order_become_the_image(modules: int, interfaces: int) -> None:
    stream = sent(5, modules, interfaces)
    random.Random(1).shuffle(stream)
    assembler = FrameAssembler(modules, interfaces)
    [(number, image, packets)] = receive(assembler, stream, flush=False)
    assert (number, packets) == (5, [128] * modules)
    assert (image == raw(5, modules)).all()
    assert fates(assembler) == {}


def test_lost_packets_are_holes_exactly_where_their_rows_are() -> None:
    lost = {0, 63, 64, 200, 255}
    stream = [packet for index, packet in enumerate(sent(5, 2, 2)) if index not in lost]
    assembler = FrameAssembler(2, 2)
    [(_, image, packets)] = receive(assembler, stream)
    expected = raw(5, 2)
    for index in lost:
        expected[4 * index : 4 * index + 4] = HOLE
    assert (image == expected).all()
    assert packets == [125, 126]
    counts = assembler.counts
    assert (counts.complete, counts.incomplete, counts.holes) == (0, 1, 5 * 4096)


@pytest.mark.parametrize(("modules", "interfaces"), [(1, 1), (2, 2)])
def test_packets_of_two_rows_in_any_order_become_the_image(modules: int, interfaces: int) -> None:
    stream = halves(sent(5, modules, interfaces))
    random.Random(1).shuffle(stream)
    assembler = FrameAssembler(modules, interfaces)
    [(number, image, packets)] = receive(assembler, [*sent(4, modules, interfaces), *stream], flush=False)[1:]
    assert (number, packets) == (5, [256] * modules)
    assert (image == raw(5, modules)).all()
    assert fates(assembler) == {}


def test_a_lost_packet_of_two_rows_is_two_rows_of_holes() -> None:
    """Longer packets came before, whose words lie behind each in memory."""
    lost = {0, 127, 128, 300, 511}
    stream = [packet for index, packet in enumerate(halves(sent(5, 2, 2))) if index not in lost]
    assembler = FrameAssembler(2, 2)
    [(_, image, packets)] = receive(assembler, [*sent(4, 2, 2), *stream[::-1]])[1:]
    expected = raw(5, 2)
    for index in lost:
        expected[2 * index : 2 * index + 2] = HOLE
    assert (image == expected).all()
    assert packets == [253, 254]
    counts = assembler.counts
    assert (counts.complete, counts.incomplete, counts.holes) == (1, 1, 5 * 2048)


def test_of_a_packet_of_the_other_length_only_the_rows_that_are_not_there_are_taken() -> None:
    few, many = halves(sent(5)), sent(5)
    foreign = edited(few[0], 12, "<I", 256)
    first = edited(few[3], 48, "<H", 0x1234)  # the first to come counts
    there = [few[0], few[1], first, few[4]]  # both halves of a packet, its second, its first
    assembler = FrameAssembler(1)
    stream = [*there, *many[:3], foreign, *many[3:-1], few[9], few[5], few[2], many[-1]]
    [(_, image, packets)] = receive(assembler, stream, flush=False)
    expected = raw(5)
    expected[6, 0] = 0x1234
    assert (image == expected).all()
    assert packets == [4 + 127]
    assert fates(assembler) == {"DUPLICATE": 4, "PACKET": 1}


def test_a_new_acquisition_of_packets_of_two_rows_costs_a_frame_of_them() -> None:
    far = 5 + 2 * REACH
    assembler = FrameAssembler(1)
    found = receive(assembler, [*halves(sent(5)), *halves(sent(far)), *halves(sent(far + 1))])
    assert [(number, packets) for number, _, packets in found] == [(5, [256]), (far + 1, [256])]
    assert fates(assembler) == {"NUMBER": 256}


def test_packets_of_two_rows_of_a_foreign_sender_are_taken_out_when_the_module_is_known() -> None:
    own, foreign = halves(sent(5)), [edited(packet, 32, "<H", 9) for packet in halves(sent(6))]
    assembler = FrameAssembler(1)
    found = receive(assembler, [*foreign[:3], *own, *halves(sent(6))])
    assert [(number, packets) for number, _, packets in found] == [(5, [256]), (6, [256])]
    assert (found[1][1] == raw(6)).all()
    assert fates(assembler) == {"MODULE": 3}


def test_a_module_that_is_silent_is_all_holes() -> None:
    [(_, image, packets)] = receive(FrameAssembler(2), [packet for packet in sent(5, 2) if packet[0] == 1])
    assert packets == [0, 128]
    assert (image[:512] == HOLE).all()
    assert (image[512:] == raw(5, 2)[512:]).all()


def test_a_slot_that_is_used_again_keeps_nothing_of_its_last_frame() -> None:
    found = receive(FrameAssembler(1, open_frames=1), [*sent(1), *sent(2)[:5], *sent(3)])
    assert [packets for _, _, packets in found] == [[128], [5], [128]]
    assert (found[1][1][20:] == HOLE).all()


def test_what_is_said_of_a_frame_is_not_left_over_from_the_one_before_it() -> None:
    assembler, batch = FrameAssembler(2, open_frames=1), PacketBatch(shipped(JUNGFRAU))
    found = []
    for stream in ([edited(sent(1, 2)[0], 48, "<H", HOLE), *sent(1, 2)[128:130]], sent(2, 2)[128:130]):
        batch.n = 0
        for index, packet in stream:
            batch.add(packet, index)
        found += [(frame.guarded, [bool(header) for header in frame.headers]) for frame in assembler.add(batch)]
        found += [(frame.guarded, [bool(header) for header in frame.headers]) for frame in assembler.flush()]
    assert found == [(1, [True, True]), (0, [False, True])]


def test_of_a_packet_that_comes_twice_the_first_counts() -> None:
    stream = sent(5)
    again = edited(stream[7], 48, "<H", 0x1234)
    assembler = FrameAssembler(1)
    [(_, image, _)] = receive(assembler, [*stream[:20], again, stream[3], *stream[20:]])
    assert (image == raw(5)).all()
    assert fates(assembler) == {"DUPLICATE": 2}


@pytest.mark.parametrize(
    ("packet", "fate"),
    [
        ((0, bytes(8239)), "SIZE"),
        ((0, bytes(8241)), "SIZE"),
        ((0, bytes(65000)), "SIZE"),
        ((0, b""), "SIZE"),
        (edited(sent(5)[0], 47, "<B", 1), "VERSION"),
        (edited(sent(5)[0], 46, "<B", 5), "DETECTOR"),
        (edited(sent(5)[0], 12, "<I", 128), "PACKET"),
        (edited(sent(5)[0], 12, "<I", 0xFFFFFFFF), "PACKET"),
        ((-1, sent(5)[0][1]), "PORT"),
    ],
)
def test_a_foreign_packet_is_refused_by_reason_and_changes_nothing(packet: Sent, fate: str) -> None:
    stream = sent(5)
    assembler = FrameAssembler(1)
    [(_, image, packets)] = receive(assembler, [packet, *stream[:9], packet, *stream[9:], packet])
    assert (image == raw(5)).all()
    assert packets == [128]
    assert fates(assembler) == {fate: 3}


def test_a_module_with_one_interface_that_is_taken_for_one_with_two_is_noticed() -> None:
    assembler = FrameAssembler(1, interfaces=2)
    receive(assembler, sent(5, interfaces=1))
    assert fates(assembler) == {"PACKET": 64}


@pytest.mark.parametrize("field", [32, 34, 36])
def test_two_modules_on_one_port_are_not_mixed_in_a_frame(field: int) -> None:
    mine, other = sent(5), [edited(packet, field, "<H", 9) for packet in sent(6)]
    other = [edited(packet, 0, "<Q", 5) for packet in other]
    stream = [packet for pair in zip(mine, other, strict=True) for packet in pair]
    assembler = FrameAssembler(1)
    [(_, image, _)] = receive(assembler, stream)
    assert (image == raw(5)).all()
    assert fates(assembler) == {"MODULE": 128}


def test_a_late_packet_is_counted_and_does_not_open_its_frame_again() -> None:
    assembler = FrameAssembler(1, open_frames=1)
    first = sent(1)
    found = receive(assembler, [*first[:100], *sent(2), *first[100:], *sent(3)])
    assert [(number, packets) for number, _, packets in found] == [(1, [100]), (2, [128]), (3, [128])]
    assert fates(assembler) == {"LATE": 28}


def test_frames_come_in_order_and_wait_for_older_ones_while_there_is_room() -> None:
    assembler = FrameAssembler(1, open_frames=3)
    first, rest = sent(1)[:-1], sent(1)[-1:]
    assert receive(assembler, [*first, *sent(2), *sent(3)], flush=False) == []
    assert [number for number, *_ in receive(assembler, rest, flush=False)] == [1, 2, 3]


def test_no_more_frames_are_open_than_there_is_room_for() -> None:
    assembler = FrameAssembler(1, open_frames=2)
    begun = [packet for number in range(1, 7) for packet in sent(number)[:2]]
    assert [number for number, *_ in receive(assembler, begun, flush=False)] == [1, 2, 3, 4]


def test_a_packet_that_is_older_than_all_open_frames_finds_no_room() -> None:
    assembler = FrameAssembler(1, open_frames=2)
    assert receive(assembler, [*sent(10)[:5], *sent(11)[:5], *sent(9)[:5]], flush=False) == []
    assert fates(assembler) == {"LATE": 5}


def test_a_frame_that_comes_before_an_older_one_is_not_late() -> None:
    found = receive(FrameAssembler(1), [*sent(9)[:64], *sent(8), *sent(9)[64:]])
    assert [(number, packets) for number, _, packets in found] == [(8, [128]), (9, [128])]


def test_frames_of_which_nothing_came_are_missing() -> None:
    assembler = FrameAssembler(1)
    receive(assembler, [*sent(10), *sent(14), *sent(15)])
    assert (assembler.counts.missing, assembler.counts.restarts) == (3, 0)


def test_a_new_acquisition_far_away_costs_the_frame_that_tells_it_from_foreign_packets_and_no_more() -> None:
    assembler = FrameAssembler(1)
    found = receive(assembler, [*sent(10 + REACH + 1), *sent(10), *sent(11), *sent(12)])
    assert [(number, packets) for number, _, packets in found] == [(n, [128]) for n in (10 + REACH + 1, 11, 12)]
    assert (assembler.counts.missing, assembler.counts.restarts) == (0, 1)
    assert fates(assembler) == {"NUMBER": 128}


def test_the_largest_loss_ends_where_a_new_acquisition_begins() -> None:
    for jump, missing, restarts in ((REACH, REACH - 1, 0), (REACH + 1, 0, 1)):
        assembler = FrameAssembler(1)
        receive(assembler, [*sent(10), *sent(10 + jump), *sent(10 + jump + 1)])
        assert (assembler.counts.missing, assembler.counts.restarts) == (missing, restarts)


def test_stragglers_that_come_now_and_then_are_no_new_acquisition() -> None:
    assembler = FrameAssembler(1, open_frames=1)
    late = sent(1)[:100]
    found = receive(assembler, [*sent(1), *sent(2), *late, *sent(3), *late, *sent(4)])
    assert [number for number, *_ in found] == [1, 2, 3, 4]
    assert fates(assembler) == {"LATE": 200}


def test_after_silence_numbers_may_begin_anew_at_any_number() -> None:
    assembler = FrameAssembler(1)
    receive(assembler, [*sent(1), *sent(2)], flush=True)
    assert [number for number, *_ in receive(assembler, [*sent(1), *sent(2)])] == [1, 2]
    assert assembler.counts.restarts == 1
    assert fates(assembler) == {}


def test_without_silence_it_costs_a_frame_to_tell_a_new_acquisition_from_late_packets() -> None:
    assembler = FrameAssembler(1)
    found = receive(assembler, [packet for number in (1, 2, 3, 1, 2, 3) for packet in sent(number)])
    assert [(number, packets) for number, _, packets in found] == [(n, [128]) for n in (1, 2, 3, 2, 3)]
    assert fates(assembler) == {"LATE": 128}


def test_a_corrupt_frame_number_does_not_end_the_recording() -> None:
    wrong = edited(sent(3)[50], 0, "<Q", 1 << 63)
    assembler = FrameAssembler(1)
    stream = [packet for number in range(1, 6) for packet in sent(number)]
    found = receive(assembler, [*stream[:300], wrong, *stream[300:]])
    assert [(number, packets) for number, _, packets in found] == [(n, [128]) for n in range(1, 6)]
    assert fates(assembler) == {"NUMBER": 1}
    assert assembler.counts.restarts == 0


@pytest.mark.parametrize(
    ("fields", "far"),
    [({}, REACH + 1), ({}, 1 << 40), ({}, 0), ({"module_id": 7}, 1 << 40), ({"row": 7}, 9), ({"column": 7}, 0)],
)
def test_a_foreign_packet_on_the_port_opens_no_frames(fields: dict[str, int], far: int) -> None:
    streams = [packet for n in (1, 2) for packet in sent(n)], [p for n in (1, 2) for p in sent(far + n, **fields)]
    assembler = FrameAssembler(1)
    found = receive(assembler, [packet for pair in zip(*streams, strict=True) for packet in pair])
    assert [(number, packets) for number, _, packets in found] == [(1, [128]), (2, [128])]
    assert (found[1][1] == raw(2)).all()
    assert sum(fates(assembler).values()) == 256


def test_a_foreign_sender_that_sends_alone_for_a_while_is_refused_once_the_module_is_known() -> None:
    assembler = FrameAssembler(1)
    stray = [packet for number in (50, 1000, 1 << 50) for packet in sent(number, module_id=9)[:100]]
    found = receive(assembler, [*stray[:5], *sent(1), *stray, *sent(2)])
    assert [(number, packets) for number, _, packets in found] == [(1, [128]), (2, [128])]
    assert fates(assembler) == {"MODULE": 305}


def test_a_foreign_sender_that_makes_the_frame_end_that_unmasks_it_opens_none_of_its_own() -> None:
    assembler = FrameAssembler(2, open_frames=1)
    foreign = [edited(packet, 32, "<H", 9) for packet in sent(2, 2)[:1]]
    found = receive(assembler, [*sent(1, 2)[:128], *foreign, *sent(3, 2)])
    assert [(number, packets) for number, _, packets in found] == [(1, [128, 0]), (3, [128, 128])]
    assert fates(assembler) == {"MODULE": 1}


def test_the_module_that_is_whole_is_not_taken_for_the_foreign_one_of_a_frame_that_both_began() -> None:
    mine, stray = sent(1, 2), [edited(packet, 32, "<H", 9) for packet in sent(2, 2)[:5]]
    assembler = FrameAssembler(2)
    found = receive(assembler, [*stray, *sent(2, 2)[128:200], *mine, *sent(2, 2)])
    assert [(number, packets) for number, _, packets in found] == [(1, [128, 128]), (2, [128, 128])]
    assert all((image == raw(number, 2)).all() for number, image, _ in found)
    assert fates(assembler) == {"MODULE": 5, "DUPLICATE": 72}


def test_a_frame_that_silence_ended_is_not_handed_out_again_for_what_it_lacked() -> None:
    assembler = FrameAssembler(1)
    found = receive(assembler, [*sent(1), *sent(2)[:100], *sent(3)[:50]])
    found += receive(assembler, [*sent(2)[100:], *sent(3)[50:], *sent(4), *sent(5)])
    assert [(number, packets) for number, _, packets in found] == [
        (1, [128]), (2, [100]), (3, [50]), (4, [128]), (5, [128]),
    ]  # fmt: skip
    assert fates(assembler) == {"LATE": 106}
    assert assembler.counts.restarts == 0


@pytest.mark.parametrize(("again", "numbers"), [((1, 2), [1, 2]), ((2, 2), [2])])
def test_a_new_acquisition_after_silence_may_have_the_numbers_of_what_silence_ended(
    again: tuple[int, ...], numbers: list[int]
) -> None:
    assembler = FrameAssembler(1)
    receive(assembler, [*sent(1), *sent(2)[:100]])
    found = receive(assembler, [packet for number in again for packet in sent(number)])
    assert [(number, packets) for number, _, packets in found] == [(number, [128]) for number in numbers]


def test_far_numbers_that_do_not_belong_together_begin_nothing() -> None:
    rng = random.Random(5)
    wild = [edited(packet, 0, "<Q", rng.getrandbits(64)) for packet in sent(9) * 3]
    assembler = FrameAssembler(1)
    found = receive(assembler, [*sent(1), *wild, *sent(2)])
    assert [(number, packets) for number, _, packets in found] == [(1, [128]), (2, [128])]
    assert fates(assembler) == {"NUMBER": 384}


def test_every_field_of_a_header_may_be_as_large_as_it_can() -> None:
    most = {name: int(np.iinfo(HEADER[name]).max) for name in HEADER.names or () if HEADER[name].kind == "u"}
    for name in ("packet_number", "detector", "version"):
        del most[name]
    assembler = FrameAssembler(1)
    batch = PacketBatch(shipped(JUNGFRAU))
    for stream, packet in sent(most.pop("frame_number"), **most):
        batch.add(packet, stream)
    [frame] = assembler.add(batch)
    assert (frame.number, frame.timestamp_ns) == (2**64 - 1, 2**64 - 1)


def test_a_word_of_gain_code_10_cannot_be_taken_for_a_hole() -> None:
    packet = edited(edited(sent(5)[0], 48, "<H", HOLE), 8238, "<H", 0xBFFF)
    assembler = FrameAssembler(1)
    [(_, image, _)] = receive(assembler, [packet, *sent(5)[1:]])
    assert image[0, 0] == image[3, 1023] == 0xFFFF
    assert assembler.counts.guarded == 2
    assert (image[1:3] == raw(5)[1:3]).all()


def test_times_bunch_and_gain_mode_of_a_frame_are_those_of_its_packets() -> None:
    assembler, batch = FrameAssembler(2, 2), PacketBatch(shipped(JUNGFRAU))
    for stream, packet in sent(5, 2, 2, bunch_id=77, daq_info=0x301, exposure=5):
        if stream == 3 and not batch.full:
            batch.add(packet, stream)
    assert list(assembler.add(batch)) == []
    [frame] = assembler.flush()
    assert frame.headers[0] is None
    header = frame.headers[1]
    assert header is not None
    assert (header.module_id, header.high_gain, header.storage_cell) == (101, True, 3)
    assert (frame.header.bunch_id, frame.timestamp_ns) == (77, 5000)
    assert not frame.complete


@pytest.mark.parametrize("interfaces", [1, 2])
def test_what_is_placed_is_exactly_what_the_model_accepts(interfaces: int) -> None:
    rng = random.Random(4)
    expected: Counter[str] = Counter()
    assembler = FrameAssembler(1, interfaces)
    stream = []
    for stream_index, packet in sent(5, 1, interfaces):
        for _ in range(6):
            at, value = rng.choice([12, 13, 46, 47]), rng.choice([0, 2, 3, rng.randrange(256)])
            wrong = edited((stream_index, packet), at, "<B", value)[1][: rng.choice([8240, 8240, 8240, 100])]
            stream.append((stream_index, wrong))
            try:
                parse(wrong, interfaces)
                expected["accepted"] += 1
            except PacketError as error:
                expected[error.reason.upper()] += 1
    receive(assembler, stream)
    counts = assembler.counts.fates
    refused = {fate.name: counts[fate] for fate in (Fate.SIZE, Fate.VERSION, Fate.DETECTOR, Fate.PACKET)}
    accepted = counts[Fate.PLACED] + counts[Fate.DUPLICATE] + counts[Fate.LATE]
    assert refused | {"accepted": accepted} == dict(expected)


@pytest.mark.parametrize("seed", range(4))
def test_in_a_storm_every_packet_has_one_fate_and_every_pixel_is_right_or_a_hole(seed: int) -> None:
    rng = random.Random(seed)
    modules, interfaces = rng.choice([(1, 1), (2, 1), (2, 2)])
    stream = [packet for number in range(20, 32) for packet in sent(number, modules, interfaces)]
    kept = [(index + rng.uniform(0, 300), packet) for index, packet in enumerate(stream) if rng.random() > 0.02]
    kept += [(index + rng.uniform(0, 300), packet) for index, packet in enumerate(stream) if rng.random() < 0.02]
    kept += [(rng.uniform(0, len(stream)), (0, bytes(rng.randrange(9000)))) for _ in range(20)]
    mixed = [packet for _, packet in sorted(kept)]
    assembler = FrameAssembler(modules, interfaces)
    found = receive(assembler, mixed)
    counts = assembler.counts
    assert sum(counts.fates.values()) == len(mixed)
    assert counts.fates[Fate.PLACED] == sum(sum(packets) for *_, packets in found)
    assert [number for number, *_ in found] == sorted({number for number, *_ in found})
    assert counts.complete + counts.incomplete == len(found)
    came = {(stream, packet) for stream, packet in mixed}
    for number, image, packets in found:
        holes = image == HOLE
        assert (image == raw(number, modules))[~holes].all()
        assert holes.reshape(modules, -1).sum(1).tolist() == [(128 - n) * 4096 for n in packets]
        every = sent(number, modules, interfaces)
        there = [sum(packet in came for packet in every[m * 128 :][:128]) for m in range(modules)]
        assert np.less_equal(packets, there).all()


@pytest.mark.parametrize("arguments", [(0,), (65,), (1, 3), (1, 1, 0)])
def test_a_detector_that_cannot_be_is_refused(arguments: tuple[int, ...]) -> None:
    with pytest.raises(ConfigError):
        FrameAssembler(*arguments)
