"""Faults in the bytes of a packet, and foreign packets."""

from collections.abc import Sequence

from numpy.random import Generator

from framelane.models.roce_tx import wire
from framelane.source.impairments import packet_fields
from framelane.source.impairments._impairment_step import Passing, Step, When
from framelane.source.impairments.foreign_packets import FOREIGN_PACKETS


class Corrupt(Step):
    """Another value in the field `field`, on the wire: all else stays, the checksum and the ICRC too.

    The field becomes `value`, or grows by it where that is `relative`; None: any other value, of the payload one bit.
    A packet without that field is left as it is.
    """

    kind = "corrupt"

    def __init__(self, when: When, rng: Generator, field: str, value: int | None, relative: bool) -> None:
        super().__init__(when, rng)
        self._field = field
        self._value = value
        self._relative = relative

    def _hit(self, passing: Passing) -> Sequence[Passing]:
        at = packet_fields.span(passing.packet, self._field)
        if at is None:
            return (passing,)
        old, bits = packet_fields.read(passing.packet, self._field) or 0, at[1]
        new = self._new(old, bits) & (1 << bits) - 1
        what = "one bit" if self._field == "payload" else f"{old:#x} became {new:#x}"
        packet = self._finish(packet_fields.write(passing.packet, self._field, new))
        return self._replaced(passing, packet, f"{self._field}: {what}")

    def _new(self, old: int, bits: int) -> int:
        if self._value is not None:
            return self._value + self._relative * old
        if self._field == "payload":
            return old ^ 1 << int(self._rng.integers(bits))
        drawn = int.from_bytes(self._rng.bytes(bits // 8 + 1), "big")
        return old ^ 1 + drawn % ((1 << bits) - 1)

    def _finish(self, packet: bytes) -> bytes:
        return packet


class Forge(Corrupt):
    """The same as a sender's mistake: the IPv4 checksum and the ICRC are right for the new value."""

    kind = "forge"

    def _finish(self, packet: bytes) -> bytes:
        return packet_fields.seal(packet, self._field)


class Truncate(Step):
    """The frame is cut after `size` bytes; 0: anywhere behind the Ethernet header."""

    kind = "truncate"

    def __init__(self, when: When, rng: Generator, size: int) -> None:
        super().__init__(when, rng)
        self._size = size

    def _hit(self, passing: Passing) -> Sequence[Passing]:
        whole = len(passing.packet)
        size = self._size or int(self._rng.integers(wire.ETH_BYTES, max(whole, wire.ETH_BYTES + 1)))
        return self._replaced(passing, passing.packet[:size], f"{size} of {whole} bytes")


class Foreign(Step):
    """A packet of another sender or session comes behind this one: of the named kind, or of any."""

    kind = "foreign"

    def __init__(self, when: When, rng: Generator, name: str) -> None:
        super().__init__(when, rng)
        self._names = (name,) if name else tuple(FOREIGN_PACKETS)

    def _hit(self, passing: Passing) -> Sequence[Passing]:
        name = self._names[int(self._rng.integers(len(self._names)))]
        packet = FOREIGN_PACKETS[name](passing.packet, self._rng)
        self._did(passing, f"followed by a foreign packet: {name}")
        return passing, Passing(-1, passing.frame, packet)
