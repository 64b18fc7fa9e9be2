"""Who was turned away at the session link: how many for each reason, and the first of them; no more is kept."""

from collections import Counter
from enum import StrEnum
from threading import Lock

from framelane.base.errors import FramelaneError

_MOST_CHARACTERS = 200


class Reason(StrEnum):
    """Why somebody was turned away, or a report refused."""

    SILENT = "said nothing in time"
    LEFT = "went without a word"
    TOO_MANY = "were too many at a time"
    NO_TLS = "spoke no TLS"
    NO_LINE = "sent no line of the link"
    NO_TOKEN = "showed no token"
    WRONG_TOKEN = "showed a wrong token"
    NO_SOURCE = "came for a source that does not exist"
    TAKEN = "came for a source that somebody else reports for"
    NOT_ITS_OWN = "reported for a source that they had not named"
    IMPOSSIBLE = "reported what cannot be"
    FEWER = "reported less than before"
    DEAF = "did not take the credit"
    NO_ROOM = "found no file or thread free"
    FAULT = "met a fault of framelane's own"


class Refused(FramelaneError):
    """Somebody is turned away for a `reason`; the message says more."""

    def __init__(self, reason: Reason, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason


class Attempts:
    """Counts them. May be used by several threads."""

    def __init__(self) -> None:
        self.counts: Counter[Reason] = Counter()
        self._first: dict[Reason, str] = {}
        self._lock = Lock()

    def note(self, reason: Reason, who: str, detail: str = "") -> None:
        """Somebody was turned away: `who`, an address, and what was wrong in a sentence."""
        with self._lock:
            self.counts[reason] += 1
            if reason not in self._first:
                text = f"from {who}: {detail}" if detail else f"from {who}"
                self._first[reason] = text if len(text) <= _MOST_CHARACTERS else f"{text[:_MOST_CHARACTERS]}..."

    def lines(self) -> list[str]:
        """A sentence for each reason."""
        with self._lock:
            return [
                f"the session's link turned {n} away who {reason}, the first {self._first[reason]}"
                for reason, n in self.counts.items()
            ]
