"""The best of several masters, as IEEE 1588 compares them, and pairs of messages that belong together."""

from dataclasses import replace

import pytest

from framelane.driver.ptp.exchanges import Observed, Requests, Syncs
from framelane.driver.ptp.frame_messages import FrameMessages
from framelane.driver.ptp.masters import Masters
from framelane.models.roce_tx.wire import Endpoint
from framelane.models.time.ptp_frame import Transport, wrap
from framelane.models.time.ptp_message import Announced, Flag, Kind, Message, PortIdentity
from framelane.models.time.time_counter import NS

OURS = 99
FIRST = Announced(grandmaster=7)
US = Endpoint(0x02_00_00_00_00_02, 0x0A_4D_00_02)
THEM = Endpoint(0x02_00_00_00_00_03, 0x0A_4D_00_03)


def announce(port: PortIdentity, said: Announced, log: int = 0) -> Message:
    return Message(kind=Kind.ANNOUNCE, source=port, sequence=0, announced=said, log_interval=log)


def known(*said: Announced) -> Masters:
    masters = Masters(3, OURS)
    for k, each in enumerate(said):
        for now in (0.0, 1.0):
            masters.hear(announce(PortIdentity(k + 1), each), now)
    return masters


@pytest.mark.parametrize(
    "better",
    [
        {"priority1": 127, "clock_class": 248},
        {"clock_class": 5, "accuracy": 0xFE},
        {"accuracy": 0x20, "variance": 0xFFFF},
        {"variance": 0x4E5C, "priority2": 255},
        {"priority2": 127, "grandmaster": 8},
        {"grandmaster": 6, "steps_removed": 3},
    ],
)
def test_what_counts_first_decides(better: dict[str, int]) -> None:
    masters = known(FIRST, replace(FIRST, **better))
    best = masters.best(1.0, None)
    assert best
    assert best.port == PortIdentity(2)


def test_of_two_ways_to_a_grandmaster_the_shorter_one_is_taken() -> None:
    best = known(replace(FIRST, steps_removed=2), replace(FIRST, steps_removed=1)).best(1.0, None)
    assert best
    assert best.port == PortIdentity(2)


def test_a_master_qualifies_by_its_second_announcement_and_is_gone_without() -> None:
    masters = Masters(3, OURS)
    port = PortIdentity(1)
    masters.hear(announce(port, FIRST), 0.0)
    assert masters.best(0.5, None) is None
    masters.hear(announce(port, FIRST), 1.0)
    assert masters.best(1.0, None)
    assert masters.next_look(1.0) == pytest.approx(3.0)
    assert masters.best(3.9, None)
    assert masters.best(4.0, None) is None
    masters.hear(announce(port, FIRST), 5.0)
    masters.hear(announce(port, FIRST), 9.5)
    assert masters.best(9.6, None) is None, "two announcements, too far apart"


@pytest.mark.parametrize(
    "message",
    [
        announce(PortIdentity(OURS), FIRST),
        announce(PortIdentity(1), replace(FIRST, steps_removed=255)),
        replace(announce(PortIdentity(1), FIRST), flags=Flag(0x0100)),
    ],
)
def test_an_announcement_that_makes_no_master_is_not_heeded(message: Message) -> None:
    masters = Masters(3, OURS)
    assert masters.hear(message, 0.0) is None
    assert masters.hear(message, 1.0) is None
    assert masters.best(1.0, None) is None


def test_many_masters_take_no_memory() -> None:
    masters = Masters(3, OURS)
    assert [masters.hear(announce(PortIdentity(k + 1), FIRST), 0.0) is None for k in range(20)] == [False] * 16 + [
        True
    ] * 4


SYNC = Message(kind=Kind.SYNC, source=PortIdentity(1), sequence=5, time_ns=1000, correction=3 << 16)
FOLLOW_UP = replace(SYNC, kind=Kind.FOLLOW_UP, time_ns=2000, correction=7 << 16)


def test_corrections_of_both_messages_count() -> None:
    assert Syncs().sync(SYNC, 1500 * NS) == Observed(1500 * NS, (1500 - 1000 - 3) * NS)
    two_step = replace(SYNC, flags=Flag.TWO_STEP)
    wanted = Observed(2500 * NS, (2500 - 2000 - 10) * NS)
    syncs = Syncs()
    assert syncs.sync(two_step, 2500 * NS) is None
    assert syncs.follow_up(replace(FOLLOW_UP, sequence=6)) is None
    assert syncs.follow_up(FOLLOW_UP) == wanted
    assert syncs.follow_up(FOLLOW_UP) is None, "once only"
    assert Syncs().follow_up(FOLLOW_UP) is None
    early = Syncs()
    early.follow_up(FOLLOW_UP)
    assert early.sync(two_step, 2500 * NS) == wanted, "in the other order"


def test_syncs_that_are_never_followed_are_forgotten() -> None:
    syncs = Syncs()
    for k in range(100):
        syncs.sync(replace(SYNC, sequence=k, flags=Flag.TWO_STEP), k)
    assert syncs.follow_up(replace(FOLLOW_UP, sequence=83)) is None
    assert syncs.follow_up(replace(FOLLOW_UP, sequence=84))


def test_an_answer_counts_once_for_us_and_in_time() -> None:
    us = PortIdentity(9)
    requests = Requests(us, 0)
    asked = requests.request()
    requests.left(asked, 100 * NS, 0.0)
    answer = replace(
        asked, kind=Kind.DELAY_RESP, source=PortIdentity(1), time_ns=900, correction=50 << 16, requester=us
    )
    assert requests.response(replace(answer, requester=PortIdentity(8)), 0.1) is None
    assert requests.response(replace(answer, sequence=1), 0.1) is None
    assert requests.response(answer, 0.25) == (Observed(100 * NS, 750 * NS), 0.25)
    assert requests.response(answer, 0.3) is None
    late = requests.request()
    requests.left(late, 200 * NS, 1.0)
    requests.forget(1.9)
    assert requests.unanswered == 0
    requests.forget(2.0)
    assert (requests.sent, requests.answered, requests.unanswered) == (2, 1, 1)
    requests.left(requests.request(), 300 * NS, 3.0)
    requests.forget()
    assert (requests.sent, requests.unanswered) == (2, 1), "what was asked of a master that changed is not counted"


class Frames:
    """What was sent; what is to be received."""

    def __init__(self, *waiting: bytes) -> None:
        self.waiting, self.sent = list(waiting), list[bytes]()

    def receive(self) -> tuple[bytes, int] | None:
        return (self.waiting.pop(0), 77) if self.waiting else None

    def send(self, frame: bytes) -> int | None:
        self.sent.append(frame)
        return 55


@pytest.mark.parametrize("tci", [None, 0xE005])
@pytest.mark.parametrize("transport", ["ethernet", "udp"])
def test_messages_are_those_of_one_transport_and_vlan(transport: Transport, tci: int | None) -> None:
    other: Transport = "udp" if transport == "ethernet" else "ethernet"
    frames = Frames(
        wrap(SYNC, other, THEM, tci),
        wrap(SYNC, transport, THEM, 6),
        wrap(SYNC, transport, US, tci),
        b"\0" * 60,
        wrap(SYNC, transport, THEM, tci),
        wrap(FOLLOW_UP, transport, THEM, tci),
    )
    messages = FrameMessages(frames, US, transport, tci)
    assert messages.receive() == (SYNC, 77)
    assert messages.receive() == (FOLLOW_UP, 0)
    assert messages.receive() is None
    assert dict(messages.refused) == {"others": 2, "ours": 1, "ethernet": 1}
    assert messages.identity == PortIdentity(0x020000FFFE000002)
    assert messages.send(SYNC) == 55
    assert frames.sent == [wrap(SYNC, transport, US, tci)]
