"""What `framelane recv` says at the end of a run."""

from collections import Counter
from pathlib import Path

from framelane.base.errors import InputError
from framelane.cli.option_names import spelled
from framelane.receiver import Live, Reason, Reception, Recorder, RunStatistics, Stream

_MOST_NAMED = 20


def packets(statistics: RunStatistics) -> list[str]:
    """What came over the wire, and what was wrong with it."""
    counters, strays, misfit = statistics.counters, statistics.strays, statistics.first_misfit
    lines = [f"{counters.packets} packets, {counters.placed} of them placed in the ring"]
    if counters.completions and not counters.packets:  # an RDMA device places them, and tells of trailers only
        lines = [f"{counters.completions} trailers came"]
    lines += [f"{n} refused for {why}, first {counters.examples[why]}" for why, n in counters.refused.items()]
    name = "immediate" if strays == 1 else "immediates"
    oddities = {
        f"{counters.skipped} skipped: PSNs whose packets did not come, or come later": counters.skipped,
        f"{counters.behind} behind: packets that come late, or twice": counters.behind,
        f"{counters.queue_drops} dropped by the kernel, whose queue was full": counters.queue_drops,
        f"{strays} stray {name}, without a trailer of an open frame, first {statistics.first_stray}": strays,
    }
    lines += [line for line, n in oddities.items() if n]
    return [*lines, f"frames of another size than the session's are not kept: {misfit}"] if misfit else lines


def writes(reception: Reception) -> list[str]:
    """What an RDMA device has counted, beside what the sources have sent: nobody else may write to the ring."""
    if reception.writes is None:
        return []
    line = (
        f"{reception.writes} packets came to the device, {reception.packets_sent} were sent with the trailers that came"
    )
    return [line + (": somebody else sends to this port" if reception.foreign_writes else "")]


def thresholds(reception: Reception) -> list[str]:
    """What counts as a peak, and what the sparse rows hold."""
    options, session = reception.processing, reception.session
    if reception.prepared.judging is None:
        return []
    of = f"of the peak finder, snr {options.bragg.snr:g}, of pixels" if options.bragg else "a pixel"
    lines = [f"a peak is {of} of at least {options.veto.threshold} {session.unit}"]
    if options.sparse is not None:
        lines.append(f"sparse rows hold the pixels of at least {options.sparse} {session.unit}")
    return lines


def stream(stream: Stream) -> str:
    """What became of the frames of a stream."""
    counts = stream.counts
    line = f"stream {stream.address}: {counts.sent} frames sent, {counts.bytes / 1e6:.1f} MB"
    line += f", {counts.dropped} that nobody took in time" if counts.dropped else ""
    line += f", {counts.overwritten} overwritten before" if counts.overwritten else ""
    return f"{line}; {stream.fault}" if stream.fault else line


def frames(reception: Reception, recorder: Recorder, drift_file: Path, force: bool) -> list[str]:
    """What became of the frames; the record of the pedestals is written on the way."""
    prepared = reception.prepared
    lines, named = [], recorder.incomplete[:_MOST_NAMED]
    if named:
        more = ", ..." if len(recorder.incomplete) > len(named) else ""
        lines.append(f"incomplete frames: {', '.join(map(str, named))}{more}")
    if prepared.judging and reception.processing.minimum_peaks:
        lines.append(verdicts(recorder.reasons))
    if prepared.tracker is not None:
        lines += _drift(reception, drift_file, force)
    if unwritten := recorder.unwritten + reception.unprocessed:
        lines.append(f"{unwritten} frames came that are not in the file")
    nothing = "no frame came, nothing is written: `framelane doctor` says why"
    if isinstance(reception.source, Live) and reception.source.detector_layout is not None:
        nothing = 'no frame came, nothing is written: see "Nothing arrives" in docs/reference/jungfrau_packets.md'
    if reception.work_fault:
        nothing = "nothing is written"
    return [*lines, f"loss identity: {reception.tally}", f"see {recorder.path}" if recorder.kept else nothing]


def experiment(recorder: Recorder) -> list[str]:
    """What is missing for NXmx, where something is known of the experiment, but not all that is needed."""
    description = recorder.description
    if not recorder.frames or not description.metadata.given or not description.missing:
        return []
    return [f"the file does not claim to be NXmx: for that, give {', '.join(map(spelled, description.missing))}"]


def verdicts(reasons: Counter[Reason]) -> str:
    """What was judged."""
    return (
        f"{reasons[Reason.ENOUGH_PEAKS]} frames with enough peaks, {reasons[Reason.TOO_FEW_PEAKS]} rejected, "
        f"{reasons[Reason.KEPT_AT_RANDOM]} kept at random, {reasons[Reason.HAS_HOLES]} kept because of holes"
    )


def _drift(reception: Reception, path: Path, force: bool) -> list[str]:
    """Write the record of the tracked pedestals; what the user should know of it."""
    tracker = reception.prepared.tracker
    assert tracker is not None
    try:
        tracker.write_record(path, force=force)
        see = f"see {path}"
    except (OSError, InputError) as error:
        see = str(error) if isinstance(error, InputError) else f"cannot write {path}: {error.strerror}"
    newest = {row.module: row for row in tracker.record.rows}.values()
    lines = [
        f"module {row.module}: {row.frames} dark frames, {row.refused} refused, the pedestal has drifted by "
        f"{row.drift_adu:.1f} ADU"
        for row in newest
    ]
    return [*(lines or ["no dark frame came: the pedestals are those of the calibration"]), see]
