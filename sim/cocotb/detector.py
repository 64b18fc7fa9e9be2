"""The detector's side of a bench: what it says of a frame as it begins."""

from dataclasses import asdict
from random import Random

from framelane.driver.ports import FRAME_T, Struct
from framelane.models.frame_store import KINDS, FrameInfo

FRAME_INFO_T = Struct(**{name: FRAME_T.fields[name] for name in ("kind", "bunch_id", "timestamp_ns", "number")})


def frame_info_t(info: FrameInfo) -> int:
    """What comes with the first beat of a frame."""
    return FRAME_INFO_T.pack(asdict(info))


def any_info(random: Random) -> FrameInfo:
    """Anything that may be said."""
    number, timestamp_ns, bunch_id = (random.getrandbits(64) for _ in range(3))
    return FrameInfo(number, timestamp_ns, bunch_id, random.randrange(KINDS))
