"""A share of the rejected frames that is kept all the same, so that one can see later what the veto rejects."""

from dataclasses import dataclass

from framelane.base.errors import ConfigError

_WORD = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class RandomShare:
    """Keeps a frame with the probability `share`, drawn by its number and `seed`: the same for ever, on any host.

    ConfigError for a share that is not 0..1, or a seed that is not 0 to 2**64 - 1.
    """

    share: float
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.share <= 1:
            raise ConfigError(f"a share of {self.share:g} of the rejected frames cannot be: give 0 to 1")
        if not 0 <= self.seed <= _WORD:
            raise ConfigError(f"a seed of {self.seed} does not fit 64 bits: give 0 to {_WORD}")

    def keeps(self, number: int) -> bool:
        """Whether the frame of this number is kept where it is rejected."""
        return _mixed(_mixed(self.seed) + number & _WORD) < self.share * (1 << 64)


def _mixed(word: int) -> int:
    """One step of splitmix64 (Steele, Lea, Flood, OOPSLA 2014): 64 bits to 64 bits that look random."""
    word = word + 0x9E3779B97F4A7C15 & _WORD
    word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9 & _WORD
    word = (word ^ word >> 27) * 0x94D049BB133111EB & _WORD
    return word ^ word >> 31
