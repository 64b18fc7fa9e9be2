"""The notation of impairments: KIND[:ARGUMENT...]=SHARE or KIND[:ARGUMENT...]@INDEX+INDEX..., with commas between."""

import functools
import re
from collections.abc import Callable

from numpy.random import Generator

from framelane.base.errors import ConfigError
from framelane.source.impairments import packet_fields
from framelane.source.impairments._impairment_bytes import Corrupt, Foreign, Forge, Truncate
from framelane.source.impairments._impairment_order import Delay, Die, Drop, Duplicate, Reorder
from framelane.source.impairments._impairment_step import Step, When
from framelane.source.impairments.foreign_packets import FOREIGN_PACKETS

Make = Callable[[Generator], Step]
_Arguments = list[str]

_ONE = re.compile(r"(?P<what>[^=@]*)(?:=(?P<share>.*)|@(?P<indices>.*))?", re.DOTALL)


def plan(text: str) -> list[Make]:
    """The steps that `text` describes, each to be made with its random stream. ConfigError where it describes none."""
    return [_one(part.strip()) for part in text.split(",")]


def _one(text: str) -> Make:
    match = _ONE.fullmatch(text)
    kind, *arguments = match["what"].split(":") if match else [text]
    if match is None or kind not in _KINDS:
        raise ConfigError(f'impairment "{text}": there is no "{kind}": choose one of {", ".join(_KINDS)}')
    if match["share"] is not None:
        when = When(share=_share(text, match["share"]))
    elif match["indices"] is not None:
        when = When(indices=tuple(_number(text, index, 0) for index in match["indices"].split("+")))
    else:
        raise ConfigError(
            f'impairment "{text}": say how often, {text}=0.01 (a share of the packets), or to which packets, '
            f"{text}@17+23 (numbers from 0)"
        )
    return _KINDS[kind](text, arguments, when)


def _share(text: str, share: str) -> float:
    try:
        value = float(share)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise ConfigError(f'impairment "{text}": "{share}" is not a share of the packets: give 0 to 1')
    return value


def _number(text: str, number: str, low: int) -> int:
    try:
        value = int(number, 0)
    except ValueError:
        value = low - 1
    if value < low:
        raise ConfigError(f'impairment "{text}": "{number}" is not a number from {low} on')
    return value


def _plain(step: Callable[[When, Generator], Step], text: str, arguments: _Arguments, when: When) -> Make:
    _check_count(text, arguments, 0)
    return lambda rng: step(when, rng)


def _counted(
    step: Callable[[When, Generator, int], Step], low: int, default: int, text: str, arguments: _Arguments, when: When
) -> Make:
    _check_count(text, arguments, 1)
    number = _number(text, arguments[0], low) if arguments else default
    return lambda rng: step(when, rng, number)


def _field(step: type[Corrupt], text: str, arguments: _Arguments, when: When) -> Make:
    _check_count(text, arguments, 2)
    if not arguments or arguments[0] not in packet_fields.NAMES:
        raise ConfigError(f'impairment "{text}": name a field, {step.kind}:FIELD: choose one of {_FIELDS}')
    name, value = arguments[0], arguments[1] if len(arguments) > 1 else None
    if value is None:
        return lambda rng: step(when, rng, name, None, False)
    sign = value[:1] if value[:1] in ("+", "-") else ""
    number = _number(text, value.removeprefix(sign), 0)
    bits = packet_fields.width(name)
    if not bits:
        raise ConfigError(f'impairment "{text}": {name} has no value to choose: leave "{value}" out')
    if number >> bits:
        raise ConfigError(f'impairment "{text}": {name} has {bits} bits: give 0 to {(1 << bits) - 1:#x}')
    return lambda rng: step(when, rng, name, -number if sign == "-" else number, bool(sign))


def _foreign(text: str, arguments: _Arguments, when: When) -> Make:
    _check_count(text, arguments, 1)
    name = arguments[0] if arguments else ""
    if name and name not in FOREIGN_PACKETS:
        known = ", ".join(FOREIGN_PACKETS)
        raise ConfigError(
            f'impairment "{text}": there is no foreign packet "{name}": choose one of {known}, or give none'
        )
    return lambda rng: Foreign(when, rng, name)


def _check_count(text: str, arguments: _Arguments, most: int) -> None:
    if len(arguments) > most:
        raise ConfigError(f'impairment "{text}": "{":".join(arguments[most:])}" is too much: leave it out')


_FIELDS = ", ".join(packet_fields.NAMES)
_KINDS: dict[str, Callable[[str, _Arguments, When], Make]] = {
    "drop": functools.partial(_plain, Drop),
    "duplicate": functools.partial(_counted, Duplicate, 0, 0),
    "reorder": functools.partial(_counted, Reorder, 1, 1),
    "corrupt": functools.partial(_field, Corrupt),
    "forge": functools.partial(_field, Forge),
    "truncate": functools.partial(_counted, Truncate, 14, 0),
    "delay": functools.partial(_counted, Delay, 1, 1),
    "foreign": _foreign,
    "die": functools.partial(_counted, Die, 1, 0),
}
