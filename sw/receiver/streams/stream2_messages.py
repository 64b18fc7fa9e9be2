"""Messages of DECTRIS' stream2: github.com/dectris/documentation, folders stream_v2 and cbor; arrays by RFC 8746."""

import secrets
import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

import framelane
from framelane.base.real_time import is_real, iso
from framelane.models.jungfrau.jf_panels import PIXEL_M
from framelane.receiver.live.frame import Frame
from framelane.receiver.sinks.description import Description
from framelane.receiver.sinks.pixel_form import RAW, PixelForm
from framelane.receiver.streams.bslz4 import bslz4
from framelane.receiver.streams.cbor import Tag, encode
from framelane.session.metadata import KEV_ANGSTROM

CHANNEL = "default"
"""There is one, not one for each energy threshold."""
_DATE, _ROWS_FIRST, _COMPRESSED = 0, 40, 56500
_TYPED = {"uint8": 64, "uint16": 69, "uint32": 70, "int16": 77, "int32": 78, "float32": 85}
_NS = 1_000_000_000


@dataclass(slots=True, kw_only=True)
class Series:
    """One run, in the words of stream2: its messages, of images (rows, columns) that are reduced `by` so much."""

    description: Description
    form: PixelForm
    unit: str
    fraction_bits: int
    by: int = 1
    number: int = 1
    images: int | None = None
    """How many images the series will have, if that is known."""
    unique: str = field(default_factory=lambda: secrets.token_hex(16))
    begun_ns: int = field(default_factory=time.time_ns)
    _first_ns: int | None = None
    """Time stamp of the first frame, from which those of the others count."""

    def start(self) -> bytes:
        """What is known before the first frame."""
        known, by = self.description, self.by
        given = known.metadata
        energy_kev = known.photon_energy_kev
        message: dict[str, Any] = {
            "type": "start",
            "arm_date": self._date(),
            "beam_center_x": _centre(given.beam_x, by),
            "beam_center_y": _centre(given.beam_y, by),
            "channels": [CHANNEL],
            "count_time": given.count_time_s,
            "countrate_correction_enabled": False,
            "detector_description": known.detector,
            "detector_serial_number": given.serial_number,
            "detector_translation": None if given.distance_mm is None else [0.0, 0.0, given.distance_mm / 1e3],
            "flatfield_enabled": False,
            "frame_time": given.frame_time_s,
            "goniometer": {},
            "image_size_x": known.shape[1] // by,
            "image_size_y": known.shape[0] // by,
            "incident_energy": None if energy_kev is None else energy_kev * 1e3,
            "incident_wavelength": None if energy_kev is None else KEV_ANGSTROM / energy_kev,
            "number_of_images": self.images,
            "pixel_mask": None if known.mask is None or by > 1 else {CHANNEL: compressed(known.mask)},
            "pixel_mask_enabled": known.mask is not None,
            "pixel_size_x": PIXEL_M * by,
            "pixel_size_y": PIXEL_M * by,
            "saturation_value": None if self.form.highest is None else int(self.form.highest),
            "sensor_material": given.material,
            "sensor_thickness": None if given.thickness_um is None else given.thickness_um / 1e6,
            "series_id": self.number,
            "series_unique_id": self.unique,
            "threshold_energy": {},
            "user_data": {
                "software": f"framelane {framelane.__version__}",
                "image_dtype": self.form.dtype.name,
                "codes": {name: int(value) for name, value in self.form.codes.items()},
                "unit": "ADU words" if self.form is RAW else self.unit,
                "scale": 2.0**-self.fraction_bits if self.form is not RAW else 1.0,
                "reduce": by,
            },
            "virtual_pixel_interpolation_enabled": False,
        }
        return encode({name: value for name, value in message.items() if value is not None})

    def image(self, about: dict[str, Any], image: NDArray[Any] | None) -> bytes:
        """One frame, of which `about_frame` tells; None: it was rejected, and has no image."""
        stamp_ns, count_s = about["timestamp_ns"], self.description.metadata.count_time_s
        message: dict[str, Any] = {
            "type": "image",
            "data": {} if image is None else {CHANNEL: compressed(image)},
            "image_id": about["frame"],
            "series_date": self._date(),
            "series_id": self.number,
            "series_unique_id": self.unique,
        }
        if count_s is not None:
            message["real_time"] = [round(count_s * _NS), _NS]
        if stamp_ns is not None:
            self._first_ns = stamp_ns if self._first_ns is None else self._first_ns
            after_ns = max(0, stamp_ns - self._first_ns)
            message["start_time"] = [after_ns, _NS]
            message["stop_time"] = [after_ns + round((count_s or 0.0) * _NS), _NS]
        return encode({**message, "user_data": about})

    def end(self) -> bytes:
        """It is over."""
        return encode({"type": "end", "series_id": self.number, "series_unique_id": self.unique})

    def _date(self) -> Tag:
        return Tag(_DATE, iso(self.begun_ns))


def about_frame(frame: Frame) -> dict[str, Any]:
    """What is sent with an image as `user_data`: a frame's number, time, completeness and verdict."""
    stamp = frame.timestamp_ns
    return {
        "frame": frame.number,
        "detector_frame": frame.detector_frame,
        "timestamp_ns": stamp,
        "timestamp_is_utc": stamp is not None and is_real(stamp) and not frame.time_flags.stamped,
        "time_flags": frame.received.time_flags,
        "bunch_id": frame.bunch_id,
        "complete": frame.complete,
        "holes": frame.holes,
        "peaks": frame.verdict.peaks,
        "accepted": frame.accepted,
        "reason": frame.verdict.reason.name,
    }


def compressed(array: NDArray[Any]) -> Tag:
    """An array, row by row (tag 40), of little endian numbers (RFC 8746) that are compressed (tag 56500)."""
    little = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
    packed = Tag(_COMPRESSED, ["bslz4", little.itemsize, bslz4(little)])
    return Tag(_ROWS_FIRST, [list(array.shape), Tag(_TYPED[array.dtype.name], packed)])


def _centre(pixel: float | None, by: int) -> float | None:
    """A place in reduced pixels: 0 is the middle of the first."""
    return None if pixel is None else (pixel + 0.5) / by - 0.5
