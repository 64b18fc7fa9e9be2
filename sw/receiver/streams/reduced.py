"""Images of fewer pixels, for viewers."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from framelane.base.compiled import compiled


def reduced(image: NDArray[Any], by: int) -> NDArray[Any]:
    """The greatest of `by` x `by` pixels, (rows // by, columns // by): a peak stays, a missing one of uint16, too."""
    if by == 1:
        return image
    out = np.empty((image.shape[0] // by, image.shape[1] // by), image.dtype)
    _reduce(image, by, out)
    return out


@compiled
def _reduce(image: NDArray[Any], by: int, out: NDArray[Any]) -> None:
    for row in range(out.shape[0]):
        for column in range(out.shape[1]):
            most = image[row * by, column * by]
            for y in range(row * by, row * by + by):
                for x in range(column * by, column * by + by):
                    most = max(most, image[y, x])
            out[row, column] = most
