"""What is wrong with a document that pydantic has refused, in our words: place, line, and the key that was meant."""

import difflib
import typing
from collections.abc import Callable, Iterator
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from framelane.base.document_lines import Where

_MOST_SHOWN = 60
_MOST_SAID = 8
_WORDS = {
    "missing": "is missing",
    "int_type": "is {input}: give a whole number",
    "int_parsing": "is {input}: give a whole number",
    "int_parsing_size": "is {input}: give a smaller number",
    "int_from_float": "is {input}: give a whole number",
    "float_type": "is {input}: give a number",
    "float_parsing": "is {input}: give a number",
    "finite_number": "is {input}: give a finite number",
    "bool_type": "is {input}: give true or false",
    "bool_parsing": "is {input}: give true or false",
    "string_type": "is {input}: give a text, in quotes",
    "greater_than": "is {input}: give more than {gt}",
    "greater_than_equal": "is {input}: give {ge} or more",
    "less_than": "is {input}: give less than {lt}",
    "less_than_equal": "is {input}: give {le} or less",
    "literal_error": "is {input}: give {expected}",
    "enum": "is {input}: give {expected}",
    "string_too_short": "is empty: give a text",
    "ip_v4_address": "is {input}: give an IPv4 address, as 192.0.2.1",
    "is_instance_of": "is {input}: give an IPv4 address, as 192.0.2.1",
    "model_type": "is {input}: give a table of keys",
    "model_attributes_type": "is {input}: give a table of keys",
    "dict_type": "is {input}: give a table of keys",
    "list_type": "is {input}: give a list",
    "tuple_type": "is {input}: give a list",
    "too_short": "has too few: give {min_length} or more",
    "json_type": "is {input}: give JSON",
}


def sentence(
    error: ValidationError, model: type[BaseModel], line: Callable[[Where], int | None] = lambda where: None
) -> str:
    """All that is wrong with a document of `model`, in one line; `line` finds the line of a key in its text."""

    def say(each: ErrorDetails) -> str:
        what = ": ".join(filter(None, (spelled(each["loc"]), words(each, model))))
        return what + on_line(line(each["loc"]))

    return all_said(error, say)


def first_said(error: ValidationError, model: type[BaseModel]) -> str:
    """The first thing that is wrong, alone: much quicker where there are many."""
    first = error.errors(include_url=False)[0]
    return ": ".join(filter(None, (spelled(first["loc"]), words(first, model))))


def all_said(error: ValidationError, say: Callable[[ErrorDetails], str]) -> str:
    """What `say` says of the first errors, and how many more there are: a document may have as many as it has bytes."""
    errors = error.errors(include_url=False)
    more = len(errors) - _MOST_SAID
    return "; ".join([*map(say, errors[:_MOST_SAID]), *([f"and {more} more"] if more > 0 else [])])


def spelled(where: Where) -> str:
    """A key with those that it is in."""
    parts = (f"[{part}]" if isinstance(part, int) else f".{_key(part)}" for part in where)
    return "".join(parts).removeprefix(".")


def on_line(line: int | None) -> str:
    """Behind a sentence: where it is."""
    return f" (line {line})" if line else ""


def words(error: ErrorDetails, model: type[BaseModel]) -> str:
    """What is wrong with the value or the key of one error."""
    kind, context = error["type"], error.get("ctx", {})
    if kind == "extra_forbidden":
        return _unknown(str(error["loc"][-1]), sorted(_keys(model, error["loc"][:-1])))
    if kind == "string_pattern_mismatch" and error["loc"][-1] == "mac":
        return f"is {_shown(error['input'])}: give a MAC address in lower case, as 02:00:00:00:00:01"
    if kind == "json_invalid":
        return f"is not JSON: {context.get('error', '')}"
    if kind in _WORDS:
        return _WORDS[kind].format(input=_shown(error["input"]), **context)
    return error["msg"].removeprefix("Value error, ")


def _key(key: str) -> str:
    """The key as it is written, if it is a word: a document may have a whole page, or terminal colours, as a key."""
    return key if key.isprintable() and 0 < len(key) <= _MOST_SHOWN else _shown(key)


def _unknown(key: str, known: list[str]) -> str:
    near = difflib.get_close_matches(key.lower(), known, 1, 0.7)
    if near:
        return f"is not a key here: did you mean {near[0]}?"
    return "is not a key here: remove it" + (f", or give one of {', '.join(known)}" if known else "")


def _shown(value: object) -> str:
    """Any value, in short: numbers of thousands of digits have no other text."""
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > 256:
        return "a number of more than 77 digits"
    if isinstance(value, dict):
        return "a table"
    if isinstance(value, list | tuple):
        return "a list"
    return {True: "true", False: "false"}[value] if isinstance(value, bool) else shown(value)


def shown(value: object) -> str:
    """A value in a sentence, as Python writes it: of a long one its beginning."""
    text = repr(value)
    return text if len(text) <= _MOST_SHOWN else text[:_MOST_SHOWN] + "..."


def _keys(model: type[BaseModel], where: Where) -> set[str]:
    """The keys that there are at a place of a document of this model."""
    models = [model]
    for part in where:
        if isinstance(part, str):
            fields = [each.model_fields[part].annotation for each in models if part in each.model_fields]
            models = [found for annotation in fields for found in _models(annotation)]
    return {name for each in models for name in each.model_fields}


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in typing.get_args(annotation):
        yield from _models(inner)
