"""What can become of a packet of a JUNGFRAU."""

from enum import IntEnum


class Fate(IntEnum):
    """What becomes of a packet: placed, or the first of the other reasons that applies."""

    PLACED = 0
    PORT = 1
    """In a capture: not UDP to one of the ports."""
    SIZE = 2
    """Not 8240 bytes: another detector's, or an older format."""
    VERSION = 3
    """Another version of the header."""
    DETECTOR = 4
    """Another type of detector."""
    PACKET = 5
    """A number that the interface does not send: a module with one interface is taken for one with two."""
    LATE = 6
    """Of a frame that was handed out already."""
    MODULE = 7
    """From another module than the packets before it, for the same frame and port: two modules share a port."""
    DUPLICATE = 8
    """There already."""
