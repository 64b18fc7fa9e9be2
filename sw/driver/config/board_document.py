"""The tables of the file that configures a board, and its sentences where they are wrong."""

import json
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, ValidationError, model_validator
from pydantic_core import ErrorDetails

from framelane.base.document_lines import json_line, toml_line
from framelane.base.documents import read_text
from framelane.base.errors import ConfigError, InputError
from framelane.base.validation import all_said, on_line, spelled, words
from framelane.driver.config.document_types import NO_NUL, Name, PositiveNumber, PositiveU16, PositiveU32, Table
from framelane.driver.config.network_document import (
    DcqcnTable,
    Priority,
    RcTable,
    StationTable,
    VlanId,
    WatchdogTable,
)
from framelane.models.jungfrau.jf_fixed import MAX_FRACTION_BITS
from framelane.session.session_plan import U8, U16, U32, U64, Ip, Node, Positive


class Transmitter(Node):
    """[transmitter]: its own addresses, and the clock that the board must have, in Hz, where that matters."""

    clock_hz: Positive | None = None


class Source(Table):
    """[source]: the frame in the transmitter's memory. `pitch` from line to line, and `offset` of the first pixel."""

    rows: PositiveU16
    columns: PositiveU16
    pixel_bytes: Literal[2, 4] = 2
    pitch: PositiveU32 | None = None
    offset: U32 = 0

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.line_pitch < self.columns * self.pixel_bytes:
            raise ValueError(f"pitch: a line has {self.columns * self.pixel_bytes} bytes, {self.pitch} are too few")
        return self

    @property
    def line_pitch(self) -> int:
        """Bytes from line to line."""
        return self.pitch or self.columns * self.pixel_bytes


class Store(Table):
    """[store]: the frame store's memory, for a build that has one. `slot_bytes`: what [source] needs, if not given."""

    base: U64
    slots: PositiveU16
    slot_bytes: PositiveU32 | None = None


class CorrectionTable(Table):
    """[correction]: the file `calibration`, and where its constants lie: `pitch` from plane to plane, if wanted.

    Corrected values are in units of `2**-fraction_bits` of `unit`. `mode`: which gain mode the detector runs in.
    """

    calibration: Annotated[str, Field(min_length=1, pattern=NO_NUL)]
    base: U64
    pitch: PositiveU32 | None = None
    fraction_bits: Annotated[int, Field(ge=0, le=MAX_FRACTION_BITS)] = 0
    unit: Literal["photons", "keV"] = "photons"
    mode: Literal["normal", "hg0"] = "normal"


class Receiver(Table):
    """[[receiver]]: a ring, and which of its sources this transmitter is; its link's TCP port, if not the session's.

    Its packets have a tag with `vlan` and `priority`, and a `dscp`. `resolve`: the MAC is asked by ARP, not the
    session's; of the router `gateway`, where there is one on the way. `rc`: if the session is of RC.
    """

    name: Name
    session: Name
    source: U8 = 0
    link_port: PositiveU16 | None = None
    rate_gbps: PositiveNumber | None = None
    vlan: VlanId | None = None
    priority: Priority = 0
    dscp: Annotated[int, Field(ge=0, lt=64)] = 0
    resolve: bool = False
    gateway: Annotated[Ip, Field(strict=False)] | None = None
    rc: RcTable | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.priority and self.vlan is None:
            raise ValueError("priority: it is part of a VLAN tag, which needs a vlan: give one, or remove priority")
        return self


class Rectangle(Table):
    """A rectangle in the source, in pixels and lines."""

    x: U16 = 0
    y: U16 = 0
    width: PositiveU16
    height: PositiveU16


class ImagePosition(Table):
    """A position in the receiver's image, in pixels and lines."""

    x: U16
    y: U16


class FlowTable(Table):
    """[[flow]]: `burst` of `every` frames from number `first` on, `count` in all (0: no limit), `bunch` a receiver.

    `image`: what the detector sent, or what [correction] makes of it; if not given, as the session says.
    """

    name: Name
    receivers: Annotated[list[Name], Field(min_length=1)]
    image: Literal["raw", "corrected"] | None = None
    bunch: PositiveU32 = 1
    first: U64 = 0
    every: PositiveU32 = 1
    burst: PositiveU32 = 1
    count: U64 = 0
    kind: Annotated[int, Field(ge=0, lt=8)] | None = None
    roi: Rectangle | None = None
    place: ImagePosition | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.burst > self.every:
            raise ValueError(f"burst: {self.burst} frames of every {self.every} cannot be: raise every, or lower burst")
        return self


class BoardDocument(Table):
    """The whole file."""

    transmitter: Transmitter
    station: StationTable | None = None
    dcqcn: DcqcnTable | None = None
    watchdog: WatchdogTable = WatchdogTable()
    source: Source | None = None
    store: Store | None = None
    correction: CorrectionTable | None = None
    receiver: Annotated[list[Receiver], Field(min_length=1)]
    flow: Annotated[list[FlowTable], Field(min_length=1)]


def read_document(path: Path) -> BoardDocument:
    """Read the file, TOML, or JSON where its name ends so; InputError names every table and key that is wrong."""
    text = read_text(path, "configuration")
    kind, parse, line = (
        ("JSON", json.loads, json_line) if path.suffix == ".json" else ("TOML", tomllib.loads, toml_line)
    )
    try:
        tables = parse(text)
        return BoardDocument.model_validate(tables)
    except ValidationError as error:
        wrong = all_said(error, lambda each: _sentence(tables, each) + on_line(line(text, each["loc"])))
        raise unusable(path, wrong) from error
    except (ValueError, RecursionError) as error:  # of tomllib, for a number of 5,000 digits and 1,000 brackets too
        raise InputError(f"the configuration {path} is not {kind}: {error}") from error


def unusable(path: Path, said: str) -> InputError:
    """What is wrong with the file, for raising."""
    return InputError(f"the configuration {path} is not usable: {said}")


@contextmanager
def at(path: Path, table: str) -> Iterator[None]:
    """Say of an error in which table of the file it is."""
    try:
        yield
    except (ConfigError, InputError) as error:
        raise unusable(path, f"{table}: {error}") from error


def _sentence(tables: dict[str, Any], error: ErrorDetails) -> str:
    """Say which table of which name, which key, and what is wrong."""
    where = error["loc"]
    table = where[0]
    inside = where[2:] if len(where) > 1 and isinstance(where[1], int) else where[1:]
    if len(where) > 1 and isinstance(where[1], int):
        entry = tables[str(table)][where[1]]
        name = entry.get("name") if isinstance(entry, dict) else None
        title = f"[[{table}]] {name!r}" if isinstance(name, str) else f"[[{table}]] number {where[1] + 1}"
    else:
        title = f"[{spelled((table,))}]"
    key, wrong = spelled(inside), words(error, BoardDocument)
    return f"{title}: {key}: {wrong}" if key else f"{title}: {wrong}"
