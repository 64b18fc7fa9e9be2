"""RC over an impaired link, models only: every byte arrives once, in place, or its QP is in error, with a reason."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from framelane.models.placement.bd_rows import Descriptor
from framelane.models.rc.lossy_network import LinkImpairments
from framelane.models.rc.rc_protocol import RcLimits, RcNote, RcReason, RcState
from framelane.models.rc.rc_requester import RcRequester
from framelane.models.rc.rc_responder import Manner
from framelane.models.roce_tx.roce_qp import AckPolicy, QpContext, Segmentation, Service
from framelane.models.station.roce_rx import Event, EventKind
from rc_world import LIMITS, REMOTE, World

ALL = [Manner.IBA, Manner.RXE, Manner.CHATTY, Manner.COALESCING]


@pytest.mark.parametrize("segmentation", Segmentation)
@pytest.mark.parametrize("loss", [0, 0.001, 0.01, 0.05])
def test_10_000_messages_on_4_qps_arrive_through_loss_in_both_directions(
    loss: float, segmentation: Segmentation
) -> None:
    impairments = LinkImpairments(loss=loss, duplicate=loss, corrupt=loss / 2, late=loss)
    world = World(ALL, 2_500, 1, impairments=impairments, segmentation=segmentation)
    world.run()
    world.check()
    assert not any(world.failed(index) for index in range(4))
    assert all(qp.state is RcState.RUN for qp in world.requester.qps)
    lost = world.there.counts["lost"] + world.back.counts["lost"]
    again = {RcNote.WENT_BACK, RcNote.TIMED_OUT, RcNote.STALE} & {note for _, note in world.requester.notes}
    assert (lost and again) if loss else not (lost or again)
    assert not any(world.requester.timer.runs(index) for index in range(4)), "a timer runs with nothing outstanding"


@settings(max_examples=60, deadline=None)
@given(
    seed=some.integers(0, 1 << 30),
    loss=some.sampled_from([0, 0.02, 0.1, 0.3]),
    duplicate=some.sampled_from([0, 0.1]),
    late=some.sampled_from([0, 0.1, 0.5]),
    lateness=some.sampled_from([100, 3_000, 200_000]),
    window=some.integers(5, 40),
    timeout=some.integers(0, 4),
    retries=some.sampled_from([0, 1, 7]),
    segmentation=some.sampled_from(list(Segmentation)),
    ack_policy=some.sampled_from([AckPolicy.LAST, AckPolicy.INTERVAL]),
    depth=some.sampled_from([8, 64]),
)
def test_every_message_ends_in_place_or_with_a_reason_over_any_link(
    seed: int, loss: float, duplicate: float, late: float, lateness: int, window: int, timeout: int,
    retries: int, segmentation: Segmentation, ack_policy: AckPolicy, depth: int,
) -> None:  # fmt: skip
    world = World(
        ALL, 60, seed,
        impairments=LinkImpairments(loss=loss, duplicate=duplicate, corrupt=loss / 3, late=late, lateness=lateness),
        limits=RcLimits(window, timeout, 2, retries, 7), segmentation=segmentation, ack_policy=ack_policy, depth=depth,
    )  # fmt: skip
    for side in world.sides:
        side.responder.receives = world.random.randrange(5, 30)
    world.run(until=300_000)
    for side in world.sides:
        side.responder.receives = 1 << 30
    world.run()
    world.check()


@pytest.mark.parametrize("manner", ALL)
def test_a_receiver_that_is_not_ready_is_waited_for(manner: Manner) -> None:
    world = World([manner] * 2, 200, 3)
    for burst in range(1, 20):
        world.sides[0].responder.receives = 2
        world.run(until=burst * 50_000)
    world.sides[0].responder.receives = 1 << 30
    world.run()
    world.check()
    assert not world.failed(0)
    assert world.requester.notes[0, RcNote.NOT_READY] >= 10
    assert 2 * world.sides[1].ended_at < world.sides[0].ended_at


@pytest.mark.parametrize("limit", [0, 1, 6])
def test_a_receiver_that_is_never_ready_ends_its_own_qp_only(limit: int) -> None:
    world = World([Manner.RXE] * 2, 100, 4, limits=replace(LIMITS, rnr_retries=limit))
    world.sides[0].responder.receives = 3
    world.run()
    world.check()
    assert world.requester.qps[0].reason is RcReason.RNR
    assert world.failed(0)
    assert not world.failed(1)
    assert world.sides[0].responder.counts["rnr"] == limit + 1


def test_a_silent_receiver_ends_its_qp_after_the_retries_and_slows_no_other() -> None:
    alone = World([Manner.IBA], 1_000, 5)
    alone.run()
    world = World([Manner.IBA] * 2, 1_000, 5)
    world.silent.add(1)
    world.run()
    world.check()
    assert world.requester.qps[1].reason is RcReason.TIMEOUT
    assert world.requester.notes[1, RcNote.TIMED_OUT] == LIMITS.retries
    assert world.failed(1) == len(world.sides[1].works)
    assert not world.failed(0)
    assert world.sides[0].ended_at < 1.3 * alone.sides[0].ended_at


def test_a_receiver_that_is_silent_for_a_while_loses_nothing() -> None:
    world = World(ALL, 300, 6)
    world.run(until=60_000)
    world.silent |= {0, 2}
    world.run(until=400_000)
    world.silent.clear()
    world.run()
    world.check()
    assert not any(world.failed(index) for index in range(4))
    assert world.requester.notes[0, RcNote.TIMED_OUT] >= 2


def test_naks_of_every_packet_out_of_sequence_make_no_storm() -> None:
    world = World([Manner.CHATTY], 2_000, 7, impairments=LinkImpairments(loss=0.01))
    world.run()
    world.check()
    assert world.requester.notes[0, RcNote.REPEATED] > 3 * world.requester.notes[0, RcNote.WENT_BACK]
    fresh = sum(-(-work.bd.length // 256) for work in world.sides[0].works)
    assert world.packets < 1.6 * fresh


@pytest.mark.parametrize(
    ("key", "reason"), [(0x78, RcReason.ACCESS), (None, RcReason.INVALID)], ids=["wrong rkey", "wrong MTU"]
)
def test_a_fatal_nak_ends_the_qp_with_its_reason(key: int | None, reason: RcReason) -> None:
    world = World([Manner.RXE] * 2, 100, 8)
    if key:
        world.sides[0].responder._region = replace(world.sides[0].responder._region, rkey=key)
    else:
        world.sides[0].responder._mtu = 128
    world.run()
    world.check()
    assert world.requester.qps[0].reason is reason
    assert world.requester.qps[1].state is RcState.RUN
    assert not world.failed(1)


def test_stale_acknowledgements_do_no_harm_to_a_qp_that_was_armed_anew() -> None:
    stale = 0
    for seed in range(20):
        world = World([Manner.IBA], 300, seed, impairments=LinkImpairments(late=0.5, lateness=90_000))
        world.feeds_errors = False
        requester, side = world.requester, world.sides[0]
        world.run(until=160_000 + 5_000 * seed)
        world.silent.add(0)  # the old receiver is gone; what it has said is still on its way
        psn = side.responder.expected - 40 & 0xFFFFFF  # the worst choice: all of that would fit
        while requester.arm(0, psn) is None:
            world.run(until=world.now + 1_000)
        assert requester.qps[0].state is RcState.SETTLE
        assert side.done < len(side.works)
        side.responder.expected, side.responder._nak_sent = psn, False
        side.responder.writes[:] = 0
        anew = side.done
        before = requester.notes[0, RcNote.STALE]
        world.run(until=world.now + 50_000)
        assert side.done == anew, "an acknowledgement was taken for another message's"
        stale += requester.notes[0, RcNote.STALE] - before
        world.silent.clear()
        world.run()
        world.check_arrived(0, anew)
        assert requester.notes[0, RcNote.ARMED] == 2
    assert stale


def test_a_qp_is_armed_anew_at_the_beginning_of_a_frame_only() -> None:
    requester = RcRequester(2, 16)
    qp = QpContext(REMOTE, 0x11, 1, service=Service.RC, ack_policy=AckPolicy.LAST)
    requester.write(1, qp)
    requester.enqueue(Descriptor(0, 0, 100, 1, 1, False, 0), None, 7)
    assert requester.issue() is None
    assert [(end.failed, end.last) for end in requester.retire()] == [(True, False)]
    assert requester.arm(1, 5) is None, "the end of a frame of which some was lost would pass for that of a whole one"
    requester.enqueue(Descriptor(0, 0, 64, 1, 1, True, 0), None, 7)
    requester.issue()
    assert [(end.failed, end.last) for end in requester.retire()] == [(True, True)]
    assert requester.arm(1, 5)


@pytest.mark.parametrize("change", [{"mtu": 1024}, {"segmentation": Segmentation.MESSAGE}, {"enabled": False}])
def test_a_qp_that_is_rewritten_while_busy_is_in_error(change: dict[str, Any]) -> None:
    requester = RcRequester(1, 16)
    qp = QpContext(REMOTE, 0x11, 1, service=Service.RC, ack_policy=AckPolicy.LAST)
    requester.write(0, qp)
    assert requester.arm(0, 5)
    requester.write(0, replace(qp, rate=5, tos=4))
    assert requester.qps[0].state is RcState.SETTLE
    requester.write(0, replace(qp, **change))
    assert requester.qps[0].reason is RcReason.REWRITTEN


def test_a_qp_that_asks_for_no_acknowledgements_is_not_armed() -> None:
    requester = RcRequester(1, 16)
    assert requester.arm(0, 5) is False
    requester.write(0, QpContext(REMOTE, 0x11, 1, service=Service.RC, ack_policy=AckPolicy.NEVER))
    assert requester.arm(0, 5) is False
    assert not requester.has_room(0, 1)


@pytest.mark.parametrize("length", [0, 25 * 256 + 1, 1 << 31])
def test_a_message_that_never_fits_ends_its_qp(length: int) -> None:
    requester = RcRequester(1, 16)
    qp = QpContext(REMOTE, 0x11, 1, mtu=256, service=Service.RC, ack_policy=AckPolicy.LAST)
    requester.write(0, qp)
    requester.limit(0, RcLimits(window=25))
    assert requester.arm(0, 5)
    requester.advance(1 << 20)
    requester.enqueue(Descriptor(0, 0, 25 * 256, 0, 0, False, 0), None, 0)
    requester.enqueue(Descriptor(0, 0, length, 0, 0, True, 0), None, 0)
    assert requester.issue()
    assert requester.issue() is None
    requester.event(Event(0, EventKind.ACK, 5 + 24))
    assert requester.issue() is None
    assert requester.qps[0].reason is RcReason.MESSAGE
    assert [end.failed for end in requester.retire()] == [False, True]
