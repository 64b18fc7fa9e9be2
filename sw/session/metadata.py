"""What is known of an experiment beside its frames: where the detector stands, the beam, the sample, names."""

import reprlib
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, ValidationError
from pydantic_core import ErrorDetails

from framelane.base.document_lines import toml_line
from framelane.base.documents import read_text
from framelane.base.errors import InputError, OptionError
from framelane.base.validation import all_said, on_line, words
from framelane.session.metadata_fields import FIELDS, LONGEST, Number

KEV_ANGSTROM = 12.398419843320026
"""Planck's constant times the speed of light, in keV angstrom (both exact in the SI of 2019)."""

Name = Annotated[str, Field(min_length=1, max_length=LONGEST, pattern=r"^[^\x00-\x1f]*$")]
_ENERGIES = {"energy_kev", "wavelength_angstrom"}


def _number(name: str) -> Any:
    known = FIELDS[name]
    assert isinstance(known, Number)
    return Field(None, ge=known.least, le=known.most, allow_inf_nan=False)


class Metadata(BaseModel):
    """The table `[metadata]` of a plan, and options of the commands; None is not known. OptionError for what cannot be.

    Units and ranges are in `metadata_fields`. `beam_x` and `beam_y` are in the image of the geometry where there is
    one, else in that of the file.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    distance_mm: float | None = _number("distance_mm")
    beam_x: float | None = _number("beam_x")
    beam_y: float | None = _number("beam_y")
    energy_kev: float | None = _number("energy_kev")
    wavelength_angstrom: float | None = _number("wavelength_angstrom")
    material: Literal["Si", "CdTe", "GaAs"] | None = None
    thickness_um: float | None = _number("thickness_um")
    sample: Name | None = None
    source_name: Name | None = None
    instrument: Name | None = None
    count_time_s: float | None = _number("count_time_s")
    frame_time_s: float | None = _number("frame_time_s")
    total_flux: float | None = _number("total_flux")
    serial_number: Name | None = None
    firmware: Name | None = None
    clock: Literal["utc", "tai", "own"] | None = None
    geometry: Name | None = None
    _read: tuple[Path, ...] = PrivateAttr(default=())

    def __init__(self, /, **given: Any) -> None:
        try:
            super().__init__(**given)
        except ValidationError as error:
            raise _refusal(error) from error
        if self.energy_kev is not None and self.wavelength_angstrom is not None:
            raise OptionError("{energy_kev} and {wavelength_angstrom} say the same: give one of them")
        if self.count_time_s and self.frame_time_s and self.count_time_s > self.frame_time_s:
            raise OptionError(
                "{count_time_s} {0:g} is more s than there are from frame to frame, {frame_time_s} {1:g}",
                *(self.count_time_s, self.frame_time_s),
            )

    @property
    def photon_energy_kev(self) -> float | None:
        """The photon energy in keV, from the energy or the wavelength; None if neither is known."""
        if self.wavelength_angstrom is not None:
            return KEV_ANGSTROM / self.wavelength_angstrom
        return self.energy_kev

    @property
    def files(self) -> list[Path]:
        """The files that it was read from, and that of the geometry, where there is a file of that name."""
        return [*self._read, *([Path(self.geometry)] if self.geometry is not None else [])]

    @property
    def given(self) -> dict[str, Any]:
        """What is known."""
        return self.model_dump(exclude_none=True)

    def updated(self, other: "Metadata") -> "Metadata":
        """This, and in its place what `other` knows."""
        replaced = _ENERGIES if _ENERGIES & other.given.keys() else set()
        made = Metadata(**{name: value for name, value in self.given.items() if name not in replaced} | other.given)
        made._read = (*self._read, *other._read)
        return made

    @classmethod
    def load(cls, path: Path) -> Self:
        """The table `[metadata]` of a TOML file, such as a plan. InputError where that is not usable."""
        text = read_text(path, "metadata")
        try:
            tables = tomllib.loads(text)
        except (ValueError, RecursionError) as error:
            raise InputError(f"{path} is not TOML: {error}") from error
        if "metadata" not in tables:
            raise InputError(f"{path} has no table [metadata]: write one, or give its values one by one")
        return cls.of_table(tables["metadata"], path, text)

    @classmethod
    def of_table(cls, table: object, path: Path, text: str = "") -> Self:
        """The same of a table that was read from `path`, whose `text` says on which line a key is.

        InputError where it is not usable.
        """
        if not isinstance(table, Mapping):
            raise InputError(f"{path}: metadata is not a table: write [metadata] above its keys")
        try:
            made = cls(**table)
        except OptionError as error:
            cause = error.__cause__
            said = _refusal(cause, text) if isinstance(cause, ValidationError) else error
            raise InputError(f"{path}: [metadata]: {said}") from error
        made._read = (path,)
        return made


def _refusal(error: ValidationError, text: str = "") -> OptionError:
    """What is wrong, each with what is wanted and its unit, and its line in the `text`."""
    values: list[str] = []

    def say(each: ErrorDetails) -> str:
        name = str(each["loc"][0])
        known = name in FIELDS
        value = f"{{{len(values)}}}"
        values.append(reprlib.repr(each["input"] if known else name))
        said = (
            f"{{{name}}} cannot be {value}, wanted is: {FIELDS[name].wanted}"
            if known
            else f"{value} {words(each, Metadata)}"
        )
        return said + on_line(toml_line(text, ("metadata", name)))

    return OptionError(all_said(error, say), *values)
