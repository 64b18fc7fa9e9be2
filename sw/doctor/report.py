"""A diagnosis as lines for people, and as a document for machines."""

import datetime
from typing import Any

from framelane.doctor import advice
from framelane.doctor.cause import Kind, Placer
from framelane.doctor.gathered import Diagnosis, Group
from framelane.session.session import Session

FORMAT = "framelane-doctor-1"
_NAMES = {Placer.SOFT_NIC: "soft_nic", Placer.SOFT_ROCE: "soft_roce", Placer.RNIC: "rnic"}
_ARTICLES = {Placer.SOFT_NIC: "the", Placer.SOFT_ROCE: "Linux", Placer.RNIC: "an"}
_SHOWN = (Kind.FAULT, Kind.NETWORK, Kind.CONSEQUENCE, Kind.WARNING, Kind.NOTE)


def lines(diagnosis: Diagnosis, session: Session) -> list[str]:
    """The report: what the capture holds, then cause by cause, the worst first."""
    seconds = (diagnosis.last_ns - diagnosis.first_ns) / 1e9
    head = f"{diagnosis.packets} packets in {seconds:.3f} s, {diagnosis.ours} of them for this session"
    text = [head]
    if diagnosis.cut_at is not None:
        text.append(f"warning: the capture is cut off at byte {diagnosis.cut_at}, after {diagnosis.packets} packets")
        text.append("  do: copy the whole file again, or look whether the disk was full; stop tcpdump before copying")
    if diagnosis.noise:
        others = ", ".join(f"{count} {what}" for what, count in diagnosis.noise.most_common(6))
        text.append(f"others: {others}")
    if diagnosis.cut:
        many = "1 packet is" if diagnosis.cut == 1 else f"{diagnosis.cut} packets are"
        text.append(f"placed, frames: not known, {many} cut by the capture")
    elif diagnosis.ours:
        by = ", ".join(f"{count} by {_ARTICLES[placer]} {placer.words()}" for placer, count in diagnosis.placed.items())
        text += [f"placed: {by}", _frames(diagnosis)]
    text += advice.summary(diagnosis, session)
    if not diagnosis.ours and (diagnosis.packets or diagnosis.cut_at is None):
        text += ["likely causes:", *(f"  {n}. {cause}" for n, cause in enumerate(advice.NOTHING, 1))]
    for group in diagnosis.groups:
        if group.cause.kind in _SHOWN:
            text += ["", *_group(group, diagnosis)]
    if diagnosis.ours and not diagnosis.faults:
        which = "these packets" if diagnosis.cut_at is None else "the packets before the cut"
        text += ["", f"nothing is wrong with {which}"]
    return text


def _frames(diagnosis: Diagnosis) -> str:
    counts = diagnosis.frames
    if counts.first is None:
        return "frames: none has ended"
    text = f"frames {counts.first} to {counts.last}: {counts.complete} complete, {counts.incomplete} incomplete"
    if counts.missing:
        text += f", {counts.missing} missing"
    if diagnosis.lost or diagnosis.duplicates or diagnosis.reordered:
        text += f"; packets: {diagnosis.lost} lost, {diagnosis.duplicates} twice, {diagnosis.reordered} out of order"
    return text


def _group(group: Group, diagnosis: Diagnosis) -> list[str]:
    cause = group.cause
    many = "once" if group.count == 1 else f"{group.count} times"
    refused = f", not placed by: {group.refused_by.words()}" if group.refused_by else ""
    after = (group.time_ns - diagnosis.first_ns) / 1e9
    last = f", last in packet {group.last}" if group.count > 1 else ""
    where = f"  first in packet {group.first} at {after:.6f} s{_clock(group.time_ns)}{last}"
    alike = group.values[group.value]
    detail = group.detail
    if detail != group.value and alike > 1:
        detail += f" ({alike} times, address and length aside)"
    text = [f"{cause.kind.value}: {cause.code}, {many}{refused}", f"  {cause.meaning}", where, f"  {detail}"]
    others = [(value, count) for value, count in group.values.items() if value != group.value and count > 1]
    text += [f"  {count} times: {value}" for value, count in others]
    return [*text, f"  do: {cause.advice}"]


def _clock(time_ns: int) -> str:
    """The time of day; nothing for a time that no calendar has, which a broken capture may tell."""
    try:
        time = datetime.datetime.fromtimestamp(time_ns / 1e9, datetime.UTC)
    except (ValueError, OverflowError, OSError):
        return ""
    return f" ({time:%H:%M:%S.%f} UTC)"


def document(diagnosis: Diagnosis, session: Session) -> dict[str, Any]:
    """The same for machines: JSON types only. Times in ns since 1970, packets counted from 1."""
    return {
        "packets": diagnosis.packets,
        "session_packets": diagnosis.ours,
        "cut_packets": diagnosis.cut,
        "first_ns": diagnosis.first_ns,
        "last_ns": diagnosis.last_ns,
        "placed": {_NAMES[placer]: count for placer, count in diagnosis.placed.items()},
        "noise": dict(diagnosis.noise),
        "lost": diagnosis.lost,
        "duplicates": diagnosis.duplicates,
        "reordered": diagnosis.reordered,
        "frames": {
            "first": diagnosis.frames.first,
            "last": diagnosis.frames.last,
            "complete": diagnosis.frames.complete,
            "incomplete": diagnosis.frames.incomplete,
            "incomplete_frames": diagnosis.frames.incomplete_frames,
            "missing": diagnosis.frames.missing,
        },
        "summary": advice.summary(diagnosis, session),
        "causes": [_entry(group) for group in diagnosis.groups],
    }


def _entry(group: Group) -> dict[str, Any]:
    cause = group.cause
    return {
        "cause": cause.code,
        "kind": cause.kind.value,
        "count": group.count,
        "first_packet": group.first,
        "last_packet": group.last,
        "time_ns": group.time_ns,
        "detail": group.detail,
        "meaning": cause.meaning,
        "advice": cause.advice,
        "not_placed_by": [name for placer, name in _NAMES.items() if placer in group.refused_by],
        "counter": str(cause.refusal) if cause.refusal else None,
    }
