"""What can be said of an experiment: each key of the table `[metadata]`, which is an option too, its unit and range."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Number:
    """A number from `least` to `most`."""

    said: str
    least: float
    most: float

    @property
    def wanted(self) -> str:
        """The allowed values, in words."""
        return f"{self.said}, {self.least:g} to {self.most:g}"


@dataclass(frozen=True, slots=True)
class Text:
    """A text, or one of `choices` where there are some."""

    said: str
    choices: tuple[str, ...] = ()

    @property
    def wanted(self) -> str:
        """The allowed values, in words."""
        return f"{self.said}: {' or '.join(self.choices)}" if self.choices else f"{self.said}, up to {LONGEST} letters"


LONGEST = 200
FIELDS: dict[str, Number | Text] = {
    "distance_mm": Number("distance from sample to detector, mm", 1, 100_000),
    "beam_x": Number("where the beam hits, pixels from the outer edge of column 0", -100_000, 100_000),
    "beam_y": Number("where the beam hits, pixels from the outer edge of row 0", -100_000, 100_000),
    "energy_kev": Number("energy of a photon, keV", 0.1, 200),
    "wavelength_angstrom": Number("wavelength in place of the energy, angstrom", 0.06, 124),
    "material": Text("material of the sensor", ("Si", "CdTe", "GaAs")),
    "thickness_um": Number("thickness of the sensor, um", 1, 10_000),
    "sample": Text("name of the sample"),
    "source_name": Text("name of the synchrotron or laser"),
    "instrument": Text("name of the beamline"),
    "count_time_s": Number("exposure time of a frame, s", 1e-9, 100_000),
    "frame_time_s": Number("time from frame to frame, s", 1e-9, 100_000),
    "total_flux": Number("flux of the beam at the sample, photons per second", 1, 1e20),
    "serial_number": Text("serial number of the detector"),
    "firmware": Text("version of the detector's firmware"),
    "clock": Text("clock of the time stamps: ns since 1970, or the source's own time", ("utc", "tai", "own")),
    "geometry": Text("where the modules are: jungfrau_4m, or a file (docs/howto/geometry.md)"),
}
