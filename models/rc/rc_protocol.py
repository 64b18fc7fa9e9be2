"""The sender's side of the RC service (InfiniBand vol. 1, 9.7): what is outstanding, what acknowledgements mean.

One QP is one `RcQp`; every call is one operation of `rc_protocol.sv`, and returns all that follows from it.
PSNs are compared modulo 2^24.
"""

from dataclasses import dataclass, replace
from enum import IntEnum

from framelane.base.errors import ConfigError
from framelane.models.rc.rc_timer import LONGEST, rnr_ticks, timeout_ticks
from framelane.models.station.roce_rx import EventKind

PSNS = 1 << 24
PACKETS_MAX = 0xFFFF
"""So many packets, or more, no message of an RC QP may have: it fits no window."""
RNR_FOR_EVER = 7


class RcState(IntEnum):
    """What a QP does."""

    ERROR = 0
    """Nothing is sent: all messages fail at once. So after reset, until it is armed."""
    SETTLE = 1
    """Armed: acknowledgements of what was sent before are waited out."""
    RUN = 2
    WAIT = 3
    """The receiver was not ready (RNR): waits as long as it said."""


class RcReason(IntEnum):
    """Why a QP is in error."""

    NOT_ARMED = 0
    TIMEOUT = 1
    """Time-outs without progress, more than the limit."""
    SEQUENCE = 2
    """The same for NAKs of the sequence."""
    RNR = 3
    """The receiver was not ready, more often than the limit."""
    INVALID = 4
    """NAK: invalid request."""
    ACCESS = 5
    """NAK: remote access error."""
    OPERATION = 6
    """NAK: remote operational error."""
    MESSAGE = 7
    """A message of no length, or longer than the window."""
    REWRITTEN = 8
    """Its entry in the QP table was changed in what may not change, or disabled."""
    CLOSED = 9
    """By command, or to be armed anew."""


class RcNote(IntEnum):
    """What an operation was, for the counters."""

    NONE = 0
    ACKED = 1
    """An acknowledgement; also one without news."""
    STALE = 2
    """A response for a PSN that is not outstanding: ignored."""
    WENT_BACK = 3
    """A NAK of the sequence: goes back."""
    REPEATED = 4
    """A NAK of the sequence or RNR where that was done already: ignored."""
    NOT_READY = 5
    """RNR: waits."""
    TIMED_OUT = 6
    """Goes back."""
    RESUMED = 7
    """The wait for a receiver is over: goes back."""
    FAILED = 8
    """The QP is in error now."""
    DEFERRED = 9
    """A time-out while packets of the QP have not left yet: waits again."""
    ARMED = 10
    """Messages may be sent from now on."""


class RcAnswer(IntEnum):
    """Whether a message may be sent."""

    WAIT = 0
    """Not now: ask again when something has happened to the QP."""
    SEND = 1
    SKIP = 2
    """Never: it is acknowledged already, or has failed."""


@dataclass(frozen=True, slots=True)
class RcLimits:
    """Limits of a QP, as its register holds them.

    `window`: packets that may be outstanding, 1 to 65534. `timeout`: exponent of the time-out, 4.096 us * 2^timeout;
    every time-out without progress doubles it, `backoff` times at most. `retries`: how often to go back without
    progress (0 to 15). `rnr_retries`: how often to wait for a receiver that is not ready (0 to 6; 7: without limit).
    """

    window: int = 64
    timeout: int = 4
    backoff: int = 4
    retries: int = 7
    rnr_retries: int = 7

    def __post_init__(self) -> None:
        for name, top in (("window", 0xFFFE), ("timeout", 31), ("backoff", 15), ("retries", 15), ("rnr_retries", 7)):
            if not 0 <= getattr(self, name) <= top:
                raise ConfigError(f"RC limit {name} = {getattr(self, name)} is impossible: give 0 to {top}")


@dataclass(frozen=True, slots=True)
class Decision:
    """What follows from an operation.

    `psn` and `skip` count with SEND: the first packet to be sent, and how many of the message come before it.
    `back`: sends again from the oldest message on. `timer`: ticks to start it with, 0 to stop it, None to leave it.
    """

    note: RcNote = RcNote.NONE
    answer: RcAnswer = RcAnswer.WAIT
    psn: int = 0
    skip: int = 0
    back: bool = False
    timer: int | None = None


_FATAL = {
    EventKind.NAK_INVALID: RcReason.INVALID,
    EventKind.NAK_ACCESS: RcReason.ACCESS,
    EventKind.NAK_OPERATION: RcReason.OPERATION,
}


def distance(later: int, earlier: int) -> int:
    """PSNs from `earlier` to `later`, -2^23 to 2^23 - 1."""
    return (later - earlier + PSNS // 2) % PSNS - PSNS // 2


@dataclass(slots=True)
class RcQp:
    """One QP. `una` is the first PSN that is not acknowledged, `nxt` the first that was not used yet."""

    limits: RcLimits = RcLimits()
    state: RcState = RcState.ERROR
    reason: RcReason = RcReason.NOT_ARMED
    una: int = 0
    nxt: int = 0
    retries: int = 0
    rnr_retries: int = 0
    backoff: int = 0
    gone_back: bool = False
    """On a NAK, since the last progress or time-out."""

    @property
    def outstanding(self) -> int:
        """Packets that were given to the transmitter and are not acknowledged."""
        return (self.nxt - self.una) % PSNS

    def ask(self, first: int, packets: int) -> Decision:
        """May the next message be sent, of so many `packets`, `first` being the PSN of its first?"""
        if self.state is RcState.ERROR:
            return Decision(answer=RcAnswer.SKIP)
        if self.state is not RcState.RUN:
            return Decision()
        if first != self.nxt:
            acked = distance(self.una, first)
            if acked >= packets:
                return Decision(answer=RcAnswer.SKIP)
            skip = max(acked, 0)
            return Decision(answer=RcAnswer.SEND, psn=(first + skip) % PSNS, skip=skip)
        if not 0 < packets < PACKETS_MAX or self.outstanding + packets > self.limits.window:
            if self.outstanding:
                return Decision()
            return replace(self._fail(RcReason.MESSAGE), answer=RcAnswer.SKIP)
        timer = None if self.outstanding else self._timeout()
        self.nxt = (first + packets) % PSNS
        return Decision(answer=RcAnswer.SEND, psn=first, timer=timer)

    def event(self, kind: EventKind, psn: int, value: int = 0) -> Decision:
        """An acknowledgement has come; a CNP is not for here."""
        upto = (psn + (kind is EventKind.ACK)) % PSNS  # all before it has arrived
        news = (upto - self.una) % PSNS
        known = news <= self.outstanding if kind is EventKind.ACK else news < self.outstanding
        if self.state in (RcState.ERROR, RcState.SETTLE) or not known:
            return Decision(RcNote.STALE)
        if news:
            self.una = upto
            self.retries = self.rnr_retries = self.backoff = 0
            self.gone_back = False
        if kind in _FATAL:
            return self._fail(_FATAL[kind])
        if kind is EventKind.ACK:
            return Decision(RcNote.ACKED, timer=self._after_progress() if news else None)
        if self.state is RcState.WAIT or (kind is EventKind.NAK_SEQUENCE and self.gone_back):
            return Decision(RcNote.REPEATED)
        if kind is EventKind.RNR:
            return self._not_ready(value)
        if self.retries >= self.limits.retries:
            return self._fail(RcReason.SEQUENCE)
        self.retries += 1
        self.gone_back = True
        return Decision(RcNote.WENT_BACK, back=True, timer=self._timeout())

    def expired(self, under_way: bool) -> Decision:
        """The timer has ended; `under_way`: packets of this QP have not left yet, or only since it was started."""
        if self.state is RcState.SETTLE:
            self.state = RcState.RUN
            return Decision(RcNote.ARMED)
        if self.state is RcState.WAIT:
            self.state = RcState.RUN
            self.gone_back = False
            return Decision(RcNote.RESUMED, back=True, timer=self._timeout() if self.outstanding else None)
        if self.state is RcState.ERROR or not self.outstanding:
            return Decision()
        if under_way:
            return Decision(RcNote.DEFERRED, timer=self._timeout())
        if self.retries >= self.limits.retries:
            return self._fail(RcReason.TIMEOUT)
        self.retries += 1
        self.backoff = min(self.backoff + 1, self.limits.backoff)
        self.gone_back = False
        return Decision(RcNote.TIMED_OUT, back=True, timer=self._timeout())

    def close(self, reason: RcReason) -> Decision:
        """Put the QP into error; nothing happens where it is."""
        return Decision() if self.state is RcState.ERROR else self._fail(reason)

    def arm(self, psn: int) -> Decision:
        """Start anew with `psn`. Only in error, when no message is left, neither waiting nor in the transmitter."""
        self.state = RcState.SETTLE
        self.una = self.nxt = psn
        self.retries = self.rnr_retries = self.backoff = 0
        self.gone_back = False
        return Decision(timer=timeout_ticks(self.limits.timeout + self.limits.backoff))

    def _timeout(self) -> int:
        return timeout_ticks(min(self.limits.timeout + self.backoff, LONGEST))

    def _after_progress(self) -> int | None:
        if self.state is RcState.WAIT:
            return None
        return self._timeout() if self.outstanding else 0

    def _not_ready(self, code: int) -> Decision:
        if self.limits.rnr_retries != RNR_FOR_EVER:
            if self.rnr_retries >= self.limits.rnr_retries:
                return self._fail(RcReason.RNR)
            self.rnr_retries += 1
        self.retries = self.backoff = 0  # the receiver is there
        self.state = RcState.WAIT
        return Decision(RcNote.NOT_READY, timer=rnr_ticks(code))

    def _fail(self, reason: RcReason) -> Decision:
        self.state, self.reason = RcState.ERROR, reason
        return Decision(RcNote.FAILED, timer=0)
