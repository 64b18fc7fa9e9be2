"""What can become of a detector's packet."""

from enum import IntEnum


class Fate(IntEnum):
    """What becomes of a packet: placed, or the first of the other reasons that applies."""

    PLACED = 0
    PORT = 1
    """In a capture: not UDP to one of the ports."""
    SIZE = 2
    """Another size than the detector's packets: another detector's, or an older format."""
    VERSION = 3
    """Another version of the header, of a JUNGFRAU that is recorded."""
    DETECTOR = 4
    """Another type of detector, of the same. Live, the reasons of the header's constants follow behind all these."""
    PACKET = 5
    """A number that the interface does not send: a module with one interface is taken for one with two."""
    MODULE = 6
    """Another modId, row or column than its port's (or what else tells, by the description): two modules, or another
    sender, use one port. Or of a module that there is not."""
    LATE = 7
    """A frame that was handed out already."""
    NUMBER = 8
    """A frame number far from all others, and no new acquisition: it is corrupt, or of another sender."""
    DUPLICATE = 9
    """There already."""
    SLOT = 10
    """Live: every slot of the ring is in use, so its frame is dropped."""
