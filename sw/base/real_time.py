"""Times in nanoseconds since 1970: which of them can be, and how they are written."""

import datetime

TAI_NS = 37_000_000_000
"""TAI is so far ahead of UTC, in nanoseconds, since 2017 (IERS Bulletin C)."""
_2010_S = 1_262_304_000
"""The beginning of 2010, in seconds since 1970."""


def is_real(time_ns: int) -> bool:
    """Whether it is between 2010 and tomorrow: else its clock counts from another moment, or not at all."""
    tomorrow = datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=1)
    return _2010_S <= time_ns / 1e9 < tomorrow.timestamp()


def iso(time_ns: int) -> str:
    """ISO 8601 in UTC, to the microsecond."""
    seconds, nanoseconds = divmod(time_ns, 10**9)
    time = datetime.datetime.fromtimestamp(seconds, datetime.UTC).replace(microsecond=nanoseconds // 1000)
    return time.isoformat().replace("+00:00", "Z")


def is_iso(text: object) -> bool:
    """Whether it is a time with its zone, by ISO 8601."""
    try:
        return isinstance(text, str) and datetime.datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False
