"""`framelane demo`: frames of a detector through the gateware, over a wire, to a picture; no hardware."""

import contextlib
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

import numpy as np
from rich.console import Console

from framelane.base.claim import json_with
from framelane.base.errors import ConfigError
from framelane.base.output import OutputFolder
from framelane.base.progress import Stages, say
from framelane.calibration.calibration_file import CalibrationFile, write_calibration
from framelane.demo import link, report, sources, ways
from framelane.demo.ledger import Ledger
from framelane.demo.link import LinkOptions
from framelane.demo.sources import FileSource, RecordedSource, SimulatedSource, Source
from framelane.demo.summary import Summary
from framelane.driver.simulated import pcie_host
from framelane.driver.simulated.library import WIDTHS
from framelane.files.linked_files import with_linked
from framelane.files.recorded_file import RecordedFile
from framelane.models.jungfrau.jf_fixed import FixedCalibration, quantize
from framelane.models.memory.frame_store import FrameInfo
from framelane.receiver.geometry.describe import describe
from framelane.receiver.jungfrau.jungfrau_file import JungfrauFile
from framelane.receiver.pipeline.corrected import CorrectedImages
from framelane.receiver.pipeline.judging import Judging
from framelane.receiver.pipeline.ladder import powers_of_two
from framelane.receiver.pipeline.pipeline import Pipeline, Process
from framelane.receiver.pipeline.veto import Veto
from framelane.receiver.sinks.file_options import FileOptions
from framelane.receiver.sinks.hdf5 import Hdf5Sink
from framelane.session.session import Session

MOST_MODULES = 64
MOST_FRAMES = 1_000_000
_RESULTS = ("report.png", "frames.h5", "tx.pcap", "session.json", "calibration.h5", "summary.json")

_OF_A_DEMO = "summary.json", json_with("a summary of a demo", "frames_sent", "rtl_cycles", "lost")


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoOptions:
    """What the user chose; None: the default. Raises ConfigError for what cannot be."""

    input: Path | None
    calibration: Path | None
    frames: int | None
    modules: int | None
    correct: Literal["host", "gateware"]
    drop: float
    seed: int
    mtu: int
    segmentation: Literal["only", "message"]
    slots: int
    slot_bytes: int | None
    link: LinkOptions
    width: int
    output: Path
    threshold: int
    file: FileOptions = field(default_factory=FileOptions)
    force: bool = False
    """Files that are not results of an older demo are replaced, too."""

    def __post_init__(self) -> None:
        if not 0 <= self.drop <= 1:
            raise ConfigError(f"--drop {self.drop:g} is not a share of the packets: give 0 to 1")
        if self.seed < 0:
            raise ConfigError(f"--seed {self.seed} is negative: give 0 or more")
        for name, value in (("frames", self.frames), ("modules", self.modules)):
            if value is not None and value < 1:
                raise ConfigError(f"--{name} {value} is too few: give 1 or more")
        if (self.frames or 1) > MOST_FRAMES:
            raise ConfigError(f"--frames {self.frames} is too many for a demo: give at most {MOST_FRAMES}")
        if (self.modules or 1) > MOST_MODULES:
            raise ConfigError(f"--modules {self.modules} is too many for one image: give at most {MOST_MODULES}")
        if self.link.transport == "pcie":
            self._check_pcie()
        if self.width not in WIDTHS:
            raise ConfigError(f"--width {self.width} is impossible: choose one of {', '.join(map(str, WIDTHS))}")
        if self.input is not None and self.modules is not None:
            raise ConfigError("--modules is for the simulated detector: leave out --input or --modules")
        if self.calibration is not None and self.input is None:
            raise ConfigError("--calibration is for the frames of a file: give --input as well")

    def _check_pcie(self) -> None:
        if self.width not in pcie_host.WIDTHS:
            widths = ", ".join(map(str, pcie_host.WIDTHS))
            raise ConfigError(f"--width {self.width} is impossible with --transport pcie: choose one of {widths}")
        if self.drop:
            raise ConfigError("--drop loses packets of a network, PCIe repeats what is lost: leave out one of them")


def run(options: DemoOptions, console: Console) -> Summary:
    """Run the demo and write its results. Raises FramelaneError for bad input, and then leaves nothing behind."""
    start = time.monotonic()
    with contextlib.ExitStack() as stack:
        path = options.input if options.input or options.modules else sources.real_frames()
        given = [each for each in (path, options.calibration) if each]
        inputs = with_linked([*given, *options.file.metadata.files])
        source = _source(options, path, stack)
        fixed = quantize(source.calibration)
        judging = Judging(veto=Veto(options.threshold), rungs=powers_of_two())
        file = replace(options.file, metadata=source.metadata.updated(options.file.metadata))
        description = describe(
            file.metadata,
            (source.rows, source.columns),
            photon_energy_kev=source.calibration.photon_energy_kev,
            usable=source.calibration.usable[0],
        )
        session = _session(options, source)
        open_way = stack.enter_context(
            ways.ready(options.link, session, fixed, options.width, options.drop, options.seed)
        )
        results = tuple(name for name in _RESULTS if name != "tx.pcap" or options.link.transport != "pcie")
        work = stack.enter_context(OutputFolder(options.output, results, inputs, older=_OF_A_DEMO, force=options.force))
        stages = stack.enter_context(Stages(console))
        with stages.stage(f"build the gateware, {options.width} bits wide (up to a minute the first time)"):
            chain = stack.enter_context(open_way(work))
        with stages.stage("compile the pipeline (10 s the first time)"):
            process = _process(session, fixed, judging)
            process(np.zeros((session.rows, session.columns), np.uint16))
        ledger = Ledger(source.calibration, fixed, session.pixels == "corrected")
        with Hdf5Sink(
            work / "frames.h5",
            session,
            photon_energy_kev=source.calibration.photon_energy_kev,
            description=description,
            options=file,
            frames=source.n_frames,
            judging=judging,
        ) as sink:
            for number in stages.track(f"send and receive: {source.name}", range(source.n_frames)):
                sent = source.frame(number)
                loss, frames = chain.send(FrameInfo(number, sent.timestamp_ns, sent.bunch_id), sent.raw)
                for frame in frames:
                    result = process(frame.image)
                    sink.write(frame, result)
                    ledger.add(sent, loss, frame, result)
                    chain.receiver.release(frame)
                if not frames:
                    ledger.miss(number, loss)
                stages.say(f"frame {number}: {ledger.fate(number)}")
        counters, tally = chain.counters, chain.receiver.tally(source.n_frames)
        wall_s = time.monotonic() - start
        summary = Summary.of(
            source=source.name,
            corrected_by=options.correct,
            tally=tally,
            ledger=ledger,
            traffic=chain.traffic,
            counters=counters,
            cycles=chain.cycles,
            drop=options.drop,
            wall_s=wall_s,
        )
        with stages.stage("draw the report"):
            title = _title(source, ledger)
            report.draw(work / "report.png", title, ledger.exhibit, summary.lines())
        session.save(work / "session.json")
        write_calibration(work / "calibration.h5", source.calibration)
        summary.save(work / "summary.json")
    console.print()
    summary.show(console)
    console.print()
    say(console, f"loss identity: {tally}")
    for sentence in summary.faults():
        say(console, sentence, style="red")
    say(console, f"see {options.output}/: {', '.join(results)}")
    return summary


def _source(options: DemoOptions, path: Path | None, stack: contextlib.ExitStack) -> Source:
    """The frames of the file `path`; those of the simulated detector where it is None."""
    if path is not None and options.calibration is not None:
        file = stack.enter_context(RecordedFile(path))
        calibration = stack.enter_context(CalibrationFile(options.calibration, file.high_gain))
        return RecordedSource(file, calibration, options.frames)
    if path is not None:
        return FileSource(stack.enter_context(JungfrauFile(path)), options.frames)
    return SimulatedSource(options.modules or 1, options.frames or sources.DEFAULT_FRAMES, options.seed)


def _process(session: Session, fixed: FixedCalibration, judging: Judging) -> Process:
    if session.pixels == "raw":
        return Pipeline(fixed, judging)
    return CorrectedImages((session.rows, session.columns), judging)


def _session(options: DemoOptions, source: Source) -> Session:
    return link.make_session(
        options.link,
        mtu=options.mtu,
        segmentation=options.segmentation,
        n_slots=options.slots,
        slot_bytes=options.slot_bytes,
        rows=source.rows,
        columns=source.columns,
        pixels="raw" if options.correct == "host" else "corrected",
    )


def _title(source: Source, ledger: Ledger) -> str:
    if ledger.exhibit is None:
        return f"{source.name}: no frame arrived"
    return f"{source.name}, frame {ledger.exhibit.number}: {ledger.fate(ledger.exhibit.number)}"
