"""Where the modules of a JUNGFRAU lie in the detector's image.

A module's 512 x 1024 pixels are 2 x 4 chips of 256 x 256. The pixels on both sides of a border between two chips are
twice as wide, so in an image of equal pixels (75 um) a module takes 514 x 1030 places: pixel (r, c) has its own place
at (r + 2 * (r // 256), c + 2 * (c // 256)), and where it lies at a border it also covers the next place towards it.
Where two borders cross it covers four.
"""

from typing import Annotated, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, model_validator

from framelane.models.jungfrau.jf_packet import MODULE_COLUMNS, MODULE_ROWS
from framelane.models.jungfrau.jf_scene import CHIP

PLACE_ROWS = MODULE_ROWS + 2 * (MODULE_ROWS // CHIP - 1)
PLACE_COLUMNS = MODULE_COLUMNS + 2 * (MODULE_COLUMNS // CHIP - 1)
MOST_PIXELS = 1 << 27

_Place = Annotated[int, Field(ge=0)]


class ModulePlace(BaseModel):
    """Where one module lies, and how it is turned: first flipped, then rotated."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    x: _Place
    """The smallest column of the image that the module covers."""
    y: _Place
    """The smallest row."""
    flip: Literal["none", "rows", "columns"] = "none"
    """`rows`: its first row comes last."""
    rotate: Literal[0, 90, 180, 270] = 0
    """Degrees, clockwise in an image whose row 0 is at the top."""
    masked: bool = False
    """Its pixels are not to be used."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the image that it takes."""
        return (PLACE_COLUMNS, PLACE_ROWS) if self.rotate in (90, 270) else (PLACE_ROWS, PLACE_COLUMNS)

    def turn(self, places: NDArray[np.generic]) -> NDArray[np.generic]:
        """Turn an array of a module's places (514, 1030) as it lies in the image."""
        if self.flip != "none":
            places = np.flip(places, 0 if self.flip == "rows" else 1)
        return np.rot90(places, -(self.rotate // 90))


class Geometry(BaseModel):
    """An image of `rows` x `columns` places and its modules, in the order of the raw frame."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    name: str
    rows: Annotated[int, Field(ge=1)]
    columns: Annotated[int, Field(ge=1)]
    module: tuple[ModulePlace, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.rows * self.columns > MOST_PIXELS:
            raise ValueError(f"an image of {self.rows} x {self.columns} is too large: at most {MOST_PIXELS} pixels")
        taken = np.full((self.rows, self.columns), -1, np.int16)
        for index, place in enumerate(self.module):
            rows, columns = place.shape
            if place.y + rows > self.rows or place.x + columns > self.columns:
                raise ValueError(
                    f"module {index} at x = {place.x}, y = {place.y} takes {rows} rows and {columns} columns and lies "
                    f"outside of the image of {self.rows} x {self.columns}"
                )
            covered = taken[place.y : place.y + rows, place.x : place.x + columns]
            if covered.max() >= 0:
                raise ValueError(f"module {index} at x = {place.x}, y = {place.y} overlaps module {covered.max()}")
            covered[:] = index
        return self


def own_places(size: int) -> NDArray[np.int64]:
    """The own place of each pixel along an axis of so many pixels."""
    pixel = np.arange(size)
    return pixel + 2 * (pixel // CHIP)


def second_places(size: int) -> NDArray[np.int64]:
    """The other place that each pixel along an axis covers; its own where it is not double."""
    pixel = np.arange(size)
    last, first = pixel % CHIP == CHIP - 1, pixel % CHIP == 0
    places: NDArray[np.int64] = own_places(size) + (last & (pixel < size - 1)) - (first & (pixel > 0))
    return places
