"""What only the verbs transport has, on the Linux driver: run in the guest by `test_contract.py`."""

import threading
import time
from collections.abc import Iterator

import pytest

from framelane.base.errors import TransportError
from framelane.models.placement.slots import HOLE_WORD
from framelane.receiver.ring.receiver import ReceivedFrame, Receiver
from framelane.receiver.ring.ring import Ring
from framelane.receiver.ring.tally import Tally
from framelane.receiver.transport.verbs import region
from framelane.receiver.transport.verbs import transport as transport_module
from framelane.session.session import Session
from framelane.source.sender import PacketSender
from transport_cases import forged, frames, reth
from verbs_link import LINK, QUIET_S, collect, opened, plan_of

SEND_ONLY, SEND_ONLY_IMM, READ = 0x24, 0x25, 0x0C
"""BTH opcodes: UC SEND ONLY, with immediate, and RC READ REQUEST (vol. 1, table 38)."""


@pytest.fixture(scope="module")
def sender() -> Iterator[PacketSender]:
    with PacketSender(LINK.sender) as sender:
        yield sender


def untouched(ring: Ring) -> bool:
    return bool((ring.memory.view("<u2") == HOLE_WORD).all())


def test_whole_frames_come_through_the_receiver_and_the_counts_agree(sender: PacketSender) -> None:
    transport, ring = opened(plan_of(), window_end=4)
    with transport:
        receiver = Receiver(ring, transport)
        sent = frames(transport.session, 12)
        done: list[ReceivedFrame] = []
        for start in range(0, len(sent), 5):
            sender.send(packet.frame for packet in sent[start : start + 5])
            deadline = time.monotonic() + 2
            while len(done) <= start // 5 and time.monotonic() < deadline:
                for frame in receiver.poll(0.1):
                    done.append(frame)
                    trailer = frame.trailers[0]
                    assert frame.complete
                    assert trailer
                    assert trailer.packets == 4
                    receiver.release(frame)
        assert receiver.tally(12) == Tally(12, 12, 0, 0, 0, 0)
        told = sum(frame.trailers[0].packets + 1 for frame in done if frame.trailers[0])
        assert transport.nic.writes() == told == 60


def test_after_closing_nothing_is_written_and_closing_twice_does_no_harm(sender: PacketSender) -> None:
    transport, ring = opened(plan_of())
    sent = frames(transport.session, 2)
    sender.send(packet.frame for packet in sent[:5])
    assert collect(transport, 1) == [0]
    transport.close()
    before = ring.memory.copy()
    sender.send(packet.frame for packet in sent)
    time.sleep(QUIET_S)
    assert (ring.memory == before).all()
    transport.close()
    with pytest.raises(TransportError, match="is closed"):
        transport.poll(0)


def test_each_session_has_its_own_key_qp_and_address_and_none_opens_another(sender: PacketSender) -> None:
    one, ring = opened(plan_of())
    two, other = opened(plan_of())
    with one, two:
        a, b = one.session, two.session
        assert len({a.qpn, b.qpn}) == len({a.rkey, b.rkey}) == len({a.base, b.base}) == 2
        assert a.base != ring.memory.ctypes.data
        packet = frames(a, 1)[0].frame
        stolen = reth(packet, address=b.base, rkey=b.rkey)
        sender.send([stolen])
        assert collect(one, 0) == collect(two, 0) == []
        assert untouched(ring)
        assert untouched(other), "a QP reaches the region of its own protection domain only"


def test_the_base_address_is_another_one_every_time() -> None:
    bases = []
    for _ in range(8):
        transport, _ = opened(plan_of())
        bases.append(transport.session.base)
        transport.close()
    assert len(set(bases)) == 8
    assert max(bases) > 1 << 60


@pytest.mark.parametrize(("opcode", "imm"), [(SEND_ONLY, None), (SEND_ONLY_IMM, 7)])
def test_a_foreign_send_ends_no_frame_and_writes_nothing(sender: PacketSender, opcode: int, imm: int | None) -> None:
    transport, ring = opened(plan_of())
    with transport:
        sent = frames(transport.session, 1)
        sender.send([forged(sent[0].frame, b"", opcode=opcode, reth=None, imm=imm)])
        assert collect(transport, 0) == []
        assert transport.counters.refused["send"] == 1
        sender.send(packet.frame for packet in sent)
        assert collect(transport, 1) == [0], "the QP goes on"
        before = ring.memory.copy()
        sender.send([forged(sent[0].frame, bytes(64), opcode=opcode, reth=None, imm=imm)])
        with pytest.raises(TransportError, match="receives no more"):
            collect(transport, 1)
        assert (ring.memory == before).all()


def test_the_ring_cannot_be_read(sender: PacketSender) -> None:
    transport, ring = opened(plan_of(service="RC"))
    with transport:
        ring.memory.fill(7)
        sender.send([forged(frames(transport.session, 1)[0].frame, b"", opcode=READ)])
        with pytest.raises(TransportError, match="receives no more"):
            collect(transport, 1)


def trailers(session: Session, n: int) -> list[bytes]:
    """So many messages WITH_IMM, with the PSNs in order."""
    last = frames(session, 1)[-1].frame
    return [forged(last, imm=k, psn=session.psn + k & 0xFFFFFF) for k in range(n)]


def test_the_receive_queue_is_filled_again_for_ever(sender: PacketSender) -> None:
    transport, _ = opened(plan_of(), receives=16)
    with transport:
        packets = trailers(transport.session, 200)
        found: list[int] = []
        for start in range(0, 200, 10):
            sender.send(packets[start : start + 10])
            found += collect(transport, 10)
        assert found == list(range(200))


def test_more_trailers_at_once_than_receive_requests_are_not_placed_and_the_rest_goes_on(sender: PacketSender) -> None:
    transport, _ = opened(plan_of(), receives=16)
    with transport:
        packets = trailers(transport.session, 40)
        sender.send(packets[:30])
        time.sleep(QUIET_S)
        assert collect(transport, 16) == list(range(16))
        sender.send(packets[30:])
        assert collect(transport, 10) == list(range(30, 40))


def test_waiting_takes_its_time_and_no_processor() -> None:
    transport, _ = opened(plan_of())
    with transport:
        start, work = time.monotonic(), time.process_time()
        assert transport.poll(0.5) == []
        waited = time.monotonic() - start
        assert waited > 0.45
        assert time.process_time() - work < waited / 2
        assert transport.poll(0) == []


def test_every_trailer_wakes_the_receiver(sender: PacketSender, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport_module, "_CHECK_S", 30.0)
    transport, _ = opened(plan_of())
    with transport:
        for number, packet in enumerate(trailers(transport.session, 4)):
            later = threading.Timer(0.05, sender.send, [[packet]])
            later.start()
            start = time.monotonic()
            assert [completion.imm for completion in transport.poll(20)] == [number]
            assert time.monotonic() - start < 10
            later.join()


def test_a_driver_that_refuses_a_random_address_gets_the_memory_s_own(
    sender: PacketSender, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*arguments: object) -> None:
        raise OSError(22, "Invalid argument")

    monkeypatch.setattr(region, "HostRegion", refuse)
    transport, ring = opened(plan_of())
    with transport:
        assert transport.session.base == ring.memory.ctypes.data
        sender.send(packet.frame for packet in frames(transport.session, 1))
        assert collect(transport, 1) == [0]
        assert ring.holes(0) == 0
