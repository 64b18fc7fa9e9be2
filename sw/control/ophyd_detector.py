"""A detector for Bluesky by ophyd-async: runs of `framelane serve`, whose files the documents of a scan name.

`StandardDetector` and its logics are documented at https://blueskyproject.io/ophyd-async.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

from bluesky.protocols import StreamAsset
from ophyd_async.core import (
    DetectorAcquireLogic,
    DetectorDataLogic,
    DetectorTriggerLogic,
    SignalDict,
    StandardDetector,
    StreamResourceDataProvider,
    StreamResourceInfo,
    WatchableAsyncStatus,
    WatcherUpdate,
    soft_signal_r_and_setter,
)

from framelane.base.errors import ConfigError
from framelane.control.losses import LostFrame, first_lost, losses
from framelane.serve.client import AsyncClient, ServiceError

Json = dict[str, Any]
_LOOK_S = 0.05
_RECORDS = 4096
"""Records to ask for: as many as the service keeps."""
_MODULE = 512, 1024
"""Rows and columns of a JUNGFRAU module."""


class _Run:
    """The run of the service that a scan has armed, watched while it lasts."""

    def __init__(self, connect: Callable[[], AsyncClient], holes_allowed: bool) -> None:
        self._connect, self.holes_allowed = connect, holes_allowed
        self._service: AsyncClient | None = None
        self.written, self._set_written = soft_signal_r_and_setter(int, 0)
        """Frames that are in the file."""
        self._watching: asyncio.Task[None] | None = None
        self._ending = asyncio.Lock()

    @property
    def service(self) -> AsyncClient:
        """The service, of which a run was armed."""
        if self._service is None:
            raise ConfigError("no run is armed: stage the detector, and prepare or trigger it")
        return self._service

    async def arm(self, configuration: Json | None) -> str:
        """Arm a run, and watch it; its file, by its name in the service's folder."""
        await self.end()
        self._service = self._connect()
        if configuration is not None:
            await self.service.configure(configuration)
        status = await self.service.arm()
        self._set_written(0)
        self._watching = asyncio.create_task(self._watch(), name="framelane: frames written, or lost")
        return str(status["file"])

    async def end(self) -> None:
        """End the run in order, if there is one; one of somebody else is left alone."""
        async with self._ending:
            service, watching = self._service, self._watching
            self._service = self._watching = None
            if service is None:
                return
            try:
                if watching is None:  # it was not armed
                    return
                watching.cancel()
                with contextlib.suppress(asyncio.CancelledError, LostFrame, ServiceError):
                    await watching
                if (await service.status())["state"] in ("armed", "running"):
                    await service.stop()
            finally:
                await service.close()

    async def check(self) -> None:
        """LostFrame where a frame was lost until now; ServiceError where the run has failed."""
        if self._watching is not None and self._watching.done():
            await self._watching
        await self._look()

    async def unless_lost(self, wanted: WatchableAsyncStatus[Any]) -> None:
        """Wait for what is `wanted` of the run; LostFrame as soon as a frame is lost."""
        watching = self._watching
        if watching is None:
            await wanted
            return
        await asyncio.wait({wanted.task, watching}, return_when=asyncio.FIRST_COMPLETED)
        if not wanted.task.done():
            wanted.task.cancel()
            with contextlib.suppress(asyncio.CancelledError, TimeoutError):
                await wanted.task
            await watching
        await wanted

    async def _watch(self) -> None:
        while True:
            self._set_written(await self._look())
            await asyncio.sleep(_LOOK_S)

    async def _look(self) -> int:
        """How many frames are written, none of which is lost."""
        counted = await self.service.statistics()
        if losses(counted["loss"], holes=not self.holes_allowed):
            records = await self.service.frames(_RECORDS)
            raise LostFrame(first_lost(counted["loss"], records, holes=not self.holes_allowed))
        status = await self.service.status()
        if status["state"] == "error":
            raise ServiceError(0, status["said"])
        return int(counted["written"])


class _Trigger(DetectorTriggerLogic):
    """Triggers by software if there is a `trigger`, otherwise by the detector's own input."""

    def __init__(self, acquire: "_Acquire", deadtime_s: float) -> None:
        self._acquire, self._deadtime_s = acquire, deadtime_s

    def get_deadtime(self, config_values: SignalDict) -> float:
        return self._deadtime_s

    async def prepare_internal(self, num: int, livetime: float, deadtime: float) -> None:
        if self._acquire.trigger is None:
            raise ConfigError(
                "this detector is not triggered by software: prepare it for EXTERNAL_EDGE, or give it a trigger"
            )
        self._acquire.frames = num

    async def prepare_edge(self, num: int, livetime: float) -> None:
        self._acquire.frames = 0


class _Acquire(DetectorAcquireLogic):
    def __init__(self, run: _Run, trigger: Callable[[int], Awaitable[None]] | None) -> None:
        self.trigger, self._run = trigger, run
        self.frames = 0
        """Frames to trigger by software; 0: the detector's input triggers."""

    async def start_acquiring(self) -> None:
        await self._run.service.start()
        if self.frames and self.trigger is not None:
            await self.trigger(self.frames)

    async def wait_for_idle(self) -> None:
        await self._run.check()

    async def ensure_stopped(self) -> None:
        await self._run.end()


class _Provider(StreamResourceDataProvider):
    """Documents of the file, as long as no frame is lost."""

    def __init__(self, run: _Run, uri: str, resource: StreamResourceInfo) -> None:
        super().__init__(uri, [resource], "application/x-hdf5", run.written)
        self._run = run

    async def make_stream_docs(
        self, collections_written: int, collections_per_event: int
    ) -> AsyncIterator[StreamAsset]:
        await self._run.check()
        async for document in super().make_stream_docs(collections_written, collections_per_event):
            yield document


class _Data(DetectorDataLogic):
    def __init__(self, run: _Run, folder: Path, configuration: Json | None) -> None:
        self._run, self._folder, self._configuration = run, folder, configuration

    async def prepare_unbounded(self, datakey_name: str) -> StreamResourceDataProvider:
        name = await self._run.arm(self._configuration)
        shape, dtype = _image(await self._run.service.configuration() or {})
        resource = StreamResourceInfo(
            data_key=datakey_name,
            shape=shape,
            chunk_shape=(1, *shape),
            dtype_numpy=dtype,
            parameters={"dataset": "/entry/data/data"},
        )
        uri = (self._folder.absolute() / name).as_uri().replace("file:///", "file://localhost/", 1)
        return _Provider(self._run, uri, resource)

    def get_hinted_fields(self, datakey_name: str) -> Sequence[str]:
        return [datakey_name]

    async def stop(self) -> None:
        await self._run.end()


class FramelaneDetector(StandardDetector):
    """A detector whose frames `framelane serve` at `url` receives. A lost frame fails the scan, and is named.

    Each `stage` arms a run of the service, each `unstage` ends it. A scan's documents name its file, in `folder`: the
    service's folder as readers of the data see it. One event is `collections_per_event` frames, in the file's order.

    - `configuration`: what `Client.configure` takes, for each run anew; None: as the service is configured.
    - `trigger`: lets the detector take so many frames, by whatever drives it; awaited at each point of a step scan.
      None: its input is triggered by hardware, as in fly scans (`DetectorTrigger.EXTERNAL_EDGE`).
    - `holes_allowed`: frames that came without some of their pixels are taken, with their holes. A frame that did
      not come at all fails the scan even so, since its event would have no image.
    - `deadtime_s`: from one exposure to the next, at the least, in seconds.

    `trigger`, `complete` and the documents raise LostFrame as soon as a frame is lost, ServiceError where the service
    has failed or refuses.
    """

    def __init__(
        self,
        url: str,
        folder: str | Path,
        *,
        token: str | None = None,
        token_file: str | Path | None = None,
        configuration: Json | None = None,
        trigger: Callable[[int], Awaitable[None]] | None = None,
        holes_allowed: bool = False,
        deadtime_s: float = 0.0,
        name: str = "",
    ) -> None:
        self._run = _Run(lambda: AsyncClient(url, token=token, token_file=token_file), holes_allowed)
        acquire = _Acquire(self._run, trigger)
        data = _Data(self._run, Path(folder), configuration)
        self.add_detector_logics(_Trigger(acquire, deadtime_s), acquire, data)
        super().__init__(name=name)

    @WatchableAsyncStatus.wrap
    async def trigger(self) -> AsyncIterator[WatcherUpdate[int]]:
        """Take one event's frames."""
        await self._run_or_lose(super().trigger())
        yield await self._update()

    @WatchableAsyncStatus.wrap
    async def complete(self) -> AsyncIterator[WatcherUpdate[int]]:
        """Wait for the frames of a fly scan."""
        await self._run_or_lose(super().complete())
        yield await self._update()

    async def _run_or_lose(self, wanted: WatchableAsyncStatus[Any]) -> None:
        await self._run.unless_lost(wanted)

    async def _update(self) -> WatcherUpdate[int]:
        written = await self._run.written.get_value()
        return WatcherUpdate(current=written, initial=0, target=written, name=self.name)


def _image(configuration: Json) -> tuple[tuple[int, int], str]:
    """Rows and columns of the run's images, and their type as numpy writes it."""
    source, judging = configuration.get("source", {}), configuration.get("judging", {})
    plan = source.get("plan")
    if plan is None:
        shape = (int(source.get("modules") or 1) * _MODULE[0], _MODULE[1])
        corrected = judging.get("calibration") is not None
    else:
        shape = int(plan["rows"]), int(plan["columns"])
        corrected = plan.get("pixels") == "corrected" or judging.get("calibration") is not None
    return shape, "<i2" if corrected else "<u2"
