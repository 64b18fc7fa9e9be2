"""A board's memory in the file that configures it: the frame store's slots, and the constants of the correction."""

from collections.abc import Callable
from pathlib import Path

from framelane.base.errors import ConfigError
from framelane.driver.config.board_document import BoardDocument, CorrectionTable, Source, Store, at
from framelane.driver.registers.entries import FrameRing, check_memory
from framelane.models.jungfrau import jf_constants
from framelane.models.jungfrau.jf_fixed import FixedCalibration
from framelane.models.memory.image_writer import Correction
from framelane.models.placement.slots import SLOT_ALIGN

IMAGE_ALIGN = 128
"""Corrected images begin at multiples of it: a beat of the widest bus, in bytes."""

Calibrate = Callable[[Path, CorrectionTable], FixedCalibration]
"""Reads the calibration at a path as the table wants it; InputError or ConfigError where that cannot be."""


def correction_of(path: Path, document: BoardDocument, calibrate: Calibrate) -> Correction | None:
    """How frames are corrected by the file at `path`; None: they are not. InputError where that cannot be."""
    table = document.correction
    if table is None:
        return None
    with at(path, "[correction]"):
        if document.store is None:
            raise ConfigError("frames are corrected on the way to the frame store: say in [store] where its memory is")
        source = _plain(document.source)
        image_bytes = source.rows * source.columns * source.pixel_bytes
        fixed = calibrate(path.parent / table.calibration, table)
        shape = fixed.pedestal.shape[1:]
        if shape != (source.rows, source.columns):
            raise ConfigError(
                f"calibration: it is for {shape[0]} x {shape[1]} pixels, the image of [source] has {source.rows} x "
                f"{source.columns}: give the calibration of this detector, or correct [source]"
            )
        offset = _up(image_bytes, IMAGE_ALIGN)
        pitch = jf_constants.needed_pitch(image_bytes) if table.pitch is None else table.pitch
        correction = Correction(fixed, offset, table.base, pitch)
        if table.base + jf_constants.PLANES * pitch > 1 << 64:
            raise ConfigError(f"base: constants at {table.base:#x} would end behind the last address: give a lower one")
        return correction


def ring_of(path: Path, document: BoardDocument, correction: Correction | None) -> FrameRing | None:
    """The memory of the frame store by the file at `path`; None: no frame store. InputError where that cannot be."""
    store = document.store
    if store is None:
        return None
    with at(path, "[store]"):
        ring = _ring(store, document.source, correction)
    if correction:
        with at(path, "[correction]"):
            check_memory(ring, correction)
    return ring


def _ring(store: Store, image: Source | None, correction: Correction | None) -> FrameRing:
    if store.slot_bytes is None and image is None:
        raise ConfigError("slot_bytes: is missing: give it, or the size of the image in [source]")
    needed, what = 0, "the image of [source]"
    if image:
        needed = image.offset + image.rows * image.line_pitch
    if correction:
        needed, what = correction.offset + correction.image_bytes, f"{what} and the corrected one behind it"
    if _up(needed, SLOT_ALIGN) >> 32:
        raise ConfigError(f"{what} would need slots of {needed} bytes, they have less than 4 GiB: send smaller images")
    if store.slot_bytes and store.slot_bytes < needed:
        raise ConfigError(f"slot_bytes: {store.slot_bytes} are too few for {what}: give {needed} or more")
    return FrameRing(store.base, store.slot_bytes or _up(needed, SLOT_ALIGN), store.slots)


def _plain(source: Source | None) -> Source:
    """The image, if it can be corrected: JUNGFRAU words without gaps. ConfigError for any other."""
    if source is None:
        raise ConfigError("the size of the detector's image is not known: give rows and columns in [source]")
    if source.pixel_bytes != 2:
        raise ConfigError(
            f"pixels of {source.pixel_bytes} bytes in [source] cannot be corrected: JUNGFRAU words have 2"
        )
    if source.offset or source.line_pitch != source.columns * source.pixel_bytes:
        raise ConfigError(
            "only images without gaps can be corrected, word by word from the first byte on: remove offset and pitch "
            "from [source], and let the detector send lines one behind the other"
        )
    return source


def _up(size: int, unit: int) -> int:
    return -(-size // unit) * unit
