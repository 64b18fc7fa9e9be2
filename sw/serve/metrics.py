"""What Prometheus reads: the loss identity, refusals, latencies, the ring (docs/serve/README.md, Metrics)."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from prometheus_client import CollectorRegistry, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from framelane.receiver import Reason, RunStatistics, StreamCounts
from framelane.serve.run_record import FATES, Counted
from framelane.serve.service_state import State

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
STREAM_FATES = "sent", "not_wanted", "dropped", "overwritten"
_SECONDS = (0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)


class Timings:
    """Histograms of what takes how long."""

    def __init__(self, registry: CollectorRegistry) -> None:
        def histogram(name: str, what: str) -> Histogram:
            return Histogram(f"framelane_{name}_seconds", what, buckets=_SECONDS, registry=registry)

        self.age = histogram("frame_age", "From a frame's time stamp to its handing over, where its clock is UTC")
        self.write = histogram("frame_write", "To write a frame to the file")
        self.picture = histogram("picture_copy", "To copy a picture for viewers, in the thread that receives")
        self.shown = histogram("picture_age", "From a frame's handing over to the answer that has its picture")


@dataclass(frozen=True, slots=True)
class Measured:
    """A service at one moment."""

    state: State
    ended: RunStatistics
    """The counts of the runs that have ended."""
    now: Counted
    """Those of the present run."""
    runs: dict[str, int]
    """Runs, by how they ended."""
    streams: dict[str, StreamCounts]
    """The streams of all runs, by address."""


def summed(*of: Mapping[str, StreamCounts]) -> dict[str, StreamCounts]:
    """The counts of several runs, by address."""
    total: dict[str, StreamCounts] = {}
    for each in of:
        for address, counts in each.items():
            total[address] = total.get(address, StreamCounts()) + counts
    return total


class Metrics:
    """Metrics of a service over all runs, as `look` finds it."""

    def __init__(self, look: Callable[[], Measured]) -> None:
        self._registry = CollectorRegistry()
        self._look = look
        self.timings = Timings(self._registry)
        self._registry.register(self)

    def text(self) -> bytes:
        """In the text format of Prometheus, 0.0.4."""
        return generate_latest(self._registry)

    def describe(self) -> list[Metric]:
        """Nothing is collected to be registered."""
        return []

    def collect(self) -> Iterator[Metric]:
        """All but the histograms."""
        found = self._look()
        state, now, runs = found.state, found.now, found.runs
        total = found.ended + now.statistics
        states = GaugeMetricFamily("framelane_state", "1 for the state that the service is in", labels=["state"])
        for each in State:
            states.add_metric([each.value], float(each is state))
        yield states
        yield _labelled("framelane_runs", "Runs, by how they ended", "end", runs)
        yield CounterMetricFamily("framelane_frames_expected", "Frames that sources sent", value=total.tally.sent)
        fates = {fate: getattr(total.tally, fate) for fate in FATES}
        yield _labelled("framelane_frames", "What became of them: the sum is what was expected", "fate", fates)
        holds = float(now.statistics.tally.holds)
        yield GaugeMetricFamily(
            "framelane_loss_identity_holds", "1 where the fates add up to what was sent", value=holds
        )
        yield CounterMetricFamily("framelane_frames_written", "Frames in files", value=total.written)
        reasons = {reason.name.lower(): total.reasons[reason] for reason in Reason}
        yield _labelled("framelane_verdicts", "Frames by why they were accepted or rejected", "reason", reasons)
        counters = total.counters
        for name, what in _PACKETS.items():
            yield CounterMetricFamily(f"framelane_{name}", what, value=getattr(counters, _FIELD.get(name, name)))
        yield _labelled("framelane_packets_refused", "Packets that were not placed", "reason", dict(counters.refused))
        yield GaugeMetricFamily("framelane_ring_slots", "Slots of the ring", value=now.slots)
        yield GaugeMetricFamily(
            "framelane_ring_slots_used", "Slots in use: being read, or complete", value=now.slots_used
        )
        yield GaugeMetricFamily("framelane_pipeline_frames", "Frames in the pipeline, or on the GPU", value=now.pending)
        drift = GaugeMetricFamily(
            "framelane_pedestal_drift_adu", "How far the pedestal of a module has drifted in the run", labels=["module"]
        )
        for module, adu in now.drift_adu.items():
            drift.add_metric([module], adu)
        yield drift
        gpu = GaugeMetricFamily("framelane_gpu_memory_bytes", "Memory of the GPU, where one is used", labels=["kind"])
        for kind, count in zip(("used", "total"), now.gpu_bytes or (), strict=False):
            gpu.add_metric([kind], count)
        yield gpu
        yield from _of_streams(found.streams)


def _of_streams(streams: dict[str, StreamCounts]) -> Iterator[Metric]:
    frames = CounterMetricFamily(
        "framelane_stream_frames", "What became of the frames for a stream", labels=["address", "fate"]
    )
    payload = CounterMetricFamily("framelane_stream_bytes", "Bytes of a stream's messages", labels=["address"])
    waiting = GaugeMetricFamily("framelane_stream_waiting", "Frames that wait for a consumer", labels=["address"])
    for address, counts in streams.items():
        for fate in STREAM_FATES:
            frames.add_metric([address, fate], getattr(counts, fate))
        payload.add_metric([address], counts.bytes)
        waiting.add_metric([address], counts.waiting)
    yield from (frames, payload, waiting)


_PACKETS = {
    "packets_received": "Packets that came in",
    "packets_placed": "Packets that were written to the ring",
    "payload_bytes": "Bytes that were written to the ring",
    "packets_skipped": "Packet numbers that were jumped over: lost, or later",
    "packets_queue_dropped": "Packets that the kernel dropped, as the queue of the socket was full",
}
_FIELD = {
    "packets_received": "packets",
    "packets_placed": "placed",
    "packets_skipped": "skipped",
    "packets_queue_dropped": "queue_drops",
}


def _labelled(name: str, what: str, label: str, values: dict[str, int]) -> CounterMetricFamily:
    family = CounterMetricFamily(name, what, labels=[label])
    for key, value in values.items():
        family.add_metric([key], value)
    return family
