"""The diagnosis: every packet of a capture judged against a session, with all its causes, gathered by cause."""

import itertools
from collections.abc import Iterable, Iterator

from framelane.doctor.cause import Cause, Finding, Kind, Placer
from framelane.doctor.gathered import Diagnosis, Gathered
from framelane.doctor.packets import bth, ethernet, icrc, ipv4, noise, psn, reth, sequence, udp
from framelane.doctor.packets.dissect import Packet, dissect
from framelane.doctor.packets.frames import FrameTrack, Stream
from framelane.doctor.packets.qp_state import Before, QpState, RcState, SoftRoceUcState, UcState
from framelane.doctor.target import Target
from framelane.session.session import Session

_OF_MESSAGES = frozenset((*reth.CAUSES, bth.PAD)) - {reth.SHORT}
"""What is wrong in a packet that has come to its QP all the same, and ends a message there."""


class Doctor:
    """Judges packets one by one against `session`. `placer`: by whose placing the frames are followed.

    On RC the soft NIC places nothing; it is for UC.
    """

    def __init__(self, session: Session, placer: Placer | None = None) -> None:
        self._target = target = Target.of(session)
        self._placer = placer or (Placer.SOFT_NIC if session.service == "UC" else Placer.RNIC)
        self._icrc = icrc.IcrcCheck()
        frame_packets = -(-session.image_bytes // session.sources // session.mtu) + 1
        self._psn = psn.PsnTrack(session.psn, frame_packets) if session.sources == 1 else None
        self._states: dict[Placer, QpState]
        self._uc: UcState | None = None
        if session.service == "UC":
            self._uc = UcState(target, late=False)
            self._states = {
                Placer.SOFT_NIC: UcState(target, late=True),
                Placer.RNIC: self._uc,
                Placer.SOFT_ROCE: SoftRoceUcState(target),
            }
        else:
            self._states = {Placer.RNIC: RcState(target), Placer.SOFT_ROCE: RcState(target)}
        self._frames = FrameTrack(target)
        self._offset = 0
        self._before = Before(newest_psn=session.psn - 1 & 0xFFFFFF, refused={})
        self._last_loss = 0
        self._whole = True
        self._gathered = Gathered()
        self.result = Diagnosis(placed=dict.fromkeys(self._states, 0))

    def take(self, number: int, time_ns: int, frame: bytes, wire_bytes: int | None = None) -> Placer:
        """Judge packet `number`; those that place it."""
        result = self.result
        if not result.packets:
            result.first_ns = time_ns
        result.packets += 1
        result.last_ns = time_ns
        packet = dissect(number, time_ns, frame, wire_bytes)
        foreign = noise.sort(packet, self._target)
        if foreign is not None:
            if foreign.cause.kind is Kind.NOISE:
                result.noise[foreign.detail] += 1
            self._gathered.note(packet.number, time_ns, foreign)
            result.ours += foreign.cause.kind is Kind.FAULT and foreign.cause in ethernet.CAUSES
            return Placer.NONE
        result.ours += 1
        return self._judge(packet)

    def finish(self) -> Diagnosis:
        """The diagnosis, when nothing more comes."""
        for number, finding in self._psn.finish() if self._psn else []:
            self._gathered.note(number, self.result.last_ns, finding)
        for finding in [] if self.result.cut else self._frames.finish():
            self._gathered.note(self.result.packets, self.result.last_ns, finding)
        result = self.result
        if self._psn:
            result.lost, result.duplicates, result.reordered = (
                self._psn.lost,
                self._psn.duplicates,
                self._psn.reordered,
            )
            if not result.lost:  # all that was missing came later
                self._gathered.forget(psn.LOST)
        result.frames = self._frames.counts
        result.groups = self._gathered.in_order()
        return result

    def _judge(self, packet: Packet) -> Placer:
        if packet.is_cut:
            self.result.cut += 1
            if packet.bth is None:  # a PSN that is not seen is not lost
                self._psn = None
        known = not self.result.cut
        findings = list(self._check(packet))
        refused = Placer.NONE
        for finding in findings:
            refused |= finding.refused_by
        fits = packet.bth is not None and packet.write is not None
        if fits and known:
            header = Placer.NONE
            for finding in findings:
                if finding.cause not in _OF_MESSAGES:
                    header |= finding.refused_by
            findings += self._follow(packet, header, refused)
            for finding in findings:
                refused |= finding.refused_by
        placed = Placer.NONE
        for placer in self._states:
            if placer not in refused and fits and known:
                placed |= placer
                self.result.placed[placer] += 1
        if fits:
            findings += self._write(packet, placed, findings)
        elif packet.bth is not None and self._psn is not None:
            self._psn.fill(packet.bth.psn)
        for finding in findings:
            self._gathered.note(packet.number, packet.time_ns, finding)
        return placed

    def _check(self, packet: Packet) -> Iterator[Finding]:
        """What is wrong with the packet alone."""
        target = self._target
        sums = list(self._icrc.check(packet))
        lacks_icrc = any(finding.cause is icrc.MISSING for finding in sums)
        lengths = (f for f in reth.check(packet, target) if f.cause is not reth.LENGTH or not lacks_icrc)
        headers = (ethernet.check(packet, target), ipv4.check(packet, target), udp.check(packet))
        return itertools.chain(*headers, bth.check(packet, target), lengths, sums)

    def _follow(self, packet: Packet, header: Placer, refused: Placer) -> list[Finding]:
        """What is wrong with it after those before. `header`: who does not see it come to the QP at all."""
        before = self._before
        head = packet.bth
        assert head is not None
        refusals: dict[Cause, tuple[str, Placer]] = {}
        if self._uc is not None and Placer.RNIC not in header and (short := self._uc.cut_short(packet, before)):
            refusals[short[0]] = short[1], Placer.NONE
        for placer, state in self._states.items():
            if placer in header:
                continue
            reason = state.judge(packet, placer not in refused, before)
            if reason and placer not in refused:
                text, by = refusals.get(reason[0], (reason[1], Placer.NONE))
                refusals[reason[0]] = text, by | placer
        return [Finding(cause, text, by) for cause, (text, by) in refusals.items()]

    def _write(self, packet: Packet, placed: Placer, findings: list[Finding]) -> list[Finding]:
        """Keep the accounts of PSNs and of frames."""
        head = packet.bth
        assert head is not None
        before = self._before
        damaged = any(f.cause.code.startswith("icrc") or f.cause.code == "qpn" for f in findings)
        more: list[Finding] = []
        repeated = False
        if self._psn is not None and damaged:
            self._psn.fill(head.psn)
        elif self._psn is not None:
            for number, finding in self._psn.take(head.psn, packet.number):
                self._gathered.note(number, packet.time_ns, finding)
                if finding.cause is psn.LOST:
                    self._last_loss = packet.number
                self._whole &= finding.cause not in (psn.MID_STREAM, psn.RESTARTED)
                repeated |= finding.cause is psn.DUPLICATE
        if not damaged:
            before.newest_psn = head.psn
            before.seen += 1
        if self._placer in placed and self._placer:
            stream = Stream(self._whole, repeated, self._last_loss)
            more += self._place(packet, stream)
        refusing = next((f for f in findings if self._placer in f.refused_by), None)
        if refusing:
            root = packet.number
            if refusing.cause is sequence.REFUSED_BEFORE:
                root = before.refused.get(head.psn - 1 & 0xFFFFFF, (root, refusing.cause))[0]
            before.refused[head.psn] = root, refusing.cause
            self._last_loss = packet.number
        else:
            before.refused.pop(head.psn, None)
        return more

    def _place(self, packet: Packet, stream: Stream) -> list[Finding]:
        if packet.reth is not None:
            self._offset = packet.reth.address - self._target.base if packet.reth.length else 0
        start = self._offset
        self._offset += packet.payload_bytes
        return self._frames.write(packet.number, start, packet.payload, packet.imm, stream)


def diagnose(packets: Iterable[tuple[int, bytes, int]], session: Session, placer: Placer | None = None) -> Diagnosis:
    """The diagnosis of `packets`, each (time in ns, Ethernet frame without FCS, bytes on the wire)."""
    doctor = Doctor(session, placer)
    for number, (time_ns, frame, wire_bytes) in enumerate(packets, 1):
        doctor.take(number, time_ns, frame, wire_bytes)
    return doctor.finish()
