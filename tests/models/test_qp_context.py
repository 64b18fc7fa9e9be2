"""QP contexts: what cannot be is refused with the field's name and range; acknowledgements, entropy and rates."""

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from framelane.base.errors import ConfigError
from framelane.models.roce_tx import roce_pacer, roce_segment
from framelane.models.roce_tx.roce_pacer import TokenBucket
from framelane.models.roce_tx.roce_qp import AckPolicy, QpContext, Segmentation, Service
from framelane.models.roce_tx.roce_segment import Message
from framelane.models.roce_tx.wire import Endpoint


def qp(**changes: Any) -> QpContext:
    fields: dict[str, Any] = {"dst": Endpoint(1, 2), "dest_qpn": 0x123456, "rkey": 7, "mtu": 256}
    return QpContext(**(fields | changes))


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"mtu": 1500}, "path MTU 1500 is impossible: choose one of 256, 512, 1024, 2048, 4096"),
        ({"dest_qpn": 1 << 24}, "QP field dest_qpn = 16777216 does not fit 24 bits: give 0..16777215"),
        ({"vlan": 1 << 16}, "QP field vlan = 65536 does not fit 16 bits: give 0..65535"),
        ({"rate": -1}, "QP field rate = -1 does not fit 24 bits: give 0..16777215"),
        ({"burst": 1 << 24}, "QP field burst = 16777216 does not fit 24 bits: give 0..16777215"),
        ({"ack_policy": AckPolicy.LAST}, "ack_policy LAST needs service RC: UC has no acknowledgements"),
    ],
)
def test_a_field_out_of_range_is_named(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ConfigError) as error:
        qp(**changes)
    assert str(error.value) == sentence


@pytest.mark.parametrize(
    ("policy", "log2", "asking"),
    [
        (AckPolicy.NEVER, 0, []),
        (AckPolicy.LAST, 0, [9]),
        (AckPolicy.INTERVAL, 0, list(range(10))),
        (AckPolicy.INTERVAL, 2, [1, 5, 9]),
        (AckPolicy.INTERVAL, 15, [9]),
    ],
)
def test_the_packets_that_ask_for_an_acknowledgement(policy: AckPolicy, log2: int, asking: list[int]) -> None:
    context = qp(service=Service.RC, ack_policy=policy, ack_log2=log2)
    packets = roce_segment.segment(Message(0, 2500), context, psn=6)
    assert [k for k, packet in enumerate(packets) if packet.ack_request] == asking


def test_entropy_is_one_port_a_message_and_many_ports_a_qp() -> None:
    context = qp(entropy=True, segmentation=Segmentation.MESSAGE)
    psn, ports = 0xFFFFF0, Counter[int]()
    for _ in range(1000):
        packets = roce_segment.segment(Message(0, 1000), context, psn)
        seen = {packet.src_port for packet in packets}
        assert len(seen) == 1
        ports.update(seen)
        psn = psn + len(packets) & 0xFFFFFF
    assert min(ports) >= 0xC000
    assert max(ports) <= 0xFFFF
    assert len(ports) > 900
    assert len({port % 8 for port in ports}) >= 2, "a router with a few paths must see a difference"
    assert {packet.src_port for packet in roce_segment.segment(Message(0, 1000), qp(src_port=5), 0)} == {5}


def test_a_rate_in_bytes_a_second_is_that_of_the_clock() -> None:
    assert roce_pacer.rate(12.5e9, 322.265625e6) == int(12.5e9 / 322.265625e6 * 65536)
    for wrong in (0, -1, 1e12, 1.0):
        with pytest.raises(ConfigError, match=r"impossible at 3\.22266e\+08 Hz: give 4917\.38 to 8\.25e\+10"):
            roce_pacer.rate(wrong, 322.265625e6)


def test_a_bucket_gives_its_burst_once_and_then_its_rate() -> None:
    bucket = TokenBucket(rate=2 << 16, burst=1000, interval=16)
    for _ in range(100):
        bucket.fill()
    assert bucket.level == 1000 << 16
    bucket.take(1032)
    opened = [bucket.open]
    bucket.fill()
    opened.append(bucket.open)
    assert (opened, bucket.level) == ([False, True], 0)


@pytest.mark.parametrize("segmentation", Segmentation)
@pytest.mark.parametrize("arrived", [1, 2, 3])
def test_the_rest_of_a_message_is_its_last_packets_once_more(segmentation: Segmentation, arrived: int) -> None:
    context = qp(mtu=512, service=Service.RC, segmentation=segmentation)
    whole = roce_segment.segment(Message(0x10000, 1800, imm=7), context, psn=0xFFFFFE)
    psn, sent = (0xFFFFFE + arrived) & 0xFFFFFF, 512 * arrived
    rest = Message(0x10000 + sent, 1800 - sent, imm=7, psn=psn, resume=True)
    again = roce_segment.segment(rest, context, psn)
    assert [replace(packet, offset=packet.offset + sent) for packet in again] == whole[arrived:]
