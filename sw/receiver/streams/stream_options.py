"""What a stream sends, to whom, and how much of it waits."""

import dataclasses
import re
from dataclasses import dataclass
from typing import Any, Literal, get_args

from framelane.base.errors import ConfigError

Send = Literal["all", "accepted", "newest"]
Socket = Literal["push", "pub"]
Pixels = Literal["uint16", "int16"]
_ADDRESS = re.compile(r"tcp://(\*|[A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\]):(\d{1,5})")
_MOST = {"every": 1 << 31, "reduce": 64, "queue": 4096}


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamOptions:
    """A stream of images (docs/serve/streams.md). ConfigError for what cannot be.

    Consumers connect to `address`, tcp://HOST:PORT; port 0 is any that is free. It has no password: give an address of
    this machine, or of a network of your own.
    """

    address: str = "tcp://127.0.0.1:31001"
    send: Send = "all"
    """`all`: each frame, of a rejected one a message without its image; `accepted`: those that the veto keeps;
    `newest`: of these the next one, whenever the last has gone."""
    every: int = 1
    """Only one of so many."""
    rate: float | None = None
    """The most frames a second; None: all."""
    socket: Socket = "push"
    """`push`: each message goes to one consumer, as DECTRIS has it; `pub`: each to all that are there."""
    pixels: Pixels = "uint16"
    """Type of photons, as `FileOptions.photons_as`; `int16`: with codes as in memory, and negative values. Raw words
    are uint16."""
    reduce: int = 1
    """A pixel is the greatest of so many by so many."""
    queue: int = 16
    """So many images wait for a slow consumer; then frames are left out, and counted."""

    def __post_init__(self) -> None:
        found = _ADDRESS.fullmatch(self.address)
        if not found or int(found[2]) > 65535:
            raise ConfigError(
                f"{self.address!r} is not an address of a stream: give tcp://HOST:PORT, or tcp://*:PORT for any network"
            )
        for name, kind in (("send", Send), ("socket", Socket), ("pixels", Pixels)):
            if getattr(self, name) not in get_args(kind):
                raise ConfigError(
                    f"{name} {getattr(self, name)!r} of a stream is not known: choose {', '.join(get_args(kind))}"
                )
        for name, most in _MOST.items():
            if not 1 <= getattr(self, name) <= most:
                raise ConfigError(f"{name} {getattr(self, name)} of a stream: give 1 to {most}")
        if self.rate is not None and not 0 < self.rate < 1e9:
            raise ConfigError(f"rate {self.rate:g} of a stream: give more than 0 images/s, or leave it out")

    @classmethod
    def parse(cls, text: str) -> "StreamOptions":
        """By `ADDRESS[,all|accepted|newest][,push|pub][,uint16|int16][,every=N][,rate=HZ][,reduce=N][,queue=N]`."""
        address, *words = text.split(",")
        given: dict[str, Any] = {"address": address}
        plain = {word: name for name, kind in _WORDS.items() for word in get_args(kind)}
        numbers: dict[str, type[int] | type[float]] = {"every": int, "reduce": int, "queue": int, "rate": float}
        for word in words:
            name, equals, value = word.partition("=")
            chosen: Any
            if not equals and word in plain:
                name, chosen = plain[word], word
            elif equals and name in numbers:
                try:
                    chosen = numbers[name](value)
                except ValueError as error:
                    raise ConfigError(f"{word!r} of the stream {address}: {value!r} is not a number") from error
            else:
                raise ConfigError(f"{word!r} of the stream {address} is not known: {_USAGE}")
            if name in given:
                raise ConfigError(f"the stream {address} has {name} twice: give it once")
            given[name] = chosen
        return cls(**given)

    def __str__(self) -> str:
        changed = [
            f"{field.name} {getattr(self, field.name)}"
            for field in dataclasses.fields(self)
            if field.name != "address" and getattr(self, field.name) != field.default
        ]
        return f"{self.address} ({', '.join(changed)})" if changed else self.address


_WORDS = {"send": Send, "socket": Socket, "pixels": Pixels}
_USAGE = "all, accepted, newest, push, pub, uint16, int16, or every=, rate=, reduce=, queue= with a number"
