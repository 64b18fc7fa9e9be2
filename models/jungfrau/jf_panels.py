"""The rectangles of equal pixels that an image of a JUNGFRAU is made of, and where each lies in the detector's plane.

The plane is measured in pixels of 75 um: x to the right and y down, as seen from the sample, from the outer corner of
the image's first pixel. Readers call such a rectangle a panel (DIALS, CrystFEL) or a detector module (NXmx).
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from framelane.models.jungfrau.jf_geometry import PLACE_COLUMNS, PLACE_ROWS, Geometry, ModulePlace
from framelane.models.jungfrau.jf_packet import MODULE_COLUMNS, MODULE_ROWS
from framelane.models.jungfrau.jf_scene import CHIP

PIXEL_M = 75e-6
"""Side of a pixel."""

Vector = tuple[int, int]
"""x and y."""


@dataclass(frozen=True, slots=True)
class Panel:
    """`rows` x `columns` pixels from (`row`, `column`) of the image on.

    In the plane the outer corner of the first of them lies at `corner`, in pixels; from there `fast` is the step from
    column to column, `slow` that from row to row.
    """

    name: str
    row: int
    column: int
    rows: int
    columns: int
    corner: Vector
    fast: Vector = (1, 0)
    slow: Vector = (0, 1)


def image_panel(shape: tuple[int, int]) -> list[Panel]:
    """One panel: the image of (rows, columns) is the detector."""
    return [Panel("p0", 0, 0, *shape, corner=(0, 0))]


def assembled_panels(geometry: Geometry) -> list[Panel]:
    """Those of the geometry's image: a panel is a module, which lies there as it is turned."""
    return [
        Panel(f"m{n}", place.y, place.x, *place.shape, (place.x, place.y)) for n, place in enumerate(geometry.module)
    ]


def stacked_panels(geometry: Geometry) -> list[Panel]:
    """Those of the raw frame, in which modules of 512 x 1024 lie one above the other: a panel is a chip.

    So each pixel is where it is; the double ones, at the borders between chips, reach a pixel further.
    """
    return [panel for n, place in enumerate(geometry.module) for panel in _chips(n, place)]


def _chips(n: int, place: ModulePlace) -> Iterator[Panel]:
    """Those of module `n`."""
    turned = place.turn(np.arange(PLACE_ROWS * PLACE_COLUMNS).reshape(PLACE_ROWS, PLACE_COLUMNS))
    lies = np.empty(turned.size, np.int64)
    lies[turned.reshape(-1)] = np.arange(turned.size)
    for row, column in itertools.product(range(0, MODULE_ROWS, CHIP), range(0, MODULE_COLUMNS, CHIP)):
        first = (row + 2 * (row // CHIP)) * PLACE_COLUMNS + column + 2 * (column // CHIP)
        (y, x), (y_fast, x_fast), (y_slow, x_slow) = (
            divmod(int(lies[first + step]), turned.shape[1]) for step in (0, 1, PLACE_COLUMNS)
        )
        fast, slow = (x_fast - x, y_fast - y), (x_slow - x, y_slow - y)
        # A pixel's outer corner is on its far side along a direction that falls.
        corner = (place.x + x + (-1 in (fast[0], slow[0])), place.y + y + (-1 in (fast[1], slow[1])))
        name = f"m{n}c{row // CHIP * (MODULE_COLUMNS // CHIP) + column // CHIP}"
        yield Panel(name, n * MODULE_ROWS + row, column, CHIP, CHIP, corner, fast, slow)
