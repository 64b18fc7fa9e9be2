"""A flow of the file that configures a board: its receivers, its rectangle, its position."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from framelane.base.errors import ConfigError
from framelane.driver.config.board_document import FlowTable, ImagePosition, Receiver, Rectangle, Source
from framelane.models.memory.image_writer import Correction
from framelane.models.placement.flow import Flow
from framelane.session.session import Session


@dataclass(frozen=True, slots=True)
class Ring:
    """A receiver and its session."""

    table: Receiver
    session: Session


def take(table: FlowTable, rings: Mapping[str, Ring], served: Mapping[str, Ring]) -> dict[str, Ring]:
    """The rings of a flow, by their receivers' names. ConfigError where one is not there, or another flow has it."""
    mine: dict[str, Ring] = {}
    for name in table.receivers:
        if name not in rings:
            raise ConfigError(f"receivers: there is no receiver {name!r}: there are {', '.join(map(repr, rings))}")
        if name in served or name in mine:
            raise ConfigError(
                f"receivers: {name!r} has a flow already, frames of two would meet in its ring: give this one another "
                "[[receiver]], with its own session or as another source"
            )
        mine[name] = rings[name]
    return mine


def flow_of(
    table: FlowTable,
    rings: Mapping[str, Ring],
    source: Source | None,
    first_destination: int,
    correction: Correction | None,
) -> Flow:
    """The flow to `rings`, which have the entries from `first_destination` on; what the file leaves out is their share.

    `source` is the image it is cut from, or the one that `correction` makes of it. ConfigError where a rectangle does
    not fit, or the rings differ.
    """
    first, *others = rings.values()
    session, number = first.session, first.table.source
    for other in others:
        theirs = other.session.rows, other.session.columns, other.table.source
        if other.session.pixels != session.pixels:
            raise ConfigError(
                f"receivers: {first.table.name!r} is for {session.pixels} images, {other.table.name!r} for "
                f"{other.session.pixels} ones: give each its own flow"
            )
        if theirs != (session.rows, session.columns, number):
            raise ConfigError(
                f"receivers: {first.table.name!r} has images of {session.rows} x {session.columns} pixels and source "
                f"{number}, {other.table.name!r} of {theirs[0]} x {theirs[1]} and {theirs[2]}: give each its own flow"
            )
    place_of_image = _place_of_image(table, first, correction)
    share = session.flow(number, first_destination)
    image = source or Source(rows=share.height, columns=share.width)
    roi = table.roi or Rectangle(width=image.columns, height=image.rows)
    position = table.place or ImagePosition(x=0, y=share.y1)
    _check_roi(roi, position, image, session)
    return replace(
        share,
        destinations=len(rings),
        bunch=table.bunch,
        first=table.first,
        period=table.every,
        burst=table.burst,
        count=table.count,
        kind=table.kind,
        x0=roi.x,
        y0=roi.y,
        width=roi.width,
        height=roi.height,
        source_pitch=image.line_pitch,
        source_offset=image.offset + place_of_image,
        wide=image.pixel_bytes == 4,
        x1=position.x,
        y1=position.y,
    )


def _place_of_image(table: FlowTable, ring: Ring, correction: Correction | None) -> int:
    """Bytes from the begin of a slot to the image that the flow is cut from: the one that its receivers expect."""
    name, wanted = ring.table.name, ring.session.pixels
    if table.image and table.image != wanted:
        raise ConfigError(
            f"image: {table.image} ones would go to {name!r}, whose session is for {wanted} ones: change this key, or "
            "the session's pixels"
        )
    if wanted == "raw":
        return 0
    if correction is None:
        raise ConfigError(f"image: {name!r} is for corrected ones, there are none: add [correction]")
    return correction.offset


def _check_roi(roi: Rectangle, position: ImagePosition, image: Source, session: Session) -> None:
    """The rectangle lies in the source's image, and its `place` in the receiver's: of lines of 16-bit pixels."""
    if roi.x + roi.width > image.columns or roi.y + roi.height > image.rows:
        raise ConfigError(
            f"roi: {roi.width} x {roi.height} pixels at ({roi.x}, {roi.y}) are not in the source's image of "
            f"{image.columns} x {image.rows}: make it smaller, or correct [source]"
        )
    columns = session.columns * 2 // image.pixel_bytes
    if position.x + roi.width > columns or position.y + roi.height > session.rows:
        raise ConfigError(
            f"place: {roi.width} x {roi.height} pixels at ({position.x}, {position.y}) are not in the receiver's image "
            f"of {columns} x {session.rows}: give a smaller roi, or another place"
        )
