"""The tables of the transmitter's registers: entries as words of 32 bits, the first at the lowest address."""

from framelane.models.placement.flow import Destination, Flow
from framelane.models.rc.rc_protocol import RcLimits
from framelane.models.roce_tx.roce_qp import QpContext


def _u64(value: int) -> tuple[int, int]:
    return value & 0xFFFF_FFFF, value >> 32


def flow_words(flow: Flow) -> tuple[int, ...]:
    """An entry of `flow[]`, enabled."""
    selection = 1 | (flow.kind is not None) << 1 | (flow.kind or 0) << 2 | flow.wide << 5
    return (
        selection | flow.source << 8 | flow.first_destination << 16 | flow.destinations << 24,
        flow.bunch,
        *_u64(flow.first),
        flow.period,
        flow.burst,
        *_u64(flow.count),
        flow.x0 | flow.y0 << 16,
        flow.width | flow.height << 16,
        flow.source_pitch,
        flow.source_offset,
        flow.x1 | flow.y1 << 16,
        flow.destination_pitch,
        flow.max_length,
        flow.descriptors,
    )


def destination_words(destination: Destination, window_end: int) -> tuple[int, ...]:
    """An entry of `destination[]`, enabled, with its credit."""
    return (
        1 | destination.qp << 8,
        destination.slot_bytes,
        *_u64(destination.base),
        destination.n_slots,
        destination.trailer_offset,
        *_u64(window_end),
    )


def qp_words(qp: QpContext, set_psn: bool = True) -> tuple[int, ...]:
    """An entry of `qp[]`; without `set_psn` the QP goes on with its own PSN."""
    control = qp.enabled | qp.service << 1 | qp.segmentation << 2 | (qp.mtu.bit_length() - 1) << 3
    control |= qp.ack_policy << 7 | qp.ack_log2 << 9 | qp.entropy << 13 | (qp.vlan is not None) << 14 | set_psn << 31
    return (
        control,
        qp.rkey,
        qp.rate,
        qp.burst,
        *_u64(qp.dst.mac | (qp.vlan or 0) << 48),
        qp.dst.ip,
        qp.src_port | qp.pkey << 16,
        qp.dest_qpn | qp.tos << 24,
        qp.psn | qp.ttl << 24,
    )


def limits_word(limits: RcLimits) -> int:
    """`qp[].limits`."""
    retries = limits.retries << 25 | limits.rnr_retries << 29
    return limits.window | limits.timeout << 16 | limits.backoff << 21 | retries
