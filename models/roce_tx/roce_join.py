"""The join of headers and payload: what `roce_join.sv` does, the only place where payload bytes change lanes."""

from collections.abc import Iterable

from framelane.models.roce_tx.roce_segment import Status


def join(header: bytes, payload: bytes) -> bytes:
    """Header, payload, and zero bytes up to a multiple of four bytes of payload. No ICRC yet."""
    return header + payload + bytes(-len(payload) % 4)


def join_message(
    packets: Iterable[tuple[bytes, int]], payload: bytes, wrong: Iterable[range] = ()
) -> tuple[Status, list[tuple[bytes, bool]]]:
    """The packets of one message, from the header and the payload length of each, and the payload stream's one packet.

    Each with whether it is poisoned. Where the stream ends inside a packet, that packet is filled with zeros and
    poisoned (its ICRC will be wrong, so that no receiver places it); the packets behind it are not sent. Bytes behind
    the message's end are dropped. `wrong` are ranges of the payload, in whole beats of the bus, that came with errors:
    a packet with such bytes is poisoned too.
    """
    spoilt = list(wrong)
    joined: list[tuple[bytes, bool]] = []
    at = 0
    for header, length in packets:
        part = payload[at : at + length]
        at += length
        if part:
            bad = any(max(r.start, at - length) < min(r.stop, at) for r in spoilt)
            joined.append((join(header, part + bytes(length - len(part))), bad or len(part) < length))
    if len(payload) < at:
        return Status.SHORT, joined
    if len(payload) > at:
        return Status.LONG, joined
    return Status.BAD_PAYLOAD if spoilt else Status.OK, joined
