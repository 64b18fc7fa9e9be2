"""Any impairments, many seeds: random faults, few slots with credit, and a receiver that looks when it likes."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as some

from cable import Cable
from expected_frames import Forecast, Source
from framelane.models.placement.slots import FREE_RUNNING
from framelane.models.roce_tx.packet_batch import Batch
from framelane.receiver.ring.receiver import ReceivedFrame
from framelane.receiver.ring.tally import Tally
from framelane.session.session import Session
from framelane.source.impairments.impairments import parse
from placed_packets import ReceivingHost

FRAMES = 30
FIELDS = (
    "eth.dst",
    "ip.checksum",
    "ip.src",
    "udp.length",
    "bth.opcode",
    "bth.qpn",
    "bth.psn",
    "reth.va",
    "imm",
    "icrc",
)
IN_PLACE = ["drop", "duplicate", "corrupt:payload", "truncate", "foreign", "forge:reth.rkey", "forge:bth.qpn", "die:1"]
IN_PLACE += [f"corrupt:{field}" for field in FIELDS]
A_LITTLE_LATER = ["reorder:1", "reorder:4", "duplicate:5", "delay:1"]
LATER = [*A_LITTLE_LATER, "reorder:30", "duplicate:40", "delay:2", "delay:7"]
SHARES = ("0.003", "0.02", "0.1", "0.5")


class Bundle(Cable):
    """All that waits arrives in one batch."""

    def batch(self, timeout_s: float) -> Batch:
        """See `Port`."""
        batch = Batch.of(list(self.waiting))
        self.waiting.clear()
        return batch


def faults(kinds: list[str]) -> some.SearchStrategy[str]:
    """One to four of these faults, as text."""
    one = some.builds("{}={}".format, some.sampled_from(kinds), some.sampled_from(SHARES))
    return some.lists(one, min_size=1, max_size=4).map(",".join)


def make_source(segmentation: str, n_slots: int, psn: int, window_end: int | None = None) -> Source:
    """A source of 8 images of 16 x 100 pixels: 3 packets and a rest a frame, and the trailer."""
    fields = {
        "segmentation": segmentation,
        "source": {"mac": "02:00:00:00:00:01", "ip": "127.0.0.2"},
        "receiver": {"mac": "02:00:00:00:00:02", "ip": "127.0.0.1"},
        "qpn": 0x12345,
        "psn": psn,
        "rkey": 0xCAFEF00D,
        "base": 0x7F12_3456_7000,
        "mtu": 1024,
        "n_slots": n_slots,
        "rows": 16,
        "columns": 100,
        "slot_bytes": 4096,
        "window_end": n_slots if window_end is None else window_end,
    }
    session = Session.model_validate(fields)
    return Source(session, list(np.random.default_rng(7).integers(0, 0x8000, (8, 16, 100), np.uint16)))


SEGMENTATION = some.sampled_from(["only", "message"])
PSN = some.sampled_from([0, 0xFFFFF0, 0x7FFFFA])
SEED = some.integers(0, 1 << 32)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(text=faults(IN_PLACE + LATER), seed=SEED, segmentation=SEGMENTATION, psn=PSN)
def test_with_credit_for_all_frames_any_faults_leave_exactly_what_they_left(
    text: str, seed: int, segmentation: str, psn: int
) -> None:
    source, cable = make_source(segmentation, FRAMES, psn), Bundle()
    host = ReceivingHost(source.session, cable)
    left = list(parse(text, seed)(source.frames(FRAMES)))
    cable.waiting.extend(left)
    for _ in range(FRAMES + 1):
        host.poll()
    host.finish(source)
    host.check(Forecast(source, left))


@settings(max_examples=150, deadline=None, derandomize=True)
@given(
    text=faults(IN_PLACE),
    seed=SEED,
    segmentation=SEGMENTATION,
    psn=PSN,
    n_slots=some.integers(1, 5),
    looks=some.lists(some.booleans(), min_size=FRAMES, max_size=FRAMES),
)
def test_a_source_that_runs_out_of_credit_drops_whole_frames_and_nothing_else_is_touched(
    text: str, seed: int, segmentation: str, psn: int, n_slots: int, looks: list[bool]
) -> None:
    """The receiver looks after some frames only; where the source then drops one, it says so."""
    source, cable = make_source(segmentation, n_slots, psn), Cable()
    host, impairment = ReceivingHost(source.session, cable), parse(text, seed)
    left: list[bytes] = []
    for number, look in enumerate(looks):
        packets = impairment.feed(source.offer(host.ring.window_end), number)
        left += packets
        cable.waiting.extend(packets)
        while look and cable.waiting:
            host.poll()
        if look and number not in source.sent:
            host.take(host.receiver.settle(source.offered, source.dropped))
    while cable.waiting:
        host.poll()
    host.finish(source)
    host.check(Forecast(source, left))


@settings(max_examples=150, deadline=None, derandomize=True)
@given(text=faults(IN_PLACE + A_LITTLE_LATER), seed=SEED, segmentation=SEGMENTATION, n_slots=some.integers(6, 8))
def test_free_running_with_frames_given_back_at_once_each_is_as_it_was_left(
    text: str, seed: int, segmentation: str, n_slots: int
) -> None:
    """More slots than frames by which four faults together can make a packet late."""
    source, cable = make_source(segmentation, n_slots, 0, FREE_RUNNING), Cable()
    host = ReceivingHost(source.session, cable)
    left = list(parse(text, seed)(source.frames(FRAMES)))
    cable.waiting.extend(left)
    while cable.waiting:
        host.poll()
    closed = set(host.seen)
    host.finish(source)
    forecast = Forecast(source, left)
    for number in closed:
        seen, expected = host.seen[number], forecast.frames[number]
        assert np.array_equal(seen.pixels, expected.pixels)
        assert seen.trailer == expected.trailer
        assert np.array_equal(host.images[number][seen.pixels], source.image(number)[seen.pixels])
    tally = host.receiver.tally(FRAMES)
    assert tally.holds
    assert tally.complete <= forecast.count("complete") <= tally.complete + tally.dropped_by_host
    assert tally.complete + tally.incomplete == len(host.seen)
    assert tally.dropped_at_source == 0


@settings(max_examples=150, deadline=None, derandomize=True)
@given(
    text=faults(["duplicate", "foreign", "duplicate:3"]),
    seed=SEED,
    n_slots=some.integers(2, 6),
    kept=some.lists(some.integers(0, 8), min_size=FRAMES, max_size=FRAMES),
)
def test_free_running_with_frames_kept_too_long_none_is_called_intact_that_is_not(
    text: str, seed: int, n_slots: int, kept: list[int]
) -> None:
    """The receiver keeps each frame while others come, which may write to its slot."""
    source, cable = make_source("only", n_slots, 0, FREE_RUNNING), Cable()
    host, impairment = ReceivingHost(source.session, cable), parse(text, seed)
    held: list[tuple[int, ReceivedFrame]] = []
    intact = 0
    for number in range(FRAMES + max(kept)):
        cable.waiting.extend(impairment.feed(source.offer(), number) if number < FRAMES else impairment.flush())
        while cable.waiting:
            held += [(number + kept[frame.number], frame) for frame in host.receiver.poll(0)]
        for _, frame in [entry for entry in held if entry[0] == number]:
            image = frame.image.copy()
            if host.receiver.release(frame):
                assert np.array_equal(image, source.image(frame.number))
                intact += 1
    assert host.receiver.settle(FRAMES, 0) == []
    assert host.receiver.tally(FRAMES) == Tally(FRAMES, intact, 0, 0, FRAMES - intact, 0)
