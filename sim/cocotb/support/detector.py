"""The detector's side of a bench: what it says of a frame as it begins."""

from random import Random

from framelane.models.memory.frame_store import KINDS, FrameInfo


def any_info(random: Random) -> FrameInfo:
    """Anything that may be said."""
    number, timestamp_ns, bunch_id = (random.getrandbits(64) for _ in range(3))
    return FrameInfo(number, timestamp_ns, bunch_id, random.randrange(KINDS))
