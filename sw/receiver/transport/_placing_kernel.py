"""The loop that takes plain good packets, compiled: what `Responder` does with them, many at a time.

It takes WRITEs of UC that are right in every field. It refuses by itself only what comes in floods: after one lost
packet, from a path that repeats packets, or of somebody else's traffic; and only once the Responder has explained the
first of its kind. At any other packet it stops without a trace, for the Responder to judge it.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from framelane.base.compiled import compiled
from framelane.base.vector_loops import inlined
from framelane.models.placement.trailer import MAGIC, TRAILER_BYTES, VERSION
from framelane.models.roce_tx import wire
from framelane.models.roce_tx.roce_segment import MAX_MESSAGE_BYTES
from framelane.models.roce_tx.wire import Opcode
from framelane.packets.packet_bytes import SCRATCH_BYTES, copy_bytes, has_icrc, number16, number32, number64
from framelane.receiver.transport.refusals import Refusal

_SIGNED = ("local_mac", "local_ip", "remote_ip", "rkey", "qpn", "mtu", "alone", "sources", "n_slots", "slot_bytes")
RULES = np.dtype([("base", "u8")] + [(name, "i8") for name in _SIGNED])
"""What the session says; `alone`: of one source, whose PSNs tell what is late."""

COUNTERS = ("packets", "placed", "payload_bytes", "completions", "skipped", "behind")
"""Those of `Counters` that plain packets move."""

_STATE = ("newest_psn", "offset", "left", "psn", "ended", "imm")
STATE = np.dtype([(name, "i8") for name in COUNTERS + _STATE])
"""`COUNTERS` and `QpState`. `ended` is -1 where no message has; `imm` is the immediate of the last completion."""

FLOODS = (
    Refusal.PORT, Refusal.OPCODE, Refusal.DESTINATION, Refusal.ICRC, Refusal.SOURCE, Refusal.SERVICE, Refusal.QPN,
    Refusal.PKEY, Refusal.LATE, Refusal.SEQUENCE,
)  # fmt: skip
"""What the loop may refuse by itself, in the order in which the Responder looks for it."""
_PORT, _OPCODE, _DESTINATION, _ICRC, _SOURCE, _SERVICE, _QPN, _PKEY, _LATE, _SEQUENCE, _ODD = range(len(FLOODS) + 1)
"""Places in FLOODS; `_ODD`, behind them, is anything else."""

ALL, OTHER, COMPLETION = 0, 1, 2
"""Why the loop stopped: it took all; the packet that it names is not plain; the one before that completed a message."""

_FIRST, _MIDDLE, _LAST_IMM, _ONLY, _ONLY_IMM = (
    int(code) + wire.UC
    for code in (
        Opcode.WRITE_FIRST, Opcode.WRITE_MIDDLE, Opcode.WRITE_LAST_IMM, Opcode.WRITE_ONLY, Opcode.WRITE_ONLY_IMM
    )
)  # fmt: skip
_ETH, _TAGGED = wire.ETH_BYTES, wire.ETH_BYTES + wire.VLAN_BYTES
_UDP = wire.IP_BYTES
_BTH = _UDP + wire.UDP_BYTES
_BODY = _BTH + wire.BTH_BYTES
"""Offsets from the IPv4 header on."""
_PSN_MASK, _PSN_HALF = 0xFFFFFF, 1 << 23


@compiled
def place(
    data: NDArray[np.uint8],
    starts: NDArray[np.int64],
    sizes: NDArray[np.int64],
    first: int,
    rules: NDArray[Any],
    states: NDArray[Any],
    refused: NDArray[np.int64],
    ring: NDArray[np.uint8],
) -> tuple[int, int]:
    """Take the packets from `first` on: where it stopped, and why. `rules` and `states` have one element each.

    `refused` has one for each of FLOODS, which is counted up; one that is -1 the Responder has yet to explain. A last
    one is always -1.
    """
    rule, state = rules[0], states[0]
    scratch = np.full(SCRATCH_BYTES, 0xFF, np.uint8)
    for i in range(first, starts.size):
        ip = _admitted(data, starts[i], sizes[i], rule, scratch)
        if ip < 0:
            if refused[~ip] < 0:
                return i, OTHER
            refused[~ip] += 1
            state.packets += 1
            continue
        opcode, psn = np.int64(data[ip + _BTH]), number32(data, ip + _BTH + 8) & _PSN_MASK
        if rule.alone and state.ended >= 0 and not _ahead(psn, state.ended):
            if refused[_LATE] < 0:
                return i, OTHER
            refused[_LATE] += 1
            _count(state, psn)
            continue
        starts_message = _starts(opcode)
        if not starts_message and (state.left == 0 or psn != state.psn):
            if refused[_SEQUENCE] < 0:
                return i, OTHER
            refused[_SEQUENCE] += 1
            state.left = 0
            _count(state, psn)
            continue
        body = ip + _BODY + _extra(opcode)
        size = _end(data, ip) - body
        offset, left = state.offset, state.left
        if starts_message:
            offset, left = _target(data, ip + _BODY, rule, ring.size)
        fits = size == rule.mtu and size < left if _goes_on(opcode) else size == left and size <= rule.mtu
        if offset < 0 or size < 1 or not fits:
            return i, OTHER
        copy_bytes(ring, offset, data, body, size)
        _count(state, psn)
        state.offset, state.left, state.psn = offset + size, left - size, (psn + 1) & _PSN_MASK
        state.placed += 1
        state.payload_bytes += size
        if _has_imm(opcode):
            state.completions += 1
            state.imm = number32(data, body - wire.IMM_BYTES)
            if size >= TRAILER_BYTES and _ends_frame(ring, offset + size - TRAILER_BYTES, state.imm, rule):
                state.ended = psn
            return i + 1, COMPLETION
    return starts.size, ALL


@inlined
def _admitted(data: NDArray[np.uint8], start: int, size: int, rule: Any, scratch: NDArray[np.uint8]) -> int:
    """The place of a packet's IPv4 header, if it is of this QP, whole, and its ICRC is right.

    Of any other the complement (~) of why it is refused: the first reason in the Responder's order.
    """
    if size < _TAGGED + _BODY + wire.ICRC_BYTES:
        return ~_ODD
    ip = start + (_TAGGED if number16(data, start + 12) == wire.ETHERTYPE_VLAN else _ETH)
    ip_bytes = number16(data, ip + 2)
    header_sum = 0
    for word in range(0, wire.IP_BYTES, 2):
        header_sum += number16(data, ip + word)
    header_sum = (header_sum & 0xFFFF) + (header_sum >> 16)
    if (
        number16(data, ip - 2) != wire.ETHERTYPE_IPV4
        or data[ip] != 0x45
        or number16(data, ip + 6) & wire.FRAGMENT
        or data[ip + 9] != wire.PROTOCOL_UDP
        or ip_bytes > start + size - ip
        or ip_bytes < _BODY + wire.ICRC_BYTES
        or header_sum != 0xFFFF
    ):
        return ~_ODD
    if number16(data, ip + _UDP + 2) != wire.ROCE_PORT:
        return ~_PORT
    if number16(data, ip + _UDP + 4) != ip_bytes - wire.IP_BYTES:
        return ~_ODD
    opcode = np.int64(data[ip + _BTH]) | wire.UC
    if opcode < _FIRST or opcode > _ONLY_IMM:
        return ~_OPCODE
    if data[ip + _BTH + 1] & 0x0F or _end(data, ip) < ip + _BODY + _extra(opcode):
        return ~_ODD
    to = number16(data, start) << 32 | number32(data, start + 2)
    if to != rule.local_mac or number32(data, ip + 16) != rule.local_ip:
        return ~_DESTINATION
    if not has_icrc(data, ip, ip_bytes, scratch):
        return ~_ICRC
    if number32(data, ip + 12) != rule.remote_ip:
        return ~_SOURCE
    if not data[ip + _BTH] & wire.UC:
        return ~_SERVICE
    if number32(data, ip + _BTH + 4) & 0xFFFFFF != rule.qpn:
        return ~_QPN
    if number16(data, ip + _BTH + 2) & 0x7FFF != 0x7FFF:
        return ~_PKEY
    return ip


@inlined
def _extra(opcode: int) -> int:
    """Bytes of RETH and ImmDt."""
    return int(_starts(opcode) * wire.RETH_BYTES + _has_imm(opcode) * wire.IMM_BYTES)


@inlined
def _starts(opcode: int) -> bool:
    return opcode in (_FIRST, _ONLY, _ONLY_IMM)


@inlined
def _goes_on(opcode: int) -> bool:
    return opcode in (_FIRST, _MIDDLE)


@inlined
def _has_imm(opcode: int) -> bool:
    return opcode in (_LAST_IMM, _ONLY_IMM)


@inlined
def _end(data: NDArray[np.uint8], ip: int) -> int:
    """Where the payload ends: before the pad and the ICRC."""
    return int(ip + number16(data, ip + 2) - wire.ICRC_BYTES - (np.int64(data[ip + _BTH + 1]) >> 4 & 3))


@inlined
def _target(data: NDArray[np.uint8], reth: int, rule: Any, ring_bytes: int) -> tuple[int, int]:
    """Where the RETH's message begins in the ring, and its length; -1 if it may not lie there."""
    length = number32(data, reth + 12)
    address = number64(data, reth)
    if length > MAX_MESSAGE_BYTES or length > ring_bytes or number32(data, reth + 8) != rule.rkey:
        return -1, length
    if address < rule.base or address - rule.base > np.uint64(ring_bytes - length):
        return -1, length
    return int(np.int64(address - rule.base)), length


@inlined
def _ends_frame(ring: NDArray[np.uint8], at: int, imm: int, rule: Any) -> bool:
    """See `SlotLayout.ends_frame`: whether the trailer that the immediate names lies at its place, which is `at`."""
    source, slot = _little(ring, at + 6, 2), _little(ring, at + 8, 4)
    frame = _little(ring, at + 16, 8)
    return bool(
        _little(ring, at, 4) == MAGIC
        and _little(ring, at + 4, 2) == VERSION
        and source < rule.sources
        and slot == np.int64(frame % np.uint64(rule.n_slots))
        and imm == (np.int64(source) << 24 | np.int64(frame & np.uint64(0xFFFFFF)))
        and at == np.int64(slot) * rule.slot_bytes + rule.slot_bytes - (rule.sources - np.int64(source)) * TRAILER_BYTES
    )


@inlined
def _little(ring: NDArray[np.uint8], at: int, size: int) -> np.uint64:
    """The number in so many bytes, the least significant first."""
    value = np.uint64(0)
    for n in range(size):
        value |= np.uint64(ring[at + n]) << np.uint64(8 * n)
    return value


@inlined
def _ahead(psn: int, other: int) -> int:
    """See `responder._ahead`."""
    ahead = (psn - other) & _PSN_MASK
    return ahead if ahead < _PSN_HALF else 0


@inlined
def _count(state: Any, psn: int) -> None:
    state.packets += 1
    ahead = _ahead(psn, state.newest_psn)
    if ahead:
        state.skipped += ahead - 1
        state.newest_psn = psn
    else:
        state.behind += 1
