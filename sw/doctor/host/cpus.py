"""Lists of CPUs as the kernel writes them: `0-3,8` (cpuset(7), "List format")."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CpuSet:
    """Some CPUs of a machine."""

    numbers: frozenset[int]

    @classmethod
    def of(cls, text: str) -> "CpuSet":
        """What a list says; what is not a list is empty."""
        numbers: set[int] = set()
        for part in text.split(","):
            first, _, last = part.strip().partition("-")
            if first.isdigit() and (last or first).isdigit():
                numbers.update(range(int(first), int(last or first) + 1))
        return cls(frozenset(numbers))

    @classmethod
    def union(cls, sets: Iterable["CpuSet"]) -> "CpuSet":
        """The CPUs of all of them."""
        return cls(frozenset().union(*(each.numbers for each in sets)))

    def within(self, other: "CpuSet") -> bool:
        """Whether all are the other's."""
        return self.numbers <= other.numbers

    def meets(self, other: "CpuSet") -> bool:
        """Whether any is the other's."""
        return bool(self.numbers & other.numbers)

    def __len__(self) -> int:
        return len(self.numbers)

    def __str__(self) -> str:
        parts: list[list[int]] = []
        for number in sorted(self.numbers):
            if parts and number == parts[-1][-1] + 1:
                parts[-1][1:] = [number]
            else:
                parts.append([number])
        return ",".join("-".join(map(str, part)) for part in parts)
