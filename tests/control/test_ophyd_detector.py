"""A Bluesky scan with a served receiver: its documents lead to the frames, and the first lost frame fails it."""

import asyncio
import contextlib
import urllib.parse
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import h5py
import hdf5plugin  # noqa: F401  (images are compressed)
import numpy as np
import pytest
from bluesky import RunEngine
from bluesky import plan_stubs as bps
from bluesky import plans as bp
from bluesky.utils import FailedStatus
from ophyd_async.core import DetectorTrigger, TriggerInfo, init_devices, soft_signal_rw

from framelane.control import FramelaneDetector, LostFrame
from framelane.serve import Client
from framelane.session.session import Session
from framelane.source.emulate_images import images
from served import COLUMNS, ROWS, Served, configuration, served
from triggered import TriggeredSource, triggered

Documents = list[tuple[str, dict[str, Any]]]
POINTS = 20


class Beamline:
    """A source that is triggered, of which single packets are lost, for the run that the service has armed."""

    def __init__(self, service: Served, lost: Collection[int] = (), gone: Collection[int] = ()) -> None:
        self._service, self._lost, self._gone = service, lost, gone
        self._stack = contextlib.ExitStack()
        self._source: TriggeredSource | None = None

    async def trigger(self, frames: int) -> None:
        await asyncio.to_thread(self.fire, frames)

    def fire(self, frames: int) -> None:
        if self._source is None:
            configured = self._service.service.configuration
            assert configured is not None
            address = self._service.service.status()["address"]
            sends = triggered(address, configured.source.port or 0, self._lost, self._gone)
            self._source = self._stack.enter_context(sends)
        self._source.fire(frames)

    def __enter__(self) -> "Beamline":
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("served")) as found:
        yield found


@pytest.fixture(scope="module")
def engine() -> Iterator[RunEngine]:
    engine = RunEngine()
    yield engine
    engine.loop.call_soon_threadsafe(engine.loop.stop)
    engine._th.join(10)
    engine.loop.close()


def detector(service: Served, beamline: Beamline, **options: Any) -> FramelaneDetector:
    given: dict[str, Any] = {"configuration": configuration(), "trigger": beamline.trigger, "name": "det"} | options
    with init_devices():
        found = FramelaneDetector(service.url, service.service.folder, **given)
    return found


def scan(engine: RunEngine, found: FramelaneDetector, documents: Documents, points: int = POINTS) -> None:
    motor = soft_signal_rw(float, name="x")
    engine(bp.scan([found], motor, 0.0, 1.0, points), lambda name, document: documents.append((name, document)))


def named(documents: Documents, name: str) -> list[dict[str, Any]]:
    return [document for each, document in documents if each == name]


def cause(failed: BaseException) -> BaseException:
    """What a failed status was caused by."""
    while failed.__cause__ is not None:
        failed = failed.__cause__
    return failed


def test_the_frames_of_each_point_are_where_the_documents_say(service: Served, engine: RunEngine) -> None:
    documents: Documents = []
    with Beamline(service) as beamline:
        scan(engine, detector(service, beamline), documents)
    (resource,) = named(documents, "stream_resource")
    assert resource["mimetype"] == "application/x-hdf5"
    datums = named(documents, "stream_datum")
    assert [each["indices"] for each in datums] == [{"start": n, "stop": n + 1} for n in range(POINTS)]
    assert len(named(documents, "event")) == POINTS
    key = named(documents, "descriptor")[0]["data_keys"]["det"]
    path = Path(urllib.parse.unquote(urllib.parse.urlsplit(resource["uri"]).path))
    with h5py.File(path) as file:
        data = file[resource["parameters"]["dataset"]]
        assert (key["shape"], key["dtype_numpy"]) == ([1, *data.shape[1:]], data.dtype.str)
        assert tuple(resource["parameters"]["chunk_shape"]) == data.chunks
        sent = images(Session.load(service.service.folder / "session.json"), None, None, 1)
        for n in range(POINTS):
            assert (data[n] == np.asarray(sent[n % len(sent)]).view(np.int16)).all(), n


def test_with_one_packet_lost_the_scan_fails_at_that_point_and_names_the_frame(
    service: Served, engine: RunEngine
) -> None:
    documents: Documents = []
    with Beamline(service, lost=[7]) as beamline, pytest.raises(FailedStatus) as failed:
        scan(engine, detector(service, beamline), documents)
    reason = cause(failed.value)
    assert isinstance(reason, LostFrame)
    assert str(reason).startswith("frame 7 (the detector's 7) came without ")
    assert len(named(documents, "event")) == 7
    assert named(documents, "stop")[0]["exit_status"] == "fail"
    with Client(service.url) as client:
        assert client.status()["state"] == "ended", "the run was closed in order"
    assert max(each["indices"]["stop"] for each in named(documents, "stream_datum")) == 7


def test_holes_may_be_allowed(service: Served, engine: RunEngine) -> None:
    documents: Documents = []
    with Beamline(service, lost=[1]) as beamline:
        scan(engine, detector(service, beamline, holes_allowed=True), documents, points=3)
    assert len(named(documents, "event")) == 3


def test_a_frame_that_does_not_come_at_all_fails_the_scan_even_then(service: Served, engine: RunEngine) -> None:
    documents: Documents = []
    with Beamline(service, lost=[1], gone=[2]) as beamline:
        found = detector(service, beamline, holes_allowed=True)
        with pytest.raises(FailedStatus) as failed:
            engine(bp.count([found], num=5), lambda name, document: documents.append((name, document)))
    assert str(cause(failed.value)).startswith("of 3 frames 1 incomplete, 1 missing, after frame 1")


def test_a_fly_scan_by_hardware_triggers(service: Served, engine: RunEngine) -> None:
    documents: Documents = []
    with Beamline(service) as beamline:
        found = detector(service, beamline, trigger=None)

        def fly() -> Any:
            yield from bps.stage(found)
            yield from bps.open_run()
            yield from bps.prepare(
                found, TriggerInfo(trigger=DetectorTrigger.EXTERNAL_EDGE, number_of_events=5, livetime=0.0), wait=True
            )
            yield from bps.declare_stream(found, name="main", collect=True)
            yield from bps.kickoff(found, wait=True)
            beamline.fire(5)
            yield from bps.complete(found, wait=True)
            yield from bps.collect(found, name="main")
            yield from bps.close_run()
            yield from bps.unstage(found, wait=True)

        engine(fly(), lambda name, document: documents.append((name, document)))
    assert sum(each["indices"]["stop"] - each["indices"]["start"] for each in named(documents, "stream_datum")) == 5


def test_without_a_trigger_a_step_scan_says_what_to_do(service: Served, engine: RunEngine) -> None:
    with Beamline(service) as beamline, pytest.raises(FailedStatus) as failed:
        scan(engine, detector(service, beamline, trigger=None), [], points=1)
    assert "prepare it for EXTERNAL_EDGE, or give it a trigger" in str(cause(failed.value))


def test_the_images_are_as_large_as_the_plan_says(service: Served, engine: RunEngine) -> None:
    documents: Documents = []
    with Beamline(service) as beamline:
        scan(engine, detector(service, beamline), documents, points=1)
    assert named(documents, "descriptor")[0]["data_keys"]["det"]["shape"] == [1, ROWS, COLUMNS]
