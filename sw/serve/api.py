"""The REST interface of a service, and the files of its page; described at /openapi.json."""

import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any, Literal, cast

import anyio.to_thread
import numpy as np
from fastapi import FastAPI, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic_core import ErrorDetails

import framelane
from framelane.base.errors import BoardError, FramelaneError, SimulationError, TransportError
from framelane.base.validation import spelled, words
from framelane.serve.access import Guard
from framelane.serve.api_models import (
    FrameRecord,
    HistorySample,
    Packets,
    Refusal,
    Statistics,
    Status,
    Thresholds,
    Verdicts,
)
from framelane.serve.configuration import Configuration
from framelane.serve.metrics import CONTENT_TYPE
from framelane.serve.pictures import REDUCTIONS, Picture
from framelane.serve.png import grey_png
from framelane.serve.run_record import KEPT, identity
from framelane.serve.service import Service, WrongState
from framelane.serve.sums import OVER, Show

PAGE = Path(__file__).parent / "page"
_KINDS = {
    "index.html": "text/html",
    "live.js": "text/javascript",
    "charts.js": "text/javascript",
    "colours.js": "text/javascript",
    "live.css": "text/css",
}
_POLICY = "default-src 'self'; img-src 'self' blob: data:; style-src 'self'; frame-ancestors 'none'; base-uri 'none'"
_HEADERS = {"Content-Security-Policy": _POLICY, "X-Content-Type-Options": "nosniff", "Cache-Control": "no-cache"}
_MOST_S = 30.0
_MOST_SAID = 8
"""Errors of a document that are said."""
_ABOUT = """A receiver of detector frames as a service.

Each error is `{"detail": SENTENCE}`: 400 for a body that is not UTF-8, 401 without the token, 403 for a request from
another host or origin, 409 in a state that does not allow it, 413 for a body above 1 MiB, 422 for an invalid request,
503 if the wire or the board cannot be opened."""
_REFUSALS: dict[int | str, dict[str, Any]] = {
    400: {"model": Refusal, "description": "The body is not UTF-8."},
    401: {"model": Refusal, "description": "The token is missing or wrong."},
    403: {"model": Refusal, "description": "Without a token: another host is named, or a page of another origin asks."},
    409: {"model": Refusal, "description": "The state does not allow it."},
    413: {"model": Refusal, "description": "The body is larger than 1 MiB."},
    422: {"model": Refusal, "description": "The request is invalid: the sentence says why, and what to do."},
    503: {"model": Refusal, "description": "The wire or the board cannot be opened."},
}
_BINARY = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}
_PICTURE: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The length of a head (u32, little endian), the head in JSON, a byte a pixel.",
        "content": _BINARY,
    },
    204: {"description": "There is none that is newer."},
}
_IMAGE: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "PNG, 8-bit grey; or the values, little endian, with Framelane-Dtype and Framelane-Shape.",
        "content": {"image/png": {"schema": {"type": "string", "format": "binary"}}, **_BINARY},
    },
    404: {"model": Refusal, "description": "No frame has come."},
}
WaitS = Annotated[float, Query(ge=0, le=_MOST_S, description="Wait so many seconds at most.")]


def make_app(service: Service, token: str | None = None) -> FastAPI:
    """The application of a service, for an ASGI server; it closes the service when it ends."""

    @asynccontextmanager
    async def life(app: FastAPI) -> AsyncIterator[None]:
        yield
        await anyio.to_thread.run_sync(service.close)

    app = FastAPI(
        title="framelane serve",
        version=framelane.__version__,
        description=_ABOUT,
        lifespan=life,
        docs_url=None,
        redoc_url=None,
        responses=_REFUSALS,
    )
    app.add_middleware(Guard, token=token)
    _answer_errors(app)
    _add_commands(app, service)
    _add_questions(app, service)
    _add_pictures(app, service)
    _add_page(app)
    return app


def _answer_errors(app: FastAPI) -> None:
    @app.exception_handler(FramelaneError)
    async def refuse(request: Request, error: FramelaneError) -> Response:
        status = 422
        if isinstance(error, WrongState):
            status = 409
        elif isinstance(error, TransportError | BoardError | SimulationError):
            status = 503
        return JSONResponse({"detail": str(error)}, status)

    @app.exception_handler(RequestValidationError)
    async def refuse_document(request: Request, error: RequestValidationError) -> Response:
        said = []
        for each in error.errors()[:_MOST_SAID]:
            where = {**each, "loc": each["loc"][1:]}  # behind "body" or "query"
            said.append(
                ": ".join(filter(None, (spelled(where["loc"]), words(cast(ErrorDetails, where), Configuration))))
            )
        return JSONResponse({"detail": "; ".join(said)}, 422)


def _add_commands(app: FastAPI, service: Service) -> None:
    @app.post("/api/configure")
    def configure(configuration: Configuration) -> Status:
        """Choose what the next runs are. Not while one goes on."""
        service.configure(configuration)
        return _status(service)

    @app.post("/api/arm")
    def arm() -> Status:
        """Open a run; it takes some seconds. Then its sources find it, and frames that come are taken."""
        service.arm()
        return _status(service)

    @app.post("/api/start")
    def start() -> Status:
        """Let the board send, if there is one. A source that is not the service's begins by itself."""
        service.start()
        return _status(service)

    @app.post("/api/stop")
    def stop(wait_s: WaitS = 10.0) -> Status:
        """End the run in order: the board is disarmed, what has arrived is written."""
        service.stop(wait_s)
        return _status(service)

    @app.post("/api/abort")
    def abort(wait_s: WaitS = 10.0) -> Status:
        """End the run at once; what came is in its file. Where none goes on: forget an error."""
        service.abort(wait_s)
        return _status(service)

    @app.put("/api/thresholds")
    def change_thresholds(thresholds: Thresholds) -> Thresholds:
        """Judge by others from the next frame on, also while a run goes on; null: as it is."""
        service.change_thresholds(thresholds.threshold, thresholds.minimum_peaks)
        return Thresholds(**service.thresholds())


def _add_questions(app: FastAPI, service: Service) -> None:
    @app.get("/api/status")
    def status() -> Status:
        """What the service does, and how the run goes."""
        return _status(service)

    @app.get("/api/configuration")
    def configuration() -> Configuration | None:
        """The configuration, or null if there is none."""
        return service.configuration

    @app.get("/api/thresholds")
    def thresholds() -> Thresholds:
        """The thresholds that judge frames."""
        return Thresholds(**service.thresholds())

    @app.get("/api/statistics")
    def statistics() -> Statistics:
        """All that the newest run has counted."""
        counted = service.record.counted.statistics
        counters = counted.counters
        packets = Packets(
            received=counters.packets,
            placed=counters.placed,
            payload_bytes=counters.payload_bytes,
            skipped=counters.skipped,
            behind=counters.behind,
            queue_drops=counters.queue_drops,
            refused=dict(counters.refused),
            examples=counters.examples,
        )
        return Statistics(
            loss=identity(counted.tally),  # type: ignore[arg-type]
            written=counted.written,
            reasons={reason.name: count for reason, count in counted.reasons.items()},
            packets=packets,
            strays=counted.strays,
            sources_gone=counted.sources_gone,
        )

    @app.get("/api/frames")
    def frames(last: Annotated[int, Query(ge=1, le=KEPT)] = 100) -> list[FrameRecord]:
        """The records of the newest frames of the newest run, the oldest of them first."""
        return [FrameRecord(**each) for each in service.record.newest(last)]

    @app.get("/api/verdicts")
    def verdicts() -> Verdicts:
        """Why frames were kept or not, and a histogram of their peaks."""
        return Verdicts(**service.record.verdicts())

    @app.get("/api/history")
    def history(after: Annotated[float, Query(ge=0, allow_inf_nan=False)] = 0.0) -> list[HistorySample]:
        """How the newest run went: a sample a second, of ten minutes at most; those later than `after`."""
        return [HistorySample(**each) for each in service.record.history.after(after)]

    @app.get("/metrics", response_class=Response, responses={200: {"content": {"text/plain": {}}}})
    def metrics() -> Response:
        """For Prometheus."""
        return Response(service.metrics.text(), media_type=CONTENT_TYPE)


def _add_pictures(app: FastAPI, service: Service) -> None:
    @app.get("/api/image", response_class=Response, responses=_IMAGE)
    def image(
        format: Literal["png", "raw"] = "png", maximum: Annotated[float | None, Query(gt=0, le=65535)] = None
    ) -> Response:
        """The newest picture: a frame at most 0.1 s older than the newest, or 1 s where nobody looked before."""
        picture = service.pictures.look()
        if picture is None:
            return JSONResponse({"detail": "no frame has come yet: start a run"}, 404)
        about = {"Framelane-Frame": str(picture.about["frame"]), "Framelane-Unit": picture.about["unit"]}
        if format == "raw":
            pixels = picture.image
            about |= {"Framelane-Dtype": pixels.dtype.name, "Framelane-Scale": str(picture.about["scale"])}
            about["Framelane-Shape"] = ",".join(map(str, pixels.shape))
            little = pixels.astype(pixels.dtype.newbyteorder("<"), copy=False)
            return Response(little.tobytes(), media_type="application/octet-stream", headers=about)
        return Response(_png(picture, maximum), media_type="image/png", headers=about)

    @app.get("/api/picture", response_class=Response, responses=_PICTURE)
    async def picture(
        after: Annotated[int, Query(ge=0)] = 0,
        reduce: Annotated[int, Query(ge=1, le=16)] = 1,
        wait_s: WaitS = 5.0,
        show: Show = "newest",
        over: Annotated[int, Query(ge=1, le=OVER[-1])] = OVER[1],
    ) -> Response:
        """The newest picture for viewers, as soon as there is a newer one than number `after`: the live page's own way.

        Who asks for the next one once the last has come never gets an old one, however slow the network is. A sum, or
        the maximum, is `over` the last 10, 100 or 1000 pictures, at least half of them; it begins when it is first
        asked for.
        """
        found = await service.pictures.look_after(after, wait_s)
        if found is None:
            return Response(status_code=204)
        by = max(each for each in REDUCTIONS if each <= reduce)
        if show == "newest":
            coded = await anyio.to_thread.run_sync(found.coded, by)
        else:
            coded = await anyio.to_thread.run_sync(service.sums.over(over).coded, found, show, by)
        service.metrics.timings.shown.observe(time.monotonic() - found.taken)
        headers = {"Content-Encoding": "gzip", "Cache-Control": "no-store"}
        return Response(coded, media_type="application/octet-stream", headers=headers)


def _add_page(app: FastAPI) -> None:
    def answer(name: str) -> Callable[[], Awaitable[Response]]:
        async def file() -> Response:
            headers = {
                "Content-Security-Policy": _POLICY,
                "X-Content-Type-Options": "nosniff",
                "Cache-Control": "no-cache",
            }
            return Response((PAGE / name).read_bytes(), media_type=_KINDS[name], headers=headers)

        return file

    for name in _KINDS:
        path = "/" if name == "index.html" else f"/{name}"
        app.add_api_route(path, answer(name), methods=["GET"], include_in_schema=False)


def _status(service: Service) -> Status:
    return Status(**service.status())


def _png(picture: Picture, maximum: float | None) -> bytes:
    """White is `maximum`, or the 99.9th percentile; by the square root. Pixels that carry a code are white."""
    levels, values = picture.levels()
    shown = np.asarray(values, np.float64) * (picture.about["scale"] if picture.image.dtype == np.int16 else 1.0)
    if maximum is None:
        counted = np.bincount(levels.reshape(-1), minlength=256)[: len(values)].cumsum()
        maximum = float(shown[int(np.searchsorted(counted, 0.999 * counted[-1]))]) if counted[-1] else 1.0
    low = float(shown[0])
    table = np.full(256, 255, np.uint8)
    table[: len(values)] = np.sqrt(((shown - low) / max(1e-9, maximum - low)).clip(0, 1)) * 255
    return grey_png(table[levels])
