"""What is written of judged frames, whoever received or corrected them: images, records, peaks and sparse rows."""

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from framelane.files.committed_file import MOST_CHUNKS
from framelane.receiver.pipeline.judging import Judging
from framelane.receiver.pipeline.random_share import RandomShare
from framelane.receiver.pipeline.result import Result, SparseRows
from framelane.receiver.sinks import nxmx
from framelane.receiver.sinks.peak_table import COUNT, PeakTable

_SPARSE_CHUNK = 1 << 16


class JudgedFrames:
    """The datasets of frames in `entry`, in which `data/data` is there already, for images of the unit `unit`.

    Every frame has its `records`, whose names and types are in `nxmx.RECORD`. `judging` adds its ladder, its Bragg
    peaks and their places. Sparse rows are there from the beginning with `sparse`, else from the first frame that has
    them. Their pointers begin at `first_value`, and their threshold is that of `judging`. `share` is recorded: the
    rejected frames that are kept. So is the epoch of the time stamps, from the first frame or the source's `clock`. A
    rejected frame has records and peaks but no image: all of its pixels read as the fill value.
    """

    def __init__(
        self,
        entry: Any,
        *,
        unit: str,
        records: Collection[str],
        fraction_bits: int = 0,
        judging: Judging | None = None,
        share: RandomShare | None = None,
        sparse: bool = False,
        first_value: int = 0,
        clock: str | None = None,
    ) -> None:
        self.frames, self._clock = 0, clock
        self._timed = False
        """Whether a frame has come whose time is known: the first such tells the epoch."""
        self._entry, self._unit = entry, unit
        self._data = entry["data/data"]
        self._columns = {}
        """What is not written yet of each dataset's last chunk, by its path in the entry."""
        for name in records:
            nxmx.extensible(entry["data"], name, nxmx.RECORD[name], (), chunk=nxmx.RECORDS_A_CHUNK)
            self._columns[f"data/{name}"] = np.zeros(nxmx.RECORDS_A_CHUNK, nxmx.RECORD[name])
        for name, attributes in nxmx.RECORD_ATTRIBUTES.items():
            if name in records:
                entry["data"][name].attrs.update(attributes)
        self._peaks: PeakTable | None = None
        self._sparse: Any = None
        self._first_value, self._values = first_value, 0
        self._sparse_threshold = judging.sparse if judging else None
        if sparse:
            self._make_sparse()
        if judging and judging.rungs:
            self._columns["data/ladder"] = nxmx.make_ladder(entry["data"], judging.rungs, unit)
        if judging and judging.bragg:
            self._columns["data/bragg_peaks"] = nxmx.make_bragg_peaks(entry["data"], judging.bragg)
            self._peaks = PeakTable(entry, judging.bragg.limit, unit, fraction_bits)
            self._columns[COUNT] = np.zeros(nxmx.RECORDS_A_CHUNK, np.uint32)
        if share:
            entry["data/accepted"].attrs.update({"kept_share": share.share, "kept_seed": np.uint64(share.seed)})

    @property
    def values(self) -> int:
        """How many values the sparse rows have, with those of the files before."""
        return self._first_value + self._values

    @property
    def filled(self) -> bool:
        """Whether a dataset has as many chunks as one of a growing file may have."""
        return max(self.frames, self._values // _SPARSE_CHUNK) >= MOST_CHUNKS

    def append(self, record: Mapping[str, Any], result: Result, image: NDArray[Any] | None = None) -> None:
        """Add one frame; of `record` what `result` does not tell. `image` is in the place of that of the result."""
        counts, verdict = result.counts, result.verdict
        known: dict[str, Any] = {
            **{"holes": counts.holes, "saturated": counts.saturated, "invalid": counts.invalid},
            **{"masked": counts.masked, "peaks": counts.peaks},
            **{"threshold": verdict.threshold, "minimum_peaks": verdict.minimum},
            **{"accepted": verdict.accepted, "reason": verdict.reason, **record},
        }
        values = {f"data/{name}": value for name, value in known.items()}
        if "data/ladder" in self._columns:
            values["data/ladder"] = result.ladder
        if self._peaks:
            assert result.bragg is not None
            values["data/bragg_peaks"], values[COUNT] = verdict.peaks, self._peaks.append(result.bragg)
        for name, column in self._columns.items():
            column[self.frames % nxmx.RECORDS_A_CHUNK] = values[name]
        if not self.frames:
            self._entry["data/peaks"].attrs.update({"threshold": verdict.threshold, "threshold_units": self._unit})
            self._entry["data/accepted"].attrs["minimum_peaks"] = verdict.minimum
        if not self._timed and "data/timestamp_ns" in values:
            stamp, flags = values["data/timestamp_ns"], values.get("data/time_flags", 0)
            nxmx.name_epoch(self._entry["data/timestamp_ns"], stamp, self._clock, flags)
            self._timed = bool(stamp)
        self.frames += 1
        self._data.resize(self.frames, axis=0)
        if verdict.accepted:
            self._data[-1] = result.image if image is None else image
        if result.sparse is not None or self._sparse is not None:
            self._append_rows(result.sparse)
        if self.frames % nxmx.RECORDS_A_CHUNK == 0:
            self._flush(nxmx.RECORDS_A_CHUNK)

    def retract(self) -> None:
        """Take the last frame out again. Not twice in a row."""
        self.frames -= 1
        self._data.resize(self.frames, axis=0)
        if self._peaks:
            self._peaks.retract()
        if self._sparse is not None:
            start = int(self._sparse["pointers"][-1, 0]) - self._first_value
            self._sparse["pointers"].resize(self.frames, axis=0)
            for name in ("columns", "values"):
                self._sparse[name].resize(start, axis=0)
            self._values = start

    def complete(self) -> None:
        """Write what is still in memory of the frames so far."""
        self._flush(self.frames % nxmx.RECORDS_A_CHUNK)

    def _make_sparse(self) -> None:
        self._sparse = self._entry.create_group("sparse")
        self._sparse.attrs["first_value"] = self._first_value
        if self._sparse_threshold is not None:
            self._sparse.attrs.update({"threshold": self._sparse_threshold, "threshold_units": self._unit})
        nxmx.extensible(self._sparse, "pointers", "i8", (self._data.shape[1] + 1,), chunk=1, **nxmx.packed())
        for name, dtype in (("columns", "i4"), ("values", "i2")):
            nxmx.extensible(self._sparse, name, dtype, (), chunk=_SPARSE_CHUNK, **nxmx.packed())

    def _append_rows(self, rows: SparseRows | None) -> None:
        """Add the rows of the newest frame; none for a rejected one."""
        if self._sparse is None:
            self._make_sparse()
        start = self._values
        self._sparse["pointers"].resize(self.frames, axis=0)
        self._sparse["pointers"][-1] = self._first_value + start + (rows.pointers if rows else 0)
        if rows and len(rows.values):
            for name, part in (("columns", rows.columns), ("values", rows.values)):
                self._sparse[name].resize(start + len(part), axis=0)
                self._sparse[name][start:] = part
            self._values = start + len(rows.values)

    def _flush(self, n: int) -> None:
        """Write the records of the last `n` frames."""
        for name, column in self._columns.items() if n else ():
            dataset = self._entry[name]
            dataset.resize(self.frames, axis=0)
            dataset[self.frames - n :] = column[:n]
