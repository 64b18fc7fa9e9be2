"""The record of how the pedestals of a detector drift, and the warnings when a module goes too far."""

import logging
from dataclasses import asdict, astuple, dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from framelane.base.errors import ConfigError

_LOG = logging.getLogger(__name__)
_BACK = 0.8
"""A warning is over, and may be given again, below this share of its limit."""

_FEWEST = 100
"""Dark frames before a share of them means anything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DriftLimits:
    """Limits beyond which a module's drift causes a warning. ConfigError for a limit that is not above 0."""

    drift_adu: float = 25.0
    """Mean drift of a module since the start, either way. G1 and G2 drift too, and nothing tracks these."""

    rate_adu_per_s: float = 2.0
    """Its rate, either way."""

    refused: float = 0.5
    """Share of the dark frames since the last row that were not dark."""

    def __post_init__(self) -> None:
        if not all(limit > 0 for limit in (self.drift_adu, self.rate_adu_per_s, self.refused)):
            raise ConfigError("a drift's limits are numbers above 0: drift_adu, rate_adu_per_s and refused")


@dataclass(frozen=True, slots=True)
class DriftRow:
    """One module at one time. Counts are since the start."""

    module: int
    timestamp_ns: int
    """The time stamp of the newest dark frame as its source tells it, 0 if it does not."""
    elapsed_s: float
    """Since the first dark frame, by the tracker's own clock."""
    drift_adu: float
    """Mean drift of the module's pixels since the start."""
    rate_adu_per_s: float
    """The rate of the module's mean drift, now."""
    spread_adu: float
    """By how much the pixels' drifts differ, rms, what noise is left in the pedestals included."""
    frames: int
    """Dark frames that came."""
    refused: int
    """Those of them that were refused, by the chip that refused most."""
    outliers: int
    """Words that were not taken, of the other frames."""
    restarts: int
    """Pixels that started anew."""


@dataclass(frozen=True, slots=True)
class DriftWarning:
    """What was said of a module, and when (see `DriftRow`)."""

    module: int
    timestamp_ns: int
    elapsed_s: float
    text: str


@dataclass(frozen=True, slots=True)
class DriftRecord:
    """The rows of all modules as they came, and the warnings. Every warning is logged as well."""

    limits: DriftLimits = field(default_factory=DriftLimits)
    rows: list[DriftRow] = field(default_factory=list)
    warnings: list[DriftWarning] = field(default_factory=list)
    _last: dict[int, DriftRow] = field(default_factory=dict, repr=False)
    _over: set[tuple[int, str]] = field(default_factory=set, repr=False)

    def add(self, row: DriftRow) -> None:
        """Append a row; warn where it passes a limit that the module had kept to before."""
        before = self._last.get(row.module)
        frames, refused = row.frames - (before.frames if before else 0), row.refused - (before.refused if before else 0)
        since = "since the start" if before is None else "since the last look"
        limits = self.limits
        self._judge(
            row,
            "drift",
            value=abs(row.drift_adu),
            limit=limits.drift_adu,
            text=f"has drifted by {row.drift_adu:.1f} ADU since the start, more than {limits.drift_adu:g} ADU: check "
            "its temperature, and take new dark runs of all stages",
        )
        self._judge(
            row,
            "rate",
            value=abs(row.rate_adu_per_s),
            limit=limits.rate_adu_per_s,
            text=f"drifts by {row.rate_adu_per_s:.2f} ADU/s, faster than {limits.rate_adu_per_s:g} ADU/s: check its "
            "temperature and supplies",
        )
        self._judge(
            row,
            "refused",
            value=refused / max(frames, 1) if frames >= _FEWEST else 0.0,
            limit=limits.refused,
            text=f"refused {refused} of {frames} dark frames {since}, since they have too many outliers: check which "
            "frames are dark, and mask chips that do not work",
        )
        self.rows.append(row)
        if frames >= _FEWEST or before is None:
            self._last[row.module] = row

    def table(self) -> NDArray[Any]:
        """All rows as a structured array, a field for each of `DriftRow`."""
        types = [(each.name, "f8" if each.type is float or each.type == "float" else "i8") for each in fields(DriftRow)]
        return np.array([astuple(row) for row in self.rows], dtype=types)

    def document(self) -> dict[str, Any]:
        """All of it for JSON."""
        return {
            "limits": asdict(self.limits),
            "rows": [asdict(row) for row in self.rows],
            "warnings": [asdict(warning) for warning in self.warnings],
        }

    def _judge(self, row: DriftRow, kind: str, *, value: float, limit: float, text: str) -> None:
        key = (row.module, kind)
        if value < limit * _BACK:
            self._over.discard(key)
        elif value > limit and key not in self._over:
            self._over.add(key)
            warning = DriftWarning(row.module, row.timestamp_ns, row.elapsed_s, f"module {row.module} {text}")
            self.warnings.append(warning)
            _LOG.warning("%s", warning.text)
